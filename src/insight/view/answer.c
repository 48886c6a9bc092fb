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
#include "model/finding_code.h"

/* ---- the line in a list, of the same words ---- */

/* "GPU 1 is cooling down: python3 ended 2m ago" is a state, and what is done. */
static void brief_cause(struct why_brief *b, const struct facts *f, const struct why_cause *cause)
{
    const char *is_so = strstr(cause->headline, is(f)), *rest = is_so ? is_so + strlen(is(f)) + 1 : "", *colon = strstr(rest, ": ");
    if (strspn(cause->headline + 4, "0123456789 ") + 4 != (size_t)(is_so - cause->headline))
        return; /* ": its fan has stopped" */
    struct text state = TEXT(b->state), doing = TEXT(b->doing);
    if (colon)
        text_append(&state, "%.*s", (int)(colon - rest), rest);
    text_append(&doing, "%s", colon ? colon + 2 : rest);
}

/* Numbers that differ between GPUs in the same state are apart from its words. */
static void answer_brief(const struct facts *f, struct why_part *part, bool by_cause)
{
    struct why_brief *b = &part->brief;
    struct text state = TEXT(b->state), numbers = TEXT(b->numbers), doing = TEXT(b->doing);
    bool calm = f->load == LOAD_IDLE && f->heat < HEAT_WARM && f->fan < FAN_RAISED;
    const struct why_cause *work = find_work_cause(part);
    const struct finding *first = verdict_first(f->verdict, part->gpu_index);
    unsigned said = SAID_POWER | (f->fan >= FAN_RAISED && f->load == LOAD_IDLE ? SAID_LOAD : SAID_FAN);
    if (by_cause)
        brief_cause(b, f, &part->causes[0]);
    if (!b->state[0] && first && first->severity >= SEVERITY_WARNING && finding_kind(first->code)->area == AREA_FAN) {
        for (const char *c = finding_code_name(first->code); *c;
             c++) /* "fan stopped": what it brings about, heat, is not the state */
            text_append(&state, "%c", *c == '_' ? ' ' : *c);
        said = SAID_POWER | SAID_FAN;
    } else if (is_troubled(f) && f->load != LOAD_IDLE && !b->state[0]) {
        text_append(&state, f->activity.throttled_by & THROTTLE_HOT ? "thermal throttling" : sounds_loud(f) ? "loud" : "hot");
        said = SAID_POWER | (sounds_loud(f) ? 0 : SAID_FAN);
    } else if (!b->state[0] && !b->doing[0]) {
        text_append(&state, "%s",
                    f->load == LOAD_IDLE && !is_troubled(f) ? "idle"
                    : words_activity(f)[0]                  ? words_activity(f)
                                                            : "unknown");
        if (strcmp(b->state, "unknown") == 0 && f->gpu->temp_mdegc.state != READING_OK && f->gpu->power_mw.state != READING_OK)
            text_append(&doing, "nothing can be read; whirr doctor shows why");
    }
    if (!b->doing[0] && work && (f->load != LOAD_IDLE || work->code == FINDING_VIDEO_LOAD))
        say_work(&doing, f, work);
    if (b->state[0] && !calm)
        say_readings(&numbers, f, part, said, "");
}

/* ---- whole answers ---- */

/* The answer begins with it. */
static bool is_named_first(const struct facts *f, const struct why_part *part, finding_code code)
{
    const struct finding *first = verdict_first(f->verdict, part->gpu_index);
    bool by_state = f->activity.throttled_by & THROTTLE_HOT && memory_is_hotter(f->gpu);
    return first && first->code == code && (by_state || !is_troubled(f));
}

/* A further sentence for a cause that is not the first. */
static bool say_also(struct text *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause)
{
    int64_t limit;
    finding_code first = part->causes[0].code;
    bool stopped = first == FINDING_FAN_STOPPED || first == FINDING_FAN_FAILING, wanted = false;
    switch (cause->code) {
    case FINDING_HEAT_LIMIT:
        if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_HOT)
            return stopped && text_append(s, " It %s thermal throttling.", is(f));
        if (reading_get(f->limit_mdegc, &limit) && limit > 0)
            return text_append(s, " It %s close to its temperature limit of %lld °C.", is(f), words_whole(limit, 1000));
        return text_append(s, " It %s %lld °C below its temperature limit.", is(f), words_whole(f->margin_mdegc, 1000));
    case FINDING_MEMORY_TRAFFIC: wanted = true; break;
    case FINDING_MEMORY_HOT:
    case FINDING_HOTSPOT: wanted = !is_named_first(f, part, cause->code); break;
    case FINDING_VRAM_HELD: wanted = first == FINDING_NOTHING_UNUSUAL; break;
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_MINING:
    case FINDING_SHARED_LOAD: wanted = stopped || first == FINDING_MEMORY_HOT || first == FINDING_HOTSPOT; break;
    default: break;
    }
    return wanted && text_append(s, " %s", cause->text);
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

