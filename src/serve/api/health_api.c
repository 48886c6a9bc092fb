/* SPDX-License-Identifier: Apache-2.0
 * Judges the service. A host without a GPU is fine; a driver that hangs or fails, or a history that can't be written, is
 * "degraded"; no samples for a long time is "error".
 */
#include "serve/api/core.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "serve/data/part.h"

enum { SAMPLES_LATE = 3, SAMPLES_DEAD = 12, START_MS = 30000 };

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

/* A part that is off still has its key: docs/api.md promises all of them. */
static void write_part(struct json_writer *j, const struct server_parts *parts, const char *key)
{
    jw_key(j, key);
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

void service_health_write(struct server *server, struct buf *out, enum service_status *ret)
{
    static const char *const names[] = {"ok", "degraded", "error"};
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
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_text(&j, "status", names[*ret]);
    jw_key_text(&j, "version", WHIRR_VERSION);
    jw_key_number(&j, "uptime_seconds", (double)uptime / 1000);
    jw_key_object(&j, "gpu_monitoring");
    jw_key_bool(&j, "available", available);
    jw_key(&j, "sources");
    json_sources(&j, d->latest);
    json_time(&j, "last_sample_at", d->has_sample ? d->latest->taken_at : (struct wall){0});
    jw_key(&j, "sample_age_seconds");
    if (d->has_sample)
        jw_number(&j, (double)age / 1000);
    else
        jw_null(&j);
    jw_key_int(&j, "samples_total", (int64_t)d->latest->sequence);
    jw_end(&j);
    write_part(&j, &server->parts, "store");
    write_part(&j, &server->parts, "guard");
    write_part(&j, &server->parts, "push");
    write_part(&j, &server->parts, "settings");
    jw_key_object(&j, "server");
    jw_key_int(&j, "connections", (int64_t)server->site.loop.conn_count);
    jw_key_int(&j, "requests_total", (int64_t)server->site.requests_total);
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}
