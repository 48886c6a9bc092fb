/* SPDX-License-Identifier: Apache-2.0
 * Critical driver errors are events; rules ask for the recent ones.
 */
#include "alert/alert_list.h"

static struct alert_xid *xid_of(struct alert_set *set, const struct gpu *gpu, bool make)
{
    for (size_t i = 0; i < set->xid_count; i++) {
        struct alert_xid *x = &set->xids[i];
        if (gpu->id.uuid[0] && x->uuid[0] ? strcmp(gpu->id.uuid, x->uuid) == 0 : x->index == gpu->index)
            return x;
    }
    if (!make || set->xid_count == GPU_MAX)
        return NULL;
    struct alert_xid *x = &set->xids[set->xid_count++];
    *x = (struct alert_xid){.index = gpu->index};
    str_copy(x->uuid, sizeof x->uuid, str_from(gpu->id.uuid));
    return x;
}

void alert_xids_follow(struct alert_set *set, const struct snapshot *now, struct alert_facts *facts)
{
    for (size_t i = 0; i < now->event_count; i++) {
        const struct event *e = &now->events[i];
        for (size_t k = 0; e->kind == EVENT_XID && k < now->gpu_count; k++) {
            struct alert_xid *x = now->gpus[k].index == e->gpu_index ? xid_of(set, &now->gpus[k], true) : NULL;
            if (!x)
                continue;
            x->code = e->code;
            x->at = e->at.ms ? e->at : now->taken_at;
            set->changed = true;
        }
    }
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu *g = &now->gpus[i];
        if (g->index < 0 || g->index >= GPU_MAX || facts->gpus[g->index].xid.state == READING_OK)
            continue;
        const struct alert_xid *x = xid_of(set, g, false);
        facts->gpus[g->index].xid = reading_ok(x && now->taken_at.ms - x->at.ms < ALERT_XID_MS ? x->code : 0);
    }
}
