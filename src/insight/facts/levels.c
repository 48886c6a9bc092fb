/* SPDX-License-Identifier: Apache-2.0
 * From readings to levels.
 */
#include "insight/facts/levels.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct reading heat_margin(const struct gpu *gpu)
{
    int64_t temp, limit;
    struct reading r = gpu->temp_limit_mdegc.state == READING_OK ? gpu->temp_limit_mdegc : gpu->temp_max_operating_mdegc;
    if (gpu->temp_margin_mdegc.state == READING_OK)
        return gpu->temp_margin_mdegc;
    if (!reading_get(gpu->temp_mdegc, &temp) || !reading_get(r, &limit) || limit <= 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(limit - temp);
}

int64_t heat_hot_from(const struct gpu *gpu)
{
    int64_t margin;
    if (!reading_get(heat_margin(gpu), &margin))
        return cooling_is_shared(gpu) ? HEAT_HOT_FROM_SHARED : HEAT_HOT_FROM;
    int64_t limit = reading_or(gpu->temp_mdegc, 0) + margin;
    int64_t usual = MAX_OF(limit - HEAT_HOT_MARGIN, (int64_t)HEAT_HOT_LEAST);
    int64_t high = MAX_OF(limit - HEAT_HOT_MARGIN_HIGH, (int64_t)HEAT_HOT_LEAST_HIGH);
    if (cooling_is_shared(gpu)) /* its firmware lets it come close to its limit in every game */
        usual = MAX_OF(limit - HEAT_LIMIT_MARGIN_SHARED, (int64_t)HEAT_HOT_LEAST);
    return MIN_OF(usual, high);
}

/* A GPU so few degrees below its limit counts as being at it. */
static int64_t heat_limit_margin(const struct gpu *gpu)
{
    return cooling_is_shared(gpu) ? HEAT_LIMIT_MARGIN_SHARED : HEAT_LIMIT_MARGIN;
}

bool memory_is_hotter(const struct gpu *gpu)
{
    int64_t temp, limit;
    return heat_level(gpu) < HEAT_LIMIT && reading_get(gpu->temp_memory_mdegc, &temp) &&
           reading_get(gpu->temp_memory_limit_mdegc, &limit) && limit > 0 && temp >= limit - HEAT_LIMIT_MARGIN;
}

enum heat_level heat_level(const struct gpu *gpu)
{
    struct reading margin = heat_margin(gpu);
    int64_t temp;
    if (!reading_get(gpu->temp_mdegc, &temp)) {
        /* Accelerators with the hot spot as their only sensor: one that is cool there is cool. Its limits are another rule's. */
        if (!reading_get(gpu->temp_hotspot_mdegc, &temp))
            return HEAT_UNKNOWN;
        return temp >= HEAT_WARM_FROM ? HEAT_WARM : temp < HEAT_COOL_BELOW ? HEAT_COOL : HEAT_LUKEWARM;
    }
    bool limited = margin.state == READING_OK;
    if (limited && margin.value <= heat_limit_margin(gpu))
        return HEAT_LIMIT;
    if (temp >= heat_hot_from(gpu))
        return HEAT_HOT;
    return temp >= HEAT_WARM_FROM ? HEAT_WARM : temp < HEAT_COOL_BELOW ? HEAT_COOL : HEAT_LUKEWARM;
}

/* How loud it is by its readings; whether it rests, is missing or failing is judged in insight/facts/levels.h. */
enum fan_level fan_level(const struct gpu *gpu)
{
    int64_t speed;
    switch (fan_judge(gpu).state) {
    case FAN_STATE_UNKNOWN: return FAN_UNKNOWN;
    case FAN_STATE_NONE: return FAN_NONE;
    case FAN_STATE_OFF:
    case FAN_STATE_FIRMWARE:
    case FAN_STATE_OFF_HOT:
    case FAN_STATE_STOPPED: return FAN_OFF;
    case FAN_STATE_TURNING:
    case FAN_STATE_SLOW: break;
    }
    if (reading_get(gpu->fan_permille, &speed) && speed > 0)
        return speed <= FAN_LOW_MAX ? FAN_LOW : speed <= FAN_RAISED_MAX ? FAN_RAISED : FAN_LOUD;
    speed = reading_or(gpu->fan_rpm, 0);
    int64_t low = cooling_is_shared(gpu) ? FAN_LOW_SHARED_RPM_MAX : FAN_LOW_RPM_MAX;
    return speed <= low ? FAN_LOW : speed <= FAN_RAISED_RPM_MAX ? FAN_RAISED : FAN_LOUD;
}

bool heat_bit_is_left(const struct gpu *gpu)
{
    enum heat_level heat = heat_level(gpu);
    return (heat == HEAT_COOL || heat == HEAT_LUKEWARM) && reading_or(gpu->util_permille, 1000) <= IDLE_MAX;
}

int64_t pipes_permille(const struct gpu *gpu)
{
    const struct reading of[] = {gpu->tensor_active_permille, gpu->fp64_active_permille, gpu->fp32_active_permille,
                                 gpu->fp16_active_permille};
    int64_t most = 0;
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        most = MAX_OF(most, reading_or(of[i], 0));
    return most;
}

struct reading power_share_permille(const struct gpu *gpu)
{
    int64_t power, limit;
    if (!reading_get(gpu->power_mw, &power) || !reading_get(gpu->power_limit_mw, &limit) || limit <= 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(power * 1000 / limit);
}

enum power_level power_level(const struct gpu *gpu)
{
    int64_t power, share;
    if (!reading_get(gpu->power_mw, &power))
        return POWER_UNKNOWN;
    if (!reading_get(power_share_permille(gpu), &share))
        share = power * 1000 / (5 * POWER_RAISED_MW);
    if (power < POWER_RAISED_MW || share < POWER_RAISED_PERMILLE)
        return POWER_LOW;
    return share < POWER_WORK_PERMILLE ? POWER_RAISED : POWER_WORK;
}

bool power_is_unexplained(const struct gpu *gpu)
{
    bool direct;
    int64_t load, share;
    if (gpu->state != GPU_OK || power_level(gpu) != POWER_WORK || !reading_get(load_permille(gpu, &direct), &load) ||
        !reading_get(power_share_permille(gpu), &share) || share < POWER_UNEXPLAINED_PERMILLE)
        return false;
    int64_t video = MAX_OF(reading_or(gpu->encoder_permille, 0), reading_or(gpu->decoder_permille, 0));
    return direct && load <= IDLE_MAX && video < VIDEO_LEAST && !gpu->instance_count;
}

bool power_contradicts_load(const struct gpu *gpu)
{
    enum { TRAFFIC_NONE = 10 };
    int64_t util, share;
    bool by_state, rests = reading_or(gpu->mem_util_permille, 1000) < TRAFFIC_NONE;
    return reading_get(gpu->util_permille, &util) && util >= STEADY_LEAST && reading_get(power_share_permille(gpu), &share) &&
           share <= (rests ? POWER_OF_NO_TRAFFIC_PERMILLE : POWER_OF_NO_WORK_PERMILLE) && clocks_are_high(gpu, &by_state) &&
           !by_state;
}

bool busy_without_engines(const struct gpu *gpu)
{
    int64_t share, sum = 0;
    if (gpu->processes_state != READING_OK || gpu->processes_hidden || !gpu->process_count || gpu->instance_count ||
        reading_or(gpu->util_permille, 0) < STEADY_LEAST || power_level(gpu) == POWER_WORK || power_level(gpu) == POWER_UNKNOWN)
        return false;
    for (size_t i = 0; i < gpu->process_count; i++) {
        if (!reading_get(gpu->processes[i].util_permille, &share))
            return false;
        sum += share;
    }
    return sum <= IDLE_MAX;
}

bool counters_lag(const struct gpu *gpu)
{
    enum { AT_REST = 30 };
    int64_t sm, share;
    return reading_get(gpu->sm_active_permille, &sm) && sm <= AT_REST && reading_or(gpu->dram_active_permille, 0) <= AT_REST &&
           reading_get(power_share_permille(gpu), &share) && share >= POWER_UNEXPLAINED_PERMILLE;
}

/* A GPU in GFXOFF still shows its last clock: 2605 MHz at 3 W on an RX 6600. Nothing runs at such clocks for so little power. */
static bool clock_is_left_over(const struct gpu *gpu)
{
    bool direct;
    int64_t power, share, load;
    bool idle = !reading_get(load_permille(gpu, &direct), &load) || load <= IDLE_MAX;
    return idle && reading_get(gpu->power_mw, &power) && power < POWER_GATED_MW &&
           (!reading_get(power_share_permille(gpu), &share) || share < 100);
}

bool clocks_are_high(const struct gpu *gpu, bool *by_state)
{
    int64_t clock, most, state;
    *by_state = false;
    if (reading_get(gpu->clock_graphics_khz, &clock) && reading_get(gpu->clock_graphics_max_khz, &most) && most > 0)
        return clock * 10 >= most * 6 && !clock_is_left_over(gpu);
    /* Data center GPUs stay in P0, so the state alone says little. */
    *by_state = reading_get(gpu->pstate, &state) && state <= 2 && power_level(gpu) >= POWER_RAISED;
    return *by_state;
}

struct reading load_permille(const struct gpu *gpu, bool *direct)
{
    const struct reading of[] = {gpu->util_permille, gpu->graphics_active_permille, gpu->sm_active_permille};
    int64_t sum = 0, share;
    bool known = false;
    *direct = true;
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        if (of[i].state == READING_OK)
            return of[i];
    *direct = false;
    for (size_t i = 0; i < gpu->process_count; i++)
        if (reading_get(gpu->processes[i].util_permille, &share)) {
            sum += share;
            known = true;
        }
    return known ? reading_ok(MIN_OF(sum, (int64_t)1000)) : reading_absent(gpu->util_permille.state);
}

/* "6800M", "A370M", "940MX", "7600S": chips for laptops. Of data centers are a V100S and a K40m. */
static bool is_mobile_model(struct str word)
{
    size_t end = 0, digits = 0;
    while (end < word.len && (isdigit((unsigned char)word.at[end]) || (end == 0 && isupper((unsigned char)word.at[0])))) {
        digits += isdigit((unsigned char)word.at[end]) != 0;
        end++;
    }
    struct str suffix = {word.at + end, word.len - end};
    bool four = digits == 4 && end == 4;
    return digits >= 3 && (str_is(suffix, "M") || str_is(suffix, "MX") || (four && str_is(suffix, "S")));
}

bool cooling_is_shared(const struct gpu *gpu)
{
    static const char *const mobile[] = {"Laptop", "Max-Q", "Mobile"};
    struct str rest = str_from(gpu->id.name), word;
    if (gpu_shares_memory(gpu))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(mobile); i++)
        if (strstr(gpu->id.name, mobile[i]))
            return true;
    while (str_word(&rest, &word))
        if (is_mobile_model(word))
            return true;
    return false;
}

enum gpu_failure gpu_failure(const struct gpu *gpu)
{
    enum { RESET = 1, REBOOT = 2, DRAIN_AND_RESET = 4, BUS_RESET = 6, SYSTEM_REBOOT = 7 }; /* of recovery_action */
    if (reading_or(gpu->remapped_rows_failed, 0) || reading_or(gpu->unrepairable_memory, 0))
        return FAILURE_MEMORY;
    int64_t wanted = reading_or(gpu->recovery_action, 0);
    return wanted == REBOOT || wanted == SYSTEM_REBOOT                           ? FAILURE_REBOOT
           : wanted == RESET || wanted == DRAIN_AND_RESET || wanted == BUS_RESET ? FAILURE_RESET
                                                                                 : FAILURE_NONE;
}

bool heat_is_unusual(const struct gpu *gpu)
{
    int64_t temp, share;
    if (!reading_get(gpu->temp_mdegc, &temp) || !reading_get(power_share_permille(gpu), &share))
        return false;
    /* Passive cards and laptops run hot by design: nothing is said about them without a baseline. */
    enum fan_level fan = fan_level(gpu);
    bool cooled = fan == FAN_RAISED || fan == FAN_LOUD;
    return cooled && !cooling_is_shared(gpu) && temp >= UNUSUAL_HEAT_FROM && heat_level(gpu) >= HEAT_HOT &&
           share <= UNUSUAL_POWER_PERMILLE;
}

bool load_is_work(struct reading permille)
{
    return reading_or(permille, 0) > AWAKE_MAX;
}

bool load_has_fallen(struct reading before, struct reading after)
{
    return after.state == READING_OK && after.value + LOAD_FELL_LEAST < reading_or(before, 0);
}

bool util_is_idle(struct reading util_permille)
{
    return reading_or(util_permille, IDLE_MAX) < IDLE_MAX;
}

bool process_is_idle(const struct process *p)
{
    return p->util_permille.state == READING_OK && p->util_permille.value < PROCESS_IDLE_MAX;
}

static struct reading own_share(const struct gpu *gpu, const struct process *p, struct reading all)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (gpu->processes[i].pid != p->pid && !process_is_idle(&gpu->processes[i]))
            return reading_absent(READING_UNSUPPORTED);
    return all;
}

