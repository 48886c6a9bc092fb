/* SPDX-License-Identifier: Apache-2.0
 * Rules for a GPU that has nothing to do and does not idle: work that ended, clocks that are held, memory that is held; and one
 * that sleeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/area/area.h"
#include "model/finding_code.h"

/* For so long a driver keeps the clocks up after work. */
enum { CLOCKS_FALL_MS = 30000 };

static bool at_ease(const struct facts *f)
{
    bool little = f->load == LOAD_IDLE || (f->load_basis == BASIS_UTIL && f->load_permille <= AWAKE_MAX) ||
                  (f->load_basis == BASIS_PROCESSES && f->load_permille <= AWAKE_MAX);
    return little && !f->activity.bursts && f->video_permille < VIDEO_LEAST;
}

static void support_cooling(struct cause_draft *d, const struct facts *f)
{
    const struct past_work *past = &f->past;
    int64_t temp, fan;
    if (past->temp_falls && reading_get(f->gpu->temp_mdegc, &temp))
        support(d, 0.4, "temperature falling from %lld °C to %lld °C", words_whole(past->peak_temp_mdegc, 1000),
                words_whole(temp, 1000));
    else if (past->known && past->fell && past->fell_ago_ms > 60000)
        doubt(d, 0.6, "but the temperature is not falling");
    if (past->fan_falls && reading_get(f->gpu->fan_permille, &fan))
        support(d, 0.2, "fan slowing down from %lld%% to %lld%%", percent(past->peak_fan_permille), percent(fan));
}

static void rule_recent(const struct facts *f, struct why_part *part)
{
    const struct past_work *past = &f->past;
    char who[PROCESS_WORDS], ago[SHORT_WORDS], ran[SHORT_WORDS], fell[SHORT_WORDS] = "";
    const char *then = f->over ? "before" : "ago";
    int64_t share;
    struct cause_draft d;
    if (!past->ended && !past->fell)
        return;
    cause_begin(&d, part, FINDING_RECENT_LOAD);
    if (past->ended) {
        const struct recent_process *p = past->ended;
        cause_process(&d, &p->last);
        process_words(&p->last, EXACT_NAME, who);
        words_duration(past->ended_ago_ms, ago);
        if (reading_get(p->mean_util_permille, &share))
            support(&d, 0.85 * past->ended_left, "%s ended %s %s, mean utilization %lld%%", who, ago, then, percent(share));
        else
            support(&d, 0.85 * past->ended_left, "%s ended %s %s", who, ago, then);
        if (p->first_seen.ms > 0 && p->last_seen.ms > p->first_seen.ms)
            support(&d, 0, "it had been running for %s", words_duration(p->last_seen.ms - p->first_seen.ms, ran));
    }
    if (past->fell)
        support(&d, 0.75 * past->fell_left, "%s %s: utilization %lld%%", words_duration(past->fell_ago_ms, ago), then,
                percent(past->fell_from_permille));
    support_cooling(&d, f);
    support_load(&d, f, 0);
    support_temperature(&d, f, 0);
    support_fan(&d, f, 0);
    int64_t temp;
    if (past->temp_falls && reading_get(f->gpu->temp_mdegc, &temp))
        snprintf(fell, sizeof fell, "; %lld °C, down from %lld °C", words_whole(temp, 1000),
                 words_whole(past->peak_temp_mdegc, 1000));
    if (past->ended)
        cause_end(&d, " %s cooling down: %s%s ended %s %s%s", is(f), process_words(&past->ended->last, LONG_NAME, who),
                  f->over ? " had" : "", words_duration(past->ended_ago_ms, ago), then, fell);
    else
        cause_end(&d, " %s cooling down: utilization %s %lld%% until %s %s%s", is(f), f->over ? "had been" : "was",
                  percent(past->fell_from_permille), words_duration(past->fell_ago_ms, ago), then, fell);
}

enum { MIZER_ADAPTIVE, MIZER_FAST, MIZER_AUTO, MIZER_CONSISTENT };

/* A person asked the driver for clocks that stay up. */
static bool prefers_speed(const struct gpu *gpu)
{
    int64_t mode;
    return reading_get(gpu->power_mizer, &mode) && (mode == MIZER_FAST || mode == MIZER_CONSISTENT);
}

static const char *mizer_words(const struct gpu *gpu)
{
    return gpu->power_mizer.value == MIZER_FAST ? "maximum performance" : "consistent performance";
}

