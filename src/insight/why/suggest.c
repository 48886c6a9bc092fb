/* SPDX-License-Identifier: Apache-2.0
 * What could be done: concrete, safe, at most WHY_SUGGESTIONS_MAX lines, following the ranked causes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/why/rules.h"

void suggest_add(struct why_part *part, const char *format, ...)
{
    if (part->suggestion_count == WHY_SUGGESTIONS_MAX)
        return;
    char *line = part->suggestions[part->suggestion_count];
    va_list args;
    va_start(args, format);
    vsnprintf(line, WHY_LINE_SIZE, format, args);
    va_end(args);
    for (size_t i = 0; i < part->suggestion_count; i++)
        if (strcmp(part->suggestions[i], line) == 0)
            return;
    part->suggestion_count++;
}

/* A card that is idle, cooler, and has the memory for it; NULL none. */
static const struct gpu *better_place(const struct facts *f, const struct process *p)
{
    int64_t need, temp, theirs, room;
    if (!p || !reading_get(p->mem_bytes, &need) || !reading_get(f->gpu->temp_mdegc, &temp))
        return NULL;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other != f->gpu && other->state == GPU_OK && strcmp(other->id.vendor, f->gpu->id.vendor) == 0 &&
            reading_or(other->util_permille, 1000) <= IDLE_MOST && reading_get(other->temp_mdegc, &theirs) && theirs < temp &&
            reading_get(other->mem_free_bytes, &room) && room > need)
            return other;
    }
    return NULL;
}

static void suggest_power(const struct facts *f, struct why_part *part)
{
    int64_t limit, least, power;
    if (!reading_get(f->gpu->power_limit_mw, &limit))
        return;
    /* A limit that it stays far below changes nothing, and none can be set below the lowest. */
    if (reading_get(f->gpu->power_mw, &power) &&
        (power * 10 < limit * 6 || (reading_get(f->gpu->power_limit_min_mw, &least) && power <= least)))
        return;
    if (reading_get(f->gpu->power_limit_min_mw, &least) && least > 0 && least < limit)
        suggest_add(part,
                    "Quieter: lower the power limit from %lld W (%lld W is the least); it then runs cooler and a little slower.",
                    words_whole(limit, 1000), words_whole(least, 1000));
    else
        suggest_add(part, "Quieter: lower the power limit (now %lld W); the card then runs cooler and a little slower.",
                    words_whole(limit, 1000));
}

static void suggest_work(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    const struct process *p = gpu_find_process(f->gpu, cause->pid);
    const struct gpu *other = better_place(f, p);
    char name[SHORT_WORDS];
    if (cause->code == WHY_MINING)
        suggest_add(part, "If you did not start it, the machine may be misused: look at who started process %d and how.",
                    (int)cause->pid);
    if (p && !p->visible)
        suggest_add(part, "Look for process %d on the host: it is outside this container.", (int)p->pid);
    if (other)
        suggest_add(part, "%s is idle and cooler and has the memory for it: move the job there.", words_gpu(other, true, name));
    if (cause->code == WHY_GRAPHICS_LOAD)
        suggest_add(part, "Limit the frame rate (vertical sync or a frame limit in the game) to make it quieter.");
    suggest_power(f, part);
    /* No command to copy: a simulated pid, or one of last night, belongs to somebody else on this machine. */
    if (p && p->visible && cause->code != WHY_SHARED_LOAD && p->user[0])
        suggest_add(part, "If nobody needs it, end process %d; it belongs to %s.", (int)cause->pid, p->user);
    else if (p && p->visible && cause->code != WHY_SHARED_LOAD)
        suggest_add(part, "If nobody needs it, end process %d.", (int)cause->pid);
}

static void suggest_hidden(const struct facts *f, struct why_part *part)
{
    suggest_add(part, "Ask again with `sudo whirr why`: other users' processes are only seen with more rights.");
    suggest_add(part, "Look into containers and virtual machines that use the card, and on the host if this is a container.");
    if (f->past.steady_ms >= STEADY_LEAST_MS)
        suggest_add(part, "Steady full load that nobody knows of can be mining: if it is not yours, find out who started it.");
    suggest_power(f, part);
}

static void suggest_air(const struct facts *f, struct why_part *part)
{
    if (f->fan == FAN_NONE)
        suggest_add(part, "Its air comes from the machine: check the case fans and that nothing blocks the way through the card.");
    suggest_add(part, "Check the airflow: clean dust from fan and heatsink, free the intake, look at the room temperature.");
    if (!f->past.known)
        suggest_add(part, "Ask again in a minute: if the temperature falls by then, it was work that had just ended.");
}

static void suggest_blind(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    bool denied = gpu->temp_mdegc.state == READING_DENIED || gpu->util_permille.state == READING_DENIED ||
                  gpu->processes_state == READING_DENIED;
    if (denied)
        suggest_add(part, "Ask again with `sudo whirr why`: permission is missing.");
    if (!f->past.known && f->heat != HEAT_UNKNOWN)
        suggest_add(part, "Ask again in a minute, or keep `whirr serve` running: then the minutes before are known.");
    suggest_add(part, "`whirr doctor` says what this card and driver do not give, and why.");
}

