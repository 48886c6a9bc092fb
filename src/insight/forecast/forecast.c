/* SPDX-License-Identifier: Apache-2.0
 * What was seen of each card and process, and the forecast from it.
 */
#include "insight/forecast/forecast.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/forecast/internal.h"

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
        forecast_learn_heat(c, g);
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
        forecast_judge_vram(c ? c : &nothing, g, &f->gpus[i].vram);
        forecast_judge_heat(c ? c : &nothing, g, &f->gpus[i].heat);
    }
    f->has_store = m->has_store;
    if (m->has_store)
        forecast_judge_store(m, &f->store);
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

void forecast_explain(struct forecast_when *when, enum forecast_verdict verdict, const char *format, ...)
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
