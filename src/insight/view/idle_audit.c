/* SPDX-License-Identifier: Apache-2.0
 * The idle audit: each suspect is found, worth knowing, or ruled out. What cannot be seen is neither.
 */
#include "insight/view/idle_audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "insight/area/area.h"

static const struct {
    const char *name, *words;
} codes[IDLE_CODE_COUNT] = {
    [IDLE_CODE_DISPLAY] = {"display", "displays"},
    [IDLE_CODE_MEMORY_CLOCK] = {"memory_clock", "memory clock"},
    [IDLE_CODE_CONTEXT] = {"context", "compute contexts"},
    [IDLE_CODE_MODEL] = {"model", "loaded models"},
    [IDLE_CODE_BROWSER] = {"browser", "browsers"},
    [IDLE_CODE_VIDEO] = {"video_decode", "video decode"},
    [IDLE_CODE_MONITOR] = {"monitor", "other monitors"},
    [IDLE_CODE_OPEN] = {"open_device", "other programs"},
    [IDLE_CODE_ASPM] = {"aspm", "PCIe power saving"},
    [IDLE_CODE_RUNTIME_PM] = {"runtime_pm", "runtime power management"},
    [IDLE_CODE_PERSISTENCE] = {"persistence", "persistence mode"},
};

const char *idle_code_name(enum idle_code code)
{
    return code < IDLE_CODE_COUNT ? codes[code].name : "unknown";
}

const char *idle_code_words(enum idle_code code)
{
    return code < IDLE_CODE_COUNT ? codes[code].words : "";
}

/* ---- who a holder is ---- */

static bool is_any(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(name, *names) == 0)
            return true;
    return false;
}

enum holder_kind { HOLDER_OTHER, HOLDER_BROWSER, HOLDER_MONITOR, HOLDER_SCREEN, HOLDER_BROKER };

static enum holder_kind idle_audit_kind_of(const struct idle_holder *h)
{
    static const char *const browsers[] = {
        "firefox",        "firefox-bin", "firefox-esr", "chrome",      "chromium",       "chromium-browse",
        "brave",          "msedge",      "opera",       "vivaldi-bin", "electron",       "code",
        "slack",          "discord",     "teams",       "spotify",     "signal-desktop", "obsidian",
        "steamwebhelper", "GPU Process", "librewolf",   "zen",         "thorium",        NULL};
    static const char *const monitors[] = {"nvtop",         "nvitop",      "gpustat",  "btop",          "radeontop",
                                           "amdgpu_top",    "corectrl",    "lact",     "glances",       "conky",
                                           "netdata",       "go.d.plugin", "telegraf", "intel_gpu_top", "zenith",
                                           "missioncenter", "resources",   "psensor",  "gwe",           "dcgm-exporter",
                                           "nv-hostengine", "nvidia-smi",  "xpumd",    "zabbix_agentd", NULL};
    static const char *const brokers[] = {"systemd-logind",      "seatd",           "elogind", "whirr",
                                          "nvidia-persistenced", "nvidia-persiste", NULL};
    if (is_any(h->name, brokers))
        return HOLDER_BROKER;
    if (process_draws_desktop(h->name))
        return HOLDER_SCREEN;
    if (is_any(h->name, monitors) || is_any(h->title, monitors))
        return HOLDER_MONITOR;
    /* Programs made with Chromium or Electron draw in a process of their own. */
    if (is_any(h->name, browsers) || is_any(h->title, browsers) || strstr(h->command, "--type=gpu-process"))
        return HOLDER_BROWSER;
    return HOLDER_OTHER;
}

/* ---- findings ---- */

