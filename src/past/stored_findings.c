/* SPDX-License-Identifier: Apache-2.0
 * Findings recorded at the time: for a moment, the verdict; for a span, the episodes of trouble with their own times and numbers.
 * If none are stored, explain_moment.c and explain_span.c judge the rows again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/verdict/graph.h"
#include "insight/view/why.h"
#include "past/span.h"
#include "store/query.h"

enum {
    ROW_AGE_MS = 60000, /* how long an open episode may have lasted beyond its row */
    STORED_MAX = 1024,
};

struct stored {
    struct store_finding *list;
    size_t count;
};

static int stored_findings_note(void *user, const struct store_finding *f)
{
    struct stored *all = user;
    all->list[all->count++] = *f;
    return all->count == STORED_MAX;
}

static int read_stored(struct store *s, const struct store_finding_page *page, struct stored *ret, struct error *err)
{
    ret->list = calloc(STORED_MAX, sizeof *ret->list);
    return ret->list ? store_findings(s, page, stored_findings_note, ret, err) : error_set(err, -ENOMEM, "out of memory");
}

/* ---- a moment ---- */

static bool was_there(const struct store_finding *f, struct wall at)
{
    return f->last_seen.ms >= at.ms || (!f->ended && at.ms - f->last_seen.ms <= ROW_AGE_MS);
}

static int stored_findings_compare(const void *a, const void *b)
{
    return finding_compare(a, b);
}

static struct verdict *make_verdict(const struct stored *all, const struct snapshot *then, struct wall at)
{
    struct verdict *v = verdict_new(then->gpu_count, all->count);
    if (!v)
        return NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct store_finding *f = &all->list[i];
        if (!was_there(f, at))
            continue;
        struct finding *to = &v->findings[v->count++];
        *to = (struct finding){.code = f->code,
                               .severity = f->severity,
                               .confidence = f->confidence,
                               .gpu_index = f->gpu_index,
                               .pid = f->pid,
                               .tense = finding_usual_tense(f->code),
                               .since = f->since,
                               .power_mw = reading_or(f->power_mw, 0)};
        memcpy(to->headline, f->headline, sizeof to->headline);
    }
    if (v->count)
        qsort(v->findings, v->count, sizeof *v->findings, stored_findings_compare);
    return v;
}

int stored_verdict(struct store *s, const char *host, const struct snapshot *then, struct why *why, struct error *err)
{
    struct wall at = then->taken_at;
    struct stored all = {0};
    const struct store_finding_page page = {
        .host = host, .since_ms = at.ms - ROW_AGE_MS, .until_ms = at.ms + 1, .limit = STORED_MAX};
    int rc = read_stored(s, &page, &all, err);
    struct verdict *v = rc == 0 ? make_verdict(&all, then, at) : NULL;
    free(all.list);
    if (rc < 0)
        return rc;
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    if (v->count == 0) { /* from before findings were stored: use the rows */
        verdict_free(v);
        return 0;
    }
    if (why->verdict)
        memcpy(v->gpus, why->verdict->gpus, MIN_OF(v->gpu_count, why->verdict->gpu_count) * sizeof *v->gpus);
    verdict_free(why->verdict);
    why->verdict = v;
    for (size_t i = 0; i < why->gpu_count; i++)
        why->gpus[i].severity = verdict_severity(v, why->gpus[i].gpu_index);
    why->machine.severity = verdict_severity(v, -1);
    return 0;
}

/* ---- a span ---- */

void span_past_tense(const char *headline, char *out, size_t size)
{
    static const char *const verbs[][2] = {{" has been ", " was "},     {" have been ", " were "}, {" is ", " was "},
                                           {" are ", " were "},         {" has ", " had "},        {" have ", " had "},
                                           {" needs ", " needed "},     {" can't ", " couldn't "}, {" draws ", " drew "},
                                           {" does not ", " did not "}, {" doesn't ", " didn't "}, {" will ", " was going to "},
                                           {" keeps ", " kept "},       {" holds ", " held "}};
    const char *first = NULL;
    size_t which = 0;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        const char *at = strstr(headline, verbs[i][0]);
        if (at && (!first || at < first)) {
            first = at;
            which = i;
        }
    }
    if (first)
        snprintf(out, size, "%.*s%s%s", (int)(first - headline), headline, verbs[which][1], first + strlen(verbs[which][0]));
    else
        snprintf(out, size, "%s", headline);
    /* How long it had lasted then would contradict how long it lasted in all. */
    char *lasted = first ? strstr(out, " for ") : NULL;
    for (int64_t ms; lasted; lasted = strstr(lasted + 1, " for "))
        if (duration_parse(str_from(lasted + strlen(" for ")), &ms))
            *lasted = '\0';
}

static const struct store_gpu *stored_findings_gpu_of(const struct span *p, int64_t id)
{
    for (size_t i = 0; i < p->gpu_count; i++)
        if (p->gpus[i].id == id)
            return &p->gpus[i];
    return NULL;
}

static double weight_of(enum severity severity, int64_t lasted_ms)
{
    static const double of[] = {[SEVERITY_INFO] = 0, [SEVERITY_NOTICE] = 12, [SEVERITY_WARNING] = 60, [SEVERITY_CRITICAL] = 90};
    return of[severity] * log2(2 + (double)lasted_ms / MINUTE_MS);
}

