/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as JSON, written and parsed.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/forecast.h"
#include "format/json/json.h"

enum { ANSWER_SIZE = 512 };

static void forecast_number(struct json_writer *j, const char *key, bool known, double value)
{
    jw_key(j, key);
    if (known && isfinite(value))
        jw_number(j, value);
    else
        jw_null(j);
}

/* No forecast is more precise than tenths of a second. */
static double tenths(double seconds)
{
    return round(seconds * 10) / 10;
}

static void when_fields(struct json_writer *j, const struct forecast *f, const struct forecast_when *w)
{
    bool expected = w->verdict == FORECAST_EXPECTED, reached = w->verdict == FORECAST_REACHED;
    jw_key_text(j, "verdict", forecast_verdict_name(w->verdict));
    jw_key_text(j, "reason", w->reason);
    json_time(j, "at", expected ? (struct wall){f->at.ms + (int64_t)(w->likely_s * 1000)} : reached ? f->at : (struct wall){0});
    forecast_number(j, "seconds", expected || reached, expected ? tenths(w->likely_s) : 0);
    forecast_number(j, "earliest_seconds", expected, tenths(w->earliest_s));
    forecast_number(j, "latest_seconds", expected, tenths(w->latest_s));
    forecast_number(j, "basis_seconds", w->basis_s > 0, tenths(w->basis_s));
}

static void vram(struct json_writer *j, const struct forecast *f, const struct forecast_vram *v)
{
    jw_key_object(j, "memory");
    when_fields(j, f, &v->when);
    json_scaled_int(j, "used_mb", v->used_bytes, 1 / 1048576.0);
    json_scaled_int(j, "room_mb", v->room_bytes, 1 / 1048576.0);
    forecast_number(j, "growth_mb_per_minute", v->bytes_per_s > 0, tenths(v->bytes_per_s * 60 / 1048576));
    jw_key(j, "process");
    if (v->pid) {
        jw_object(j);
        jw_key_int(j, "pid", v->pid);
        json_words(j, "name", v->name);
        json_words(j, "short_name", v->words);
        json_words(j, "user", v->user);
        jw_end(j);
    } else {
        jw_null(j);
    }
    jw_end(j);
}

static void heat(struct json_writer *j, const struct forecast *f, const struct forecast_heat *h)
{
    jw_key_object(j, "temperature");
    when_fields(j, f, &h->when);
    json_scaled(j, "temperature_celsius", h->now_mdegc, 1e-3);
    json_scaled(j, "limit_celsius", h->limit_mdegc, 1e-3);
    forecast_number(j, "final_celsius", true, round(h->final_c * 10) / 10);
    forecast_number(j, "time_constant_seconds", true, tenths(h->tau_s));
    jw_end(j);
}

static void store(struct json_writer *j, const struct forecast *f)
{
    jw_key(j, "store");
    if (!f->has_store) {
        jw_null(j);
        return;
    }
    const struct forecast_store *s = &f->store;
    jw_object(j);
    when_fields(j, f, &s->when);
    jw_key_text(j, "of", s->of_disk ? "disk" : "cap");
    json_scaled_int(j, "used_bytes", s->used_bytes, 1);
    json_scaled_int(j, "cap_bytes", s->cap_bytes, 1);
    json_scaled_int(j, "disk_free_bytes", s->disk_free_bytes, 1);
    forecast_number(j, "growth_bytes_per_day", s->bytes_per_s > 0, round(s->bytes_per_s * 86400));
    jw_end(j);
}

void json_forecast(struct json_writer *j, const struct forecast *f, const struct forecast_basis *basis, int only)
{
    char answer[ANSWER_SIZE];
    forecast_answer(f, only, answer, sizeof answer);
    jw_object(j);
    json_time(j, "timestamp", f->at);
    json_words(j, "host", basis->host ? basis->host : "");
    jw_key_text(j, "answer", answer);
    jw_key_bool(j, "simulated", basis->simulated);
    jw_key_bool(j, "remembered", basis->remembered);
    forecast_number(j, "watched_seconds", true, tenths(basis->watched_s));
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < f->count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        jw_object(j);
        jw_key_int(j, "gpu_index", f->gpus[i].gpu_index);
        json_words(j, "gpu_name", f->gpus[i].id.name);
        json_words(j, "gpu_uuid", f->gpus[i].id.uuid);
        vram(j, f, &f->gpus[i].vram);
        heat(j, f, &f->gpus[i].heat);
        jw_end(j);
    }
    jw_end(j);
    store(j, f);
    jw_end(j);
}

/* ---- parsing ---- */

