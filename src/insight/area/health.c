/* SPDX-License-Identifier: Apache-2.0
 * The checks that readings decide, and the words of health. A reading that is absent judges nothing: neither that all is well nor
 * that it is not.
 */
#include "insight/area/health.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "insight/facts/words.h"

/* How long something must last, and where it begins */
enum {
    HOLD_HEAT_MS = 60000,
    HOLD_LINK_MS = 60000,
    HEALTH_MARGIN = 5000,    /* 1/1000 C below a limit */
    HEALTH_HOTTEST = 100000, /* where the card gives no limit */
    HEALTH_LOAD = 500,       /* permille: the generation of a link is judged from here on */
    HEALTH_ROWS_MAX = 512,   /* remapped rows for uncorrected errors */
    HEALTH_PAGES_MAX = 60,   /* retired pages */
    HEALTH_REPLAYS_PER_MIN = 8,
    HEALTH_REPLAYS_WINDOW_MS = 60000,
};

static void clear(struct health_look *l)
{
    if (l->look == LOOK_UNJUDGED)
        l->look = LOOK_CLEAR;
}

/* The first that is present stays: checks look for the worst first. */
__attribute__((format(gnu_printf, 5, 6))) static void present(struct health_look *l, enum health_state state,
                                                              enum health_advice advice, int64_t hold_ms, const char *format, ...)
{
    if (l->look == LOOK_PRESENT)
        return;
    *l = (struct health_look){.look = LOOK_PRESENT, .state = state, .advice = advice, .hold_ms = hold_ms};
    va_list args;
    va_start(args, format);
    vsnprintf(l->reason, sizeof l->reason, format, args);
    va_end(args);
}

static void look_driver_verdict(const struct gpu *gpu, struct health_look *l)
{
    int64_t action;
    if (!reading_get(gpu->recovery_action, &action))
        return;
    switch (action) {
    case 0: clear(l); break;
    case 1: present(l, HEALTH_FAILING, ADVICE_RESET, 0, "the driver reports that the GPU must be reset"); break;
    case 2: present(l, HEALTH_FAILING, ADVICE_REBOOT, 0, "the driver asks for a reboot of the host"); break;
    case 3: present(l, HEALTH_DEGRADED, ADVICE_DRAIN, 0, "the driver reports that work must be drained from the GPU"); break;
    default: present(l, HEALTH_FAILING, ADVICE_RESET, 0, "the driver reports that the GPU must be drained and reset"); break;
    }
}

/* Repairs that the driver plans or has given up: what nvidia-smi shows under "ECC Errors" as pending or unrepairable. */
static void look_repair(const struct gpu *gpu, struct health_look *l)
{
    static const char channel[] = "a bad channel of its memory is repaired at the next reset";
    static const char tpc[] = "a bad part of the chip (TPC) is repaired at the next reset";
    const struct {
        struct reading told;
        enum health_state state;
        enum health_advice advice;
        const char *reason;
    } repairs[] = {
        {gpu->unrepairable_memory, HEALTH_FAILING, ADVICE_REPLACE, "its memory has errors that can't be repaired"},
        {gpu->ecc_sram_threshold, HEALTH_FAILING, ADVICE_REPLACE,
         "its caches had more uncorrected errors than the driver tolerates"},
        {gpu->channel_repair_pending, HEALTH_DEGRADED, ADVICE_RESET, channel},
        {gpu->tpc_repair_pending, HEALTH_DEGRADED, ADVICE_RESET, tpc},
    };
    int64_t set;
    for (size_t i = 0; i < ARRAY_LEN(repairs); i++) {
        if (!reading_get(repairs[i].told, &set))
            continue;
        clear(l);
        if (set)
            present(l, repairs[i].state, repairs[i].advice, 0, "%s", repairs[i].reason);
    }
}

