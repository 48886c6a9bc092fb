/* SPDX-License-Identifier: Apache-2.0
 * The power limit of a GPU: work that it holds, a limit far below stock, and power that nothing explains; what a lower or the stock
 * limit would do.
 */
#include <stdio.h>
#include <string.h>

#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

enum { LOAD_FROM = 600 };

static void rule_power_limit(const struct facts *f, struct why_part *part)
{
    int64_t bits = reading_or(f->gpu->throttle_bits, 0), limit;
    struct cause_draft d;
    bool capped = f->at_power_limit || bits & THROTTLE_POWER_CAP;
    if (f->load == LOAD_IDLE || (!capped && !(bits & THROTTLE_POWER_BRAKE)))
        return;
    cause_begin(&d, part, FINDING_POWER_LIMIT);
    support_power(&d, f, f->at_power_limit ? 0.4 : 0);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & (THROTTLE_POWER_CAP | THROTTLE_POWER_BRAKE) & (1 << i))
            support(&d, 0.4, "throttling: %s", throttle_name(i));
    if (bits & THROTTLE_POWER_BRAKE)
        cause_end(&d, ": the host %s throttling it (power brake)", is(f));
    else if (reading_get(f->gpu->power_limit_mw, &limit))
        cause_end(&d, " %s at its power limit of %lld W", is(f), words_whole(limit, 1000));
    else
        cause_end(&d, " %s at its power limit", is(f));
}

/* At half of what the part was made for, or less: more than silence needs, and much of its speed is gone. */
static void detect_low_limit(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    int64_t limit, normal;
    if (f->load_permille < LOAD_FROM || f->load != LOAD_BUSY || !f->at_power_limit || !reading_get(gpu->power_limit_mw, &limit) ||
        !reading_get(gpu->power_limit_default_mw, &normal) || limit * 2 > normal)
        return;
    collect(c, gpu, FINDING_POWER_LIMIT, SEVERITY_NOTICE, 0.9, 0,
            " %s held at its power limit of %lld W; its stock limit is %lld W", is(f), words_whole(limit, 1000),
            words_whole(normal, 1000));
}

static void detect_power(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    detect_low_limit(f, c);
    if (power_is_unexplained(gpu))
        collect(c, gpu, FINDING_POWER_UNEXPLAINED, SEVERITY_NOTICE, 0.6, 0,
                " %s %lld W while idle: work that just ended, or can't be seen", f->over ? "drew" : "draws",
                words_whole(gpu->power_mw.value, 1000));
}

/* ---- what to do ---- */

/* The command that sets a power limit on this GPU; "" where there is none to paste. A simulated GPU has none: its index is that of
 * a real one. */
static void limit_command(const struct facts *f, long long watts, char *out, size_t size)
{
    const struct gpu *gpu = f->gpu;
    bool one_vendor = true;
    for (size_t i = 0; i < f->now->gpu_count; i++)
        one_vendor &= strcmp(f->now->gpus[i].id.vendor, gpu->id.vendor) == 0;
    out[0] = '\0';
    if (gpu->simulated || f->over)
        return;
    if (strcmp(gpu->id.vendor, "nvidia") == 0 && (one_vendor || !gpu->id.pci_address[0]))
        snprintf(out, size, "sudo nvidia-smi -i %d -pl %lld", gpu->index, watts);
    else if (strcmp(gpu->id.vendor, "nvidia") == 0)
        snprintf(out, size, "sudo nvidia-smi -i %s -pl %lld", gpu->id.pci_address, watts);
    else if (strcmp(gpu->id.vendor, "amd") == 0 && gpu->id.pci_address[0])
        snprintf(out, size, "echo %lld000000 | sudo tee /sys/bus/pci/devices/%s/hwmon/hwmon*/power1_cap", watts,
                 gpu->id.pci_address);
}

/* A GPU that gives no range of limits, or one of a single value, refuses every other: laptops, virtual GPUs. The limit of a GPU
 * that is divided is the host's to set. */
static bool limit_can_be_set(const struct facts *f)
{
    int64_t least, most;
    return !f->divided && !cooling_is_shared(f->gpu) && reading_get(f->gpu->power_limit_min_mw, &least) &&
           reading_get(f->gpu->power_limit_max_mw, &most) && least < most;
}

/* "sudo nvidia-smi -i 0 -pl 350   (now 450 W, minimum 150 W; a little slower)" */
void suggest_power(const struct facts *f, struct why_part *part)
{
    int64_t limit, least = 0, power;
    char command[160], range[64] = "";
    if (f->gpu->settings.id[0] || !is_felt(f) || !limit_can_be_set(f) || !reading_get(f->gpu->power_limit_mw, &limit))
        return;
    bool has_least = reading_get(f->gpu->power_limit_min_mw, &least) && least > 0 && least < limit;
    /* A limit that it stays far below changes nothing, and none can be set below the lowest. */
    if (reading_get(f->gpu->power_mw, &power) && (power * 10 < limit * 6 || (has_least && power <= least)))
        return;
    long long wanted = words_whole(limit, 1000) * 8 / 100 * 10;
    if (has_least && wanted < words_whole(least, 1000))
        wanted = words_whole(least, 1000);
    limit_command(f, wanted, command, sizeof command);
    if (has_least)
        snprintf(range, sizeof range, ", minimum %lld W", words_whole(least, 1000));
    const char *aim = f->activity.throttled_by & THROTTLE_HOT || f->heat >= HEAT_HOT ? "cooler" : "quieter";
    if (may_control(f))
        remedy_add(part, REMEDY_QUIET, "To make it %s for 2 hours: whirr quiet --gpu %d --for 2h   (now %lld W%s; a little slower)",
                   aim, f->gpu->index, words_whole(limit, 1000), range);
    else if (command[0])
        remedy_add(part, REMEDY_QUIET, "To make it %s: %s   (now %lld W%s; a little slower)", aim, command,
                   words_whole(limit, 1000), range);
    else
        remedy_add(part, REMEDY_QUIET, "To make it %s, lower its power limit (now %lld W%s); it gets a little slower.", aim,
                   words_whole(limit, 1000), range);
}

static void suggest_limit(const struct facts *f, struct why_part *part)
{
    int64_t limit, stock;
    char command[160];
    if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE) {
        remedy_add_own(part, FINDING_SLOWDOWN);
        return;
    }
    if (f->gpu->settings.id[0] || !limit_can_be_set(f) || !reading_get(f->gpu->power_limit_mw, &limit) ||
        !reading_get(f->gpu->power_limit_default_mw, &stock) || limit * 4 >= stock * 3) /* a little less is meant */
        return;
    limit_command(f, words_whole(stock, 1000), command, sizeof command);
    if (may_control(f))
        snprintf(command, sizeof command, "whirr set power stock --gpu %d", f->gpu->index);
    if (command[0])
        remedy_add(part, REMEDY_STOCK_LIMIT, "To make it faster: %s   (stock limit %lld W; louder)", command,
                   words_whole(stock, 1000));
    else
        remedy_add(part, REMEDY_STOCK_LIMIT, "To make it faster, set its power limit back to the stock %lld W; it gets louder.",
                   words_whole(stock, 1000));
}

static void remedy_power(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    if (cause->code == FINDING_POWER_LIMIT)
        suggest_limit(f, part);
}

const struct area area_power = {.weigh = rule_power_limit, .find = detect_power, .remedy = remedy_power};