static void support_clocks(struct cause_draft *d, const struct facts *f)
{
    int64_t clock, most, state, bits;
    if (!f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &clock) &&
        reading_get(f->gpu->clock_graphics_max_khz, &most))
        support(d, 0.45, "graphics clock %lld MHz of %lld MHz", words_whole(clock, 1000), words_whole(most, 1000));
    if (reading_get(f->gpu->pstate, &state))
        support(d, f->clocks_by_state ? 0.35 : 0.2, "performance state P%lld", (long long)state);
    if (f->power >= POWER_RAISED)
        support_power(d, f, 0.35);
    if (reading_get(f->gpu->throttle_bits, &bits) && (bits & THROTTLE_APP_CLOCKS))
        support(d, 0.3, "clocks fixed by the application clocks setting");
    if (prefers_speed(f->gpu))
        support(d, 0.3, "the driver prefers %s (PowerMizer)", mizer_words(f->gpu));
}

/* The holder was there when the load fell so lately: it may be pausing. */
static bool may_go_on(const struct facts *f, int64_t lately_ms)
{
    const struct process *p = f->workers.holder;
    int64_t fell_at = f->now->taken_at.ms - f->past.fell_ago_ms;
    return p && f->past.fell && !f->past.ended && f->past.fell_ago_ms <= lately_ms && p->started_at.ms > 0 &&
           p->started_at.ms < fell_at && activity_may_have_worked(f->now, f->gpu, p, f->recent);
}

/* "; P2, 1695 MHz" */
static void say_clocks(struct text *s, const struct facts *f)
{
    int64_t state, clock;
    bool has_state = reading_get(f->gpu->pstate, &state),
         has_clock = !f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &clock);
    if (has_state && has_clock)
        text_append(s, "; P%lld, %lld MHz", (long long)state, words_whole(clock, 1000));
    else if (has_state)
        text_append(s, "; P%lld", (long long)state);
    else if (has_clock)
        text_append(s, "; %lld MHz", words_whole(clock, 1000));
}

/* "kept from idling at 38 W by python3 (bob), which holds 7.0 GiB" */
static void end_kept(struct cause_draft *d, const struct facts *f)
{
    char who[PROCESS_WORDS], bytes[SHORT_WORDS], words[WHY_TEXT_SIZE] = "";
    int64_t power, held;
    struct text s = TEXT(words);
    const struct process *p = d->cause.pid ? gpu_find_process(f->gpu, d->cause.pid) : NULL;
    if (f->activity.code == ACTIVITY_LIGHTLY_LOADED)
        text_append(&s, "lightly loaded and ");
    text_append(&s, "kept from idling");
    if (reading_get(f->gpu->power_mw, &power))
        text_append(&s, " at %lld W", words_whole(power, 1000));
    if (d->cause.code == FINDING_DISPLAY)
        text_append(&s, " by its displays, which hold the memory clock at %lld MHz",
                    words_whole(f->gpu->clock_memory_khz.value, 1000));
    else if (p && reading_get(p->mem_bytes, &held))
        text_append(&s, " by %s, which %s%s %s", process_words(p, LONG_NAME, who),
                    !process_stands_stopped(p) ? ""
                    : f->over                  ? "was stopped and "
                                               : "is stopped and ",
                    f->over ? "held" : "holds", words_bytes(held, bytes));
    else if (p)
        text_append(&s, " by %s", process_words(p, LONG_NAME, who));
    else if (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS)
        text_append(&s, " by clocks that are set to stay high");
    else if (prefers_speed(f->gpu))
        text_append(&s, " by clocks that PowerMizer keeps high (%s)", mizer_words(f->gpu));
    else
        text_append(&s, " by clocks that stay high; no process %s visible that asks for it", is(f));
    if (d->cause.code != FINDING_DISPLAY)
        say_clocks(&s, f);
    cause_end(d, " %s %s", is(f), words);
}

