/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the host.
 */
#include "insight/view/why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/limit.h"
#include "insight/area/ranks.h"
#include "insight/verdict/graph.h"
#include "model/finding_code.h"
#include "model/job.h"

/* ---- the answer about one GPU: what it is (symptom before activity), who is doing what, its readings, each said once; then up to
 * two sentences for what also matters. The brief line of a GPU in a list is made of the same words. ---- */

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

static void answer_gpu(const struct facts *f, struct why_part *part)
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

/* a sentence more where something is unusual */
static void answer_usual(struct why_part *part, bool over)
{
    const struct usual *u = &part->usual;
    struct text s = {part->answer, sizeof part->answer, strlen(part->answer)};
    if (u->too_hot)
        text_append(&s, " %lld °C %s usual %s%s.", words_whole(u->temp_mdegc.value, 1000), over ? "was" : "is", words_at_power(u),
                    u->fan_behind ? ", with a faster fan" : ": airflow or dust");
    else if (u->warm_room)
        text_append(&s, " %lld °C %s usual %s; all GPUs %s hotter than usual: a warm room or case.",
                    words_whole(u->temp_mdegc.value, 1000), over ? "was" : "is", words_at_power(u), over ? "were" : "are");
    else if (u->idle_excess && !over)
        text_append(&s, " %lld W is usual when idle.", words_whole(u->idle_power_mw.value, 1000));
}

/* Concrete, safe, at most WHY_SUGGESTIONS_MAX lines, following the ranked causes. */
static void suggest(const struct facts *f, struct why_part *part)
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
            remedy_host(part, cause->code);
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

/* a driver, a setting that is new; no trouble */
static void answer_changed(const struct facts *f, struct why_part *part)
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

/* what a suspend has changed */
static void answer_resume(const struct facts *f, struct why_part *part)
{
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    char changes[WHY_LINE_SIZE], ago[SHORT_WORDS];
    struct text s = {part->answer, sizeof part->answer, strlen(part->answer)};
    if (f->over || !past || !past->resumed_at.ms || f->gpu->state != GPU_OK)
        return;
    int64_t since = f->now->taken_at.ms - past->resumed_at.ms;
    if (since < 0 || since > SAID_FOR_MS || !resume_changes(&past->before_suspend, f->gpu, changes, sizeof changes))
        return;
    snprintf(part->after_resume, sizeof part->after_resume, "%s", changes);
    text_append(&s, " Since the host resumed %s ago: %s.", words_duration(since, ago), changes);
}

/* ---- findings that are no cause of what a person hears or feels, and matter all the same: errors, links, clocks, memory that runs
 * out. Each becomes a sentence of the answer and, where it is a root, advice. The causes are the findings of the GPU in their
 * order, with the evidence that the rules weighed. */

enum { SENTENCES_MAX = 2 };

/* What can't be told of an effect without a root: what is left, and not ruled out. */
static const struct {
    finding_code code;
    const char *left;
} unexplained[] = {
    {FINDING_CLOCKS_LOW,
     "can't tell why: fixed clocks, a weak power supply or battery, and a driver that stays in an idle state are not ruled out"},
    {FINDING_SLOWDOWN, "can't tell why: the power supply, its cables and the board's own sensors are not ruled out"},
    {FINDING_HOTSPOT, "can't tell why: the contact of the cooler, dried paste and a tilted mount are not ruled out"},
    {FINDING_STRAGGLER, "can't tell why: its data, its CPU and its network are not ruled out"},
};

/* A cause of which the rules have no evidence: its sentence is the headline. */
static void cause_from(struct why_cause *cause, const struct finding *f)
{
    *cause = (struct why_cause){.code = f->code, .pid = f->pid};
    finding_sentence(f, cause->text, sizeof cause->text);
    snprintf(cause->evidence[cause->evidence_count++], WHY_LINE_SIZE, "%s", finding_kind(f->code)->title);
}

/* The causes of a GPU in the order of the graph: what brings a finding about stands before it. */
struct cause_view {
    const struct facts *f;
    const struct why_part *part;
    size_t count;
    struct why_cause causes[WHY_CAUSES_MAX];
};

static bool is_in_view(const struct cause_view *v, finding_code code)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->causes[i].code == code)
            return true;
    return false;
}

