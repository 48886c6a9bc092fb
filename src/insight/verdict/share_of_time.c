/* SPDX-License-Identifier: Apache-2.0
 * One bit for each of the last seconds: found or not. Drivers that count the time of a throttle reason themselves know better than
 * samples do, and are believed where they say more.
 */
#include "insight/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/area/area.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"

enum { SECONDS = 640, WORD = 64, WORDS = SECONDS / WORD, MINUTE_S = 60, TEN_S = 600, HELD_MAX = 512 };
/* It comes and goes: so often and for so much of ten minutes, and not longer away than that. Almost a minute without a break is no
 * coming and going any more. */
enum { SPELLS_LEAST = 3, SHARE_LEAST_PERMILLE = 50, AWAY_MAX_S = 60, STEADY_PERMILLE = 950 };
enum { COUNTS = 64, COUNT_EVERY_S = 10, STANDS_LEAST_S = 3 };

struct bits {
    uint64_t word[WORDS]; /* of second s: bit s % SECONDS */
};

struct held {
    struct finding last; /* as it was found last, with its beginning */
    int64_t seen_s;
    uint64_t turn; /* the last one that had it */
    struct bits found;
};

/* What the driver counts, every COUNT_EVERY_S, oldest first. */
struct counted {
    size_t count;
    int64_t at_s[COUNTS], us[COUNTS];
};

struct finding_presence {
    uint64_t turn;
    int64_t now_ms; /* a clock of its own: the wall clock may be set */
    struct wall last_at;
    struct mono last;
    struct bits watched;
    size_t held_count;
    struct held held[HELD_MAX];
    struct counted heat[GPU_MAX];
};

struct finding_presence *presence_new(void)
{
    return calloc(1, sizeof(struct finding_presence));
}

void presence_free(struct finding_presence *p)
{
    free(p);
}

/* ---- seconds ---- */

static void bits_put(struct bits *b, int64_t from_s, int64_t to_s, bool on)
{
    for (int64_t s = MAX_OF(from_s, to_s - SECONDS + 1); s <= to_s; s++) {
        uint64_t *word = &b->word[s % SECONDS / WORD], bit = UINT64_C(1) << s % WORD;
        *word = on ? *word | bit : *word & ~bit;
    }
}

static bool bits_get(const struct bits *b, int64_t s)
{
    return b->word[s % SECONDS / WORD] >> s % WORD & 1;
}

static int64_t bits_count(const struct bits *b, const struct bits *window)
{
    int64_t count = 0;
    for (size_t i = 0; i < WORDS; i++)
        count += __builtin_popcountll(b->word[i] & window->word[i]);
    return count;
}

static struct bits window_of(int64_t now_s, int64_t seconds)
{
    struct bits window = {0};
    bits_put(&window, MAX_OF(now_s - seconds + 1, (int64_t)0), now_s, true);
    return window;
}

/* How often it began. */
static unsigned spells_of(const struct finding_presence *p, const struct held *h, int64_t now_s)
{
    unsigned spells = 0;
    bool before = false;
    for (int64_t s = MAX_OF(now_s - TEN_S + 1, (int64_t)0); s <= now_s; s++) {
        if (!bits_get(&p->watched, s))
            continue;
        spells += !before && bits_get(&h->found, s);
        before = bits_get(&h->found, s);
    }
    return spells;
}

/* The seconds that this sample stands for: those since the one before it, as far as nothing is missing in between. */
static void advance(struct finding_presence *p, const struct snapshot *now, int64_t *from_s)
{
    int64_t passed = now->taken_at.ms - p->last_at.ms, before_s = p->now_ms / MS_PER_S;
    if (p->last.ns && now->taken.ns > p->last.ns)
        passed = mono_since_ms(now->taken, p->last);
    if (!p->last_at.ms || passed < 0 || passed > SECONDS * MS_PER_S) {
        p->held_count = 0;
        memset(p->heat, 0, sizeof p->heat);
        p->watched = (struct bits){0};
        passed = MS_PER_S;
    }
    int64_t most_s = MAX_OF((int64_t)(now->interval_s * 3), (int64_t)STANDS_LEAST_S);
    p->now_ms += passed;
    p->last_at = now->taken_at;
    p->last = now->taken;
    int64_t now_s = p->now_ms / MS_PER_S;
    *from_s = MIN_OF(now_s, MAX_OF(before_s, now_s - most_s) + 1);
    bits_put(&p->watched, before_s + 1, now_s, false);
    for (size_t i = 0; i < p->held_count; i++)
        bits_put(&p->held[i].found, before_s + 1, now_s, false);
    bits_put(&p->watched, *from_s, now_s, true);
}

