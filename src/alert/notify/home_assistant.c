/* SPDX-License-Identifier: Apache-2.0
 * MQTT topics and payloads for Home Assistant.
 */
#include "alert/notify/home_assistant.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/notify/notice.h"
#include "base/cleanup.h"
#include "base/json_writer.h"

enum { TEXT_MAX = 8 << 20, ENTITY_SIZE = 96 };

void home_view_free(struct home_view *v)
{
    if (v)
        snapshot_unref(v->snapshot);
    free(v);
}

/* ---- a list of messages ---- */

void home_messages_init(struct home_messages *m)
{
    *m = (struct home_messages){.text = BUF(TEXT_MAX)};
}

void home_messages_done(struct home_messages *m)
{
    free(m->list);
    buf_done(&m->text);
}

/* Begins a message; the caller writes the payload to `text`. Out of memory skips the message and fails the buffer. */
static void home_assistant_begin(struct home_messages *m, bool retain, const char *format, ...)
    __attribute__((format(gnu_printf, 3, 4)));
static void home_assistant_begin(struct home_messages *m, bool retain, const char *format, ...)
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

void home_place_init(struct home_place *p, const char *topic, const char *discovery, const char *host)
{
    *p = (struct home_place){.topic = topic, .discovery = discovery};
    str_copy(p->host, sizeof p->host, str_from(host[0] ? host : "host"));
    clean_id(p->node, sizeof p->node, p->host);
    snprintf(p->base, sizeof p->base, "%.40s/%s", topic, p->node);
}

void home_status(const struct home_place *p, bool online, struct home_messages *out)
{
    home_assistant_begin(out, true, "%s/status", p->base);
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

static void gpu_id(const struct gpu *g, char id[HOME_NODE_SIZE], const struct home_place *p)
{
    char index[HOME_NODE_SIZE];
    snprintf(index, sizeof index, "%.60s_gpu%d", p->node, g->index);
    clean_id(id, HOME_NODE_SIZE, g->id.uuid[0] ? g->id.uuid : index);
}

/* ---- configurations ---- */

static void put_device(struct json_writer *j, const struct home_place *p, const struct gpu *g)
{
    AUTO_BUF struct buf name = BUF(512), host = BUF(256);
    char id[HOME_NODE_SIZE];
    buf_printf(&host, "whirr_%s", p->node);
    jw_key_object(j, "device");
    jw_key_array(j, "identifiers");
    if (g) {
        gpu_id(g, id, p);
        buf_printf(&name, "whirr_%s", id);
        jw_str(j, buf_view(&name));
        name.len = 0;
        buf_printf(&name, "%s GPU %d", p->host, g->index);
    } else {
        jw_str(j, buf_view(&host));
        buf_printf(&name, "%s GPUs", p->host);
    }
    jw_end(j);
    jw_key(j, "name");
    jw_str(j, buf_view(&name));
    jw_key_text(j, "model", g ? g->id.name : "whirr");
    if (g) {
        jw_key_text(j, "manufacturer", g->id.vendor);
        jw_key(j, "via_device");
        jw_str(j, buf_view(&host));
    } else {
        jw_key_text(j, "sw_version", WHIRR_VERSION);
    }
    jw_end(j);
}

/* Opens an entity's configuration and writes the common keys; the caller adds its own and calls close_entity(). */
static struct json_writer open_entity(const struct home_place *p, const struct gpu *g, const char *component, const char *object,
                                      const char *name, const char *topic, struct home_messages *out)
{
    char id[HOME_NODE_SIZE], entity[ENTITY_SIZE * 2];
    if (g)
        gpu_id(g, id, p);
    else
        str_copy(id, sizeof id, str_from(p->node));
    snprintf(entity, sizeof entity, "whirr_%s_%s", id, object);
    home_assistant_begin(out, true, "%s/%s/whirr_%s/%s/config", p->discovery, component, id, object);
    struct json_writer j = JSON_WRITER(&out->text);
    jw_object(&j);
    jw_key_text(&j, "name", name);
    jw_key_text(&j, "unique_id", entity);
    AUTO_BUF struct buf text = BUF(512);
    buf_printf(&text, "%s/%s", p->base, topic);
    jw_key(&j, "state_topic");
    jw_str(&j, buf_view(&text));
    text.len = 0;
    buf_printf(&text, "%s/status", p->base);
    jw_key(&j, "availability_topic");
    jw_str(&j, buf_view(&text));
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
    AUTO_BUF struct buf text = BUF(512);
    buf_printf(&text, "%s/%s", p->base, topic);
    jw_key_text(&j, "value_template", "{{ value_json.why[:255] }}");
    jw_key(&j, "json_attributes_topic");
    jw_str(&j, buf_view(&text));
    jw_key_text(&j, "icon", "mdi:help-circle-outline");
    close_entity(&j, out);
}

static void gpu_entities(const struct home_place *p, const struct gpu *g, struct home_messages *out)
{
    char topic[32];
    snprintf(topic, sizeof topic, "gpu/%d", g->index);
    for (size_t i = 0; i < ARRAY_LEN(sensors); i++) {
        const struct home_sensor *s = &sensors[i];
        AUTO_BUF struct buf value = BUF(256);
        enum reading_state state = g->metric[s->metric].state;
        if (state == READING_UNSUPPORTED || state == READING_DENIED)
            continue; /* unsupported by the hardware: its entity would stay empty */
        struct json_writer j = open_entity(p, g, "sensor", sensor_key(s), s->name, topic, out);
        buf_printf(&value, "{{ value_json.%s }}", sensor_key(s));
        jw_key(&j, "value_template");
        jw_str(&j, buf_view(&value));
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

void home_discovery(const struct home_place *p, const struct snapshot *s, struct home_messages *out)
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
    home_assistant_begin(out, true, "%s/gpu/%d", p->base, g->index);
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

void home_state(const struct home_place *p, const struct home_view *v, size_t firing, struct home_messages *out)
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
    home_assistant_begin(out, true, "%s/state", p->base);
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

void home_alerts(const struct home_place *p, const struct notice_group *group, const char *own, struct home_messages *out)
{
    for (size_t i = 0; i < (own ? 1 : group->count); i++) {
        home_assistant_begin(out, false, "%s/alert", p->base);
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