struct reading process_work(const struct gpu *gpu, const struct process *p)
{
    return process_is_idle(p) ? reading_absent(READING_UNSUPPORTED) : own_share(gpu, p, gpu->sm_active_permille);
}

struct reading process_bandwidth(const struct gpu *gpu, const struct process *p)
{
    bool counted = gpu->dram_active_permille.state == READING_OK && !process_is_idle(p);
    return counted ? own_share(gpu, p, gpu->dram_active_permille) : p->mem_util_permille; /* the driver's: the time with traffic */
}

bool run_was_held_idle(enum process_type type, int64_t ms, struct reading mean_util_permille, struct reading peak_bytes)
{
    return type != PROCESS_GRAPHICS && ms >= HELD_IDLE_MS && reading_or(mean_util_permille, HELD_IDLE_MEAN) < HELD_IDLE_MEAN &&
           reading_or(peak_bytes, 0) >= HELD_IDLE_BYTES;
}

bool pressure_is_felt(struct reading permille)
{
    return reading_or(permille, 0) >= PRESSURE_LEAST;
}

bool cpu_is_warm(const struct host *host)
{
    return reading_or(host->cpu_temp_mdegc, 0) >= CPU_WARM_FROM;
}

bool says_denied(const char *message)
{
    return strcasestr(message, "permission") || strcasestr(message, "not permitted") || strcasestr(message, "access denied");
}

