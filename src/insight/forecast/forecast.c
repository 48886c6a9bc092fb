/* SPDX-License-Identifier: Apache-2.0
 * What was seen of each GPU and process, and the forecast from it: of the memory, of the heat, of the history.
 */
#include "insight/forecast/forecast.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/forecast/trend.h"

enum { FORECAST_POWER_BINS = 10 };

struct forecast_process {
    int32_t pid;
    int64_t start_key;
    char name[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], words[PROCESS_WORDS];
    bool seen;      /* in the last snapshot */
    int64_t age_ms; /* in it; INT64_MAX: unknown */
    struct track track;
};

/* What is remembered of one GPU. */
struct forecast_card {
    struct gpu_id id;
    bool seen;
    int64_t last_ms; /* of the last sample that could be read */
    int64_t interval_ms;
    uint64_t process_set; /* digest of the processes; 0 unknown */
    double room_bytes;    /* what processes can have in all; 0 not known */
    struct track vram;
    struct track heat;     /* since the load changed */
    struct track heat_all; /* whatever the load did */
    double power_w, power_limit_w;
    int odd_power; /* samples in a row whose power was another */
    /* Where the temperature settled before, by the share of the power limit; 0: never seen */
    double settled_c[FORECAST_POWER_BINS];
    struct forecast_process *processes[FORECAST_PROCESSES_MAX];
};

struct forecast_memory {
    size_t card_count;
    struct forecast_card *cards[GPU_MAX];
    bool has_store;
    struct forecast_store_facts store_facts;
    struct track store, disk;
};

/* Sets verdict and reason. */
__attribute__((format(gnu_printf, 3, 4))) static void explain(struct forecast_when *when, enum forecast_verdict verdict,
                                                              const char *format, ...)
{
    va_list args;
    when->verdict = verdict;
    va_start(args, format);
    vsnprintf(when->reason, sizeof when->reason, format, args);
    va_end(args);
}

const char *forecast_span_words(double seconds, char text[WORDS_SIZE])
{
    return words_duration(llround(seconds) * 1000, text);
}

/* ---- when is the memory of a GPU full, and who fills it? ---- */

/* Memory is taken in pages of 2 MiB. */
#define PAGE_BYTES (2.0 * 1048576)
/* A process that is as young as this, or gained most of its memory in a stretch that is, is loading, not leaking. */
#define LOADING_S 180.0
/* The process that grows is named when it makes up that much of the growth. */
#define BLAME_SHARE 0.5
/* and it is heeded instead of the card when it was seen to grow for so many times as long. */
#define LONGER 1.5

static bool loads(const struct track *t, int64_t age_ms)
{
    double age_s = (double)age_ms / 1000, first = t->first.value;
    if (age_s < LOADING_S && track_span_s(t) < 0.8 * age_s)
        first = 0; /* its beginning was not seen, and it began with nothing */
    return track_span_s(t) < LOADING_S && t->last.value - first > 0.5 * t->last.value;
}

/* The process whose memory grows most; NULL: none is known to. */
static const struct forecast_process *grower(const struct forecast_card *card, struct rise *ret)
{
    const struct forecast_process *found = NULL;
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++) {
        const struct forecast_process *p = card->processes[i];
        struct rise rise;
        if (!p || !p->seen || (p->track.stretch_count == 0 && p->track.highest <= p->track.first.value))
            continue; /* has not grown at all: spares the fit */
        if (rise_find(&p->track, card->room_bytes, PAGE_BYTES, &rise) != RISE_FOUND)
            continue;
        if (found && rise.line.slope <= ret->line.slope)
            continue;
        found = p;
        *ret = rise;
    }
    return found;
}

static void name_process(struct forecast_vram *v, const struct forecast_process *p)
{
    v->pid = p->pid;
    str_copy(v->name, sizeof v->name, str_from(p->name));
    str_copy(v->user, sizeof v->user, str_from(p->user));
    str_copy(v->words, sizeof v->words, str_from(p->words));
}

static void who_text(const struct forecast_vram *v, char text[PROCESS_WORDS + 32])
{
    if (v->pid)
        snprintf(text, PROCESS_WORDS + 32, "%s (pid %d)", v->words, v->pid);
    else
        snprintf(text, PROCESS_WORDS + 32, "the memory in use");
}

