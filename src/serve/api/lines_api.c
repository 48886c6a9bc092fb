/* SPDX-License-Identifier: Apache-2.0
 * Looks into a program on a GPU for a request: in which lines it spends its time. Only people who control the daemon may ask, since
 * the names of other users' files and functions are their own.
 */
#include "serve/api/core.h"

#include <errno.h>

#include "base/json_writer.h"
#include "format/json/json.h"
#include "format/process_rows.h"
#include "host/frames/looks.h"
#include "serve/api/ready.h"

static void look(void *errand)
{
    struct lines_errand *l = errand;
    const struct lines_request request = {
        .pid = l->pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S, .cancel = &l->cancel, .for_others = true};
    l->rc = lines_take(&l->env, &request, &l->looks, &l->err);
}

static const struct errand_ops looking = {.work = look, .busy = "Another program is being looked into; ask again in two seconds."};

int lines_errand_init(struct lines_errand *l, struct loop *loop)
{
    env_init_system(&l->env);
    return errand_init(&l->errand, &looking, l, loop);
}

/* Frees the previous result, sent or not. */
static void forget(struct lines_errand *l)
{
    if (l->pid && l->rc == 0)
        looks_done(&l->looks);
    l->pid = 0;
}

void lines_errand_end(struct lines_errand *l)
{
    l->cancel = true;
    errand_end(&l->errand);
    forget(l);
}

static void reply(struct exchange *x, const struct lines_errand *l)
{
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    struct program_lines lines;
    if (!ready_find_process(x, l->asked, l->only, &rows))
        return;
    if (l->rc == 0)
        looks_judge(&l->looks, &lines);
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_limits(JSON_LINE(&out), x->server->data.latest, &rows, &(struct limits_told){"", l->rc == 0 ? &lines : NULL, l->err.text});
    exchange_json(x, 200, &out);
}

void get_why_lines(struct exchange *x)
{
    struct lines_errand *l = &x->server->lines;
    if (errand_is_over(&l->errand, x)) {
        reply(x, l);
        return;
    }
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    char asked[PROCESS_WORDS];
    if (!ready_recent(x, -1))
        return;
    if (!http_query(x->request, "process", asked, sizeof asked)) {
        exchange_error(x, 400, "bad_parameter", "process: a PID or a part of a program's name is needed.");
        return;
    }
    int only = ready_which_gpu(x);
    if (only < ALL_GPUS || !ready_find_process(x, asked, only, &rows) || !errand_is_free(&l->errand, x))
        return;
    forget(l);
    const struct process *first = rows.rows[0].process;
    if (rows.rows[0].gpu->simulated || !first->visible) {
        /* Its PID may be another program's here. */
        exchange_error(x, 404, "not_found", "%s.",
                       rows.rows[0].gpu->simulated ? "A simulated program has no lines" : "That program can't be seen from here");
        return;
    }
    l->err = (struct error){0};
    l->rc = -ECANCELED; /* until the look is over: without a thread there is no result to free */
    l->only = only;
    l->pid = first->pid;
    str_copy(l->asked, sizeof l->asked, str_from(asked));
    errand_begin(&l->errand, x);
}
