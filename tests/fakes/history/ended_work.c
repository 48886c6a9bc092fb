/* SPDX-License-Identifier: Apache-2.0
 * ended_work FILE: a recording of two minutes, a sample a second. python3 works for the first of them, then it is gone and the GPU
 * cools down.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/record.h"
#include "model/snapshot.h"

enum { WORK_S = 60, ALL_S = 120 };

static struct snapshot *moment(int second)
{
    struct snapshot *s = snapshot_new(1);
    if (!s)
        exit(1);
    struct gpu *gpu = &s->gpus[0];
    bool works = second < WORK_S;
    s->taken_at.ms = 1794704523000 + second * (int64_t)MS_PER_S;
    s->interval_s = 1;
    s->groups = GROUP_ALL;
    snprintf(s->host.name, sizeof s->host.name, "box");
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    snprintf(gpu->id.name, sizeof gpu->id.name, "RTX 4090");
    snprintf(gpu->id.vendor, sizeof gpu->id.vendor, "nvidia");
    gpu->util_permille = reading_ok(works ? 980 : 0);
    gpu->power_mw = reading_ok(works ? 400000 : 35000);
    gpu->power_limit_mw = reading_ok(450000);
    gpu->temp_mdegc = reading_ok(works ? 76000 : 76000 - (second - WORK_S) * 200);
    gpu->temp_limit_mdegc = reading_ok(90000);
    gpu->fan_permille = reading_ok(works ? 660 : 660 - (second - WORK_S) * 3);
    gpu->processes_state = READING_OK;
    if (works) {
        struct process *p = gpu_add_process(gpu, 4242);
        p->type = PROCESS_COMPUTE;
        p->instance = -1;
        p->visible = true;
        p->start_key = 7;
        p->util_permille = reading_ok(970);
        p->mem_bytes = reading_ok((int64_t)18 << 30);
        snprintf(p->name, sizeof p->name, "python3");
    }
    return s;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct recorder *r = argc == 2 ? recorder_open(argv[1], &err) : NULL;
    if (!r)
        return fprintf(stderr, "usage: ended_work FILE\n%s\n", err.text), 1;
    for (int second = 0; second < ALL_S; second++) {
        struct snapshot *s = moment(second);
        if (recorder_add(r, s, &err) < 0)
            return fprintf(stderr, "%s\n", err.text), 1;
        snapshot_unref(s);
    }
    return recorder_close(r, &err) < 0;
}
