/* SPDX-License-Identifier: Apache-2.0
 * Explains a snapshot: each GPU by itself, then the one that matters most for the machine.
 */
#include "insight/view/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/ranks.h"
#include "insight/view/answer.h"
#include "model/finding_code.h"
#include "model/job.h"

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

static bool is_of_job(const struct gpu *gpu, const void *id)
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

struct chosen {
    const struct snapshot *now;
    const struct gpu_choice *choice;
};

static bool is_chosen(const struct gpu *gpu, const void *user)
{
    const struct chosen *c = user;
    const struct gpu *found = snapshot_gpu(c->now, gpu->index);
    return found && c->choice->on[found - c->now->gpus];
}

static bool is_at(const struct gpu *gpu, const void *index)
{
    return gpu->index == *(const int *)index;
}

static int narrow(const struct snapshot *now, const struct why *why, bool (*belongs)(const struct gpu *gpu, const void *to),
                  const void *to, const struct snapshot **ret_now, struct why **ret)
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
        if ((why && i >= why->gpu_count) || !belongs(&part->gpus[i], to)) {
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
    return narrow(now, why, is_of_job, id, ret_now, ret);
}

int why_of_gpus(const struct snapshot *now, const struct why *why, const struct gpu_choice *choice, const struct snapshot **ret_now,
                struct why **ret)
{
    return narrow(now, why, is_chosen, &(struct chosen){now, choice}, ret_now, ret);
}

int why_of_gpu(const struct snapshot *now, const struct why *why, int index, const struct snapshot **ret_now, struct why **ret)
{
    return narrow(now, why, is_at, &index, ret_now, ret);
}
