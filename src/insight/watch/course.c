/* SPDX-License-Identifier: Apache-2.0
 * Totals as they come; what limits a moment.
 */
#include "insight/watch/course.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/watch/levels.h"
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

/* ---- limits ---- */

static bool is_at(struct reading r, int64_t least)
{
    return r.state == READING_OK && r.value >= least;
}

/* A GPU at its limit has next to nothing left, whether or not its driver says why it slows down. */
static bool is_at_power_limit(const struct course_moment *m)
{
    int64_t power, limit;
    if (m->throttle & (THROTTLE_POWER_CAP | THROTTLE_POWER_BRAKE | THROTTLE_CURRENT))
        return true;
    return reading_get(m->power_mw, &power) && reading_get(m->power_limit_mw, &limit) && limit > 0 &&
           power * 1000 >= limit * AT_POWER_LIMIT;
}

static enum course_limit limit_of_busy(const struct course_moment *m)
{
    if (m->throttle & THROTTLE_HOT)
        return COURSE_LIMIT_HEAT;
    if (is_at_power_limit(m))
        return COURSE_LIMIT_POWER;
    if (is_at(m->pcie_permille, PCIE_FULL))
        return COURSE_LIMIT_PCIE;
    return is_at(m->bandwidth_permille, m->bandwidth_is_rough ? BANDWIDTH_FULL_ROUGH : BANDWIDTH_FULL) ? COURSE_LIMIT_BANDWIDTH
                                                                                                       : COURSE_LIMIT_COMPUTE;
}

static bool waits_for_disk(const struct course_moment *m)
{
    bool moves = m->read_bytes_per_s + m->write_bytes_per_s >= DISK_MOVES;
    return moves && (is_at(m->disk_busy_permille, DISK_FULL) || is_at(m->io_pressure_permille, IO_PRESSED));
}

enum course_limit course_limit_of(const struct course_moment *m)
{
    bool own = is_at(m->util_permille, GPU_BUSY), whole = is_at(m->gpu_util_permille, GPU_BUSY);
    if (own || (whole && m->util_permille.state != READING_OK && m->on_gpu))
        return limit_of_busy(m);
    if (m->on_gpu && is_at(m->pcie_permille, PCIE_FULL))
        return COURSE_LIMIT_PCIE;
    /* It would work more if it had the GPU alone. */
    if (whole && is_at(m->util_permille, SHARES_GPU))
        return m->gpu_util_permille.value - m->util_permille.value >= OTHERS_LEAST ? COURSE_LIMIT_OTHERS : limit_of_busy(m);
    if (waits_for_disk(m))
        return COURSE_LIMIT_DISK;
    if (m->cpu_busiest_permille >= CORE_FULL)
        return COURSE_LIMIT_CPU;
    /* Between kernels, for it uses the GPU but never fully: the host does not feed it. */
    return is_at(m->util_permille, COMPUTING_LEAST) && m->cpu_permille >= CORE_HALF ? COURSE_LIMIT_CPU : COURSE_LIMIT_NONE;
}

enum course_limit course_limited_by(const struct run_course *c)
{
    enum course_limit best = COURSE_LIMIT_NONE;
    for (int l = COURSE_LIMIT_NONE + 1; l < COURSE_LIMIT_COUNT; l++)
        if (c->limited_s[l] > c->limited_s[best] || (best == COURSE_LIMIT_NONE && c->limited_s[l] > 0))
            best = (enum course_limit)l;
    /* A program that mostly waits is limited by nothing here. */
    double limited_s = 0;
    for (int l = COURSE_LIMIT_NONE + 1; l < COURSE_LIMIT_COUNT; l++)
        limited_s += c->limited_s[l];
    return limited_s * 10 >= c->seconds ? best : COURSE_LIMIT_NONE;
}

/* ---- totals ---- */

void course_note(struct course_level *l, struct reading r, double seconds)
{
    int64_t value;
    if (!reading_get(r, &value))
        return;
    l->peak = l->known ? MAX_OF(l->peak, value) : value;
    l->known = true;
    l->area += (double)value * seconds;
    l->seconds += seconds;
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
    c->read_bytes += (double)m->read_bytes_per_s * seconds;
    c->written_bytes += (double)m->write_bytes_per_s * seconds;
    for (unsigned bit = 0; bit < THROTTLE_COUNT; bit++)
        if (m->throttle & THROTTLE_SLOWED & (1 << bit))
            c->throttled_s[bit] += seconds;
    if (m->throttle & THROTTLE_SLOWED)
        c->slowed_s += seconds;
    c->limited_s[course_limit_of(m)] += seconds;
    c->on_gpu |= m->on_gpu;
    c->seconds = MAX_OF(c->seconds, m->at_s);
    c->seen++;
    keep(c, m);
}

/* ---- words ---- */

const char *course_limit_name(enum course_limit limit)
{
    static const char *const names[COURSE_LIMIT_COUNT] = {"none",  "compute", "memory_bandwidth", "pcie", "host_cpu", "disk",
                                                          "power", "heat",    "other_programs"};
    return names[limit];
}

const char *course_limit_words(enum course_limit limit)
{
    static const char *const words[COURSE_LIMIT_COUNT] = {
        "nothing", "compute", "memory bandwidth", "PCIe", "the host's CPU", "disk", "power", "heat", "other programs"};
    return words[limit];
}

const char *course_kind_name(enum course_kind kind)
{
    static const char *const names[] = {"starting", "loading", "computing", "saving", "waiting", "ending"};
    return names[kind];
}
