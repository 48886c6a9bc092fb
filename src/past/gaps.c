/* SPDX-License-Identifier: Apache-2.0
 * Periods without data, and what is known about them.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "past/explain.h"

/* A start event lies within this time of the first sample after it. */
enum { START_BEFORE_MS = 120000, START_AFTER_MS = 60000 };

static int see_start(void *user, const struct store_event_row *event)
{
    bool *started = user;
    if (strstr(event->text, "started"))
        *started = true;
    return *started;
}

/* Whether the daemon started around the end of the gap, so that it did not run before. */
static int find_start(struct store *s, const char *host, struct wall end, bool *ret, struct error *err)
{
    const struct store_event_page page = {
        .host = host, .kind = "daemon", .since_ms = end.ms - START_BEFORE_MS, .until_ms = end.ms + START_AFTER_MS, .limit = 16};
    *ret = false;
    return store_events(s, &page, see_start, ret, err);
}

static void say_gap(struct history_gap *gap, struct wall now)
{
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    moment_format(gap->since, now, since);
    moment_format(gap->until, now, until);
    if (gap->since.ms && gap->until.ms)
        moment_format_span(gap->since, gap->until, now, since, until);
    if (!gap->since.ms && !gap->until.ms)
        snprintf(gap->text, sizeof gap->text, "Nothing was ever stored.");
    else if (!gap->since.ms)
        snprintf(gap->text, sizeof gap->text, "The history begins at %s.", until);
    else if (!gap->until.ms)
        snprintf(gap->text, sizeof gap->text, "Nothing was stored after %s.", since);
    else if (gap->not_running)
        snprintf(gap->text, sizeof gap->text, "whirr was not running between %s and %s.", since, until);
    else
        snprintf(gap->text, sizeof gap->text, "Nothing was stored between %s and %s.", since, until);
}

/* Finds out whether the daemon ran, and writes the sentence. */
static int gap_finish(struct store *s, const char *host, struct wall now, struct history_gap *gap, struct error *err)
{
    int rc = 0;
    if (gap->until.ms && gap->since.ms)
        rc = find_start(s, host, gap->until, &gap->not_running, err);
    say_gap(gap, now);
    return rc;
}

int gap_around(struct store *s, const char *host, struct wall at, struct wall now, struct history_gap *ret, struct error *err)
{
    struct store_host known;
    *ret = (struct history_gap){0};
    int rc = store_find_host(s, host, &known, err);
    if (rc == 0 && known.id)
        rc = store_neighbor(s, known.id, at.ms + 1, true, &ret->since, err);
    if (rc == 0 && known.id)
        rc = store_neighbor(s, known.id, at.ms + 1, false, &ret->until, err);
    struct wall first_seen = known.first_seen;
    /* The exact time is known for the hour in which the history begins. */
    if (rc == 0 && !ret->since.ms && first_seen.ms > ret->until.ms && first_seen.ms - ret->until.ms < level_ms(LEVEL_HOUR))
        ret->until = first_seen;
    return rc < 0 ? rc : gap_finish(s, host, now, ret, err);
}

struct gap_walk {
    struct explained_span *told;
    int64_t last_ms, step_ms; /* end of the newest step with samples */
    struct wall now;
};

static void note_gap(struct gap_walk *w, int64_t from_ms, int64_t to_ms)
{
    struct explained_span *told = w->told;
    if (to_ms - from_ms <= MAX_OF(w->step_ms, (int64_t)START_BEFORE_MS))
        return;
    told->missing_ms += to_ms - from_ms;
    if (told->gap_count < EXPLAIN_GAPS_MAX)
        told->gaps[told->gap_count++] = (struct history_gap){.since = {from_ms}, .until = {to_ms}};
}

static int walk_step(void *user, const struct store_point *point)
{
    struct gap_walk *w = user;
    note_gap(w, w->last_ms, point->at.ms);
    w->last_ms = point->at.ms + w->step_ms;
    return 0;
}

int gaps_within(struct store *s, const char *host, struct explained_span *told, struct error *err)
{
    size_t column = 0;
    struct store_plot plot = {.series = SERIES_HOST,
                              .since_ms = told->since.ms,
                              .until_ms = told->until.ms,
                              .step_ms = level_ms(LEVEL_MINUTE),
                              .columns = &column,
                              .column_count = 1};
    struct gap_walk w = {.told = told, .last_ms = told->since.ms, .now = told->until};
    enum level level;
    struct store_host known;
    int rc = store_find_host(s, host, &known, err);
    if (rc < 0)
        return rc;
    plot.subject = known.id;
    if ((told->until.ms - told->since.ms) / level_ms(LEVEL_MINUTE) >= QUERY_POINTS_MAX)
        plot.step_ms = level_ms(LEVEL_HOUR);
    store_plan(s, &plot, &w.step_ms, &level);
    rc = store_series(s, &plot, walk_step, &w, err);
    note_gap(&w, w.last_ms, told->until.ms);
    for (size_t i = 0; rc == 0 && i < told->gap_count; i++) {
        struct history_gap *gap = &told->gaps[i], whole;
        /* A gap beyond the edge of the span is described with its real ends. */
        if (gap->since.ms == told->since.ms || gap->until.ms == told->until.ms) {
            struct wall inside = {gap->since.ms == told->since.ms ? gap->since.ms : gap->until.ms - 1};
            rc = gap_around(s, host, inside, told->until, &whole, err);
            str_copy(gap->text, sizeof gap->text, str_from(whole.text));
            gap->not_running = whole.not_running;
        } else {
            rc = gap_finish(s, host, told->until, gap, err);
        }
    }
    return rc;
}