static void text_of(char *to, size_t size, const json_t *object, const char *key)
{
    const json_t *text = json_object_get(object, key);
    const char *value = json_string_value(text);
    str_copy(to, size, value ? (struct str){value, json_string_length(text)} : STR(""));
}

static double forecast_number_of(const json_t *object, const char *key, double fallback)
{
    const json_t *n = json_object_get(object, key);
    return json_is_number(n) ? json_number_value(n) : fallback;
}

static struct reading reading_of(const json_t *object, const char *key, double scale)
{
    const json_t *n = json_object_get(object, key);
    double value = json_is_number(n) ? json_number_value(n) * scale : NAN;
    return fabs(value) < 9e18 ? reading_ok((int64_t)llround(value)) : reading_absent(READING_UNREAD);
}

static void read_when(const json_t *json, struct forecast_when *ret)
{
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    for (int v = FORECAST_UNKNOWN; verdict && v <= FORECAST_REACHED; v++)
        if (strcmp(verdict, forecast_verdict_name((enum forecast_verdict)v)) == 0)
            ret->verdict = (enum forecast_verdict)v;
    ret->likely_s = forecast_number_of(json, "seconds", 0);
    ret->earliest_s = forecast_number_of(json, "earliest_seconds", 0);
    ret->latest_s = forecast_number_of(json, "latest_seconds", HUGE_VAL);
    ret->basis_s = forecast_number_of(json, "basis_seconds", 0);
    text_of(ret->reason, sizeof ret->reason, json, "reason");
}

static void read_gpu(const json_t *json, struct forecast_gpu *ret)
{
    const json_t *memory = json_object_get(json, "memory"), *heat = json_object_get(json, "temperature");
    const json_t *process = json_object_get(memory, "process");
    ret->gpu_index = (int)json_integer_value(json_object_get(json, "gpu_index"));
    text_of(ret->id.name, sizeof ret->id.name, json, "gpu_name");
    text_of(ret->id.uuid, sizeof ret->id.uuid, json, "gpu_uuid");
    read_when(memory, &ret->vram.when);
    ret->vram.used_bytes = reading_of(memory, "used_mb", 1048576);
    ret->vram.room_bytes = reading_of(memory, "room_mb", 1048576);
    ret->vram.bytes_per_s = forecast_number_of(memory, "growth_mb_per_minute", 0) * 1048576 / 60;
    ret->vram.pid = (int32_t)json_integer_value(json_object_get(process, "pid"));
    text_of(ret->vram.name, sizeof ret->vram.name, process, "name");
    text_of(ret->vram.user, sizeof ret->vram.user, process, "user");
    text_of(ret->vram.words, sizeof ret->vram.words, process, "short_name");
    read_when(heat, &ret->heat.when);
    ret->heat.now_mdegc = reading_of(heat, "temperature_celsius", 1000);
    ret->heat.limit_mdegc = reading_of(heat, "limit_celsius", 1000);
    ret->heat.final_c = forecast_number_of(heat, "final_celsius", NAN);
    ret->heat.tau_s = forecast_number_of(heat, "time_constant_seconds", NAN);
}

static void read_store(const json_t *json, struct forecast_store *ret)
{
    const char *of = json_string_value(json_object_get(json, "of"));
    read_when(json, &ret->when);
    ret->of_disk = of && strcmp(of, "disk") == 0;
    ret->used_bytes = reading_of(json, "used_bytes", 1);
    ret->cap_bytes = reading_of(json, "cap_bytes", 1);
    ret->disk_free_bytes = reading_of(json, "disk_free_bytes", 1);
    ret->bytes_per_s = forecast_number_of(json, "growth_bytes_per_day", 0) / 86400;
}

struct forecast *forecast_from_json(struct str text, struct forecast_basis *ret)
{
    json_t *json = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(json, "gpus"), *kept = json_object_get(json, "store");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)GPU_MAX);
    struct forecast *f = json_is_array(gpus) ? calloc(1, sizeof *f + count * sizeof *f->gpus) : NULL;
    if (f) {
        const json_t *at = json_object_get(json, "timestamp");
        if (json_is_string(at))
            wall_parse((struct str){json_string_value(at), json_string_length(at)}, &f->at);
        f->count = count;
        for (size_t i = 0; i < count; i++)
            read_gpu(json_array_get(gpus, i), &f->gpus[i]);
        f->has_store = json_is_object(kept);
        if (f->has_store)
            read_store(kept, &f->store);
        *ret = (struct forecast_basis){.simulated = json_is_true(json_object_get(json, "simulated")),
                                       .remembered = json_is_true(json_object_get(json, "remembered")),
                                       .watched_s = forecast_number_of(json, "watched_seconds", 0)};
    }
    json_decref(json);
    return f;
}
