/* SPDX-License-Identifier: Apache-2.0
 * Answers about the past as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "past/past_json.h"

static const char *level_name(enum level level)
{
    static const char *const names[LEVEL_COUNT] = {"samples", "minutes", "hours"};
    return names[level];
}
ANSWER_SHARED_NAMES(history_levels, enum level, level_name, 0, LEVEL_COUNT - 1);

SHARED_ANSWER_TABLE(gap_answer, struct history_gap, .name = "HistoryGap", .about = "A time in which nothing was stored")
{
    FIELD(MOMENT, "since", since, "The last sample before; null: none", OR_NULL);
    FIELD(MOMENT, "until", until, "The first sample after; null: none", OR_NULL);
    FIELD(BOOL, "not_running", not_running, "The daemon was started at the end of it");
    FIELD(TEXT, "text", text, NULL);
}

SHARED_ANSWER_TABLE(past_span_answer, struct past_question)
{
    FIELD(MOMENT, "since", since, "null: from the beginning of a history that has none", OR_NULL, COUNTS);
    FIELD(MOMENT, "until", until, NULL, COUNTS);
}

SHARED_ANSWER_TABLE(process_then_answer, struct process)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    MADE(TEXT, "short_name", make_short_name, "As in Process", OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(TEXT, "container", container, NULL, OR_NULL);
    FIELD(TEXT, "command", command, "Masked", OR_NULL);
}

/* ---- a moment ---- */

struct told_then {
    int gpu_index;
    const struct process *process;
};

ANSWER_TABLE(usage_answer, struct process)
{
    FIELD(OPTION, "memory_mb", mem_bytes, NULL, SCALE(1.0 / 1048576));
    FIELD(OPTION, "utilization_percent", util_permille, NULL, SCALE(0.1));
}

ANSWER_TABLE(then_answer, struct told_then, .name = "ProcessThen",
             .about = "A process on a GPU at a moment of the past; means of its minute")
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    VIA(KEYS, NULL, process, process_then_answer, NULL);
    VIA(KEYS, NULL, process, usage_answer, NULL);
}

struct told_moment {
    struct wall at;
    const char *host, *note;
    bool known; /* something was stored */
    enum level level;
    const struct snapshot *s; /* NULL: nothing was */
    int only;
    const struct history_gap *gap;
    struct told_then then; /* the one being written */
};

static const void *next_process(const struct answer_at *at, struct answer_step *step)
{
    struct told_moment *m = at->context;
    size_t i = step->at++;
    for (size_t g = 0; m->s && g < m->s->gpu_count; g++) {
        const struct gpu *gpu = &m->s->gpus[g];
        if (m->only != ALL_GPUS && m->only != (int)g)
            continue;
        if (i < gpu->process_count) {
            m->then = (struct told_then){gpu->index, &gpu->processes[i]};
            return &m->then;
        }
        i -= gpu->process_count;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(moment_answer, struct told_moment, .name = "WhyThen",
                    .about = "What an explanation of a moment of the past has beside that of now")
{
    FIELD(MOMENT, "at", at, NULL, COUNTS);
    FIELD(WORD, "host", host, "Whose", OR_NULL, COUNTS);
    FIELD(NAME, "detail", level, "What is left of that time", NAMES(history_levels), PRESENT(known));
    FIELD(WORD, "note", note, "What the answer lacks", OR_NULL, COUNTS);
    EACH(OBJECT, "processes", next_process, "Who was on the GPUs", FIELDS(then_answer));
    VIA(OBJECT, "gap", gap, gap_answer, "Why nothing is known; null: something is", OR_NULL);
}

/* why: what is known of it; NULL: nothing, and `nothing` says so. */
static void moment_body(struct json_writer *j, struct told_moment *m, const struct why *why, const char *nothing)
{
    jw_object(j);
    answer_write_keys(j, &moment_answer, m, m);
    if (m->s)
        json_why_keys(j, m->s, why, m->only);
    else
        json_why_nothing(j, nothing);
    jw_end(j);
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
        char nothing[320];
        struct told_moment told = {.at = q->at,
                                   .host = host,
                                   .note = m.note,
                                   .known = m.snapshot != NULL,
                                   .level = m.level,
                                   .s = m.snapshot,
                                   .only = only,
                                   .gap = m.snapshot ? NULL : &m.gap};
        snprintf(nothing, sizeof nothing, "Nothing is known about that moment. %s", m.gap.text);
        moment_body(j, &told, m.why, nothing);
    }
    explained_moment_done(&m);
    return rc;
}

/* ---- a span ---- */

ANSWER_TABLE(episode_answer, struct explained_episode, .name = "Episode")
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", gpu_name, NULL, OR_NULL);
    FIELD(MOMENT, "since", since, NULL, COUNTS);
    FIELD(MOMENT, "until", until, NULL, COUNTS);
    FIELD(AMOUNT, "duration_seconds", total_ms, "All times together", SCALE(1e-3), COUNTS);
    FIELD(INT, "times", times, "How often it came; over days, the same work repeated is one episode", COUNTS);
    FIELD(MOMENT, "explained_at", at, NULL);
    FIELD(INT, "pid", pid, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "process", process, NULL, OR_NULL, COUNTS, FOREIGN);
    FIELD(TEXT, "user", user, NULL, OR_NULL, COUNTS, FOREIGN);
    FIELD(TEXT, "container", container, NULL, OR_NULL);
    FIELD(OPTION, "utilization_percent", util_permille, "Mean", SCALE(0.1));
    FIELD(OPTION, "temperature_max_celsius", temp_max_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "power_watts", power_mw, "Mean", SCALE(1e-3));
    FIELD(TEXT, "ended_by", ended, "A sentence: what ended it; null where that is not known", OR_NULL, COUNTS, FOREIGN);
    FIELD(NUMBER, "weight", weight, "How much it matters; larger is more");
    FIELD(KEYS, NULL, part, NULL, FIELDS(why_part_answer));
}

