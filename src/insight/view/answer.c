/* SPDX-License-Identifier: Apache-2.0
 * The answer about one GPU: what it is (symptom before activity), who is doing what, its readings, each said once; then up to two
 * sentences for what also matters. The brief line of a GPU in a list is made of the same words.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/limit.h"
#include "insight/view/answer.h"

/* ---- the line in a list, of the same words ---- */

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
static void answer_brief(const struct facts *f, struct why_part *part)
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

/* ---- whole answers ---- */

/* The answer begins with it. */
static bool is_named_first(const struct facts *f, const struct why_part *part, enum finding_code code)
{
    const struct finding *first = verdict_first(f->verdict, part->gpu_index);
    bool by_state = f->activity.throttled_by & THROTTLE_HOT && memory_is_hotter(f->gpu);
    return first && first->code == code && (by_state || !is_troubled(f));
}

/* A further sentence for a cause that is not the first. */
static bool say_also(struct text *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause)
{
    const struct gpu *gpu = f->gpu;
    int64_t bits = reading_or(gpu->throttle_bits, 0), limit, busy;
    char who[PROCESS_WORDS], bytes[SHORT_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(gpu, cause->pid) : NULL;
    const char *its = f->over ? "was" : "is";
    bool stopped = part->causes[0].code == FINDING_FAN_STOPPED || part->causes[0].code == FINDING_FAN_FAILING;
    switch (cause->code) {
    case FINDING_HEAT_LIMIT:
        if (bits & THROTTLE_HOT)
            return stopped && text_append(s, " It %s thermal throttling.", its);
        if (reading_get(f->limit_mdegc, &limit) && limit > 0)
            return text_append(s, " It %s close to its temperature limit of %lld °C.", its, words_whole(limit, 1000));
        return text_append(s, " It %s %lld °C below its temperature limit.", its, words_whole(f->margin_mdegc, 1000));
    case FINDING_MEMORY_HOT:
        return !is_named_first(f, part, cause->code) &&
               text_append(s, " Its memory %s at %lld °C.", its, words_whole(gpu->temp_memory_mdegc.value, 1000));
    case FINDING_MEMORY_TRAFFIC:
        if (reading_get(gpu->mem_util_permille, &busy) && busy >= 800)
            return text_append(s, " Its memory %s busy %lld%% of the time.", its, percent(busy));
        return text_append(s, " %s", cause->text);
    case FINDING_HOTSPOT:
        return !is_named_first(f, part, cause->code) &&
               text_append(s, " Its hot spot %s at %lld °C.", its, words_whole(gpu->temp_hotspot_mdegc.value, 1000));
    case FINDING_VRAM_HELD:
        if (part->causes[0].code != FINDING_NOTHING_UNUSUAL || !p)
            return false;
        return text_append(s, " The %s that %s %s holding does not drive the fan.", words_bytes(p->mem_bytes.value, bytes),
                           process_words(p, LONG_NAME, who), its);
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_MINING:
    case FINDING_SHARED_LOAD:
        return stopped && p &&
               text_append(s, " The heat %s from %s.", f->over ? "came" : "comes", process_words(p, LONG_NAME, who));
    default: return false;
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

void answer_gpu(const struct facts *f, struct why_part *part)
{
    struct text s = TEXT(part->answer);
    if (f->gpu->state != GPU_OK) {
        say_gpu_state(&s, f, part);
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
    for (const struct area *const *area = all_areas; !limited && *area; area++)
        if ((*area)->say && (*area)->say(&s, f, part))
            break;
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

/* Concrete, safe, at most WHY_SUGGESTIONS_MAX lines, following the ranked causes. */
void suggest(const struct facts *f, struct why_part *part)
{
    for (size_t i = 0; f && f->verdict && i < f->verdict->count; i++) { /* what ruins work comes first */
        const struct finding *found = &f->verdict->findings[i];
        if (found->gpu_index == part->gpu_index && finding_kind(found->code)->area == AREA_ERRORS &&
            found->severity == SEVERITY_CRITICAL && !found->is_effect)
            suggest_add(part, "%s", advice_for(found));
    }
    if (f && f->gpu->state == GPU_OK && !f->over)
        suggest_limits(f, part);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        const struct finding *found = f ? verdict_find(f->verdict, part->gpu_index, cause->code) : NULL;
        if (found && found->is_effect) /* the advice is its root's */
            continue;
        if (!f || f->gpu->state != GPU_OK)
            remedy_machine(part, cause->code);
        else if (f && (i == 0 || cause->confidence >= CONFIDENCE_ANSWER || cause->code == FINDING_VRAM_HELD))
            for (const struct area *const *area = all_areas; *area; area++)
                if ((*area)->remedy)
                    (*area)->remedy(f, part, cause);
    }
}

/* ---- what was changed ---- */

void answer_changed(const struct facts *f, struct why_part *part)
{
    static const enum finding_code codes[] = {FINDING_DRIVER_CHANGED, FINDING_PLACE_CHANGED, FINDING_SETTING_CHANGED};
    struct text s = {part->answer, sizeof part->answer, strlen(part->answer)};
    for (size_t i = 0; i < ARRAY_LEN(codes) && part->answer[0]; i++) {
        const struct finding *found = verdict_find(f->verdict, part->gpu_index, codes[i]);
        const char *text = found ? strstr(found->headline, ": ") : NULL;
        if (text && found->severity == SEVERITY_INFO) /* what is more leads the answer */
            text_append(&s, " %c%s.", text[2] - 'a' + 'A', text + 3);
    }
}

/* ---- after a resume ----
 * Drivers forget limits, clocks and fan modes that a user had set. What is different from before the suspend is said, for a day. */

enum { SAID_FOR_MS = 86400000 };

static void resume_add_number(struct text *s, const char *what, struct reading before, struct reading now, int64_t unit,
                              const char *sign)
{
    int64_t was, is_now;
    if (reading_get(before, &was) && reading_get(now, &is_now) && words_whole(was, unit) != words_whole(is_now, unit))
        text_append(s, "%s%s %lld%s (before %lld%s)", s->len ? ", " : "", what, words_whole(is_now, unit), sign,
                    words_whole(was, unit), sign);
}

bool resume_changes(const struct recent_settings *before, const struct gpu *gpu, char *out, size_t size)
{
    struct text s = {out, size, 0};
    int64_t was, is_now;
    const char *fan = gpu->fan_control.state == READING_OK ? gpu->fan_control.value : "";
    out[0] = '\0';
    resume_add_number(&s, "power limit", before->power_limit_mw, gpu->power_limit_mw, 1000, " W");
    if (before->fan_control[0] && fan[0] && strcmp(before->fan_control, fan) != 0)
        text_append(&s, "%sfan control %s (before %s)", s.len ? ", " : "", fan, before->fan_control);
    resume_add_number(&s, "application clock", before->clock_app_graphics_khz, gpu->clock_app_graphics_khz, 1000, " MHz");
    resume_add_number(&s, "application memory clock", before->clock_app_memory_khz, gpu->clock_app_memory_khz, 1000, " MHz");
    resume_add_number(&s, "highest clock", before->clock_graphics_max_khz, gpu->clock_graphics_max_khz, 1000, " MHz");
    if (reading_get(before->persistence_mode, &was) && reading_get(gpu->persistence_mode, &is_now) && !was != !is_now)
        text_append(&s, "%spersistence mode %s (before %s)", s.len ? ", " : "", is_now ? "on" : "off", was ? "on" : "off");
    return s.len > 0;
}

void answer_resume(const struct facts *f, struct why_part *part)
{
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    char changes[WHY_LINE_SIZE], ago[SHORT_WORDS], text[WHY_LINE_SIZE + 64];
    size_t used = strlen(part->answer);
    if (f->over || !past || !past->resumed_at.ms || f->gpu->state != GPU_OK)
        return;
    int64_t since = f->now->taken_at.ms - past->resumed_at.ms;
    if (since < 0 || since > SAID_FOR_MS || !resume_changes(&past->before_suspend, f->gpu, changes, sizeof changes))
        return;
    snprintf(part->after_resume, sizeof part->after_resume, "%s", changes);
    snprintf(text, sizeof text, " Since the host resumed %s ago: %s.", words_duration(since, ago), changes);
    if (used + strlen(text) < sizeof part->answer)
        memcpy(part->answer + used, text, strlen(text) + 1);
}
