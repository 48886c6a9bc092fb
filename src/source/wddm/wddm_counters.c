/* SPDX-License-Identifier: Apache-2.0
 * The performance counters of GPUs, and what becomes of their rows. An engine's load is the sum over its processes; a GPU's or a
 * process's is that of its busiest engine, as in the Task Manager: engines work in parallel, so their sum would be meaningless.
 */
#include "source/wddm/wddm.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* ---- Reads the counters into rows. Instances come and go with processes between two reads, and their names are system text: rows
 * that don't parse, have no valid value or lie outside the buffer are dropped. */

static const struct {
    const uint16_t *path;
    uint32_t format;
} known[WDDM_COUNTERS] = {
    [COUNTER_UTILIZATION] = {u"\\GPU Engine(*)\\Utilization Percentage", PDH_FORMAT_DOUBLE | PDH_FORMAT_NO_CAP},
    [COUNTER_DEDICATED] = {u"\\GPU Adapter Memory(*)\\Dedicated Usage", PDH_FORMAT_LARGE},
    [COUNTER_SHARED] = {u"\\GPU Adapter Memory(*)\\Shared Usage", PDH_FORMAT_LARGE},
    [COUNTER_PROCESS_DEDICATED] = {u"\\GPU Process Memory(*)\\Dedicated Usage", PDH_FORMAT_LARGE},
    [COUNTER_PROCESS_SHARED] = {u"\\GPU Process Memory(*)\\Shared Usage", PDH_FORMAT_LARGE},
};

int wddm_counters_open(struct wddm_counters *c, const struct wddm_calls *calls, struct error *err)
{
    *c = (struct wddm_counters){.calls = calls};
    uint32_t status = calls->open_query(NULL, 0, &c->query);
    if (status) {
        c->query = NULL;
        return error_set(err, -ENODEV, "performance counters cannot be read (PDH 0x%08x)", (unsigned)status);
    }
    size_t there = 0;
    for (size_t i = 0; i < WDDM_COUNTERS; i++) {
        status = calls->add_counter(c->query, known[i].path, 0, &c->counters[i]);
        if (status)
            c->counters[i] = NULL;
        there += c->counters[i] != NULL;
    }
    if (there)
        return 0;
    wddm_counters_close(c);
    return error_set(err, -ENODEV, "this system has no performance counters of GPUs (PDH 0x%08x): Windows 10 1709 and later do",
                     (unsigned)status);
}

void wddm_counters_close(struct wddm_counters *c)
{
    if (c->query)
        c->calls->close_query(c->query);
    free(c->rows);
    *c = (struct wddm_counters){0};
}

/* ---- names of instances ---- */

static bool cut_word(struct str *rest, const char *word)
{
    if (!str_starts(*rest, word))
        return false;
    size_t len = strlen(word);
    *rest = (struct str){rest->at + len, rest->len - len};
    return true;
}

