/* SPDX-License-Identifier: Apache-2.0
 * The answer about one GPU: what it is (symptom before activity), who is doing what, its readings, each said once; then up to two
 * sentences for what also matters. The brief line of a GPU in a list is made of the same words.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "insight/view/answer.h"

static void answer_state(struct text *s, const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    char name[SHORT_WORDS];
    struct text state = TEXT(part->brief.state), doing = TEXT(part->brief.doing);
    words_gpu(gpu, true, name);
    if (gpu->state == GPU_ASLEEP)
        text_append(s, "%s %s asleep: it needs no cooling, so the noise %s from something else", name, is(f),
                    f->over ? "came" : "comes");
    else if (gpu->released)
        text_append(s, "%s %s released on request: whirr %s its driver alone until the time is over", name, is(f),
                    f->over ? "left" : "leaves");
    else if (gpu->state == GPU_LOST)
        text_append(s, "%s %s lost: the driver %s reach it anymore", name, is(f), cannot(f));
    else
        text_append(s, "%s %s be read%s", name, cannot(f), gpu_is_denied(gpu) ? " without permission" : "");
    text_append(&state, "%s",
                gpu->state == GPU_ASLEEP ? "asleep"
                : gpu->released          ? "released on request"
                : gpu->state == GPU_LOST ? "lost"
                                         : "unreadable");
    if (gpu->state != GPU_ASLEEP && !gpu->released && gpu->error_message[0]) {
        text_append(s, snapshot_source_started(f->now, gpu) ? " (driver: %.160s)" : ": %.160s", gpu->error_message);
        text_append(&doing, "%.120s", gpu->error_message);
    }
}

/* Where no better one was made, the first sentence is the headline. */
static void finish_headline(struct why_part *part, bool trouble)
{
    struct why_brief *b = &part->brief;
    const char *end = strstr(part->answer, ". ");
    b->trouble = trouble;
    if (!trouble)
        b->headline[0] = '\0';
    else if (!b->headline[0])
        str_copy(b->headline, sizeof b->headline,
                 (struct str){part->answer, end ? (size_t)(end - part->answer) : strlen(part->answer) - 1});
}

static void say_failure(struct text *s, const struct facts *f, const char *name)
{
    enum gpu_failure failure = gpu_failure(f->gpu);
    if (failure == FAILURE_RESET || failure == FAILURE_REBOOT)
        text_append(s, "%s %s %s: the driver %s for it. ", name, f->over ? "needed" : "needs",
                    failure == FAILURE_RESET ? "a reset" : "a reboot of the host", f->over ? "asked" : "asks");
    else
        text_append(s, "%s %s failing memory. ", name, f->over ? "had" : "has");
}

static void answer_cause(struct text *s, const struct facts *f, struct why_part *part)
{
    switch (part->causes[0].code) {
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_VIDEO_LOAD:
    case FINDING_SHARED_LOAD:
    case FINDING_MINING:
    case FINDING_HIDDEN_LOAD:
    case FINDING_INSTANCE_LOAD:
    case FINDING_HEAT_LIMIT:
    case FINDING_HOTSPOT:
    case FINDING_POWER_LIMIT:
    case FINDING_MEMORY_TRAFFIC: answer_work(s, f, part); break;
    case FINDING_AIRFLOW:
        if (f->load == LOAD_IDLE)
            answer_airflow(s, f, part);
        else
            answer_work(s, f, part);
        break;
    default: answer_idle(s, f, part); break;
    }
}

void answer_gpu(const struct facts *f, struct why_part *part)
{
    struct text s = TEXT(part->answer);
    if (f->gpu->state != GPU_OK) {
        answer_state(&s, f, part);
        text_stop(&s);
        finish_headline(part, part->severity >= SEVERITY_WARNING);
        return;
    }
    const struct why_cause *first = &part->causes[0];
    bool broken = f->activity.code == ACTIVITY_FAILING;
    char name[SHORT_WORDS], holders[HOLDER_WORDS];
    if (broken)
        say_failure(&s, f, words_gpu(f->gpu, true, name));
    bool limited = !broken && answer_limit(&s, f, part);
    if (!limited)
        answer_cause(&s, f, part);
    text_stop(&s);
    for (size_t i = first->code == FINDING_HOTSPOT || first->code == FINDING_HEAT_LIMIT ? 0 : 1, more = 0;
         i < part->cause_count && more < 2; i++)
        more += say_also(&s, f, part, &part->causes[i]);
    if (has_symptom(f, SYMPTOM_MEMORY_FULL))
        text_append(&s, " Its memory %s full%s.", is(f), f->over ? "" : words_holders(f->gpu, holders));
    if (!limited)
        answer_brief(f, part);
    if (broken) {
        str_copy(part->brief.state, sizeof part->brief.state,
                 gpu_failure(f->gpu) == FAILURE_RESET    ? STR("needs a reset")
                 : gpu_failure(f->gpu) == FAILURE_REBOOT ? STR("needs a reboot of the host")
                                                         : STR("failing memory"));
        part->brief.headline[0] = '\0'; /* the first sentence */
    }
    finish_headline(part, part->severity >= SEVERITY_WARNING);
}

void answer_usual(struct why_part *part, bool over)
{
    const struct usual *u = &part->usual;
    char text[160] = "";
    size_t used = strlen(part->answer);
    if (u->too_hot)
        snprintf(text, sizeof text, " %lld °C %s usual %s%s.", words_whole(u->temp_mdegc.value, 1000), over ? "was" : "is",
                 words_at_power(u), u->fan_behind ? ", with a faster fan" : ": airflow or dust");
    else if (u->warm_room)
        snprintf(text, sizeof text, " %lld °C %s usual %s; all GPUs %s hotter than usual: a warm room or case.",
                 words_whole(u->temp_mdegc.value, 1000), over ? "was" : "is", words_at_power(u), over ? "were" : "are");
    else if (u->idle_excess && !over)
        snprintf(text, sizeof text, " %lld W is usual when idle.", words_whole(u->idle_power_mw.value, 1000));
    if (used + strlen(text) < sizeof part->answer)
        memcpy(part->answer + used, text, strlen(text) + 1);
}
