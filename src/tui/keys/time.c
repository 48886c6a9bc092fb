/* SPDX-License-Identifier: Apache-2.0
 * Keys that move through time: the cursor, events, the window of the plots, a typed time.
 */
#include "base/cleanup.h"
#include "base/moment.h"
#include "insight/view/why.h"
#include "tui/keys/internal.h"

void top_go_live(struct top *t)
{
    t->cursor_ms = t->far_until_ms = 0;
    t->waiting = false;
    top_drop_past(t);
    top_make_rows(t);
}

/* Moves the window of the plots if the cursor has left it. */
static void move_plots(struct top *t)
{
    int64_t window = t->settings.window_ms, until = top_until_ms(t);
    if (t->cursor_ms > until - window && t->cursor_ms <= until)
        return;
    int64_t wanted = t->cursor_ms + window / 2;
    if (wanted >= t->now.ms) {
        t->far_until_ms = 0;
        return;
    }
    if (!t->daemon)
        return;
    t->far_until_ms = wanted;
    top_want(t, REQUEST_SERIES)->number = wanted;
}

/* A kept sample in the past tense, without advice, which is for now. Its verdict was worded in the present, so it is judged
 * again; what only the time before it showed keeps its words. */
static struct why *explain_kept(const struct snapshot *kept)
{
    struct why *published = why_explain(kept, NULL), *past = NULL;
    AUTO_SNAPSHOT const struct snapshot *bare = NULL;
    struct snapshot *copy = snapshot_copy(kept);
    if (copy) {
        verdict_free(TAKE(copy->verdict));
        bare = copy;
        past = why_explain_past(bare, NULL, NULL);
    }
    if (past && published && why_severity(past) < why_severity(published)) {
        why_free(past);
        past = NULL;
    }
    if (past) {
        why_free(published);
        published = past;
    }
    for (size_t i = 0; published && i < published->gpu_count; i++)
        published->gpus[i].suggestion_count = 0;
    return published;
}

/* Without a daemon, the past is the kept samples. */
static void show_kept(struct top *t, int64_t at_ms)
{
    const struct snapshot *found = NULL;
    for (size_t i = 0; i < t->kept_count; i++)
        if (t->kept[i]->taken_at.ms <= at_ms)
            found = t->kept[i];
    if (!found && t->kept_count)
        found = t->kept[0];
    if (!found) {
        top_go_live(t);
        top_note(t, true, "There is no past to show: only `whirr serve` keeps one.");
        return;
    }
    t->cursor_ms = found->taken_at.ms;
    top_moment(t, t->cursor_ms, snapshot_ref(found), explain_kept(found),
               found->taken_at.ms > at_ms ? "That is as far back as top remembers; `whirr serve` keeps more." : "");
}

void top_go_to(struct top *t, int64_t at_ms)
{
    if (!t->live)
        return;
    if (at_ms >= t->now.ms) {
        top_go_live(t);
        return;
    }
    t->cursor_ms = at_ms;
    if (t->daemon) {
        t->waiting = true;
        top_want(t, REQUEST_AT)->number = at_ms;
    } else {
        show_kept(t, at_ms);
    }
    if (t->cursor_ms)
        move_plots(t);
}

void top_step(struct top *t, int64_t steps)
{
    if (steps > 0 && !t->cursor_ms) {
        top_note(t, false, "This is now; left goes back in time.");
        return;
    }
    int64_t by = MAX_OF(t->settings.window_ms / 60, t->interval_ms);
    top_go_to(t, (t->cursor_ms ? t->cursor_ms : t->now.ms) + steps * by);
}

/* Moves from a moment that is not stored to the nearest one that is. */
static void leave_gap(struct top *t, int by)
{
    int64_t to = by < 0 ? t->missing.since_ms : t->missing.until_ms;
    if (to)
        top_go_to(t, to);
    else
        top_note(t, false, by < 0 ? "Nothing earlier is stored." : "Nothing later is stored.");
}

void top_go_to_event(struct top *t, int by)
{
    if (t->missing.at_ms) {
        leave_gap(t, by);
        return;
    }
    int64_t from = t->cursor_ms ? t->cursor_ms : t->now.ms;
    const struct top_mark *found = NULL;
    for (size_t i = 0; i < t->mark_count; i++) {
        const struct top_mark *m = &t->marks[i];
        if (by < 0 ? m->at_ms < from && (!found || m->at_ms > found->at_ms)
                   : m->at_ms > from && (!found || m->at_ms < found->at_ms))
            found = m;
    }
    if (found)
        top_go_to(t, found->at_ms);
    else
        top_note(t, false, by < 0 ? "No earlier event in this window." : "No later event in this window.");
}

void top_change_window(struct top *t, int by)
{
    size_t i = 0;
    while (i + 1 < top_window_count && top_windows_ms[i] < t->settings.window_ms)
        i++;
    if ((by < 0 && i == 0) || (by > 0 && i + 1 == top_window_count)) {
        top_note(t, false, by < 0 ? "That is the shortest window." : "That is the longest window.");
        return;
    }
    t->settings.window_ms = top_windows_ms[i + (size_t)by];
    t->far_until_ms = 0;
    top_want(t, REQUEST_SERIES)->number = 0;
    if (t->cursor_ms)
        move_plots(t);
}

void top_key_goto(struct top *t, int key)
{
    if (key == TOP_KEY_ESCAPE) {
        t->mode = MODE_MAIN;
    } else if (key == TOP_KEY_ENTER) {
        struct wall at;
        t->mode = MODE_MAIN;
        if (moment_parse(str_trim(str_from(t->input)), t->now, MOMENT_LOCAL, &at))
            top_go_to(t, at.ms);
        else if (t->input[0])
            top_note(t, true, "Not a time. Try 03:10, -2h, or yesterday 22:00.");
    } else {
        top_edit(t->input, key);
    }
}
