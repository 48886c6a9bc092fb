/* SPDX-License-Identifier: Apache-2.0
 * A client of an MQTT 3.1.1 broker that only publishes, each message with an acknowledgment (QoS 1). Blocking, like net/http.h;
 * libcurl makes the connection, with TLS where the URL says mqtts.
 *
 *   mqtt_open ── CONNECT ─▶ CONNACK        mqtt_publish ── PUBLISH, PUBLISH, ... ─▶ PUBACK, PUBACK, ...        mqtt_ping,
 * mqtt_close
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
    const char *tls_ca;          /* NULL: those of the system */
    const char *client_id;
    const char *will_topic, *will; /* what the broker publishes, retained, when we vanish; NULL: nothing */
    int64_t timeout_ms;            /* of opening, and of each call */
    const _Atomic bool *cancel;    /* may be NULL */
};

struct mqtt_message {
    const char *topic;
    struct str payload;
    bool retain; /* the broker keeps the last one for those who come later */
};

/* -EACCES: it refuses the login. */
int mqtt_open(const struct env *env, const struct mqtt_options *options, struct mqtt **ret, struct error *err);
/* All of them arrived at the broker, or it failed and the connection is of no use any more. */
int mqtt_publish(struct mqtt *m, const struct mqtt_message *list, size_t count, struct error *err);
/* Once in half of MQTT_KEEP_ALIVE_S without another message. */
int mqtt_ping(struct mqtt *m, struct error *err);
/* `goodbye`: the will is not published. NULL is fine. */
void mqtt_close(struct mqtt *m, bool goodbye);
