/* SPDX-License-Identifier: Apache-2.0
 * Chooses sources, and derives the state of each from its answers.
 */
#include "engine/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

static int unknown_source(const char *name, struct error *err)
{
    AUTO_BUF struct buf known = BUF(512);
    struct nearest n;
    nearest_init(&n, name);
    for (size_t i = 0; i < source_registry_count; i++) {
        buf_printf(&known, "%s%s", i ? ", " : "", source_registry[i]->name);
        nearest_try(&n, source_registry[i]->name);
    }
    const char *near = nearest_found(&n);
    return error_set(err, -EINVAL, "unknown source '%s'%s%s%s; known are %s, auto", name, near ? " (did you mean '" : "",
                     near ? near : "", near ? "'?)" : "", known.at ? known.at : "none");
}

static void add_slot(struct slot *s, const struct source_ops *ops, struct str params, bool by_name)
{
    *s = (struct slot){.ops = ops, .by_name = by_name};
    str_copy(s->params, sizeof s->params, params);
    str_copy(s->status.name, sizeof s->status.name, str_from(ops->name));
    s->status.names_driver = ops->names_driver;
}

static int add_automatic(struct slot *slots, size_t max, size_t used)
{
    size_t count = used;
    for (size_t i = 0; i < source_registry_count && count < max; i++) {
        bool there = !source_registry[i]->automatic;
        for (size_t k = 0; k < used && !there; k++)
            there = slots[k].ops == source_registry[i];
        if (!there)
            add_slot(&slots[count++], source_registry[i], STR(""), false);
    }
    return (int)count;
}

int slots_choose(struct slot *slots, size_t max, const char *const *names, size_t count, struct error *err)
{
    if (count == 0)
        return add_automatic(slots, max, 0);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_from(names[i]), name;
        if (!str_cut(&rest, ':', &name))
            return error_set(err, -EINVAL, "a source needs a name");
        if (str_is(name, "auto")) {
            used = (size_t)add_automatic(slots, max, used);
            continue;
        }
        const struct source_ops *ops = source_find(name);
        if (!ops) {
            char text[64];
            str_copy_clean(text, sizeof text, name);
            return unknown_source(text, err);
        }
        if (used == max)
            return error_set(err, -EINVAL, "more than %zu sources", max);
        if (rest.len >= sizeof slots[0].params)
            return error_set(err, -EINVAL, "the parameters of source '%s' are too long", ops->name);
        int rc = source_check(ops, rest.at, err); /* NUL-terminated: the parameters extend to the end of names[i] */
        if (rc < 0)
            return rc;
        add_slot(&slots[used++], ops, rest, true);
    }
    return (int)used;
}

void slots_check_presence(struct slot *slots, size_t count, const struct env *env, struct mono now, bool again)
{
    uint64_t (*asked)(const struct env *) = NULL;
    uint64_t presence = 0;
    for (size_t i = 0; i < count; i++) {
        struct slot *s = &slots[i];
        if (!s->ops->presence || !breaker_set_aside(&s->breaker)) {
            s->presence_known = false;
            continue;
        }
        if (again && s->presence_known)
            continue;
        if (s->ops->presence != asked) {
            asked = s->ops->presence;
            presence = asked(env);
        }
        if (s->presence_known && presence != s->presence)
            s->breaker.until = now;
        s->presence_known = true;
        s->presence = presence;
    }
}

bool slot_wanted(const struct slot *slots, size_t count, size_t which, struct mono now)
{
    const struct slot *s = &slots[which];
    if (s->busy || s->status.state == SOURCE_RELEASED || !breaker_may_try(&s->breaker, now))
        return false;
    if (s->by_name || !s->ops->instead_of)
        return true;
    for (size_t i = 0; i < count; i++) {
        const struct slot *first = &slots[i];
        if (strcmp(first->ops->name, s->ops->instead_of) == 0)
            return !first->busy && !first->open && first->status.init_failures_total + first->status.errors_total > 0;
    }
    return true;
}

