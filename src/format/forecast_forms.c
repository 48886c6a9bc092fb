/* SPDX-License-Identifier: Apache-2.0
 * Forecasts: JSON, written and parsed; lines and a sentence for people; series.
 */
#include "format/forecast_forms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/prometheus/prometheus.h"
#include "format/table/page_table.h"

/* The answer: the record and its own context. */
struct told_forecast {
    struct wall at;
    struct forecast_basis basis;
    bool has_store;
    struct forecast_store store;
    const struct forecast *of;
    int only;
};

static const char *store_limit_name(bool of_disk)
{
    return of_disk ? "disk" : "cap";
}
ANSWER_NAMES(verdicts, enum forecast_verdict, forecast_verdict_name, FORECAST_UNKNOWN, FORECAST_REACHED);
ANSWER_NAMES(store_limits, bool, store_limit_name, 0, 1);

/* ---- when ---- */

ANSWER_TEST(is_expected, struct forecast_when, of->verdict == FORECAST_EXPECTED);

ANSWER_TEST(has_time, struct forecast_when, is_expected(of) || of->verdict == FORECAST_REACHED);

static bool make_at(const struct answer_at *at, union answer_value *ret)
{
    const struct forecast_when *w = at->record;
    const struct told_forecast *told = at->context;
    ret->at.ms = told->at.ms + (is_expected(w) ? (int64_t)(w->likely_s * 1000) : 0);
    return has_time(w);
}

ANSWER_TABLE(when_answer, struct forecast_when)
{
    FIELD(NAME, "verdict", verdict,
          "unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; "
          "expected: as things go; reached: it is there",
          NAMES(verdicts));
    FIELD(TEXT, "reason", reason, "Why, in words");
    MADE(MOMENT, "at", make_at, NULL, OR_NULL);
    FIELD(NUMBER, "seconds", likely_s, "From now; 0 when it is reached", WHEN(has_time), TENTHS); /* no forecast is more precise */
    FIELD(NUMBER, "earliest_seconds", earliest_s, NULL, WHEN(is_expected), TENTHS);
    FIELD(NUMBER, "latest_seconds", latest_s, "null with verdict expected: it may also settle before", WHEN(is_expected), TENTHS,
          .none = HUGE_VAL);
    FIELD(NUMBER, "basis_seconds", basis_s, "Length of the stretch that it was seen on", OR_NULL, TENTHS);
}

/* ---- what ---- */

ANSWER_TEST(memory_grows, struct forecast_vram, of->bytes_per_s > 0);

ANSWER_TABLE(process_answer, struct forecast_vram)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "short_name", words, "What people call it", OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
}

ANSWER_TABLE(memory_answer, struct forecast_vram, .name = "ForecastMemory")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(READING, "used_mb", used_bytes, NULL, SCALE(PER_MIB), WHOLE);
    FIELD(READING, "room_mb", room_bytes, "What processes can have in all", SCALE(PER_MIB), WHOLE);
    FIELD(NUMBER, "growth_mb_per_minute", bytes_per_s, NULL, WHEN(memory_grows), SCALE(60 * PER_MIB), TENTHS);
    PART("process", process_answer, "The one that grows; null: none, several, or not known", PRESENT(pid));
}

ANSWER_TABLE(heat_answer, struct forecast_heat, .name = "ForecastTemperature")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(READING, "temperature_celsius", now_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "limit_celsius", limit_mdegc, "Temperature at which the GPU starts throttling", SCALE(1e-3));
    FIELD(NUMBER, "final_celsius", final_c, "Temperature at which it settles under its present load, if that is known well",
          NONE(NAN), TENTHS);
    FIELD(NUMBER, "time_constant_seconds", tau_s, NULL, NONE(NAN), TENTHS);
}

ANSWER_TEST(store_grows, struct forecast_store, of->bytes_per_s > 0);

ANSWER_TABLE(store_answer, struct forecast_store, .name = "ForecastStore")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(NAME, "of", of_disk,
          "What it is about: the size limit of the history database, or the disk under it if that is full first",
          NAMES(store_limits));
    FIELD(READING, "used_bytes", used_bytes, NULL, WHOLE);
    FIELD(READING, "cap_bytes", cap_bytes, "0: none is set", WHOLE);
    FIELD(READING, "disk_free_bytes", disk_free_bytes, NULL, WHOLE);
    FIELD(NUMBER, "growth_bytes_per_day", bytes_per_s, NULL, WHEN(store_grows), SCALE(86400), WHOLE);
}

