/* SPDX-License-Identifier: Apache-2.0
 * A machine for tests of formats: a busy card, one that sleeps, one that is lost, one divided into instances.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/json.h"
#include "model/snapshot.h"
#include "test.h"

static inline void sample_busy(struct gpu *gpu)
{
    gpu->index = 0;
    gpu->id = (struct gpu_id){
        .uuid = "GPU-11111111-2222", .pci_address = "0000:01:00.0", .name = "NVIDIA GeForce RTX 4090", .vendor = "nvidia"};
    snprintf(gpu->source, sizeof gpu->source, "nvml");
    gpu->util_permille = reading_ok(781);
    gpu->mem_util_permille = reading_ok(450);
    gpu->mem_total_bytes = reading_ok(24 * GIB_BYTES);
    gpu->mem_used_bytes = reading_ok(18000 * MIB_BYTES);
    gpu->mem_free_bytes = reading_ok(24 * GIB_BYTES - 18000 * MIB_BYTES - 400 * MIB_BYTES);
    gpu->mem_reserved_bytes = reading_ok(400 * MIB_BYTES);
    gpu->temp_mdegc = reading_ok(71000);
    gpu->temp_limit_mdegc = reading_ok(90000);
    gpu->power_mw = reading_ok(280100);
    gpu->power_limit_mw = reading_ok(450000);
    gpu->fan_permille = reading_ok(620);
    gpu->pstate = reading_ok(2);
    gpu->clock_graphics_khz = reading_ok(2520000);
    gpu->clock_memory_khz = reading_ok(10501000);
    gpu->throttle_bits = reading_ok(THROTTLE_POWER_CAP | THROTTLE_SW_THERMAL);
    gpu->encoder_permille = reading_ok(0);
    gpu->pcie_rx_bytes_per_s = reading_absent(READING_PENDING);
    gpu_mark_absent(gpu, GROUP_FAST, READING_UNSUPPORTED);
    gpu->processes_state = READING_OK;

    struct process *p = gpu_add_process(gpu, 4242);
    p->type = PROCESS_COMPUTE;
    snprintf(p->name, sizeof p->name, "python3");
    snprintf(p->user, sizeof p->user, "alice");
    snprintf(p->command, sizeof p->command, "python3 train.py --model llama --token=***");
    snprintf(p->title, sizeof p->title, "train.py");
    snprintf(p->model, sizeof p->model, "llama");
    p->started_at = (struct wall){1700000000000};
    p->mem_bytes = reading_ok(17000 * MIB_BYTES);
    p->util_permille = reading_ok(750);
    p->power_mw = reading_ok(269000);
    p->power_basis = POWER_BASIS_UTILIZATION;
    p->cpu_permille = reading_absent(READING_PENDING);
    p->host_mem_bytes = reading_ok(9 * GIB_BYTES);

    p = gpu_add_process(gpu, 1203);
    p->type = PROCESS_GRAPHICS;
    snprintf(p->name, sizeof p->name, "Xorg");
    snprintf(p->user, sizeof p->user, "root");
    p->mem_bytes = reading_ok(312 * MIB_BYTES);
    p->util_permille = reading_ok(0);
}

static inline void sample_instances(struct gpu *gpu)
{
    gpu->index = 3;
    gpu->id = (struct gpu_id){.uuid = "GPU-44444444", .name = "NVIDIA H100", .vendor = "nvidia"};
    gpu->simulated = true;
    gpu->processes_state = READING_DENIED;
    gpu->mem_used_bytes = reading_ok(1 * GIB_BYTES);
    struct gpu *instance = gpu_add_instance(gpu);
    snprintf(instance->id.uuid, sizeof instance->id.uuid, "MIG-77");
    snprintf(instance->profile, sizeof instance->profile, "1g.10gb");
    instance->mem_used_bytes = reading_ok(512 * MIB_BYTES);
}

static inline struct snapshot *sample_machine(void)
{
    struct snapshot *s = snapshot_new(4);
    assert_non_null(s);
    s->taken_at = (struct wall){1794704523456}; /* 2026-11-15T01:02:03.456Z */
    snprintf(s->host.name, sizeof s->host.name, "box");
    s->host.mem_total_bytes = reading_ok(64 * GIB_BYTES);
    s->host.mem_available_bytes = reading_ok(48 * GIB_BYTES);
    s->host.cpu_permille = reading_absent(READING_PENDING);
    s->source_count = 2;
    s->sources[0] = (struct source_status){
        .name = "nvml", .names_driver = true, .state = SOURCE_OK, .gpu_count = 4, .errors_total = 3, .init_failures_total = 1};
    s->sources[1] = (struct source_status){.name = "amdgpu", .state = SOURCE_OFF, .message = "no AMD GPU in /sys/class/drm"};
    snprintf(s->driver.driver_version, sizeof s->driver.driver_version, "580.159.04");
    snprintf(s->driver.cuda_version, sizeof s->driver.cuda_version, "13.0");
    snprintf(s->driver.nvml_version, sizeof s->driver.nvml_version, "13.580.159.04");
    sample_busy(&s->gpus[0]);
    s->gpus[1].index = 1;
    snprintf(s->gpus[1].id.name, GPU_NAME_SIZE, "AMD Radeon RX 7900 XTX");
    snprintf(s->gpus[1].id.vendor, sizeof s->gpus[1].id.vendor, "amd");
    snprintf(s->gpus[1].source, SOURCE_NAME_SIZE, "amdgpu");
    gpu_mark_state(&s->gpus[1], GPU_ASLEEP, "");
    s->gpus[2].index = 2;
    snprintf(s->gpus[2].id.name, GPU_NAME_SIZE, "NVIDIA A10");
    snprintf(s->gpus[2].id.vendor, sizeof s->gpus[2].id.vendor, "nvidia");
    gpu_mark_state(&s->gpus[2], GPU_LOST, "GPU is lost");
    sample_instances(&s->gpus[3]);
    return s;
}

/* Runs one of the body functions and parses its text with a strict reader. */
#define SAMPLE_JSON(root, call)                                              \
    AUTO_BUF struct buf root##_text = BUF(JSON_BODY_MAX);                    \
    struct json_writer root##_writer = JSON_WRITER(&root##_text);            \
    struct json_writer *j = &root##_writer;                                  \
    call;                                                                    \
    assert_false(root##_text.failed);                                        \
    json_t *root = json_loads(root##_text.at, JSON_REJECT_DUPLICATES, NULL); \
    assert_non_null(root)
