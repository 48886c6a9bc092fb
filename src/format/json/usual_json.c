/* SPDX-License-Identifier: Apache-2.0
 * A GPU's usual values as JSON, written and parsed: part of /api/why and /api/gpu/health.
 */
#include "format/json/told.h"
#include "insight/baseline/baseline.h"

ANSWER_NAMES(starts, enum baseline_start, baseline_start_name, BASELINE_FIRST, BASELINE_NEW_FAN_CURVE);

static bool make_days_needed(const struct answer_at *at, union answer_value *ret)
{
    (void)at;
    ret->number = BASELINE_DAYS_NEEDED;
    return true;
}

_Static_assert(DRIFT_WORDS <= sizeof(union answer_value), "the words fit");
static bool make_drift_words(const struct answer_at *at, union answer_value *ret)
{
    baseline_drift_words(at->record, ret->text);
    return true;
}

ANSWER_TABLE(drift_answer, struct baseline_drift)
{
    MADE(TEXT, "text", make_drift_words, NULL);
    FIELD(AMOUNT, "celsius_per_month", mdegc_per_month, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "fan_percent_per_month", fan_permille_per_month, NULL, SCALE(0.1));
    FIELD(AMOUNT, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(MOMENT, "until", until, NULL, OR_NULL);
    FIELD(INT, "days", days, NULL);
    FIELD(BOOL, "strong", strong, "Enough to call the GPU degraded");
}

ANSWER_TABLE(step_answer, struct baseline_step)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(AMOUNT, "watts", since_mw, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "watts_before", before_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(clock_answer, struct usual)
{
    FIELD(AMOUNT, "clock_mhz", at_clock.clock_khz, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "watts", at_clock.power_mw, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "low_clock_mhz", at_low_clock.clock_khz, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "low_watts", at_low_clock.power_mw, NULL, SCALE(1e-3));
}

SHARED_ANSWER_TABLE(
    usual_answer, struct usual, .name = "Usual",
    .about = "What is usual for this GPU, learned from its own history; null while there is none. Below `days_needed` days "
             "nothing is called usual: confidence is 0 and the values are null")
{
    FIELD(NUMBER, "confidence", confidence, NULL, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    FIELD(INT, "days", days, "Days of evidence at the power of this moment, else when idle, else in all");
    MADE(INT, "days_needed", make_days_needed, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
    FIELD(NAME, "began_with", start, "Why the baseline begins there: the first sample, another power limit, another fan curve",
          NAMES(starts));
    FIELD(OPTION, "temperature_celsius", temp_mdegc, "The middle of the days, at the power of this moment", SCALE(1e-3));
    FIELD(OPTION, "temperature_low_celsius", temp_low_mdegc, NULL, SCALE(1e-3));
    FIELD(OPTION, "temperature_high_celsius", temp_high_mdegc, NULL, SCALE(1e-3));
    FIELD(BOOL, "at_more_power", at_more_power,
          "It never worked at this power for long: the temperatures are those of the next higher power that is known");
    FIELD(OPTION, "ambient_celsius", ambient_mdegc,
          "The temperatures are those that are usual in air of this temperature; null where no sensor reports it, or too few "
          "days "
          "have it",
          SCALE(1e-3));
    FIELD(OPTION, "fan_percent", fan_permille, NULL, SCALE(0.1));
    FIELD(OPTION, "idle_power_watts", idle_power_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "idle_power_high_watts", idle_power_high_mw, NULL, SCALE(1e-3));
    FIELD(OPTION, "utilization_percent", util_permille, "At this hour of the day", SCALE(0.1));
    FIELD(BOOL, "too_hot", too_hot, NULL);
    FIELD(BOOL, "fan_too_fast", too_fast, NULL);
    FIELD(BOOL, "fan_too_slow", fan_behind, NULL);
    FIELD(BOOL, "idle_power_too_high", idle_excess, NULL);
    PART("idle_power_by_memory_clock", clock_answer,
         "Idle power at the present memory clock and at the lowest; null where the history doesn't have both",
         PRESENT(at_low_clock.clock_khz));
    OBJECTS("idle_power_by_process", steps, step_count, step_answer,
            "Idle power before a process that is on the GPU came, and since: only where both were idle minutes in which no other "
            "process came or went");
    FIELD(OBJECT, "drift", drift, "A slow rise at the same power: dust. null: none that stands out from noise",
          PRESENT(drift.rising), FIELDS(drift_answer));
}
