/* SPDX-License-Identifier: Apache-2.0
 * GPUs of one model in one host are each other's measure: the one that differs from all others is named, with how many they are.
 * What they differ by among themselves is the measure of "differs". A reading that is missing on one side compares nothing.
 */
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

enum {
    WORKS_FROM = 800,      /* permille of the time */
    AS_MUCH_POWER = 950,   /* permille: one that draws less than this does less, and its higher clock says nothing */
    EQUAL_POWER = 100,     /* permille, up or down */
    CHIPS_DIFFER = 100,    /* permille of a clock: what chips of one model reach at the same power */
    PLACES_DIFFER = 15000, /* 1/1000 C: between front and rear, or upper and lower slots, of one host */
    FAR_BELOW = 750,       /* permille of the others' clock: a loss that people notice */
    OTHERS_LEAST = 2,      /* with a single other, it is not known which of the two is odd */
};

/* What the others show. */
struct others {
    size_t count;
    int64_t least, most;
};

static void take(struct others *o, int64_t value)
{
    o->least = o->count ? MIN_OF(o->least, value) : value;
    o->most = o->count ? MAX_OF(o->most, value) : value;
    o->count++;
}

static bool is_sibling(const struct facts *f, const struct gpu *other)
{
    return other != f->gpu && other->state == GPU_OK && strcmp(other->id.name, f->gpu->id.name) == 0;
}

static bool is_at_work(const struct gpu *gpu)
{
    bool direct;
    return reading_or(load_permille(gpu, &direct), 0) >= WORKS_FROM;
}

/* Beyond what they differ by among themselves, and beyond what is natural. */
static int64_t tolerance(const struct others *o, int64_t natural)
{
    return MAX_OF(2 * (o->most - o->least), natural);
}

/* What siblings have of a reading: of those that work and draw at least so much (1/1000 mW; -1: of all). */
static struct others others_of(const struct facts *f, enum metric metric, int64_t least_power)
{
    struct others o = {0};
    int64_t theirs, draw;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        bool counts = least_power < 0 || (is_at_work(other) && reading_get(other->power_mw, &draw) && draw * 1000 >= least_power);
        if (is_sibling(f, other) && counts && reading_get(other->metric[metric], &theirs))
            take(&o, theirs);
    }
    return o;
}

/* Clocks of those that work as hard: one that waits in a collective runs faster for fewer watts. */
static void detect_slower(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t clock, power;
    if (!is_at_work(gpu) || !reading_get(gpu->clock_graphics_khz, &clock) || !reading_get(gpu->power_mw, &power))
        return;
    const struct others o = others_of(f, METRIC_clock_graphics_khz, power * AS_MUCH_POWER);
    if (o.count < OTHERS_LEAST || clock >= o.least - tolerance(&o, o.least * CHIPS_DIFFER / 1000))
        return;
    enum severity severity = clock * 1000 < o.least * FAR_BELOW ? SEVERITY_WARNING : SEVERITY_NOTICE;
    int64_t bits = reading_or(gpu->throttle_bits, 0);
    if (bits & THROTTLE_APP_CLOCKS) /* a person has asked for it */
        severity = SEVERITY_NOTICE;
    if (bits & THROTTLE_SLOWED) /* another finding says why */
        severity = SEVERITY_INFO;
    collect(c, gpu, FINDING_CLOCKS_LOW, severity, severity > SEVERITY_INFO ? 0.85 : 0.3, 0,
            " %s at %lld MHz; %zu others of its kind %s at %lld MHz or more at the same load", is(f), words_whole(clock, 1000),
            o.count, are(f), words_whole(o.least, 1000));
}

/* One whose limit was lowered and that is held by it, beside others that have theirs. */
static void detect_lower_limit(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t limit;
    if (!f->at_power_limit || f->load != LOAD_BUSY || !reading_get(gpu->power_limit_mw, &limit))
        return;
    const struct others o = others_of(f, METRIC_power_limit_mw, -1);
    if (o.count < OTHERS_LEAST || limit >= o.least - tolerance(&o, o.least * EQUAL_POWER / 1000))
        return;
    collect(c, gpu, FINDING_POWER_LIMIT, SEVERITY_NOTICE, 0.9, 0,
            " %s held by its power limit of %lld W; %zu others of its kind have %lld W", is(f), words_whole(limit, 1000), o.count,
            words_whole(o.least, 1000));
}

/* Hotter than the others at the same power: the heat gets away less well here. */
static void detect_hotter(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t temp, power;
    if (!is_at_work(gpu) || f->heat < HEAT_WARM || !reading_get(gpu->temp_mdegc, &temp) || !reading_get(gpu->power_mw, &power))
        return;
    const struct others o = others_of(f, METRIC_temp_mdegc, power * (1000 - EQUAL_POWER));
    if (o.count < OTHERS_LEAST || temp <= o.most + tolerance(&o, PLACES_DIFFER))
        return;
    collect(c, gpu, FINDING_AIRFLOW, SEVERITY_NOTICE, 0.65, 0,
            " %s at %lld °C; %zu others of its kind %s at %lld °C or less at the same power", is(f), words_whole(temp, 1000),
            o.count, are(f), words_whole(o.most, 1000));
}

/* Where a card does not say how many lanes it could have, the others do. */
static void detect_fewer_lanes(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t lanes;
    if (gpu->pcie_width_max.state == READING_OK || !reading_get(gpu->pcie_width, &lanes) || lanes <= 0)
        return;
    const struct others o = others_of(f, METRIC_pcie_width, -1);
    if (o.count >= OTHERS_LEAST && lanes < o.least)
        collect(c, gpu, FINDING_PCIE_LINK, SEVERITY_WARNING, 0.8, 0,
                ": its PCIe link has %lld lanes; %zu others of its kind have %lld", (long long)lanes, o.count, (long long)o.least);
}

static void detect_siblings(const struct facts *f, struct collection *c)
{
    detect_slower(f, c);
    detect_lower_limit(f, c);
    detect_hotter(f, c);
    detect_fewer_lanes(f, c);
}

const struct area area_siblings = {.find = detect_siblings};
