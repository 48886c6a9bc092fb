/* SPDX-License-Identifier: Apache-2.0
 * Answers about the past as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "past/past_json.h"

static const char *detail_name(enum level level)
{
    static const char *const names[LEVEL_COUNT] = {"samples", "minutes", "hours"};
    return names[level];
}

void json_gap(struct json_writer *j, const struct history_gap *g)
{
    jw_object(j);
    json_time(j, "since", g->since);
    json_time(j, "until", g->until);
    jw_key_bool(j, "not_running", g->not_running);
    jw_key_text(j, "text", g->text);
    jw_end(j);
}

/* The processes on the GPUs, as they were known then. */
static void processes(struct json_writer *j, const struct snapshot *s, int only)
{
    char words[PROCESS_WORDS];
    jw_key_array(j, "processes");
    for (size_t g = 0; s && g < s->gpu_count; g++) {
        const struct gpu *gpu = &s->gpus[g];
        for (size_t i = 0; (only == ALL_GPUS || only == (int)g) && i < gpu->process_count; i++) {
            const struct process *p = &gpu->processes[i];
            jw_object(j);
            jw_key_int(j, "gpu_index", gpu->index);
            jw_key_int(j, "pid", p->pid);
            json_words(j, "name", p->name);
            json_words(j, "short_name", process_words(p, SHORT_NAME, words));
            json_words(j, "user", p->user);
            json_words(j, "container", p->container);
            json_words(j, "command", p->command);
            json_scaled(j, "memory_mb", p->mem_bytes, 1.0 / 1048576);
            json_scaled(j, "utilization_percent", p->util_permille, 0.1);
            jw_end(j);
        }
    }
    jw_end(j);
}

static void moment_head(struct json_writer *j, const struct past_question *q, const char *host, const char *detail,
                        const char *note)
{
    jw_object(j);
    json_time(j, "at", q->at);
    json_words(j, "host", host);
    jw_key_text(j, "detail", detail);
    json_words(j, "note", note);
}

static int answer_moment(struct store *s, const struct past_question *q, const char *host, struct json_writer *j, struct error *err)
{
    struct explained_moment m;
    int only = ALL_GPUS, rc = explain_moment(s, host, q->at, q->now, &m, err);
    if (rc < 0)
        return rc;
    if (m.snapshot && q->gpu[0]) {
        only = snapshot_find_gpu(m.snapshot, q->gpu);
        if (only < 0)
            rc = error_set(err, -ENODEV, "there was no GPU '%s' then", q->gpu);
    }
    if (rc == 0) {
        moment_head(j, q, host, m.snapshot ? detail_name(m.level) : NULL, m.note);
        if (m.snapshot) {
            json_why_keys(j, m.snapshot, m.why, only);
        } else {
            char answer[320];
            snprintf(answer, sizeof answer, "Nothing is known about that moment. %s", m.gap.text);
            json_why_nothing(j, answer);
        }
        processes(j, m.snapshot, only);
        jw_key(j, "gap");
        if (m.snapshot)
            jw_null(j);
        else
            json_gap(j, &m.gap);
        jw_end(j);
    }
    explained_moment_done(&m);
    return rc;
}

static void episode(struct json_writer *j, const struct explained_episode *e)
{
    jw_object(j);
    jw_key_int(j, "gpu_index", e->gpu_index);
    json_words(j, "gpu_name", e->gpu_name);
    json_time(j, "since", e->since);
    json_time(j, "until", e->until);
    jw_key_number(j, "duration_seconds", (double)e->total_ms / MS_PER_S);
    jw_key_int(j, "times", (int64_t)e->times);
    json_time(j, "explained_at", e->at);
    jw_key(j, "pid");
    if (e->pid)
        jw_int(j, e->pid);
    else
        jw_null(j);
    json_words(j, "process", e->process);
    json_words(j, "user", e->user);
    json_words(j, "container", e->container);
    json_scaled(j, "utilization_percent", e->util_permille, 0.1);
    json_scaled(j, "temperature_max_celsius", e->temp_max_mdegc, 1e-3);
    json_scaled(j, "power_watts", e->power_mw, 1e-3);
    json_words(j, "ended_by", e->ended);
    jw_key_number(j, "weight", e->weight);
    answer_write_keys(j, &why_part_answer, &e->part, NULL);
    jw_end(j);
}

