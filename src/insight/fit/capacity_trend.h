/* SPDX-License-Identifier: Apache-2.0
 * The course of free memory over the last day, GPU by GPU: the least of each minute. Pure data; fed by samples and, after a start,
 * by the history.
 */
#pragma once

#include "base/clock.h"
#include "insight/fit/capacity.h"

enum { COURSE_MINUTES = 1440, COURSE_POINTS_MAX = 96 };

struct capacity_courses;

struct capacity_courses *courses_new(void); /* NULL: out of memory */
void courses_free(struct capacity_courses *c);
void courses_forget(struct capacity_courses *c);

/* The least that was free in the minute of `at`: joined with what is known of it. False: there is no room for one more GPU. */
bool courses_add(struct capacity_courses *c, const struct gpu_id *gpu, struct wall at, int64_t free_bytes);
void courses_add_snapshot(struct capacity_courses *c, const struct snapshot *s);

/* Fills in what was free at least in the last hour and day, and how much of the day is known. */
void courses_fill(const struct capacity_courses *c, struct wall now, struct capacity *capacity);

struct course_point {
    struct wall at; /* beginning */
    int64_t least_bytes;
};
/* The last day in quarters of an hour, oldest first; those without any sample are left out. */
size_t courses_points(const struct capacity_courses *c, const struct gpu_id *gpu, struct wall now,
                      struct course_point points[COURSE_POINTS_MAX]);
