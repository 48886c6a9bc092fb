/* SPDX-License-Identifier: Apache-2.0
 * A target's connection to its MQTT broker. It stays open so that the broker notices when this host vanishes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alert/notify/home_assistant.h"
#include "alert/notify/send.h"
#include "base/cleanup.h"
#include "net/mqtt.h"

static void place_of(const struct notify_target *t, struct home_place *place)
{
    char host[HOST_NAME_SIZE] = "";
    env_host_name(host, sizeof host);
    home_place_init(place, t->topic, t->discovery, host);
}

void broker_close(struct notify_target *t)
{
    mqtt_close(t->broker, t->visit); /* dropping the connection makes the broker publish "offline" */
    t->broker = NULL;
    t->shown_gpus = 0;
}

static int publish(struct notify_target *t, const struct home_messages *m, struct error *err)
{
    AUTO_FREE struct mqtt_message *list = calloc(MAX_OF(m->count, (size_t)1), sizeof *list);
    if (!list || m->text.failed)
        return error_set(err, -ENOMEM, "the messages are too long, or memory is out");
    for (size_t i = 0; i < m->count; i++)
        list[i] = (struct mqtt_message){m->list[i].topic, {m->text.at + m->list[i].at, m->list[i].len}, m->list[i].retain};
    int rc = mqtt_publish(t->broker, list, m->count, err);
    if (rc < 0)
        broker_close(t);
    return rc;
}

static int connect_broker(const struct env *env, struct notify_target *t, const struct home_place *place,
                          const _Atomic bool *cancel, struct error *err)
{
    if (t->broker)
        return 0;
    char id[HOME_NODE_SIZE + 64], will[MQTT_TOPIC_SIZE];
    snprintf(id, sizeof id, "whirr-%s-%s-%d", place->node, t->name, t->visit ? (int)getpid() : 0);
    snprintf(will, sizeof will, "%s/status", place->base);
    const struct mqtt_options options = {.url = t->url,
                                         .user = t->user,
                                         .password = t->password,
                                         .tls_ca = t->tls_ca[0] ? t->tls_ca : NULL,
                                         .client_id = id,
                                         .will_topic = t->visit ? NULL : will,
                                         .will = "offline",
                                         .timeout_ms = t->timeout_ms,
                                         .cancel = cancel};
    return mqtt_open(env, &options, &t->broker, err);
}

/* A connection that broke while idle is not a failure: reconnect once. */
static int publish_or_again(const struct env *env, struct notify_target *t, const struct home_place *place,
                            const struct home_messages *m, const _Atomic bool *cancel, struct error *err)
{
    bool was_open = t->broker != NULL;
    int rc = connect_broker(env, t, place, cancel, err);
    if (rc == 0)
        rc = publish(t, m, err);
    if (rc != -EPIPE || !was_open)
        return rc;
    rc = connect_broker(env, t, place, cancel, err);
    return rc < 0 ? rc : publish(t, m, err);
}

void broker_attempt(const struct env *env, struct notify_target *t, const struct notice_group *group, const char *own,
                    const _Atomic bool *cancel, struct notify_attempt *a)
{
    struct home_place place;
    struct home_messages messages;
    struct error err = {0};
    place_of(t, &place);
    home_messages_init(&messages);
    home_alerts(&place, group, own, &messages);
    int rc = publish_or_again(env, t, &place, &messages, cancel, &err);
    home_messages_done(&messages);
    a->result = rc == 0                                          ? OUTBOX_SENT
                : rc == -ECANCELED                               ? OUTBOX_CANCELLED
                : rc == -EACCES || rc == -EINVAL || rc == -EFBIG ? OUTBOX_REFUSED
                                                                 : OUTBOX_FAILED;
    str_copy(a->error, sizeof a->error, str_from(rc < 0 ? err.text : ""));
}

/* Identifies the set of GPUs: when it changes, Home Assistant needs new configurations. */
static uint64_t gpus_of(const struct snapshot *s)
{
    uint64_t sum = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < s->gpu_count; i++)
        for (const char *c = s->gpus[i].id.uuid; *c; c++)
            sum = (sum ^ (unsigned char)*c) * 1099511628211u;
    return (sum ^ s->gpu_count) | 1;
}

int broker_show(const struct env *env, struct notify_target *t, const struct home_view *view, size_t firing,
                const _Atomic bool *cancel, struct error *err)
{
    struct home_place place;
    struct home_messages messages;
    uint64_t gpus = gpus_of(view->snapshot);
    place_of(t, &place);
    int rc = connect_broker(env, t, &place, cancel, err);
    if (rc < 0)
        return rc;
    home_messages_init(&messages);
    if (t->shown_gpus != gpus) {
        home_discovery(&place, view->snapshot, &messages);
        home_status(&place, true, &messages);
    }
    home_state(&place, view, firing, &messages);
    rc = publish(t, &messages, err);
    home_messages_done(&messages);
    if (rc == 0)
        t->shown_gpus = gpus;
    return rc;
}

int broker_reach(const struct env *env, struct notify_target *t, const _Atomic bool *cancel, struct error *err)
{
    struct home_place place;
    place_of(t, &place);
    return connect_broker(env, t, &place, cancel, err);
}

int broker_keep_alive(struct notify_target *t, struct error *err)
{
    int rc = t->broker ? mqtt_ping(t->broker, err) : 0;
    if (rc < 0)
        broker_close(t);
    return rc;
}