static void say_rise(struct forecast_vram *v, const struct rise *rise)
{
    char who[PROCESS_WORDS + 32], rate[32], span[32];
    who_text(v, who);
    words_bytes(llround(rise->line.slope * 60), rate);
    forecast_span_words(rise->basis_s, span);
    v->when.rising = v->when.verdict == FORECAST_NO_TREND;
    if (v->when.verdict == FORECAST_NO_TREND)
        explain(&v->when, FORECAST_NO_TREND, "%s is growing by %s a minute, watched too briefly to say when it will be full", who,
                rate);
    else if (rise->cyclic)
        explain(&v->when, v->when.verdict, "the peaks of %s have been growing by %s a minute for %s",
                v->pid ? who : "the memory in use", rate, span);
    else
        explain(&v->when, v->when.verdict, "%s has been growing by %s a minute for %s", who, rate, span);
}

static void say_swings(struct forecast_vram *v, const struct track *t)
{
    char low[32], high[32];
    double least = t->last.value, most = t->highest;
    for (size_t i = 0; i < t->stretch_count; i++) {
        least = MIN_OF(least, t->stretches[i].first);
        most = MAX_OF(most, t->stretches[i].highest);
    }
    words_bytes(llround(least), low);
    words_bytes(llround(most), high);
    explain(&v->when, FORECAST_NO_TREND, "up and down between %s and %s", low, high);
}

static void say_none(struct forecast_vram *v, const struct rise *rise, double room)
{
    char span[32], used[32];
    forecast_span_words(rise->basis_s, span);
    words_bytes(llround(rise->line.level), used);
    if (rise->line.slope < 0 && -rise->line.slope * rise->line.span > 0.01 * room && -rise->line.slope > 3 * rise->line.slope_error)
        explain(&v->when, FORECAST_NO_TREND, "falling, %s now", used);
    else
        explain(&v->when, FORECAST_NO_TREND, "steady at %s for %s", used, span);
}

/* A process that has grown all along says more than a GPU that was cut off from its past by a process that came or went. */
static void judge_by_process(const struct forecast_card *card, const struct forecast_process *p, struct rise rise,
                             struct forecast_vram *v)
{
    /* From the level of the card now, at the slope of the process. */
    double now = card->vram.last.value;
    rise.line.level += now - p->track.last.value;
    v->bytes_per_s = rise.line.slope;
    rise_when(&rise, &card->vram, FORECAST_FULL_SHARE * card->room_bytes, &v->when);
    say_rise(v, &rise);
}

static void say_too_short(const struct track *t, struct forecast_when *when)
{
    char span[32];
    forecast_span_words(track_span_s(t), span);
    if (t->began_by == CUT_START || t->began_by == CUT_GAP)
        explain(when, FORECAST_UNKNOWN, "watched for too short a time");
    else
        explain(when, FORECAST_UNKNOWN, "%s %s ago, watched too briefly since",
                t->began_by == CUT_PROCESSES ? "a process started or ended" : "the memory in use jumped", span);
}

static void judge_rise(const struct forecast_card *card, bool processes_known, struct forecast_vram *v)
{
    const struct track *t = &card->vram;
    struct rise rise = {0}, of_process = {0};
    enum rise_result found = rise_find(t, card->room_bytes, PAGE_BYTES, &rise);
    bool cut = t->began_by != CUT_START && t->began_by != CUT_GAP;
    const struct forecast_process *p = found == RISE_FOUND || cut ? grower(card, &of_process) : NULL;
    bool by_process = p && found != RISE_SWINGS && of_process.basis_s > LONGER * rise.basis_s;
    if (!by_process && found != RISE_FOUND) {
        if (found == RISE_UNKNOWN)
            say_too_short(t, &v->when);
        else if (found == RISE_SWINGS)
            say_swings(v, t);
        else
            say_none(v, &rise, card->room_bytes);
        return;
    }
    if (by_process || (p && of_process.line.slope >= BLAME_SHARE * rise.line.slope))
        name_process(v, p);
    /* Whose memory grows is not known: it may be a program that loads. */
    bool unknown = !processes_known && rise.basis_s < LOADING_S;
    if (unknown || loads(v->pid ? &p->track : t, v->pid ? p->age_ms : INT64_MAX)) {
        char who[PROCESS_WORDS + 32];
        who_text(v, who);
        explain(&v->when, FORECAST_UNKNOWN, v->pid ? "%s is loading" : "%s has just started growing: loading, or a leak", who);
        v->when.rising = true;
        return;
    }
    if (by_process) {
        judge_by_process(card, p, of_process, v);
        return;
    }
    rise_when(&rise, t, FORECAST_FULL_SHARE * card->room_bytes, &v->when);
    v->bytes_per_s = rise.line.slope;
    say_rise(v, &rise);
}