static void view_add(struct cause_view *v, const struct finding *found)
{
    const struct why_cause *known = find_cause(v->part, found->code);
    if (v->count == WHY_CAUSES_MAX || is_in_view(v, found->code))
        return;
    struct why_cause *cause = &v->causes[v->count++];
    if (known)
        *cause = *known;
    else
        cause_from(cause, found);
    cause->confidence = found->confidence;
}

/* What may have brought it about, the most likely first; NULL: none that is not in view yet. */
static const struct finding *next_cause(const struct cause_view *v, const struct finding *effect)
{
    const struct verdict *all = v->f->verdict;
    const struct finding *best = NULL;
    double most = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct finding *cause = &all->findings[i];
        double weight = graph_weight(v->f->gpu, cause->code, effect->code);
        double sure = weight > 0 ? cause->confidence + (cause->code == effect->root && effect->is_effect) : 0;
        if (cause->gpu_index == effect->gpu_index && sure > most && !is_in_view(v, cause->code)) {
            most = sure;
            best = cause;
        }
    }
    return best;
}

static void view_chain(struct cause_view *v, const struct finding *found)
{
    enum { CHAIN_MAX = 3 };
    size_t before = v->count;
    for (const struct finding *cause; v->count < WHY_CAUSES_MAX && (cause = next_cause(v, found));) {
        const struct finding *root = cause;
        for (int i = 0; i < CHAIN_MAX && next_cause(v, root); i++)
            root = next_cause(v, root);
        view_add(v, root);
    }
    bool explained = v->count > before || found->is_effect, drafted = find_cause(v->part, found->code) || advice_for(found);
    const struct finding *blind = verdict_find(v->f->verdict, found->gpu_index, FINDING_CANNOT_KNOW);
    if (!explained && !drafted && blind)
        view_add(v, blind);
    if (drafted || v->count == before) /* what a person notices is no cause of itself */
        view_add(v, found);
    for (size_t i = 0; i < ARRAY_LEN(unexplained) && !explained; i++)
        if (unexplained[i].code == found->code && v->count && v->causes[v->count - 1].code == found->code &&
            v->causes[v->count - 1].evidence_count < WHY_EVIDENCE_MAX)
            snprintf(v->causes[v->count - 1].evidence[v->causes[v->count - 1].evidence_count++], WHY_LINE_SIZE, "%s",
                     unexplained[i].left);
}

/* Trouble in its order; what is none stays in that of the rules. */
static void view_causes(const struct facts *f, struct why_part *part)
{
    struct cause_view *v = calloc(1, sizeof *v);
    if (!v)
        return;
    v->f = f;
    v->part = part;
    for (size_t i = 0; i < f->verdict->count; i++)
        if (f->verdict->findings[i].gpu_index == part->gpu_index && f->verdict->findings[i].severity > SEVERITY_INFO)
            view_chain(v, &f->verdict->findings[i]);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct finding *found = verdict_find(f->verdict, part->gpu_index, part->causes[i].code);
        if (found)
            view_add(v, found);
    }
    if (v->count) {
        memcpy(part->causes, v->causes, v->count * sizeof v->causes[0]);
        part->cause_count = v->count;
    }
    free(v);
}

/* What the answer says already, or what has no advice and does not lead. */
static bool is_said_already(const struct why_part *part, const struct finding *found, bool leads)
{
    return (found->tense == TENSE_NOW && find_cause(part, found->code)) || (!advice_for(found) && !leads) ||
           strstr(part->answer, found->headline);
}

/* How much of the text are sentences that fit into so many bytes; all of it where not even one does. */
static size_t whole_sentences(const char *text, size_t most)
{
    size_t len = strlen(text), end = 0;
    if (len <= most)
        return len;
    for (size_t i = 0; i + 1 < most; i++)
        if (text[i] == '.' && text[i + 1] == ' ')
            end = i + 1;
    return end ? end : most;
}

/* The first finding leads; the others follow. */
static void add_sentence(struct why_part *part, const struct gpu *gpu, const char *headline, bool leads)
{
    const char *simulated = gpu->simulated ? "Simulated " : "";
    char before[WHY_ANSWER_SIZE];
    str_copy(before, sizeof before, str_from(part->answer));
    if (leads)
        snprintf(part->answer, sizeof part->answer, "%s%s.%s%.*s", simulated, headline, before[0] ? " " : "",
                 (int)whole_sentences(before, sizeof part->answer - strlen(simulated) - strlen(headline) - 3), before);
    else if (strlen(before) + strlen(headline) + 3 < sizeof part->answer)
        snprintf(part->answer, sizeof part->answer, "%s %s.", before, headline);
}

