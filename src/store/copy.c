/* SPDX-License-Identifier: Apache-2.0
 * One table after the other, piece by piece (copy_rows.c).
 *
 * The source is read in one snapshot, so that a minute, the samples below it and the mark that it is not summed up yet agree.
 */
#include "store/copy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/copy_tables.h"

enum {
    CELLS_A_PIECE = 300000, /* 24 bytes each, and their texts */
    ROWS_A_PIECE = 15000,
};
#define BUCKET_END 0x7fffffff

static int find_ahead(struct copier *c, int64_t from, int64_t end, int64_t *ret, struct error *err)
{
    db_bind_i64(c->ahead, 1, from);
    db_bind_i64(c->ahead, 2, end);
    int rc = db_step(c->ahead, err);
    if (rc < 0)
        return rc;
    *ret = rc == 1 ? db_i64(c->ahead, 0) : end;
    if (rc == 1)
        db_reset(c->ahead);
    *ret = *ret > from ? *ret : from + 1; /* more rows of one moment than a piece should have */
    return 0;
}

static void report(struct copier *c, int64_t at, int64_t done_subjects, int64_t subjects)
{
    int64_t now = clock_wall(c->options->env->clock).ms / c->table.unit_ms;
    if (subjects)
        c->counts->permille = 1000 * done_subjects / subjects;
    else if (c->first && now > c->first)
        c->counts->permille = 1000 * MAX_OF((int64_t)0, MIN_OF(at, now) - c->first) / (now - c->first);
    if (c->options->progress)
        c->options->progress(c->options->user, c->counts);
}

static int copy_range(struct copier *c, int64_t from, int64_t end, int64_t subject, int64_t subjects, struct error *err)
{
    int rc = 0;
    for (int64_t to = end; rc == 0 && from < end; from = to) {
        if (c->options->cancel && *c->options->cancel)
            return error_set(err, -ECANCELED, "it was stopped");
        rc = find_ahead(c, from, end, &to, err);
        if (rc == 0)
            rc = copy_piece(c, from, to, err);
        report(c, MIN_OF(to, end - 1), subject, subjects);
    }
    return rc;
}

static int prepare_all(struct copier *c, struct error *err)
{
    struct copy_table *t = &c->table;
    size_t rows = MIN_OF((size_t)CELLS_A_PIECE / (t->count + 1), (size_t)ROWS_A_PIECE);
    enum db_kind from = c->from->db->ops->kind, to = c->to->db->ops->kind;
    AUTO_BUF struct buf ahead = BUF(COPY_SQL_MAX), read = BUF(COPY_SQL_MAX), read_to = BUF(COPY_SQL_MAX),
                        insert = BUF(COPY_SQL_MAX), update = BUF(COPY_SQL_MAX);
    copy_ahead_sql(t, from, &c->from_scope, rows, &ahead);
    copy_select_sql(t, from, &c->from_scope, &read);
    copy_select_sql(t, to, &c->to_scope, &read_to);
    copy_insert_sql(t, to, &insert);
    copy_update_sql(t, to, &update);
    int rc = db_prepare_text(c->from->db, &ahead, &c->ahead, err);
    if (rc == 0)
        rc = db_prepare_text(c->from->db, &read, &c->read, err);
    if (rc == 0)
        rc = db_prepare_text(c->to->db, &read_to, &c->read_to, err);
    if (rc == 0)
        rc = db_prepare_text(c->to->db, &insert, &c->insert, err);
    if (rc == 0 && t->keys < t->count)
        rc = db_prepare_text(c->to->db, &update, &c->update, err);
    return rc;
}

static void finish_all(struct copier *c)
{
    struct db_statement **const all[] = {&c->ahead, &c->read, &c->read_to, &c->insert, &c->update};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        db_finish(all[i]);
    copy_table_done(&c->table);
}

