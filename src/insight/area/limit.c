/* SPDX-License-Identifier: Apache-2.0
 * What limits a program: found on its GPU and its links first (limit_gpu.c), then on its host (limit_host.c), each with its words
 * and its advice. Here what is made of it: the finding, the evidence, the answer.
 */
#include "insight/area/limit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "model/finding_code.h"

static bool can_be_judged(const struct gpu *gpu, const struct process *p)
{
    return gpu->state == GPU_OK && !process_draws_desktop(p->name) && p->visible;
}

struct limit_look limit_detect(const struct gpu *gpu, const struct process *p, const struct host *host)
{
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return limit_of(LIMIT_UNJUDGED, 0);
    limit_facts_collect(&f, gpu, p);
    f.host = host;
    struct limit_look found = limit_of_gpu(&f);
    if (limited_by_node(&f, found.code))
        return limit_of(LIMIT_NUMA, 0.65);
    if (!found.code)
        return limit_of_host(&f);
    if (found.code != LIMIT_OTHERS)
        return found;
    /* Beside others: one that waits for its own side would not go faster alone. */
    struct limit_look own = limit_of_host(&f);
    bool own_side =
        own.confidence >= 0.7 && limit_side(own.code) == LIMIT_SIDE_HOST && own.code != LIMIT_HOST_CPU && own.code != LIMIT_LAUNCH;
    return own_side ? own : found;
}

bool limit_wants_host(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return false;
    limit_facts_collect(&f, gpu, p);
    enum limit_side side = limit_side(limit_of_gpu(&f).code);
    return side != LIMIT_SIDE_GPU;
}

const char *limit_missing(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    limit_facts_collect(&f, gpu, p);
    if (!p->host)
        return "what the process does on its host, which was not read";
    if (p->host->state != READING_OK)
        return "what the process does on its host, which whirr may not read here: run whirr with more rights, or ask the daemon";
    if (f.util.state != READING_OK)
        return "the process's share of the GPU, which the driver does not give";
    return f.counted ? NULL : "counters of the GPU's units, which this GPU or driver does not have";
}

/* ---- in words ---- */

static bool is_on_host(enum limit code)
{
    enum limit_side side = limit_side(code);
    return code == LIMIT_PEER || (code != LIMIT_LAUNCH && (side == LIMIT_SIDE_HOST || side == LIMIT_SIDE_NOTHING));
}

bool limit_say(struct text *s, const struct gpu *gpu, const struct process *p)
{
    if (process_stands_stopped(p))
        return text_append(s, "is stopped and uses nothing of the GPU but its memory");
    return is_on_host(p->limit.code) ? limit_say_host(s, gpu, p) : limit_say_gpu(s, gpu, p);
}

const char *limit_rate(int64_t bytes_per_s, char out[SHORT_WORDS])
{
    struct text s = {.at = out, .size = SHORT_WORDS};
    if (bytes_per_s >= 10000000000)
        text_append(&s, "%lld GB/s", words_whole(bytes_per_s, 1000000000));
    else if (bytes_per_s >= 1000000000)
        text_append(&s, "%.1f GB/s", (double)bytes_per_s / 1e9);
    else
        text_append(&s, "%lld MB/s", words_whole(bytes_per_s, 1000000));
    return out;
}

/* "99% busy, 1% at work", where the units of the GPU were counted and the two differ; false: nothing to say. */
static bool limit_say_work(struct text *s, const struct gpu *gpu)
{
    enum { APART = 200 };
    int64_t util, work;
    if (!reading_get(gpu->util_permille, &util) || !reading_get(gpu->sm_active_permille, &work) || util - work < APART)
        return false;
    return text_append(s, "%lld%% busy, %lld%% at work", percent(util), percent(work));
}

/* ---- evidence ---- */

void limit_add_line(struct limit_lines *l, const char *format, ...)
{
    va_list args;
    if (l->count == l->most)
        return;
    va_start(args, format);
    vsnprintf(l->at[l->count++], WHY_LINE_SIZE, format, args);
    va_end(args);
}

size_t limit_evidence(const struct gpu *gpu, const struct process *p, char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE])
{
    struct limit_lines l = {0, WHY_EVIDENCE_MAX, lines};
    limit_gpu_lines(&l, gpu, p);
    limit_host_lines(&l, p);
    return l.count;
}

/* ---- findings ---- */

/* The finding that a limit is; false: it is none, or another area finds it. */
static bool limit_finding(enum limit limit, finding_code *ret)
{
    static const finding_code findings[LIMIT_COUNT] = {
        [LIMIT_UNJUDGED] = FINDING_CODE_COUNT,
#define LIMIT(name, code, side, finding, words, doing) [LIMIT_##name] = FINDING_##finding,
#include "model/limits.def"
#undef LIMIT
    };
    *ret = findings[limit];
    return *ret != FINDING_CODE_COUNT;
}

