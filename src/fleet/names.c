/* SPDX-License-Identifier: Apache-2.0
 * Hosts that share a name: if two UUIDs have the same index, they belong to two hosts. If these are scraped at different addresses,
 * the address tells whose each GPU is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"

/* The GPUs of a host are adjacent, sorted by index. NULL: each index is unique. */
static const struct fleet_gpu *shared_index(const struct fleet_gpu *gpus, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (gpus[i].gpu[0] && gpus[i].up && gpus[i - 1].up && strcmp(gpus[i].gpu, gpus[i - 1].gpu) == 0)
            return &gpus[i];
    return NULL;
}

static void rename_to(char name[HOST_NAME_SIZE], const char *instance)
{
    char text[2 * HOST_NAME_SIZE + 8];
    snprintf(text, sizeof text, "%s (%s)", name, instance);
    str_copy(name, HOST_NAME_SIZE, str_from(text));
}

static void rename_processes(struct fleet *f, const char *host, const struct fleet_gpu *gpus, size_t count)
{
    for (size_t i = 0; i < f->process_count; i++) {
        struct fleet_process *p = &f->processes[i];
        for (size_t k = 0; strcmp(p->host, host) == 0 && k < count; k++)
            if (strcmp(p->uuid, gpus[k].uuid) == 0) {
                rename_to(p->host, gpus[k].instance);
                break;
            }
    }
}

static int report(struct fleet *f, const char *host, const char *text)
{
    struct fleet_note *n = fleet_note_of(f, host);
    if (n)
        fleet_note_add(n, "name_shared", EFFECT_HEALTHY, text);
    return n ? 0 : -ENOMEM;
}

static int distinguish(struct fleet *f, struct fleet_gpu *gpus, size_t count, const struct fleet_gpu *twice)
{
    char host[HOST_NAME_SIZE], text[2 * GPU_UUID_SIZE + 128];
    const struct fleet_gpu *other = twice - 1;
    bool apart = other->instance[0] && twice->instance[0] && strcmp(other->instance, twice->instance) != 0;
    str_copy(host, sizeof host, str_from(gpus->host));
    snprintf(text, sizeof text, "two hosts are called %s: GPU %s is %s and %s", host, twice->gpu, other->uuid, twice->uuid);
    if (!apart)
        return report(f, host, text);
    rename_processes(f, host, gpus, count);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (gpus[i].instance[0])
            rename_to(gpus[i].host, gpus[i].instance);
        rc = report(f, gpus[i].host, text);
    }
    return rc;
}

int fleet_distinguish_names(struct fleet *f)
{
    bool renamed = false;
    int rc = 0;
    for (size_t i = 0, end; i < f->gpu_count && rc == 0; i = end) {
        for (end = i + 1; end < f->gpu_count && strcmp(f->gpus[end].host, f->gpus[i].host) == 0; end++)
            ;
        const struct fleet_gpu *twice = shared_index(&f->gpus[i], end - i);
        if (!twice)
            continue;
        rc = distinguish(f, &f->gpus[i], end - i, twice);
        renamed = true;
    }
    return rc == 0 && renamed ? fleet_index(f) : rc;
}