/* Two roots are two answers, as far as there is room. */
static void join_headline(struct why_part *part, const struct finding *found)
{
    struct why_brief *b = &part->brief;
    size_t len = strlen(b->headline);
    char who[16];
    int skip = snprintf(who, sizeof who, "GPU %d: ", part->gpu_index);
    const char *text = strncmp(found->headline, who, (size_t)skip) == 0 ? found->headline + skip : found->headline;
    if (len && len + strlen(text) + 3 < sizeof b->headline)
        snprintf(b->headline + len, sizeof b->headline - len, "; %s", text);
}

/* Faults that no cause of the explanation is about, as sentences, causes and advice. */
static void answer_findings(const struct facts *f, struct why_part *part)
{
    const struct verdict *v = f->verdict;
    const struct finding *first = verdict_first(v, part->gpu_index);
    size_t said = 0, added = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct finding *found = &v->findings[i];
        if (found->gpu_index != part->gpu_index || found->severity <= SEVERITY_INFO || is_said_already(part, found, found == first))
            continue;
        bool leads = found == first;
        if (said < SENTENCES_MAX) {
            add_sentence(part, f->gpu, found->headline, leads);
            said++;
        }
        if (leads && found->severity >= SEVERITY_WARNING)
            str_copy(part->brief.headline, sizeof part->brief.headline, str_from(found->headline));
        else if (!found->is_effect && found->severity >= SEVERITY_WARNING)
            join_headline(part, found);
        if (!found->is_effect && advice_for(found)) {
            part->remedy_root = found->code;
            remedy_insert(part, added++, remedy_with_text(advice_for(found)), advice_for(found));
        }
    }
    view_causes(f, part);
}

/* ---- calm, likelihood, severity ---- */

const char *why_calm(const struct snapshot *s, const struct verdict *v, int only)
{
    bool calm = true, trouble = s->gpu_count == 0;
    for (size_t i = 0; v && i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        trouble |= f->severity > SEVERITY_INFO && !f->muted && (only == ALL_GPUS || f->gpu_index == s->gpus[only].index);
    }
    for (size_t i = 0; i < s->gpu_count; i++)
        if ((only == ALL_GPUS || only == (int)i) && s->gpus[i].state == GPU_OK)
            calm &= verdict_is_calm(v, s->gpus[i].index);
    return trouble ? "" : calm_words(calm);
}

const char *why_likelihood(const struct why_cause *cause)
{
    double c = cause->confidence;
    if (cause->code == FINDING_CANNOT_KNOW || c < CONFIDENCE_ANSWER)
        return "can't tell";
    return c >= 0.85 ? "very likely" : c >= 0.6 ? "likely" : "possible";
}

enum severity why_severity(const struct why *why)
{
    const struct finding *first = verdict_main(why->verdict);
    return first ? first->severity : SEVERITY_INFO;
}

/* ---- the host: the GPU that matters most, and a word on the others ---- */

/* "GPU 1 is ..." */
static const char *state_of(const struct why_part *part)
{
    const struct why_brief *b = &part->brief;
    return b->state[0] ? b->state : strstr(b->doing, "kept from idling") ? "kept from idling" : "unclear";
}

/* The position of the GPU that the first finding is about; 0 where none is about a GPU. */
static size_t main_of(const struct why *why)
{
    for (size_t i = 0; i < why->verdict->count; i++)
        for (size_t k = 0; k < why->gpu_count; k++)
            if (why->gpus[k].gpu_index == why->verdict->findings[i].gpu_index)
                return k;
    return 0;
}

/* Whether a GPU before this one, other than the main one, is in the same state. */
static bool is_grouped(const struct why *why, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (i != why->main && strcmp(state_of(&why->gpus[i]), state_of(&why->gpus[at])) == 0)
            return true;
    return false;
}

