/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as lines for people.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "format/forecast.h"
#include "format/table/page_table.h"

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
