/* SPDX-License-Identifier: Apache-2.0
 * Lifetime of a snapshot, and finding a GPU in it.
 */
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "model/finding.h"

struct snapshot *snapshot_new(size_t gpu_count)
{
    struct snapshot *s = calloc(1, sizeof *s + gpu_count * sizeof s->gpus[0]);
    if (!s)
        return NULL;
    s->refs = 1;
    s->gpu_count = gpu_count;
    return s;
}

int snapshot_add_accelerators(struct snapshot *s, size_t count)
{
    s->accelerators = count ? calloc(count, sizeof *s->accelerators) : NULL;
    s->accelerator_count = s->accelerators ? count : 0;
    return s->accelerator_count == count ? 0 : -ENOMEM;
}

static int copy_accelerators(struct snapshot *to, const struct snapshot *from)
{
    int rc = snapshot_add_accelerators(to, from->accelerator_count);
    for (size_t i = 0; rc == 0 && i < to->accelerator_count; i++)
        rc = gpu_copy(&to->accelerators[i], &from->accelerators[i]);
    return rc;
}

struct snapshot *snapshot_copy(const struct snapshot *from)
{
    struct snapshot *to = snapshot_new(from->gpu_count);
    if (!to)
        return NULL;
    /* Everything before the GPUs, except the reference count. */
    memcpy((char *)to + sizeof to->refs, (const char *)from + sizeof from->refs, sizeof *from - sizeof from->refs);
    to->verdict = NULL;
    to->gpu_count = 0;
    if (copy_accelerators(to, from) < 0) {
        snapshot_unref(to);
        return NULL;
    }
    for (; to->gpu_count < from->gpu_count; to->gpu_count++) {
        if (gpu_copy(&to->gpus[to->gpu_count], &from->gpus[to->gpu_count]) < 0) {
            snapshot_unref(to);
            return NULL;
        }
    }
    if (from->verdict && !(to->verdict = verdict_copy(from->verdict))) {
        snapshot_unref(to);
        return NULL;
    }
    return to;
}

const struct snapshot *snapshot_ref(const struct snapshot *s)
{
    /* The reference count is the only part of a published snapshot that changes. */
    atomic_fetch_add_explicit((_Atomic uint32_t *)&s->refs, 1, memory_order_relaxed);
    return s;
}

void snapshot_unref(const struct snapshot *s)
{
    if (!s || atomic_fetch_sub_explicit((_Atomic uint32_t *)&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct snapshot *own = (struct snapshot *)s;
    for (size_t i = 0; i < own->gpu_count; i++)
        gpu_done(&own->gpus[i]);
    for (size_t i = 0; i < own->accelerator_count; i++)
        gpu_done(&own->accelerators[i]);
    free(own->accelerators);
    verdict_free(own->verdict);
    free(own);
}

static bool uuid_matches(const char *uuid, const char *which)
{
    size_t len = strlen(which);
    if (len < 4)
        return false;
    const char *bare = strchr(uuid, '-') && strncasecmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : uuid;
    return strncasecmp(uuid, which, len) == 0 || strncasecmp(bare, which, len) == 0;
}

static bool pci_matches(const char *pci, const char *which)
{
    if (!pci[0])
        return false;
    /* "01:00.0", "0000:01:00.0" and nvidia-smi's "00000000:01:00.0" name the same GPU. */
    size_t len = strlen(pci), asked = strlen(which);
    const char *tail = asked > len ? which + (asked - len) : which;
    return strcasecmp(pci, tail) == 0 || (asked == 7 && len >= 7 && strcasecmp(pci + len - 7, which) == 0);
}

const struct gpu *snapshot_gpu(const struct snapshot *s, int index)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == index)
            return &s->gpus[i];
    return NULL;
}