static void suggest_for(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    int64_t limit, normal;
    switch (cause->code) {
    case WHY_COMPUTE_LOAD:
    case WHY_GRAPHICS_LOAD:
    case WHY_SHARED_LOAD:
    case WHY_VIDEO_LOAD:
    case WHY_INSTANCE_LOAD:
    case WHY_MINING: suggest_work(f, part, cause); break;
    case WHY_HIDDEN_LOAD: suggest_hidden(f, part); break;
    case WHY_CPU_HEAT:
        suggest_add(part, "Look at what the CPU is doing (`top`): a power-saving profile or a lower CPU limit makes it quieter.");
        break;
    case WHY_RECENT_LOAD: suggest_add(part, "Nothing to do: wait a few minutes until it has cooled down."); break;
    case WHY_CONTEXT_HELD:
        suggest_add(part, "Let process %d close its context (end the session or notebook kernel): the card then rests.",
                    (int)cause->pid);
        break;
    case WHY_DISPLAY:
        suggest_add(part, "Try a lower refresh rate, or the same one on all screens: the memory clock can then fall.");
        break;
    case WHY_CLOCKS_HELD:
        suggest_add(part, "Reset fixed clocks to their default, and look with `sudo whirr ps` for a process that holds the card.");
        break;
    case WHY_AIRFLOW:
    case WHY_HOTSPOT:
        if (cause->code == WHY_HOTSPOT)
            suggest_add(part, "Have the cooler looked at: mounting pressure and thermal paste.");
        suggest_air(f, part);
        break;
    case WHY_NEIGHBOUR_HEAT: suggest_add(part, "Give the cards more room or air between them; leave a slot free."); break;
    case WHY_HEAT_LIMIT:
        suggest_add(part, "It is at its temperature limit: check the airflow and the dust, or lower the power limit.");
        break;
    case WHY_MEMORY_HOT:
        suggest_add(part, "The memory is the hot part: lower the memory clock or power limit, check its thermal pads.");
        break;
    case WHY_FAN_STOPPED:
        suggest_add(part, "Stop the work until the fan turns again; check its cable, for a blocked blade, and the fan setting.");
        break;
    case WHY_FAN_FAILING:
        suggest_add(part, "Check the fan: dust, a blocked blade, a worn bearing, the cable; replace it if it stays so.");
        break;
    case WHY_FAN_SETTING:
        suggest_add(part, "Look at the fan curve or a fixed fan speed in the tool that sets it, and put it back to automatic.");
        break;
    case WHY_POWER_LIMIT:
        if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE)
            suggest_add(part, "Check the power supply and its cables: the machine itself asks the card to draw less.");
        else if (reading_get(f->gpu->power_limit_mw, &limit) && reading_get(f->gpu->power_limit_default_mw, &normal) &&
                 normal > limit)
            suggest_add(part, "Faster but louder: the limit is set to %lld W, its default is %lld W.", words_whole(limit, 1000),
                        words_whole(normal, 1000));
        break;
    case WHY_VRAM_HELD: suggest_add(part, "Unload the model or end process %d if the memory is needed.", (int)cause->pid); break;
    case WHY_CANNOT_KNOW: suggest_blind(f, part); break;
    default: break;
    }
}

static void suggest_machine(struct why_part *part, enum why_code code)
{
    switch (code) {
    case WHY_NO_DRIVER: suggest_add(part, "Install or load the driver of the card, then ask again."); break;
    case WHY_DRIVER_MISMATCH:
        suggest_add(part, "Reboot, or unload the old kernel module and load the new one: the driver was upgraded while in use.");
        break;
    case WHY_NO_PERMISSION:
        suggest_add(part, "Ask with `sudo`, or join the group of the device files (often `video` or `render`).");
        break;
    case WHY_SOURCE_HUNG:
        suggest_add(part, "Look into the kernel log (`sudo dmesg`) for errors of the card; a reboot may be needed.");
        break;
    case WHY_SOURCE_FAILING:
        suggest_add(part, "It is asked again by itself, in growing pauses; the kernel log (`sudo dmesg`) may say more.");
        break;
    case WHY_SOURCE_RELEASED: suggest_add(part, "It comes back by itself when the time is over; ask again then."); break;
    case WHY_LOST:
        suggest_add(part, "Reboot the machine; if it happens again, check power cables, the slot and the card's temperature.");
        break;
    case WHY_ERROR:
        suggest_add(part, "Look into the kernel log (`sudo dmesg`) for errors of the card; try a reset of the card.");
        break;
    default: break;
    }
    if (code != WHY_ASLEEP)
        suggest_add(part, "`whirr doctor` says what was tried and why it did not work.");
}

void suggest(const struct facts *f, struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        if (cause->code >= WHY_ASLEEP)
            suggest_machine(part, cause->code);
        else if (f && (i == 0 || cause->confidence >= CONFIDENCE_ANSWER || cause->code == WHY_VRAM_HELD))
            suggest_for(f, part, cause);
    }
}
