/* SPDX-License-Identifier: Apache-2.0
 * The judge: all memory of judgement, and the verdict that each snapshot is published with. The daemon has one, and so has a
 * command that samples by itself or replays a recording: the same input gives the same verdict everywhere.
 *
 *   snapshot ──▶ activity ──▶ recent minutes, health of the cards, courses of forecasts ──▶ detectors ──▶ verdict
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "model/snapshot.h"

struct judge;
struct health;
struct health_history;
struct forecast;
struct forecast_memory;
struct finding_settings;

struct judge *judge_new(void);    /* NULL: out of memory */
void judge_free(struct judge *j); /* NULL is fine */

/* What is remembered of the cards: faults of the kernel log and of a run before this one are added to it. */
struct health_history *judge_health(struct judge *j);
/* The courses that forecasts rest on: those of the history's size are added by others. */
struct forecast_memory *judge_forecast(struct judge *j);
/* What is usual for the GPUs; copied. NULL: nothing is known. */
void judge_set_usual(struct judge *j, const struct baselines *usual);

/* What the configuration says of findings; copied. */
void judge_set_settings(struct judge *j, const struct finding_settings *settings);

/* Whether the kernel log was there to be read: the verdict says so where it was not. */
void judge_set_log_unread(struct judge *j, bool unread);

/* Writes activity and verdict into a snapshot that is not published yet. Without memory the snapshot has no
 * verdict, which every reader takes for "not judged". */
void judge_take(struct judge *j, struct snapshot *s);

/* The recent minutes, and what is usual; NULL: nothing is known. */
const struct recent *judge_recent(const struct judge *j);
const struct baselines *judge_usual(const struct judge *j);

/* Health and forecast as of the last snapshot, the caller's; NULL: nothing was judged yet, or memory is out. */
struct health *judge_copy_health(const struct judge *j);
struct forecast *judge_copy_forecast(const struct judge *j);

/* What has limited each process over the last seconds. Private to the judge: one moment says little of a program that works in
 * steps, and a mean never reaches over the end of a process into the next one. */

struct limit_memory;

struct limit_memory *limit_memory_new(void); /* NULL: out of memory */
void limit_memory_free(struct limit_memory *m);
/* Judges every process of the snapshot and writes its limit. */
void limit_memory_judge(struct limit_memory *m, struct snapshot *s);
