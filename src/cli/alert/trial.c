/* SPDX-License-Identifier: Apache-2.0
 * Applies rules to a course of samples, as the daemon would.
 */
#include "cli/alert/alert.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "config/findings.h"
#include "format/alert.h"
#include "format/json/json.h"
#include "format/table/grid.h"
#include "insight/verdict/judge.h"

bool trial_init(struct trial *t, const struct alert_rules *rules, const struct config *config)
{
    struct finding_settings settings;
    *t = (struct trial){.judge = judge_new()};
    alert_set_init(&t->set, rules);
    config_findings(config, &settings);
    if (t->judge)
        judge_set_settings(t->judge, &settings);
    return t->judge;
}

void trial_done(struct trial *t)
{
    alert_set_done(&t->set);
    judge_free(t->judge);
    free(t->events);
}

/* ---- the course ---- */

static void add_event(struct trial *t, const struct alert *a)
{
    if (t->count == TRIAL_EVENTS_MAX) {
        t->left_out++;
        return;
    }
    if (!ROOM_FOR_ONE(t->events, t->count, t->capacity, 16)) {
        t->failed = true;
        return;
    }
    t->events[t->count++] = (struct trial_event){.from = a->state.started_at, .alert = *a};
}

static bool same_alert(const struct alert *a, const struct alert *b)
{
    return strcmp(a->rule, b->rule) == 0 && a->gpu_index == b->gpu_index && a->pid == b->pid && a->start_key == b->start_key;
}

static void on_news(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *a)
{
    struct trial *t = user;
    (void)rule;
    if (t->which && (a->gpu_index < 0 || a->gpu_index != t->only))
        return;
    if (news == NEWS_FIRED)
        add_event(t, a);
    else if (news == NEWS_CALMED)
        t->pending++;
    for (size_t i = t->count; news == NEWS_RESOLVED && i-- > 0;)
        if (!t->events[i].to.ms && same_alert(&t->events[i].alert, a)) {
            t->events[i].to = a->state.ended_at;
            break;
        }
}

static void count_truths(struct trial *t, const struct snapshot *s)
{
    const struct alert_rule *rule = &t->set.rules->list[0];
    struct subject subject = {.snapshot = s};
    if (t->set.rules->count != 1)
        return;
    if (rule->scope == SCOPE_HOST)
        t->truths[rule_holds(rule, &subject)]++;
    for (size_t i = 0; rule->scope != SCOPE_HOST && i < s->gpu_count; i++) {
        if (t->which && s->gpus[i].index != t->only)
            continue;
        subject.gpu = &s->gpus[i];
        if (rule->scope == SCOPE_GPU)
            t->truths[rule_holds(rule, &subject)]++;
        for (size_t k = 0; rule->scope == SCOPE_PROCESS && k < s->gpus[i].process_count; k++) {
            subject.process = &s->gpus[i].processes[k];
            t->truths[rule_holds(rule, &subject)]++;
        }
    }
}

void trial_see(void *trial, const struct snapshot *s)
{
    struct trial *t = trial;
    int at = t->which ? snapshot_find_gpu(s, t->which) : -1;
    if (t->which && !t->samples)
        t->only = -1;
    if (at >= 0)
        t->only = s->gpus[at].index;
    struct snapshot *judged = snapshot_copy(s);
    if (judged) {
        verdict_free(TAKE(judged->verdict));
        judge_take(t->judge, judged);
        alert_set_step(&t->set, judged, NULL, on_news, t);
        count_truths(t, judged);
    }
    t->failed |= !judged;
    snapshot_unref(judged);
    if (!t->samples++)
        t->first = s->taken_at;
    t->last = s->taken_at;
    t->simulated |= s->gpu_count && s->gpus[0].simulated;
}

/* ---- the result ---- */

static void subject_text(char *text, size_t size, const struct alert *a)
{
    if (a->pid)
        snprintf(text, size, "GPU %d, pid %d", a->gpu_index, (int)a->pid);
    else if (a->gpu_index >= 0)
        snprintf(text, size, "GPU %d", a->gpu_index);
    else
        snprintf(text, size, "%s", a->host[0] ? a->host : "host");
}