static int copy_table(struct copier *c, size_t which, struct error *err)
{
    struct copy_table *t = &c->table;
    int rc = copy_table_init(t, which, &c->from->schema, err);
    c->counts->table = which;
    c->counts->permille = 0;
    c->count = &c->counts->tables[which];
    c->count->name = t->name;
    c->first = 0;
    if (rc == 0)
        rc = prepare_all(c, err);
    /* Skip what the destination has already deleted as too old: it would delete it again. */
    int64_t begin_ms = t->form == COPY_PLAIN ? 0 : c->to->horizon_ms[t->series][t->level];
    const struct id_map *subjects = t->series == SERIES_GPU ? &c->gpus : &c->hosts;
    if (rc == 0 && t->form != COPY_BUCKET)
        rc = copy_range(c, begin_ms, t->form == COPY_RAW ? LATEST_MS : INT64_MAX, 0, 0, err);
    for (size_t i = 0; rc == 0 && t->form == COPY_BUCKET && i < subjects->count; i++) {
        c->subject = &subjects->list[i];
        int64_t base = bucket_key(c->subject->from, 0);
        rc = copy_range(c, base + begin_ms / t->unit_ms, base + BUCKET_END, (int64_t)i, (int64_t)subjects->count, err);
    }
    finish_all(c);
    id_map_sort(&c->processes);
    return rc < 0 ? error_prefix(err, "%s", c->count->name) : 0;
}

static int begin_reading(struct store *from, struct error *err)
{
    from->db->takes_time = true;
    return db_exec(from->db,
                   from->db->ops->kind == DB_SQLITE
                       ? "BEGIN"
                       : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; SET LOCAL jit = off",
                   err);
}

static int open_both(struct copier *c, struct error *err)
{
    const struct copy_options *o = c->options;
    const struct store_options options = {.env = o->env, .url = o->to, .host = "", .limits = store_default_limits};
    int rc = store_open_read_only(o->env, o->from, &c->from, err);
    if (rc < 0)
        return rc;
    store_set_cancel(c->from, o->cancel, (struct mono){0});
    rc = begin_reading(c->from, err);
    if (rc == 0)
        rc = store_open(&options, &c->to, err);
    if (rc == 0 && c->from->inode && c->from->inode == c->to->inode && c->from->device == c->to->device)
        return error_set(err, -EINVAL, "both are the same database");
    return rc;
}

int store_copy(const struct copy_options *options, struct copy_counts *ret, struct error *err)
{
    AUTO_FREE struct copier *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = (struct copy_counts){0};
    c->options = options;
    c->counts = ret;
    c->from_scope = c->to_scope = (struct copy_scope){BUF(COPY_SQL_MAX), BUF(COPY_SQL_MAX)};
    piece_init(&c->ours);
    piece_init(&c->theirs);
    int rc = open_both(c, err);
    if (rc == 0)
        rc = copy_prepare_destination(c, err);
    if (rc == 0 && (c->from_scope.gpus.failed || c->to_scope.gpus.failed))
        rc = error_set(err, -ENOMEM, "out of memory");
    ret->hosts = (int64_t)c->hosts.count;
    ret->gpus = (int64_t)c->gpus.count;
    for (size_t i = 0; rc == 0 && i < COPY_TABLES; i++)
        rc = copy_table(c, i, err);
    piece_done(&c->ours);
    piece_done(&c->theirs);
    struct buf *const bufs[] = {&c->from_scope.hosts, &c->from_scope.gpus, &c->to_scope.hosts, &c->to_scope.gpus};
    for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
        buf_done(bufs[i]);
    free(c->hosts.list);
    free(c->gpus.list);
    free(c->processes.list);
    store_close(c->from);
    store_close(c->to);
    return rc;
}

int64_t copy_rows(const struct copy_counts *counts)
{
    int64_t sum = 0;
    for (size_t i = 0; i < COPY_TABLES; i++)
        sum += counts->tables[i].rows;
    return sum;
}

int64_t copy_written(const struct copy_counts *counts)
{
    int64_t sum = 0;
    for (size_t i = 0; i < COPY_TABLES; i++)
        sum += counts->tables[i].written;
    return sum;
}