static void look_memory(const struct gpu *gpu, struct health_look *looks)
{
    struct health_look *ecc = &looks[HEALTH_CHECK_ECC], *rows = &looks[HEALTH_CHECK_ROW_REMAP];
    struct health_look *pages = &looks[HEALTH_CHECK_RETIRED_PAGES];
    int64_t n;
    if (reading_get(gpu->ecc_uncorrected, &n)) {
        clear(ecc);
        if (n > 0)
            present(ecc, HEALTH_FAILING, ADVICE_RESET, 0, "%lld memory error%s not corrected since the driver was loaded",
                    (long long)n, n == 1 ? " was" : "s were");
    }
    if (reading_get(gpu->remapped_rows_failed, &n)) {
        clear(rows);
        if (n)
            present(rows, HEALTH_FAILING, ADVICE_REPLACE, 0, "a bad row of its memory could not be exchanged for a spare one");
    }
    if (reading_get(gpu->remapped_rows_uncorrected, &n)) {
        clear(rows);
        if (n >= HEALTH_ROWS_MAX)
            present(rows, HEALTH_FAILING, ADVICE_REPLACE, 0, "%lld rows of its memory had errors that could not be corrected",
                    (long long)n);
    }
    if (reading_get(gpu->remapped_rows_pending, &n)) {
        clear(rows);
        if (n)
            present(rows, HEALTH_DEGRADED, ADVICE_RESET, 0,
                    "a bad row of its memory is exchanged for a spare one at the next reset");
    }
    int64_t single = reading_or(gpu->retired_pages_sbe, 0), twice = reading_or(gpu->retired_pages_dbe, 0);
    if (gpu->retired_pages_sbe.state == READING_OK || gpu->retired_pages_dbe.state == READING_OK) {
        clear(pages);
        if (single + twice >= HEALTH_PAGES_MAX)
            present(pages, HEALTH_FAILING, ADVICE_REPLACE, 0, "%lld pages of its memory are retired", (long long)(single + twice));
    }
    if (reading_get(gpu->retired_pages_pending, &n)) {
        clear(pages);
        if (n)
            present(pages, HEALTH_DEGRADED, ADVICE_REBOOT, 0, "a bad page of its memory is retired at the next reboot");
    }
}

static void look_slowdown(const struct gpu *gpu, struct health_look *l)
{
    const int64_t slowed = THROTTLE_HOT | THROTTLE_HW_SLOWDOWN | THROTTLE_POWER_BRAKE;
    int64_t bits;
    if (!reading_get(gpu->throttle_bits, &bits))
        return;
    clear(l);
    if (!(bits & slowed) || (!(bits & slowed & ~THROTTLE_HOT) && heat_bit_is_left(gpu)))
        return;
    char words[96] = "";
    struct text s = TEXT(words);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & slowed & (1 << i))
            text_append(&s, "%s%s", s.len ? ", " : "", throttle_name(i));
    present(l, HEALTH_DEGRADED, bits & THROTTLE_POWER_BRAKE ? ADVICE_POWER : ADVICE_COOL, HOLD_HEAT_MS, "it is slowed down (%s)",
            words);
}

static void look_temperature(const struct gpu *gpu, struct health_look *l)
{
    int64_t temp, limit, margin;
    if (!reading_get(gpu->temp_mdegc, &temp))
        return;
    clear(l);
    if (reading_get(gpu->temp_shutdown_mdegc, &limit) && limit > 0 && temp >= limit - HEALTH_MARGIN)
        present(l, HEALTH_FAILING, ADVICE_COOL, 0, "it is at %lld °C and switches itself off at %lld °C", words_whole(temp, 1000),
                words_whole(limit, 1000));
    if (reading_get(gpu->temp_margin_mdegc, &margin)) {
        if (margin <= heat_limit_margin(gpu))
            present(l, HEALTH_DEGRADED, ADVICE_COOL, HOLD_HEAT_MS, "it is only %lld °C below its throttle limit",
                    words_whole(margin, 1000));
    } else if (reading_get(gpu->temp_limit_mdegc, &limit) && limit > 0) {
        if (temp >= limit - heat_limit_margin(gpu))
            present(l, HEALTH_DEGRADED, ADVICE_COOL, HOLD_HEAT_MS, "it is at %lld °C and throttles at %lld °C",
                    words_whole(temp, 1000), words_whole(limit, 1000));
    } else if (temp >= HEALTH_HOTTEST) {
        present(l, HEALTH_DEGRADED, ADVICE_COOL, HOLD_HEAT_MS, "it is at %lld °C", words_whole(temp, 1000));
    }
    if (reading_get(gpu->temp_memory_mdegc, &temp) && reading_get(gpu->temp_memory_limit_mdegc, &limit) && limit > 0 &&
        temp >= limit)
        present(l, HEALTH_DEGRADED, ADVICE_COOL, HOLD_HEAT_MS, "its memory is at %lld °C, the limit is %lld °C",
                words_whole(temp, 1000), words_whole(limit, 1000));
}

