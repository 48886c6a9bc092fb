/* SPDX-License-Identifier: Apache-2.0
 * Judges the service. A host without a GPU is fine; a driver that hangs or fails, or a history that can't be written, is
 * "degraded"; no samples for a long time is "error".
 */
#include "serve/api/core.h"

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "serve/data/part.h"

enum { SAMPLES_LATE = 3, SAMPLES_DEAD = 12, START_MS = 30000 };

static const char *status_name(enum service_status status)
{
    return (const char *const[]){"ok", "degraded", "error"}[status];
}
ANSWER_NAMES(service_statuses, enum service_status, status_name, SERVICE_OK, SERVICE_ERROR);

struct told_service {
    enum service_status status;
    const char *version;
    double uptime_s, age_s;
    bool available, known;
    struct wall last_sample_at;
    const struct snapshot *s;
    size_t connections;
    uint64_t requests;
    const struct server_parts *parts;
};

ANSWER_TABLE(sampled_answer, struct snapshot)
{
    OBJECTS("sources", sources, source_count, source_answer, NULL);
    FIELD(INT, "samples_total", sequence, NULL);
}

ANSWER_TABLE(monitoring_answer, struct told_service)
{
    FIELD(BOOL, "available", available, NULL);
    VIA(KEYS, NULL, s, sampled_answer, NULL);
    FIELD(MOMENT, "last_sample_at", last_sample_at, "null: there was none yet", OR_NULL);
    FIELD(NUMBER, "sample_age_seconds", age_s, NULL, PRESENT(known));
}

ANSWER_TABLE(server_answer, struct told_service)
{
    FIELD(INT, "connections", connections, NULL);
    FIELD(INT, "requests_total", requests, NULL);
}

/* Each part of the daemon writes its own. One that is off still has its key: docs/api.md promises all of them. */
static void write_part(const struct answer_at *at, struct json_writer *j, const char *key)
{
    const struct server_parts *parts = ((const struct told_service *)at->record)->parts;
    for (size_t i = 0; i < parts->count; i++) {
        if (strcmp(parts->list[i].ops->name, key) == 0) {
            parts->list[i].ops->health(parts->list[i].self, j);
            return;
        }
    }
    jw_object(j);
    jw_key_text(j, "state", "off");
    jw_end(j);
}
#define PART_WRITER(name)                                                       \
    static void write_##name(const struct answer_at *at, struct json_writer *j) \
    {                                                                           \
        write_part(at, j, #name);                                               \
    }
PART_WRITER(store)
PART_WRITER(guard)
PART_WRITER(push)
PART_WRITER(settings)

extern const struct answer store_health_answer, push_health_answer, settings_health_answer; /* of layers above */

SHARED_ANSWER_TABLE(service_answer, struct told_service, .name = "Health",
                    .about = "The service itself; a host without a GPU is ok")
{
    FIELD(NAME, "status", status, "503 with `error`", NAMES(service_statuses));
    FIELD(WORD, "version", version, NULL);
    FIELD(NUMBER, "uptime_seconds", uptime_s, NULL);
    PART("gpu_monitoring", monitoring_answer, NULL);
    PART("server", server_answer, NULL);
    WRITER(OBJECT, "store", write_store, NULL, FIELDS(store_health_answer));
    WRITER(OBJECT, "guard", write_guard, NULL, FIELDS(guard_health_answer));
    WRITER(OBJECT, "push", write_push, NULL, FIELDS(push_health_answer));
    WRITER(OBJECT, "settings", write_settings, NULL, FIELDS(settings_health_answer));
}

static bool source_is_troubled(const struct source_status *source)
{
    return source->state == SOURCE_FAILING || source->state == SOURCE_SET_ASIDE || source->state == SOURCE_HUNG;
}

static enum service_status health_of(const struct snapshot *s, bool has_sample, int64_t age_ms, int64_t interval_ms,
                                     int64_t uptime_ms)
{
    int64_t late = SAMPLES_LATE * interval_ms + 1000, dead = MAX_OF(SAMPLES_DEAD * interval_ms, (int64_t)START_MS);
    if (!has_sample) /* either just started, or no source ever answered */
        return uptime_ms > START_MS ? SERVICE_ERROR : SERVICE_DEGRADED;
    if (age_ms > dead)
        return SERVICE_ERROR;
    if (age_ms > late)
        return SERVICE_DEGRADED;
    for (size_t i = 0; i < s->source_count; i++)
        if (source_is_troubled(&s->sources[i]))
            return SERVICE_DEGRADED;
    for (size_t i = 0; i < s->gpu_count; i++)
        if ((s->gpus[i].state == GPU_LOST || s->gpus[i].state == GPU_ERROR) && !s->gpus[i].released)
            return SERVICE_DEGRADED;
    return SERVICE_OK;
}

void service_health_write(struct server *server, struct buf *out, enum service_status *ret)
{
    const struct data *d = &server->data;
    /* The age grows while a driver hangs. */
    int64_t age = data_age_ms(d), uptime = mono_since_ms(clock_mono(&clock_system), server->started);
    *ret = health_of(d->latest, d->has_sample, age, server->options.interval_ms, uptime);
    for (size_t i = 0; i < server->parts.count && *ret == SERVICE_OK; i++)
        if (server->parts.list[i].ops->is_degraded && server->parts.list[i].ops->is_degraded(server->parts.list[i].self))
            *ret = SERVICE_DEGRADED;
    bool available = false;
    for (size_t i = 0; i < d->latest->source_count; i++)
        available |= d->latest->sources[i].state == SOURCE_OK && d->latest->sources[i].gpu_count > 0;
    struct told_service told = {.status = *ret,
                                .version = WHIRR_VERSION,
                                .uptime_s = (double)uptime / 1000,
                                .available = available,
                                .s = d->latest,
                                .known = d->has_sample,
                                .last_sample_at = d->has_sample ? d->latest->taken_at : (struct wall){0},
                                .age_s = (double)age / 1000,
                                .connections = server->site.loop.conn_count,
                                .requests = server->site.requests_total,
                                .parts = &server->parts};
    answer_write(JSON_LINE(out), &service_answer, &told, NULL);
}