static void set_times(const struct span *p, const struct store_finding *f, struct explained_episode *e)
{
    struct wall since = p->told->since, until = p->told->until;
    bool open = !f->ended && until.ms - f->last_seen.ms <= ROW_AGE_MS;
    e->since = (struct wall){MAX_OF(f->first_seen.ms, since.ms)};
    e->until = open ? until : (struct wall){MIN_OF(f->last_seen.ms, until.ms)};
    e->total_ms = e->until.ms - e->since.ms;
    e->end = open ? EPISODE_ONGOING : e->end == EPISODE_ONGOING ? EPISODE_END_UNKNOWN : e->end;
    e->util_permille = f->util_permille;
    e->power_mw = f->power_mw;
    e->temp_max_mdegc = f->temp_max_mdegc;
}

static void begin_episode(const struct span *p, const struct store_finding *f, struct explained_episode *e)
{
    const struct store_gpu *gpu = stored_findings_gpu_of(p, f->gpu_id);
    *e = (struct explained_episode){.gpu_id = f->gpu_id,
                                    .gpu_index = f->gpu_index,
                                    .simulated = gpu && gpu->simulated,
                                    .at = f->worst_at,
                                    .times = 1,
                                    .pid = f->pid};
    set_times(p, f, e);
    if (gpu)
        str_copy(e->gpu_name, sizeof e->gpu_name, str_from(gpu->identity.name));
    str_copy(e->process, sizeof e->process, str_from(f->process));
    str_copy(e->user, sizeof e->user, str_from(f->user));
    str_copy(e->container, sizeof e->container, str_from(f->container));
    span_past_tense(f->headline, e->headline, sizeof e->headline);
    e->part.gpu_index = f->gpu_index;
    e->part.severity = f->severity;
    e->part.cause_count = 1;
    struct why_cause *cause = &e->part.causes[0];
    *cause = (struct why_cause){.code = f->code, .confidence = f->confidence, .pid = f->pid};
    snprintf(cause->text, sizeof cause->text, "%s.", e->headline);
    str_copy(cause->process, sizeof cause->process, str_from(f->process));
    str_copy(e->part.brief.headline, sizeof e->part.brief.headline, str_from(e->headline));
    e->weight = weight_of(f->severity, e->total_ms);
}

static bool overlaps(const struct explained_episode *e, const struct store_finding *f)
{
    return e->gpu_id == f->gpu_id && f->first_seen.ms <= e->until.ms && f->last_seen.ms >= e->since.ms;
}

/* Whether the rows already yielded this episode. It then takes over the finding's times and numbers, which used every sample. */
static bool is_told(const struct span *p, const struct store_finding *f)
{
    for (size_t i = 0; i < p->told->episode_count; i++) {
        struct explained_episode *e = &p->told->episodes[i];
        if (e->headline[0] || !overlaps(e, f) || !episode_is_about(f->code) || e->part.cause_count == 0 ||
            e->part.causes[0].code != f->code)
            continue;
        if (e->times == 1)
            set_times(p, f, e);
        if (f->severity > SEVERITY_INFO && finding_kind(f->code)->area != AREA_HEAT) /* heat is said with the work */
            span_past_tense(f->headline, e->headline, sizeof e->headline);
        return true;
    }
    return false;
}

/* In a span of days, reports recurring trouble once. */
static bool join_again(const struct span *p, const struct explained_episode *e)
{
    for (size_t i = 0; p->days && i < p->told->episode_count; i++) {
        struct explained_episode *before = &p->told->episodes[i];
        if (!before->headline[0] || before->gpu_id != e->gpu_id || before->part.causes[0].code != e->part.causes[0].code ||
            strcmp(before->process, e->process) != 0)
            continue;
        before->until = e->until;
        before->end = e->end;
        before->times++;
        before->total_ms += e->total_ms;
        before->weight = weight_of(before->part.severity, before->total_ms);
        return true;
    }
    return false;
}

/* An effect is told with its root, which was there for at least as long. */
static bool is_effect(const struct stored *all, const struct store_finding *f)
{
    const double strong = 0.8;
    for (size_t i = 0; i < all->count; i++) {
        const struct store_finding *root = &all->list[i];
        if (root->gpu_id == f->gpu_id && root->severity >= f->severity && graph_weight(NULL, root->code, f->code) >= strong &&
            root->first_seen.ms <= f->worst_at.ms && root->last_seen.ms >= f->worst_at.ms)
            return true;
    }
    return false;
}

int span_add_findings(struct span *p, struct error *err)
{
    struct stored all = {0};
    const struct store_finding_page page = {.host = p->host,
                                            .gpu_id = p->only_gpu,
                                            .since_ms = p->told->since.ms,
                                            .until_ms = p->told->until.ms,
                                            .least = SEVERITY_NOTICE,
                                            .limit = STORED_MAX};
    AUTO_FREE struct explained_episode *e = malloc(sizeof *e);
    int rc = e ? read_stored(p->s, &page, &all, err) : error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        if (is_told(p, &all.list[i]) || is_effect(&all, &all.list[i]))
            continue;
        begin_episode(p, &all.list[i], e);
        if (!join_again(p, e))
            span_keep(p->told, e);
    }
    free(all.list);
    return rc;
}
