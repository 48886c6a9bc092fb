/* SPDX-License-Identifier: Apache-2.0
 * Notifiers of type mqtt: the state of the host and its GPUs, alerts as events, configurations for Home Assistant's discovery, and
 * the connection to the broker. It stays open so that the broker notices when this host vanishes.
 *
 *   whirr/HOST/status    online, offline (the broker's last will when we vanish)
 *   whirr/HOST/state     {"why", "alerts_firing", "power_watts", "gpu_count", ...}
 *   whirr/HOST/gpu/N     {"utilization_percent", "temperature_celsius", ..., "why"}
 *   whirr/HOST/alert     the object that webhooks get, with "event_type"
 *   homeassistant/...    configurations, https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery
 */
#include "alert/notify/send.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alert/notify/notice.h"
#include "base/cleanup.h"
#include "base/json_writer.h"
#include "net/mqtt.h"

enum { TEXT_MAX = 8 << 20, ENTITY_SIZE = 192, HOME_NODE_SIZE = 80 };

struct home_place {
    const char *discovery;          /* "homeassistant"; "": no discovery */
    char host[HOST_NAME_SIZE];      /* as displayed */
    char node[HOME_NODE_SIZE];      /* cleaned for topics */
    char base[MQTT_TOPIC_SIZE / 2]; /* "whirr/HOST" */
};

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

void home_view_free(struct home_view *v)
{
    if (v)
        snapshot_unref(v->snapshot);
    free(v);
}

/* ---- a list of messages ---- */

static void messages_done(struct home_messages *m)
{
    free(m->list);
    buf_done(&m->text);
}

