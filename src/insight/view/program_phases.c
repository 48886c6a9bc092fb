/* SPDX-License-Identifier: Apache-2.0
 * Totals as they come.
 */
#include "insight/view/program_phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/limit.h"
#include "model/metric.h"

int course_init(struct run_course *c)
{
    *c = (struct run_course){.keep_every = 1, .moments = calloc(COURSE_MOMENTS_MAX, sizeof *c->moments)};
    return c->moments ? 0 : -ENOMEM;
}

void course_done(struct run_course *c)
{
    free(c->moments);
    c->moments = NULL;
}

enum limit course_limited_by(const struct run_course *c)
{
    enum limit best = LIMIT_NONE;
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++)
        if (c->limited_s[l] > c->limited_s[best])
            best = (enum limit)l;
    return best;
}

/* ---- totals ---- */

static void course_note(struct course_level *l, struct reading r, double seconds)
{
    int64_t value;
    if (!reading_get(r, &value)) {
        if (l->state != READING_OK && r.state != READING_UNREAD)
            l->state = r.state;
        return;
    }
    l->peak = l->state == READING_OK ? MAX_OF(l->peak, value) : value;
    l->state = READING_OK;
    l->seconds += seconds;
    l->mean = l->seconds > 0 ? l->mean + ((double)value - l->mean) * seconds / l->seconds : (double)l->peak;
}

static void keep(struct run_course *c, const struct course_moment *m)
{
    if (++c->skipped < c->keep_every)
        return;
    c->skipped = 0;
    if (c->moment_count == COURSE_MOMENTS_MAX) {
        for (size_t i = 0; i < COURSE_MOMENTS_MAX / 2; i++)
            c->moments[i] = c->moments[2 * i + 1];
        c->moment_count = COURSE_MOMENTS_MAX / 2;
        c->keep_every *= 2;
    }
    c->moments[c->moment_count++] = *m;
}

void course_see(struct run_course *c, const struct course_moment *m)
{
    double seconds = MAX_OF(m->at_s - c->seconds, 0.0);
    course_note(&c->vram_bytes, m->vram_bytes, seconds);
    course_note(&c->util_permille, m->util_permille, seconds);
    course_note(&c->power_mw, m->power_mw, seconds);
    course_note(&c->temp_mdegc, m->temp_mdegc, seconds);
    course_note(&c->cpu_permille, reading_ok(m->cpu_permille), seconds);
    for (unsigned bit = 0; bit < THROTTLE_COUNT; bit++)
        if (m->throttle & THROTTLE_SLOWED & (1 << bit))
            c->throttled_s[bit] += seconds;
    if (m->throttle & THROTTLE_SLOWED)
        c->slowed_s += seconds;
    if (m->on_gpu)
        c->limited_s[m->limit] += seconds;
    c->on_gpu |= m->on_gpu;
    c->seconds = MAX_OF(c->seconds, m->at_s);
    c->seen++;
    keep(c, m);
}

/* ---- words ---- */

const char *course_kind_name(enum course_kind kind)
{
    static const char *const names[] = {"starting", "loading", "computing", "saving", "waiting", "ending"};
    return names[kind];
}

/* ---- phases; docs/watch.md gives their thresholds to users ---- */

/* Permille of the GPU's time */
enum { COMPUTING_LEAST = 100 };
/* What counts as loading or saving, a second */
enum { READS_LEAST = 20000000, WRITES_LEAST = 20000000, GROWS_LEAST = 64 << 20 };

/* Bursts shorter than this are one with what is around them; so is a phase that is shorter than PHASE_SHARE of the whole. */
#define SMOOTH_S 3.0
#define PHASE_LEAST_S 1.0
#define PHASE_SHARE 0.02

struct phase_span {
    enum course_kind kind;
    size_t first, last; /* moments, both included */
};

static double begin_of(const struct run_course *c, size_t i)
{
    return i ? c->moments[i - 1].at_s : 0;
}

static double seconds_of(const struct run_course *c, const struct phase_span *s)
{
    return c->moments[s->last].at_s - begin_of(c, s->first);
}