static bool cut_number(struct str *rest, uint32_t *ret)
{
    struct str digits;
    uint64_t value;
    if (!str_cut(rest, '_', &digits) || !str_to_u64(digits, &value) || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static enum wddm_engine engine_of(struct str type)
{
    return str_is_any_case(type, "3D")                                                             ? ENGINE_3D
           : str_starts(type, "Compute") || str_starts(type, "Cuda") || str_starts(type, "Neural") ? ENGINE_COMPUTE
           : str_starts(type, "VideoEncode") || str_starts(type, "Video Encode")                   ? ENGINE_ENCODE
           : str_starts(type, "VideoDecode") || str_starts(type, "Video Decode")                   ? ENGINE_DECODE
                                                                                                   : ENGINE_OTHER;
}

bool wddm_instance_parse(struct str name, struct wddm_row *ret)
{
    enum { ENGINES_MOST = 1 << 16 };
    uint32_t pid = 0, high, low, physical = 0, engine = 0;
    if (cut_word(&name, "pid_") && (!cut_number(&name, &pid) || pid > INT32_MAX))
        return false;
    if (!cut_word(&name, "luid_") || !cut_number(&name, &high) || !cut_number(&name, &low))
        return false;
    if (cut_word(&name, "phys_") && !cut_number(&name, &physical))
        return false;
    if (cut_word(&name, "eng_") && !cut_number(&name, &engine))
        return false;
    if (physical >= ENGINES_MOST || engine >= ENGINES_MOST)
        return false;
    *ret = (struct wddm_row){.luid = (uint64_t)high << 32 | low, .pid = (int32_t)pid, .engine = physical << 16 | engine};
    if (cut_word(&name, "engtype_"))
        ret->type = engine_of(name);
    return true;
}

/* ---- values ---- */

/* The name as ASCII; false if it isn't terminated inside the buffer, or not one of ours. */
static bool take_name(const struct pdh_item *item, const void *buffer, size_t size, char *to, size_t room, struct str *ret)
{
    uintptr_t from = (uintptr_t)buffer, at = (uintptr_t)item->name;
    if (at < from || at >= from + size || at % sizeof(uint16_t))
        return false;
    size_t max = (from + size - at) / sizeof(uint16_t), len = 0;
    for (; len < max && len < room && item->name[len]; len++) {
        if (item->name[len] > 0x7e)
            return false;
        to[len] = (char)item->name[len];
    }
    *ret = (struct str){to, len};
    return len < max && len < room;
}

static bool take_value(enum wddm_counter counter, const struct pdh_item *item, int64_t *ret)
{
    enum { PERMILLE_PER_PERCENT = 10 };
    if (item->status > 1)
        return false;
    if (counter != COUNTER_UTILIZATION) {
        *ret = item->whole;
        return item->whole >= 0;
    }
    if (!(item->real >= 0 && item->real <= 1e6)) /* also rejects NaN */
        return false;
    *ret = (int64_t)(item->real * PERMILLE_PER_PERCENT + 0.5);
    return true;
}

static void add_row(struct wddm_counters *c, const struct wddm_row *row)
{
    if (c->count == WDDM_ROWS_MAX || !ROOM_FOR_ONE(c->rows, c->count, c->capacity, 256))
        c->left_out++;
    else
        c->rows[c->count++] = *row;
}

/* The counter's values in a new buffer; NULL with a state other than READING_OK, or if there are none. */
static struct pdh_item *read_values(struct wddm_counters *c, enum wddm_counter which, uint32_t *ret_size, uint32_t *ret_count)
{
    enum { TRIES = 4, BYTES_MOST = 64 << 20, SPARE = 4096 };
    uint32_t size = 0, count = 0, status = PDH_MORE_DATA;
    struct pdh_item *items = NULL;
    for (int i = 0; i < TRIES && status == PDH_MORE_DATA && size <= BYTES_MOST; i++) {
        free(items);
        items = NULL;
        size += size ? SPARE : 0; /* processes may start between two calls */
        if (size && !(items = malloc(size)))
            break;
        *ret_size = size;
        status = c->calls->values(c->counters[which], known[which].format, &size, &count, items);
    }
    bool pending = which == COUNTER_UTILIZATION && c->collected < 2;
    bool empty = status == PDH_NO_DATA || status == PDH_CSTATUS_NO_INSTANCE;
    bool fits = items && count <= *ret_size / sizeof *items;
    if (status == 0 && (fits || !count)) {
        c->states[which] = pending ? READING_PENDING : READING_OK;
    } else {
        bool gone = status == PDH_CSTATUS_NO_OBJECT || status == PDH_CSTATUS_NO_COUNTER;
        c->states[which] = pending                       ? READING_PENDING
                           : empty                       ? READING_OK
                           : status == PDH_ACCESS_DENIED ? READING_DENIED
                           : gone                        ? READING_UNSUPPORTED
                                                         : READING_FAILED;
        count = 0;
    }
    *ret_count = count;
    return items;
}

static void read_counter(struct wddm_counters *c, enum wddm_counter which)
{
    enum { NAME_MOST = 192 };
    uint32_t size = 0, count = 0;
    if (!c->counters[which]) {
        c->states[which] = READING_UNSUPPORTED;
        return;
    }
    AUTO_FREE struct pdh_item *items = read_values(c, which, &size, &count);
    for (uint32_t i = 0; i < count && c->states[which] == READING_OK; i++) {
        char text[NAME_MOST];
        struct str name;
        struct wddm_row row;
        int64_t value;
        if (!take_value(which, &items[i], &value) || !take_name(&items[i], items, size, text, sizeof text, &name) ||
            !wddm_instance_parse(name, &row))
            continue;
        bool of_process = which != COUNTER_DEDICATED && which != COUNTER_SHARED;
        if (of_process != (row.pid != 0))
            continue;
        row.counter = which;
        row.value = value;
        add_row(c, &row);
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct wddm_row *x = a, *y = b;
    return x->luid != y->luid ? (x->luid < y->luid ? -1 : 1) : x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : 0;
}

int wddm_counters_refresh(struct wddm_counters *c, struct error *err)
{
    c->count = c->left_out = 0;
    uint32_t status = c->calls->collect(c->query);
    /* Without any process on any GPU there is nothing to collect. */
    if (status && status != PDH_NO_DATA) {
        c->collected = 0;
        for (size_t i = 0; i < WDDM_COUNTERS; i++)
            c->states[i] = status == PDH_ACCESS_DENIED ? READING_DENIED : READING_FAILED;
        return error_set(err, status == PDH_ACCESS_DENIED ? -EACCES : -EIO, "performance counters cannot be read (PDH 0x%08x)",
                         (unsigned)status);
    }
    c->collected = MIN_OF(c->collected + 1, 2);
    for (size_t i = 0; i < WDDM_COUNTERS; i++)
        read_counter(c, (enum wddm_counter)i);
    if (c->count)
        qsort(c->rows, c->count, sizeof c->rows[0], compare_rows);
    return 0;
}

/* ---- from rows to a GPU ---- */

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
