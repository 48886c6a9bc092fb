/* SPDX-License-Identifier: Apache-2.0
 * Memory that is in use and has no owner (a program that was killed, a driver that leaks), memory that did not fit and moved to the
 * host, a process that ended when the memory was full, and memory that will be full soon.
 */

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "insight/forecast/forecast.h"
#include "model/finding_code.h"

enum {
    UNOWNED_PERMILLE = 200,
    SPILL_FULL_PERMILLE = 900,
    DIED_FULL_PERMILLE = 970, /* an allocation that fails leaves some of the memory free */
    DIED_HELD_PERMILLE = 250, /* less than that, and the memory was the others' */
    DIED_GREW_PERMILLE = 10,  /* in the minutes before: a program that lives with a full memory does not end because of it */
    DIED_LAST_MS = 10000,
    DIED_SAID_MS = 180000,
    FULL_AHEAD_S = 7200,
};
#define UNOWNED_BYTES (4LL << 30)
#define DESERTED_BYTES (2LL << 30) /* where no process is there that contexts could belong to */
#define SPILL_BYTES (1LL << 30)

/* What the listed processes hold; false where the list or a holding is not known. */
static bool held_bytes(const struct gpu *gpu, int64_t *ret)
{
    int64_t held;
    *ret = 0;
    if (gpu->processes_state != READING_OK || gpu->processes_hidden || gpu->instance_count)
        return false;
    for (size_t i = 0; i < gpu->process_count; i++) {
        if (!reading_get(gpu->processes[i].mem_bytes, &held))
            return false;
        *ret += held;
    }
    return true;
}

/* A driver takes seconds to free what a large process held, and lists the process no longer. */
static bool is_freeing(const struct facts *f)
{
    enum { FREEING_MS = 10000 };
    for (size_t i = 0; f->recent && i < MIN_OF(f->recent->ended_count, (size_t)RECENT_ENDED); i++) {
        const struct recent_process *p = &f->recent->ended[i];
        int64_t ended_ms = p->missed_at.ms ? p->missed_at.ms : p->last_seen.ms;
        if (p->gpu_index == f->gpu->index && f->now->taken_at.ms - ended_ms < FREEING_MS)
            return true;
    }
    return false;
}

/* Some drivers count what they keep for themselves as used. */
static int64_t used_without_reserve(const struct gpu *gpu, int64_t used, int64_t total)
{
    int64_t free_bytes, reserved;
    if (!reading_get(gpu->mem_free_bytes, &free_bytes) || !reading_get(gpu->mem_reserved_bytes, &reserved))
        return used;
    return MIN_OF(used, total - free_bytes - reserved);
}

/* Drivers of containers and of Windows list no processes at all: a GPU that computes without one says so. */
static bool lists_processes(const struct facts *f)
{
    return f->gpu->process_count || f->load == LOAD_IDLE;
}

static void detect_unowned(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t used, total, held;
    char amount[SHORT_WORDS];
    if (!reading_get(gpu->mem_used_bytes, &used) || !reading_get(gpu->mem_total_bytes, &total) || !held_bytes(gpu, &held) ||
        !lists_processes(f) || is_freeing(f) || gpu_shares_memory(gpu)) /* the host's programs use it, too */
        return;
    int64_t unowned = used_without_reserve(gpu, used, total) - held;
    /* Drivers keep some memory for each context: only what is more than all that the processes hold is worth a word. */
    if (unowned < (gpu->process_count ? UNOWNED_BYTES : DESERTED_BYTES) || unowned < total / 1000 * UNOWNED_PERMILLE ||
        unowned < held)
        return;
    collect(c, gpu, FINDING_MEMORY_UNOWNED, SEVERITY_NOTICE, 0.6, 0, ": %s of its memory %s in use and no visible process %s it",
            words_bytes(unowned, amount), is(f), f->over ? "held" : "holds");
}

static void detect_spill(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t used, total, moved;
    char amount[SHORT_WORDS];
    if (!reading_get(gpu->gtt_used_bytes, &moved) || moved < SPILL_BYTES || !reading_get(gpu->mem_used_bytes, &used) ||
        !reading_get(gpu->mem_total_bytes, &total) || used < total / 1000 * SPILL_FULL_PERMILLE)
        return;
    collect(c, gpu, FINDING_MEMORY_SPILLED, SEVERITY_NOTICE, 0.85, 0,
            ": its memory is full, and %s have moved to the host's memory, which is far slower", words_bytes(moved, amount));
}

