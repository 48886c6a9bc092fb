/* SPDX-License-Identifier: Apache-2.0
 * A machine over time: samples one after the other, and the news that the rules make of them as one line of text each.
 */
#pragma once

#include "rules.h"

#include "alert/alert.h"

struct course {
    struct config *config;
    struct alert_rules *rules;
    struct alert_set set;
    struct snapshot *machine;
    struct store_facts store;
    int64_t start_ms;
    struct buf news; /* "30 fired busy 0 42; " */
    struct alert_notice last;
};

static inline void course_begin(struct course *c, const char *rules, size_t gpus)
{
    *c = (struct course){.start_ms = 1700000000000, .news = BUF(1 << 20)};
    c->rules = rules_of(rules, &c->config);
    c->machine = machine_new(gpus);
    c->machine->interval_s = 5;
    alert_set_init(&c->set, c->rules);
}

static inline void course_end(struct course *c)
{
    alert_set_done(&c->set);
    alert_rules_free(c->rules);
    config_free(c->config);
    snapshot_unref(c->machine);
    buf_done(&c->news);
}

static inline void course_news(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *a)
{
    static const char *const words[] = {"pending", "calmed", "fired", "resolved", "heard"};
    struct course *c = user;
    int64_t at = (c->machine->taken_at.ms - c->start_ms) / 1000;
    buf_printf(&c->news, "%lld %s %s %d%s; ", (long long)at, words[news], a->rule, a->pid ? a->pid : a->gpu_index,
               a->silenced_by[0] ? " silenced" : "");
    alert_notice(a, &c->last);
    (void)rule;
}

static inline void course_step(struct course *c, int64_t at_s)
{
    c->machine->taken_at.ms = c->start_ms + at_s * 1000;
    c->machine->taken.ns = 0; /* the wall clock counts, as after a restart */
    alert_set_step(&c->set, c->machine, &c->store, course_news, c);
    c->machine->event_count = 0;
}

/* From one time to another, every 5 s, both included. */
static inline void course_run(struct course *c, int64_t from_s, int64_t to_s)
{
    for (int64_t t = from_s; t <= to_s; t += 5)
        course_step(c, t);
}

static inline const char *course_told(struct course *c)
{
    return buf_view(&c->news).at;
}

/* What happens when the program ends and starts again. */
static inline void course_restart(struct course *c)
{
    AUTO_BUF struct buf kept = BUF(ALERT_KEEP_MAX);
    struct error err = {0};
    alert_keep_write(&kept, &c->set);
    assert_false(kept.failed);
    alert_set_done(&c->set);
    alert_set_init(&c->set, c->rules);
    if (alert_keep_read(&c->set, buf_view(&kept), &err))
        fail_msg("%s", err.text);
}
