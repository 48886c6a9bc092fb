/* SPDX-License-Identifier: Apache-2.0
 * Processes of the GPUs as JSON.
 */
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"

struct told_processes {
    const struct snapshot *s;
    const struct process_rows *rows;
    enum reading_state state;
    struct wall at;
    char answer[PROCESS_ROWS_ANSWER];
};

static const void *next_not_listed(const struct answer_at *at, struct answer_step *step)
{
    const struct told_processes *told = at->record;
    return process_rows_unseen(told->rows, told->s, &step->at);
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
    ret->word = reading_state_name(process_rows_state(at->record));
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
          "Why the list is empty or not whole: nothing runs, no GPU, no driver, no permission, memory that no visible process "
          "holds; null where it is whole and has rows",
          OR_NULL, COUNTS);
    EACH(OBJECT, "not_attributed", next_not_attributed,
         "Per GPU, the power that no visible process explains: idle power, hidden processes, unknown shares. Empty when only "
         "some "
         "processes were asked for",
         FIELDS(not_attributed_answer));
    VIA(KEYS, NULL, rows, rows_answer, NULL);
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
}

void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    struct told_processes told = {.s = s, .rows = rows, .at = s->taken_at};
    told.state = process_rows_answer(rows, s, told.answer);
    answer_write(j, &processes_answer, &told, NULL);
}
