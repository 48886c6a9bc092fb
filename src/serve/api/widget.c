/* SPDX-License-Identifier: Apache-2.0
 * Summarizes the newest sample, for one GPU (?gpu=) or for all: highest utilization, temperature and fan speed, total memory and
 * power.
 */
#include "serve/api/core.h"

#include <math.h>
#include <string.h>

#include "answer/answer.h"
#include "base/units.h"
#include "format/json/json.h"
#include "model/metric.h"
#include "serve/data/page.h"

enum mood { MOOD_NONE, MOOD_OK, MOOD_WARNING, MOOD_CRITICAL };

struct extract {
    struct reading util, used, total, temp, power, fan, share;
    enum mood mood;
    size_t count;
    char text[128]; /* "97%, 71 °C, 316 W", without what is unknown */
};

/* The reason why nothing is known is that of the first GPU. */
static bool adds(struct reading *into, struct reading r)
{
    if (r.state != READING_OK && into->state == READING_UNREAD)
        *into = r;
    return r.state == READING_OK;
}

static void keep_max(struct reading *into, struct reading r)
{
    if (adds(into, r) && (into->state != READING_OK || r.value > into->value))
        *into = r;
}

static void sum(struct reading *into, struct reading r)
{
    if (adds(into, r))
        *into = reading_ok(reading_or(*into, 0) + r.value);
}

static enum mood mood_of(const struct gpu *g)
{
    if (g->state == GPU_LOST || g->state == GPU_ERROR)
        return MOOD_CRITICAL;
    return reading_or(g->throttle_bits, 0) & THROTTLE_HOT ? MOOD_WARNING : MOOD_OK;
}

static void figure(struct buf *out, struct reading r, double scale, const char *unit)
{
    if (r.state == READING_OK)
        buf_printf(out, "%s%.0f%s", out->len ? ", " : "", (double)r.value * scale, unit);
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
    if (e.used.state != READING_OK)
        e.share = e.used;
    else if (e.total.state == READING_OK && e.total.value > 0)
        e.share = reading_ok((int64_t)lround(1000.0 * (double)e.used.value / (double)e.total.value));
    else
        e.share = reading_absent(READING_UNSUPPORTED);
    AUTO_BUF struct buf text = BUF(sizeof e.text);
    figure(&text, e.util, 0.1, "%");
    figure(&text, e.temp, 1e-3, " °C");
    figure(&text, e.power, 1e-3, " W");
    str_copy(e.text, sizeof e.text, text.len ? buf_view(&text) : str_from(e.count ? "–" : "no GPU"));
    return e;
}

static const char *mood_name(enum mood mood)
{
    static const char *const names[] = {"no GPU", "ok", "warning", "critical"};
    return names[mood];
}

ANSWER_NAMES(moods, enum mood, mood_name, MOOD_NONE, MOOD_CRITICAL);

ANSWER_TABLE(figures_answer, struct extract)
{
    FIELD(NAME, "state", mood, "critical: a GPU is lost or cannot be read; warning: one is thermal throttling", NAMES(moods));
    FIELD(TEXT, "text", text, "Utilization, temperature and power, for people");
    FIELD(READING, "utilization_percent", util, NULL, SCALE(0.1));
    FIELD(READING, "memory_used_percent", share, NULL, SCALE(0.1));
    FIELD(READING, "memory_used_gib", used, NULL, SCALE(PER_GIB));
    FIELD(READING, "memory_total_gib", total, NULL, SCALE(PER_GIB));
    FIELD(READING, "temperature_celsius", temp, NULL, SCALE(1e-3));
    FIELD(READING, "power_watts", power, NULL, SCALE(1e-3));
    FIELD(READING, "fan_percent", fan, NULL, SCALE(0.1));
}

struct told_one {
    int64_t index;
    const char *name;
    struct extract e;
};

ANSWER_TABLE(one_answer, struct told_one, .name = "WidgetGpu")
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(WORD, "gpu_name", name, NULL, OR_NULL);
    FIELD(KEYS, NULL, e, NULL, FIELDS(figures_answer));
}

struct told_widget {
    const char *host, *answer;
    struct extract e;
    const struct snapshot *s;
    int only;
    struct told_one one; /* the GPU being written */
};

static const void *next_one(const struct answer_at *at, struct answer_step *step)
{
    struct told_widget *told = at->context;
    if (told->only != ALL_GPUS && step->at <= (size_t)told->only)
        step->at = (size_t)told->only;
    else if (told->only != ALL_GPUS || step->at == told->s->gpu_count)
        return NULL;
    const struct gpu *g = &told->s->gpus[step->at];
    told->one = (struct told_one){g->index, g->id.name, extract(told->s, (int)step->at++)};
    return &told->one;
}

SHARED_ANSWER_TABLE(widget_answer, struct told_widget, .name = "Widget")
{
    FIELD(WORD, "host", host, NULL, OR_NULL);
    FIELD(WORD, "answer", answer, NULL, OR_NULL);
    FIELD(INT, "gpu_count", e.count, NULL);
    FIELD(KEYS, NULL, e, NULL, FIELDS(figures_answer));
    EACH(OBJECT, "gpus", next_one, NULL, FIELDS(one_answer));
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
    struct told_widget told = {.host = s->host.name, .e = extract(s, only), .s = s, .only = only};
    told.answer = !why ? NULL : only == ALL_GPUS ? why->answer : (size_t)only < why->gpu_count ? why->gpus[only].answer : NULL;
    answer_write(JSON_LINE(&out), &widget_answer, &told, &told);
    ready_json(x, &out);
}

void get_badge(struct exchange *x)
{
    static const char *const colors[] = {"#6b7280", "#17713a", "#8a5300", "#b3231a"};
    int only;
    if (!find_gpu(x, &only))
        return;
    struct extract e = extract(x->server->data.latest, only);
    const char *label = e.mood >= MOOD_WARNING ? mood_name(e.mood) : "GPU";
    int left = 12 + 7 * (int)strlen(label), right = 12 + 7 * (int)strlen(e.text), all = left + right;
    AUTO_BUF struct buf out = BUF(4096);
    buf_printf(
        &out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"20\" role=\"img\" aria-label=\"%s: %s\">"
        "<rect width=\"%d\" height=\"20\" rx=\"3\" fill=\"#333a42\"/><path d=\"M%d 0h%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz\" "
        "fill=\"%s\"/><g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">"
        "<text x=\"%d\" y=\"14\">%s</text><text x=\"%d\" y=\"14\">%s</text></g></svg>\n",
        all, label, e.text, all, left, right - 3, right - 3, colors[e.mood], left / 2, label, left + right / 2, e.text);
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
