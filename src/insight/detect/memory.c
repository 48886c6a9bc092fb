/* SPDX-License-Identifier: Apache-2.0
 * Memory that is in use and has no owner (a program that was killed, a driver that leaks), and memory that did not fit and moved to
 * the host.
 */
#include <string.h>

#include "insight/detect/detect.h"
#include "insight/facts/words.h"

enum { UNOWNED_PERMILLE = 200, SPILL_FULL_PERMILLE = 900 };
#define UNOWNED_BYTES (4LL << 30)
#define SPILL_BYTES (1LL << 30)

static bool is_shared(const struct gpu *gpu)
{
    return gpu->memory_kind.state == READING_OK && strcmp(gpu->memory_kind.value, "shared") == 0;
}

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

/* Drivers of containers and of Windows list no processes at all: a GPU that computes without one says so. */
static bool lists_processes(const struct facts *f)
{
    return f->gpu->process_count || (f->load == LOAD_IDLE && f->load_basis == BASIS_UTIL);
}

static void detect_unowned(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t used, total, held;
    char amount[SHORT_WORDS];
    if (!reading_get(gpu->mem_used_bytes, &used) || !reading_get(gpu->mem_total_bytes, &total) || !held_bytes(gpu, &held) ||
        !lists_processes(f))
        return;
    int64_t unowned = used - held;
    /* Drivers keep some memory for each context: only what is more than all that the processes hold is worth a word. */
    if (unowned < UNOWNED_BYTES || unowned < total / 1000 * UNOWNED_PERMILLE || unowned < held)
        return;
    collect(c, gpu, FINDING_MEMORY_UNOWNED, SEVERITY_NOTICE, 0.6, 0,
            "GPU %d: %s of its memory %s in use and no visible process %s it", gpu->index, words_bytes(unowned, amount), is(f),
            f->over ? "held" : "holds");
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
            "GPU %d: its memory is full, and %s have moved to the host's memory, which is far slower", gpu->index,
            words_bytes(moved, amount));
}

void detect_memory(const struct facts *f, struct collection *c)
{
    if (is_shared(f->gpu))
        return;
    detect_unowned(f, c);
    detect_spill(f, c);
}
