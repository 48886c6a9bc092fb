/* SPDX-License-Identifier: Apache-2.0
 * Judges claims.
 */
#include "guard/claim.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"

const struct claim_limits claim_limits_default = {
    .compute_bytes = 256 * MIB_BYTES,
    .compute_permille = 50,
    .graphics_bytes = 1024 * MIB_BYTES,
    .graphics_busy_bytes = 512 * MIB_BYTES,
    .graphics_busy_permille = 200,
    .unattributed_bytes = 512 * MIB_BYTES,
};

bool claim_has_pid(const struct claim_worker *w, int32_t pid)
{
    for (size_t i = 0; i < w->pid_count; i++)
        if (w->pids[i].pid == pid)
            return true;
    return false;
}

static bool is_one_of(const struct process *p, const struct claim_identity *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == p->pid && (list[i].start_key == p->start_key || p->start_key == 0))
            return true;
    return false;
}

static bool is_ours(const struct process *p, const struct claim_worker *w)
{
    return is_one_of(p, w->pids, w->pid_count);
}

static bool bit(const uint64_t *bits, int i)
{
    return i >= 0 && i < GPU_MAX && (bits[i / 64] >> (i % 64) & 1);
}

static bool claim_worker_on_gpu(const struct claim_worker *w, const struct gpu *gpu)
{
    bool bound = false;
    for (size_t i = 0; i < ARRAY_LEN(w->gpus); i++)
        bound |= w->gpus[i] != 0;
    if (bound)
        return bit(w->gpus, gpu->index);
    for (size_t i = 0; i < gpu->process_count; i++)
        if (is_ours(&gpu->processes[i], w))
            return true;
    return false;
}

struct tally {
    int64_t ours, others, listed, unattributed;
    bool known; /* all memory readings were available */
};

static bool is_friend(const struct process *p, const struct claim_signals *signals)
{
    return signals && is_one_of(p, signals->friends, signals->friend_count);
}

static struct tally count_memory(const struct gpu *gpu, const struct claim_worker *w, const struct claim_signals *signals)
{
    struct tally t = {.known = true};
    for (size_t i = 0; i < gpu->process_count; i++) {
        int64_t bytes = reading_or(gpu->processes[i].mem_bytes, 0);
        t.known &= gpu->processes[i].mem_bytes.state == READING_OK;
        t.listed += bytes;
        if (is_ours(&gpu->processes[i], w) || is_friend(&gpu->processes[i], signals))
            t.ours += bytes;
        else
            t.others += bytes;
    }
    int64_t used;
    if (reading_get(gpu->mem_used_bytes, &used) && used > t.listed)
        t.unattributed = used - t.listed;
    return t;
}

void claim_learn(struct claim_baseline *b, const struct snapshot *s, const struct claim_worker *w, struct claim_identity claimant)
{
    *b = (struct claim_baseline){.learned = true};
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct gpu *gpu = &s->gpus[g];
        if (gpu->processes_state != READING_OK) {
            b->learned = b->learned && gpu->state == GPU_ASLEEP;
            continue;
        }
        struct tally t = count_memory(gpu, w, NULL);
        if (gpu->index >= 0 && gpu->index < GPU_MAX) {
            b->unattributed_bytes[gpu->index] = t.unattributed;
            b->others_bytes[gpu->index] = t.others;
        }
        for (size_t i = 0; i < gpu->process_count && b->count < CLAIM_BASELINE; i++) {
            const struct process *p = &gpu->processes[i];
            if (is_ours(p, w))
                continue;
            if (is_one_of(p, &claimant, 1)) {
                if (gpu->index >= 0 && gpu->index < GPU_MAX)
                    b->others_bytes[gpu->index] -= reading_or(p->mem_bytes, 0);
                continue;
            }
            b->entries[b->count].who = (struct claim_identity){p->pid, p->start_key};
            b->entries[b->count].gpu = gpu->index;
            b->entries[b->count++].bytes = reading_or(p->mem_bytes, 0);
        }
    }
}

static bool was_there(const struct claim_baseline *b, const struct process *p, int gpu, int64_t *bytes)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->entries[i].gpu == gpu && is_one_of(p, &b->entries[i].who, 1)) {
            *bytes = b->entries[i].bytes;
            return true;
        }
    }
    return false;
}

/* Does this foreign process need the GPU? Ignores what it held at the start. */
static bool needs_gpu(const struct process *p, const struct claim_limits *l, bool known_before, int64_t bytes_before)
{
    int64_t bytes = MAX_OF(reading_or(p->mem_bytes, 0) - bytes_before, 0);
    int64_t load = reading_or(p->util_permille, 0);
    bool at_rest_before = known_before && bytes < l->graphics_busy_bytes;
    if (process_draws_desktop(p->name) || (p->type == PROCESS_GRAPHICS && at_rest_before))
        return bytes >= l->graphics_bytes && !process_draws_desktop(p->name);
    if (p->type & PROCESS_COMPUTE)
        return bytes >= l->compute_bytes || load >= l->compute_permille;
    return bytes >= l->graphics_bytes || (bytes >= l->graphics_busy_bytes && load >= l->graphics_busy_permille);
}

bool claim_process_needs(const struct process *p)
{
    return needs_gpu(p, &claim_limits_default, false, 0);
}

static void set(struct claim *c, enum claim_verdict verdict, int gpu, int32_t pid, const char *format, ...)
    __attribute__((format(gnu_printf, 5, 6)));

