/* SPDX-License-Identifier: Apache-2.0
 * The list of ways, and noting a step.
 */
#include "guard/way.h"

#include <string.h>

#include "base/cleanup.h"
#include "guard/way_checkpoint.h"

static const struct way_ops *const ways[] = {
    &way_checkpoint,
};

size_t way_count(void)
{
    return ARRAY_LEN(ways);
}

const struct way_ops *way_at(size_t i)
{
    return i < ARRAY_LEN(ways) ? ways[i] : NULL;
}

const struct way_ops *way_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (strcmp(ways[i]->name, name) == 0)
            return ways[i];
    return NULL;
}

int way_note(struct way_context *c, const char *step, struct error *err)
{
    str_copy(c->entry->step, sizeof c->entry->step, str_from(step));
    return journal_write(c->journal, c->entry, err);
}