ANSWER_TABLE(gpu_answer, struct forecast_gpu)
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "gpu_uuid", id.uuid, NULL, OR_NULL);
    FIELD(OBJECT, "memory", vram, NULL, FIELDS(memory_answer), COUNTS);
    FIELD(OBJECT, "temperature", heat, NULL, FIELDS(heat_answer), COUNTS);
}

/* ---- the answer ---- */

static bool make_sentence(const struct answer_at *at, union answer_value *ret)
{
    const struct told_forecast *told = at->record;
    forecast_answer(told->of, told->only, ret->text, sizeof ret->text);
    return true;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct told_forecast *told = at->record;
    if (told->only != ALL_GPUS && step->at == 0)
        step->at = (size_t)told->only;
    else if (told->only != ALL_GPUS)
        return NULL;
    return step->at < told->of->count ? &told->of->gpus[step->at++] : NULL;
}

SHARED_ANSWER_TABLE(forecast_answers, struct told_forecast, .name = "Forecast")
{
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL, COUNTS);
    FIELD(WORD, "host", basis.host, NULL, OR_NULL);
    MADE(TEXT, "answer", make_sentence, "The soonest of all in a sentence, or that nothing points anywhere", COUNTS, FOREIGN);
    FIELD(BOOL, "simulated", basis.simulated, NULL, COUNTS);
    FIELD(BOOL, "remembered", basis.remembered, "false: from a short look, without a daemon");
    FIELD(NUMBER, "watched_seconds", basis.watched_s, NULL, TENTHS, COUNTS);
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
    FIELD(OBJECT, "store", store, NULL, FIELDS(store_answer), PRESENT(has_store), COUNTS);
}

void json_forecast(struct json_writer *j, const struct forecast *f, const struct forecast_basis *basis, int only)
{
    struct told_forecast told = {.at = f->at, .basis = *basis, .has_store = f->has_store, .store = f->store, .of = f, .only = only};
    answer_write(j, &forecast_answers, &told, &told);
}

struct forecast *forecast_from_json(struct str text, struct forecast_basis *ret)
{
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(json, "gpus");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)GPU_MAX);
    struct forecast *f = json_is_array(gpus) ? calloc(1, sizeof *f + count * sizeof *f->gpus) : NULL;
    struct told_forecast told = {0};
    if (f) {
        answer_read(&forecast_answers, json, &told, NULL);
        f->at = told.at;
        f->has_store = told.has_store;
        f->store = told.store;
        f->count = count;
        for (size_t i = 0; i < count; i++)
            answer_read(&gpu_answer, json_array_get(gpus, i), &f->gpus[i], NULL);
        *ret = told.basis;
    }
    return f;
}

/* ---- lines for people ---- */

/* An event in three forms: the column, the verdict once it has happened, the sentence. */
struct event_words {
    const char *what, *will, *is, *not, *sentence;
};
static const struct event_words memory_words = {"memory", "full in", "full", "won't fill up", "memory full"};
static const struct event_words heat_words = {"temperature", "throttling in", "throttling", "won't throttle", "thermal throttling"};
static const struct event_words store_words = {"history", "at limit in", "at its limit", "won't reach its limit",
                                               "history database at its size limit"};
static const struct event_words disk_words = {"disk", "full in", "full", "won't fill up", "disk of the history database full"};

/* "06:12", "Tue 06:12", "2026-11-24": as precise as needed. */
static void clock_text(struct wall at, struct wall now, char *text, size_t size)
{
    time_t seconds = (time_t)(at.ms / MS_PER_S);
    struct tm tm;
    double ahead = (double)(at.ms - now.ms) / 1000;
    if (!localtime_r(&seconds, &tm))
        text[0] = '\0';
    else
        strftime(text, size,
                 ahead < 10 * 60     ? "%H:%M:%S"
                 : ahead < 12 * 3600 ? "%H:%M"
                 : ahead < 6 * 86400 ? "%a %H:%M"
                                     : "%F",
                 &tm);
}

static struct wall later(const struct forecast *f, double seconds)
{
    return (struct wall){f->at.ms + (int64_t)(seconds * 1000)};
}

static void verdict_text(const struct forecast_when *w, const struct event_words *words, char *text, size_t size)
{
    char span[32];
    switch (w->verdict) {
    case FORECAST_UNKNOWN: snprintf(text, size, "can't tell"); return;
    case FORECAST_NO_TREND: snprintf(text, size, "no trend"); return;
    case FORECAST_NEVER: snprintf(text, size, "%s", words->not ); return;
    case FORECAST_REACHED: snprintf(text, size, "%s", words->is); return;
    case FORECAST_EXPECTED: break;
    }
    forecast_span_words(w->likely_s, span);
    snprintf(text, size, "%s %s", words->will, span);
}

