/* SPDX-License-Identifier: Apache-2.0
 * A GPU's usual values as JSON, written and parsed: part of /api/why and /api/gpu/health.
 */
#include <string.h>

#include "base/json_reader.h"
#include "format/json/reading.h"
#include "format/json/usual_json.h"

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}

static void drift(struct json_writer *j, const struct baseline_drift *d)
{
    char words[DRIFT_WORDS];
    if (!d->rising) {
        jw_key(j, "drift");
        jw_null(j);
        return;
    }
    jw_key_object(j, "drift");
    jw_key_text(j, "text", baseline_drift_words(d, words));
    jw_key_number(j, "celsius_per_month", (double)d->mdegc_per_month * 1e-3);
    jw_key_number(j, "fan_percent_per_month", (double)d->fan_permille_per_month * 0.1);
    jw_key_number(j, "power_watts", (double)d->power_mw * 1e-3);
    key_time(j, "since", d->since);
    key_time(j, "until", d->until);
    jw_key_int(j, "days", d->days);
    jw_key_bool(j, "strong", d->strong);
    jw_end(j);
}

/* How much each suspect adds to an idle GPU's power. */
static void idle_power(struct json_writer *j, const struct usual *u)
{
    if (u->at_low_clock.clock_khz) {
        jw_key_object(j, "idle_power_by_memory_clock");
        jw_key_number(j, "clock_mhz", (double)u->at_clock.clock_khz * 1e-3);
        jw_key_number(j, "watts", (double)u->at_clock.power_mw * 1e-3);
        jw_key_number(j, "low_clock_mhz", (double)u->at_low_clock.clock_khz * 1e-3);
        jw_key_number(j, "low_watts", (double)u->at_low_clock.power_mw * 1e-3);
        jw_end(j);
    } else {
        jw_key(j, "idle_power_by_memory_clock");
        jw_null(j);
    }
    jw_key_array(j, "idle_power_by_process");
    for (size_t i = 0; i < u->step_count; i++) {
        jw_object(j);
        jw_key_int(j, "pid", u->steps[i].pid);
        key_time(j, "since", u->steps[i].since);
        jw_key_number(j, "watts", (double)u->steps[i].since_mw * 1e-3);
        jw_key_number(j, "watts_before", (double)u->steps[i].before_mw * 1e-3);
        jw_end(j);
    }
    jw_end(j);
}

void json_usual(struct json_writer *j, const struct usual *u)
{
    if (!u->days) {
        jw_key(j, "usual");
        jw_null(j);
        return;
    }
    jw_key_object(j, "usual");
    jw_key_number(j, "confidence", u->confidence);
    jw_key_int(j, "days", u->days);
    jw_key_int(j, "days_needed", BASELINE_DAYS_NEEDED);
    key_time(j, "since", u->since);
    jw_key_text(j, "began_with", baseline_start_name(u->start));
    json_key_reading(j, "temperature_celsius", u->temp_mdegc, 1e-3);
    json_key_reading(j, "temperature_low_celsius", u->temp_low_mdegc, 1e-3);
    json_key_reading(j, "temperature_high_celsius", u->temp_high_mdegc, 1e-3);
    jw_key_bool(j, "at_more_power", u->at_more_power);
    json_key_reading(j, "ambient_celsius", u->ambient_mdegc, 1e-3);
    json_key_reading(j, "fan_percent", u->fan_permille, 0.1);
    json_key_reading(j, "idle_power_watts", u->idle_power_mw, 1e-3);
    json_key_reading(j, "idle_power_high_watts", u->idle_power_high_mw, 1e-3);
    json_key_reading(j, "utilization_percent", u->util_permille, 0.1);
    jw_key_bool(j, "too_hot", u->too_hot);
    jw_key_bool(j, "fan_too_fast", u->too_fast);
    jw_key_bool(j, "fan_too_slow", u->fan_behind);
    jw_key_bool(j, "idle_power_too_high", u->idle_excess);
    idle_power(j, u);
    drift(j, &u->drift);
    jw_end(j);
}

