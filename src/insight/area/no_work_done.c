/* SPDX-License-Identifier: Apache-2.0
 * Utilization that other readings contradict: it only says that some kernel or copy was there.
 */
#include <stdio.h>
#include <string.h>

#include "insight/area/area.h"
#include "insight/area/ranks.h"
#include "model/finding_code.h"

enum { BUSY_FROM = 900, WORK_MAX = 30, PIPES_MAX = 50, LASTING_MS = 60000 };

static void detect_waiting(const struct facts *f, struct collection *c, int64_t util, int64_t active)
{
    const struct gpu *gpu = f->gpu;
    if (active > WORK_MAX || reading_or(gpu->dram_active_permille, 0) > PIPES_MAX)
        return;
    int64_t graphics = reading_or(gpu->graphics_active_permille, 1000);
    const struct job_wait *wait = job_waits_of(f->waits, gpu, false);
    char what[JOB_GPU_WORDS + 32], target[JOB_GPU_WORDS];
    snprintf(what, sizeof what, "%s%s",
             wait                   ? "waiting for "
             : graphics <= WORK_MAX ? "only with copies"
                                    : "waiting inside a kernel",
             wait ? job_wait_target(wait, target) : "");
    int32_t pid = f->workers.count == 1 && f->workers.first ? f->workers.first->pid : 0;
    /* Once for the job is enough. */
    collect(c, gpu, FINDING_NO_WORK_DONE, wait ? SEVERITY_INFO : SEVERITY_NOTICE, 0.9, pid,
            " %s busy %lld%% of the time, but %s: %lld%% at work", is(f), percent(util), what, percent(active));
}

bool is_stuck_busy(const struct facts *f)
{
    return busy_without_engines(f->gpu) && f->past.steady_ms >= LASTING_MS;
}

/* Reported of RDNA 3 and later with several queues of ROCm: a program that said so is not advised the same again. */
static bool queues_are_few(const struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].variables & VARIABLE_FEW_QUEUES)
            return true;
    return false;
}

static void detect_no_work(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t util, active;
    if (!reading_get(gpu->util_permille, &util) || util < BUSY_FROM || f->video_permille >= VIDEO_LEAST)
        return;
    if (reading_get(gpu->sm_active_permille, &active)) {
        if (!counters_lag(gpu))
            detect_waiting(f, c, util, active);
        return;
    }
    if (is_stuck_busy(f)) {
        struct finding *found = collect(c, gpu, FINDING_NO_WORK_DONE, SEVERITY_NOTICE, 0.7, 0,
                                        " %s that it %s busy %lld%% of the time, but the engine time of its programs %s still",
                                        f->over ? "said" : "says", is(f), percent(util), f->over ? "stood" : "stands");
        if (found && strcmp(gpu->id.vendor, "amd") == 0)
            found->advice = remedy_row(queues_are_few(gpu) ? REMEDY_GPU_FIRMWARE : REMEDY_ONE_QUEUE)->text;
        return;
    }
    /* Power is averaged by many drivers: it must have had time to follow. */
    if (!power_contradicts_load(gpu) || f->past.steady_ms < LASTING_MS)
        return;
    int32_t pid = f->workers.count == 1 && f->workers.first ? f->workers.first->pid : 0;
    collect(c, gpu, FINDING_NO_WORK_DONE, SEVERITY_NOTICE, 0.7, pid, " %s busy %lld%% of the time, but %s only %lld W", is(f),
            percent(util), f->over ? "drew" : "draws", words_whole(gpu->power_mw.value, 1000));
}

const struct area area_no_work = {.find = detect_no_work};