static void interval_text(const struct forecast *f, const struct forecast_when *w, const struct page *page, char *text, size_t size)
{
    char at[32], early[32], late[32];
    clock_text(later(f, w->likely_s), f->at, at, sizeof at);
    clock_text(later(f, w->earliest_s), f->at, early, sizeof early);
    if (!isfinite(w->latest_s)) {
        snprintf(text, size, "%s (%s or later)", at, early);
        return;
    }
    clock_text(later(f, w->latest_s), f->at, late, sizeof late);
    snprintf(text, size, "%s (%s%s%s)", at, early, page->utf8 ? "–" : "-", late);
}

static enum ink forecast_ink_of(const struct forecast_when *w)
{
    if (w->verdict == FORECAST_REACHED)
        return INK_BAD;
    if (w->verdict == FORECAST_EXPECTED)
        return w->likely_s < 600 ? INK_BAD : INK_WARN;
    return w->verdict == FORECAST_UNKNOWN ? INK_FAINT : INK_GOOD;
}

static void line(struct buf *out, const struct page *page, const struct forecast *f, const char *gpu,
                 const struct event_words *words, const struct forecast_when *w)
{
    enum { GPU_WIDTH = 6, WHAT_WIDTH = 11, VERDICT_WIDTH = 21, INDENT = GPU_WIDTH + WHAT_WIDTH + VERDICT_WIDTH + 6 };
    char verdict[64], why[FORECAST_TEXT_SIZE + 64], interval[80];
    verdict_text(w, words, verdict, sizeof verdict);
    page_cell(out, page, INK_LABEL, LEFT, gpu, GPU_WIDTH);
    buf_text(out, "  ");
    page_cell(out, page, INK_PLAIN, LEFT, words->what, WHAT_WIDTH);
    buf_text(out, "  ");
    page_cell(out, page, forecast_ink_of(w), LEFT, verdict, VERDICT_WIDTH);
    buf_text(out, "  ");
    if (w->verdict == FORECAST_EXPECTED) {
        interval_text(f, w, page, interval, sizeof interval);
        snprintf(why, sizeof why, "%s: %s", interval, w->reason);
    } else {
        snprintf(why, sizeof why, "%s", w->reason);
    }
    page_wrap(out, page, w->verdict == FORECAST_EXPECTED || w->verdict == FORECAST_REACHED ? INK_PLAIN : INK_FAINT, why, INDENT,
              INDENT);
}

void table_forecast(struct buf *out, const struct page *page, const struct forecast *f, const struct forecast_basis *basis,
                    int only)
{
    char text[512];
    page_simulated_line(out, page, basis->simulated);
    forecast_answer(f, only, text, sizeof text);
    page_wrap(out, page, INK_STRONG, text, 0, 0);
    if (f->count || f->has_store)
        buf_char(out, '\n');
    for (size_t i = 0; i < f->count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        const struct forecast_gpu *g = &f->gpus[i];
        snprintf(text, sizeof text, "GPU %d", g->gpu_index);
        line(out, page, f, text, &memory_words, &g->vram.when);
        line(out, page, f, "", &heat_words, &g->heat.when);
    }
    if (f->has_store && only == ALL_GPUS)
        line(out, page, f, "host", f->store.of_disk ? &disk_words : &store_words, &f->store.when);
    if (!basis->remembered && f->count) {
        char span[32];
        forecast_span_words(basis->watched_s, span);
        snprintf(text, sizeof text, "Watched for %s. A running daemon (`whirr serve`) remembers more and sees further ahead.",
                 span);
        buf_char(out, '\n');
        page_wrap(out, page, INK_FAINT, text, 0, 0);
    }
}

/* ---- the sentence ---- */

struct soonest {
    const struct forecast_when *when;
    const struct event_words *words;
    int gpu; /* -1: the host */
    size_t expected, known;
    const struct forecast_when *rising; /* the first one that is too early to tell */
    int rising_gpu;
};

static void consider(struct soonest *s, const struct forecast_when *w, const struct event_words *words, int gpu)
{
    bool coming = w->verdict == FORECAST_EXPECTED || w->verdict == FORECAST_REACHED;
    s->known += w->verdict != FORECAST_UNKNOWN;
    s->expected += coming;
    if (w->rising && !s->rising) {
        s->rising = w;
        s->rising_gpu = gpu;
    }
    double seconds = w->verdict == FORECAST_REACHED ? 0 : w->likely_s;
    if (!coming || (s->when && (s->when->verdict == FORECAST_REACHED ? 0 : s->when->likely_s) <= seconds))
        return;
    s->when = w;
    s->words = words;
    s->gpu = gpu;
}

