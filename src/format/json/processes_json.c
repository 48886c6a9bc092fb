/* SPDX-License-Identifier: Apache-2.0
 * Processes of the GPUs as JSON.
 */
#include <stdio.h>

#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"
#include "model/finding.h"
#include "model/finding_code.h"

/* Why the processes of a GPU are missing from the list. */
static enum reading_state absent_of(const struct gpu *gpu)
{
    bool there = gpu->state == GPU_OK;
    return there ? gpu->processes_state : gpu->state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
}

struct told_processes {
    const struct snapshot *s;
    const struct process_rows *rows;
    const struct gpu *unseen; /* the first whose processes are missing */
    size_t missing, asked;
    enum reading_state state;
    struct wall at;
    char answer[FINDING_HEADLINE_SIZE + GPU_ERROR_SIZE];
};

static const struct gpu *next_unseen(const struct told_processes *told, size_t *at)
{
    for (; *at < told->s->gpu_count; ++*at) {
        bool asked = told->rows->only == ALL_GPUS || told->rows->only == (int)*at;
        if (asked && absent_of(&told->s->gpus[*at]) != READING_OK)
            return &told->s->gpus[(*at)++];
    }
    return NULL;
}

static const void *next_not_listed(const struct answer_at *at, struct answer_step *step)
{
    return next_unseen(at->record, &step->at);
}

/* GPUs whose power the processes don't fully explain. */
static const void *next_not_attributed(const struct answer_at *at, struct answer_step *step)
{
    const struct told_processes *told = at->record;
    for (; step->at < told->s->gpu_count; step->at++)
        if (process_rows_remainder(told->rows, told->s, step->at))
            return &told->s->gpus[step->at++];
    return NULL;
}

static bool make_reason(const struct answer_at *at, union answer_value *ret)
{
    ret->word = reading_state_name(absent_of(at->record));
    return true;
}

ANSWER_TABLE(not_listed_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    MADE(WORD, "reason", make_reason, NULL);
    FIELD(TEXT, "message", error_message, NULL, OR_NULL);
}

ANSWER_TABLE(not_attributed_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(READING, "power_watts", not_attributed_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(rows_answer, struct process_rows)
{
    FIELD(INT, "count", count, NULL);
    FIELD(INT, "hidden", hidden, "Exist, but may not be seen", COUNTS);
}

static const void *next_row(const struct answer_at *at, struct answer_step *step)
{
    const struct process_rows *rows = ((const struct told_processes *)at->record)->rows;
    return step->at < rows->count ? &rows->rows[step->at++] : NULL;
}

SHARED_ANSWER_TABLE(processes_answer, struct told_processes, .name = "Processes")
{
    EACH(OBJECT, "processes", next_row, "Empty with a reason in `absent` where the processes of no GPU could be looked at",
         FIELDS(process_row_answer), STATE(state), STAYS);
    EACH(OBJECT, "not_listed", next_not_listed, "GPUs whose processes could not be looked at", FIELDS(not_listed_answer));
    FIELD(TEXT, "answer", answer,
          "Why the list is empty or not whole: nothing runs, no GPU, no driver, no permission; null where it is whole and has "
          "rows",
          OR_NULL, COUNTS);
    EACH(OBJECT, "not_attributed", next_not_attributed,
         "Per GPU, the power that no visible process explains: idle power, hidden processes, unknown shares. Empty when only "
         "some "
         "processes were asked for",
         FIELDS(not_attributed_answer));
    VIA(KEYS, NULL, rows, rows_answer, NULL);
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
}

/* An empty list may mean that nothing runs, that nothing could be read, or that there are no GPUs. */
void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    struct told_processes told = {.s = s, .rows = rows, .state = READING_OK, .at = s->taken_at};
    const struct finding *first = verdict_main(s->verdict);
    bool known = first && first->gpu_index < 0 && first->code != FINDING_NO_GPU;
    size_t at = 0;
    told.asked = rows->only == ALL_GPUS ? s->gpu_count : 1;
    for (const struct gpu *gpu; (gpu = next_unseen(&told, &at)); told.missing++)
        told.unseen = told.unseen ? told.unseen : gpu;
    const struct gpu *unseen = told.unseen;
    if (told.asked == told.missing && (unseen || known))
        told.state = unseen ? absent_of(unseen) : READING_FAILED;
    if (s->gpu_count == 0)
        snprintf(told.answer, sizeof told.answer, "%s.", known ? first->headline : "No GPU was found on this host");
    else if (unseen && unseen->released)
        snprintf(told.answer, sizeof told.answer, "GPU %d is released on request: its processes are not looked at.", unseen->index);
    else if (unseen && unseen->state == GPU_ASLEEP)
        snprintf(told.answer, sizeof told.answer, "GPU %d is asleep: nothing runs there.", unseen->index);
    else if (unseen)
        snprintf(told.answer, sizeof told.answer, "The processes on %zu of %zu GPU%s could not be looked at (%s%s%s).",
                 told.missing, told.asked, told.asked == 1 ? "" : "s", reading_state_name(absent_of(unseen)),
                 unseen->error_message[0] ? ": " : "", unseen->error_message);
    else if (rows->count == 0)
        snprintf(told.answer, sizeof told.answer, rows->whole ? "No process is using a GPU." : "No such process is using a GPU.");
    answer_write(j, &processes_answer, &told, NULL);
}
