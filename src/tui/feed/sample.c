/* SPDX-License-Identifier: Apache-2.0
 * A sample, its explanation and its recording.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "tui/feed/internal.h"

enum {
    EXPLAINED_MS = 5000, /* maximum age of an explanation */
    NUMBERS_MS = 1900,   /* the same if its numbers have changed */
};

/* Whether the explanation still holds, although its numbers may have changed. */
static bool same_story(const struct gpu *a, const struct gpu *b)
{
    if (a->state != b->state || a->process_count != b->process_count || a->throttle_bits.state != b->throttle_bits.state ||
        a->throttle_bits.value != b->throttle_bits.value || a->activity.code != b->activity.code)
        return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].pid != b->processes[i].pid)
            return false;
    return true;
}

static bool is_near(struct reading a, struct reading b, int64_t within)
{
    return a.state == b.state && llabs(a.value - b.value) <= within;
}

static bool same_numbers(const struct gpu *a, const struct gpu *b)
{
    return is_near(a->util_permille, b->util_permille, 20) && is_near(a->temp_mdegc, b->temp_mdegc, 1000) &&
           is_near(a->fan_permille, b->fan_permille, 20) &&
           is_near(a->power_mw, b->power_mw, reading_or(a->power_mw, 0) / 50 + 1000) &&
           is_near(a->mem_used_bytes, b->mem_used_bytes, reading_or(a->mem_total_bytes, 0) / 100);
}

/* A daemon's explanation is kept until something relevant changes: asking again costs more than the sample. */
static bool still_explained(const struct feed *f, const struct snapshot *s)
{
    const struct snapshot *before = f->explained;
    if (!before || before->gpu_count != s->gpu_count || s->event_count)
        return false;
    int64_t age_ms = s->taken_at.ms - before->taken_at.ms;
    bool same = age_ms < EXPLAINED_MS;
    for (size_t i = 0; same && i < s->gpu_count; i++)
        same = same_story(&before->gpus[i], &s->gpus[i]) && (age_ms < NUMBERS_MS || same_numbers(&before->gpus[i], &s->gpus[i]));
    return same;
}

/* A new explanation; NULL: keep the previous one. */
static struct why *explain(struct feed *f, const struct snapshot *s)
{
    if (session_asks_daemon(f->session) && still_explained(f, s))
        return NULL;
    struct why *why = session_why(f->session, s);
    if (why) {
        snapshot_unref(f->explained);
        f->explained = snapshot_ref(s);
        return why;
    }
    return NULL;
}

void feed_narrow(const struct feed *f, const struct snapshot **s, struct why **why)
{
    struct gpu_choice choice;
    const struct snapshot *part;
    struct why *own = NULL;
    if (!f->gpus[0] || !snapshot_find_gpus(*s, f->gpus, &choice) || choice.count == (*s)->gpu_count ||
        why_of_gpus(*s, *why, &choice, &part, &own) < 0)
        return;
    snapshot_unref(*s);
    why_free(*why);
    *s = part;
    *why = own;
}

void feed_choose_gpus(struct feed *f, const struct top_request *w)
{
    str_copy(f->gpus, sizeof f->gpus, str_from(w->text));
    snapshot_unref(TAKE(f->explained)); /* it had no words for the others */
    feed_sample(f);
}

void feed_sample(struct feed *f)
{
    struct error err = {0};
    struct mono now = clock_mono(&clock_system);
    unsigned groups = cadence_due(&f->cadence, f->last && cadence_game_runs(f->last->gpus, f->last->gpu_count), now);
    if (!f->last)
        groups &= ~(unsigned)(GROUP_SLOW | GROUP_RARE); /* the next sample has them: show the first frame soon */
    cadence_read(&f->cadence, groups, now);
    if (!f->recorder) /* a recording needs all groups */
        groups |= GROUP_GLANCE;
    const struct snapshot *s = session_sample(f->session, groups, &err);
    if (!s) {
        feed_report(f, NEWS_TROUBLE, true, err.text);
        return;
    }
    if (f->recorder && recorder_add(f->recorder, s, &err) < 0) {
        feed_report(f, NEWS_TROUBLE, true, err.text);
        recorder_close(TAKE(f->recorder), &err);
    }
    memory_give_back(&f->memory, &f->cli->env, s->taken);
    struct news *n = news_new(NEWS_SAMPLE);
    if (!n) {
        snapshot_unref(s);
        return;
    }
    n->why = explain(f, s);
    n->daemon = session_asks_daemon(f->session);
    snapshot_unref(f->whole);
    f->whole = snapshot_ref(s);
    n->whole = snapshot_ref(s);
    feed_narrow(f, &s, &n->why);
    n->snapshot = snapshot_ref(s);
    snapshot_unref(f->last);
    f->last = s;
    mailbox_put(f->news, n);
}