static struct idle_finding *idle_audit_add(struct idle_audit *a, enum idle_code code, bool keeps, int32_t pid)
{
    a->ruled_out &= ~(1u << code);
    for (size_t i = 0; i < a->count; i++) /* once a process and code */
        if (pid && a->findings[i].pid == pid)
            return NULL;
    if (a->count == IDLE_FINDINGS_MAX)
        return NULL;
    size_t at = a->count;
    while (keeps && at > 0 && !a->findings[at - 1].keeps)
        at--;
    memmove(&a->findings[at + 1], &a->findings[at], (a->count - at) * sizeof a->findings[0]);
    a->count++;
    a->findings[at] = (struct idle_finding){.code = code, .keeps = keeps, .pid = pid};
    return &a->findings[at];
}

__attribute__((format(gnu_printf, 2, 3))) static void advise(struct idle_audit *a, const char *format, ...)
{
    char text[WHY_LINE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < a->suggestion_count; i++)
        if (strcmp(a->suggestions[i], text) == 0)
            return;
    if (a->suggestion_count < ARRAY_LEN(a->suggestions))
        str_copy(a->suggestions[a->suggestion_count++], WHY_LINE_SIZE, str_from(text));
}

/* ": 17 W" */
static void say_watts(struct text *s, struct idle_finding *f, int64_t added_mw, long long watts)
{
    f->added_mw = reading_ok(added_mw);
    if (added_mw < 1000)
        text_append(s, ": less than 1 W");
    else
        text_append(s, ": %lld W", watts);
}

/* ": 17 W (38 W since it came, 21 W before)" */
static void say_added(struct text *s, struct idle_finding *f, int64_t with_mw, int64_t without_mw)
{
    say_watts(s, f, MAX_OF(with_mw - without_mw, 0), words_whole(with_mw, 1000) - words_whole(without_mw, 1000));
    text_append(s, " (%lld W ", words_whole(with_mw, 1000));
}

static void say_step(struct text *s, struct idle_finding *f, const struct usual *u)
{
    const struct baseline_step *step = usual_step(u, f->pid);
    if (!step)
        return;
    say_added(s, f, step->since_mw, step->before_mw);
    text_append(s, "since it came, %lld W before)", words_whole(step->before_mw, 1000));
}

/* What the steps of contexts say, where the history has none of this program's own. */
static void say_parked(struct text *s, struct idle_finding *f, struct reading parked_mw)
{
    int64_t parked;
    if (f->added_mw.state != READING_OK && reading_get(parked_mw, &parked))
        say_watts(s, f, parked, words_whole(parked, 1000));
}

static bool any_display(const struct idle_facts *r)
{
    for (size_t i = 0; i < r->display_count; i++)
        if (r->displays[i].on)
            return true;
    return false;
}

/* Whether a display is on: by its connectors, else by the driver's own word. 0 only from a witness that could have seen one. */
static struct reading display_is_on(const struct gpu *gpu, const struct idle_facts *r)
{
    int64_t active;
    bool known = reading_get(gpu->display_active, &active);
    if (any_display(r) || (known && active && !r->displays_seen))
        return reading_ok(1);
    return r->displays_seen || known ? reading_ok(0) : reading_absent(READING_UNSUPPORTED);
}

static void audit_displays(struct idle_audit *a, const struct gpu *gpu, const struct idle_facts *r, bool pinned)
{
    struct reading on = display_is_on(gpu, r);
    if (on.state == READING_OK)
        a->ruled_out |= 1u << IDLE_CODE_DISPLAY;
    struct idle_finding *unnamed = reading_or(on, 0) && !any_display(r) ? idle_audit_add(a, IDLE_CODE_DISPLAY, pinned, 0) : NULL;
    if (unnamed)
        snprintf(unnamed->text, sizeof unnamed->text, "a display is on; which one, the driver doesn't show");
    for (size_t i = 0; i < r->display_count; i++) {
        const struct idle_display *d = &r->displays[i];
        struct idle_finding *f = d->on ? idle_audit_add(a, IDLE_CODE_DISPLAY, pinned, 0) : NULL;
        if (!f)
            continue;
        struct text s = TEXT(f->text);
        text_append(&s, "%s is on", d->connector);
        if (d->width)
            text_append(&s, "%s %dx%d", d->in_use ? ":" : ", preferred mode", d->width, d->height);
        if (d->width && d->refresh_hz)
            text_append(&s, " at %d Hz", d->refresh_hz);
        if (d->width && d->refresh_most_hz > d->refresh_hz)
            text_append(&s, " (up to %d Hz)", d->refresh_most_hz);
    }
}

