/* SPDX-License-Identifier: Apache-2.0
 * The list of ways, and what is common to all of them.
 */
#include "guard/way.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "guard/way_checkpoint.h"
#include "guard/way_http.h"
#include "guard/way_plain.h"

static const struct way_ops *const ways[] = {&way_checkpoint, &way_command, &way_process, &way_signal};

const char *way_name_at(size_t i, const char **what)
{
    const struct http_way *row = i >= ARRAY_LEN(ways) ? http_way_at(i - ARRAY_LEN(ways)) : NULL;
    if (i >= ARRAY_LEN(ways) && !row)
        return NULL;
    if (what)
        *what = row ? row->what : ways[i]->what;
    return row ? row->name : ways[i]->name;
}

int way_resolve(const char *name, struct way *ret, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (strcmp(ways[i]->name, name) == 0) {
            *ret = (struct way){.name = ways[i]->name, .ops = ways[i]};
            return 0;
        }
    }
    const struct http_way *row = http_way_find(name);
    if (row) {
        *ret = (struct way){.name = row->name, .ops = &way_http, .row = row};
        return 0;
    }
    AUTO_BUF struct buf known = BUF(1024);
    const char *each;
    for (size_t i = 0; (each = way_name_at(i, NULL)); i++)
        buf_printf(&known, "%s%s", i ? ", " : "", each);
    return error_set(err, -EINVAL, "unknown way '%s'; known are %s", name, known.at);
}

int way_busy(const struct way *way, struct way_context *c, struct error *err)
{
    return way->ops->busy ? way->ops->busy(way, c, err) : 0;
}

int way_evict(const struct way *way, struct way_context *c, struct error *err)
{
    return way->ops->evict(way, c, err);
}

int way_resume(const struct way *way, struct way_context *c, struct error *err)
{
    return way->ops->resume(way, c, err);
}

enum way_found way_find_state(const struct way *way, struct way_context *c, struct error *err)
{
    return way->ops->find(way, c, err);
}

bool way_is_ending(const struct way_context *c)
{
    return c->ending && *c->ending;
}

int way_note(struct way_context *c, const char *step, struct error *err)
{
    str_copy(c->entry->step, sizeof c->entry->step, str_from(step));
    return journal_write(c->journal, c->entry, err);
}
