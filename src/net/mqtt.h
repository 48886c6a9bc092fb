/* SPDX-License-Identifier: Apache-2.0
 * An MQTT 3.1.1 client that only publishes, each message with an acknowledgment (QoS 1). Blocking, like net/http.h; libcurl makes
 * the connection, with TLS for mqtts URLs.
 *
 *   mqtt_open ── CONNECT ─▶ CONNACK        mqtt_publish ── PUBLISH, PUBLISH, ... ─▶ PUBACK, PUBACK, ...
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"

enum { MQTT_TOPIC_SIZE = 256, MQTT_KEEP_ALIVE_S = 60, MQTT_MESSAGES_MAX = 60000 };

struct mqtt;

struct mqtt_options {
    const char *url;             /* mqtt://HOST[:1883] or mqtts://HOST[:8883] */
    const char *user, *password; /* "" none */
    const char *tls_ca;          /* NULL: the system's */
    const char *client_id;
    const char *will_topic, *will; /* published by the broker, retained, when we vanish; NULL: nothing */
    int64_t timeout_ms;            /* for opening, and for each call */
    const _Atomic bool *cancel;    /* may be NULL */
};

struct mqtt_message {
    const char *topic;
    struct str payload;
    bool retain; /* the broker keeps the last one for later subscribers */
};

/* -EACCES: login refused. */
int mqtt_open(const struct env *env, const struct mqtt_options *options, struct mqtt **ret, struct error *err);
/* 0 once the broker has acknowledged all; on failure the connection is unusable. */
int mqtt_publish(struct mqtt *m, const struct mqtt_message *list, size_t count, struct error *err);
/* Call once per half MQTT_KEEP_ALIVE_S without another message. */
int mqtt_ping(struct mqtt *m, struct error *err);
/* `goodbye`: suppresses the will. Accepts NULL. */
void mqtt_close(struct mqtt *m, bool goodbye);