static void judge_vram(const struct forecast_card *card, const struct gpu *gpu, struct forecast_vram *ret)
{
    *ret = (struct forecast_vram){.used_bytes = gpu->mem_used_bytes, .room_bytes = reading_absent(READING_UNREAD)};
    const struct track *t = &card->vram;
    if (gpu->state != GPU_OK || gpu->mem_used_bytes.state != READING_OK || !t->samples || card->room_bytes <= 0) {
        explain(&ret->when, FORECAST_UNKNOWN, "%s",
                gpu->state == GPU_ASLEEP ? "the GPU is asleep"
                : gpu->state == GPU_OK   ? "its memory in use can't be read"
                                         : "the GPU can't be read");
        return;
    }
    ret->room_bytes = reading_ok((int64_t)card->room_bytes);
    if (t->last.value >= FORECAST_FULL_SHARE * card->room_bytes)
        explain(&ret->when, FORECAST_REACHED, "no memory left");
    else
        judge_rise(card, gpu->processes_state == READING_OK, ret);
}

/* ---- when does a GPU get so hot that it slows itself down? Heat approaches a final value under the load of the moment; the
 * question is whether that lies above the limit. ---- */

/* Coolers of cards take half a minute to some minutes; what looks slower is the room. */
#define TAU_MIN_S 15.0
#define TAU_MAX_S 420.0
#define SPAN_MIN_S 10.0
/* So many degrees from the final value it has settled. */
#define SETTLED_C 1.5

/* What swings more than this around the curve does not follow it. */
#define NOISE_MAX_C 1.5
/* A rise is not drawn out further than so many times what was seen of it. */
#define REACH 1.3
/* How far below the limit the least of what fits may end, for a time to be said. */
#define UNSURE_C 2.0
#define WELL_KNOWN_C 12.0
/* A final value further beyond the limit than this is a curve, not a temperature. */
#define BEYOND_MAX_C 10.0
enum { NEWEST = 3, OFTEN = 3, OFTEN_MS = 180000 /* so many changes of load in so long */ };
/* A cooler is built so that the card stays below its limit; what was seen before at this power is better knowledge. */
#define DESIGN_MARGIN_C 15.0
#define DESIGN_SIGMA_C 12.0
#define SEEN_SIGMA_C 6.0
#define LEARN_SPAN_S 45.0

static int power_bin(const struct forecast_card *card)
{
    if (card->power_limit_w <= 0)
        return -1;
    int bin = (int)(card->power_w / card->power_limit_w * FORECAST_POWER_BINS);
    return bin < 0 ? 0 : MIN_OF(bin, FORECAST_POWER_BINS - 1);
}

static void expect(const struct forecast_card *card, double limit, struct fit_bounds *b)
{
    int bin = power_bin(card);
    double seen = bin < 0 ? 0 : card->settled_c[bin];
    b->prior_final = seen > 0 ? seen : limit - DESIGN_MARGIN_C;
    b->prior_sigma = seen > 0 ? SEEN_SIGMA_C : DESIGN_SIGMA_C;
}

/* Remembers where the temperature settles under which power. */
static void learn_heat(struct forecast_card *card, const struct gpu *gpu)
{
    int bin = power_bin(card);
    struct fit_point points[FIT_POINTS_MAX];
    struct fit_line line;
    if (bin < 0 || gpu->power_mw.state != READING_OK || track_span_s(&card->heat) < LEARN_SPAN_S ||
        reading_or(gpu->throttle_bits, 0) & THROTTLE_HOT)
        return;
    size_t count = track_window(&card->heat, 0, points);
    for (size_t i = 0; i < count; i++)
        if (points[i].t >= -LEARN_SPAN_S) {
            if (!fit_line(points + i, count - i, 1, &line) || fabs(line.slope) * LEARN_SPAN_S > 1)
                return;
            card->settled_c[bin] = card->settled_c[bin] > 0 ? 0.9 * card->settled_c[bin] + 0.1 * line.level : line.level;
            return;
        }
}

