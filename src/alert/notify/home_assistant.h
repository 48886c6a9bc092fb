/* SPDX-License-Identifier: Apache-2.0
 * Messages for an MQTT broker: the state of the host and its GPUs, alerts as events, and configurations for Home Assistant's
 * discovery. Pure: turns snapshots and notices into topics and payloads.
 *
 *   whirr/HOST/status    online, offline (the broker's last will when we vanish)
 *   whirr/HOST/state     {"why", "alerts_firing", "power_watts", "gpu_count", ...}
 *   whirr/HOST/gpu/N     {"utilization_percent", "temperature_celsius", ..., "why"}
 *   whirr/HOST/alert     the object that webhooks get, with "event_type"
 *   homeassistant/...    configurations, https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery
 */
#pragma once

#include "alert/notify/template.h"
#include "base/buf.h"
#include "model/snapshot.h"
#include "net/mqtt.h"

enum { HOME_NODE_SIZE = 80, HOME_WHY_SIZE = 400 };

/* The state of the host that notifiers receive from time to time. */
struct home_view {
    const struct snapshot *snapshot; /* owns one reference */
    char why[HOME_WHY_SIZE];         /* about the host */
    char gpu_why[][HOME_WHY_SIZE];   /* about each GPU */
};
void home_view_free(struct home_view *v); /* NULL is fine */

struct home_place {
    const char *topic;              /* "whirr"; borrowed */
    const char *discovery;          /* "homeassistant"; "": no discovery */
    char host[HOST_NAME_SIZE];      /* as displayed */
    char node[HOME_NODE_SIZE];      /* cleaned for topics */
    char base[MQTT_TOPIC_SIZE / 2]; /* "whirr/HOST" */
};

void home_place_init(struct home_place *p, const char *topic, const char *discovery, const char *host);

struct home_message {
    char topic[MQTT_TOPIC_SIZE];
    size_t at, len; /* position of its payload in `text` */
    bool retain;
};

struct home_messages {
    struct home_message *list;
    size_t count, capacity;
    struct buf text; /* all payloads, concatenated */
};

void home_messages_init(struct home_messages *m);
void home_messages_done(struct home_messages *m);

void home_status(const struct home_place *p, bool online, struct home_messages *out);
/* Configurations for everything that home_state() and home_alerts() write: one device for the host and one per GPU. */
void home_discovery(const struct home_place *p, const struct snapshot *s, struct home_messages *out);
void home_state(const struct home_place *p, const struct home_view *v, size_t firing, struct home_messages *out);
/* One event per notice, or a single message with the template's text in `own`. */
void home_alerts(const struct home_place *p, const struct notice_group *group, const char *own, struct home_messages *out);
