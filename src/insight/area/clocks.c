/* SPDX-License-Identifier: Apache-2.0
 * Clocks under load. A GPU at work that stays below half of its highest clock is held there: by clocks that were locked, by a
 * performance state that it does not leave, or by a laptop's battery. Heat and power limits that hold it are
 * other findings; what the hardware or the host slows down in an emergency is one of these.
 */
#include <stdio.h>

#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

enum { LOAD_FROM = 600, LOW_PERMILLE = 500, MEMORY_LOAD_FROM = 800, MEMORY_LOW_PERMILLE = 300 };

/* Memory of a GPU at work runs at its top state, or one below: less than a third of it is a state for video or an idle desktop. At
 * partial load a single reading may fall between two frames. */
static void detect_memory_clock(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t clock, most;
    if (f->load_permille < MEMORY_LOAD_FROM || !reading_get(gpu->clock_memory_khz, &clock) ||
        !reading_get(gpu->clock_memory_max_khz, &most) || clock <= 0 || clock * 1000 >= most * MEMORY_LOW_PERMILLE)
        return;
    collect(c, gpu, FINDING_CLOCKS_LOW, SEVERITY_WARNING, 0.9, 0, ": its memory %s at %lld of %lld MHz although it %s busy", is(f),
            words_whole(clock, 1000), words_whole(most, 1000), is(f));
}

static void detect_low_clocks(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t clock, most, state, bits = reading_or(gpu->throttle_bits, 0);
    const int64_t explained = THROTTLE_SLOWED;
    if (f->load_permille < LOAD_FROM || f->load != LOAD_BUSY) /* of the GPU, else of its processes */
        return;
    detect_memory_clock(f, c);
    if (!reading_get(gpu->clock_graphics_khz, &clock) || !reading_get(gpu->clock_graphics_max_khz, &most) || clock <= 0 ||
        clock * 1000 >= most * LOW_PERMILLE)
        return;
    if (bits & explained || f->at_power_limit) { /* other findings say why; it is not what the GPU could do all the same */
        collect(c, gpu, FINDING_CLOCKS_LOW, SEVERITY_INFO, 0.3, 0, " %s at %lld of %lld MHz: a limit holds it there", is(f),
                words_whole(clock, 1000), words_whole(most, 1000));
        return;
    }
    char by[48] = "";
    bool locked = bits & THROTTLE_APP_CLOCKS;
    if (locked)
        snprintf(by, sizeof by, ": its clocks are locked");
    else if (reading_get(gpu->pstate, &state) && state >= 5)
        snprintf(by, sizeof by, ": it stays in P%lld", (long long)state);
    /* Where the driver gives no reasons, the clocks may be locked on purpose. */
    bool wanted = locked || (gpu->throttle_bits.state != READING_OK && !by[0]);
    collect(c, gpu, FINDING_CLOCKS_LOW, wanted ? SEVERITY_NOTICE : SEVERITY_WARNING, 0.9, 0,
            " %s at %lld of %lld MHz although it %s busy%s", is(f), words_whole(clock, 1000), words_whole(most, 1000), is(f), by);
}

static void detect_clocks(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t by = f->activity.throttled_by;
    /* The bit of the hardware is set for heat, too. */
    int64_t slowed = by & (THROTTLE_POWER_BRAKE | (by & THROTTLE_HOT ? 0 : THROTTLE_HW_SLOWDOWN));
    if (slowed)
        collect(c, gpu, FINDING_SLOWDOWN, SEVERITY_WARNING, 0.95, 0, " %s throttling (%s)", is(f),
                slowed & THROTTLE_POWER_BRAKE ? "power brake" : "hardware slowdown");
    detect_low_clocks(f, c);
}

const struct area area_clocks = {.find = detect_clocks};