void forecast_answer(const struct forecast *f, int only, char *text, size_t size)
{
    struct soonest s = {.gpu = -1};
    char who[32] = "", more[32] = "", span[32];
    for (size_t i = 0; i < f->count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        consider(&s, &f->gpus[i].vram.when, &memory_words, f->gpus[i].gpu_index);
        consider(&s, &f->gpus[i].heat.when, &heat_words, f->gpus[i].gpu_index);
    }
    /* A history at its limit works as configured: not worth mentioning. */
    if (f->has_store && only == ALL_GPUS && (f->store.of_disk || f->store.when.verdict != FORECAST_REACHED))
        consider(&s, &f->store.when, f->store.of_disk ? &disk_words : &store_words, -1);
    if (!s.when && s.rising) {
        snprintf(text, size, "Can't tell yet. GPU %d: %s.", s.rising_gpu, s.rising->reason);
        return;
    }
    if (!s.when) {
        snprintf(text, size, "%s",
                 s.known       ? "No sign of full memory or thermal throttling."
                 : f->count    ? "Can't tell yet: watched for too short a time."
                 : f->starting ? "Can't tell yet: whirr is starting, and the first sample has not arrived."
                               : "No GPU found, so there is nothing to forecast.");
        return;
    }
    if (s.gpu >= 0)
        snprintf(who, sizeof who, "GPU %d: ", s.gpu);
    if (s.expected > 1)
        snprintf(more, sizeof more, " (and %zu more)", s.expected - 1);
    forecast_span_words(s.when->likely_s, span);
    if (s.when->verdict == FORECAST_REACHED)
        snprintf(text, size, "%s%s now%s: %s.", who, s.words->sentence, more, s.when->reason);
    else
        snprintf(text, size, "%s%s in %s%s: %s.", who, s.words->sentence, span, more, s.when->reason);
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
}

/* ---- series ---- */

static void forecast_series(struct buf *out, const char *name, const struct forecast_gpu *g, double value)
{
    buf_printf(out, "%s{", name);
    prometheus_id_labels(out, g->gpu_index, &g->id, g->simulated);
    prometheus_end(out, value);
}

static const struct forecast_when *vram_when(const struct forecast_gpu *g)
{
    return &g->vram.when;
}

static const struct forecast_when *heat_when(const struct forecast_gpu *g)
{
    return &g->heat.when;
}

static double seconds_of(const struct forecast_when *w)
{
    return w->verdict == FORECAST_REACHED ? 0 : w->verdict == FORECAST_EXPECTED ? round(w->likely_s * 10) / 10 : NAN;
}

static void gpu_gauge(struct buf *out, const struct forecast *f, const char *name, const char *help,
                      const struct forecast_when *(*when)(const struct forecast_gpu *))
{
    bool head = false;
    for (size_t i = 0; i < f->count; i++) {
        double seconds = seconds_of(when(&f->gpus[i]));
        if (isnan(seconds))
            continue;
        prometheus_head_once(out, &head, name, "gauge", help);
        forecast_series(out, name, &f->gpus[i], seconds);
    }
}

void prometheus_forecast(struct buf *out, const struct forecast *f)
{
    gpu_gauge(out, f, "gpu_memory_full_seconds", "Forecast: seconds until memory is full; no series without a trend", vram_when);
    gpu_gauge(out, f, "gpu_throttle_forecast_seconds", "Forecast: seconds until thermal throttling; no series when it stays below",
              heat_when);
    bool head = false;
    for (size_t i = 0; i < f->count; i++) {
        if (isnan(f->gpus[i].heat.final_c) || f->gpus[i].heat.when.verdict == FORECAST_UNKNOWN)
            continue;
        prometheus_head_once(out, &head, "gpu_temperature_final_celsius", "gauge",
                             "Forecast: temperature at which the GPU settles under its present load");
        forecast_series(out, "gpu_temperature_final_celsius", &f->gpus[i], round(f->gpus[i].heat.final_c * 10) / 10);
    }
    if (f->has_store && !isnan(seconds_of(&f->store.when)))
        prometheus_plain(out, "whirr_store_full_seconds", "gauge",
                         "Forecast: seconds until the history database reaches its size limit or its disk is full",
                         seconds_of(&f->store.when));
}
