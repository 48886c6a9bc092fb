/* SPDX-License-Identifier: Apache-2.0
 * GPU share of each process. The driver keeps its own samples and returns those after a timestamp; they have been unordered,
 * stale, and above 100 %.
 */
#include "source/nvml/internal.h"

#include <stdlib.h>

#include "base/cleanup.h"

enum {
    LOOK_BACK_US = 2000000, /* beyond that, the driver answers with long averages */
    HOLD_MS = 2000,         /* a process without a newer sample is idle */
    UNSEEN_MS = 1800,       /* with no client watching: a little less than LOOK_BACK_US, so that nothing is missed */
    IDLE_MS = 29500,        /* the same on an idle GPU: as soon as it works, UNSEEN_MS applies */
    FUTURE_US = 60000000,   /* later than any clock adjustment explains: nonsense */
    FIRST_ROWS = 256,
};

static bool sane(const struct nvml_process_utilization *row, unsigned long long after, unsigned long long now_us)
{
    return row->pid && row->sm <= 100 && row->mem <= 100 && row->enc <= 100 && row->dec <= 100 && row->timestamp > after &&
           row->timestamp < now_us + FUTURE_US;
}

static struct nvml_load *load_of(struct nvml_card *card, unsigned pid)
{
    for (size_t i = 0; i < card->load_count; i++)
        if (card->loads[i].pid == pid)
            return &card->loads[i];
    return NULL;
}

static struct nvml_load *new_load(struct nvml_card *card, unsigned pid)
{
    if (!card->loads && !(card->loads = calloc(NVML_LOADS_MAX, sizeof *card->loads)))
        return NULL;
    if (card->load_count == NVML_LOADS_MAX)
        return NULL;
    struct nvml_load *load = &card->loads[card->load_count++];
    *load = (struct nvml_load){.pid = pid};
    return load;
}

static void forget_old(struct nvml_card *card, struct mono now, int64_t hold_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < card->load_count; i++)
        if (mono_since_ms(now, card->loads[i].seen) <= hold_ms)
            card->loads[kept++] = card->loads[i];
    card->load_count = kept;
}

static void utilization_take(struct nvml_card *card, const struct nvml_process_utilization *rows, unsigned count,
                             unsigned long long after, unsigned long long now_us, struct mono now)
{
    for (unsigned i = 0; i < count; i++) {
        const struct nvml_process_utilization *row = &rows[i];
        if (!sane(row, after, now_us))
            continue;
        card->last_seen = MAX_OF(card->last_seen, row->timestamp);
        struct nvml_load *load = load_of(card, row->pid);
        if (!load && !(load = new_load(card, row->pid)))
            continue;
        if (row->timestamp < load->timestamp)
            continue;
        *load = (struct nvml_load){.pid = row->pid,
                                   .timestamp = row->timestamp,
                                   .seen = now,
                                   .sm = (unsigned char)row->sm,
                                   .mem = (unsigned char)row->mem,
                                   .enc = (unsigned char)row->enc,
                                   .dec = (unsigned char)row->dec};
    }
}

/* Rows newer than `after` into n->entries. */
static int fetch(struct nvml *n, struct nvml_card *card, unsigned long long after, unsigned *ret_count)
{
    size_t rows = FIRST_ROWS;
    for (int i = 0; i < 3; i++) {
        size_t bytes = rows * sizeof(struct nvml_process_utilization);
        if (bytes > n->entries_size) {
            void *more = realloc(n->entries, bytes);
            if (!more)
                return NVML_UNKNOWN;
            n->entries = more;
            n->entries_size = bytes;
        }
        unsigned count = (unsigned)rows;
        int code = n->lib.process_utilization(card->handle, n->entries, &count, after);
        *ret_count = (unsigned)MIN_OF((size_t)count, rows);
        if (code != NVML_INSUFFICIENT_SIZE)
            return code;
        rows = (size_t)count + FIRST_ROWS;
        if (rows > NVML_ENTRIES_MAX)
            break;
    }
    return NVML_INSUFFICIENT_SIZE;
}

static void set_all(struct gpu *out, enum reading_state why)
{
    for (size_t i = 0; i < out->process_count; i++) {
        struct process *p = &out->processes[i];
        p->util_permille = p->mem_util_permille = p->encoder_permille = p->decoder_permille = reading_absent(why);
    }
}