/* The mean over the seconds around a moment; -1 when nothing is known. */
static double around(const struct run_course *c, size_t at, size_t *first, size_t *last)
{
    double area = 0, seconds = 0;
    *first = *last = at;
    while (*first > 0 && c->moments[at].at_s - c->moments[*first - 1].at_s <= SMOOTH_S / 2)
        --*first;
    while (*last + 1 < c->moment_count && c->moments[*last + 1].at_s - c->moments[at].at_s <= SMOOTH_S / 2)
        ++*last;
    for (size_t i = *first; i <= *last; i++) {
        double step = MAX_OF(c->moments[i].at_s - begin_of(c, i), 1e-6);
        int64_t util;
        if (!reading_get(c->moments[i].util_permille, &util) && !reading_get(c->moments[i].gpu_util_permille, &util))
            continue;
        area += c->moments[i].on_gpu ? (double)util * step : 0;
        seconds += step;
    }
    return seconds > 0 ? area / seconds : -1;
}

static bool memory_grows(const struct run_course *c, size_t first, size_t last)
{
    int64_t before = first ? reading_or(c->moments[first - 1].vram_bytes, 0) : 0, after = 0;
    for (size_t i = first; i <= last; i++)
        after = MAX_OF(after, reading_or(c->moments[i].vram_bytes, 0));
    return after - before >= MAX_OF((int64_t)GROWS_LEAST, c->vram_bytes.peak / 50);
}

static enum course_kind phases_kind_of(const struct run_course *c, size_t at)
{
    const struct course_moment *m = &c->moments[at];
    size_t first, last;
    if (around(c, at, &first, &last) >= COMPUTING_LEAST)
        return COURSE_COMPUTING;
    int64_t reads = reading_or(m->read_bytes_per_s, 0), writes = reading_or(m->write_bytes_per_s, 0);
    if (writes >= WRITES_LEAST && writes > reads)
        return COURSE_SAVING;
    if (reads >= READS_LEAST || memory_grows(c, at, last))
        return COURSE_LOADING;
    return m->on_gpu ? COURSE_WAITING : COURSE_STARTING;
}

static size_t remove_span(struct phase_span *spans, size_t count, size_t at)
{
    for (size_t i = at; i + 1 < count; i++)
        spans[i] = spans[i + 1];
    return count - 1;
}

static size_t join_equal(struct phase_span *spans, size_t count)
{
    for (size_t i = 1; i < count;) {
        if (spans[i].kind != spans[i - 1].kind) {
            i++;
            continue;
        }
        spans[i - 1].last = spans[i].last;
        count = remove_span(spans, count, i);
    }
    return count;
}

/* Gives the shortest phase to the longer of its neighbors while it is too short, or there are too many. */
static size_t drop_short(const struct run_course *c, struct phase_span *spans, size_t count)
{
    double least = MAX_OF(PHASE_LEAST_S, c->seconds * PHASE_SHARE);
    while (count > 1) {
        size_t at = 0;
        for (size_t i = 1; i < count; i++)
            if (seconds_of(c, &spans[i]) < seconds_of(c, &spans[at]))
                at = i;
        if (seconds_of(c, &spans[at]) >= least && count <= COURSE_PHASES_MAX)
            break;
        bool back = at + 1 == count || (at > 0 && seconds_of(c, &spans[at - 1]) > seconds_of(c, &spans[at + 1]));
        if (back)
            spans[at - 1].last = spans[at].last;
        else
            spans[at + 1].first = spans[at].first;
        count = join_equal(spans, remove_span(spans, count, at));
    }
    return count;
}

static void phases_fill(const struct run_course *c, const struct phase_span *s, struct course_phase *p)
{
    double limited[LIMIT_COUNT] = {0}, util = 0, util_s = 0, power = 0, power_s = 0;
    *p = (struct course_phase){.kind = s->kind, .from_s = begin_of(c, s->first), .seconds = seconds_of(c, s)};
    for (size_t i = s->first; i <= s->last; i++) {
        const struct course_moment *m = &c->moments[i];
        double step = m->at_s - begin_of(c, i);
        int64_t value;
        limited[m->on_gpu && m->limit ? m->limit : LIMIT_NONE] += step;
        if (reading_get(m->util_permille, &value)) {
            util += (double)value * step;
            util_s += step;
        }
        if (reading_get(m->power_mw, &value)) {
            power += (double)value * step;
            power_s += step;
        }
        if (reading_get(m->vram_bytes, &value))
            p->vram_peak_bytes = reading_ok(MAX_OF(reading_or(p->vram_peak_bytes, 0), value));
    }
    p->limit = LIMIT_NONE;
    for (int l = 0; l < LIMIT_COUNT; l++)
        if (limited[l] > limited[p->limit])
            p->limit = (enum limit)l;
    if (util_s > 0)
        p->util_permille = reading_ok(llround(util / util_s));
    if (power_s > 0)
        p->power_mw = reading_ok(llround(power / power_s));
}

