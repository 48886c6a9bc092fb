/* SPDX-License-Identifier: Apache-2.0
 * Summarizes the newest sample, for one GPU (?gpu=) or for all: highest utilization, temperature and fan speed, total memory and
 * power.
 */
#include "serve/api/core.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "format/json/json.h"
#include "model/metric.h"
#include "serve/api/ready.h"
#include "serve/data/page.h"

enum mood { MOOD_NONE, MOOD_OK, MOOD_WARNING, MOOD_CRITICAL };

struct extract {
    struct reading util, used, total, temp, power, fan;
    enum mood mood;
    size_t count;
};

static void keep_max(struct reading *into, struct reading r)
{
    if (r.state == READING_OK && (into->state != READING_OK || r.value > into->value))
        *into = r;
}

static void sum(struct reading *into, struct reading r)
{
    if (r.state == READING_OK)
        *into = reading_ok(reading_or(*into, 0) + r.value);
}

static enum mood mood_of(const struct gpu *g)
{
    if (g->state == GPU_LOST || g->state == GPU_ERROR)
        return MOOD_CRITICAL;
    return reading_or(g->throttle_bits, 0) & THROTTLE_HOT ? MOOD_WARNING : MOOD_OK;
}

static struct extract extract(const struct snapshot *s, int only)
{
    struct extract e = {0};
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *g = &s->gpus[i];
        if (only != ALL_GPUS && (size_t)only != i)
            continue;
        keep_max(&e.util, g->util_permille);
        keep_max(&e.temp, g->temp_mdegc);
        keep_max(&e.fan, g->fan_permille);
        if (only != ALL_GPUS || snapshot_counts_memory(s, g)) {
            sum(&e.used, g->mem_used_bytes);
            sum(&e.total, g->mem_total_bytes);
        }
        sum(&e.power, g->power_mw);
        e.mood = mood_of(g) > e.mood ? mood_of(g) : e.mood;
        e.count++;
    }
    return e;
}

static const char *mood_name(enum mood mood)
{
    static const char *const names[] = {"no GPU", "ok", "warning", "critical"};
    return names[mood];
}

static void figure(struct buf *out, const char *before, struct reading r, double scale, int decimals, const char *unit)
{
    if (r.state == READING_OK)
        buf_printf(out, "%s%.*f%s", out->len ? before : "", decimals, (double)r.value * scale, unit);
}

/* "97%, 71 °C, 316 W", without what is unknown. */
static void write_short(struct buf *out, const struct extract *e)
{
    figure(out, ", ", e->util, 0.1, 0, "%");
    figure(out, ", ", e->temp, 1e-3, 0, " °C");
    figure(out, ", ", e->power, 1e-3, 0, " W");
    if (!out->len)
        buf_text(out, e->count ? "–" : "no GPU");
}