/* Longest look first: a stretch in which something happened to the cooling does not follow one curve, and its residuals show it. */
static bool look(const struct forecast_card *card, const struct track *t, bool closer, double limit, struct fit_approach *ret,
                 double *ret_seen, double *ret_span)
{
    struct fit_point points[FIT_POINTS_MAX], newest[FIT_POINTS_MAX];
    size_t newest_count = track_window(t, 0, newest);
    bool found = false;
    for (int level = 2; newest_count >= FIT_APPROACH_MIN && level >= 0; level--) {
        size_t count = track_window(t, level, points);
        for (size_t part = count; part >= FIT_APPROACH_MIN; part = level || !closer ? 0 : part * 3 / 4) {
            const struct fit_point *p = points + count - part;
            struct fit_approach fit;
            double span = p[part - 1].t - p[0].t;
            struct fit_bounds bounds = {.tau_min = TAU_MIN_S, .tau_max = TAU_MAX_S, .resolution = 1, .limit = limit};
            expect(card, limit, &bounds);
            if (span < SPAN_MIN_S || !fit_approach(p, part, &bounds, &fit))
                break;
            *ret = fit;
            *ret_span = span;
            *ret_seen = fit.level - p[0].y;
            found = true;
            /* One curve for all of it: the newest readings lie on it. */
            double off[NEWEST];
            for (size_t i = 0; i < NEWEST; i++) {
                const struct fit_point *q = &newest[newest_count - NEWEST + i];
                off[i] = q->y - (fit.final + (fit.level - fit.final) * exp(-q->t / fit.tau));
            }
            if (fabs(fit_median(off, NEWEST)) <= MAX_OF(0.75, 1.2 * fit.noise) && fit.noise < NOISE_MAX_C)
                return true;
        }
    }
    return found;
}

/* The final value is told where it is known to some degrees. */
static bool known_well(const struct fit_approach *fit)
{
    return fit->final_high - fit->final_low <= WELL_KNOWN_C;
}

static void conclude_heat(struct forecast_heat *h, const struct fit_approach *fit, double now, double limit, double span,
                          double seen)
{
    char text[32];
    forecast_span_words(span, text);
    if (known_well(fit) && fit->final <= limit + BEYOND_MAX_C) {
        h->final_c = fit->final;
        h->tau_s = fit->tau;
    }
    h->when.basis_s = span;
    bool near = limit - now <= REACH * seen;
    if (fit->final > limit && fit->final_low > limit - UNSURE_C && fit->cross < HUGE_VAL && near) {
        h->when.likely_s = fit->cross;
        h->when.earliest_s = MIN_OF(fit->cross_early * 0.9, fit->cross);
        h->when.latest_s = MAX_OF(fit->cross_late * 1.1, fit->cross);
        /* Where a curve leads far beyond the limit, no GPU ever gets: it throttles before. */
        if (fit->final <= limit + BEYOND_MAX_C)
            explain(&h->when, FORECAST_EXPECTED, "%.0f °C now, heading for about %.0f °C; throttles at %.0f °C", now, fit->final,
                    limit);
        else
            explain(&h->when, FORECAST_EXPECTED, "%.0f °C now, would pass its limit of %.0f °C", now, limit);
    } else if ((fit->final_high >= limit || fit->final > limit) && fit->final > now + SETTLED_C) {
        explain(&h->when, FORECAST_UNKNOWN, "%.0f °C and rising, too early to say if it stays below %.0f °C", now, limit);
        h->when.rising = true;
    } else if (fabs(fit->final - now) <= SETTLED_C || (fabs(seen) <= SETTLED_C && !known_well(fit))) {
        explain(&h->when, FORECAST_NEVER, "steady at %.0f °C, %.0f °C below its limit", now, limit - now);
    } else if (fit->final < now) {
        explain(&h->when, FORECAST_NEVER, "cooling down, %.0f °C now", now);
    } else if (known_well(fit)) {
        explain(&h->when, FORECAST_NEVER, "%.0f °C now, settling at about %.0f °C, %.0f °C below its limit", now, fit->final,
                limit - fit->final);
    } else {
        explain(&h->when, FORECAST_NEVER, "%.0f °C now, settling below its limit of %.0f °C", now, limit);
    }
}

/* Under a load that changes all the time, its mean suffices. */
static bool changes_often(const struct track *t)
{
    int64_t since_ms = t->last.t_ms - OFTEN_MS;
    int changes = 0;
    for (size_t i = 0; i < t->stretch_count; i++)
        changes += t->stretches[i].ended_ms >= since_ms;
    return changes >= OFTEN;
}

