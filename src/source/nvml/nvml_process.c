/* SPDX-License-Identifier: Apache-2.0
 * Processes on a card: the compute, graphics and MPS lists, merged by process.
 *
 * The layout of the entries changed over the years, not always together with the name of the call:
 *   before 450           v1, 16 bytes
 *   470                  v2, 24 bytes (instance ids)
 *   510 and later        v3, the same 24 bytes
 *   535.43 to 535.86     v3 with 32 bytes: a field more under the same name
 *   535.98               no v3; v2 as before
 *   535.104.05 and later v3 with 24 bytes again
 */
#include "source/nvml/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

typedef int (*list_call)(nvml_device, unsigned *, void *);

struct nvml_present_row {
    struct nvml_process_v2 entry;
    enum process_type type;
};

/* No other release has both: the struct grew with confidential computing, and when it shrank again, a new call took over the
 * field. */
static bool has_odd_v3(const struct nvml_library *lib)
{
    return lib->conf_compute_sizes && !lib->process_details;
}

static list_call newest(const struct nvml_library *lib, enum nvml_process_list list, size_t *entry_size)
{
    const list_call calls[LIST_COUNT][3] = {
        [LIST_COMPUTE] = {lib->compute_v1, lib->compute_v2, lib->compute_v3},
        [LIST_GRAPHICS] = {lib->graphics_v1, lib->graphics_v2, lib->graphics_v3},
        [LIST_MPS] = {lib->mps_v1, lib->mps_v2, lib->mps_v3},
    };
    const size_t sizes[] = {
        sizeof(struct nvml_process_v1),
        sizeof(struct nvml_process_v2),
        has_odd_v3(lib) ? sizeof(struct nvml_process_v3_odd) : sizeof(struct nvml_process_v2),
    };
    for (int version = 2; version >= 0; version--) {
        *entry_size = sizes[version];
        if (calls[list][version])
            return calls[list][version];
    }
    return NULL;
}

size_t process_entry_size(const struct nvml_library *lib, int *ret_version)
{
    size_t size = 0;
    *ret_version = lib->compute_v3 ? 3 : lib->compute_v2 ? 2 : lib->compute_v1 ? 1 : 0;
    return newest(lib, LIST_COMPUTE, &size) ? size : 0;
}

static bool make_room(struct nvml *n, size_t bytes)
{
    if (bytes <= n->entries_size)
        return true;
    void *more = realloc(n->entries, bytes);
    if (!more)
        return false;
    n->entries = more;
    n->entries_size = bytes;
    return true;
}

/* Reads the list into n->entries. Processes may start meanwhile, so the required size may grow between two calls. */
static int fetch(struct nvml *n, nvml_device device, list_call call, size_t entry_size, unsigned *ret_count)
{
    enum { FIRST_ROOM = 128, TRIES = 4 };
    size_t room = FIRST_ROOM;
    for (int i = 0; i < TRIES; i++) {
        if (!make_room(n, room * entry_size))
            return NVML_UNKNOWN;
        unsigned count = (unsigned)MIN_OF(n->entries_size / entry_size, (size_t)NVML_ENTRIES_MAX);
        unsigned given = count;
        int code = call(device, &count, n->entries);
        if (code != NVML_INSUFFICIENT_SIZE) {
            *ret_count = MIN_OF(count, given);
            return code;
        }
        room = (size_t)count + FIRST_ROOM;
        if (room > NVML_ENTRIES_MAX)
            break;
    }
    return NVML_INSUFFICIENT_SIZE;
}

static struct process *find_process(const struct gpu *out, int32_t pid, int32_t instance)
{
    for (size_t i = 0; i < out->process_count; i++)
        if (out->processes[i].pid == pid && out->processes[i].instance == instance)
            return &out->processes[i];
    return NULL;
}

static struct reading memory_of(unsigned long long bytes)
{
    if (bytes == NVML_NOT_AVAILABLE)
        return reading_absent(READING_UNSUPPORTED);
    return bytes > 1ULL << 50 ? reading_absent(READING_IMPLAUSIBLE) : reading_ok((int64_t)bytes);
}

static void merge(const struct nvml_card *card, struct gpu *out, const struct nvml_process_v2 *entry, enum process_type type)
{
    if (entry->pid == 0 || entry->pid > INT32_MAX)
        return;
    struct process probe = {.instance = -1};
    mig_place_process(card, entry->gpu_instance, entry->compute_instance, &probe);
    struct process *p = find_process(out, (int32_t)entry->pid, probe.instance);
    struct reading memory = memory_of(entry->used_memory);
    if (!p) {
        p = gpu_add_process(out, (int32_t)entry->pid);
        if (!p)
            return; /* full: counted in processes_left_out */
        p->instance = probe.instance;
        p->type = type;
        p->mem_bytes = memory;
        return;
    }
    /* Both lists have the memory of the whole process, sometimes from different moments. */
    p->type = (enum process_type)(p->type | type);
    if (memory.state == READING_OK && memory.value >= reading_or(p->mem_bytes, -1))
        p->mem_bytes = memory;
}