/* The first finding in its own words, with the readings that these don't have. */
static void answer_cause(struct text *s, const struct facts *f, const struct why_part *part)
{
    const struct why_cause *first = &part->causes[0];
    const struct gpu *gpu = f->gpu;
    char name[SHORT_WORDS];
    text_append(s, "%s%s", words_gpu(gpu, true, name), first->headline + 4 + strspn(first->headline + 4, "0123456789"));
    if (gpu->unlisted)
        text_append(s, ": no driver %s it anymore", f->over ? "listed" : "lists");
    else if (gpu->state == GPU_LOST)
        text_append(s, ": the driver %s reach it anymore", cannot(f));
    if (gpu->state == GPU_OK) {
        text_stop(s);
        say_readings(s, f, part, f->load == LOAD_IDLE ? SAID_LOAD : 0, " ");
    } else if (gpu->state != GPU_ASLEEP && !gpu->released && gpu->error_message[0]) {
        text_append(s, snapshot_source_started(f->now, gpu) ? " (driver: %.160s)" : ": %.160s", gpu->error_message);
    }
    text_stop(s);
}

static void answer_state(const struct facts *f, struct why_part *part)
{
    struct text s = TEXT(part->answer), state = TEXT(part->brief.state), doing = TEXT(part->brief.doing);
    const struct gpu *gpu = f->gpu;
    answer_cause(&s, f, part);
    text_append(&state, "%s",
                gpu->state == GPU_ASLEEP ? "asleep"
                : gpu->released          ? "released on request"
                : gpu->state == GPU_LOST ? "lost"
                                         : "unreadable");
    if (gpu->state != GPU_ASLEEP && !gpu->released)
        text_append(&doing, "%.120s", gpu->error_message);
    finish_headline(part, part->severity >= SEVERITY_WARNING);
}

void answer_gpu(const struct facts *f, struct why_part *part)
{
    struct text s = TEXT(part->answer);
    if (f->gpu->state != GPU_OK) {
        answer_state(f, part);
        return;
    }
    const struct why_cause *first = &part->causes[0];
    char holders[HOLDER_WORDS];
    bool limited = f->activity.code != ACTIVITY_FAILING && answer_limit(&s, f, part), said = limited;
    /* Heat of a part that leads the list is said before the work. */
    bool part_is_hot = (first->code == FINDING_MEMORY_HOT || first->code == FINDING_HOTSPOT) &&
                       first->severity >= SEVERITY_WARNING && !is_troubled(f);
    for (const struct area *const *area = all_areas; !said && !part_is_hot && *area; area++)
        said = (*area)->say && (*area)->say(&s, f, part);
    if (!said)
        answer_cause(&s, f, part);
    text_stop(&s);
    for (size_t i = first->code == FINDING_HOTSPOT || first->code == FINDING_HEAT_LIMIT ? 0 : 1, more = 0;
         i < part->cause_count && more < 2; i++)
        more += say_also(&s, f, part, &part->causes[i]);
    if (has_symptom(f, SYMPTOM_MEMORY_FULL))
        text_append(&s, " Its memory %s full%s.", is(f), f->over ? "" : words_holders(f->gpu, holders));
    if (!limited)
        answer_brief(f, part, !said);
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
            found->severity == SEVERITY_CRITICAL && !found->is_effect) {
            part->remedy_root = found->code;
            remedy_add(part, remedy_with_text(advice_for(found)), "%s", advice_for(found));
        }
    }
    if (f && f->gpu->state == GPU_OK && !f->over)
        suggest_limits(f, part);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        const struct finding *found = f ? verdict_find(f->verdict, part->gpu_index, cause->code) : NULL;
        if (found && found->is_effect) /* the advice is its root's */
            continue;
        part->remedy_root = cause->code;
        if (!f || f->gpu->state != GPU_OK)
            remedy_machine(part, cause->code);
        else if (f && (i == 0 || cause->confidence >= CONFIDENCE_ANSWER || cause->code == FINDING_VRAM_HELD))
            for (const struct area *const *area = all_areas; *area; area++)
                if ((*area)->remedy)
                    (*area)->remedy(f, part, cause);
    }
    for (size_t i = 0; f && i < part->suggestion_count; i++) {
        struct remedy *r = &part->remedies[i];
        for (size_t k = 0; k < f->gpu->process_count && r->affects_count < REMEDY_AFFECTS_MAX; k++) {
            char who[PROCESS_WORDS];
            if (remedy_row(r->code)->kind == REMEDY_SETTING &&
                (f->gpu->processes[k].type & PROCESS_COMPUTE || f->load != LOAD_IDLE))
                str_copy(r->affects[r->affects_count++], REMEDY_NAME_SIZE,
                         str_from(process_words(&f->gpu->processes[k], WITH_OWNER, who)));
        }
    }
}

/* ---- what was changed ---- */

void answer_changed(const struct facts *f, struct why_part *part)
{
    static const finding_code codes[] = {FINDING_DRIVER_CHANGED, FINDING_PLACE_CHANGED, FINDING_SETTING_CHANGED};
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