/* "GPU 1 is lost.", "GPUs 1, 4, and 5 are also busy.", "The other 7 GPUs are idle." */
static void say_state_of(struct text *s, const struct snapshot *now, const struct why *why, const char *state, bool over)
{
    enum { NAMED = 4 };
    size_t count = 0, said = 0;
    bool simulated = true, same[GPU_MAX] = {false};
    for (size_t i = 0; i < why->gpu_count && i < GPU_MAX; i++)
        if (i != why->main && strcmp(state_of(&why->gpus[i]), state) == 0) {
            same[i] = true;
            count++;
            simulated &= now->gpus[i].simulated;
        }
    const char *gpu = simulated ? "simulated GPU" : "GPU",
               *also = strcmp(state_of(&why->gpus[why->main]), state) == 0 ? "also " : "";
    const char *is = over ? "was" : "is", *are = over ? "were" : "are";
    if (count > NAMED || (count == why->gpu_count - 1 && count > 1)) {
        text_append(s, count == why->gpu_count - 1 ? " The other %zu %ss %s %s%s." : " %zu other %ss %s %s%s.", count, gpu, are,
                    also, state);
        return;
    }
    char list[96] = "";
    struct text names = TEXT(list);
    for (size_t i = 0; i < why->gpu_count && i < GPU_MAX; i++)
        if (same[i]) {
            const char *last = count > 2 ? ", and " : " and ";
            text_append(&names, "%s%d", said == 0 ? "" : said + 1 == count ? last : ", ", why->gpus[i].gpu_index);
            said++;
        }
    text_append(s, " %s%s %s %s %s%s.", simulated ? "Simulated GPU" : "GPU", count > 1 ? "s" : "", list, count > 1 ? are : is, also,
                state);
}

/* "GPUs 1-7 are waiting for GPU 0, where ..." has said it of the others. */
static bool is_said(const struct why *why, const struct why_part *part)
{
    return part->waits && strstr(why->gpus[why->main].answer, part->brief.state);
}

static void answer_host(const struct snapshot *now, struct why *why, bool over)
{
    struct text s = TEXT(why->answer);
    if (why->machine.cause_count)
        str_copy(why->machine.answer, sizeof why->machine.answer, str_from(why->machine.causes[0].text));
    if (!why->gpu_count) {
        text_append(&s, "%s", why->machine.answer);
        return;
    }
    why->main = main_of(why);
    str_copy(why->answer, sizeof why->answer, str_from(why->gpus[why->main].answer));
    s.len = strlen(why->answer);
    const struct finding *also = verdict_also(why->verdict);
    if (also && also->gpu_index >= 0)
        text_append(&s, " Also %s.", also->headline);
    if (why->machine.cause_count)
        text_append(&s, " %s", why->machine.answer);
    for (size_t i = 0; i < why->gpu_count; i++)
        if (i != why->main && !is_grouped(why, i) && !is_said(why, &why->gpus[i]) &&
            (!also || also->gpu_index != why->gpus[i].gpu_index))
            say_state_of(&s, now, why, state_of(&why->gpus[i]), over);
}

/* ---- all of it ---- */

static void number_remedies(struct why_part *part)
{
    for (size_t i = 0; i < part->suggestion_count; i++) {
        part->remedies[i].number = (int)i + 1;
        memcpy(part->remedies[i].text, part->suggestions[i], sizeof part->remedies[i].text);
    }
}

/* There is one ranking, that of the verdict; a guess explains nothing, and comes last. */
static void order_causes(const struct verdict *v, struct why_part *part)
{
    size_t ordered = 0;
    for (size_t i = 0; i < 2 * v->count; i++)
        for (size_t k = ordered; k < part->cause_count; k++) {
            const struct finding *f = &v->findings[i % v->count];
            bool guess = part->causes[k].confidence < CONFIDENCE_ANSWER;
            if (f->gpu_index == part->gpu_index && part->causes[k].code == f->code && guess == (i >= v->count)) {
                struct why_cause found = part->causes[k];
                memmove(&part->causes[ordered + 1], &part->causes[ordered], (k - ordered) * sizeof found);
                part->causes[ordered++] = found;
            }
        }
}

static void answer(const struct facts *f, struct why_part *part)
{
    part->severity = verdict_severity(f->verdict, part->gpu_index);
    order_causes(f->verdict, part);
    answer_gpu(f, part);
    answer_usual(part, f->over);
    answer_changed(f, part);
    answer_resume(f, part);
    suggest(f, part);
    answer_findings(f, part);
    answer_job(f, part);
    number_remedies(part);
}

