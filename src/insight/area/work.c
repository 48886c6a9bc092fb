/* SPDX-License-Identifier: Apache-2.0
 * Rules for a GPU that is working: for one process, several, instances, one that loads, or none that can be seen.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "insight/area/area.h"
#include "model/finding_code.h"

void support_share(struct cause_draft *d, const struct facts *f, const struct process *p)
{
    int64_t share, mem;
    char who[PROCESS_WORDS], held[SHORT_WORDS], age[SHORT_WORDS];
    process_words(p, EXACT_NAME, who);
    if (f->activity.bursts && reading_or(p->util_permille, 0) < SHARE_LEAST)
        support(d, f->workers.suspected ? 0.3 : 0.5, "%s, between two bursts", who);
    else if (f->load == LOAD_BUSY && f->load_permille <= AWAKE_MAX && reading_or(p->util_permille, 0) < SHARE_LEAST)
        support(d, f->workers.suspected ? 0.3 : 0.5, "%s, pausing for a moment", who);
    else if (reading_get(p->util_permille, &share))
        support(d, f->workers.shares_known ? 0.7 : 0.1, "%s: %lld%% of the GPU", who, percent(share));
    else if (f->workers.on_card == 1)
        support(d, 0.55, "%s: the only process on it", who);
    else if (f->workers.suspected)
        support(d, 0.3, "%s: share unknown", who);
    else
        support(d, 0.4, "%s: the only process on it whose share is unknown", who);
    if (reading_get(p->mem_bytes, &mem) && mem > 0)
        support(d, 0.05, "memory: %s", words_bytes(mem, held));
    if (words_stands_for(p))
        support(d, 0, "stands for %s", words_stands_for(p));
    if (p->started_at.ms > 0 && f->now->taken_at.ms > p->started_at.ms)
        support(d, 0, "running for %s", words_duration(f->now->taken_at.ms - p->started_at.ms, age));
}

/* What every kind of work does to a card: it agrees with the rest, or it is a little work only. */
static void support_effects(struct cause_draft *d, const struct facts *f)
{
    support_power(d, f, f->power >= POWER_RAISED ? 0.3 : 0.05);
    support_temperature(d, f, f->heat >= HEAT_WARM ? 0.15 : 0.05);
    support_fan(d, f, f->fan >= FAN_RAISED ? 0.15 : 0.05);
    if (f->load == LOAD_LIGHT)
        doubt(d, 0.5, "a light load");
    if (f->load == LOAD_UNKNOWN)
        doubt(d, 0.6, "its utilization can't be read");
    /* Work explains the heat; that the fan does not remove it explains it better. */
    if (f->fan_slow || f->fan_missed)
        doubt(d, 0.75, NULL);
}

static double load_weight(const struct facts *f)
{
    return f->load == LOAD_BUSY ? 0.4 : f->load == LOAD_LIGHT ? 0.2 : 0;
}

/* One process stands for the load when it does most of what is known. */
static bool one_dominates(const struct workers *w)
{
    if (w->count == 1)
        return true;
    if (!w->shares_known || !w->first || !w->second)
        return false;
    int64_t first = reading_or(w->first->util_permille, 0), second = reading_or(w->second->util_permille, 0);
    return w->count == 2 ? first >= 3 * second : first >= 3 * second && first >= (int64_t)w->count * 100;
}

void weigh_program(const struct facts *f, struct why_part *part, finding_code code, const char *doing, const char *sign)
{
    const struct process *p = f->workers.first;
    char who[PROCESS_WORDS], age[SHORT_WORDS];
    int64_t traffic;
    struct cause_draft d;
    cause_begin(&d, part, code);
    cause_process(&d, p);
    support_load(&d, f, load_weight(f));
    support_share(&d, f, p);
    if (reading_get(f->gpu->mem_util_permille, &traffic) && traffic >= 800)
        support(&d, 0.05, "memory busy %lld%% of the time", percent(traffic));
    if (sign)
        support(&d, 0.5, "%s, judging by %s", doing, sign);
    support_effects(&d, f);
    process_words(p, f->load == LOAD_UNKNOWN || sign ? LONG_NAME : WITH_OWNER, who); /* what it does names the model */
    if (f->load == LOAD_UNKNOWN)
        cause_end(&d, ": %s %s on it, but its utilization %s be read", who, is(f), cannot(f));
    else if (p->started_at.ms > 0 && f->now->taken_at.ms - p->started_at.ms >= 60000)
        cause_end(&d, ": %s %s been %s for %s", who, has(f), doing, words_duration(f->now->taken_at.ms - p->started_at.ms, age));
    else
        cause_end(&d, ": %s %s %s", who, is(f), doing);
}