/* ---- what drivers count ---- */

static void note_count(struct counted *c, int64_t now_s, int64_t us)
{
    if (c->count && us < c->us[c->count - 1])
        c->count = 0; /* it began anew with its driver */
    if (c->count && now_s - c->at_s[c->count - 1] < COUNT_EVERY_S)
        return;
    if (c->count == COUNTS) {
        memmove(c->at_s, c->at_s + 1, (COUNTS - 1) * sizeof c->at_s[0]);
        memmove(c->us, c->us + 1, (COUNTS - 1) * sizeof c->us[0]);
        c->count--;
    }
    c->at_s[c->count] = now_s;
    c->us[c->count++] = us;
}

/* Absent: it was not counted for long enough. */
static struct reading counted_share(const struct counted *c, int64_t now_s, int64_t window_s)
{
    for (size_t i = 0; i + 1 < c->count; i++)
        if (now_s - c->at_s[i] <= window_s + COUNT_EVERY_S) {
            int64_t passed_s = c->at_s[c->count - 1] - c->at_s[i], us = c->us[c->count - 1] - c->us[i];
            return reading_ok(MIN_OF(us / (passed_s * 1000), (int64_t)1000));
        }
    return (struct reading){0};
}

static struct reading larger(struct reading a, struct reading b)
{
    return reading_or(b, -1) > reading_or(a, -1) ? b : a;
}

/* ---- findings ---- */

static struct held *find_held(struct finding_presence *p, const struct finding *f)
{
    for (size_t i = 0; i < p->held_count; i++)
        if (p->held[i].last.code == f->code && p->held[i].last.gpu_index == f->gpu_index && p->held[i].last.pid == f->pid)
            return &p->held[i];
    return NULL;
}

/* A state of the hardware that counts against a GPU: only this is worth a word while it is away. */
static bool may_come_and_go(const struct finding *f)
{
    const struct finding_kind *kind = finding_kind(f->code);
    return f->severity > SEVERITY_INFO && f->tense == TENSE_NOW && kind->effect != EFFECT_HEALTHY && kind->area != AREA_ERRORS;
}

static bool comes_and_goes(const struct finding_presence *p, const struct held *h, int64_t now_s)
{
    return may_come_and_go(&h->last) && now_s - h->seen_s <= AWAY_MAX_S &&
           reading_or(h->last.share_ten_permille, 0) >= SHARE_LEAST_PERMILLE &&
           reading_or(h->last.share_minute_permille, 0) < STEADY_PERMILLE && spells_of(p, h, now_s) >= SPELLS_LEAST;
}

struct windows {
    int64_t now_s;
    struct bits minute, ten;
    int64_t watched_minute_s, watched_ten_s;
};

static void measure(const struct finding_presence *p, struct held *h, const struct windows *w)
{
    struct finding *f = &h->last;
    f->share_minute_permille = reading_ok(bits_count(&h->found, &w->minute) * 1000 / MAX_OF(w->watched_minute_s, (int64_t)1));
    f->share_ten_permille = reading_ok(bits_count(&h->found, &w->ten) * 1000 / MAX_OF(w->watched_ten_s, (int64_t)1));
    if (f->code == FINDING_HEAT_LIMIT && f->gpu_index >= 0 && f->gpu_index < GPU_MAX) {
        const struct counted *c = &p->heat[f->gpu_index];
        f->share_minute_permille = larger(f->share_minute_permille, counted_share(c, w->now_s, MINUTE_S));
        f->share_ten_permille = larger(f->share_ten_permille, counted_share(c, w->now_s, TEN_S));
    }
}

/* "GPU 0 is throttling (power brake), 33% of the last 4m" */
static void say_share(struct finding *f, const struct windows *w)
{
    char span[WORDS_SIZE];
    size_t len = strlen(f->headline);
    f->tense = TENSE_COMES_AND_GOES;
    snprintf(f->headline + len, sizeof f->headline - len, ", %lld%% of the last %s",
             (long long)(f->share_ten_permille.value + 5) / 10, words_duration(w->watched_ten_s * MS_PER_S, span));
}