struct why *why_judge(const struct snapshot *now, const struct judge_basis *basis)
{
    struct why *why = calloc(1, sizeof *why + now->gpu_count * sizeof why->gpus[0]);
    AUTO_FREE struct facts *facts = calloc(now->gpu_count + 1, sizeof *facts);
    AUTO_JOB_WAITS struct job_waits waits = {0};
    if (!why || !facts || job_waits_find(&waits, now) < 0)
        goto fail;
    struct judge_basis whole = *basis;
    whole.waits = &waits;
    why->gpu_count = now->gpu_count;
    why->verdict = verdict_make(now, &whole, &(struct judge_parts){facts, &why->machine, why->gpus});
    if (!why->verdict)
        goto fail;
    suggest(NULL, &why->machine);
    number_remedies(&why->machine);
    for (size_t i = 0; i < now->gpu_count; i++) {
        facts[i].verdict = why->verdict;
        answer(&facts[i], &why->gpus[i]);
    }
    why->machine.severity = verdict_severity(why->verdict, -1);
    answer_host(now, why, basis->over);
    return why;
fail:
    why_free(why);
    return NULL;
}

struct why *why_explain(const struct snapshot *now, const struct recent *past)
{
    return why_judge(now, &(struct judge_basis){.past = past});
}

struct why *why_explain_usual(const struct snapshot *now, const struct recent *past, const struct baselines *usual)
{
    return why_judge(now, &(struct judge_basis){.past = past, .usual = usual});
}

struct why *why_explain_past(const struct snapshot *then, const struct recent *past, const struct baselines *usual)
{
    return why_judge(then, &(struct judge_basis){.past = past, .usual = usual, .over = true});
}

void why_free(struct why *why)
{
    if (!why)
        return;
    verdict_free(why->verdict);
    free(why);
}

/* ---- narrowed down to the GPUs of one job, or to one ---- */

static bool is_of_job(const struct gpu *gpu, const char *id)
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

int why_of_gpus(const struct snapshot *now, const struct why *why, const struct gpu_choice *choice, const struct snapshot **ret_now,
                struct why **ret)
{
    size_t kept = 0;
    struct snapshot *part = snapshot_copy(now);
    struct why *own = why ? calloc(1, sizeof *own + why->gpu_count * sizeof own->gpus[0]) : NULL;
    int rc = part && (own || !why) ? 0 : -ENOMEM;
    if (rc == 0 && own) {
        memcpy(own, why, sizeof *own);
        own->verdict = verdict_copy(why->verdict);
        rc = own->verdict ? 0 : -ENOMEM;
    }
    for (size_t i = 0; rc == 0 && i < part->gpu_count; i++) {
        if ((why && i >= why->gpu_count) || !choice->on[i]) {
            gpu_done(&part->gpus[i]);
            continue;
        }
        if (own)
            own->gpus[kept] = why->gpus[i];
        part->gpus[kept++] = part->gpus[i];
    }
    if (rc == 0) {
        part->gpu_count = kept;
        rc = kept ? 0 : -ENOENT;
    }
    if (rc < 0) {
        snapshot_unref(part);
        why_free(own);
        return rc;
    }
    if (part->verdict)
        keep_findings(part->verdict, part);
    *ret_now = part;
    if (!own)
        return 0;
    own->gpu_count = kept;
    keep_findings(own->verdict, part);
    own->machine = (struct why_part){.gpu_index = -1};
    answer_host(part, own, false);
    *ret = own;
    return 0;
}

int why_of_job(const struct snapshot *now, const struct why *why, const char *id, const struct snapshot **ret_now, struct why **ret)
{
    struct gpu_choice choice = {0};
    for (size_t i = 0; i < now->gpu_count; i++)
        choice.on[i] = is_of_job(&now->gpus[i], id);
    return why_of_gpus(now, why, &choice, ret_now, ret);
}

int why_of_gpu(const struct snapshot *now, const struct why *why, int index, const struct snapshot **ret_now, struct why **ret)
{
    struct gpu_choice choice = {0};
    for (size_t i = 0; i < now->gpu_count; i++)
        choice.on[i] = now->gpus[i].index == index;
    return why_of_gpus(now, why, &choice, ret_now, ret);
}