/* A clock that never falls, as that of HBM, is no cause of a GPU that idles as it should: *keeps. True: it is at its top. */
static bool audit_memory_clock(struct idle_audit *a, const struct gpu *gpu, const struct usual *u, bool keeps)
{
    int64_t clock, most;
    if (!reading_get(gpu->clock_memory_khz, &clock) || !reading_get(gpu->clock_memory_max_khz, &most) || most <= 0)
        return false;
    a->ruled_out |= 1u << IDLE_CODE_MEMORY_CLOCK;
    if (clock * 10 < most * 9)
        return false;
    struct idle_finding *f = idle_audit_add(a, IDLE_CODE_MEMORY_CLOCK, keeps, 0);
    if (!f)
        return true;
    struct text s = TEXT(f->text);
    text_append(&s, "the memory clock stays at %lld MHz of %lld MHz", words_whole(clock, 1000), words_whole(most, 1000));
    if (u->at_low_clock.clock_khz) {
        say_added(&s, f, u->at_clock.power_mw, u->at_low_clock.power_mw);
        text_append(&s, "at this clock, %lld W at %lld MHz)", words_whole(u->at_low_clock.power_mw, 1000),
                    words_whole(u->at_low_clock.clock_khz, 1000));
    }
    return true;
}

static void audit_processes(struct idle_audit *a, const struct gpu *gpu, const struct usual *u)
{
    enum { MODEL_BYTES = 256 << 20 };
    if (gpu->processes_state == READING_OK && !gpu->processes_hidden)
        a->ruled_out |= 1u << IDLE_CODE_CONTEXT | 1u << IDLE_CODE_MODEL;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        char who[PROCESS_WORDS], bytes[SHORT_WORDS];
        int64_t held;
        if (p->type == PROCESS_GRAPHICS || words_draws(p) || process_draws_desktop(p->name))
            continue;
        bool much = reading_get(p->mem_bytes, &held) && held >= MODEL_BYTES;
        struct idle_finding *f = idle_audit_add(a, p->model[0] ? IDLE_CODE_MODEL : IDLE_CODE_CONTEXT, true, p->pid);
        if (!f)
            continue;
        process_words(p, WITH_OWNER, who);
        const char *model = process_model(p);
        struct text s = TEXT(f->text);
        if (model[0])
            text_append(&s, "%s has %.64s loaded", who, model);
        else
            text_append(&s, "%s holds a compute context", who);
        if (much)
            text_append(&s, ", %s", words_bytes(held, bytes));
        say_step(&s, f, u);
        say_parked(&s, f, p->parked_mw);
        if (strncmp(p->name, "ollama", 6) == 0 && model[0])
            advise(a, "Unload it when it is not needed: ollama stop %.64s", model);
    }
}

static void audit_video(struct idle_audit *a, const struct gpu *gpu)
{
    int64_t busy;
    if (!reading_get(gpu->decoder_permille, &busy))
        return;
    a->ruled_out |= 1u << IDLE_CODE_VIDEO;
    struct idle_finding *f = busy > 0 ? idle_audit_add(a, IDLE_CODE_VIDEO, true, 0) : NULL;
    if (f)
        snprintf(f->text, sizeof f->text, "video is being decoded (decoder %lld%%)", percent(busy));
}

