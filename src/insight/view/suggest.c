/* SPDX-License-Identifier: Apache-2.0
 * What you can do: concrete, safe, at most WHY_SUGGESTIONS_MAX lines, following the ranked causes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "insight/view/answer.h"

/* Two of them ask for the same where they say what to do in the same words, whatever reasons or commands follow. */
bool suggest_has(const struct why_part *part, const char *advice)
{
    size_t action = strcspn(advice, ".:;");
    for (size_t i = 0; i < part->suggestion_count; i++)
        if (strcspn(part->suggestions[i], ".:;") == action && strncmp(part->suggestions[i], advice, action) == 0)
            return true;
    return false;
}

void suggest_add(struct why_part *part, const char *format, ...)
{
    if (part->suggestion_count == WHY_SUGGESTIONS_MAX)
        return;
    char *line = part->suggestions[part->suggestion_count];
    va_list args;
    va_start(args, format);
    vsnprintf(line, WHY_LINE_SIZE, format, args);
    va_end(args);
    if (!suggest_has(part, line))
        part->suggestion_count++;
}

/* A GPU that is idle, cooler, and has the memory for it; NULL none. */
static const struct gpu *better_place(const struct facts *f, const struct process *p)
{
    int64_t need, temp, theirs, room;
    if (!p || !reading_get(p->mem_bytes, &need) || !reading_get(f->gpu->temp_mdegc, &temp))
        return NULL;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other != f->gpu && other->state == GPU_OK && strcmp(other->id.vendor, f->gpu->id.vendor) == 0 &&
            reading_or(other->util_permille, 1000) <= IDLE_MAX && reading_get(other->temp_mdegc, &theirs) && theirs < temp &&
            reading_get(other->mem_free_bytes, &room) && room > need)
            return other;
    }
    return NULL;
}

/* Advice needs its symptom: work that no user hears or feels is left alone. */
static bool is_felt(const struct facts *f)
{
    return f->activity.symptoms & (1u << SYMPTOM_LOUD | 1u << SYMPTOM_HOT | 1u << SYMPTOM_UNUSUAL) ||
           f->activity.throttled_by & THROTTLE_HOT;
}

/* whirr itself may change settings, and that has a way back. */
static bool may_control(const struct facts *f)
{
    return f->now->may_control && !f->gpu->simulated && !f->over;
}

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
static void suggest_power(const struct facts *f, struct why_part *part)
{
    int64_t limit, least = 0, power;
    char command[160], range[64] = "";
    if (!is_felt(f) || !limit_can_be_set(f) || !reading_get(f->gpu->power_limit_mw, &limit))
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
        suggest_add(part, "To make it %s for 2 hours: whirr quiet --gpu %d --for 2h   (now %lld W%s; a little slower)", aim,
                    f->gpu->index, words_whole(limit, 1000), range);
    else if (command[0])
        suggest_add(part, "To make it %s: %s   (now %lld W%s; a little slower)", aim, command, words_whole(limit, 1000), range);
    else
        suggest_add(part, "To make it %s, lower its power limit (now %lld W%s); it gets a little slower.", aim,
                    words_whole(limit, 1000), range);
}

static void suggest_work(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    const struct process *p = gpu_find_process(f->gpu, cause->pid);
    const struct gpu *other = is_felt(f) ? better_place(f, p) : NULL;
    char name[SHORT_WORDS];
    if (cause->code == FINDING_MINING)
        suggest_add(part, "If you did not start it, the host may be misused: check who started process %d: ps -fp %d",
                    (int)cause->pid, (int)cause->pid);
    if (p && !p->visible)
        suggest_add(part, "Look for process %d on the host: it is outside this container.", (int)p->pid);
    if (cause->code == FINDING_GRAPHICS_LOAD && is_felt(f))
        suggest_add(part, "Limit the frame rate (vertical sync or a frame limit in the game).");
    suggest_power(f, part);
    if (other)
        suggest_add(part, "Start the next job on %s: it is idle, cooler, and has the memory for it.",
                    words_gpu(other, false, name));
}

static void suggest_hidden(const struct facts *f, struct why_part *part)
{
    suggest_add(part, "See other users' processes: sudo whirr ps");
    suggest_add(part, "Check containers and virtual machines that use the GPU, and the host if this is a container.");
    if (f->past.steady_ms >= STEADY_LEAST_MS)
        suggest_add(part,
                    "Steady full utilization by an unknown process can be mining: if it isn't yours, find out who started it.");
    suggest_power(f, part);
}

static void suggest_air(const struct facts *f, struct why_part *part)
{
    if (f->fan == FAN_NONE)
        suggest_add(part, "Check the case fans, and that nothing blocks the air through the GPU.");
    suggest_add(part, "Check airflow: dust on fans and filters, a blocked intake, room temperature.");
    if (f->load == LOAD_BUSY)
        suggest_power(f, part);
}

