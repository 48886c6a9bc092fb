/* SPDX-License-Identifier: Apache-2.0
 * The lifetime of news, and what each kind does to the state.
 */
#include "tui/feed/news.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "tui/fleet_rows.h"

void news_free(struct news *n)
{
    if (!n)
        return;
    snapshot_unref(n->snapshot);
    snapshot_unref(n->whole);
    why_free(n->why);
    for (size_t i = 0; i < n->series_count; i++)
        if (n->series)
            free(n->series[i].points);
    free(n->series);
    free(n->workers);
    free(n->badges);
    top_details_done(&n->details);
    fleet_done(&n->fleet);
    free(n->text);
    free(n);
}

void news_take(struct news *n, struct top *t)
{
    switch (n->kind) {
    case NEWS_SAMPLE:
        snapshot_unref(t->whole);
        t->whole = TAKE(n->whole);
        top_sample(t, TAKE(n->snapshot), TAKE(n->why), n->daemon);
        break;
    case NEWS_TROUBLE: top_trouble(t, n->text ? n->text : ""); break;
    case NEWS_MOMENT:
        if (n->snapshot)
            top_moment(t, n->number, TAKE(n->snapshot), TAKE(n->why), "");
        else
            top_miss(t, &n->missing);
        break;
    case NEWS_NOTE: top_note(t, n->bad, n->text ? n->text : ""); break;
    case NEWS_PANE:
        if (n->number == TAB_GUARD) {
            t->worker_count = n->worker_count;
            t->worker = t->worker_count ? MIN_OF(t->worker, t->worker_count - 1) : 0;
            for (size_t i = 0; i < n->worker_count; i++)
                t->workers[i] = n->workers[i];
        }
        top_pane(t, (enum top_tab)n->number, TAKE(n->text), t->now.ms);
        break;
    case NEWS_BADGES:
        for (size_t i = 0; n->badges && i < n->series_count && i < GPU_MAX; i++)
            t->badges[i] = n->badges[i];
        break;
    case NEWS_ANSWER: top_answer(t, "Fit", TAKE(n->text)); break;
    case NEWS_IDLE: top_idle_since(t, n->pid, n->gpu_index, n->number); break;
    case NEWS_FLEET: top_fleet_take(t, &n->fleet, (struct wall){n->number}); break;
    case NEWS_DETAILS: top_details(t, &n->details); break;
    case NEWS_WHERE: top_where(t, n->pid, TAKE(n->text)); break;
    case NEWS_SERIES:
        for (size_t i = 0; i < n->series_count; i++)
            top_series(t, i, n->number, n->series[i].points, n->series[i].count);
        for (size_t i = 0; i < n->mark_count; i++)
            top_mark(t, &n->marks[i]);
        break;
    }
    news_free(n);
}

struct news *news_new(enum news_kind kind)
{
    struct news *n = calloc(1, sizeof *n);
    if (n)
        n->kind = kind;
    return n;
}