static void rule_several(const struct facts *f, struct why_part *part)
{
    const struct workers *w = &f->workers;
    char first[PROCESS_WORDS], second[PROCESS_WORDS];
    struct cause_draft d;
    cause_begin(&d, part, FINDING_SHARED_LOAD);
    cause_process(&d, w->first);
    support_load(&d, f, load_weight(f));
    support_share(&d, f, w->first);
    support_share(&d, f, w->second);
    support_effects(&d, f);
    if (w->suspected)
        doubt(&d, 0.75, "which of the %zu processes is working is not known", w->count);
    process_words(w->first, LONG_NAME, first);
    process_words(w->second, LONG_NAME, second);
    if (w->count > 2)
        cause_end(&d, ": %s, %s, and %zu more %s sharing it", first, second, w->count - 2, are(f));
    else
        cause_end(&d, ": %s and %s %s sharing it", first, second, are(f));
}

static void rule_hidden(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    struct cause_draft d;
    cause_begin(&d, part, FINDING_HIDDEN_LOAD);
    support_load(&d, f, 0.5);
    support_power(&d, f, f->power >= POWER_RAISED ? 0.35 : 0.05);
    support_temperature(&d, f, f->heat >= HEAT_WARM ? 0.15 : 0.05);
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.15 : 0.05);
    if (gpu->processes_state == READING_DENIED)
        support(&d, 0.3, "processes: no permission to read them");
    else if (gpu->processes_hidden)
        support(&d, 0.4, "%zu processes on it that you have no permission to see", gpu->processes_hidden);
    else if (gpu->processes_state != READING_OK)
        support(&d, 0.1, "processes: %s", words_absent(gpu->processes_state));
    else if (f->workers.on_card)
        support(&d, 0.3, "none of the %zu visible processes is working", f->workers.on_card);
    else
        support(&d, 0.3, "no process is listed on it");
    d.cause.severity = gpu->processes_state != READING_OK ? SEVERITY_INFO               /* an unreadable list proves nothing */
                       : f->past.steady_ms >= STEADY_LEAST_MS && !gpu->processes_hidden /* another user's is no riddle */
                           ? SEVERITY_WARNING
                           : d.cause.severity;
    cause_end(&d, " %s busy, but no visible process explains it", is(f));
}

bool holds_more(const struct process *p, const struct process *than)
{
    int64_t mem = reading_or(p->mem_bytes, 0), other = than ? reading_or(than->mem_bytes, 0) : -1;
    return !than || mem > other || (mem == other && p->pid < than->pid);
}

/* Processes may be listed with the whole GPU or with the instance that they are in. */
static const struct process *instance_process(const struct facts *f, const struct gpu **instance)
{
    const struct gpu *gpu = f->gpu;
    const struct process *found = NULL;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (p->instance < 0 || (size_t)p->instance >= gpu->instance_count)
            continue;
        if (holds_more(p, found)) {
            found = p;
            *instance = &gpu->instances[p->instance];
        }
    }
    for (size_t i = 0; i < gpu->instance_count && !found; i++)
        for (size_t k = 0; k < gpu->instances[i].process_count; k++) {
            const struct process *p = &gpu->instances[i].processes[k];
            if (holds_more(p, found)) {
                found = p;
                *instance = &gpu->instances[i];
            }
        }
    return found;
}

/* Processes of different instances, both perhaps at work; the one in another instance than `first`. */
static const struct process *other_instance(const struct facts *f, const struct process *first)
{
    const struct process *found = NULL;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (p->instance >= 0 && (size_t)p->instance < f->gpu->instance_count && p->instance != first->instance &&
            holds_more(p, found))
            found = p;
    }
    return found;
}

/* Its profile is known from another list than its readings. */
static const char *words_instance(const struct gpu *instance, char words[SHORT_WORDS])
{
    bool named = instance->profile[0];
    snprintf(words, SHORT_WORDS, "instance %d%s%s%s", instance->index, named ? " (" : "", instance->profile, named ? ")" : "");
    return words;
}

