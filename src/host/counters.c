/* SPDX-License-Identifier: Apache-2.0
 * A small table of named counters, independent of what they count.
 */
#include "host/counters.h"

struct counter *counters_find(struct counters *c, struct str name, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < c->count; i++)
        if (str_is(name, c->items[i].name))
            return &c->items[i];
    if (c->count == COUNTERS_MAX || name.len >= COUNTER_NAME_SIZE)
        return NULL;
    *is_new = true;
    struct counter *counter = &c->items[c->count++];
    *counter = (struct counter){0};
    str_copy(counter->name, sizeof counter->name, name);
    return counter;
}

void counter_advance(struct counter *c, bool only_start, uint64_t in, uint64_t out, uint64_t *in_sum, uint64_t *out_sum)
{
    if (!only_start && in >= c->in && out >= c->out) {
        *in_sum += in - c->in;
        *out_sum += out - c->out;
    }
    c->in = in;
    c->out = out;
    c->seen = true;
}

void counters_sweep(struct counters *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!c->items[i].seen)
            continue;
        c->items[i].seen = false;
        if (kept != i)
            c->items[kept] = c->items[i];
        kept++;
    }
    c->count = kept;
}
