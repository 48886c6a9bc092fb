/* SPDX-License-Identifier: Apache-2.0
 * The one judgement of activity: a pure function of a moment and the minute before it, used by why, status, health, alerts and API.
 *
 *     idle ──8%──▶ lightly loaded ──45%──▶ busy ──95%──▶ saturated
 *          ◀──5%──                ◀──30%──     ◀──90%──
 *
 * The load is followed through the last minute with a memory of 5 s, so that one sample changes nothing and a new job counts
 * within seconds. Going up and coming down have thresholds of their own: a constant load never changes its name. Work in bursts
 * (two rises in the minute) is judged by its mean and is never idle. Without a past the moment itself decides, halfway between.
 * The minute is that of the programs that are there: it begins anew when one that was at work has ended.
 */
#pragma once

#include "insight/facts/levels.h"
#include "model/activity.h"
#include "model/recent.h"
#include "model/snapshot.h"

/* `past` may be NULL. */
struct activity activity_judge(const struct snapshot *now, const struct gpu *gpu, const struct recent *past);
/* Loading: it does not compute, but memory fills while it keeps host CPU or disks busy. */
enum process_activity activity_of_process(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                                          const struct recent *past);
/* Both, written into a snapshot that is not published yet. */
void activity_fill(struct snapshot *now, const struct recent *past);

/* A fan that follows the work of a GPU that is not hot is part of that work; `a` is how the GPU was judged. */
bool activity_is_loud(const struct activity *a, const struct gpu *gpu, bool at_work);

/* The points of this GPU; NULL none. By identity, or by position where the past carries none. */
const struct recent_gpu *activity_past(const struct snapshot *now, const struct gpu *gpu, const struct recent *past);
/* Whether this process may have done the work of the last two minutes, by its own samples; one whose share is not known may have.
 */
bool activity_may_have_worked(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                              const struct recent *past);