/* A limit is spoken of where it is likely, and for most of the time. */
static bool is_said(const struct process *p)
{
    return p->limit.confidence >= 0.6 && p->limit.share_permille >= 500;
}

const struct process *limit_waiting(const struct gpu *gpu)
{
    const struct process *found = NULL;
    finding_code code;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (limit_side(p->limit.code) == LIMIT_SIDE_GPU && p->limit.code != LIMIT_NO_TENSOR)
            return NULL;
        if (is_said(p) && limit_finding(p->limit.code, &code) && (!found || gpu_process_order(p, found) < 0))
            found = p;
    }
    return found;
}

static void rules_limit(const struct facts *f, struct why_part *part)
{
    char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], text[WHY_TEXT_SIZE] = "", who[PROCESS_WORDS];
    finding_code code;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        if (!is_said(p) || !limit_finding(p->limit.code, &code) || find_cause(part, code))
            continue;
        struct cause_draft d;
        struct text s = TEXT(text);
        size_t count = limit_evidence(f->gpu, p, lines);
        cause_begin(&d, part, code);
        cause_process(&d, p);
        for (size_t k = 0; k < count; k++)
            support(&d, k == 0 ? p->limit.confidence : 0, "%s", lines[k]);
        limit_say(&s, f->gpu, p);
        if (f->over) {
            char now[WHY_TEXT_SIZE];
            str_copy(now, sizeof now, str_from(text));
            s.len = 0;
            words_past(&s, now);
        }
        text_append(&s, ": ");
        if (!limit_say_work(&s, f->gpu))
            text[s.len -= 2] = '\0';
        cause_end(&d, ": %s %s", process_words(p, LONG_NAME, who), text);
    }
}

/* ---- advice ---- */

size_t limit_advice(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE])
{
    struct limit_advice a = {
        now, gpu, p, strncmp(p->name, "python", 6) == 0, reading_or(now->host.cpu_count, 0), {0, LIMIT_ADVICE_MAX, lines}};
    if (is_on_host(p->limit.code))
        limit_advise_host(&a);
    else
        limit_advise_gpu(&a);
    return a.lines.count;
}

static enum remedy_code remedy_of_limit(enum limit limit)
{
    return limit == LIMIT_LOADERS  ? REMEDY_LOADERS
           : limit == LIMIT_NUMA   ? REMEDY_NUMA
           : limit == LIMIT_CLOCKS ? REMEDY_RESET_CLOCKS
                                   : REMEDY_PROGRAM;
}

void suggest_limits(const struct facts *f, struct why_part *part)
{
    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE];
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        const struct process *p = &f->gpu->processes[i];
        finding_code code;
        if (!is_said(p) || !limit_finding(p->limit.code, &code))
            continue;
        part->remedy_root = code;
        size_t count = limit_advice(f->now, f->gpu, p, lines);
        for (size_t k = 0; k < count; k++)
            remedy_add(part, remedy_of_limit(p->limit.code), "%s", lines[k]);
    }
}

/* ---- the answer about a GPU that waits for its program, or is busy with something that is no work ---- */

static const char *state_of(const struct process *p)
{
    switch (p->limit.code) {
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT:
    case LIMIT_NUMA: return "copying, not computing";
    case LIMIT_KERNEL_WAIT: return "busy, but not at work";
    case LIMIT_NO_TENSOR: return "computing without tensor cores";
    case LIMIT_SPILL:
    case LIMIT_NVLINK: return "waiting for data";
    default: return "mostly waiting";
    }
}

/* A GPU with trouble of its own is spoken of first. */
bool answer_limit(struct text *s, const struct facts *f, struct why_part *part)
{
    const struct process *p = f->over || is_troubled(f) ? NULL : limit_waiting(f->gpu);
    char name[SHORT_WORDS], who[PROCESS_WORDS];
    struct why_brief *brief = &part->brief;
    if (!p)
        return false;
    struct text state = TEXT(brief->state), doing = TEXT(brief->doing);
    text_append(&state, "%s", state_of(p));
    text_append(&doing, "%s ", process_words(p, WITH_OWNER, who));
    limit_say(&doing, f->gpu, p);
    text_append(s, "%s is %s: %s.", words_gpu(f->gpu, true, name), brief->state, brief->doing);
    text_append(s, " ");
    struct text numbers = TEXT(brief->numbers);
    say_readings(&numbers, f, part, SAID_POWER | SAID_FAN, "");
    unsigned said = limit_say_work(s, f->gpu) ? SAID_LOAD : 0;
    say_readings(s, f, part, said, said ? ", " : "");
    return true;
}

const struct area area_limit = {.weigh = rules_limit};
