/* SPDX-License-Identifier: Apache-2.0
 * Machines with random readings, likely, absurd and absent ones, for tests of what holds for every machine. The same seed gives the
 * same machines.
 */
#pragma once

#include <stdio.h>

#include "model/snapshot.h"

enum { RANDOM_GPUS = 6, RANDOM_PROCESSES = 6 };

struct random {
    uint64_t state;
};

static inline uint64_t next(struct random *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

static inline int64_t between(struct random *r, int64_t low, int64_t high)
{
    return low + (int64_t)(next(r) % (uint64_t)(high - low + 1));
}

static inline bool chance(struct random *r, int percent)
{
    return between(r, 0, 99) < percent;
}

/* Present and likely, present and absurd, or absent with a number inside that must not be seen. */
static inline struct reading some(struct random *r, int64_t low, int64_t high)
{
    if (chance(r, 65))
        return reading_ok(between(r, low, high));
    if (chance(r, 5))
        return reading_ok(between(r, -1000000000000000, 1000000000000000));
    return (struct reading){between(r, low, high), (enum reading_state[]){READING_UNREAD, READING_UNSUPPORTED, READING_DENIED,
                                                                          READING_FAILED, READING_PENDING}[between(r, 0, 4)]};
}

static inline void fill_process(struct random *r, struct process *p, struct wall now)
{
    static const char *const names[] = {"python3", "ollama", "Xorg",
                                        "t-rex",   "",       "un nom très long qui ne tient pas dans la phrase à dire"};
    static const char *const commands[] = {"", "python3 train.py", "./x -o stratum+tcp://pool", "vllm serve"};
    p->type = (enum process_type)between(r, 0, 3);
    p->visible = chance(r, 85);
    p->instance = (int32_t)between(r, -1, 2);
    snprintf(p->name, sizeof p->name, "%s", names[between(r, 0, 5)]);
    snprintf(p->command, sizeof p->command, "%s", commands[between(r, 0, 3)]);
    snprintf(p->user, sizeof p->user, "%s", chance(r, 60) ? "alice" : "");
    snprintf(p->container, sizeof p->container, "%s", chance(r, 20) ? "a-container-with-a-name-that-is-much-too-long-to-say" : "");
    snprintf(p->model, sizeof p->model, "%s", chance(r, 20) ? "meta-llama/Llama-3.1-405B-Instruct-with-a-very-long-suffix" : "");
    if (chance(r, 50))
        p->started_at.ms = now.ms - between(r, 0, 400000000);
    p->util_permille = some(r, 0, 1000);
    p->mem_bytes = some(r, 0, 24LL << 30);
    p->cpu_permille = some(r, 0, 2000);
    p->encoder_permille = some(r, 0, 1000);
    p->decoder_permille = some(r, 0, 1000);
}

static inline void fill_gpu(struct random *r, struct gpu *gpu, int index, struct wall now)
{
    gpu->index = index;
    gpu->simulated = chance(r, 20);
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-%d", index);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        gpu->metric[i] = some(r, 0, 1000);
    gpu->util_permille = chance(r, 40) ? some(r, 0, 60) : some(r, 0, 1000);
    gpu->encoder_permille = some(r, 0, 300);
    gpu->temp_mdegc = some(r, 20000, 100000);
    gpu->temp_hotspot_mdegc = some(r, 20000, 120000);
    gpu->temp_memory_mdegc = some(r, 20000, 120000);
    gpu->temp_limit_mdegc = some(r, 80000, 100000);
    gpu->temp_max_operating_mdegc = some(r, 80000, 100000);
    gpu->temp_memory_limit_mdegc = some(r, 90000, 110000);
    gpu->temp_margin_mdegc = chance(r, 20) ? some(r, -5000, 50000) : reading_absent(READING_UNSUPPORTED);
    gpu->fan_permille = chance(r, 15) ? reading_ok(0) : some(r, 0, 1000);
    gpu->fan_rpm = some(r, 0, 3000);
    gpu->mem_used_bytes = some(r, 0, 24LL << 30);
    gpu->mem_total_bytes = some(r, 24LL << 30, 25LL << 30);
    if (chance(r, 30))
        gpu_set_property(gpu, PROPERTY_memory_kind, "shared");
    gpu->fan_count = some(r, 0, 2);
    gpu->power_mw = some(r, 5000, 700000);
    gpu->power_limit_mw = some(r, 70000, 700000);
    gpu->power_limit_default_mw = some(r, 70000, 700000);
    gpu->pstate = some(r, 0, 12);
    gpu->clock_graphics_khz = some(r, 200000, 2000000);
    gpu->clock_graphics_max_khz = some(r, 1500000, 2100000);
    gpu->clock_memory_khz = some(r, 200000, 2000000);
    gpu->clock_memory_max_khz = some(r, 1500000, 2100000);
    gpu->throttle_bits = some(r, 0, (1 << THROTTLE_COUNT) - 1);
    gpu->mig_enabled = chance(r, 15) ? some(r, 0, 1) : reading_absent(READING_UNSUPPORTED);
    gpu->processes_state = chance(r, 80) ? READING_OK : READING_DENIED;
    gpu->processes_hidden = chance(r, 10) ? 2 : 0;
    for (int64_t i = between(r, 0, RANDOM_PROCESSES); i > 0; i--)
        fill_process(r, gpu_add_process(gpu, 1000 * (index + 1) + (int32_t)i), now);
    for (int64_t i = chance(r, 15) ? 2 : 0; i > 0; i--)
        snprintf(gpu_add_instance(gpu)->profile, GPU_TEXT_SIZE, "1g.10gb");
    if (chance(r, 8))
        gpu_mark_state(gpu, (enum gpu_state)between(r, 1, 3), chance(r, 50) ? "the driver's words, which may be long" : "");
}

/* The caller's, not judged yet. */
static inline struct snapshot *random_snapshot(struct random *r)
{
    struct snapshot *s = snapshot_new((size_t)between(r, 0, RANDOM_GPUS));
    s->taken_at.ms = chance(r, 95) ? 1794704523000 : 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        fill_gpu(r, &s->gpus[i], (int)i, s->taken_at);
    s->host.cpu_permille = some(r, 0, 1000);
    s->host.cpu_temp_mdegc = some(r, 40000, 100000);
    s->host.disk_read_bytes_per_s = some(r, 0, 4000000000);
    s->source_count = (size_t)between(r, 0, 3);
    for (size_t i = 0; i < s->source_count; i++) {
        static const char *const messages[] = {"", "Driver/library version mismatch", "Insufficient Permissions", "odd"};
        s->sources[i].state = (enum source_state)between(r, 0, 6);
        snprintf(s->sources[i].name, SOURCE_NAME_SIZE, "source%zu", i);
        snprintf(s->sources[i].message, SOURCE_MESSAGE_SIZE, "%s", messages[between(r, 0, 3)]);
    }
    return s;
}
