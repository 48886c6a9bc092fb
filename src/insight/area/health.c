/* SPDX-License-Identifier: Apache-2.0
 * The words of health: states, checks, advice.
 */
#include "insight/area/health.h"

#include <string.h>

static const struct {
    const char *name, *what;
} checks[HEALTH_CHECK_COUNT] = {
#define HEALTH_CHECK(name, code, what) {code, what},
#include "insight/area/health_checks.def"
#undef HEALTH_CHECK
};

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