size_t course_phases(const struct run_course *c, struct course_phase *phases)
{
    struct phase_span *spans = c->moment_count ? calloc(c->moment_count, sizeof *spans) : NULL;
    size_t count = 0;
    if (!spans)
        return 0;
    for (size_t i = 0; i < c->moment_count; i++)
        spans[count++] = (struct phase_span){phases_kind_of(c, i), i, i};
    count = drop_short(c, spans, join_equal(spans, count));
    for (size_t i = 0; i < count; i++) {
        phases_fill(c, &spans[i], &phases[i]);
        if (i > 0 && phases[i].kind == COURSE_STARTING)
            phases[i].kind = i + 1 == count ? COURSE_ENDING : COURSE_WAITING;
    }
    free(spans);
    return count;
}

/* ---- snapshots to moments ---- */

enum { GAP_MS = 60000 };

/* Of the whole GPU: what it used while it was not watched is part of the run, too. */
static void add_energy(struct run_gpu *r, const struct snapshot *s, const struct gpu *g, struct mono now)
{
    const struct energy_sample sample = {now, s->taken_at, g->power_mw, g->energy_mj};
    const struct energy_used used = energy_step(&r->meter, &sample, GAP_MS);
    r->energy_j += (double)(used.mj + used.unwatched_mj) / 1000;
}

int usage_init(struct run_usage *u, const struct snapshot *first, struct mono now, int only)
{
    *u = (struct run_usage){.gpu_count = first->gpu_count, .only = only, .began = now};
    u->gpus = calloc(first->gpu_count ? first->gpu_count : 1, sizeof *u->gpus);
    if (!u->gpus || course_init(&u->course) < 0) {
        usage_done(u);
        return -ENOMEM;
    }
    for (size_t i = 0; i < first->gpu_count; i++) {
        const struct gpu *g = &first->gpus[i];
        struct run_gpu *r = &u->gpus[i];
        r->index = g->index;
        r->simulated = g->simulated;
        r->vram_before = g->mem_used_bytes;
        str_copy(r->name, sizeof r->name, str_from(g->id.name));
        str_copy(r->uuid, sizeof r->uuid, str_from(g->id.uuid));
        add_energy(r, first, g, now);
    }
    return 0;
}

void usage_done(struct run_usage *u)
{
    course_done(&u->course);
    free(u->gpus);
    u->gpus = NULL;
}

static void usage_add(struct reading *sum, struct reading r)
{
    if (r.state == READING_OK)
        *sum = reading_ok(reading_or(*sum, 0) + r.value);
    else if (sum->state == READING_UNREAD)
        *sum = r;
}

static struct own_part part_of_processes(const struct gpu *g, const struct process_tree *tree)
{
    struct own_part own = {0};
    size_t others = 0;
    for (size_t i = 0; i < g->process_count; i++) {
        const struct process *p = &g->processes[i];
        if (!tree_has(tree, p->pid)) {
            others++;
            continue;
        }
        own.on_gpu = true;
        usage_add(&own.vram_bytes, p->mem_bytes);
        usage_add(&own.util_permille, p->util_permille);
        usage_add(&own.attributed_mw, p->power_mw);
    }
    /* Alone on the GPU: its load is the program's. */
    if (own.on_gpu && own.util_permille.state != READING_OK && !others && !g->processes_hidden)
        own.util_permille = g->util_permille;
    if (own.util_permille.state == READING_OK)
        own.util_permille.value = MIN_OF(own.util_permille.value, 1000);
    return own;
}

static struct own_part whole_gpu(const struct gpu *g, const struct run_gpu *r)
{
    struct own_part own = {.on_gpu = true, .util_permille = g->util_permille};
    int64_t now;
    if (reading_get(g->mem_used_bytes, &now))
        own.vram_bytes = reading_ok(MAX_OF(now - reading_or(r->vram_before, 0), 0));
    return own;
}

/* Of the program's process that matters most on this GPU; of a GPU that counts as a whole, for any user, its own. */
static enum limit limit_here(const struct gpu *g, const struct process_tree *tree, bool whole)
{
    const struct process any = {.instance = -1, .visible = true}, *first = whole && !g->process_count ? &any : NULL;
    for (size_t i = 0; i < g->process_count; i++)
        if ((whole || tree_has(tree, g->processes[i].pid)) && (!first || gpu_process_order(&g->processes[i], first) < 0))
            first = &g->processes[i];
    return first ? limit_detect(g, first, NULL).code : LIMIT_UNJUDGED;
}

static void raise_to(struct reading *r, struct reading by)
{
    if (by.state == READING_OK && (r->state != READING_OK || by.value > r->value))
        *r = by;
}