/* Begins a message; the caller writes the payload to `text`. Out of memory skips the message and fails the buffer. */
static void begin(struct home_messages *m, bool retain, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
static void begin(struct home_messages *m, bool retain, const char *format, ...)
{
    if (!ROOM_FOR_ONE(m->list, m->count, m->capacity, 32)) {
        m->text.failed = true;
        return;
    }
    struct home_message *one = &m->list[m->count++];
    *one = (struct home_message){.at = m->text.len, .retain = retain};
    va_list args;
    va_start(args, format);
    int size = vsnprintf(one->topic, sizeof one->topic, format, args);
    va_end(args);
    m->text.failed |= size < 0 || (size_t)size >= sizeof one->topic;
}

static void end(struct home_messages *m)
{
    if (m->count && !m->text.failed)
        m->list[m->count - 1].len = m->text.len - m->list[m->count - 1].at;
}

/* ---- places ---- */

/* Home Assistant allows only letters, digits, _ and - in topics. */
static void clean_id(char *to, size_t size, const char *text)
{
    size_t at = 0;
    for (; *text && at + 1 < size; text++)
        to[at++] = (char)(((unsigned char)*text < 128 && isalnum((unsigned char)*text)) || *text == '-' ? *text : '_');
    to[at] = '\0';
}

static void place_init(struct home_place *p, const struct notify_target *t)
{
    char host[HOST_NAME_SIZE] = "";
    env_host_name(host, sizeof host);
    *p = (struct home_place){.discovery = t->discovery};
    str_copy(p->host, sizeof p->host, str_from(host[0] ? host : "host"));
    clean_id(p->node, sizeof p->node, p->host);
    snprintf(p->base, sizeof p->base, "%.40s/%s", t->topic, p->node);
}

static void put_status(const struct home_place *p, bool online, struct home_messages *out)
{
    begin(out, true, "%s/status", p->base);
    buf_text(&out->text, online ? "online" : "offline");
    end(out);
}

/* ---- sensors of a GPU ---- */

static const struct home_sensor {
    enum metric metric;
    const char *name, *unit, *device_class, *state_class, *icon; /* NULL: none */
    double scale;                                                /* factor to the unit; 0: that of the JSON key */
    const char *key;                                             /* NULL: the JSON key of the metric */
} sensors[] = {
    {METRIC_util_permille, "Utilization", "%", NULL, "measurement", "mdi:gauge", 0, NULL},
    {METRIC_temp_mdegc, "Temperature", "°C", "temperature", "measurement", NULL, 0, NULL},
    {METRIC_temp_hotspot_mdegc, "Hotspot temperature", "°C", "temperature", "measurement", NULL, 0, NULL},
    {METRIC_temp_memory_mdegc, "Memory temperature", "°C", "temperature", "measurement", NULL, 0, NULL},
    {METRIC_power_mw, "Power", "W", "power", "measurement", NULL, 0, NULL},
    {METRIC_energy_mj, "Energy", "kWh", "energy", "total_increasing", NULL, 1.0 / 3600e6, "energy_kwh"},
    {METRIC_mem_used_bytes, "VRAM used", "MiB", "data_size", "measurement", "mdi:memory", 0, NULL},
    {METRIC_mem_total_bytes, "VRAM total", "MiB", "data_size", NULL, "mdi:memory", 0, NULL},
    {METRIC_fan_permille, "Fan", "%", NULL, "measurement", "mdi:fan", 0, NULL},
    {METRIC_fan_rpm, "Fan speed", "rpm", NULL, "measurement", "mdi:fan", 0, NULL},
};

static const char *sensor_key(const struct home_sensor *s)
{
    return s->key ? s->key : metric_table[s->metric].json;
}

/* Of a GPU; NULL: of the host. */
static const char *device_id(const struct home_place *p, const struct gpu *g, char id[HOME_NODE_SIZE])
{
    char index[HOME_NODE_SIZE];
    if (!g)
        return p->node;
    snprintf(index, sizeof index, "%.60s_gpu%d", p->node, g->index);
    clean_id(id, HOME_NODE_SIZE, g->id.uuid[0] ? g->id.uuid : index);
    return id;
}

/* ---- configurations ---- */

static void put_device(struct json_writer *j, const struct home_place *p, const struct gpu *g)
{
    char id[HOME_NODE_SIZE], host[HOME_NODE_SIZE + 8], own[HOME_NODE_SIZE + 8], name[HOST_NAME_SIZE + 16];
    snprintf(host, sizeof host, "whirr_%s", p->node);
    snprintf(own, sizeof own, "whirr_%s", device_id(p, g, id));
    if (g)
        snprintf(name, sizeof name, "%s GPU %d", p->host, g->index);
    else
        snprintf(name, sizeof name, "%s GPUs", p->host);
    jw_key_object(j, "device");
    jw_key_array(j, "identifiers");
    jw_text(j, own);
    jw_end(j);
    jw_key_text(j, "name", name);
    jw_key_text(j, "model", g ? g->id.name : "whirr");
    if (g) {
        jw_key_text(j, "manufacturer", g->id.vendor);
        jw_key_text(j, "via_device", host);
    } else {
        jw_key_text(j, "sw_version", WHIRR_VERSION);
    }
    jw_end(j);
}

static void put_topic(struct json_writer *j, const char *key, const struct home_place *p, const char *topic)
{
    char path[MQTT_TOPIC_SIZE];
    snprintf(path, sizeof path, "%s/%s", p->base, topic);
    jw_key_text(j, key, path);
}

/* Opens an entity's configuration and writes the common keys; the caller adds its own and calls close_entity(). */
static struct json_writer open_entity(const struct home_place *p, const struct gpu *g, const char *component, const char *object,
                                      const char *name, const char *topic, struct home_messages *out)
{
    char own[HOME_NODE_SIZE], entity[ENTITY_SIZE];
    const char *id = device_id(p, g, own);
    snprintf(entity, sizeof entity, "whirr_%s_%s", id, object);
    begin(out, true, "%s/%s/whirr_%s/%s/config", p->discovery, component, id, object);
    struct json_writer j = JSON_WRITER(&out->text);
    jw_object(&j);
    jw_key_text(&j, "name", name);
    jw_key_text(&j, "unique_id", entity);
    put_topic(&j, "state_topic", p, topic);
    put_topic(&j, "availability_topic", p, "status");
    put_device(&j, p, g);
    return j;
}

static void close_entity(struct json_writer *j, struct home_messages *out)
{
    jw_end(j);
    end(out);
}

/* Home Assistant limits states to 255 characters; the attributes hold the whole answer. */
static void why_entity(const struct home_place *p, const struct gpu *g, const char *topic, struct home_messages *out)
{
    struct json_writer j = open_entity(p, g, "sensor", "why", "Why", topic, out);
    jw_key_text(&j, "value_template", "{{ value_json.why[:255] }}");
    put_topic(&j, "json_attributes_topic", p, topic);
    jw_key_text(&j, "icon", "mdi:help-circle-outline");
    close_entity(&j, out);
}

static void gpu_entities(const struct home_place *p, const struct gpu *g, struct home_messages *out)
{
    char topic[32];
    snprintf(topic, sizeof topic, "gpu/%d", g->index);
    for (size_t i = 0; i < ARRAY_LEN(sensors); i++) {
        const struct home_sensor *s = &sensors[i];
        char value[128];
        enum reading_state state = g->metric[s->metric].state;
        if (state == READING_UNSUPPORTED || state == READING_DENIED)
            continue; /* unsupported by the hardware: its entity would stay empty */
        struct json_writer j = open_entity(p, g, "sensor", sensor_key(s), s->name, topic, out);
        snprintf(value, sizeof value, "{{ value_json.%s }}", sensor_key(s));
        jw_key_text(&j, "value_template", value);
        jw_key_text(&j, "unit_of_measurement", s->unit);
        if (s->device_class)
            jw_key_text(&j, "device_class", s->device_class);
        if (s->state_class)
            jw_key_text(&j, "state_class", s->state_class);
        if (s->icon)
            jw_key_text(&j, "icon", s->icon);
        close_entity(&j, out);
    }
    why_entity(p, g, topic, out);
}

/* Configurations for everything that put_state() and put_alerts() write: one device for the host and one per GPU. */
static void put_discovery(const struct home_place *p, const struct snapshot *s, struct home_messages *out)
{
    if (!p->discovery[0])
        return;
    why_entity(p, NULL, "state", out);
    struct json_writer j = open_entity(p, NULL, "sensor", "power_watts", "Power of all GPUs", "state", out);
    jw_key_text(&j, "value_template", "{{ value_json.power_watts }}");
    jw_key_text(&j, "unit_of_measurement", "W");
    jw_key_text(&j, "device_class", "power");
    jw_key_text(&j, "state_class", "measurement");
    close_entity(&j, out);
    j = open_entity(p, NULL, "binary_sensor", "alerts", "Alerts", "state", out);
    jw_key_text(&j, "value_template", "{{ 'ON' if value_json.alerts_firing > 0 else 'OFF' }}");
    jw_key_text(&j, "device_class", "problem");
    close_entity(&j, out);
    j = open_entity(p, NULL, "event", "alert", "Alert", "alert", out);
    jw_key_array(&j, "event_types");
    jw_text(&j, "firing");
    jw_text(&j, "resolved");
    jw_end(&j);
    jw_key_text(&j, "icon", "mdi:alert");
    close_entity(&j, out);
    for (size_t i = 0; i < s->gpu_count; i++)
        gpu_entities(p, &s->gpus[i], out);
}

/* ---- states ---- */

static void gpu_state(const struct home_place *p, const struct gpu *g, const char *why, struct home_messages *out)
{
    begin(out, true, "%s/gpu/%d", p->base, g->index);
    struct json_writer j = JSON_WRITER(&out->text);
    jw_object(&j);
    jw_key_int(&j, "index", g->index);
    jw_key_text(&j, "name", g->id.name);
    jw_key_text(&j, "uuid", g->id.uuid[0] ? g->id.uuid : NULL);
    jw_key_text(&j, "state", gpu_state_name(g->state));
    for (size_t i = 0; i < ARRAY_LEN(sensors); i++) {
        const struct home_sensor *s = &sensors[i];
        int64_t value = 0;
        bool known = reading_get(g->metric[s->metric], &value);
        double scale = s->scale > 0 ? s->scale : metric_table[s->metric].json_scale;
        jw_key_number(&j, sensor_key(s), known ? (double)value * scale : NAN);
    }
    jw_key_text(&j, "why", why);
    jw_end(&j);
    end(out);
}

static void put_state(const struct home_place *p, const struct home_view *v, size_t firing, struct home_messages *out)
{
    const struct snapshot *s = v->snapshot;
    int64_t total_mw = 0, mw = 0;
    bool known = false;
    for (size_t i = 0; i < s->gpu_count; i++) {
        gpu_state(p, &s->gpus[i], v->gpu_why[i], out);
        if (reading_get(s->gpus[i].power_mw, &mw)) {
            total_mw += mw;
            known = true;
        }
    }
    char at[WALL_TEXT_SIZE];
    wall_format(s->taken_at, at);
    begin(out, true, "%s/state", p->base);
    struct json_writer j = JSON_WRITER(&out->text);
    jw_object(&j);
    jw_key_text(&j, "host", p->host);
    jw_key_text(&j, "timestamp", at);
    jw_key_int(&j, "gpu_count", (int64_t)s->gpu_count);
    jw_key_number(&j, "power_watts", known ? (double)total_mw / 1000 : NAN);
    jw_key_int(&j, "alerts_firing", (int64_t)firing);
    jw_key_text(&j, "why", v->why);
    jw_end(&j);
    end(out);
}

/* One event per notice, or a single message with the template's text in `own`. */
static void put_alerts(const struct home_place *p, const struct notice_group *group, const char *own, struct home_messages *out)
{
    for (size_t i = 0; i < (own ? 1 : group->count); i++) {
        begin(out, false, "%s/alert", p->base);
        struct json_writer j = JSON_WRITER(&out->text);
        if (own) {
            buf_text(&out->text, own);
        } else {
            jw_object(&j);
            jw_key_text(&j, "event_type", notice_status_name(group->list[i]->status));
            notice_json_members(&j, group->list[i]);
            jw_end(&j);
        }
        end(out);
    }
}

/* ---- the connection ---- */

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
    struct home_messages messages = {.text = BUF(TEXT_MAX)};
    struct error err = {0};
    place_init(&place, t);
    put_alerts(&place, group, own, &messages);
    int rc = publish_or_again(env, t, &place, &messages, cancel, &err);
    messages_done(&messages);
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
    struct home_messages messages = {.text = BUF(TEXT_MAX)};
    uint64_t gpus = gpus_of(view->snapshot);
    place_init(&place, t);
    int rc = connect_broker(env, t, &place, cancel, err);
    if (rc < 0)
        return rc;
    if (t->shown_gpus != gpus) {
        put_discovery(&place, view->snapshot, &messages);
        put_status(&place, true, &messages);
    }
    put_state(&place, view, firing, &messages);
    rc = publish(t, &messages, err);
    messages_done(&messages);
    if (rc == 0)
        t->shown_gpus = gpus;
    return rc;
}

int broker_reach(const struct env *env, struct notify_target *t, const _Atomic bool *cancel, struct error *err)
{
    struct home_place place;
    place_init(&place, t);
    return connect_broker(env, t, &place, cancel, err);
}

int broker_keep_alive(struct notify_target *t, struct error *err)
{
    int rc = t->broker ? mqtt_ping(t->broker, err) : 0;
    if (rc < 0)
        broker_close(t);
    return rc;
}