bool gpu_is_denied(const struct gpu *gpu)
{
    return gpu->state == GPU_ERROR && !gpu->released && says_denied(gpu->error_message);
}

/* ---- fans: which of their readings is believed when ---- */

enum { DRIVEN_FROM_PERMILLE = 200, SLOW_GAP_PERMILLE = 250, NEAR_LIMIT_MDEGC = 15000, STOP_MARGIN_MDEGC = 5000 };

const char *fan_state_name(enum fan_state state)
{
    static const char *const names[] = {"unknown", "none", "turning", "off", "firmware", "off while hot", "slow", "stopped"};
    return names[state];
}

bool fan_controlled_by(const struct gpu *gpu, const char *who)
{
    return gpu->fan_control.state == READING_OK && strcmp(gpu->fan_control.value, who) == 0;
}

/* Hotter than a fan may rest at. The card's own word counts, then its limit, then experience. */
static bool is_hot(const struct gpu *gpu)
{
    int64_t temp, own, needed = FAN_NEEDED_FROM_MDEGC;
    if (!reading_get(gpu->temp_mdegc, &temp))
        return false;
    if (reading_get(gpu->fan_zero_rpm_stop_mdegc, &own) && own > 0)
        needed = own + STOP_MARGIN_MDEGC;
    else if (reading_get(gpu->temp_limit_mdegc, &own) && own > 0)
        needed = MIN_OF(needed, own - NEAR_LIMIT_MDEGC);
    return temp >= needed;
}

