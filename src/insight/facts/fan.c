/* SPDX-License-Identifier: Apache-2.0
 * Which reading of a fan is believed when.
 */
#include "insight/facts/fan.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum { DRIVEN_FROM_PERMILLE = 200, SLOW_GAP_PERMILLE = 250, NEAR_LIMIT_MDEGC = 15000, STOP_MARGIN_MDEGC = 5000 };

const char *fan_state_name(enum fan_state state)
{
    static const char *const names[] = {"unknown", "none", "turning", "off", "firmware", "off while hot", "slow", "stopped"};
    return names[state];
}

static bool controlled_by(const struct gpu *gpu, const char *who)
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
    bool set = controlled_by(gpu, "manual");
    if (controlled_by(gpu, "firmware") || (gpu->fan_target_rpm.state == READING_OK && !set))
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
    if (command == COMMAND_DOUBTFUL || platform || controlled_by(gpu, "firmware"))
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