static void rule_clocks(const struct facts *f, struct why_part *part)
{
    const struct process *p = f->workers.holder;
    int64_t held;
    char who[PROCESS_WORDS], bytes[SHORT_WORDS], ago[SHORT_WORDS];
    struct cause_draft d;
    /* Clocks alone never draw what work draws: that power is of a moment ago, or of work that can't be seen. */
    if (!f->clocks_high || power_is_unexplained(f->gpu))
        return;
    /* Clocks stay up for seconds after work: a server between two requests keeps nothing from idling. */
    if (may_go_on(f, CLOCKS_FALL_MS))
        return;
    cause_begin(&d, part, p ? FINDING_CONTEXT_HELD : FINDING_CLOCKS_HELD);
    support_load(&d, f, 0.1);
    support_clocks(&d, f);
    support_calm(&d, f, 0.2);
    if (!p) {
        if (f->gpu->processes_state != READING_OK)
            doubt(&d, 0.8, "processes: %s", words_absent(f->gpu->processes_state));
        end_kept(&d, f);
        return;
    }
    cause_process(&d, p);
    process_words(p, EXACT_NAME, who);
    double weight = p->type == PROCESS_GRAPHICS ? 0.1 : 0.4;
    if (reading_get(p->mem_bytes, &held))
        support(&d, weight, "context of %s with %s", who, words_bytes(held, bytes));
    else
        support(&d, weight, "context of %s", who);
    if (f->workers.on_card > 1)
        doubt(&d, 0.9, "%zu more processes on it", f->workers.on_card - 1);
    /* A job that writes a checkpoint goes on: closing it is no advice. */
    if (may_go_on(f, COOLING_MS))
        doubt(&d, 0.35, "but it was working %s %s", words_duration(f->past.fell_ago_ms, ago), f->over ? "before" : "ago");
    end_kept(&d, f);
}

static bool draws_only(const struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].type != PROCESS_GRAPHICS)
            return false;
    return gpu->process_count > 0;
}

static void rule_display(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    int64_t clock, most;
    bool screen = reading_or(gpu->display_active, 0) != 0, no_screen = gpu->display_active.state == READING_OK && !screen;
    bool stirred = f->heat >= HEAT_LUKEWARM || f->fan >= FAN_RAISED || f->power >= POWER_RAISED ||
                   f->activity.code == ACTIVITY_KEPT_FROM_IDLING;
    struct cause_draft d;
    /* Displays pin the memory clock alone; a context that computes raises both. */
    if (f->clocks_high && f->workers.holder && f->workers.holder->type != PROCESS_GRAPHICS && !words_draws(f->workers.holder))
        return;
    if (!stirred || no_screen || f->cpu_hot || (!screen && !draws_only(gpu)) || !reading_get(gpu->clock_memory_khz, &clock) ||
        !reading_get(gpu->clock_memory_max_khz, &most) || most <= 0 || clock * 10 < most * 9)
        return;
    cause_begin(&d, part, FINDING_DISPLAY);
    support(&d, 0.5, "memory clock %lld MHz of %lld MHz", words_whole(clock, 1000), words_whole(most, 1000));
    if (screen)
        support(&d, 0.3, "a display is connected");
    if (draws_only(gpu))
        support(&d, 0.2, "only programs that draw");
    support_load(&d, f, 0.1);
    support_power(&d, f, 0.1);
    end_kept(&d, f);
}

static void rule_vram(const struct facts *f, struct why_part *part)
{
    const struct process *p = f->workers.holder;
    int64_t held, total;
    char who[PROCESS_WORDS], bytes[SHORT_WORDS];
    struct cause_draft d;
    if (!p || p->type == PROCESS_GRAPHICS || reading_or(p->util_permille, 0) > IDLE_MAX || !reading_get(p->mem_bytes, &held) ||
        held < (256LL << 20))
        return;
    process_words(p, EXACT_NAME, who);
    words_bytes(held, bytes);
    cause_begin(&d, part, FINDING_VRAM_HELD);
    if (reading_get(f->gpu->mem_total_bytes, &total)) {
        char all[SHORT_WORDS];
        support(&d, 0.1, "%s: %s of %s", who, bytes, words_bytes(total, all));
    } else {
        support(&d, 0.1, "%s: %s", who, bytes);
    }
    cause_process(&d, p);
    cause_end(&d, ": %s %s %s %s but not computing; the memory itself does not draw power, an open context does",
              process_words(p, LONG_NAME, who), is(f), process_stands_stopped(p) ? "stopped, holding" : "holding", bytes);
}

/* Instead of all others: nothing is read of it. */
void rule_asleep(const struct facts *f, struct why_part *part)
{
    struct cause_draft d;
    cause_begin(&d, part, FINDING_ASLEEP);
    support(&d, 0.97, "the kernel suspended the GPU");
    if (f->gpu->error_message[0])
        support(&d, 0, "driver: %s", f->gpu->error_message);
    cause_end(&d, " %s asleep: it needs no cooling, so the noise %s from something else", is(f), f->over ? "came" : "comes");
}