enum fan_command { COMMAND_NONE, COMMAND_TURN, COMMAND_DOUBTFUL };

/* Whether the fan was asked to turn, in whichever scale that is told. */
static enum fan_command commanded(const struct gpu *gpu, struct fan *fan)
{
    int64_t rpm, permille = 0, target;
    bool driven = reading_get(gpu->fan_permille, &permille) && permille >= DRIVEN_FROM_PERMILLE;
    if (reading_get(gpu->fan_target_rpm, &rpm) && rpm >= FAN_TURNS_FROM_RPM) {
        snprintf(fan->asked, sizeof fan->asked, "%lld rpm", (long long)rpm);
        return COMMAND_TURN;
    }
    if (reading_get(gpu->fan_target_permille, &target)) {
        if (target <= 0)
            return COMMAND_NONE;
        snprintf(fan->asked, sizeof fan->asked, "%lld%%", (long long)(target + 5) / 10);
        return COMMAND_TURN;
    }
    if (!driven)
        return COMMAND_NONE;
    /* A duty cycle beside a target of 0 rpm: one of the two is left over from before, unless a person has set it. */
    bool set = fan_controlled_by(gpu, "manual");
    if (fan_controlled_by(gpu, "firmware") || (gpu->fan_target_rpm.state == READING_OK && !set))
        return COMMAND_DOUBTFUL;
    snprintf(fan->asked, sizeof fan->asked, "%lld%%", (long long)(permille + 5) / 10);
    return COMMAND_TURN;
}

