/* SPDX-License-Identifier: Apache-2.0
 * Building blocks of JSON bodies: absent readings, times, sources, the host.
 */
#include <math.h>
#include <stdio.h>

#include "format/json/json.h"

void json_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    if (at.ms)
        wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

void json_scaled(struct json_writer *j, const char *key, struct reading r, double scale)
{
    jw_key_number(j, key, r.state == READING_OK ? (double)r.value * scale : NAN);
}

void json_scaled_int(struct json_writer *j, const char *key, struct reading r, double scale)
{
    jw_key(j, key);
    if (r.state == READING_OK)
        jw_int(j, llround((double)r.value * scale));
    else
        jw_null(j);
}

void json_scaled_float(struct json_writer *j, const char *key, struct reading r, double scale)
{
    double value = (double)r.value * scale;
    if (r.state != READING_OK || value != floor(value) || fabs(value) >= 1e15) {
        json_scaled(j, key, r, scale);
        return;
    }
    /* Readers that derive the type from the text must see a float even for an integer. */
    char text[32];
    int len = snprintf(text, sizeof text, "%.1f", value);
    jw_key(j, key);
    jw_raw(j, (struct str){text, (size_t)len});
}

void json_words(struct json_writer *j, const char *key, const char *text)
{
    jw_key_text(j, key, text[0] ? text : NULL);
}

void json_sources(struct json_writer *j, const struct snapshot *s)
{
    jw_array(j);
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        jw_object(j);
        jw_key_text(j, "name", source->name);
        jw_key_text(j, "state", source_state_name(source->state));
        jw_key_int(j, "gpu_count", source->gpu_count);
        jw_key_int(j, "errors_total", (int64_t)source->errors_total);
        jw_key_int(j, "consecutive_errors", source->consecutive_errors);
        jw_key_int(j, "init_failures_total", (int64_t)source->init_failures_total);
        jw_key_int(j, "implausible_total", (int64_t)source->implausible_total);
        json_words(j, "message", source->message);
        jw_end(j);
    }
    jw_end(j);
}

void json_source_names(struct json_writer *j, const struct snapshot *s)
{
    jw_array(j);
    for (size_t i = 0; i < s->source_count; i++)
        if (s->sources[i].state != SOURCE_OFF)
            jw_text(j, s->sources[i].name);
    jw_end(j);
}

void json_machine(struct json_writer *j, const struct host *host)
{
    jw_object(j);
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        json_scaled(j, host_metric_table[i].json, host->metric[i], host_metric_table[i].json_scale);
    jw_key_object(j, "absent");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        if (host->metric[i].state != READING_OK)
            jw_key_text(j, host_metric_table[i].json, reading_state_name(host->metric[i].state));
    jw_end(j);
    jw_end(j);
}