static void judge_heat(const struct forecast_card *card, const struct gpu *gpu, struct forecast_heat *ret)
{
    *ret = (struct forecast_heat){.now_mdegc = gpu->temp_mdegc, .limit_mdegc = gpu->temp_limit_mdegc, .final_c = NAN, .tau_s = NAN};
    if (gpu->state != GPU_OK || gpu->temp_mdegc.state != READING_OK) {
        explain(&ret->when, FORECAST_UNKNOWN, "%s",
                gpu->state == GPU_ASLEEP ? "the GPU is asleep"
                : gpu->state == GPU_OK   ? "its temperature can't be read"
                                         : "the GPU can't be read");
        return;
    }
    if (gpu->temp_limit_mdegc.state != READING_OK) {
        explain(&ret->when, FORECAST_UNKNOWN, "it doesn't report the temperature at which it throttles");
        return;
    }
    double now = (double)gpu->temp_mdegc.value / 1000, limit = (double)gpu->temp_limit_mdegc.value / 1000;
    if (now >= limit || reading_or(gpu->throttle_bits, 0) & THROTTLE_HOT) {
        explain(&ret->when, FORECAST_REACHED,
                now >= limit ? "%.0f °C, its limit is %.0f °C" : "%.0f °C, already throttling (limit %.0f °C)", now, limit);
        return;
    }
    struct fit_approach fit;
    double span, seen;
    bool changed = card->odd_power || (card->heat.began_by == CUT_UP || card->heat.began_by == CUT_DOWN);
    if (!card->odd_power && look(card, &card->heat, true, limit, &fit, &seen, &span))
        conclude_heat(ret, &fit, now, limit, span, seen);
    else if (changes_often(&card->heat) && look(card, &card->heat_all, false, limit, &fit, &seen, &span))
        conclude_heat(ret, &fit, now, limit, span, seen);
    else
        explain(&ret->when, FORECAST_UNKNOWN,
                changed ? "%.0f °C, its load has just changed" : "%.0f °C, watched for too short a time", now);
}

/* ---- when does the history database reach its size limit, or the disk under it become full? ---- */

/* A database grows by pages, and a write-ahead log comes and goes. */
#define STEP_BYTES (64.0 * 1024)
/* What is summed up stays longer than the samples: some growth goes on after the first of them are cleaned up. */
#define SUMMED_UP 1.5

void forecast_see_store(struct forecast_memory *m, const struct forecast_store_facts *facts)
{
    int64_t used, disk_free, at_ms = facts->at.ns / NS_PER_MS;
    if (m->has_store && at_ms < m->store.last.t_ms) {
        m->store = m->disk = (struct track){0};
    }
    m->has_store = true;
    m->store_facts = *facts;
    if (reading_get(facts->used_bytes, &used))
        track_add(&m->store, at_ms, (double)used, MAX_OF(64.0 * 1048576, 0.05 * (double)used));
    /* Minus: what is free falls, and a rise is what is sought. */
    if (reading_get(facts->disk_free_bytes, &disk_free))
        track_add(&m->disk, at_ms, -(double)disk_free, MAX_OF(1024.0 * 1048576, 0.02 * (double)disk_free));
}

/* The disk gets full no matter which program fills it. */
static bool judge_disk(const struct forecast_memory *m, struct forecast_store *s)
{
    struct rise rise;
    int64_t disk_free;
    if (!reading_get(m->store_facts.disk_free_bytes, &disk_free))
        return false;
    if (disk_free < 16 << 20) {
        explain(&s->when, FORECAST_REACHED, "no space left on the disk");
        s->of_disk = true;
        return true;
    }
    struct forecast_when when = {0};
    if (rise_find(&m->disk, (double)disk_free, STEP_BYTES, &rise) != RISE_FOUND)
        return false;
    rise_when(&rise, &m->disk, 0, &when);
    if (when.verdict != FORECAST_EXPECTED || (s->when.verdict == FORECAST_EXPECTED && s->when.likely_s <= when.likely_s))
        return false;
    char rate[32], left[32];
    words_bytes(llround(rise.line.slope * 3600), rate);
    words_bytes(disk_free, left);
    explain(&when, FORECAST_EXPECTED, "filling up by %s an hour, %s free", rate, left);
    s->when = when;
    s->bytes_per_s = rise.line.slope;
    s->of_disk = true;
    return true;
}