/* ---- parsing ---- */

static struct reading take_reading(const json_t *o, const char *key, double scale)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_number(value))
        return reading_absent(READING_UNREAD);
    double number = json_number_value(value) / scale;
    return reading_ok((int64_t)(number < 0 ? number - 0.5 : number + 0.5));
}

static void take_idle_power(const json_t *json, struct usual *ret)
{
    const json_t *clock = json_object_get(json, "idle_power_by_memory_clock"),
                 *steps = json_object_get(json, "idle_power_by_process");
    ret->at_clock = (struct baseline_level){reading_or(take_reading(clock, "clock_mhz", 1e-3), 0),
                                            reading_or(take_reading(clock, "watts", 1e-3), 0)};
    ret->at_low_clock = (struct baseline_level){reading_or(take_reading(clock, "low_clock_mhz", 1e-3), 0),
                                                reading_or(take_reading(clock, "low_watts", 1e-3), 0)};
    for (size_t i = 0; i < json_array_size(steps) && i < BASELINE_STEPS; i++) {
        const json_t *step = json_array_get(steps, i);
        ret->steps[ret->step_count++] =
            (struct baseline_step){.pid = (int32_t)json_integer_value(json_object_get(step, "pid")),
                                   .since = json_moment(step, "since"),
                                   .since_mw = reading_or(take_reading(step, "watts", 1e-3), 0),
                                   .before_mw = reading_or(take_reading(step, "watts_before", 1e-3), 0)};
    }
}

void usual_from_json(const json_t *json, struct usual *ret)
{
    const json_t *d = json_object_get(json, "drift");
    const char *start = json_string_value(json_object_get(json, "began_with"));
    *ret = (struct usual){.days = (int)json_integer_value(json_object_get(json, "days")),
                          .confidence = json_number_value(json_object_get(json, "confidence")),
                          .since = json_moment(json, "since"),
                          .temp_mdegc = take_reading(json, "temperature_celsius", 1e-3),
                          .temp_low_mdegc = take_reading(json, "temperature_low_celsius", 1e-3),
                          .temp_high_mdegc = take_reading(json, "temperature_high_celsius", 1e-3),
                          .at_more_power = json_is_true(json_object_get(json, "at_more_power")),
                          .ambient_mdegc = take_reading(json, "ambient_celsius", 1e-3),
                          .fan_permille = take_reading(json, "fan_percent", 0.1),
                          .idle_power_mw = take_reading(json, "idle_power_watts", 1e-3),
                          .idle_power_high_mw = take_reading(json, "idle_power_high_watts", 1e-3),
                          .util_permille = take_reading(json, "utilization_percent", 0.1),
                          .too_hot = json_is_true(json_object_get(json, "too_hot")),
                          .too_fast = json_is_true(json_object_get(json, "fan_too_fast")),
                          .fan_behind = json_is_true(json_object_get(json, "fan_too_slow")),
                          .idle_excess = json_is_true(json_object_get(json, "idle_power_too_high"))};
    for (int i = 0; start && i <= BASELINE_NEW_FAN_CURVE; i++)
        if (strcmp(start, baseline_start_name((enum baseline_start)i)) == 0)
            ret->start = (enum baseline_start)i;
    take_idle_power(json, ret);
    if (!json_is_object(d))
        return;
    ret->drift = (struct baseline_drift){.rising = true,
                                         .strong = json_is_true(json_object_get(d, "strong")),
                                         .days = (int)json_integer_value(json_object_get(d, "days")),
                                         .since = json_moment(d, "since"),
                                         .until = json_moment(d, "until"),
                                         .power_mw = reading_or(take_reading(d, "power_watts", 1e-3), 0),
                                         .mdegc_per_month = reading_or(take_reading(d, "celsius_per_month", 1e-3), 0),
                                         .fan_permille_per_month = reading_or(take_reading(d, "fan_percent_per_month", 0.1), 0)};
}
