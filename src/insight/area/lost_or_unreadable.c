/* SPDX-License-Identifier: Apache-2.0
 * Rules for a GPU that is not there or doesn't work: lost, in error, closed to us, or lost and back; and other devices that are
 * missing.
 */
#include "insight/area/area.h"
#include "model/finding_code.h"

static bool any_is_read(const struct snapshot *now)
{
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].state == GPU_OK || now->gpus[i].state == GPU_ASLEEP)
            return true;
    return false;
}

void rules_state(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    finding_code code = gpu->released              ? FINDING_SOURCE_RELEASED
                        : gpu_is_denied(gpu)       ? FINDING_NO_PERMISSION
                        : gpu->state == GPU_ASLEEP ? FINDING_ASLEEP
                        : gpu->state == GPU_LOST   ? FINDING_LOST
                                                   : FINDING_ERROR;
    struct cause_draft d;
    if (code == FINDING_ASLEEP) {
        rule_asleep(f, part);
        return;
    }
    cause_begin(&d, part, code);
    support(&d, 0.97, "%s",
            code == FINDING_SOURCE_RELEASED ? "whirr was asked to leave its driver alone"
            : code == FINDING_NO_PERMISSION ? "its device files don't allow it"
            : code == FINDING_LOST          ? "the GPU does not respond anymore"
                                            : "no reading is available");
    if (gpu->error_message[0])
        support(&d, 0, "driver: %s", gpu->error_message);
    if (code == FINDING_NO_PERMISSION && any_is_read(f->now)) /* the others are those of this job or container */
        d.cause.severity = SEVERITY_INFO;
    if (code == FINDING_ERROR && !snapshot_source_started(f->now, gpu)) /* no reset brings back a driver that is not there */
        d.cause.advice = ADVICE_DOCTOR;
    if (code == FINDING_LOST && gpu->unlisted)
        d.cause.advice = remedy_row(REMEDY_FIND_OR_FORGET)->text;
    if (code == FINDING_SOURCE_RELEASED)
        cause_end(&d, " %s released on request: whirr %s its driver alone until the time is over", is(f),
                  f->over ? "left" : "leaves");
    else if (code == FINDING_LOST)
        cause_end(&d, " %s lost", is(f));
    else
        cause_end(&d, " %s be read%s", cannot(f), code == FINDING_NO_PERMISSION ? " without permission" : "");
}

/* A GPU that was lost and came back is not trusted for a day. */
void find_returned(const struct gpu *gpu, struct wall first, struct wall last, struct collection *c)
{
    enum { DAY_MS = 86400000 };
    char ago[SHORT_WORDS];
    int64_t passed = c->now->taken_at.ms - last.ms;
    struct finding *found = passed <= DAY_MS ? collect(c, gpu, FINDING_LOST, SEVERITY_WARNING, 0.95, 0,
                                                       ": it was lost %s ago and came back", words_duration(passed, ago))
                                             : NULL;
    if (!found)
        return;
    found->tense = TENSE_WAS;
    found->since = first;
    found->until = last;
    found->advice = "Watch it: if it happens again, check the power cables, the slot and the GPU's temperature.";
}

/* Others than GPUs are judged by nothing but whether they are there. */
void rule_accelerators(const struct snapshot *now, struct why_part *part)
{
    struct cause_draft d;
    const struct gpu *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < now->accelerator_count; i++) {
        const struct gpu *one = &now->accelerators[i];
        if (one->state == GPU_OK || one->state == GPU_ASLEEP || one->released)
            continue;
        if (!count++) {
            first = one;
            cause_begin(&d, part, FINDING_ACCELERATOR_LOST);
        }
        support(&d, count == 1 ? 0.97 : 0, "%s %s: %s", one->id.name, gpu_id_key(&one->id), one->error_message);
    }
    if (count == 1)
        cause_end(&d, "The %s is missing or can't be read: %s", first->id.name, first->error_message);
    else if (count)
        cause_end(&d, "%zu NPUs or accelerators are missing or can't be read", count);
}