static void remember(struct nvml_present *present, const struct nvml_process_v2 *entry, enum process_type type)
{
    if (present->count == present->room) {
        size_t room = MAX_OF(present->room * 2, (size_t)16);
        struct nvml_present_row *more = realloc(present->rows, room * sizeof *more);
        if (!more) {
            present->known = false;
            return;
        }
        present->rows = more;
        present->room = room;
    }
    present->rows[present->count++] = (struct nvml_present_row){.entry = *entry, .type = type};
}

/* `owner`: the instance whose handle was queried, NULL for the card. */
static int read_from(struct nvml *n, struct nvml_card *card, nvml_device device, const struct nvml_instance *owner,
                     enum nvml_process_list list, struct gpu *out)
{
    size_t size;
    list_call call = newest(&n->lib, list, &size);
    unsigned count = 0;
    int code = call ? fetch(n, device, call, size, &count) : NVML_FUNCTION_NOT_FOUND;
    for (unsigned i = 0; code == NVML_OK && i < count; i++) {
        struct nvml_process_v2 entry = {.gpu_instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE};
        memcpy(&entry, (const char *)n->entries + i * size, MIN_OF(size, sizeof entry));
        if (owner) {
            entry.gpu_instance = owner->gpu_instance;
            entry.compute_instance = owner->compute_instance;
        }
        enum process_type type = list == LIST_GRAPHICS ? PROCESS_GRAPHICS : PROCESS_COMPUTE;
        merge(card, out, &entry, type);
        remember(&card->present, &entry, type);
    }
    return code;
}

static int read_list(struct nvml *n, struct nvml_card *card, enum nvml_process_list list, struct gpu *out)
{
    if (card->refused_list[list])
        return card->refused_list[list];
    int code = read_from(n, card, card->handle, NULL, list, out);
    /* Only administrators may list a whole partitioned card; each instance lists its own. */
    if (nvml_is_final(code) && card->instance_count) {
        int each = code;
        for (size_t i = 0; i < card->instance_count; i++)
            if (read_from(n, card, card->instances[i].handle, &card->instances[i], list, out) == NVML_OK)
                each = NVML_OK;
        return each;
    }
    if (nvml_is_final(code) && code != NVML_NO_PERMISSION)
        card->refused_list[list] = code;
    return code;
}

/* The three lists take 1.1 ms. With no client watching, reread them only when the card's memory changes, as with every new or
 * ended context, and now and then. */
static bool still_there(const struct nvml_present *present, unsigned groups, const struct gpu *out, struct mono now)
{
    enum { UNSEEN_MS = 4800 };
    return (groups & GROUP_UNSEEN) && present->known && mono_since_ms(now, present->asked) < UNSEEN_MS &&
           present->memory.state == READING_OK && out->mem_used_bytes.state == READING_OK &&
           present->memory.value == out->mem_used_bytes.value;
}

bool process_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    struct mono now = clock_mono(n->env->clock);
    struct nvml_present *present = &card->present;
    if (still_there(present, groups, out, now)) {
        for (size_t i = 0; i < present->count; i++)
            merge(card, out, &present->rows[i].entry, present->rows[i].type);
        out->processes_state = present->state;
        return true;
    }
    *present = (struct nvml_present){
        .known = true, .asked = now, .memory = out->mem_used_bytes, .rows = present->rows, .room = present->room};
    int best = NVML_NOT_SUPPORTED;
    for (enum nvml_process_list list = 0; list < LIST_COUNT; list++) {
        int code = read_list(n, card, list, out);
        if (nvml_is_trouble(code)) {
            present->known = false;
            card_fail(n, card, code);
            return false;
        }
        if (code == NVML_OK || (best != NVML_OK && list != LIST_MPS))
            best = code;
    }
    out->processes_state = present->state = nvml_reading_state(best);
    return true;
}

/* ---- GPU share of each process. The driver keeps its own samples and returns those after a timestamp; they have been unordered,
 * stale, and above 100 %. */

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
static int fetch_loads(struct nvml *n, struct nvml_card *card, unsigned long long after, unsigned *ret_count)
{
    size_t rows = FIRST_ROWS;
    for (int i = 0; i < 3; i++) {
        if (!make_room(n, rows * sizeof(struct nvml_process_utilization)))
            return NVML_UNKNOWN;
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
    int code = fetch_loads(n, card, after, &count);
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
