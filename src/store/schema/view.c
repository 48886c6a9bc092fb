/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct view *view_new(const struct schema *schema, const char *name)
{
    struct view *v = calloc(1, sizeof *v);
    if (v)
        *v = (struct view){.schema = schema, .name = name, .expressions = BUF(VIEW_SQL_MAX)};
    return v;
}

void view_free(struct view **v)
{
    if (*v)
        buf_done(&(*v)->expressions);
    free(*v);
}

void view_add(struct view *v, const char *name, const char *format, ...)
{
    if (v->count == VIEW_COLUMNS_MAX)
        return;
    v->columns[v->count].at = v->expressions.len;
    snprintf(v->columns[v->count++].name, sizeof v->columns[0].name, "%s", name);
    va_list args;
    va_start(args, format);
    buf_vprintf(&v->expressions, format, args);
    va_end(args);
    buf_char(&v->expressions, '\0');
}

static void view_emit(struct view *v, size_t column, bool first, struct buf *sql)
{
    buf_printf(sql, "%s%s AS %s", first ? "" : ", ", v->expressions.at + v->columns[column].at, v->columns[column].name);
    v->columns[column].done = true;
}

/* PostgreSQL can only append columns to a view: existing ones keep their place. */
static int view_emit_known(struct view *v, bool *first, struct buf *sql, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(v->schema->db,
                        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
                        "AND table_name = $1 ORDER BY ordinal_position",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, v->name);
    while ((rc = db_step(q, err)) == 1) {
        size_t i = 0;
        while (i < v->count && !str_is(db_text(q, 0), v->columns[i].name))
            i++;
        if (i < v->count) {
            view_emit(v, i, *first, sql);
            *first = false;
        }
    }
    return rc;
}

/* Whether the file already has exactly this view. */
static int view_is_there(const struct view *v, const char *sql, bool *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(v->schema->db, "SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = $1 AND sql = $2", &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, v->name);
    db_bind_text(q, 2, sql);
    rc = db_step(q, err);
    *ret = rc == 1;
    db_reset(q);
    return rc < 0 ? rc : 0;
}

int view_make(struct view *v, const char *from, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(VIEW_SQL_MAX);
    bool sqlite = v->schema->db->ops->kind == DB_SQLITE, first = true, there = false;
    buf_printf(&sql, "CREATE %s %s AS SELECT ", sqlite ? "VIEW" : "OR REPLACE VIEW", v->name);
    int rc = sqlite || v->expressions.failed ? 0 : view_emit_known(v, &first, &sql, err);
    for (size_t i = 0; rc == 0 && i < v->count && !v->expressions.failed; i++) {
        if (v->columns[i].done)
            continue;
        view_emit(v, i, first, &sql);
        first = false;
    }
    buf_printf(&sql, " FROM %s", from);
    if (rc == 0 && (sql.failed || v->expressions.failed))
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && sqlite)
        rc = view_is_there(v, sql.at, &there, err);
    if (rc == 0 && sqlite && !there)
        rc = db_execf(v->schema->db, err, "DROP VIEW IF EXISTS %s", v->name);
    return rc < 0 || there ? rc : db_exec(v->schema->db, sql.at, err);
}

void view_add_time(struct view *v, const char *name, const char *milliseconds)
{
    if (v->schema->db->ops->kind == DB_SQLITE)
        view_add(v, name, "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', (%s) / 1000.0, 'unixepoch')", milliseconds);
    else
        view_add(v, name, "to_timestamp((%s) / 1000.0)", milliseconds);
}