/* Links of idle cards rest: only a working card shows what its link can do. */
static void look_link(const struct gpu *gpu, struct health_look *l)
{
    int64_t load, now, most;
    if (!reading_get(gpu->util_permille, &load) || load < HEALTH_LANES_LOAD)
        return;
    if (reading_get(gpu->pcie_width, &now) && reading_get(gpu->pcie_width_max, &most) && now > 0) {
        clear(l);
        if (now < most)
            present(l, HEALTH_DEGRADED, ADVICE_SEAT, HOLD_LINK_MS, "its PCIe link has %lld of %lld lanes under load",
                    (long long)now, (long long)most);
    }
    /* The driver lowers the generation with the performance state. */
    if (load >= HEALTH_LOAD && reading_or(gpu->pstate, 0) <= HEALTH_WORKING_STATE_MAX && reading_get(gpu->pcie_generation, &now) &&
        reading_get(gpu->pcie_generation_max, &most) && now > 0) {
        clear(l);
        if (now < most)
            present(l, HEALTH_DEGRADED, ADVICE_SEAT, HOLD_LINK_MS, "its PCIe link runs at generation %lld of %lld under load",
                    (long long)now, (long long)most);
    }
}

static void look_replays(const struct gpu *gpu, struct wall now, struct health_card *card, struct health_look *l)
{
    int64_t count, before, passed = now.ms - card->replays_at.ms;
    /* Where a driver does not count replays, the kernel counts errors that were corrected. */
    struct reading replays = gpu->pcie_replays.state == READING_OK ? gpu->pcie_replays : gpu->pcie_corrected_errors;
    if (!reading_get(replays, &count))
        return;
    bool counted = reading_get(card->replays, &before) && count >= before && passed > 0;
    if (counted && passed < HEALTH_REPLAYS_WINDOW_MS)
        return; /* too short to be a rate: the window goes on */
    card->replays = replays;
    card->replays_at = now;
    clear(l);
    double rate = counted ? (double)(count - before) * 60000 / (double)passed : 0;
    if (rate > HEALTH_REPLAYS_PER_MIN)
        present(l, HEALTH_DEGRADED, ADVICE_SEAT, 0, "its PCIe link sends packets again, %.0f a minute", rate);
}

static void look_nvlink(const struct gpu *gpu, struct health_card *card, struct health_look *l)
{
    int64_t active;
    if (!reading_get(gpu->nvlink_links_active, &active))
        return;
    clear(l);
    /* Links without a bridge are never up, so the card itself is the measure. */
    if (active < card->nvlinks_most)
        present(l, HEALTH_DEGRADED, ADVICE_LINKS, 0, "%lld of %lld links to other GPUs are up", (long long)active,
                (long long)card->nvlinks_most);
    card->nvlinks_most = MAX_OF(card->nvlinks_most, active);
}

/* What a fan may and may not be blamed for is decided in insight/facts/levels.h. */
static void look_fan(const struct gpu *gpu, struct health_look *l)
{
    struct fan fan = fan_judge(gpu);
    int64_t temp = reading_or(gpu->temp_mdegc, 0);
    if (fan.state == FAN_STATE_UNKNOWN || fan.state == FAN_STATE_NONE)
        return;
    clear(l);
    if (fan.state == FAN_STATE_STOPPED)
        present(l, HEALTH_FAILING, ADVICE_FAN, FAN_FAULT_MS, "its fan should run at %s but has stopped at %lld °C", fan.asked,
                words_whole(temp, 1000));
    else if (fan.state == FAN_STATE_SLOW)
        present(l, HEALTH_DEGRADED, ADVICE_FAN, HOLD_HEAT_MS, "its fan is asked for %s but turns far slower, at %lld °C", fan.asked,
                words_whole(temp, 1000));
}

void health_look_at(const struct gpu *gpu, struct wall now, struct health_card *card, struct health_look looks[HEALTH_CHECK_COUNT])
{
    for (size_t i = 0; i < HEALTH_CHECK_COUNT; i++)
        looks[i] = (struct health_look){.look = LOOK_UNJUDGED};
    if (gpu->released || gpu_is_denied(gpu))
        return;
    const char *message = gpu->error_message[0] ? gpu->error_message : "no message";
    looks[HEALTH_CHECK_LOST].look = gpu->state == GPU_ASLEEP ? LOOK_UNJUDGED : LOOK_CLEAR;
    looks[HEALTH_CHECK_ERROR].look = gpu->state == GPU_OK ? LOOK_CLEAR : LOOK_UNJUDGED;
    if (gpu->state == GPU_LOST)
        present(&looks[HEALTH_CHECK_LOST], HEALTH_LOST, ADVICE_REBOOT, 0, "the host can no longer reach it (%.110s)", message);
    if (gpu->state == GPU_ERROR)
        present(&looks[HEALTH_CHECK_ERROR], HEALTH_FAILING, ADVICE_RESET, 0, "it cannot be read (%.110s)", message);
    if (gpu->state != GPU_OK)
        return;
    look_driver_verdict(gpu, &looks[HEALTH_CHECK_DRIVER_VERDICT]);
    look_memory(gpu, looks);
    look_repair(gpu, &looks[HEALTH_CHECK_REPAIR]);
    look_slowdown(gpu, &looks[HEALTH_CHECK_SLOWDOWN]);
    look_temperature(gpu, &looks[HEALTH_CHECK_TEMPERATURE]);
    look_link(gpu, &looks[HEALTH_CHECK_PCIE_LINK]);
    look_replays(gpu, now, card, &looks[HEALTH_CHECK_PCIE_REPLAYS]);
    look_nvlink(gpu, card, &looks[HEALTH_CHECK_NVLINK]);
    look_fan(gpu, &looks[HEALTH_CHECK_FAN]);
}

