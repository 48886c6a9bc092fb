/* SPDX-License-Identifier: Apache-2.0
 * From rows to a GPU. An engine's load is the sum over its processes; a GPU's or a process's is that of its busiest engine, as in
 * the Task Manager: engines work in parallel, so their sum would be meaningless.
 */
#include "base/cleanup.h"
#include "source/wddm/wddm.h"

enum { ENGINES_MAX = 256, ALL = 1000 };

struct wddm_load {
    uint32_t engine;
    enum wddm_engine type;
    int64_t permille;
};

struct wddm_loads {
    size_t count;
    struct wddm_load list[ENGINES_MAX];
};

static void add_load(struct wddm_loads *all, const struct wddm_row *row)
{
    size_t i = 0;
    while (i < all->count && all->list[i].engine != row->engine)
        i++;
    if (i == ENGINES_MAX)
        return;
    if (i == all->count)
        all->list[all->count++] = (struct wddm_load){.engine = row->engine, .type = row->type};
    all->list[i].permille = MIN_OF(all->list[i].permille + row->value, (int64_t)ALL);
}

/* The busiest engine of this type (ENGINE_OTHER: of any); absent: none. */
static struct reading busiest(const struct wddm_loads *all, enum wddm_engine type)
{
    struct reading most = reading_absent(READING_UNSUPPORTED);
    for (size_t i = 0; i < all->count; i++)
        if ((type == ENGINE_OTHER || all->list[i].type == type) && (most.state != READING_OK || all->list[i].permille > most.value))
            most = reading_ok(all->list[i].permille);
    return most;
}

static void add_bytes(struct reading *sum, int64_t bytes)
{
    int64_t total;
    if (sum->state != READING_IMPLAUSIBLE)
        *sum = __builtin_add_overflow(reading_or(*sum, 0), bytes, &total) ? reading_absent(READING_IMPLAUSIBLE) : reading_ok(total);
}

static void raise(struct reading *to, int64_t permille)
{
    permille = MIN_OF(permille, (int64_t)ALL);
    if (to->state != READING_OK || to->value < permille)
        *to = reading_ok(permille);
}

/* A listed process without a row has 0, if the counter was readable. */
static struct reading none_or(enum reading_state state)
{
    return state == READING_OK ? reading_ok(0) : reading_absent(state);
}

static void take_process(const struct wddm_counters *c, const struct wddm_row *rows, size_t count, bool shares, struct gpu *out)
{
    struct process p = {.util_permille = none_or(c->states[COUNTER_UTILIZATION]),
                        .mem_bytes = none_or(c->states[COUNTER_PROCESS_DEDICATED])};
    int64_t load_3d = 0, load_compute = 0;
    for (size_t i = 0; i < count; i++) {
        const struct wddm_row *row = &rows[i];
        if (row->counter == COUNTER_PROCESS_DEDICATED || (row->counter == COUNTER_PROCESS_SHARED && shares))
            add_bytes(&p.mem_bytes, row->value);
        if (row->counter != COUNTER_UTILIZATION)
            continue;
        raise(&p.util_permille, row->value);
        if (row->type == ENGINE_ENCODE || row->type == ENGINE_DECODE)
            raise(row->type == ENGINE_ENCODE ? &p.encoder_permille : &p.decoder_permille, row->value);
        load_3d = MAX_OF(load_3d, row->type == ENGINE_3D ? row->value : 0);
        load_compute = MAX_OF(load_compute, row->type == ENGINE_COMPUTE ? row->value : 0);
    }
    /* A process that merely opened the adapter has instances of all its engines, but doesn't use it. */
    if (!reading_or(p.mem_bytes, 1) && !reading_or(p.util_permille, 0))
        return;
    struct process *to = gpu_add_process(out, rows[0].pid);
    if (!to)
        return;
    to->type = load_compute > load_3d ? PROCESS_COMPUTE : PROCESS_GRAPHICS;
    to->instance = -1;
    to->mem_bytes = p.mem_bytes;
    to->util_permille = p.util_permille;
    to->encoder_permille = p.encoder_permille;
    to->decoder_permille = p.decoder_permille;
}

static void take_processes(const struct wddm_counters *c, const struct wddm_row *rows, size_t count, bool shares, struct gpu *out)
{
    enum reading_state state = c->states[COUNTER_PROCESS_DEDICATED];
    if (state != READING_OK && c->states[COUNTER_UTILIZATION] == READING_OK)
        state = READING_OK;
    out->processes_state = state;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && rows[to].pid == rows[from].pid;)
            to++;
        if (rows[from].pid)
            take_process(c, rows + from, to - from, shares, out);
    }
    out->processes_left_out += c->left_out;
}

/* The counter was readable, but doesn't have this adapter. */
static struct reading none_of(enum reading_state state)
{
    return reading_absent(state == READING_OK ? READING_UNSUPPORTED : state);
}

static void take_memory(const struct wddm_counters *c, const struct wddm_row *rows, size_t count, bool shares, struct gpu *out)
{
    struct reading dedicated = none_of(c->states[COUNTER_DEDICATED]), shared = none_of(c->states[COUNTER_SHARED]);
    for (size_t i = 0; i < count && rows[i].pid == 0; i++)
        add_bytes(rows[i].counter == COUNTER_DEDICATED ? &dedicated : &shared, rows[i].value);
    out->mem_used_bytes = dedicated;
    if (!shares)
        out->gtt_used_bytes = shared;
    else if (dedicated.state == READING_OK && shared.state == READING_OK)
        add_bytes(&out->mem_used_bytes, shared.value);
}

static void take_load(const struct wddm_counters *c, const struct wddm_row *rows, size_t count, struct gpu *out)
{
    struct wddm_loads all = {0};
    enum reading_state state = c->states[COUNTER_UTILIZATION];
    for (size_t i = 0; i < count; i++)
        if (rows[i].counter == COUNTER_UTILIZATION)
            add_load(&all, &rows[i]);
    /* If its memory is counted and no process has opened it, nothing runs there. Without either, the load is unknown. */
    out->util_permille = state != READING_OK ? reading_absent(state)
                         : all.count         ? busiest(&all, ENGINE_OTHER)
                         : count             ? reading_ok(0)
                                             : reading_absent(READING_UNSUPPORTED);
    out->encoder_permille = state == READING_OK ? busiest(&all, ENGINE_ENCODE) : reading_absent(state);
    out->decoder_permille = state == READING_OK ? busiest(&all, ENGINE_DECODE) : reading_absent(state);
    gpu_set_property(out, PROPERTY_utilization_basis, "busiest engine");
}

void wddm_counters_fill(const struct wddm_counters *c, uint64_t luid, bool shares, unsigned groups, struct gpu *out)
{
    size_t from = 0, to;
    while (from < c->count && c->rows[from].luid != luid)
        from++;
    for (to = from; to < c->count && c->rows[to].luid == luid;)
        to++;
    if (groups & GROUP_FAST) {
        take_memory(c, c->rows + from, to - from, shares, out);
        take_load(c, c->rows + from, to - from, out);
    }
    if (groups & GROUP_PROCESS)
        take_processes(c, c->rows + from, to - from, shares, out);
}