static void span_changes(struct json_writer *j, const struct changes *changes)
{
    char words[CHANGE_WORDS];
    jw_key_array(j, "changes");
    for (size_t i = 0; i < changes->count; i++) {
        const struct gpu_change *c = &changes->list[i];
        jw_object(j);
        jw_key_int(j, "gpu_index", c->gpu_index);
        json_words(j, "gpu_name", c->id.name);
        json_time(j, "since", c->since);
        jw_key_text(j, "what", change_name(c->code));
        jw_key_text(j, "before", c->before);
        jw_key_text(j, "after", c->after);
        jw_key_text(j, "text", change_words(c, words));
        jw_end(j);
    }
    jw_end(j);
}

static void span_body(struct json_writer *j, const struct past_question *q, const struct explained_span *t, const char *host)
{
    bool simulated = false;
    for (size_t i = 0; i < t->episode_count; i++)
        simulated |= t->episodes[i].simulated;
    jw_object(j);
    json_time(j, "since", q->since);
    json_time(j, "until", q->until);
    json_words(j, "host", host);
    jw_key_text(j, "answer", t->answer);
    json_words(j, "note", t->note);
    jw_key_bool(j, "simulated", simulated);
    jw_key_int(j, "gpu_count", (int64_t)t->gpu_count);
    jw_key_number(j, "step_seconds", (double)t->step_ms / MS_PER_S);
    jw_key_array(j, "episodes");
    for (size_t i = 0; i < t->episode_count; i++)
        episode(j, &t->episodes[i]);
    jw_end(j);
    jw_key_int(j, "episodes_left_out", (int64_t)t->left_out);
    jw_key_number(j, "missing_seconds", (double)t->missing_ms / MS_PER_S);
    jw_key_array(j, "gaps");
    for (size_t i = 0; i < t->gap_count; i++)
        json_gap(j, &t->gaps[i]);
    jw_end(j);
    span_changes(j, &t->changes);
    jw_end(j);
}

static int answer_span(struct store *s, const struct past_question *q, const char *host, struct json_writer *j, struct error *err)
{
    struct store_gpu gpu = {0};
    int rc = q->gpu[0] ? store_find_gpu(s, host, q->gpu, &gpu, err) : 0;
    AUTO_FREE struct explained_span *t = rc == 0 ? calloc(1, sizeof *t) : NULL;
    if (rc == 0 && !t)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = explain_span(s, host, gpu.id, q->since, q->until, t, err);
    if (rc < 0)
        return rc;
    span_body(j, q, t, host);
    explained_span_done(t);
    return 0;
}

/* A host's history begins with its first sample. */
static int begin_of_all(struct store *s, const char *name, struct past_question *q, struct error *err)
{
    struct store_host host = {0};
    if (q->kind == PAST_MOMENT || q->since.ms > 0)
        return 0;
    int rc = store_find_host(s, name, &host, err);
    q->since.ms = MIN_OF(host.first_seen.ms, q->until.ms - 1);
    return rc;
}

int past_answer(struct store *s, const struct past_question *q, struct buf *out, struct error *err)
{
    struct json_writer j = JSON_WRITER(out);
    char host[HOST_NAME_SIZE] = "";
    struct error none = {0};
    int rc = told_host(s, q->host[0] ? q->host : NULL, q->own_host, host, &none);
    if (rc == -ENOENT) {
        past_answer_nothing(q, "Nothing was ever stored.", out);
        return 0;
    }
    if (rc < 0)
        return error_set(err, rc == -ENODATA ? -ENODEV : rc, "%s", none.text);
    struct past_question known = *q;
    rc = begin_of_all(s, host, &known, err);
    if (rc < 0)
        return rc;
    rc = q->kind == PAST_MOMENT ? answer_moment(s, &known, host, &j, err)
         : q->kind == PAST_SPAN ? answer_span(s, &known, host, &j, err)
                                : answer_report(s, &known, host, &j, err);
    buf_char(out, '\n');
    return rc < 0 ? rc : out->failed ? error_set(err, -ENOMEM, "cannot show the answer: it is too large, or out of memory") : 0;
}

void past_answer_nothing(const struct past_question *q, const char *why, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    if (q->kind == PAST_MOMENT) {
        moment_head(&j, q, "", NULL, "");
        json_why_nothing(&j, why);
        processes(&j, NULL, ALL_GPUS);
        jw_key(&j, "gap");
        jw_null(&j);
        jw_end(&j);
    } else if (q->kind == PAST_REPORT) {
        answer_no_report(q, why, &j);
    } else {
        struct explained_span nothing = {.since = q->since, .until = q->until, .missing_ms = q->until.ms - q->since.ms};
        str_copy(nothing.answer, sizeof nothing.answer, str_from(why));
        span_body(&j, q, &nothing, "");
    }
    buf_char(out, '\n');
}
