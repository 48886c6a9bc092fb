/* SPDX-License-Identifier: Apache-2.0
 * What all systems share: counters by name, and when to measure new rates. Reads nothing.
 */
#include "host/machine.h"

#include <stdlib.h>

#include "base/cleanup.h"

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

/* ---- the window ---- */

enum {
    WINDOW_MS = 200,      /* shorter intervals are noise: keep the last rates */
    FIRST_WINDOW_MS = 30, /* a coarse rate is better than none */
};

void machine_window_init(struct machine_window *w, const struct env *env)
{
    w->env = env;
    w->window_ms = WINDOW_MS;
}

int64_t machine_window_left_ms(const struct machine_window *w, struct mono now)
{
    bool first = w->last.cpu_permille.state == READING_PENDING;
    int64_t window_ms = first ? MIN_OF(w->window_ms, (int64_t)FIRST_WINDOW_MS) : w->window_ms;
    return w->measured ? MAX_OF(window_ms - mono_since_ms(now, w->at), (int64_t)0) : 0;
}

bool machine_share(uint64_t before, uint64_t now, uint64_t elapsed, int64_t *ret_permille)
{
    if (now < before)
        return false;
    *ret_permille = (int64_t)MIN_OF((now - before) * 1000 / elapsed, (uint64_t)1000);
    return true;
}

void machine_window_rates(const struct machine_window *w, int rc, int64_t elapsed_ms, const uint64_t sums[2], struct reading *in,
                          struct reading *out)
{
    if (rc < 0)
        *in = *out = reading_absent(reading_state_from_errno(rc));
    else if (!w->measured)
        *in = *out = reading_absent(READING_PENDING);
    else {
        *in = reading_ok((int64_t)((double)sums[0] * MS_PER_S / (double)elapsed_ms));
        *out = reading_ok((int64_t)((double)sums[1] * MS_PER_S / (double)elapsed_ms));
    }
}

static struct host machine_window_last(const struct machine_window *w)
{
    struct host last = w->last;
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        last.kept_from[i] = last.kept_from[i].ns ? last.kept_from[i] : w->last_at;
    return last;
}

void machine_window_keep(const struct machine_window *w, struct host *out, const enum host_metric *which, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum host_metric m = which[i];
        out->metric[m] = w->last.metric[m];
        out->kept_from[m] = w->last.kept_from[m].ns ? w->last.kept_from[m] : w->last_at;
    }
}

void machine_free(struct machine *m)
{
    free(m);
}

void machine_set_window(struct machine *m, int64_t ms)
{
    ((struct machine_window *)m)->window_ms = ms;
}

int64_t machine_left_ms(const struct machine *m)
{
    const struct machine_window *w = (const struct machine_window *)m;
    return machine_window_left_ms(w, clock_mono(w->env->clock));
}

void machine_glance(struct machine *m, int64_t max_age_ms, struct host *out)
{
    const struct machine_window *w = (const struct machine_window *)m;
    if (w->measured && w->last.cpu_permille.state != READING_PENDING &&
        mono_since_ms(clock_mono(w->env->clock), w->at) < max_age_ms)
        *out = machine_window_last(w);
    else
        machine_sample(m, out);
}