static void moment_text(char text[MOMENT_TEXT_SIZE], const struct page *page, const struct trial *t, struct wall at,
                        bool from_start)
{
    char age[NUMBER_SIZE];
    if (!from_start) {
        moment_format(at, page->now, text);
        return;
    }
    show_age(age, page, at.ms - t->first.ms);
    snprintf(text, MOMENT_TEXT_SIZE, "+%s", age);
}

static void events_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start)
{
    static const struct grid_column columns[] = {{"FROM", LEFT, 0},     {"LASTS", RIGHT, 0}, {"RULE", LEFT, 0},
                                                 {"SEVERITY", LEFT, 2}, {"OF", LEFT, 0},     {"SUMMARY", LEFT, 1}};
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < t->count; i++) {
        const struct trial_event *e = &t->events[i];
        char from[MOMENT_TEXT_SIZE], lasts[NUMBER_SIZE], of[96];
        moment_text(from, page, t, e->from, from_start);
        show_age(lasts, page, (e->to.ms ? e->to.ms : t->last.ms) - e->from.ms);
        if (!e->to.ms)
            str_copy(lasts + strlen(lasts), sizeof lasts - strlen(lasts), STR("+"));
        subject_text(of, sizeof of, &e->alert);
        grid_add(&g, INK_PLAIN, from);
        grid_add(&g, INK_PLAIN, lasts);
        grid_add(&g, INK_STRONG, e->alert.rule);
        grid_add(&g, INK_PLAIN, severity_text(e->alert.severity));
        grid_add(&g, INK_PLAIN, of);
        grid_add(&g, INK_PLAIN, e->alert.summary);
    }
    if (t->count)
        grid_write(out, page, &g);
}

void trial_text(struct buf *out, const struct page *page, const struct trial *t, bool from_start)
{
    char length[NUMBER_SIZE];
    if (!t->samples) {
        buf_text(out, "No samples.\n");
        return;
    }
    page_simulated_line(out, page, t->simulated);
    show_age(length, page, t->last.ms - t->first.ms);
    events_text(out, page, t, from_start);
    buf_printf(out, "%zu sample%s over %s: ", t->samples, t->samples == 1 ? "" : "s", length);
    if (t->count)
        buf_printf(out, "would have fired %zu time%s", t->count + t->left_out, t->count + t->left_out == 1 ? "" : "s");
    else
        buf_text(out, "nothing would have fired");
    if (t->pending)
        buf_printf(out, ", %zu time%s the condition did not hold for long enough", t->pending, t->pending == 1 ? "" : "s");
    buf_text(out, ".\n");
    if (t->set.rules->count == 1 && t->truths[TRUTH_UNKNOWN])
        buf_printf(out, "The condition could not be evaluated %zu of %zu times: a reading that it uses is missing there.\n",
                   t->truths[TRUTH_UNKNOWN], t->truths[0] + t->truths[1] + t->truths[2]);
}

static const void *next_alert(const struct answer_at *at, struct answer_step *step)
{
    const struct trial *t = at->record;
    struct alert *shown = at->context;
    if (step->at == t->count)
        return NULL;
    const struct trial_event *e = &t->events[step->at++];
    *shown = e->alert;
    if (e->to.ms) {
        shown->state.phase = ALERT_RESOLVED;
        shown->state.ended_at = e->to;
    }
    return shown;
}

ANSWER_TEST(has_condition, struct trial, of->set.rules->count == 1);
ANSWER_MAKER(make_fired, struct trial, number, (int64_t)(of->count + of->left_out));

ANSWER_TABLE(truths_answer, struct trial)
{
    FIELD(INT, "true", truths[TRUTH_TRUE], NULL);
    FIELD(INT, "false", truths[TRUTH_FALSE], NULL);
    FIELD(INT, "unknown", truths[TRUTH_UNKNOWN], NULL);
}

ANSWER_TABLE(trial_answer, struct trial)
{
    FIELD(MOMENT, "since", first, NULL, OR_NULL);
    FIELD(MOMENT, "until", last, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(INT, "samples", samples, NULL);
    MADE(INT, "fired", make_fired, NULL);
    FIELD(INT, "too_short", pending, NULL);
    PART("condition", truths_answer, "Of a single rule", WHEN(has_condition), MAYBE);
    EACH(OBJECT, "alerts", next_alert, NULL, FIELDS(alert_answer));
}

void trial_json(struct json_writer *j, const struct trial *t)
{
    struct alert shown;
    answer_write(j, &trial_answer, t, &shown);
}