static void suggest_blind(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    bool denied = gpu->temp_mdegc.state == READING_DENIED || gpu->util_permille.state == READING_DENIED ||
                  gpu->processes_state == READING_DENIED;
    if (denied)
        suggest_add(part, "Look with more rights: sudo whirr status");
    if (!f->past.known && f->heat != HEAT_UNKNOWN)
        suggest_add(part, "Ask again in a minute, or keep the daemon running: whirr serve");
    suggest_add(part, "See what this GPU and driver don't report, and why: whirr doctor");
}

static void suggest_clocks(const struct facts *f, struct why_part *part)
{
    /* Clocks stay up for a while behind work: only a lock that the driver reports, or a calm past, is worth a reset. */
    if (!(reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS) && !f->past.known) {
        suggest_add(part, "Ask again in a minute: if the clocks fall, work had just ended.");
        return;
    }
    if (may_control(f))
        suggest_add(part, "Reset fixed clocks: whirr clocks stock --gpu %d", f->gpu->index);
    else if (strcmp(f->gpu->id.vendor, "nvidia") == 0 && !f->gpu->simulated)
        suggest_add(part, "Reset fixed clocks: sudo nvidia-smi -i %d -rgc -rac", f->gpu->index);
    else
        suggest_add(part, "Reset fixed clocks to their default.");
    suggest_add(part, "Look for a process that holds the GPU: sudo whirr ps");
}

static void suggest_limit(const struct facts *f, struct why_part *part)
{
    int64_t limit, stock;
    char command[160];
    if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE) {
        suggest_add(part, "Check the power supply and its cables: the host is asking the GPU to draw less.");
        return;
    }
    if (!limit_can_be_set(f) || !reading_get(f->gpu->power_limit_mw, &limit) ||
        !reading_get(f->gpu->power_limit_default_mw, &stock) || stock <= limit)
        return;
    limit_command(f, words_whole(stock, 1000), command, sizeof command);
    if (may_control(f))
        snprintf(command, sizeof command, "whirr limit stock --gpu %d", f->gpu->index);
    if (command[0])
        suggest_add(part, "To make it faster: %s   (stock limit %lld W; louder)", command, words_whole(stock, 1000));
    else
        suggest_add(part, "To make it faster, set its power limit back to the stock %lld W; it gets louder.",
                    words_whole(stock, 1000));
}

/* Processes of one job: of the same Slurm job, container or parent, or the same command of the same user. */
static bool are_sisters(const struct process *a, const struct process *b)
{
    if (a->job[0] || b->job[0])
        return strcmp(a->job, b->job) == 0;
    if (a->container[0] && strcmp(a->container, b->container) == 0)
        return true;
    return (a->parent > 1 && a->parent == b->parent) ||
           (a->command[0] && strcmp(a->command, b->command) == 0 && strcmp(a->user, b->user) == 0);
}

static bool sister_works(const struct facts *f, const struct process *p)
{
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *gpu = &f->now->gpus[i];
        for (size_t k = 0; k < gpu->process_count; k++)
            if (&gpu->processes[k] != p && are_sisters(p, &gpu->processes[k]) &&
                reading_or(gpu->processes[k].util_permille, 0) >= SHARE_LEAST)
                return true;
    }
    return false;
}

/* Only one that is old enough, does nothing, answers nothing and is no part of a job at work is told to leave: closing a rank ends
 * its job. */
static bool may_be_closed(const struct facts *f, int32_t pid)
{
    enum { YOUNG_MS = 60000, AT_WORK = 20 };
    const struct process *p = gpu_find_process(f->gpu, pid);
    if (!p || reading_or(p->util_permille, 0) >= AT_WORK || reading_or(p->tokens_milli, 0) > 0 || sister_works(f, p) ||
        words_stands_for(p) || limit_side(p->limit.code) >= LIMIT_SIDE_LINK)
        return false;
    return p->started_at.ms <= 0 || f->now->taken_at.ms - p->started_at.ms >= YOUNG_MS;
}

