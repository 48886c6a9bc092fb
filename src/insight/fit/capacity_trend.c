/* SPDX-License-Identifier: Apache-2.0
 * A ring of minutes for each GPU.
 */
#include "insight/fit/capacity_trend.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

enum { HOUR_MINUTES = 60, POINT_MINUTES = COURSE_MINUTES / COURSE_POINTS_MAX };

struct trend_minute {
    int64_t number; /* since 1970; 0: nothing is known */
    int64_t least_bytes;
};

struct course {
    struct gpu_id gpu;
    struct trend_minute minutes[COURSE_MINUTES]; /* minute n lies at n modulo the size */
};

struct capacity_courses {
    size_t count;
    struct course *courses[GPU_MAX];
};

struct capacity_courses *courses_new(void)
{
    return calloc(1, sizeof(struct capacity_courses));
}

void courses_forget(struct capacity_courses *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->courses[i]);
    c->count = 0;
}

void courses_free(struct capacity_courses *c)
{
    if (c)
        courses_forget(c);
    free(c);
}

static struct course *capacity_trend_find(const struct capacity_courses *c, const struct gpu_id *gpu)
{
    for (size_t i = 0; i < c->count; i++)
        if (gpu_same(&c->courses[i]->gpu, gpu))
            return c->courses[i];
    return NULL;
}

bool courses_add(struct capacity_courses *c, const struct gpu_id *gpu, struct wall at, int64_t free_bytes)
{
    struct course *course = capacity_trend_find(c, gpu);
    if (!course && c->count < GPU_MAX && (course = calloc(1, sizeof *course))) {
        course->gpu = *gpu;
        c->courses[c->count++] = course;
    }
    if (!course || at.ms < MINUTE_MS)
        return course != NULL;
    int64_t number = at.ms / MINUTE_MS;
    struct trend_minute *m = &course->minutes[number % COURSE_MINUTES];
    if (m->number == number)
        m->least_bytes = MIN_OF(m->least_bytes, free_bytes);
    else if (m->number < number) /* a minute of yesterday gives way; one that came too late does not push a later one out */
        *m = (struct trend_minute){number, free_bytes};
    return true;
}

void courses_add_snapshot(struct capacity_courses *c, const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t free_bytes;
        if (reading_get(s->gpus[i].mem_free_bytes, &free_bytes))
            courses_add(c, &s->gpus[i].id, s->taken_at, free_bytes);
    }
}

/* Over the last so many minutes, this one included; *known: how many of them have a sample. */
static struct reading least(const struct course *course, int64_t now, int64_t minutes, int64_t *known)
{
    struct reading result = reading_absent(READING_UNREAD);
    *known = 0;
    for (size_t i = 0; i < COURSE_MINUTES; i++) {
        const struct trend_minute *m = &course->minutes[i];
        if (m->number <= now - minutes || m->number > now)
            continue;
        if (result.state != READING_OK || m->least_bytes < result.value)
            result = reading_ok(m->least_bytes);
        (*known)++;
    }
    return result;
}

void courses_fill(const struct capacity_courses *c, struct wall now, struct capacity *capacity)
{
    for (size_t i = 0; i < capacity->gpu_count; i++) {
        struct capacity_gpu *gpu = &capacity->gpus[i];
        const struct course *course = gpu->instance < 0 ? capacity_trend_find(c, &gpu->id) : NULL;
        int64_t known;
        if (!course)
            continue;
        gpu->least_hour_bytes = least(course, now.ms / MINUTE_MS, HOUR_MINUTES, &known);
        gpu->least_day_bytes = least(course, now.ms / MINUTE_MS, COURSE_MINUTES, &known);
        gpu->watched_ms = known * MINUTE_MS;
    }
}

size_t courses_points(const struct capacity_courses *c, const struct gpu_id *gpu, struct wall now,
                      struct course_point points[COURSE_POINTS_MAX])
{
    const struct course *course = capacity_trend_find(c, gpu);
    int64_t last = now.ms / MINUTE_MS / POINT_MINUTES;
    size_t count = 0;
    for (int64_t quarter = last - COURSE_POINTS_MAX + 1; course && quarter <= last; quarter++) {
        struct course_point point = {.at.ms = quarter * POINT_MINUTES * MINUTE_MS, .least_bytes = INT64_MAX};
        for (int64_t n = quarter * POINT_MINUTES; n < (quarter + 1) * POINT_MINUTES; n++) {
            const struct trend_minute *m = n > 0 ? &course->minutes[n % COURSE_MINUTES] : NULL;
            if (m && m->number == n)
                point.least_bytes = MIN_OF(point.least_bytes, m->least_bytes);
        }
        if (point.least_bytes != INT64_MAX)
            points[count++] = point;
    }
    return count;
}