static void rules_idle(const struct facts *f, struct why_part *part)
{
    if (f->load == LOAD_BUSY)
        return;
    if (f->heat >= HEAT_LUKEWARM || f->fan >= FAN_RAISED)
        rule_recent(f, part);
    if (f->loading || !at_ease(f))
        return;
    rule_clocks(f, part);
    rule_display(f, part);
    rule_vram(f, part);
}

/* ---- what to do ---- */

static void suggest_clocks(const struct facts *f, struct why_part *part)
{
    if (prefers_speed(f->gpu)) {
        remedy_add(part, REMEDY_POWER_MIZER,
                   "Let it idle again: nvidia-settings -a '[gpu:%d]/GPUPowerMizerMode=%d' (PowerMizer: auto)", f->gpu->index,
                   MIZER_AUTO);
        return;
    }
    /* Clocks stay up for a while behind work: only a lock that the driver reports, or a calm past, is worth a reset. */
    if (!(reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS) && !f->past.known) {
        remedy_add(part, REMEDY_WAIT, "Ask again in a minute: if the clocks fall, work had just ended.");
        return;
    }
    if (may_control(f))
        remedy_add(part, REMEDY_RESET_CLOCKS, "Reset fixed clocks: whirr set clocks stock --gpu %d", f->gpu->index);
    else if (strcmp(f->gpu->id.vendor, "nvidia") == 0 && !f->gpu->simulated)
        remedy_add(part, REMEDY_RESET_CLOCKS, "Reset fixed clocks: sudo nvidia-smi -i %d -rgc -rac", f->gpu->index);
    else
        remedy_add(part, REMEDY_RESET_CLOCKS, "Reset fixed clocks to their default.");
    remedy_add(part, REMEDY_LOOK, "Look for a process that holds the GPU: sudo whirr ps");
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

/* The driver knows CUDA_DISABLE_PERF_BOOST since 580.105.08. */
static bool knows_no_boost(const struct facts *f)
{
    const char *version = f->now->driver.driver_version;
    long major = strtol(version, NULL, 10), minor = 0;
    const char *dot = strchr(version, '.');
    if (dot)
        minor = strtol(dot + 1, NULL, 10);
    return strcmp(f->gpu->id.vendor, "nvidia") == 0 && (major > 580 || (major == 580 && minor >= 105));
}

static void remedy_idle(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    int pid = (int)cause->pid;
    switch (cause->code) {
    case FINDING_RECENT_LOAD: remedy_add(part, REMEDY_WAIT, "Nothing to do: wait a few minutes until it has cooled down."); break;
    case FINDING_CONTEXT_HELD:
        if (!may_be_closed(f, cause->pid))
            break;
        if (process_stands_stopped(gpu_find_process(f->gpu, cause->pid)))
            remedy_add(part, REMEDY_CONTINUE, "Let process %d go on (kill -CONT %d), or end it: the GPU can then idle.", pid, pid);
        else
            remedy_add(part, REMEDY_CLOSE_CONTEXT,
                       "Close the context of process %d (the session or notebook kernel): the GPU can then idle.", pid);
        if (knows_no_boost(f) && gpu_find_process(f->gpu, cause->pid)->type & PROCESS_COMPUTE &&
            !(gpu_find_process(f->gpu, cause->pid)->variables & VARIABLE_NO_BOOST))
            remedy_add(part, REMEDY_NO_BOOST,
                       "Or start it with `CUDA_DISABLE_PERF_BOOST=1` the next time: it then rests although the context is open "
                       "(after a pause, the first 200 to 320 ms of work run at low clocks).");
        break;
    case FINDING_DISPLAY: remedy_add(part, REMEDY_REFRESH_RATE, NULL); break;
    case FINDING_CLOCKS_HELD: suggest_clocks(f, part); break;
    case FINDING_VRAM_HELD:
        if (f->activity.symptoms & 1u << SYMPTOM_MEMORY_FULL && may_be_closed(f, cause->pid))
            remedy_add(part, REMEDY_FREE_MEMORY, "Unload the model of process %d if the memory is needed.", pid);
        break;
    default: break;
    }
}

const struct area area_idle = {.weigh = rules_idle, .remedy = remedy_idle};