static void suggest_for(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    switch (cause->code) {
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_SHARED_LOAD:
    case FINDING_VIDEO_LOAD:
    case FINDING_INSTANCE_LOAD:
    case FINDING_MINING: suggest_work(f, part, cause); break;
    case FINDING_HIDDEN_LOAD: suggest_hidden(f, part); break;
    case FINDING_CPU_HEAT:
        suggest_add(part, "Check what the CPU is doing (top); a power-saving profile or a lower CPU limit makes it quieter.");
        break;
    case FINDING_RECENT_LOAD: suggest_add(part, "Nothing to do: wait a few minutes until it has cooled down."); break;
    case FINDING_CONTEXT_HELD:
        if (!may_be_closed(f, cause->pid))
            break;
        if (process_stands_stopped(gpu_find_process(f->gpu, cause->pid)))
            suggest_add(part, "Let process %d go on (kill -CONT %d), or end it: the GPU can then idle.", (int)cause->pid,
                        (int)cause->pid);
        else
            suggest_add(part, "Close the context of process %d (the session or notebook kernel): the GPU can then idle.",
                        (int)cause->pid);
        break;
    case FINDING_DISPLAY:
        suggest_add(part, "Try a lower refresh rate, or the same one on all displays: the memory clock can then fall.");
        break;
    case FINDING_CLOCKS_HELD: suggest_clocks(f, part); break;
    case FINDING_HOTSPOT:
        suggest_add(part, "Have the cooler checked: mounting pressure and thermal paste.");
        suggest_air(f, part);
        break;
    case FINDING_AIRFLOW: suggest_air(f, part); break;
    case FINDING_NEIGHBOUR_HEAT:
        if (!find_cause(part, FINDING_AIRFLOW))
            suggest_add(part, "Leave a free slot or more air between the GPUs.");
        break;
    case FINDING_HEAT_LIMIT:
        if (!find_cause(part, FINDING_AIRFLOW))
            suggest_add(part, "Check airflow, fans and filters.");
        suggest_power(f, part);
        break;
    case FINDING_MEMORY_HOT:
        suggest_add(part, "Cool the memory: lower the memory clock or power limit, check its thermal pads.");
        break;
    case FINDING_FAN_STOPPED:
        suggest_add(part, "Stop the work until the fan turns again; check its cable, for a blocked blade, and the fan setting.");
        break;
    case FINDING_FAN_FAILING:
        suggest_add(part,
                    "Check the fan for dust, a blocked blade, a worn bearing, and its cable; replace it if that doesn't help.");
        break;
    case FINDING_FAN_SETTING:
        if (may_control(f) && f->gpu->property[PROPERTY_fan_control].state == READING_OK)
            suggest_add(part, "Set the fan back to automatic: whirr fan auto --gpu %d", f->gpu->index);
        else
            suggest_add(part, "Set the fan curve or fixed fan speed back to automatic in the tool that sets it.");
        break;
    case FINDING_POWER_LIMIT: suggest_limit(f, part); break;
    case FINDING_VRAM_HELD:
        if (f->activity.symptoms & 1u << SYMPTOM_MEMORY_FULL && may_be_closed(f, cause->pid))
            suggest_add(part, "Unload the model of process %d if the memory is needed.", (int)cause->pid);
        break;
    case FINDING_CANNOT_KNOW: suggest_blind(f, part); break;
    default: break;
    }
}

static void suggest_machine(struct why_part *part, enum finding_code code)
{
    switch (code) {
    case FINDING_NO_DRIVER: suggest_add(part, "Install or load the driver."); break;
    case FINDING_DRIVER_MISMATCH:
        suggest_add(part, "Reboot, or reload the kernel module: the driver was upgraded while in use.");
        break;
    case FINDING_NO_PERMISSION:
        suggest_add(part, "Join the group of the device files, or ask as root: sudo usermod -aG video,render $USER");
        break;
    case FINDING_SOURCE_HUNG: suggest_add(part, "Check the kernel log for errors: sudo dmesg; a reboot may be needed."); break;
    case FINDING_SOURCE_FAILING: suggest_add(part, "whirr retries automatically; check the kernel log: sudo dmesg"); break;
    case FINDING_SOURCE_RELEASED:
        suggest_add(part, "Nothing: whirr reads it again when the time is over. To end it now: whirr release --end");
        break;
    case FINDING_LOST: suggest_add(part, "Reboot the host; if it happens again, check power cables, slot, and temperature."); break;
    case FINDING_ERROR: suggest_add(part, "Check the kernel log for errors: sudo dmesg"); break;
    default: break;
    }
    if (code != FINDING_ASLEEP && code != FINDING_SOURCE_RELEASED)
        suggest_add(part, "See what was tried and why it failed: whirr doctor");
}

void suggest(const struct facts *f, struct why_part *part)
{
    if (f && f->gpu->state == GPU_OK && f->activity.code == ACTIVITY_FAILING)
        suggest_add(part, gpu_failure(f->gpu) == FAILURE_RESET
                              ? "Let the work on it finish, then reset it or reboot the host; what is wrong: whirr health"
                          : gpu_failure(f->gpu) == FAILURE_REBOOT
                              ? "Let the work on it finish, then reboot the host; what is wrong: whirr health"
                              : "Have the GPU checked and replaced; what is wrong: whirr health");
    if (f && f->gpu->state == GPU_OK && !f->over)
        suggest_limits(f, part);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        const struct finding *found = f ? verdict_find(f->verdict, part->gpu_index, cause->code) : NULL;
        if (found && found->is_effect) /* the advice is its root's */
            continue;
        if (!f || f->gpu->state != GPU_OK)
            suggest_machine(part, cause->code);
        else if (f && (i == 0 || cause->confidence >= CONFIDENCE_ANSWER || cause->code == FINDING_VRAM_HELD))
            suggest_for(f, part, cause);
    }
}
