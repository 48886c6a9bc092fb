/* SPDX-License-Identifier: Apache-2.0
 * One list of findings, in one order.
 */
#include "insight/finding/collect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/finding/cause.h"

int collection_init(struct collection *c, const struct snapshot *now)
{
    size_t most = FINDINGS_PER_GPU * (now->gpu_count + 2);
    *c = (struct collection){.now = now, .most = most, .verdict = verdict_new(now->gpu_count, most)};
    return c->verdict ? 0 : -ENOMEM;
}

static struct finding *find(struct collection *c, int gpu_index, enum finding_code code)
{
    return (struct finding *)verdict_find(c->verdict, gpu_index, code);
}

static struct finding *add(struct collection *c, const struct finding *fresh)
{
    struct finding *known = find(c, fresh->gpu_index, fresh->code);
    if (!known) {
        if (c->verdict->count == c->most)
            return NULL;
        c->verdict->findings[c->verdict->count] = *fresh;
        return &c->verdict->findings[c->verdict->count++];
    }
    if (fresh->severity > known->severity) {
        known->severity = fresh->severity;
        memcpy(known->headline, fresh->headline, sizeof known->headline);
    }
    known->confidence = MAX_OF(known->confidence, fresh->confidence);
    known->pid = known->pid ? known->pid : fresh->pid;
    if (fresh->since.ms && (!known->since.ms || fresh->since.ms < known->since.ms))
        known->since = fresh->since;
    return known;
}

void collect(struct collection *c, const struct gpu *gpu, enum finding_code code, enum severity severity, double confidence,
             int32_t pid, const char *format, ...)
{
    struct finding f = {.code = code,
                        .severity = severity,
                        .confidence = confidence,
                        .gpu_index = gpu ? gpu->index : -1,
                        .pid = pid,
                        .power_mw = gpu ? reading_or(gpu->power_mw, 0) : 0};
    va_list args;
    va_start(args, format);
    vsnprintf(f.headline, sizeof f.headline, format, args);
    va_end(args);
    add(c, &f);
}

/* "The fan has stopped." becomes "GPU 1: the fan has stopped"; names like XID and PCIe keep their capitals. */
static void collect_sentence(struct collection *c, const struct gpu *gpu, int gpu_index, struct finding f, const char *text)
{
    char sentence[FINDING_HEADLINE_SIZE - 16];
    const char *end = strstr(text, ". ");
    size_t len = end ? (size_t)(end - text) : strlen(text);
    while (len && text[len - 1] == '.')
        len--;
    str_copy(sentence, sizeof sentence, (struct str){text, len});
    bool word = sentence[0] >= 'A' && sentence[0] <= 'Z' && sentence[1] >= 'a' && sentence[1] <= 'z';
    if (gpu_index < 0)
        snprintf(f.headline, sizeof f.headline, "%s", sentence);
    else {
        if (word)
            sentence[0] = (char)(sentence[0] - 'A' + 'a');
        snprintf(f.headline, sizeof f.headline, "GPU %d: %s", gpu_index, sentence);
    }
    f.gpu_index = gpu_index;
    f.power_mw = gpu ? reading_or(gpu->power_mw, 0) : 0;
    add(c, &f);
}

/* ---- an explanation's causes ---- */

/* Something that may be so is not shown as if it were. */
static enum severity severity_of_cause(const struct facts *f, const struct why_part *part, const struct why_cause *cause)
{
    enum severity usual = finding_kind(cause->code)->severity;
    switch (cause->code) {
    case FINDING_HEAT_LIMIT:
        return f->activity.throttled_by & THROTTLE_HOT && f->load != LOAD_IDLE ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    case FINDING_AIRFLOW: /* where something else explains the heat better, dust is a guess */
        return cause->confidence >= 0.6 ? usual : cause == &part->causes[0] ? SEVERITY_NOTICE : SEVERITY_INFO;
    case FINDING_HIDDEN_LOAD: /* where processes cannot be listed at all, that nobody is seen says nothing */
        return f->gpu->processes_state != READING_OK  ? SEVERITY_INFO
               : f->past.steady_ms >= STEADY_LEAST_MS ? SEVERITY_WARNING
                                                      : usual;
    default: return cause->confidence >= CONFIDENCE_ANSWER ? usual : SEVERITY_INFO;
    }
}