static void apply(struct nvml_card *card, struct gpu *out)
{
    for (size_t i = 0; i < out->process_count; i++) {
        struct process *p = &out->processes[i];
        struct nvml_load none = {0};
        const struct nvml_load *load = load_of(card, (unsigned)p->pid);
        if (!load)
            load = &none; /* on the card without a sample: idle */
        p->util_permille = reading_ok(load->sm * 10);
        p->mem_util_permille = reading_ok(load->mem * 10);
        p->encoder_permille = reading_ok(load->enc * 10);
        p->decoder_permille = reading_ok(load->dec * 10);
    }
}

static unsigned mark_of(const struct gpu *out)
{
    unsigned mark = (unsigned)out->process_count;
    for (size_t i = 0; i < out->process_count; i++)
        mark += (unsigned)out->processes[i].pid * 2654435761u; /* independent of order */
    return mark;
}

static bool engines_rest(const struct gpu *out)
{
    static const enum metric engines[] = {METRIC_util_permille, METRIC_mem_util_permille, METRIC_encoder_permille,
                                          METRIC_decoder_permille};
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        if (reading_or(out->metric[engines[i]], 0) > 0)
            return false;
    return reading_or(out->metric[METRIC_util_permille], -1) == 0;
}

static bool is_idle(const struct nvml_card *card, const struct gpu *out)
{
    for (size_t i = 0; i < card->load_count; i++)
        if (card->loads[i].sm || card->loads[i].mem || card->loads[i].enc || card->loads[i].dec)
            return false;
    return engines_rest(out);
}

/* Shares of a different load don't apply. */
static bool is_same_work(const struct nvml_card *card, const struct gpu *out)
{
    enum { NEAR = 200 };
    int64_t then, now;
    return !reading_get(card->loads_util, &then) || !reading_get(out->util_permille, &now) || llabs(now - then) <= NEAR;
}

/* The most expensive call of a sample (1.4 to 2.8 ms): with no client watching, let the driver's samples accumulate for a
 * moment. */
static bool still_holds(const struct nvml_card *card, unsigned groups, const struct gpu *out, struct mono now)
{
    if (!card->sampled && groups == GROUP_QUICK && is_idle(card, out))
        return true; /* first look at an idle GPU: its processes are idle, too */
    if (engines_rest(out) && !is_idle(card, out))
        return false; /* it ended, or this is between two bursts: ask */
    int64_t holds_ms = (groups & (GROUP_UNSEEN | GROUP_GLANCE)) && is_idle(card, out) ? IDLE_MS
                       : groups & GROUP_UNSEEN                                        ? UNSEEN_MS
                                                                                      : 0;
    return card->loads_known && card->loads_of == mark_of(out) && mono_since_ms(now, card->loads_asked) < holds_ms &&
           is_same_work(card, out);
}

bool utilization_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    if (out->process_count == 0)
        return true; /* the call takes 2 ms */
    if (card->mig_enabled || !n->lib.process_utilization || card->refused_utilization) {
        set_all(out, card->refused_utilization ? nvml_reading_state(card->refused_utilization) : READING_UNSUPPORTED);
        return true;
    }
    struct mono now = clock_mono(n->env->clock);
    if (still_holds(card, groups, out, now)) {
        apply(card, out);
        return true;
    }
    unsigned long long now_us = (unsigned long long)clock_wall(n->env->clock).ms * 1000;
    unsigned long long after = MAX_OF(card->last_seen, now_us - LOOK_BACK_US);
    unsigned count = 0;
    int code = fetch(n, card, after, &count);
    if (nvml_is_trouble(code)) {
        card_fail(n, card, code);
        return false;
    }
    /* NOT_FOUND: no samples since then, the card is idle. */
    if (code != NVML_OK && code != NVML_NOT_FOUND) {
        if (nvml_is_final(code))
            card->refused_utilization = code;
        set_all(out, nvml_reading_state(code));
        return true;
    }
    card->loads_known = true;
    card->loads_asked = now;
    card->loads_util = out->util_permille;
    card->loads_of = mark_of(out);
    if (code == NVML_OK)
        utilization_take(card, n->entries, count, after, now_us, now);
    forget_old(card, now, engines_rest(out) ? 0 : HOLD_MS); /* on idle engines, a process without a newer sample has ended */
    apply(card, out);
    return true;
}