static void set(struct claim *c, enum claim_verdict verdict, int gpu, int32_t pid, const char *format, ...)
{
    c->verdict = verdict;
    c->gpu = gpu;
    c->pid = pid;
    va_list args;
    va_start(args, format);
    vsnprintf(c->reason, sizeof c->reason, format, args);
    va_end(args);
}

static void judge_process(struct claim *c, const struct gpu *gpu, const struct process *p, const struct claim_baseline *b,
                          const struct claim_signals *signals, const struct claim_limits *l)
{
    c->others++;
    if (c->verdict == CLAIM_SURE)
        return;
    char name[PROCESS_WORDS];
    process_words(p, SHORT_NAME | WITH_PID, name);
    if (is_one_of(p, signals->games, signals->game_count)) {
        set(c, CLAIM_SURE, gpu->index, p->pid, "the game %s started on GPU %d", name, gpu->index);
        return;
    }
    int64_t before = 0;
    bool known = was_there(b, p, gpu->index, &before);
    if (c->verdict == CLAIM_SEEN || (!l->any && !needs_gpu(p, l, known, before)))
        return;
    char load[WORDS_SIZE + 8] = "", text[WORDS_SIZE];
    if (reading_or(p->util_permille, 0) > 0)
        snprintf(load, sizeof load, " at %s", words_percent(p->util_permille.value, text));
    set(c, CLAIM_SEEN, gpu->index, p->pid, "%s holds %s on GPU %d%s", name, words_bytes(reading_or(p->mem_bytes, 0), text),
        gpu->index, load);
}

static void judge_memory(struct claim *c, const struct gpu *gpu, const struct claim_worker *w, const struct claim_baseline *b,
                         const struct claim_signals *signals, const struct claim_limits *l)
{
    if (c->verdict == CLAIM_SEEN || c->verdict == CLAIM_SURE || !b->learned || gpu->index < 0 || gpu->index >= GPU_MAX)
        return;
    char text[WORDS_SIZE], reserve[WORDS_SIZE];
    struct tally t = count_memory(gpu, w, signals);
    int64_t grown = t.unattributed - b->unattributed_bytes[gpu->index];
    if (t.known && grown >= l->unattributed_bytes) {
        set(c, CLAIM_SEEN, gpu->index, 0, "%s more of GPU %d are in use than any process that can be seen holds",
            words_bytes(grown, text), gpu->index);
        return;
    }
    int64_t free_bytes;
    bool others_grew = t.others + t.unattributed > b->others_bytes[gpu->index] + b->unattributed_bytes[gpu->index] + 64 * MIB_BYTES;
    if (l->reserve_bytes > 0 && others_grew && reading_get(gpu->mem_free_bytes, &free_bytes) && free_bytes < l->reserve_bytes)
        set(c, CLAIM_SEEN, gpu->index, 0, "only %s of GPU %d are free, less than the reserve of %s", words_bytes(free_bytes, text),
            gpu->index, words_bytes(l->reserve_bytes, reserve));
}

struct claim claim_judge(const struct snapshot *s, const struct claim_worker *w, const struct claim_baseline *b,
                         const struct claim_signals *signals, const struct claim_limits *limits)
{
    struct claim c = {.verdict = CLAIM_NONE, .gpu = -1};
    char unknown[CLAIM_REASON_SIZE] = "";
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct gpu *gpu = &s->gpus[g];
        if (!claim_worker_on_gpu(w, gpu) || gpu->state == GPU_ASLEEP)
            continue;
        if (gpu->state != GPU_OK || gpu->processes_state != READING_OK) {
            snprintf(unknown, sizeof unknown, "GPU %d cannot be read: %s", gpu->index,
                     gpu->error_message[0] ? gpu->error_message : reading_state_name(gpu->processes_state));
            continue;
        }
        for (size_t i = 0; i < gpu->process_count; i++) {
            const struct process *p = &gpu->processes[i];
            if (!is_ours(p, w) && !is_one_of(p, &signals->self, 1) && (limits->any || !is_friend(p, signals)))
                judge_process(&c, gpu, p, b, signals, limits);
        }
        judge_memory(&c, gpu, w, b, signals, limits);
    }
    if (signals->announced)
        set(&c, CLAIM_SURE, c.gpu, c.pid, "a program that needs the GPU was announced");
    else if (signals->gamemode && c.verdict != CLAIM_SURE)
        set(&c, CLAIM_SURE, c.gpu, c.pid, "GameMode reports a running game");
    else if (c.verdict == CLAIM_NONE && unknown[0])
        set(&c, CLAIM_UNKNOWN, -1, 0, "%s", unknown);
    else if (c.verdict == CLAIM_NONE)
        set(&c, CLAIM_NONE, -1, 0, "nothing else needs the GPU");
    return c;
}

bool guard_can_see(const struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        if (s->gpus[g].state == GPU_ASLEEP || s->gpus[g].processes_state == READING_OK)
            return true;
    return false;
}

bool claim_worker_bytes(const struct snapshot *s, const struct claim_worker *w, int64_t *ret)
{
    int64_t total = 0;
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct gpu *gpu = &s->gpus[g];
        if (gpu->state == GPU_ASLEEP)
            continue;
        if (gpu->processes_state != READING_OK)
            return false;
        for (size_t i = 0; i < gpu->process_count; i++) {
            if (!is_ours(&gpu->processes[i], w))
                continue;
            if (gpu->processes[i].mem_bytes.state != READING_OK)
                return false;
            total += gpu->processes[i].mem_bytes.value;
        }
    }
    *ret = total;
    return true;
}