/* Both sides in the same scale. */
static bool far_below_asked(const struct gpu *gpu)
{
    int64_t now, asked;
    if (reading_get(gpu->fan_target_rpm, &asked) && reading_get(gpu->fan_rpm, &now))
        return asked >= 10 * FAN_TURNS_FROM_RPM && now * 2 < asked;
    return reading_get(gpu->fan_target_permille, &asked) && reading_get(gpu->fan_permille, &now) && now > 0 &&
           asked >= now + SLOW_GAP_PERMILLE;
}

static enum fan_state state_of_still(const struct gpu *gpu, struct fan *fan)
{
    enum fan_command command = commanded(gpu, fan);
    bool tachometer = gpu->fan_rpm.state == READING_OK, platform = gpu->fan_basis.state == READING_OK;
    if (command == COMMAND_DOUBTFUL || platform || fan_controlled_by(gpu, "firmware"))
        return FAN_STATE_FIRMWARE;
    if (!is_hot(gpu))
        return FAN_STATE_OFF;
    return command == COMMAND_TURN && tachometer ? FAN_STATE_STOPPED : FAN_STATE_OFF_HOT;
}

struct fan fan_judge(const struct gpu *gpu)
{
    struct fan fan = {.state = FAN_STATE_UNKNOWN};
    int64_t rpm, permille = 0, count;
    bool tachometer = reading_get(gpu->fan_rpm, &rpm), share = reading_get(gpu->fan_permille, &permille);
    /* AMD's share is the duty cycle, and 0 there is also what drivers say that cannot read it. */
    bool asked =
        reading_or(gpu->fan_target_permille, 0) >= DRIVEN_FROM_PERMILLE || reading_or(gpu->fan_target_rpm, 0) >= FAN_TURNS_FROM_RPM;
    bool share_may_lie = strcmp(gpu->id.vendor, "amd") == 0 && !asked;
    if (!tachometer && !share) {
        if (reading_get(gpu->fan_count, &count) && count == 0)
            fan.state = FAN_STATE_NONE;
    } else if (tachometer ? rpm >= FAN_TURNS_FROM_RPM : permille > 0) {
        bool slow = is_hot(gpu) && far_below_asked(gpu);
        if (slow)
            commanded(gpu, &fan);
        fan.state = slow ? FAN_STATE_SLOW : FAN_STATE_TURNING;
    } else if (tachometer || !share_may_lie) {
        fan.state = state_of_still(gpu, &fan);
    }
    return fan;
}