ANSWER_NAMES(changes, enum change_code, change_name, 0, CHANGE_COUNT - 1);

static bool make_change_words(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= CHANGE_WORDS, "room");
    change_words(at->record, ret->text);
    return true;
}

ANSWER_TABLE(change_answer, struct gpu_change, .name = "PastChange")
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(NAME, "what", code, NULL, NAMES(changes));
    FIELD(TEXT, "before", before, NULL);
    FIELD(TEXT, "after", after, NULL);
    MADE(TEXT, "text", make_change_words, "In words");
}

ANSWER_TABLE(explained_answer, struct explained_span)
{
    FIELD(TEXT, "answer", answer, NULL, COUNTS, FOREIGN);
    FIELD(TEXT, "note", note, NULL, OR_NULL, COUNTS);
    FIELD(INT, "gpu_count", gpu_count, NULL);
    FIELD(AMOUNT, "step_seconds", step_ms, "How finely it was looked at", SCALE(1e-3));
    OBJECTS("episodes", episodes, episode_count, episode_answer, "What is worth explaining, the most important first");
    FIELD(INT, "episodes_left_out", left_out, NULL);
    FIELD(AMOUNT, "missing_seconds", missing_ms, NULL, SCALE(1e-3), COUNTS);
    OBJECTS("gaps", gaps, gap_count, gap_answer, NULL);
    OBJECTS("changes", changes.list, changes.count, change_answer, "What was changed on GPUs in that time, oldest first", COUNTS);
}

struct told_span {
    const struct past_question *q;
    const struct explained_span *explained;
    const char *host;
    bool simulated;
};

SHARED_ANSWER_TABLE(span_answer, struct told_span, .name = "WhySpan", .about = "What happened in a time, by episodes")
{
    VIA(KEYS, NULL, q, past_span_answer, NULL);
    FIELD(WORD, "host", host, NULL, OR_NULL, COUNTS);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    VIA(KEYS, NULL, explained, explained_answer, NULL);
}

static void span_body(struct json_writer *j, const struct past_question *q, const struct explained_span *t, const char *host)
{
    struct told_span told = {.q = q, .explained = t, .host = host};
    for (size_t i = 0; i < t->episode_count; i++)
        told.simulated |= t->episodes[i].simulated;
    answer_write(j, &span_answer, &told, &told);
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
        moment_body(&j, &(struct told_moment){.at = q->at}, NULL, why);
    } else if (q->kind == PAST_REPORT) {
        answer_no_report(q, why, &j);
    } else {
        struct explained_span nothing = {.since = q->since, .until = q->until, .missing_ms = q->until.ms - q->since.ms};
        str_copy(nothing.answer, sizeof nothing.answer, str_from(why));
        span_body(&j, q, &nothing, "");
    }
    buf_char(out, '\n');
}
