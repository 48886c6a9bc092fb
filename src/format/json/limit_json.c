/* SPDX-License-Identifier: Apache-2.0
 * The limit of a process, as JSON: the key `limit` of every process, and the body of `whirr why PID`.
 */
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"
#include "insight/area/limit.h"

void json_limit(struct json_writer *j, const struct process_limit *l)
{
    jw_key(j, "limit");
    if (l->code)
        answer_write(j, &limit_answer, l, NULL);
    else
        jw_null(j);
}

static void host_keys(struct json_writer *j, const struct host_evidence *h)
{
    jw_key(j, "host");
    if (!h || h->state != READING_OK) {
        jw_null(j);
        return;
    }
    jw_object(j);
    jw_key_int(j, "looks", h->looks);
    jw_key_number(j, "over_seconds", (double)h->over_ms / MS_PER_S);
    for (size_t i = 0; i < EVIDENCE_COUNT; i++)
        json_scaled(j, evidence_table[i].json_key, h->metric[i], evidence_table[i].json_scale);
    json_words(j, "busiest_thread", h->busiest_thread);
    json_words(j, "busiest_child", h->busiest_child);
    json_words(j, "compiler", h->compiler);
    json_words(j, "mount", h->mount);
    json_words(j, "code", h->code);
    json_words(j, "peer", h->peer);
    jw_end(j);
}

static void explained(struct json_writer *j, const struct snapshot *s, const struct process_row *row,
                      const struct limits_told *told)
{
    char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], advice[LIMIT_ADVICE_MAX][WHY_LINE_SIZE], text[WHY_TEXT_SIZE] = "";
    struct text says = TEXT(text);
    const struct process *p = row->process;
    bool judged = p->limit.code != LIMIT_UNJUDGED;
    if (judged)
        limit_say(&says, row->gpu, p);
    jw_object(j);
    jw_key_int(j, "gpu_index", row->gpu->index);
    json_words(j, "gpu_name", row->gpu->id.name);
    jw_key_bool(j, "simulated", row->gpu->simulated);
    json_process_keys(j, p);
    json_words(j, "answer", text);
    jw_key_text(j, "likelihood", judged ? likelihood_words(p->limit.confidence) : NULL);
    jw_key_array(j, "evidence");
    for (size_t i = 0, count = judged ? limit_evidence(row->gpu, p, lines) : 0; i < count; i++)
        jw_text(j, lines[i]);
    jw_end(j);
    jw_key_text(j, "missing", p->limit.code == LIMIT_CANNOT_TELL ? limit_missing(row->gpu, p) : NULL);
    jw_key_array(j, "suggestions");
    for (size_t i = 0, count = limit_advice(s, row->gpu, p, advice); i < count; i++)
        jw_text(j, advice[i]);
    jw_end(j);
    json_words(j, "cpu_time", told->cpu_time);
    json_lines(j, told->lines, told->missing);
    host_keys(j, p->host);
    jw_end(j);
}

void json_limits(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows, const struct limits_told *told)
{
    jw_object(j);
    json_time(j, "timestamp", s->taken_at);
    jw_key_array(j, "processes");
    for (size_t i = 0; i < rows->count; i++)
        explained(j, s, &rows->rows[i], i ? &(struct limits_told){"", NULL, ""} : told);
    jw_end(j);
    jw_end(j);
}
