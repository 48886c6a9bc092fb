/* SPDX-License-Identifier: Apache-2.0
 * The list of processes with its parameters. Snapshots, the database and logs have masked command lines; whole ones are read
 * on request, for a client with the role.
 */
#include "serve/api/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "host/identity.h"
#include "http/exchange.h"

enum { NAME_SIZE = 128, CMDLINE_SIZE = 4096 };

struct process_query {
    char user[NAME_SIZE], name[NAME_SIZE], type[16], sort[24], text[24];
    struct process_filter filter;
    bool secrets;
};

static bool read_query(struct exchange *x, struct process_query *q)
{
    const struct http_message *r = x->request;
    struct process_filter *f = &q->filter;
    int64_t pid;
    if (http_query(r, "user", q->user, sizeof q->user))
        f->user = q->user;
    if (http_query(r, "name", q->name, sizeof q->name))
        f->name = q->name;
    if (http_query(r, "type", q->type, sizeof q->type))
        f->type = strcmp(q->type, "compute") == 0 ? PROCESS_COMPUTE : PROCESS_GRAPHICS;
    if (http_query(r, "pid", q->text, sizeof q->text) && str_to_i64(str_from(q->text), &pid))
        f->pid = (int32_t)pid;
    if (http_query(r, "sort", q->sort, sizeof q->sort))
        f->sort = q->sort;
    if (http_query(r, "show_secrets", q->text, sizeof q->text))
        q->secrets = q->text[0] == 't' || q->text[0] == '1';
    if (f->sort && !process_sort_key(f->sort))
        exchange_error(x, 400, "bad_parameter", "There is no such key to sort by.");
    return !x->done;
}

/* Reads the unmasked command line, if the PID still belongs to the sampled process. */
static void unmask(const struct env *env, struct process *p)
{
    char text[CMDLINE_SIZE];
    int len = p->visible && process_start(env, p->pid) == p->start_key ? process_command(env, p->pid, text, sizeof text) : -1;
    if (len <= 0)
        return;
    while (len > 0 && text[len - 1] == '\0')
        len--;
    for (int i = 0; i < len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    str_copy_clean(p->command, sizeof p->command, (struct str){text, (size_t)len});
}

static struct process *unmask_rows(const struct env *env, struct process_rows *rows)
{
    struct process *copies = calloc(rows->count ? rows->count : 1, sizeof *copies);
    for (size_t i = 0; copies && i < rows->count; i++) {
        copies[i] = *rows->rows[i].process;
        unmask(env, &copies[i]);
        rows->rows[i].process = &copies[i];
    }
    return copies;
}

void get_processes(struct exchange *x)
{
    struct data *d = &x->server->data;
    struct process_query q = {0};
    if (!ready_recent(x, x->server->options.max_age_ms) || !read_query(x, &q))
        return;
    if (q.secrets && !(x->rights & RIGHT_COMMANDS)) {
        if (x->who[0])
            exchange_error(x, 403, "role_needed", "Whole command lines need the role commands.");
        else
            exchange_error_with(x, 401, "WWW-Authenticate: Bearer realm=\"whirr\"\r\n", "token_needed",
                                "Whole command lines need a token with the role commands.");
        return;
    }
    q.filter.only = ready_which_gpu(x);
    if (q.filter.only < ALL_GPUS)
        return;
    if (x->request->query.len == 0) {
        ready_reply(x, data_body(d, BODY_PROCESSES), "application/json");
        return;
    }
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    if (process_rows_init(&rows, d->latest, &q.filter))
        return;
    AUTO_FREE struct process *copies = q.secrets ? unmask_rows(x->server->options.env, &rows) : NULL;
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_processes(JSON_LINE(&out), d->latest, &rows);
    ready_json(x, &out);
}
