/* SPDX-License-Identifier: Apache-2.0
 * Detectors: pure functions from the facts of one GPU to findings, one file for each area. All thresholds of an area are in its
 * file or in insight/facts/levels.h. Rules weigh causes against each other, line of evidence by line of evidence; the others find
 * what needs no weighing.
 */
#pragma once

#include "insight/area/cause.h"
#include "insight/area/collect.h"
#include "insight/facts/facts.h"
#include "insight/facts/words.h"

/* The rules, in the order in which they are asked. */
void rules_work(const struct facts *f, struct why_part *part);  /* the GPU is at work */
void rules_idle(const struct facts *f, struct why_part *part);  /* it is not, and yet it is awake or warm */
void rules_heat(const struct facts *f, struct why_part *part);  /* the heat, the fan and the limits */
void rules_usual(const struct facts *f, struct why_part *part); /* hotter or louder than this GPU usually is */
void rules_calm(const struct facts *f, struct why_part *part);  /* nothing unusual, or nothing that can be known */
void rules_limit(const struct facts *f, struct why_part *part); /* what limits its processes */
void rules_state(const struct facts *f, struct why_part *part); /* asleep, lost, in error: instead of all others */
void rules_machine(const struct snapshot *now, struct why_part *part);
void rules_host(const struct snapshot *now, struct why_part *part); /* power, clocks and network of the host */

/* How an unusual temperature is compared */
static inline const char *words_at_power(const struct usual *u)
{
    return u->at_more_power ? "even at more power" : "at this power";
}

/* Who uses the busier video engine. */
struct video_work {
    const struct process *first, *second; /* uses most of it; where no share is known, two of different names that could use it */
    int64_t share_permille;               /* of the first; 0: not known */
    size_t users;                         /* how many use it, or could; 1 also where the first uses most of it */
};
struct video_work video_work(const struct facts *f);
/* "ffmpeg (jellyfin) is encoding video", with these parts of a name (enum process_part). */
bool say_video(struct text *s, const struct facts *f, unsigned with);

/* How bad a bit of thermal throttling is: on a cool GPU without work it slows nothing. */
enum severity throttling_severity(const struct facts *f);
void detect_symptoms(const struct facts *f, struct collection *c); /* what a person would notice */
void detect_clocks(const struct facts *f, struct collection *c);   /* far too low under load */
void detect_fan(const struct facts *f, struct collection *c);      /* set by hand, and too slow for the heat */
void detect_link(const struct facts *f, struct collection *c);     /* fewer lanes than it could have */
void detect_memory(const struct facts *f, struct collection *c);   /* without an owner, moved to the host, full at an end */
void detect_serving(const struct facts *f, struct collection *c);  /* model servers: full caches, queues, silence */
void detect_job(const struct facts *f, struct collection *c);      /* a rank that the others of its job wait for */
void detect_lease(const struct facts *f, struct collection *c);    /* programs on a GPU that another has leased */
void detect_siblings(const struct facts *f, struct collection *c); /* the odd one out of GPUs of one model */
void detect_trust(const struct facts *f, struct collection *c);    /* utilization that other readings contradict */
bool is_stuck_busy(const struct facts *f); /* for a minute, while the engine time of all programs stands still */