/* How full the memory was in the last samples of a process, and how far that was above the least of the minutes before. */
static bool memory_at_end(const struct recent_gpu *past, const struct recent_process *p, int64_t *ret_used, int64_t *ret_grown)
{
    int64_t most = -1, least = INT64_MAX, used;
    for (size_t i = MIN_OF(past->count, (size_t)RECENT_POINTS); i-- > 0;) {
        const struct recent_point *point = &past->points[i];
        int64_t before_ms = p->last_seen.ms - point->at.ms;
        if (before_ms < 0 || before_ms > PAST_USEFUL_MS || !reading_get(point->mem_used_bytes, &used))
            continue;
        if (most < 0 || before_ms <= DIED_LAST_MS)
            most = MAX_OF(most, used);
        least = MIN_OF(least, used);
    }
    *ret_used = most;
    *ret_grown = most - least;
    return most >= 0;
}

static bool died_when_full(const struct facts *f, const struct recent_process *p, int64_t total, int64_t *ret_used)
{
    int64_t held, grown, ago_ms = f->now->taken_at.ms - p->last_seen.ms;
    size_t position = (size_t)(f->gpu - f->now->gpus);
    return p->gpu_index == f->gpu->index && ago_ms >= 0 && ago_ms <= DIED_SAID_MS && position < f->recent->gpu_count &&
           reading_get(p->last.mem_bytes, &held) && held >= total / 1000 * DIED_HELD_PERMILLE &&
           memory_at_end(&f->recent->gpus[position], p, ret_used, &grown) && *ret_used >= total / 1000 * DIED_FULL_PERMILLE &&
           grown >= total / 1000 * DIED_GREW_PERMILLE;
}

/* What happened, and no more: that it ended because of it, only its own log can tell. */
static void detect_died(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t total, used;
    char full[WORDS_SIZE], of[WORDS_SIZE], who[PROCESS_WORDS];
    if (!f->recent || !reading_get(gpu->mem_total_bytes, &total) || total <= 0)
        return;
    for (size_t i = MIN_OF(f->recent->ended_count, (size_t)RECENT_ENDED); i-- > 0;) {
        const struct recent_process *p = &f->recent->ended[i];
        if (!died_when_full(f, p, total, &used))
            continue;
        collect(c, gpu, FINDING_DIED_MEMORY_FULL, SEVERITY_WARNING, 0.7, p->last.pid, "'s memory was full (%s of %s) when %s ended",
                words_bytes(used, full), words_bytes(total, of), process_words(&p->last, LONG_NAME, who));
        return; /* the newest */
    }
}

static void detect_full(const struct facts *f, struct collection *c)
{
    char holders[HOLDER_WORDS];
    if (f->activity.symptoms & 1u << SYMPTOM_MEMORY_FULL)
        collect(c, f->gpu, FINDING_VRAM_FULL, SEVERITY_NOTICE, 0.95, 0, "'s memory %s full%s", is(f),
                f->over ? "" : words_holders(f->gpu, holders));
}

static void detect_memory(const struct facts *f, struct collection *c)
{
    detect_full(f, c);
    if (gpu_shares_memory(f->gpu))
        return;
    detect_died(f, c);
    detect_unowned(f, c);
    detect_spill(f, c);
}

static enum severity severity_when_full_in(double seconds)
{
    enum { SOON_S = 900 };
    return seconds < SOON_S ? SEVERITY_WARNING : seconds < FULL_AHEAD_S ? SEVERITY_NOTICE : SEVERITY_INFO;
}

static void foresee_full(const struct forecast_gpu *g, const struct gpu *gpu, struct collection *c)
{
    double left_s = g->vram.when.likely_s;
    char span[WORDS_SIZE];
    if (g->vram.when.verdict == FORECAST_EXPECTED)
        collect(c, gpu, FINDING_VRAM_FULL_SOON, severity_when_full_in(left_s), left_s < FULL_AHEAD_S ? 0.8 : CONFIDENCE_FAR,
                g->vram.pid, " will run out of memory in about %s at this rate%s%s", forecast_span_words(left_s, span),
                g->vram.words[0] ? ": " : "", g->vram.words);
}

const struct area area_memory = {.find = detect_memory, .foresee = foresee_full};
