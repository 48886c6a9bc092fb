/* SPDX-License-Identifier: Apache-2.0
 * An explanation narrowed down to some GPUs: those of one job, or one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insight/view/answer.h"
#include "model/job.h"

static bool is_of_job(const struct gpu *gpu, const void *id)
{
    char own[PROCESS_CONTAINER_NAME_SIZE];
    for (size_t i = 0; i < gpu->process_count; i++) {
        process_job_id(&gpu->processes[i], own, sizeof own);
        if (strcmp(own, id) == 0)
            return true;
    }
    return false;
}

static void keep_findings(struct verdict *v, const struct snapshot *part)
{
    size_t kept = 0, looked = 0;
    for (size_t i = 0; i < v->count; i++)
        for (size_t g = 0; g < part->gpu_count; g++)
            if (v->findings[i].gpu_index == part->gpus[g].index) {
                v->findings[kept++] = v->findings[i];
                break;
            }
    for (size_t i = 0; i < v->gpu_count; i++)
        for (size_t g = 0; g < part->gpu_count; g++)
            if (v->gpus[i].gpu_index == part->gpus[g].index) {
                v->gpus[looked++] = v->gpus[i];
                break;
            }
    v->count = kept;
    v->gpu_count = looked;
}

static bool is_at(const struct gpu *gpu, const void *index)
{
    return gpu->index == *(const int *)index;
}

static int narrow(const struct snapshot *now, const struct why *why, bool (*belongs)(const struct gpu *gpu, const void *to),
                  const void *to, const struct snapshot **ret_now, struct why **ret)
{
    size_t kept = 0;
    struct snapshot *part = snapshot_copy(now);
    struct why *own = calloc(1, sizeof *own + why->gpu_count * sizeof own->gpus[0]);
    int rc = part && own ? 0 : -ENOMEM;
    if (rc == 0) {
        memcpy(own, why, sizeof *own);
        own->verdict = verdict_copy(why->verdict);
        rc = own->verdict ? 0 : -ENOMEM;
    }
    for (size_t i = 0; rc == 0 && i < part->gpu_count; i++) {
        if (i >= why->gpu_count || !belongs(&part->gpus[i], to)) {
            gpu_done(&part->gpus[i]);
            continue;
        }
        own->gpus[kept] = why->gpus[i];
        part->gpus[kept++] = part->gpus[i];
    }
    if (rc == 0) {
        part->gpu_count = own->gpu_count = kept;
        rc = kept ? 0 : -ENOENT;
    }
    if (rc < 0) {
        snapshot_unref(part);
        why_free(own);
        return rc;
    }
    keep_findings(own->verdict, part);
    if (part->verdict)
        keep_findings(part->verdict, part);
    own->machine = (struct why_part){.gpu_index = -1};
    answer_host(part, own, false);
    *ret_now = part;
    *ret = own;
    return 0;
}

int why_of_job(const struct snapshot *now, const struct why *why, const char *id, const struct snapshot **ret_now, struct why **ret)
{
    return narrow(now, why, is_of_job, id, ret_now, ret);
}

int why_of_gpu(const struct snapshot *now, const struct why *why, int index, const struct snapshot **ret_now, struct why **ret)
{
    return narrow(now, why, is_at, &index, ret_now, ret);
}
