/* SPDX-License-Identifier: Apache-2.0
 * Other people's views of our tables.
 */
#include "store/schema/others.h"

#include <errno.h>

#include "base/cleanup.h"

enum { TEXTS_MAX = 1 << 20 };

#define ADVICE "drop it, run `whirr db migrate`, and create it again"

/* Ours are made by views.c. Views of views hold on to those, which stay. */
static const char query[] =
    "SELECT DISTINCT v.oid::regclass::text, v.relkind::text, pg_get_viewdef(v.oid), array_to_string(v.reloptions, ', '), "
    "t.relname::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass JOIN pg_class v "
    "ON v.oid = r.ev_class AND v.relkind IN ('v', 'm') JOIN pg_class t ON t.oid = d.refobjid AND d.refclassid = "
    "'pg_class'::regclass WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND t.relname IN "
    "('samples', 'host_samples', 'minutes', 'hours', 'host_minutes', 'host_hours', 'process_minutes', 'process_hours', 'energy', "
    "'energy_hours') AND NOT (v.relnamespace = current_schema()::regnamespace AND v.relname IN ('gpu_stats', 'host_stats', "
    "'gpu_stats_minute', 'gpu_stats_hour', 'host_stats_minute', 'host_stats_hour', 'process_stats', 'process_stats_minute', "
    "'process_stats_hour', 'energy_stats_minute', 'energy_stats_hour', 'event_log', 'alert_log')) ORDER BY 1";

static int note(struct db_statement *q, struct others *ret, struct error *err)
{
    struct str name = db_text(q, 0);
    if (str_is(db_text(q, 1), "m")) {
        char view[128], table[64];
        str_copy(view, sizeof view, name);
        str_copy(table, sizeof table, db_text(q, 4));
        return error_set(err, -EEXIST,
                         "the materialized view '%s' reads the table '%s', which this version of whirr replaces; " ADVICE, view,
                         table);
    }
    buf_add(&ret->texts, name.at, name.len);
    buf_char(&ret->texts, '\0');
    buf_printf(&ret->texts, "CREATE OR REPLACE VIEW " STR_FMT, STR_ARG(name));
    if (!db_is_null(q, 3))
        buf_printf(&ret->texts, " WITH (" STR_FMT ")", STR_ARG(db_text(q, 3)));
    struct str text = db_text(q, 2);
    buf_text(&ret->texts, " AS ");
    buf_add(&ret->texts, text.at, text.len);
    buf_char(&ret->texts, '\0');
    return 0;
}

int others_note(struct db *db, struct others *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    *ret = (struct others){.texts = BUF(TEXTS_MAX)};
    int rc = db_prepare(db, query, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1)
        rc = note(q, ret, err);
    return rc == 0 && ret->texts.failed ? error_set(err, -ENOMEM, "out of memory") : rc;
}

int others_restore(struct db *db, const struct others *others, struct error *err)
{
    const char *at = others->texts.at, *end = at ? at + others->texts.len : at;
    while (at < end) {
        const char *name = at, *text = name + strlen(name) + 1;
        struct error why = {0};
        int rc = db_exec(db, text, &why);
        if (rc == -ENOTCONN)
            return error_set(err, rc, "%s", why.text);
        if (rc < 0)
            return error_set(err, -EEXIST, "the view '%s' reads a table that this version of whirr replaces (%s); " ADVICE, name,
                             why.text);
        at = text + strlen(text) + 1;
    }
    return 0;
}

void others_done(struct others *others)
{
    buf_done(&others->texts);
}
