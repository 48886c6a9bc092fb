/* SPDX-License-Identifier: Apache-2.0
 * A view under construction, column by column. Does not know which views there are.
 */
#pragma once

#include "base/buf.h"
#include "store/schema/schema.h"

enum { VIEW_SQL_MAX = 1 << 18, VIEW_COLUMNS_MAX = 4 * SERIES_COLUMNS_MAX + 32 };

struct view {
    const struct schema *schema;
    const char *name;
    struct buf expressions; /* concatenated, each NUL-terminated */
    struct {
        size_t at;
        char name[64];
        bool done;
    } columns[VIEW_COLUMNS_MAX];
    size_t count;
};

struct view *view_new(const struct schema *schema, const char *name); /* NULL: out of memory */
void view_free(struct view **v);

void view_add(struct view *v, const char *name, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
/* Adds the time of a row for people: text in SQLite, a timestamp in PostgreSQL. */
void view_add_time(struct view *v, const char *name, const char *milliseconds);
/* SQLite recreates an outdated view. PostgreSQL keeps the objects that others have built upon the view. */
int view_make(struct view *v, const char *from, struct error *err);