static void audit_holders(struct idle_audit *a, const struct idle_facts *r, const struct usual *u)
{
    a->hidden = r->hidden;
    if (!r->hidden && !r->holders_left_out)
        a->ruled_out |= 1u << IDLE_CODE_BROWSER | 1u << IDLE_CODE_MONITOR | 1u << IDLE_CODE_OPEN;
    for (size_t i = 0; i < r->holder_count; i++) {
        const struct idle_holder *h = &r->holders[i];
        enum holder_kind kind = idle_audit_kind_of(h);
        if (kind == HOLDER_BROKER)
            continue;
        enum idle_code code = kind == HOLDER_BROWSER   ? IDLE_CODE_BROWSER
                              : kind == HOLDER_MONITOR ? IDLE_CODE_MONITOR
                                                       : IDLE_CODE_OPEN;
        struct idle_finding *f = idle_audit_add(a, code, kind != HOLDER_SCREEN, h->pid);
        if (!f)
            continue;
        struct text s = TEXT(f->text);
        text_append(&s, "%.48s", h->title[0] ? h->title : h->name[0] ? h->name : "a process");
        text_append(&s, h->user[0] ? " (%s, pid %d)" : "%s (pid %d)", h->user, (int)h->pid);
        text_append(&s, kind == HOLDER_MONITOR ? " is polling the GPU" : " has the GPU open");
        say_step(&s, f, u);
        if (kind == HOLDER_MONITOR)
            advise(a, "Stop the other monitor, or let it refresh less often.");
        if (kind == HOLDER_BROWSER)
            advise(a, "Turn off hardware acceleration in that program, or run it on the other GPU.");
    }
}

static void audit_switches(struct idle_audit *a, const struct gpu *gpu, const struct idle_facts *r)
{
    struct idle_finding *f;
    int64_t on;
    if (r->aspm == SWITCH_ON)
        a->ruled_out |= 1u << IDLE_CODE_ASPM;
    if (r->aspm == SWITCH_OFF && (f = idle_audit_add(a, IDLE_CODE_ASPM, true, 0))) {
        snprintf(f->text, sizeof f->text, "PCIe power saving (ASPM) is off%s",
                 r->aspm_by_policy ? ": the kernel's policy is performance" : " for this GPU");
        if (r->aspm_by_policy)
            advise(a, "Allow PCIe power saving: echo default | sudo tee /sys/module/pcie_aspm/parameters/policy");
    }
    if (r->runtime_pm == SWITCH_ON)
        a->ruled_out |= 1u << IDLE_CODE_RUNTIME_PM;
    /* A GPU that shows a picture or is kept ready on purpose is not suspended anyway. */
    bool may_sleep = reading_or(display_is_on(gpu, r), 1) == 0 && !reading_or(gpu->persistence_mode, 0);
    if (r->runtime_pm == SWITCH_OFF && (f = idle_audit_add(a, IDLE_CODE_RUNTIME_PM, may_sleep, 0))) {
        snprintf(f->text, sizeof f->text, "runtime power management is not allowed, so the GPU can't be suspended");
        if (r->pci_address[0] && may_sleep)
            advise(a, "Let it sleep: echo auto | sudo tee /sys/bus/pci/devices/%s/power/control", r->pci_address);
    }
    if (!reading_get(gpu->persistence_mode, &on))
        return;
    a->ruled_out |= on ? 0 : 1u << IDLE_CODE_PERSISTENCE;
    if (on && (f = idle_audit_add(a, IDLE_CODE_PERSISTENCE, false, 0)))
        snprintf(f->text, sizeof f->text, "persistence mode is on: the driver stays loaded");
}

/* ---- the answer ---- */

static bool audit_is_idle(const struct activity *a)
{
    return a->code == ACTIVITY_IDLE || a->code == ACTIVITY_KEPT_FROM_IDLING || a->code == ACTIVITY_ASLEEP;
}

/* Whether it works can't be read, but who has it open can. */
static bool is_unknown(const struct activity *a, const struct gpu *gpu)
{
    return a->code == ACTIVITY_UNKNOWN && gpu->state == GPU_OK;
}

