/* SPDX-License-Identifier: Apache-2.0
 * The line of a GPU in a list, made of the same words as its answer.
 */
#include <string.h>

#include "insight/view/answer.h"

static void brief_state(struct why_brief *b, const struct facts *f, const struct why_part *part, struct text *state)
{
    const struct why_cause *first = &part->causes[0];
    char who[PROCESS_WORDS], ago[SHORT_WORDS];
    struct text doing = TEXT(b->doing);
    switch (first->code) {
    case FINDING_RECENT_LOAD:
        text_append(state, "cooling down");
        if (f->past.ended)
            text_append(&doing, "%s ended %s %s", process_words(&f->past.ended->last, LONG_NAME, who),
                        words_duration(f->past.ended_ago_ms, ago), f->over ? "before" : "ago");
        return;
    case FINDING_CONTEXT_HELD:
    case FINDING_DISPLAY:
    case FINDING_CLOCKS_HELD: {
        struct text whole = TEXT(b->doing);
        say_kept(&whole, f, first);
        return;
    }
    case FINDING_FAN_STOPPED: text_append(state, "hot, fan stopped"); return;
    case FINDING_FAN_FAILING: text_append(state, "fan failing"); return;
    case FINDING_FAN_SETTING:
        text_append(state, "idle");
        text_append(&doing, "the fan follows a setting, not heat");
        return;
    case FINDING_LOADING:
        text_append(state, "loading");
        text_append(&doing, "%s %s filling its memory", process_words(f->loading, LONG_NAME, who), is(f));
        return;
    case FINDING_AIRFLOW:
        if (f->load == LOAD_IDLE)
            text_append(state, "%s while idle", f->heat >= HEAT_HOT ? "hot" : "warm");
        break;
    case FINDING_NEIGHBOUR_HEAT: text_append(state, "idle, warmed by a neighbor"); return;
    case FINDING_CPU_HEAT: text_append(state, "idle, warmed by the CPU"); return;
    default: break;
    }
    if (!state->len)
        text_append(state, "%s",
                    f->load == LOAD_IDLE && !is_troubled(f) ? "idle"
                    : words_activity(f)[0]                  ? words_activity(f)
                                                            : "unknown");
    if (strcmp(b->state, "unknown") == 0 && f->gpu->temp_mdegc.state != READING_OK && f->gpu->power_mw.state != READING_OK)
        text_append(&doing, "nothing can be read; whirr doctor shows why");
    const struct why_cause *work = find_work_cause(part);
    if (work && f->load != LOAD_IDLE)
        say_work(&doing, f, work);
    else if (work && work->code == FINDING_VIDEO_LOAD)
        say_work(&doing, f, work);
}

/* Numbers that differ between GPUs in the same state are apart from its words. */
void answer_brief(const struct facts *f, struct why_part *part)
{
    struct why_brief *b = &part->brief;
    struct text state = TEXT(b->state), numbers = TEXT(b->numbers);
    bool idle = f->load == LOAD_IDLE && f->heat < HEAT_WARM && f->fan < FAN_RAISED;
    bool fan = part->causes[0].code == FINDING_FAN_STOPPED || part->causes[0].code == FINDING_FAN_FAILING;
    if (is_troubled(f) && f->load != LOAD_IDLE && !fan) {
        text_append(&state, f->activity.throttled_by & THROTTLE_HOT ? "thermal throttling" : sounds_loud(f) ? "loud" : "hot");
        say_readings(&numbers, f, part, SAID_POWER | (sounds_loud(f) ? 0 : SAID_FAN), "");
        const struct why_cause *work = find_work_cause(part);
        struct text doing = TEXT(b->doing);
        if (work)
            say_work(&doing, f, work);
        return;
    }
    brief_state(b, f, part, &state);
    if (state.len && !idle)
        say_readings(&numbers, f, part, SAID_POWER | (f->fan >= FAN_RAISED && f->load == LOAD_IDLE ? SAID_LOAD : SAID_FAN), "");
}