/* Growth ends when as much is cleaned up as is added. */
static bool held_by_retention(const struct forecast_store_facts *f, const struct rise *rise, double cap, struct forecast_when *ret)
{
    if (f->retention_ms <= 0 || f->kept_ms <= 0)
        return false;
    double left_s = (double)MAX_OF(f->retention_ms - f->kept_ms, 0) / 1000;
    double most = rise->line.level + SUMMED_UP * rise->line.slope * left_s;
    if (most >= cap)
        return false;
    char size[32], after[32];
    words_bytes(llround(rise->line.level + rise->line.slope * left_s), size);
    forecast_span_words((double)f->retention_ms / 1000, after);
    explain(ret, FORECAST_NEVER, "samples are deleted after %s, which keeps it at about %s", after, size);
    return true;
}

static void judge_cap(const struct forecast_memory *m, struct forecast_store *s)
{
    const struct forecast_store_facts *f = &m->store_facts;
    int64_t cap = 0, used;
    if (!reading_get(f->used_bytes, &used)) {
        explain(&s->when, FORECAST_UNKNOWN, "the size of the history database is unknown");
        return;
    }
    if (!reading_get(f->cap_bytes, &cap) || cap <= 0) {
        explain(&s->when, FORECAST_NEVER, "no size limit is set");
        return;
    }
    char text[32], rate[32];
    words_bytes(used, text);
    if (used >= 0.99 * (double)cap) {
        explain(&s->when, FORECAST_REACHED, "%s stored, the oldest samples are deleted for new ones", text);
        return;
    }
    struct rise rise = {0};
    switch (rise_find(&m->store, (double)used, STEP_BYTES, &rise)) {
    case RISE_UNKNOWN: explain(&s->when, FORECAST_UNKNOWN, "%s stored, watched for too short a time", text); return;
    case RISE_NONE:
    case RISE_SWINGS: explain(&s->when, FORECAST_NO_TREND, "steady at %s", text); return;
    case RISE_FOUND: break;
    }
    s->bytes_per_s = rise.line.slope;
    if (held_by_retention(f, &rise, (double)cap, &s->when))
        return;
    rise_when(&rise, &m->store, (double)cap, &s->when);
    words_bytes(llround(rise.line.slope * 86400), rate);
    if (s->when.verdict == FORECAST_EXPECTED)
        explain(&s->when, FORECAST_EXPECTED, "growing by %s a day, %s stored", rate, text);
    else
        explain(&s->when, FORECAST_NO_TREND, "growing by %s a day, %s stored: too far ahead to say when", rate, text);
}

static void judge_store(const struct forecast_memory *m, struct forecast_store *ret)
{
    *ret = (struct forecast_store){.used_bytes = m->store_facts.used_bytes,
                                   .cap_bytes = m->store_facts.cap_bytes,
                                   .disk_free_bytes = m->store_facts.disk_free_bytes};
    judge_cap(m, ret);
    judge_disk(m, ret);
}

/* ---- what was seen of each card and process, and the forecast from it ---- */

/* A change of so much of the card's memory from one sample to the next is a load or an unload. */
#define JUMP_SHARE 0.02
/* Processes that hold less than this do not matter for the set. */
#define CROWD_SHARE 0.0025
/* Power that differs by so much of the limit is another load. */
#define LOAD_SHARE 0.2
enum { GAP_MS = 60000, GAP_INTERVALS = 10 };

struct forecast_memory *forecast_memory_new(void)
{
    return calloc(1, sizeof(struct forecast_memory));
}

static void card_free(struct forecast_card *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++)
        free(c->processes[i]);
    free(c);
}

void forecast_memory_free(struct forecast_memory *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->card_count; i++)
        card_free(m->cards[i]);
    free(m);
}

static struct forecast_card *forecast_card_of(const struct forecast_memory *m, const struct gpu *g)
{
    for (size_t i = 0; i < m->card_count; i++) { /* from its own place on, where it usually is */
        struct forecast_card *c = m->cards[((size_t)MAX_OF(g->index, 0) + i) % m->card_count];
        if (gpu_same(&c->id, &g->id))
            return c;
    }
    return NULL;
}