const char *idle_state_words(enum activity_code code)
{
    return code == ACTIVITY_SATURATED ? "busy" : activity_code_words(code);
}

bool idle_audit_is_busy(enum activity_code code)
{
    return code == ACTIVITY_LIGHTLY_LOADED || code == ACTIVITY_BUSY || code == ACTIVITY_SATURATED;
}

static void answer(struct idle_audit *a, const struct why_part *part, const struct gpu *gpu, const struct idle_facts *r)
{
    int64_t power, usual;
    char name[SHORT_WORDS];
    bool kept = a->count && a->findings[0].keeps;
    struct text s = TEXT(a->answer);
    if (gpu->state == GPU_LOST || gpu->state == GPU_ERROR) {
        text_append(&s, "%s", part->answer);
        return;
    }
    if (part->activity.code == ACTIVITY_FAILING && part->brief.headline[0]) {
        text_append(&s, "%s.", part->brief.headline);
        return;
    }
    if (is_unknown(&part->activity, gpu)) {
        text_append(&s, "Can't tell whether %s is idle: its utilization can't be read.", words_gpu(gpu, false, name));
        return;
    }
    text_append(&s, "%s is %s", words_gpu(gpu, true, name), idle_state_words(part->activity.code));
    if (!audit_is_idle(&part->activity)) {
        if (idle_audit_is_busy(part->activity.code))
            text_append(&s, ": look again when it is idle");
        text_stop(&s);
        return;
    }
    if (reading_get(gpu->power_mw, &power)) {
        text_append(&s, " at %lld W", words_whole(power, 1000));
        if (reading_get(part->usual.idle_power_mw, &usual)) {
            text_append(&s, "; %lld W is usual when idle", words_whole(usual, 1000));
            if (part->usual.idle_excess)
                a->excess_mw = reading_ok(power - usual);
        }
    }
    if (!kept && part->activity.code != ACTIVITY_ASLEEP)
        text_append(&s, "; nothing found that keeps it from idling");
    if (r->looked && part->activity.code != ACTIVITY_ASLEEP && display_is_on(gpu, r).state != READING_OK)
        text_append(&s, "; whether a display is on could not be seen");
    text_stop(&s);
}

bool why_wants_audit(const struct why *why)
{
    for (size_t i = 0; i < why->gpu_count; i++)
        if (why->gpus[i].usual.idle_excess)
            return true;
    return false;
}

void why_audit(struct why *why, const struct snapshot *now, const struct idle_facts *facts)
{
    for (size_t i = 0; i < why->gpu_count && i < now->gpu_count; i++) {
        const struct gpu *gpu = &now->gpus[i];
        const struct idle_facts *r = &facts[i];
        struct idle_audit *a = &why->gpus[i].idle_audit;
        const struct usual *u = &why->gpus[i].usual;
        *a = (struct idle_audit){.looked = r->looked || gpu->simulated};
        if (!a->looked)
            continue;
        if (audit_is_idle(&why->gpus[i].activity) || is_unknown(&why->gpus[i].activity, gpu)) {
            bool falls = u->at_low_clock.clock_khz > 0;
            bool pinned = audit_memory_clock(a, gpu, u,
                                             why->gpus[i].activity.code == ACTIVITY_KEPT_FROM_IDLING || u->idle_excess || falls ||
                                                 reading_or(display_is_on(gpu, r), 0));
            audit_processes(a, gpu, u);
            audit_video(a, gpu);
            if (r->looked) {
                audit_holders(a, r, u);
                audit_displays(a, gpu, r, pinned);
            }
            audit_switches(a, gpu, r);
            if (pinned && !(a->ruled_out & 1u << IDLE_CODE_DISPLAY) && r->display_count)
                advise(a, "Try a lower refresh rate, or one display less.");
        }
        answer(a, &why->gpus[i], gpu, r);
    }
}