static void rule_instances(const struct facts *f, struct why_part *part)
{
    const struct gpu *instance = NULL;
    const struct process *p = instance_process(f, &instance);
    char who[PROCESS_WORDS], where[SHORT_WORDS];
    struct cause_draft d;
    cause_begin(&d, part, FINDING_INSTANCE_LOAD);
    support(&d, 0.1, "divided into %zu instances", f->gpu->instance_count);
    support_load(&d, f, 0.4);
    support_power(&d, f, f->power >= POWER_RAISED ? 0.45 : 0.05);
    support_temperature(&d, f, 0.05);
    support_fan(&d, f, 0.05);
    if (!p) {
        doubt(&d, 0.9, "no process is visible in its instances");
        cause_end(&d, ": no process %s visible in its instances", is(f));
        return;
    }
    const struct process *second = other_instance(f, p);
    char other[PROCESS_WORDS];
    support(&d, 0.4, "%s in %s", process_words(p, EXACT_NAME, who), words_instance(instance, where));
    if (f->load == LOAD_UNKNOWN)
        doubt(&d, 0.6, "its utilization can't be read");
    if (second) {
        support(&d, 0.2, "%s in %s", process_words(second, EXACT_NAME, other),
                words_instance(&f->gpu->instances[second->instance], where));
        cause_end(&d, ": its instances %s %s and %s; which one %s working is not known", f->over ? "had" : "have",
                  process_words(p, LONG_NAME, who), process_words(second, LONG_NAME, other), is(f));
        return;
    }
    cause_process(&d, p);
    cause_end(&d, ": %s %s working in %s", process_words(p, LONG_NAME, who), is(f), words_instance(instance, where));
}

static void rule_memory_traffic(const struct facts *f, struct why_part *part)
{
    int64_t busy;
    struct cause_draft d;
    bool by_driver = reading_get(f->gpu->mem_util_permille, &busy) && busy >= 800;
    if (!by_driver && !(reading_get(f->gpu->dram_active_permille, &busy) && busy >= 600))
        return;
    cause_begin(&d, part, FINDING_MEMORY_TRAFFIC);
    support(&d, 0.5, by_driver ? "memory busy %lld%% of the time" : "%lld%% of the peak memory bandwidth", percent(busy));
    if (by_driver)
        cause_end(&d, ": its memory %s busy %lld%% of the time", is(f), percent(busy));
    else
        cause_end(&d, " %s using %lld%% of its peak memory bandwidth", is(f), percent(busy));
}

static void rule_loading(const struct facts *f, struct why_part *part)
{
    const struct process *p = f->loading;
    int64_t cpu, disk, held;
    char who[PROCESS_WORDS], bytes[SHORT_WORDS] = "";
    struct cause_draft d;
    cause_begin(&d, part, FINDING_LOADING);
    cause_process(&d, p);
    process_words(p, EXACT_NAME, who);
    if (reading_get(p->mem_bytes, &held))
        support(&d, 0.6, "memory of %s: %s so far", who, words_bytes(held, bytes));
    if (reading_get(p->cpu_permille, &cpu))
        support(&d, 0.4, "%lld%% of a CPU core", percent(cpu));
    if (reading_get(f->now->host.disk_read_bytes_per_s, &disk) && disk > 50000000)
        support(&d, 0.3, "%lld MB/s read from disk", words_whole(disk, 1000000));
    support_load(&d, f, 0.1);
    cause_end(&d, " %s loading: %s %s filling its memory%s%s%s", is(f), process_words(p, LONG_NAME, who), is(f),
              bytes[0] ? " (" : "", bytes, bytes[0] ? " so far)" : "");
}

static void rules_work(const struct facts *f, struct why_part *part)
{
    const struct workers *w = &f->workers;
    char work[NAME_WORDS];
    bool stirred = f->heat >= HEAT_WARM || f->fan >= FAN_RAISED || f->power >= POWER_RAISED;
    bool works = f->load == LOAD_BUSY || f->load == LOAD_LIGHT || (f->load == LOAD_UNKNOWN && stirred);
    if (f->divided) {
        if (f->load == LOAD_BUSY || (works && stirred))
            rule_instances(f, part);
    } else if (works && w->first) {
        if (one_dominates(w)) {
            if (!rule_miner(f, part))
                weigh_program(f, part, words_draws(w->first) ? FINDING_GRAPHICS_LOAD : FINDING_COMPUTE_LOAD,
                              words_work(w->first, work), NULL);
        } else {
            rule_several(f, part);
            rule_miner_among(f, part);
        }
    } else if (f->load == LOAD_BUSY && !is_stuck_busy(f)) {
        rule_hidden(f, part);
    }
    /* Evidence of what kind of work it is; it says nothing about an idle GPU. */
    if (f->load == LOAD_BUSY || f->load == LOAD_LIGHT)
        rule_memory_traffic(f, part);
    if (f->loading && f->load != LOAD_BUSY)
        rule_loading(f, part);
}

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

