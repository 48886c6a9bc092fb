/* SPDX-License-Identifier: Apache-2.0
 * When does the history database reach its size limit, or the disk under it become full?
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/forecast/internal.h"

/* A database grows by pages, and a write-ahead log comes and goes. */
#define STEP_BYTES (64.0 * 1024)
/* What is summed up stays longer than the samples: some growth goes on after the first of them are cleaned up. */
#define SUMMED_UP 1.5

void forecast_see_store(struct forecast_memory *m, const struct forecast_store_facts *facts)
{
    int64_t used, disk_free, at_ms = facts->at.ns / NS_PER_MS;
    if (m->has_store && at_ms < m->store.last.t_ms) {
        track_reset(&m->store);
        track_reset(&m->disk);
    }
    m->has_store = true;
    m->store_facts = *facts;
    if (reading_get(facts->used_bytes, &used))
        track_add(&m->store, at_ms, (double)used, MAX_OF(64.0 * 1048576, 0.05 * (double)used));
    /* Minus: what is free falls, and a rise is what is sought. */
    if (reading_get(facts->disk_free_bytes, &disk_free))
        track_add(&m->disk, at_ms, -(double)disk_free, MAX_OF(1024.0 * 1048576, 0.02 * (double)disk_free));
}

/* The disk gets full no matter which program fills it. */
static bool judge_disk(const struct forecast_memory *m, struct forecast_store *s)
{
    struct rise rise;
    int64_t disk_free;
    if (!reading_get(m->store_facts.disk_free_bytes, &disk_free))
        return false;
    if (disk_free < 16 << 20) {
        forecast_explain(&s->when, FORECAST_REACHED, "no space left on the disk");
        s->of_disk = true;
        return true;
    }
    struct forecast_when when = {0};
    if (rise_find(&m->disk, (double)disk_free, STEP_BYTES, &rise) != RISE_FOUND)
        return false;
    rise_when(&rise, &m->disk, 0, &when);
    if (when.verdict != FORECAST_EXPECTED || (s->when.verdict == FORECAST_EXPECTED && s->when.likely_s <= when.likely_s))
        return false;
    char rate[32], left[32];
    words_bytes(llround(rise.line.slope * 3600), rate);
    words_bytes(disk_free, left);
    forecast_explain(&when, FORECAST_EXPECTED, "filling up by %s an hour, %s free", rate, left);
    s->when = when;
    s->bytes_per_s = rise.line.slope;
    s->of_disk = true;
    return true;
}

/* Growth ends when as much is cleaned up as is added. */
static bool held_by_retention(const struct forecast_store_facts *f, const struct rise *rise, double cap, struct forecast_when *ret)
{
    if (f->retention_ms <= 0 || f->kept_ms <= 0)
        return false;
    double left_s = (double)MAX_OF(f->retention_ms - f->kept_ms, 0) / 1000;
    double most = rise->line.level + SUMMED_UP * rise->line.slope * left_s;
    if (most >= cap)
        return false;
    char size[32], after[32];
    words_bytes(llround(rise->line.level + rise->line.slope * left_s), size);
    forecast_span_words((double)f->retention_ms / 1000, after);
    forecast_explain(ret, FORECAST_NEVER, "samples are deleted after %s, which keeps it at about %s", after, size);
    return true;
}

static void judge_cap(const struct forecast_memory *m, struct forecast_store *s)
{
    const struct forecast_store_facts *f = &m->store_facts;
    int64_t cap = 0, used;
    if (!reading_get(f->used_bytes, &used)) {
        forecast_explain(&s->when, FORECAST_UNKNOWN, "the size of the history database is unknown");
        return;
    }
    if (!reading_get(f->cap_bytes, &cap) || cap <= 0) {
        forecast_explain(&s->when, FORECAST_NEVER, "no size limit is set");
        return;
    }
    char text[32], rate[32];
    words_bytes(used, text);
    if (used >= 0.99 * (double)cap) {
        forecast_explain(&s->when, FORECAST_REACHED, "%s stored, the oldest samples are deleted for new ones", text);
        return;
    }
    struct rise rise = {0};
    switch (rise_find(&m->store, (double)used, STEP_BYTES, &rise)) {
    case RISE_UNKNOWN: forecast_explain(&s->when, FORECAST_UNKNOWN, "%s stored, watched for too short a time", text); return;
    case RISE_NONE:
    case RISE_SWINGS: forecast_explain(&s->when, FORECAST_NO_TREND, "steady at %s", text); return;
    case RISE_FOUND: break;
    }
    s->bytes_per_s = rise.line.slope;
    if (held_by_retention(f, &rise, (double)cap, &s->when))
        return;
    rise_when(&rise, &m->store, (double)cap, &s->when);
    words_bytes(llround(rise.line.slope * 86400), rate);
    if (s->when.verdict == FORECAST_EXPECTED)
        forecast_explain(&s->when, FORECAST_EXPECTED, "growing by %s a day, %s stored", rate, text);
    else
        forecast_explain(&s->when, FORECAST_NO_TREND, "growing by %s a day, %s stored: too far ahead to say when", rate, text);
}

void forecast_judge_store(const struct forecast_memory *m, struct forecast_store *ret)
{
    *ret = (struct forecast_store){.used_bytes = m->store_facts.used_bytes,
                                   .cap_bytes = m->store_facts.cap_bytes,
                                   .disk_free_bytes = m->store_facts.disk_free_bytes};
    judge_cap(m, ret);
    judge_disk(m, ret);
}