int snapshot_find_gpu(const struct snapshot *s, const char *which)
{
    int64_t index;
    if (strlen(which) <= 3 && str_to_i64(str_from(which), &index)) {
        const struct gpu *gpu = snapshot_gpu(s, (int)index);
        return gpu ? (int)(gpu - s->gpus) : -1;
    }
    int found = -1;
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (!uuid_matches(s->gpus[i].id.uuid, which) && !pci_matches(s->gpus[i].id.pci_address, which))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/* "0-3": an address and a UUID have dashes, too, but no short numbers around a single one. */
static bool read_range(struct str which, int64_t *from, int64_t *to)
{
    struct str rest = which, first;
    return str_cut(&rest, '-', &first) && rest.len && rest.len <= 3 && first.len <= 3 && str_to_i64(first, from) &&
           str_to_i64(rest, to) && *from <= *to;
}

bool gpu_names_several(const char *which)
{
    int64_t from, to;
    return which && (strchr(which, ',') || read_range(str_from(which), &from, &to));
}

bool snapshot_find_gpus(const struct snapshot *s, const char *which, struct gpu_choice *ret)
{
    struct str rest = str_from(which), part;
    *ret = (struct gpu_choice){0};
    for (int64_t from, to; str_cut(&rest, ',', &part);) {
        char one[GPU_UUID_SIZE];
        str_copy(one, sizeof one, str_trim(part));
        bool range = read_range(str_from(one), &from, &to), found = false;
        int at = range ? -1 : snapshot_find_gpu(s, one);
        for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++)
            if (range ? s->gpus[i].index >= from && s->gpus[i].index <= to : (int)i == at) {
                found = true;
                ret->count += !ret->on[i];
                ret->on[i] = true;
            }
        if (!found)
            return false;
    }
    return ret->count > 0;
}

static bool driver_is_listed(const struct gpu_driver *drivers, size_t count, const struct gpu_driver *one)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(drivers[i].name, one->name) == 0 && strcmp(drivers[i].version, one->version) == 0)
            return true;
    return false;
}

static bool waits_for_others(const struct process *p)
{
    return p->limit.code == LIMIT_STRAGGLER_WAIT || p->limit.code == LIMIT_KERNEL_WAIT;
}

int snapshot_waiting_ranks(const struct snapshot *s, const struct process *of)
{
    int count = 0;
    for (size_t g = 0; g < s->gpu_count && of->job[0] && !waits_for_others(of); g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *other = &s->gpus[g].processes[i];
            count += other->pid != of->pid && strcmp(other->job, of->job) == 0 && waits_for_others(other);
        }
    return count;
}

bool snapshot_counts_memory(const struct snapshot *s, const struct gpu *gpu)
{
    if (!gpu_shares_memory(gpu))
        return true;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (&s->gpus[i] != gpu && (!gpu_shares_memory(&s->gpus[i]) || &s->gpus[i] < gpu))
            return false;
    return true;
}

const struct source_status *snapshot_source(const struct snapshot *s, const char *name)
{
    for (size_t i = 0; i < s->source_count && i < SOURCES_MAX; i++)
        if (strcmp(s->sources[i].name, name) == 0)
            return &s->sources[i];
    return NULL;
}

bool snapshot_source_started(const struct snapshot *s, const struct gpu *gpu)
{
    const struct source_status *source = snapshot_source(s, gpu->source);
    return !source || source->state != SOURCE_OFF;
}

bool snapshot_simulated(const struct snapshot *s, int only)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].simulated && (only == ALL_GPUS || only == (int)i))
            return true;
    return false;
}

bool snapshot_none_readable(const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].state == GPU_OK || s->gpus[i].state == GPU_ASLEEP || s->gpus[i].released)
            return false;
    bool any = s->gpu_count > 0;
    for (size_t i = 0; i < s->source_count && i < SOURCES_MAX; i++)
        any |= s->sources[i].state == SOURCE_HUNG; /* it may have GPUs */
    return any;
}

size_t snapshot_drivers(const struct snapshot *s, struct gpu_driver drivers[DRIVERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < s->gpu_count && count < DRIVERS_MAX; i++) {
        const struct gpu *gpu = &s->gpus[i];
        const struct gpu_driver one = {gpu->source, gpu->driver.value, gpu->driver_version.value};
        if (gpu->driver.state == READING_OK && !driver_is_listed(drivers, count, &one))
            drivers[count++] = one;
    }
    return count;
}

const char *source_state_name(enum source_state state)
{
    static const char *const names[] = {"off", "ok", "failing", "set aside", "hung", "released", "asleep"};
    return names[state];
}

const char *event_kind_name(enum event_kind kind)
{
    static const char *const names[] = {"xid", "gpu_lost", "gpu_back", "ecc", "source", "other"};
    return names[kind];
}
