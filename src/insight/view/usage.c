/* SPDX-License-Identifier: Apache-2.0
 * Snapshots to moments.
 */
#include "insight/view/usage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/limit.h"

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
    *u = (struct run_usage){.gpu_count = first->gpu_count, .only = only, .began = now, .processes_hidden = true};
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
    if (g->processes_state == READING_OK)
        u->processes_hidden = false;
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
