/* SPDX-License-Identifier: Apache-2.0
 * The list of methods, and their common parts.
 */
#include "guard/method.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const struct method_ops *const methods[] = {&method_checkpoint, &method_command, &method_process, &method_signal};

/* NULL after the last. */
static const char *method_name_at(size_t i)
{
    if (i < ARRAY_LEN(methods))
        return methods[i]->name;
    const struct server_row *row = server_row_at(i - ARRAY_LEN(methods));
    return row ? row->name : NULL;
}

int method_resolve(const char *name, struct method *ret, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (strcmp(methods[i]->name, name) == 0) {
            *ret = (struct method){.name = methods[i]->name, .ops = methods[i]};
            return 0;
        }
    }
    const struct server_row *row = server_row_find(name);
    if (row) {
        *ret = (struct method){.name = row->name, .ops = &method_http, .row = row};
        return 0;
    }
    AUTO_BUF struct buf known = BUF(1024);
    const char *each;
    for (size_t i = 0; (each = method_name_at(i)); i++)
        buf_printf(&known, "%s%s", i ? ", " : "", each);
    return error_set(err, -EINVAL, "unknown method '%s'; expected %s", name, known.at);
}

int method_busy(const struct method *method, struct method_context *c, struct error *err)
{
    return method->ops->busy ? method->ops->busy(method, c, err) : 0;
}

int method_evict(const struct method *method, struct method_context *c, struct error *err)
{
    return method->ops->evict(method, c, err);
}

int method_resume(const struct method *method, struct method_context *c, struct error *err)
{
    return method->ops->resume(method, c, err);
}

enum method_found method_find_state(const struct method *method, struct method_context *c, struct error *err)
{
    return method->ops->find(method, c, err);
}

bool method_is_ending(const struct method_context *c)
{
    return c->ending && *c->ending;
}

int method_note(struct method_context *c, const char *step, struct error *err)
{
    str_copy(c->entry->step, sizeof c->entry->step, str_from(step));
    return journal_write(c->journal, c->entry, err);
}