static struct forecast_card *card_add(struct forecast_memory *m, const struct gpu *g)
{
    if (m->card_count == GPU_MAX)
        return NULL;
    struct forecast_card *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->id = g->id;
    m->cards[m->card_count++] = c;
    return c;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* A number for the set of processes, whatever the order; 0 where that is not known. */
static uint64_t process_set(const struct gpu *g, double room)
{
    if (g->processes_state != READING_OK)
        return 0;
    uint64_t set = 1;
    for (size_t i = 0; i < g->process_count; i++) {
        const struct process *p = &g->processes[i];
        if ((double)reading_or(p->mem_bytes, INT64_MAX) >= CROWD_SHARE * room)
            set += mix(((uint64_t)(uint32_t)p->pid << 32) ^ (uint64_t)p->start_key ^ 0x9e3779b97f4a7c15ULL) | 1;
    }
    return set ? set : 1;
}

static struct forecast_process *slot_for(struct forecast_card *c, const struct process *p, bool *ok)
{
    struct forecast_process **free_slot = NULL, **least = NULL;
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++) {
        struct forecast_process **slot = &c->processes[i];
        if (*slot && (*slot)->pid == p->pid && (*slot)->start_key == p->start_key)
            return *slot;
        if (!*slot)
            free_slot = slot;
        else if (!least || (*slot)->track.last.value < (*least)->track.last.value)
            least = slot;
    }
    if (!free_slot) { /* the one that holds least is no longer followed */
        if ((double)p->mem_bytes.value <= (*least)->track.last.value)
            return NULL;
        free(*least);
        *least = NULL;
        free_slot = least;
    }
    struct forecast_process *fresh = calloc(1, sizeof *fresh);
    if (!fresh) {
        *ok = false;
        return NULL;
    }
    fresh->pid = p->pid;
    fresh->start_key = p->start_key;
    str_copy(fresh->name, sizeof fresh->name, str_from(p->name));
    str_copy(fresh->user, sizeof fresh->user, str_from(p->user));
    process_words(p, SHORT_NAME, fresh->words);
    return *free_slot = fresh;
}

static bool see_processes(struct forecast_card *c, const struct gpu *g, int64_t t_ms, struct wall now)
{
    bool ok = true;
    if (g->processes_state == READING_UNREAD)
        return true; /* a quick sample: no process has gone */
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++)
        if (c->processes[i])
            c->processes[i]->seen = false;
    for (size_t i = 0; g->processes_state == READING_OK && i < g->process_count; i++) {
        const struct process *p = &g->processes[i];
        if (p->mem_bytes.state != READING_OK)
            continue;
        struct forecast_process *slot = slot_for(c, p, &ok);
        if (!slot)
            continue;
        slot->seen = true;
        slot->age_ms = p->started_at.ms ? now.ms - p->started_at.ms : INT64_MAX;
        track_add(&slot->track, t_ms, (double)p->mem_bytes.value, JUMP_SHARE * c->room_bytes);
    }
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++)
        if (c->processes[i] && !c->processes[i]->seen) {
            free(c->processes[i]);
            c->processes[i] = NULL;
        }
    return ok;
}

static void see_vram(struct forecast_card *c, const struct gpu *g, int64_t t_ms)
{
    int64_t used, total, free_bytes;
    if (!reading_get(g->mem_used_bytes, &used)) {
        track_cut(&c->vram, CUT_GAP);
        return;
    }
    double room = 0;
    if (reading_get(g->mem_free_bytes, &free_bytes))
        room = (double)(used + free_bytes);
    else if (reading_get(g->mem_total_bytes, &total))
        room = (double)(total - reading_or(g->mem_reserved_bytes, 0));
    if (room > 0)
        c->room_bytes = room;
    if (c->room_bytes <= 0)
        return;
    if (g->processes_state != READING_UNREAD) {
        uint64_t set = process_set(g, c->room_bytes);
        if (set && c->process_set && set != c->process_set)
            track_cut(&c->vram, CUT_PROCESSES);
        c->process_set = set;
    }
    track_add(&c->vram, t_ms, (double)used, JUMP_SHARE * c->room_bytes);
}

