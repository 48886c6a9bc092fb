/* SPDX-License-Identifier: Apache-2.0
 * Condenses the course of metrics into a few numbers, so that a year takes no more space than an hour.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "mcp/tool.h"

enum { POINTS_USUAL = 24, BYTES_OF_POINT = 6, BYTES_OF_METRIC = 150, BYTES_AROUND = 1000 };

/* The points of a course: the same times for all series. */
struct history_course {
    double since, step; /* seconds */
    size_t points;      /* 0: none */
};

/* Four digits: more would suggest a false precision. */
static json_t *rounded(double value)
{
    if (isnan(value))
        return json_null();
    double unit = value == 0 ? 1 : pow(10, floor(log10(fabs(value))) - 3);
    return json_real(fabs(value) >= 1000 ? round(value) : round(value / unit) * unit);
}

static double number_at(const json_t *list, size_t i)
{
    const json_t *n = json_array_get(list, i);
    return json_is_number(n) ? json_number_value(n) : NAN;
}

/* The mean of values in the time span; NAN if there are none. */
static double mean_of(const json_t *list, const json_t *times, double since, double until)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double n = number_at(list, i), at = number_at(times, i);
        if (isnan(n) || !(at >= since && at < until))
            continue;
        count++;
        sum += n;
    }
    return count ? sum / (double)count : NAN;
}

static double extreme_of(const json_t *list, bool most)
{
    double found = NAN;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double n = number_at(list, i);
        if (isnan(found) || (most ? n > found : n < found))
            found = n;
    }
    return found;
}

static json_t *sum_up(const json_t *metric, const json_t *times, const struct history_course *c)
{
    const json_t *means = json_object_get(metric, "mean");
    json_t *o = json_pack("{s:o, s:o, s:o}", "mean", rounded(mean_of(means, times, -INFINITY, INFINITY)), "min",
                          rounded(extreme_of(json_object_get(metric, "min"), false)), "max",
                          rounded(extreme_of(json_object_get(metric, "max"), true)));
    json_t *course = c->points ? json_array() : NULL;
    for (size_t i = 0; i < c->points; i++) {
        double since = c->since + (double)i * c->step;
        json_array_append_new(course, rounded(mean_of(means, times, since, since + c->step)));
    }
    if (course)
        json_object_set_new(o, "course", course);
    return o;
}

/* As many points as fit: many for few metrics, none for very many. */
static size_t points_for(const json_t *series, const json_t *arguments, size_t bytes)
{
    char text[32];
    const char *asked = mcp_argument(arguments, "points", text);
    size_t metrics = 0, i;
    int64_t points;
    json_t *one;
    if (asked && str_to_i64(str_from(asked), &points))
        return (size_t)points;
    json_array_foreach(series, i, one) metrics += json_array_size(json_object_get(one, "metrics"));
    size_t fixed = BYTES_AROUND + metrics * BYTES_OF_METRIC;
    return metrics && fixed < bytes ? MIN_OF((bytes - fixed) / metrics / BYTES_OF_POINT, (size_t)POINTS_USUAL) : 0;
}

/* From the first stored step to the last one. */
static struct history_course plan_course(json_t *object, const json_t *arguments, size_t bytes)
{
    const json_t *series = json_object_get(object, "series");
    double first = INFINITY, end = -INFINITY, step = json_number_value(json_object_get(object, "step_seconds"));
    size_t i;
    json_t *one;
    json_array_foreach(series, i, one)
    {
        const json_t *times = json_object_get(one, "times");
        first = fmin(first, number_at(times, 0));
        end = fmax(end, number_at(times, json_array_size(times) - 1) + step);
    }
    size_t points = first < end && step > 0 ? points_for(series, arguments, bytes) : 0;
    points = MIN_OF(points, points ? (size_t)((end - first) / step + 0.5) : 0);
    if (points < 2)
        return (struct history_course){0};
    struct history_course c = {.since = first, .step = (end - first) / (double)points, .points = points};
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){(int64_t)(first * 1000)}, text);
    json_object_set_new(object, "course_since", json_string(text));
    json_object_set_new(object, "course_step_seconds", rounded(c.step));
    return c;
}

void mcp_sum_up_history(json_t *object, const json_t *arguments, size_t bytes)
{
    struct history_course c = plan_course(object, arguments, bytes);
    size_t i, k;
    json_t *one, *metric;
    json_array_foreach(json_object_get(object, "series"), i, one)
    {
        json_t *summed = json_object();
        json_array_foreach(json_object_get(one, "metrics"), k, metric)
            json_object_set_new(summed, json_text(metric, "name"), sum_up(metric, json_object_get(one, "times"), &c));
        json_object_set_new(one, "metrics", summed);
        json_object_set(object, "host", json_object_get(one, "host")); /* common to all series: once is enough */
    }
}

void mcp_line_of_history(struct buf *out, const json_t *row)
{
    const char *key;
    json_t *value;
    const json_t *gpu = json_object_get(row, "gpu_index");
    if (json_is_integer(gpu))
        buf_printf(out, "GPU %lld", (long long)json_integer_value(gpu));
    else
        buf_text(out, "host");
    json_object_foreach(json_object_get(row, "metrics"), key, value)
    {
        buf_printf(out, ", %s ", key);
        if (!json_is_number(json_object_get(value, "mean")))
            buf_text(out, "unknown");
        else
            buf_printf(out, "%.5g", json_number_value(json_object_get(value, "mean")));
        if (json_is_number(json_object_get(value, "max")))
            buf_printf(out, " (%.5g to %.5g)", json_number_value(json_object_get(value, "min")),
                       json_number_value(json_object_get(value, "max")));
    }
    buf_char(out, '\n');
}