/* Whether no GPU can be read: then the source fails as a whole. */
static bool all_gpus_fail(const struct result *r, size_t *failing)
{
    *failing = 0;
    for (size_t i = 0; i < r->gpu_count; i++)
        *failing += r->gpus[i].state == GPU_ERROR || r->gpus[i].state == GPU_LOST;
    return r->gpu_count > 0 && *failing == r->gpu_count;
}

static bool all_gpus_asleep(const struct result *r)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].state != GPU_ASLEEP)
            return false;
    return r->gpu_count > 0;
}

static void count_failure(struct slot *s, struct mono now, bool at_start, const char *message)
{
    if (at_start) {
        s->status.init_failures_total++;
        breaker_start_failure(&s->breaker, now);
        s->status.state = SOURCE_OFF;
    } else {
        s->status.errors_total++;
        breaker_failure(&s->breaker, now);
        s->status.state = breaker_set_aside(&s->breaker) ? SOURCE_SET_ASIDE : SOURCE_FAILING;
    }
    s->status.consecutive_errors = s->breaker.failures_in_a_row;
    str_copy(s->status.message, sizeof s->status.message, str_from(message));
}

void slot_answered(struct slot *s, struct result *r, struct mono now)
{
    bool was_open = s->open;
    s->busy = false;
    s->open = r->open;
    s->known = r->known;
    result_free(s->result);
    s->result = r;
    s->status.out_of_memory = r->rc == -ENOMEM;
    if (r->rc < 0) {
        s->status.gpu_count = 0;
        count_failure(s, now, !was_open && !r->open, r->message);
        if (r->rc == -ETIMEDOUT && s->status.state != SOURCE_SET_ASIDE) /* too slow to answer isn't the same as missing */
            s->status.state = SOURCE_HUNG;
        return;
    }
    s->driver = r->driver;
    s->host = r->host;
    s->status.gpu_count = 0;
    for (size_t i = 0; i < r->gpu_count; i++)
        s->status.gpu_count += r->gpus[i].id.kind == DEVICE_GPU;
    size_t failing;
    if (all_gpus_fail(r, &failing)) {
        count_failure(s, now, false, r->gpus[0].error_message);
        return;
    }
    s->status.errors_total += failing;
    s->status.implausible_total += r->implausible;
    breaker_success(&s->breaker);
    s->status.consecutive_errors = 0;
    s->status.state = all_gpus_asleep(r) ? SOURCE_ASLEEP : SOURCE_OK;
    s->status.message[0] = '\0';
}

void slot_hung(struct slot *s, struct mono now)
{
    char time[WORDS_SIZE];
    int64_t whole_s = mono_since_ms(now, s->asked) / MS_PER_S;
    snprintf(s->status.message, sizeof s->status.message, "has not answered for %s; the other sources go on without it",
             words_duration(whole_s * MS_PER_S, time));
    if (s->status.state == SOURCE_HUNG)
        return;
    s->status.state = SOURCE_HUNG;
    s->status.errors_total++;
    s->status.consecutive_errors++;
}

/* ---- when to leave it alone ---- */

void breaker_success(struct breaker *b)
{
    *b = (struct breaker){0};
}

static void set_aside(struct breaker *b, struct mono now)
{
    b->pause_ms = b->pause_ms ? MIN_OF(b->pause_ms * 2, (int64_t)BREAKER_PAUSE_LONGEST_MS) : BREAKER_PAUSE_FIRST_MS;
    b->until.ns = now.ns + b->pause_ms * NS_PER_MS;
}

void breaker_failure(struct breaker *b, struct mono now)
{
    b->failures_in_a_row++;
    if (b->failures_in_a_row > BREAKER_FAILURES_MAX)
        set_aside(b, now);
}

void breaker_start_failure(struct breaker *b, struct mono now)
{
    b->failures_in_a_row++;
    set_aside(b, now);
}

bool breaker_may_try(const struct breaker *b, struct mono now)
{
    return b->pause_ms == 0 || now.ns >= b->until.ns;
}