static void see_heat(struct forecast_card *c, const struct gpu *g, int64_t t_ms)
{
    int64_t temp, power, limit;
    if (!reading_get(g->temp_mdegc, &temp)) {
        track_cut(&c->heat, CUT_GAP);
        track_cut(&c->heat_all, CUT_GAP);
        return;
    }
    if (reading_get(g->power_limit_mw, &limit))
        c->power_limit_w = (double)limit / 1000;
    if (reading_get(g->power_mw, &power)) {
        double watts = (double)power / 1000;
        double most = MAX_OF(c->power_limit_w, MAX_OF(c->power_w, watts));
        if (!c->heat.samples) {
            c->power_w = watts;
            c->odd_power = 0;
        } else if (fabs(watts - c->power_w) <= LOAD_SHARE * most) {
            c->power_w += 0.2 * (watts - c->power_w);
            c->odd_power = 0;
        } else if (++c->odd_power >= 2) { /* once is a dip */
            track_cut(&c->heat, watts > c->power_w ? CUT_UP : CUT_DOWN);
            c->power_w = watts;
            c->odd_power = 0;
        }
    }
    track_add(&c->heat, t_ms, (double)temp / 1000, HUGE_VAL);
    track_add(&c->heat_all, t_ms, (double)temp / 1000, HUGE_VAL);
}

static void cut_all(struct forecast_card *c)
{
    track_cut(&c->vram, CUT_GAP);
    track_cut(&c->heat, CUT_GAP);
    track_cut(&c->heat_all, CUT_GAP);
    for (size_t i = 0; i < FORECAST_PROCESSES_MAX; i++) {
        free(c->processes[i]);
        c->processes[i] = NULL;
    }
}

bool forecast_see(struct forecast_memory *m, const struct snapshot *s)
{
    bool ok = true;
    int64_t t_ms = s->taken.ns ? s->taken.ns / NS_PER_MS : s->taken_at.ms;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *g = &s->gpus[i];
        struct forecast_card *c = forecast_card_of(m, g);
        if (!c && !(c = card_add(m, g))) {
            ok = false;
            continue;
        }
        int64_t since = t_ms - c->last_ms;
        if (c->last_ms && since == 0)
            continue; /* the same moment again */
        bool gap = since < 0 || (c->interval_ms && since > MAX_OF(GAP_INTERVALS * c->interval_ms, GAP_MS));
        if (g->state != GPU_OK || (c->last_ms && gap))
            cut_all(c);
        else if (c->last_ms)
            c->interval_ms = since;
        if (g->state != GPU_OK) {
            c->interval_ms = 0;
            c->last_ms = t_ms;
            continue;
        }
        c->last_ms = t_ms;
        see_vram(c, g, t_ms);
        ok = see_processes(c, g, t_ms, s->taken_at) && ok;
        see_heat(c, g, t_ms);
        learn_heat(c, g);
    }
    return ok;
}

struct forecast *forecast_make(const struct forecast_memory *m, const struct snapshot *now)
{
    struct forecast *f = calloc(1, sizeof *f + now->gpu_count * sizeof *f->gpus);
    if (!f)
        return NULL;
    static const struct forecast_card nothing = {0};
    f->at = now->taken_at;
    f->count = now->gpu_count;
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu *g = &now->gpus[i];
        const struct forecast_card *c = forecast_card_of(m, g);
        f->gpus[i].gpu_index = g->index;
        f->gpus[i].id = g->id;
        f->gpus[i].simulated = g->simulated;
        judge_vram(c ? c : &nothing, g, &f->gpus[i].vram);
        judge_heat(c ? c : &nothing, g, &f->gpus[i].heat);
    }
    f->has_store = m->has_store;
    if (m->has_store)
        judge_store(m, &f->store);
    return f;
}

struct forecast *forecast_copy(const struct forecast *f)
{
    size_t size = sizeof *f + f->count * sizeof f->gpus[0];
    struct forecast *copy = malloc(size);
    if (copy)
        memcpy(copy, f, size);
    return copy;
}

void forecast_free(struct forecast *f)
{
    free(f);
}

struct reading forecast_seconds(const struct forecast_when *when)
{
    if (when->verdict == FORECAST_REACHED)
        return reading_ok(0);
    if (when->verdict == FORECAST_EXPECTED)
        return reading_ok((int64_t)when->likely_s);
    return reading_absent(when->verdict == FORECAST_UNKNOWN ? READING_PENDING : READING_UNSUPPORTED);
}

const char *forecast_verdict_name(enum forecast_verdict verdict)
{
    static const char *const names[] = {"unknown", "no_trend", "never", "expected", "reached"};
    return names[verdict];
}
