/* SPDX-License-Identifier: Apache-2.0
 * A GPU at work: who is doing what on it, and what else matters.
 */
#include <string.h>

#include "base/str.h"
#include "insight/view/answer.h"

/* ---- who is doing what ---- */

/* Whether all that the words for a process come from is the same. */
static bool have_same_parts(const struct process *a, const struct process *b)
{
    return strcmp(process_title(a), process_title(b)) == 0 && strcmp(a->model, b->model) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->container, b->container) == 0 && strcmp(a->container_name, b->container_name) == 0 &&
           strcmp(a->job, b->job) == 0 && a->visible == b->visible && process_title(a)[0];
}

/* Whether all that compute on the GPU are the same program of the same user: servers that were started many times. */
static bool are_alike(const struct facts *f, const struct process *first, const char *who)
{
    char other[PROCESS_WORDS];
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (p->type != PROCESS_GRAPHICS && !have_same_parts(p, first) && strcmp(process_words(p, LONG_NAME, other), who) != 0)
            return false;
    }
    return true;
}

static void say_several(struct text *s, const struct facts *f)
{
    const struct workers *w = &f->workers;
    char first[PROCESS_WORDS], second[PROCESS_WORDS];
    process_words(w->first, LONG_NAME, first);
    process_words(w->second, LONG_NAME, second);
    if (w->count > 2 && !w->suspected && are_alike(f, w->first, first)) {
        text_append(s, "%zu processes of %s %s sharing it", w->count, first, are(f));
        return;
    }
    if (strcmp(first, second) == 0) { /* two workers of one job */
        process_words(w->first, EXACT_NAME, first);
        process_words(w->second, EXACT_NAME, second);
    }
    if (w->suspected)
        text_append(s, "%zu processes %s on it, the largest %s %s; which one %s working is not known", w->count, are(f), is(f),
                    first, is(f));
    else if (w->count > 2)
        text_append(s, "%s, %s, and %zu more process%s %s sharing it", first, second, w->count - 2, w->count == 3 ? "" : "es",
                    are(f));
    else
        text_append(s, "%s and %s %s sharing it", first, second, are(f));
    if (words_stands_for(w->first))
        text_append(s, "; %s stands for %s", first, words_stands_for(w->first));
}

static void say_hidden(struct text *s, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    if (gpu->processes_hidden)
        text_append(s, "%zu process%s that you have no permission to see %s using it", gpu->processes_hidden,
                    gpu->processes_hidden == 1 ? "" : "es", gpu->processes_hidden == 1 ? is(f) : are(f));
    else if (gpu->processes_state == READING_DENIED)
        text_append(s, "you have no permission to see which process %s using it", is(f));
    else if (gpu->processes_state != READING_OK)
        text_append(s, "its processes %s be listed", cannot(f));
    else if (f->workers.on_card)
        text_append(s, "none of the visible processes %s doing the work", is(f));
    else
        text_append(s, "no process %s visible that explain%s it", is(f), f->over ? "ed" : "s");
}

/* "train.py (alice) is training", for causes that are work. False: it is no work. */
bool say_work(struct text *s, const struct facts *f, const struct why_cause *cause)
{
    char who[PROCESS_WORDS] = "", work[NAME_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    if (p)
        process_words(p, WITH_OWNER, who); /* what it does names the model */
    switch (cause->code) {
    case FINDING_VIDEO_LOAD:
        say_video(s, f, WITH_OWNER);
        return text_append(s, " (%s %lld%%)", f->encodes ? "encoder" : "decoder", percent(f->video_permille));
    case FINDING_HIDDEN_LOAD: say_hidden(s, f); return true;
    case FINDING_SHARED_LOAD: say_several(s, f); return true;
    case FINDING_INSTANCE_LOAD: text_append(s, "%.*s", (int)(strlen(cause->text) - 1), cause->text); return true;
    case FINDING_MINING: return p && text_append(s, "%s %s mining, judging by %s", who, is(f), words_miner(p));
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD: break;
    default: return false;
    }
    if (!p)
        return false;
    bool sure = f->workers.shares_known || f->workers.on_card == 1;
    return text_append(s, "%s %s %s%s", who, is(f), sure ? "" : "probably ", words_work(p, work));
}

const struct why_cause *find_work_cause(const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (finding_kind(part->causes[i].code)->area == AREA_WORK && part->causes[i].code != FINDING_MEMORY_TRAFFIC &&
            part->causes[i].code != FINDING_LOADING)
            return &part->causes[i];
    return NULL;
}

/* ---- a GPU at work ---- */

void answer_work(struct text *s, const struct facts *f, struct why_part *part)
{
    struct why_brief *brief = &part->brief;
    char name[SHORT_WORDS], who[PROCESS_WORDS], doing[WHY_TEXT_SIZE] = "";
    const struct why_cause *cause = find_work_cause(part);
    const struct process *p = cause && cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    int64_t power;
    words_gpu(f->gpu, true, name);
    if (p && f->load == LOAD_UNKNOWN && cause->code != FINDING_VIDEO_LOAD && cause->code != FINDING_INSTANCE_LOAD) {
        text_append(s, "%s may %s busy: %s %s on it, but its utilization %s be read.", name, f->over ? "have been" : "be",
                    process_words(p, LONG_NAME, who), is(f), cannot(f));
        say_readings(s, f, part, 0, " ");
        return;
    }
    text_append(s, "%s %s ", name, is(f));
    unsigned said = say_state(s, f);
    str_copy(brief->headline, sizeof brief->headline, str_from(s->at));
    struct text d = TEXT(doing);
    if (cause)
        say_work(&d, f, cause);
    if (find_cause(part, FINDING_AIRFLOW) && reading_get(f->gpu->power_mw, &power)) {
        text_append(s, " because it %s dissipate %lld W", cannot(f), words_whole(power, 1000));
        said |= SAID_POWER;
        str_copy(brief->headline, sizeof brief->headline, str_from(s->at));
    } else if (is_troubled(f) && doing[0] && cause->code != FINDING_HIDDEN_LOAD) {
        text_append(s, " because %s", doing);
        doing[0] = '\0';
    }
    if (doing[0])
        text_append(s, ": %s", doing);
    text_stop(s);
    if (say_readings(s, f, part, said, " "))
        say_normal(s, f, part);
}

/* The answer begins with it. */
static bool is_named_first(const struct facts *f, const struct why_part *part, enum finding_code code)
{
    const struct finding *first = verdict_first(f->verdict, part->gpu_index);
    bool by_state = f->activity.throttled_by & THROTTLE_HOT && memory_is_hotter(f->gpu);
    return first && first->code == code && (by_state || !is_troubled(f));
}

/* A further sentence for a cause that is not the first. */
bool say_also(struct text *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause)
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
