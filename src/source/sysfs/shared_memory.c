/* SPDX-License-Identifier: Apache-2.0
 * See shared_memory.h. Ignores control group limits: whirr's own says nothing about the program to be started.
 */
#include "source/sysfs/shared_memory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "host/machine.h"

/* The host's reserve: giving away its last page would kill programs. */
enum { RESERVE_PART = 64, PAGE_BYTES = 4096 };
#define RESERVE_LEAST (512LL << 20)

struct reading shared_memory_ttm_limit(const struct env *env)
{
    static const char *const files[] = {"/sys/module/ttm/parameters/pages_limit", "/sys/module/amdttm/parameters/pages_limit"};
    int64_t pages;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (file_read_i64(env, files[i], &pages) == 0 && pages > 0 && pages < INT64_MAX / PAGE_BYTES)
            return reading_ok(pages * PAGE_BYTES);
    return reading_absent(READING_UNSUPPORTED);
}

static struct reading least(struct reading a, struct reading b)
{
    return a.state != READING_OK ? b : b.state != READING_OK || a.value < b.value ? a : b;
}

static struct reading less(struct reading a, struct reading b)
{
    return a.state == READING_OK && b.state == READING_OK ? reading_ok(MAX_OF(a.value - b.value, (int64_t)0)) : a;
}

static struct reading more(struct reading a, struct reading b)
{
    return a.state == READING_OK ? reading_ok(a.value + reading_or(b, 0)) : a;
}

void shared_memory_fill(const struct env *env, const struct shared_memory *m, struct gpu *out)
{
    struct host host = {0};
    machine_read_memory(env, &host);
    gpu_set_property(out, PROPERTY_memory_kind, "shared"); /* set with the numbers: a quick look skips static properties */
    int64_t reserve = MAX_OF(reading_or(host.mem_total_bytes, 0) / RESERVE_PART, RESERVE_LEAST);
    struct reading available = less(host.mem_available_bytes, reading_ok(reserve));
    if (available.state == READING_OK || m->limit_used.state == READING_OK) /* otherwise the limit says nothing about free memory */
        available = least(less(m->limit_bytes, m->limit_used), available);
    out->mem_total_bytes = more(least(m->limit_bytes, host.mem_total_bytes), m->own_total);
    out->mem_free_bytes = more(available, less(m->own_total, m->own_used));
    if (m->limit_used.state == READING_OK)
        out->mem_used_bytes = least(more(m->limit_used, m->own_used), out->mem_total_bytes);
    else if (m->used_by_host && host.mem_available_bytes.state == READING_OK)
        out->mem_used_bytes = less(host.mem_total_bytes, host.mem_available_bytes);
}