/* "train.py (alice) is training". False: the cause is no work. */
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
    case FINDING_INSTANCE_LOAD: /* "Its instances have" inside of a sentence; the name of a program stays as it is */
        text_append(s, "%c%.*s", cause->pid ? cause->text[0] : cause->text[0] - 'A' + 'a', (int)(strlen(cause->text) - 2),
                    cause->text + 1);
        return true;
    case FINDING_MINING: return p && say_mining(s, f, p);
    case FINDING_CHECK_RUNNING: return text_append(s, "a check (whirr check) %s running", is(f));
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

static void say_busy(struct text *s, const struct facts *f, struct why_part *part)
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
    if (doing[0] && cause->code == FINDING_MINING)
        str_copy(brief->headline, sizeof brief->headline, str_from(s->at));
    text_stop(s);
    if (say_readings(s, f, part, said, " "))
        say_normal(s, f, part);
}

/* ---- what to do ---- */

/* A GPU that is idle, cooler, and has the memory for it; NULL none. */
static const struct gpu *better_place(const struct facts *f, const struct process *p)
{
    int64_t need, temp, theirs, room;
    if (!p || !reading_get(p->mem_bytes, &need) || !reading_get(f->gpu->temp_mdegc, &temp))
        return NULL;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other != f->gpu && other->state == GPU_OK && strcmp(other->id.vendor, f->gpu->id.vendor) == 0 &&
            reading_or(other->util_permille, 1000) <= IDLE_MAX && reading_get(other->temp_mdegc, &theirs) && theirs < temp &&
            reading_get(other->mem_free_bytes, &room) && room > need)
            return other;
    }
    return NULL;
}

static void suggest_work(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    const struct process *p = gpu_find_process(f->gpu, cause->pid);
    const struct gpu *other = is_felt(f) ? better_place(f, p) : NULL;
    char name[SHORT_WORDS];
    if (p && !p->visible)
        remedy_add(part, REMEDY_LOOK, "Look for process %d on the host: it is outside this container.", (int)p->pid);
    if (cause->code == FINDING_GRAPHICS_LOAD && is_felt(f))
        remedy_add(part, REMEDY_FRAME_RATE, NULL);
    suggest_power(f, part);
    if (other)
        remedy_add(part, REMEDY_OTHER_GPU, "Start the next job on %s: it is idle, cooler, and has the memory for it%s.",
                   words_gpu(other, false, name),
                   p && p->variables & VARIABLE_OWN_GPUS ? " (a variable of this program chose the GPU)" : "");
}

static void suggest_hidden(const struct facts *f, struct why_part *part)
{
    remedy_add(part, REMEDY_LOOK, "See other users' processes: sudo whirr ps");
    remedy_add(part, REMEDY_LOOK, "Check containers and virtual machines that use the GPU, and the host if this is a container.");
    if (f->past.steady_ms >= STEADY_LEAST_MS)
        remedy_add(part, REMEDY_LOOK,
                   "Steady full utilization by an unknown process can be mining: if it isn't yours, find out who started it.");
    suggest_power(f, part);
}

static void remedy_work(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    switch (cause->code) {
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_SHARED_LOAD:
    case FINDING_VIDEO_LOAD:
    case FINDING_INSTANCE_LOAD:
    case FINDING_MINING: suggest_work(f, part, cause); break;
    case FINDING_HIDDEN_LOAD: suggest_hidden(f, part); break;
    default: break;
    }
}

static bool say_of_work(struct text *s, const struct facts *f, struct why_part *part)
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
    case FINDING_MEMORY_TRAFFIC: break;
    case FINDING_AIRFLOW:
        if (f->load != LOAD_IDLE)
            break;
        return false;
    default: return false;
    }
    say_busy(s, f, part);
    return true;
}

const struct area area_work = {.weigh = rules_work, .say = say_of_work, .remedy = remedy_work};
