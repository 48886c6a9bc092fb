/* SPDX-License-Identifier: Apache-2.0
 * Resumes of the host as a part of the daemon: settings that the drivers lost (limits, clocks, fan modes) become an event and a log
 * line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/words.h"
#include "daemon/part.h"
#include "insight/view/why.h"

/* Programs that set fans and limits act within seconds of a resume: later differences are permanent. */
enum { SETTLED_MS = 15000 };

struct resume_part {
    struct store_service *store;
    const struct snapshot *last, *before; /* before: from before the suspend, until compared */
    struct mono compare_at;
    int64_t suspended_ms;
};

static void resume_part_compare(struct resume_part *p, const struct snapshot *s)
{
    char list[WHY_LINE_SIZE], duration[WORDS_SIZE], text[WHY_LINE_SIZE + 96];
    const char *lasted = words_duration(p->suspended_ms, duration), *changes = list;
    log_info("host resumed", LOG_TEXT("suspended_for", lasted));
    for (size_t i = 0; i < s->gpu_count && i < p->before->gpu_count; i++) {
        struct recent_settings settings;
        recent_settings_of(&p->before->gpus[i], &settings);
        if (s->gpus[i].state != GPU_OK || !resume_changes(&settings, &s->gpus[i], list, sizeof list))
            continue;
        snprintf(text, sizeof text, "GPU %d has other settings since the host resumed: %s", s->gpus[i].index, changes);
        log_warn("GPU has other settings since the host resumed", LOG_INT("gpu", s->gpus[i].index), LOG_TEXT("changes", changes));
        if (p->store)
            store_service_event(
                p->store,
                &(struct store_event){
                    .at = s->taken_at, .gpu_index = s->gpus[i].index, .kind = "resume", .severity = "warning", .text = text});
    }
}

static void resume_part_sampled(void *part, const struct snapshot *s)
{
    struct resume_part *p = part;
    if (s->suspended_ms && p->last) {
        if (!p->before)
            p->before = snapshot_ref(p->last);
        p->suspended_ms = s->suspended_ms;
        p->compare_at = (struct mono){s->taken.ns + SETTLED_MS * (int64_t)NS_PER_MS};
    }
    if (p->before && s->taken.ns >= p->compare_at.ns) {
        resume_part_compare(p, s);
        snapshot_unref(TAKE(p->before));
    }
    snapshot_unref(p->last);
    p->last = snapshot_ref(s);
}

static void *open_resume(const struct part_host *host, struct error *err)
{
    (void)err;
    struct resume_part *p = calloc(1, sizeof *p);
    if (p)
        p->store = host->store;
    return p;
}

static void close_resume(void *part)
{
    struct resume_part *p = part;
    if (!p)
        return;
    snapshot_unref(p->last);
    snapshot_unref(p->before);
    free(p);
}

const struct part_ops resume_part_ops = {
    .name = "resume", .open = open_resume, .sampled = resume_part_sampled, .close = close_resume};