static void note_found(struct finding_presence *p, struct finding *f, const struct windows *w, int64_t from_s, struct wall now)
{
    struct held *h = find_held(p, f);
    if (!h && p->held_count < HELD_MAX) {
        h = &p->held[p->held_count++];
        *h = (struct held){.last = *f};
        h->last.since = f->since.ms ? f->since : now;
    }
    if (!h)
        return;
    struct wall since = h->last.since;
    bool anew = h->turn + 1 != p->turn;
    h->last = *f;
    h->last.since = since;
    h->seen_s = w->now_s;
    h->turn = p->turn;
    bits_put(&h->found, from_s, w->now_s, true);
    measure(p, h, w);
    bool wavers = comes_and_goes(p, h, w->now_s);
    if (anew && !wavers)
        h->last.since = f->since.ms ? f->since : now;
    *f = h->last;
    if (wavers)
        say_share(f, w);
}

static bool is_readable(const struct snapshot *s, int index)
{
    const struct gpu *gpu = snapshot_gpu(s, index);
    return gpu && gpu->state == GPU_OK;
}

/* What this sample does not have: it is away for a moment, or over. */
static void note_missing(struct finding_presence *p, struct collection *c, const struct windows *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->held_count; i++) {
        struct held *h = &p->held[i];
        bool away = h->turn != p->turn;
        if (away && (!may_come_and_go(&h->last) || !bits_count(&h->found, &w->ten)))
            continue;
        measure(p, h, w);
        if (away && is_readable(c->now, h->last.gpu_index) && comes_and_goes(p, h, w->now_s)) {
            struct finding f = h->last;
            say_share(&f, w);
            collect_finding(c, &f);
        }
        if (kept++ != i)
            p->held[kept - 1] = *h;
    }
    p->held_count = kept;
}

/* Throttling that no sample has met, and that the driver has counted. Many GPUs are throttled a little at the temperature that they
 * are meant to keep: only a hot one is worth a word. */
static void note_counted(struct finding_presence *p, struct collection *c, const struct windows *w)
{
    for (size_t i = 0; i < c->now->gpu_count; i++) {
        const struct gpu *gpu = &c->now->gpus[i];
        int64_t us;
        if (gpu->index < 0 || gpu->index >= GPU_MAX || !reading_get(gpu->throttle_thermal_us, &us))
            continue;
        struct counted *counted = &p->heat[gpu->index];
        note_count(counted, w->now_s, us);
        struct finding f = {.code = FINDING_HEAT_LIMIT,
                            .severity = SEVERITY_WARNING,
                            .confidence = 0.9,
                            .gpu_index = gpu->index,
                            .power_mw = reading_or(gpu->power_mw, 0),
                            .share_minute_permille = counted_share(counted, w->now_s, MINUTE_S),
                            .share_ten_permille = counted_share(counted, w->now_s, TEN_S)};
        if (reading_or(f.share_minute_permille, 0) < SHARE_LEAST_PERMILLE ||
            reading_or(f.share_ten_permille, 0) < SHARE_LEAST_PERMILLE || heat_level(gpu) < HEAT_HOT ||
            verdict_find(c->verdict, gpu->index, f.code) || verdict_find(c->verdict, gpu->index, FINDING_MEMORY_HOT))
            continue;
        snprintf(f.headline, sizeof f.headline, "GPU %d is throttling for heat", gpu->index);
        f.since.ms = c->now->taken_at.ms - (w->now_s - counted->at_s[0]) * MS_PER_S;
        say_share(&f, w);
        collect_finding(c, &f);
    }
}

void presence_take(struct finding_presence *p, struct collection *c)
{
    int64_t from_s;
    p->turn++;
    advance(p, c->now, &from_s);
    struct windows w = {.now_s = p->now_ms / MS_PER_S};
    w.minute = window_of(w.now_s, MINUTE_S);
    w.ten = window_of(w.now_s, TEN_S);
    w.watched_minute_s = bits_count(&p->watched, &w.minute);
    w.watched_ten_s = bits_count(&p->watched, &w.ten);
    for (size_t i = 0; i < c->verdict->count; i++)
        note_found(p, &c->verdict->findings[i], &w, from_s, c->now->taken_at);
    note_missing(p, c, &w);
    note_counted(p, c, &w);
}