void health_look_cooling(const struct baseline_drift *d, struct health_look *look)
{
    char words[DRIFT_WORDS];
    if (!d->days)
        return;
    clear(look);
    if (d->rising)
        present(look, d->strong ? HEALTH_DEGRADED : HEALTH_HEALTHY, ADVICE_COOL, 0, "%s: %s", baseline_drift_words(d, words),
                d->elsewhere ? "a warmer room, or dust in the filters" : "dust, or paste that has dried out");
}

/* ---- words ---- */

static const struct {
    const char *name;
    enum finding_code finding;
} checks[HEALTH_CHECK_COUNT] = {
#define HEALTH_CHECK(name, code, found) {code, FINDING_##found},
#include "insight/area/health_checks.def"
#undef HEALTH_CHECK
};

enum finding_code health_finding_code(const struct health_finding *h)
{
    bool stopped = h->check == HEALTH_CHECK_FAN && h->state >= HEALTH_FAILING;
    return stopped ? FINDING_FAN_STOPPED : checks[h->check].finding;
}

const char *health_check_name(enum health_check check)
{
    return check < HEALTH_CHECK_COUNT ? checks[check].name : "unknown";
}

const char *health_state_name(enum health_state state)
{
    static const char *const names[] = {"unknown", "asleep", "healthy", "degraded", "failing", "lost"};
    return names[state];
}

bool health_state_from_name(const char *name, enum health_state *ret)
{
    for (enum health_state s = HEALTH_UNKNOWN; s <= HEALTH_LOST; s++)
        if (strcmp(name, health_state_name(s)) == 0) {
            *ret = s;
            return true;
        }
    return false;
}

bool health_check_from_name(const char *name, enum health_check *ret)
{
    for (size_t i = 0; i < HEALTH_CHECK_COUNT; i++)
        if (strcmp(name, checks[i].name) == 0) {
            *ret = (enum health_check)i;
            return true;
        }
    return false;
}

int health_exit_code(enum health_state state)
{
    switch (state) {
    case HEALTH_HEALTHY:
    case HEALTH_ASLEEP: return 0;
    case HEALTH_DEGRADED: return 1;
    case HEALTH_FAILING:
    case HEALTH_LOST: return 2;
    case HEALTH_UNKNOWN: break;
    }
    return 3;
}

const char *health_advice_text(enum health_advice advice)
{
    static const char *const texts[ADVICE_COUNT] = {
        [ADVICE_NONE] = "Nothing to do.",
        [ADVICE_COOL] = "Check the airflow: clean dust from the fan and heatsink, clear the intake, or lower the power limit.",
        [ADVICE_POWER] = "Check the power supply and its cables: the host is asking the GPU to draw less.",
        [ADVICE_FAN] = "Check the fan (cable, dust, a blocked blade, a worn bearing); stop heavy work until it turns.",
        [ADVICE_SEAT] = "Power off the host and reseat the GPU and its riser; check the slot and its BIOS settings.",
        [ADVICE_LINKS] = "Check the bridge or fabric between GPUs and the kernel log; a reset may bring the link back.",
        [ADVICE_LOOK] = "Check the kernel log (`sudo dmesg`) for GPU errors.",
        [ADVICE_WATCH] = "Watch it: if it happens again, check the power cables, the slot and the GPU's temperature.",
        [ADVICE_DRAIN] = "Let the work on the GPU finish, start nothing new there (drain it), then reset the GPU.",
        [ADVICE_RESET] = "Stop all work on the GPU and reset it, or reboot the host.",
        [ADVICE_REBOOT] = "Reboot the host.",
        [ADVICE_REPLACE] = "Have the GPU checked and replaced.",
        [ADVICE_DRIVER] = "See what keeps its driver from answering, and how to mend that: whirr doctor",
    };
    return texts[advice < ADVICE_COUNT ? advice : ADVICE_NONE];
}