void collect_causes(struct collection *c, const struct facts *f, const struct why_part *part)
{
    const struct gpu *gpu = f ? f->gpu : NULL;
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        struct finding found = {.code = cause->code,
                                .severity = f ? severity_of_cause(f, part, cause) : finding_kind(cause->code)->severity,
                                .confidence = cause->confidence,
                                .pid = cause->pid};
        collect_sentence(c, gpu, part->gpu_index, found, cause->text);
    }
}

/* ---- what a person would notice ---- */

static const char *heat_words(const struct gpu *gpu, char out[SHORT_WORDS])
{
    int64_t temp;
    out[0] = '\0';
    if (reading_get(gpu->temp_mdegc, &temp))
        snprintf(out, SHORT_WORDS, " (%lld °C)", words_whole(temp, 1000));
    return out;
}

static const char *fan_words(const struct gpu *gpu, char out[SHORT_WORDS])
{
    int64_t fan;
    out[0] = '\0';
    if (reading_get(gpu->fan_permille, &fan))
        snprintf(out, SHORT_WORDS, " (fan %lld%%)", percent(fan));
    else if (reading_get(gpu->fan_rpm, &fan))
        snprintf(out, SHORT_WORDS, " (fan %lld rpm)", (long long)fan);
    return out;
}

static void collect_failure(struct collection *c, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    const char *needs = f->over ? "needed" : "needs";
    switch (gpu_failure(gpu)) {
    case FAILURE_RESET:
        collect(c, gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s a reset", gpu->index, needs);
        break;
    case FAILURE_REBOOT:
        collect(c, gpu, FINDING_DRIVER_VERDICT, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s a reboot of the host", gpu->index, needs);
        break;
    case FAILURE_MEMORY:
        collect(c, gpu, FINDING_ECC, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s failing memory", gpu->index, has(f));
        break;
    case FAILURE_NONE: break;
    }
}

void collect_symptoms(struct collection *c, const struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    const struct activity *a = &f->activity;
    char number[SHORT_WORDS];
    /* The bit of the hardware is set for heat, too. */
    int64_t slowed =
        a->throttled_by & (THROTTLE_POWER_BRAKE | THROTTLE_CURRENT | (a->throttled_by & THROTTLE_HOT ? 0 : THROTTLE_HW_SLOWDOWN));
    if (gpu->state == GPU_LOST)
        collect(c, gpu, FINDING_LOST, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s lost", gpu->index, is(f));
    if (gpu->state == GPU_ERROR && a->code == ACTIVITY_FAILING)
        collect(c, gpu, FINDING_ERROR, SEVERITY_CRITICAL, 0.97, 0, "GPU %d %s be read", gpu->index, cannot(f));
    if (gpu->state != GPU_OK)
        return;
    collect_failure(c, f);
    if (f->fan_judged.state == FAN_STATE_STOPPED)
        collect(c, gpu, FINDING_FAN_STOPPED, SEVERITY_CRITICAL, 0.95, 0, "GPU %d: its fan %s stopped%s", gpu->index, has(f),
                heat_words(gpu, number));
    if (a->throttled_by & THROTTLE_HOT)
        collect(c, gpu, FINDING_HEAT_LIMIT, SEVERITY_CRITICAL, 0.95, 0, "GPU %d %s throttling%s", gpu->index, is(f),
                heat_words(gpu, number));
    if (slowed)
        collect(c, gpu, FINDING_SLOWDOWN, SEVERITY_WARNING, 0.95, 0, "GPU %d %s throttling (%s)", gpu->index, is(f),
                slowed & THROTTLE_POWER_BRAKE   ? "power brake"
                : slowed & THROTTLE_HW_SLOWDOWN ? "hardware slowdown"
                                                : "current limit");
    if (activity_is_loud(a, gpu, f->load == LOAD_BUSY))
        collect(c, gpu, FINDING_LOUD, SEVERITY_WARNING, 0.95, 0, "GPU %d %s loud%s", gpu->index, is(f), fan_words(gpu, number));
    if (a->symptoms & 1u << SYMPTOM_HOT && f->heat >= HEAT_HOT)
        collect(c, gpu, FINDING_HOT, SEVERITY_WARNING, 0.95, 0, "GPU %d %s hot%s", gpu->index, is(f), heat_words(gpu, number));
    if (a->symptoms & 1u << SYMPTOM_MEMORY_FULL)
        collect(c, gpu, FINDING_VRAM_FULL, SEVERITY_NOTICE, 0.95, 0, "GPU %d's memory %s full", gpu->index, is(f));
    if (power_is_unexplained(gpu))
        collect(c, gpu, FINDING_POWER_UNEXPLAINED, SEVERITY_NOTICE, 0.6, 0,
                "GPU %d %s %lld W while idle: work that just ended, or can't be seen", gpu->index, f->over ? "drew" : "draws",
                words_whole(gpu->power_mw.value, 1000));
}

/* ---- health ---- */

static enum finding_code code_of_check(const struct health_finding *h)
{
    switch (h->check) {
    case HEALTH_CHECK_LOST: return FINDING_LOST;
    case HEALTH_CHECK_ERROR: return FINDING_ERROR;
    case HEALTH_CHECK_DRIVER_VERDICT: return FINDING_DRIVER_VERDICT;
    case HEALTH_CHECK_XID: return FINDING_XID;
    case HEALTH_CHECK_DRIVER_FAULT: return FINDING_DRIVER_FAULT;
    case HEALTH_CHECK_ECC: return FINDING_ECC;
    case HEALTH_CHECK_ROW_REMAP: return FINDING_ROW_REMAP;
    case HEALTH_CHECK_RETIRED_PAGES: return FINDING_RETIRED_PAGES;
    case HEALTH_CHECK_REPAIR: return FINDING_REPAIR;
    case HEALTH_CHECK_SLOWDOWN: return FINDING_SLOWDOWN;
    case HEALTH_CHECK_TEMPERATURE: return FINDING_HEAT_LIMIT;
    case HEALTH_CHECK_PCIE_LINK: return FINDING_PCIE_LINK;
    case HEALTH_CHECK_PCIE_REPLAYS: return FINDING_PCIE_REPLAYS;
    case HEALTH_CHECK_NVLINK: return FINDING_NVLINK;
    case HEALTH_CHECK_FAN: return h->state >= HEALTH_FAILING ? FINDING_FAN_STOPPED : FINDING_FAN_FAILING;
    case HEALTH_CHECK_COOLING: return FINDING_COOLING;
    case HEALTH_CHECK_COUNT: break;
    }
    return FINDING_CANNOT_KNOW;
}

static enum severity severity_of_health(enum health_state state)
{
    return state >= HEALTH_FAILING ? SEVERITY_CRITICAL : state == HEALTH_DEGRADED ? SEVERITY_WARNING : SEVERITY_NOTICE;
}

static const struct gpu *gpu_of(const struct snapshot *s, int gpu_index)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == gpu_index)
            return &s->gpus[i];
    return NULL;
}

void collect_health(struct collection *c, const struct health *health)
{
    for (size_t i = 0; health && i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        const struct gpu *gpu = i < c->now->gpu_count ? gpu_of(c->now, v->gpu_index) : NULL;
        for (size_t k = 0; k < v->finding_count; k++) {
            const struct health_finding *h = &v->findings[k];
            struct finding found = {
                .code = code_of_check(h), .severity = severity_of_health(h->state), .confidence = 0.95, .since = h->since};
            /* A slowdown for heat is the heat's finding. */
            if (h->check == HEALTH_CHECK_SLOWDOWN && gpu && reading_or(gpu->throttle_bits, 0) & THROTTLE_HOT)
                found.code = FINDING_HEAT_LIMIT;
            if (gpu)
                collect_sentence(c, gpu, v->gpu_index, found, h->reason);
            else if (h->check == HEALTH_CHECK_LOST && h->state == HEALTH_LOST)
                collect(c, NULL, FINDING_LOST, SEVERITY_CRITICAL, 0.95, 0, "GPU %d (%s) was there and is no longer listed",
                        v->gpu_index, v->id.name[0] ? v->id.name : "unknown");
        }
    }
}

/* ---- forecasts ---- */

enum { VRAM_SOON_S = 900, HEAT_SOON_S = 300 };

void collect_forecast(struct collection *c, const struct forecast *forecast)
{
    for (size_t i = 0; forecast && i < forecast->count; i++) {
        const struct forecast_gpu *g = &forecast->gpus[i];
        const struct gpu *gpu = gpu_of(c->now, g->gpu_index);
        char span[WORDS_SIZE];
        if (!gpu)
            continue;
        if (g->vram.when.verdict == FORECAST_EXPECTED && g->vram.when.likely_s < VRAM_SOON_S)
            collect(c, gpu, FINDING_VRAM_FULL_SOON, SEVERITY_WARNING, 0.8, g->vram.pid,
                    "GPU %d will run out of memory in about %s at this rate%s%s", gpu->index,
                    forecast_span_words(g->vram.when.likely_s, span), g->vram.name[0] ? ": " : "", g->vram.name);
        if (g->heat.when.verdict == FORECAST_EXPECTED && g->heat.when.likely_s < HEAT_SOON_S)
            collect(c, gpu, FINDING_THROTTLE_SOON, SEVERITY_NOTICE, 0.6, 0,
                    "GPU %d will reach its temperature limit in about %s at this rate", gpu->index,
                    forecast_span_words(g->heat.when.likely_s, span));
    }
}

/* ---- what could be looked at ---- */

static bool was_looked_at(struct reading r)
{
    return r.state == READING_OK || r.state == READING_UNSUPPORTED;
}

void collect_looked(struct collection *c, size_t position, const struct gpu *gpu)
{
    struct gpu_looked *l = &c->verdict->gpus[position];
    const struct {
        enum finding_area area;
        bool looked;
        const char *what;
    } areas[] = {
        {AREA_ERRORS, was_looked_at(gpu->ecc_uncorrected) && was_looked_at(gpu->recovery_action), "error counters"},
        {AREA_LINK, was_looked_at(gpu->pcie_width), "PCIe link"},
        {AREA_HEAT, was_looked_at(gpu->temp_mdegc), "temperature"},
        {AREA_FAN, was_looked_at(gpu->fan_permille) || was_looked_at(gpu->fan_rpm), "fan"},
        {AREA_POWER, was_looked_at(gpu->power_mw), "power"},
        {AREA_CLOCKS, was_looked_at(gpu->clock_graphics_khz) && was_looked_at(gpu->throttle_bits), "clocks"},
        {AREA_MEMORY, was_looked_at(gpu->mem_used_bytes), "memory"},
        {AREA_WORK, was_looked_at(gpu->util_permille) && gpu->processes_state != READING_DENIED, "processes"},
    };
    l->gpu_index = gpu->index;
    struct say missing = SAY(l->missing);
    for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
        if (areas[i].looked)
            l->looked |= 1u << areas[i].area;
        else
            say(&missing, "%s%s", missing.len ? ", " : "", areas[i].what);
    }
}

/* ---- the list ---- */

/* What another finding of the same GPU says better. */
static bool is_implied(struct collection *c, const struct finding *f)
{
    static const struct {
        enum finding_code code, by;
    } implied[] = {
        {FINDING_HOT, FINDING_HEAT_LIMIT},           {FINDING_HOT, FINDING_MEMORY_HOT},     {FINDING_HOT, FINDING_FAN_STOPPED},
        {FINDING_VRAM_FULL_SOON, FINDING_VRAM_FULL}, {FINDING_LOUD, FINDING_HEAT_LIMIT},    {FINDING_CLOCKS_LOW, FINDING_SLOWDOWN},
        {FINDING_THROTTLE_SOON, FINDING_HEAT_LIMIT}, {FINDING_ECC, FINDING_DRIVER_VERDICT},
    };
    for (size_t i = 0; i < ARRAY_LEN(implied); i++)
        if (implied[i].code == f->code && find(c, f->gpu_index, implied[i].by) &&
            find(c, f->gpu_index, implied[i].by)->severity >= f->severity)
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    return finding_compare(a, b);
}

struct verdict *collection_finish(struct collection *c)
{
    struct verdict *v = c->verdict;
    bool leaves[FINDINGS_PER_GPU * (GPU_MAX + 2)];
    size_t kept = 0;
    for (size_t i = 0; i < v->count; i++)
        leaves[i] = is_implied(c, &v->findings[i]);
    for (size_t i = 0; i < v->count; i++)
        if (!leaves[i])
            v->findings[kept++] = v->findings[i];
    v->count = kept;
    for (size_t i = 0; i < v->count; i++) /* as precise as a hand-over to another program */
        v->findings[i].confidence = (double)(int)(v->findings[i].confidence * 1000 + 0.5) / 1000;
    if (v->count)
        qsort(v->findings, v->count, sizeof v->findings[0], compare);
    struct finding *exact = realloc(v->findings, (v->count + 1) * sizeof *exact);
    v->findings = exact ? exact : v->findings;
    return TAKE(c->verdict);
}