static struct reading memory_permille(const struct extract *e)
{
    if (e->used.state != READING_OK || e->total.state != READING_OK || e->total.value <= 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok((int64_t)lround(1000.0 * (double)e->used.value / (double)e->total.value));
}

static void figures(struct json_writer *j, const struct extract *e)
{
    AUTO_BUF struct buf text = BUF(128);
    write_short(&text, e);
    jw_key_text(j, "state", mood_name(e->mood));
    jw_key(j, "text");
    jw_str(j, buf_view(&text));
    json_scaled(j, "utilization_percent", e->util, 0.1);
    json_scaled(j, "memory_used_percent", memory_permille(e), 0.1);
    json_scaled(j, "memory_used_gib", e->used, PER_GIB);
    json_scaled(j, "memory_total_gib", e->total, PER_GIB);
    json_scaled(j, "temperature_celsius", e->temp, 1e-3);
    json_scaled(j, "power_watts", e->power, 1e-3);
    json_scaled(j, "fan_percent", e->fan, 0.1);
}

/* Finds the requested GPU. False: the request waits, or was answered. */
static bool find_gpu(struct exchange *x, int *only)
{
    if (!ready_recent(x, -1))
        return false;
    if (!x->server->data.has_sample) {
        ready_starting(x);
        return false;
    }
    *only = ready_which_gpu(x);
    return *only >= ALL_GPUS;
}

void get_widget(struct exchange *x)
{
    int only;
    if (!find_gpu(x, &only))
        return;
    const struct snapshot *s = x->server->data.latest;
    const struct why *why = data_why(&x->server->data);
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    struct json_writer j = JSON_WRITER(&out);
    struct extract e = extract(s, only);
    jw_object(&j);
    json_words(&j, "host", s->host.name);
    const char *answer = !why ? "" : only == ALL_GPUS ? why->answer : (size_t)only < why->gpu_count ? why->gpus[only].answer : "";
    json_words(&j, "answer", answer);
    jw_key_int(&j, "gpu_count", (int64_t)e.count);
    figures(&j, &e);
    jw_key_array(&j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only != ALL_GPUS && (size_t)only != i)
            continue;
        struct extract one = extract(s, (int)i);
        jw_object(&j);
        jw_key_int(&j, "gpu_index", s->gpus[i].index);
        json_words(&j, "gpu_name", s->gpus[i].id.name);
        figures(&j, &one);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(&out, '\n');
    AUTO_BLOB struct blob *body = blob_take(&out);
    ready_reply(x, body, "application/json");
}

void get_badge(struct exchange *x)
{
    static const char *const colors[] = {"#6b7280", "#17713a", "#8a5300", "#b3231a"};
    int only;
    if (!find_gpu(x, &only))
        return;
    struct extract e = extract(x->server->data.latest, only);
    AUTO_BUF struct buf text = BUF(128);
    write_short(&text, &e);
    const char *label = e.mood >= MOOD_WARNING ? mood_name(e.mood) : "GPU";
    int left = 12 + 7 * (int)strlen(label), right = 12 + 7 * (int)text.len, all = left + right;
    AUTO_BUF struct buf out = BUF(4096);
    buf_printf(
        &out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"20\" role=\"img\" aria-label=\"%s: " STR_FMT "\">"
        "<rect width=\"%d\" height=\"20\" rx=\"3\" fill=\"#333a42\"/><path d=\"M%d 0h%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz\" "
        "fill=\"%s\"/><g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">"
        "<text x=\"%d\" y=\"14\">%s</text><text x=\"%d\" y=\"14\">" STR_FMT "</text></g></svg>\n",
        all, label, STR_ARG(buf_view(&text)), all, left, right - 3, right - 3, colors[e.mood], left / 2, label, left + right / 2,
        STR_ARG(buf_view(&text)));
    AUTO_BLOB struct blob *body = blob_take(&out);
    ready_reply(x, body, "image/svg+xml");
}

/* Only origins that may read the API may embed it. Skips what doesn't look like an origin: it would become part of the policy. */
static void tile_policy(struct buf *out, const struct site_options *o)
{
    size_t allowed = 0;
    buf_text(out, "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors");
    for (size_t i = 0; i < o->cors_origin_count; i++) {
        const char *origin = o->cors_origins[i];
        if (strcmp(origin, "*") != 0 && (strncmp(origin, "http", 4) != 0 || strpbrk(origin, " ;,'\"\r\n\t")))
            continue;
        buf_printf(out, " %s", origin);
        allowed++;
    }
    if (!allowed)
        buf_text(out, " 'none'");
}

void get_tile(struct exchange *x)
{
    int only;
    if (!find_gpu(x, &only))
        return;
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX), policy = BUF(8192);
    page_write_tile(&out, x->server->data.latest, data_why(&x->server->data), only);
    tile_policy(&policy, &x->site->options);
    buf_char(&policy, '\0');
    AUTO_BLOB struct blob *body = blob_take(&out);
    if (body && !policy.failed)
        exchange_reply(x, &(struct reply){.type = "text/html; charset=utf-8", .body = body, .policy = buf_view(&policy).at});
}