/* Sums for now; means are made when all GPUs are in. */
static void add_gpu(struct course_moment *m, const struct gpu *g, const struct own_part *own)
{
    m->on_gpu = true;
    usage_add(&m->vram_bytes, own->vram_bytes);
    usage_add(&m->util_permille, own->util_permille);
    usage_add(&m->gpu_util_permille, g->util_permille);
    usage_add(&m->power_mw, g->power_mw);
    raise_to(&m->temp_mdegc, g->temp_mdegc);
    m->throttle |= reading_or(g->throttle_bits, 0);
}

static void note_part(struct run_gpu *r, const struct own_part *own, double seconds)
{
    course_note(&r->vram_bytes, own->on_gpu ? own->vram_bytes : reading_ok(0), seconds);
    course_note(&r->util_permille, own->on_gpu ? own->util_permille : reading_ok(0), seconds);
    if (!own->on_gpu)
        return;
    course_note(&r->power_mw, own->power_mw, seconds);
    course_note(&r->temp_mdegc, own->temp_mdegc, seconds);
    if (seconds * MS_PER_S <= GAP_MS) /* beyond that, the power in between is not known */
        r->attributed_j += (double)reading_or(own->attributed_mw, 0) / 1000 * seconds;
}

static void see_gpu(struct run_usage *u, size_t i, const struct gpu *g, const struct process_tree *tree, double seconds,
                    struct course_moment *m, int *on)
{
    struct run_gpu *r = &u->gpus[i];
    if (u->processes != READING_OK)
        u->processes = g->processes_state;
    struct own_part own = u->only == (int)i ? whole_gpu(g, r) : u->only < 0 ? part_of_processes(g, tree) : (struct own_part){0};
    own.power_mw = g->power_mw;
    own.temp_mdegc = g->temp_mdegc;
    r->last = own;
    if (!own.on_gpu) {
        note_part(r, &own, seconds);
        return;
    }
    r->used = true;
    ++*on;
    note_part(r, &own, seconds);
    add_gpu(m, g, &own);
    /* Of several GPUs the one where the program keeps its GPU waiting: the others wait for it. */
    enum limit limit = limit_here(g, tree, u->only == (int)i);
    if (!m->limit || limit_side(limit) == LIMIT_SIDE_HOST)
        m->limit = limit;
}

void usage_see(struct run_usage *u, const struct snapshot *s, struct mono now, const struct process_tree *tree,
               const struct tree_use *use)
{
    struct course_moment m = {
        .at_s = (double)(now.ns - u->began.ns) / 1e9,
        .cpu_permille = use->cpu_permille,
        .cpu_busiest_permille = use->cpu_busiest_permille,
        .read_bytes_per_s = use->read_bytes_per_s,
        .write_bytes_per_s = use->write_bytes_per_s,
    };
    double seconds = MAX_OF(m.at_s - u->course.seconds, 0.0);
    int on = 0;
    for (size_t i = 0; i < s->gpu_count && i < u->gpu_count; i++) {
        add_energy(&u->gpus[i], s, &s->gpus[i], now);
        see_gpu(u, i, &s->gpus[i], tree, seconds, &m, &on);
    }
    if (!on) {
        m.vram_bytes = m.util_permille = reading_ok(0);
    } else {
        struct reading *means[] = {&m.util_permille, &m.gpu_util_permille};
        for (size_t i = 0; i < ARRAY_LEN(means); i++)
            means[i]->value /= on;
    }
    course_see(&u->course, &m);
    u->last = m;
}

void usage_end(struct run_usage *u, const struct snapshot *s, struct mono now)
{
    double at_s = (double)(now.ns - u->began.ns) / 1e9, seconds = MAX_OF(at_s - u->course.seconds, 0.0);
    for (size_t i = 0; i < u->gpu_count; i++) {
        struct run_gpu *r = &u->gpus[i];
        if (s && i < s->gpu_count)
            add_energy(r, s, &s->gpus[i], now);
        note_part(r, &r->last, seconds);
    }
    u->last.at_s = at_s;
    course_see(&u->course, &u->last);
}

double usage_energy_j(const struct run_usage *u)
{
    double sum = 0;
    for (size_t i = 0; i < u->gpu_count; i++)
        sum += u->gpus[i].used ? u->gpus[i].energy_j : 0;
    return sum;
}

double usage_attributed_j(const struct run_usage *u)
{
    double sum = 0;
    for (size_t i = 0; i < u->gpu_count; i++)
        sum += u->gpus[i].attributed_j;
    return sum;
}
