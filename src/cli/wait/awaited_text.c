/* SPDX-License-Identifier: Apache-2.0
 * What `whirr wait` says about programs: functions of the list alone.
 */
#include "answer/answer.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/wait/wait.h"

void awaited_begin_text(const struct awaited_list *l, const char *asked, struct buf *out)
{
    if (l->count == 1)
        buf_printf(out, "Waiting for %s, PID %d.\n", l->at[0].name, l->at[0].pid);
    else
        buf_printf(out, "Waiting for %zu programs called %s.\n", l->count, asked);
}

int awaited_status(const struct awaited_list *l)
{
    int status = 0;
    for (size_t i = 0; i < l->count; i++)
        status = MAX_OF(status, l->at[i].status);
    return status;
}

void awaited_end_text(const struct awaited_list *l, const char *asked, int64_t waited_ms, struct buf *out)
{
    char took[WORDS_SIZE];
    size_t unknown = 0, failed = 0;
    words_duration(waited_ms, took);
    for (size_t i = 0; i < l->count; i++) {
        unknown += l->at[i].status == END_STATUS_UNKNOWN;
        failed += l->at[i].status > 0;
    }
    if (l->count == 1)
        buf_printf(out, "%s has ended after %s", l->at[0].name, took);
    else
        buf_printf(out, "All %zu programs called %s have ended after %s", l->count, asked, took);
    if (unknown == l->count)
        buf_text(out, "; only the program that started it knows its exit status.\n");
    else if (l->count == 1)
        buf_printf(out, ", exit status %d.\n", l->at[0].status);
    else if (failed)
        buf_printf(out, "; %zu of them failed, the highest exit status is %d.\n", failed, awaited_status(l));
    else
        buf_text(out, unknown ? "; none is known to have failed.\n" : ", each with exit status 0.\n");
}

ANSWER_TABLE(awaited_answer, struct awaited)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL);
    FIELD(BOOL, "ended", ended, NULL);
    FIELD(INT, "exit_status", status, NULL, NONE(END_STATUS_UNKNOWN));
}

struct told_awaited {
    const struct awaited *list;
    size_t count;
    int64_t waited_ms;
};

ANSWER_TABLE(programs_answer, struct told_awaited)
{
    OBJECTS("programs", list, count, awaited_answer, NULL);
    FIELD(AMOUNT, "waited_seconds", waited_ms, NULL, SCALE(1e-3));
}

void awaited_json(const struct awaited_list *l, int64_t waited_ms, struct buf *out)
{
    answer_write(JSON_PAGE(out), &programs_answer, &(struct told_awaited){l->at, l->count, waited_ms}, NULL);
}
