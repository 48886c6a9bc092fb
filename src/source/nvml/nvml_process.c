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

static bool nvml_process_make_room(struct nvml *n, size_t bytes)
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
        if (!nvml_process_make_room(n, room * entry_size))
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

static struct process *nvml_process_find(const struct gpu *out, int32_t pid, int32_t instance)
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
    struct process *p = nvml_process_find(out, (int32_t)entry->pid, probe.instance);
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
