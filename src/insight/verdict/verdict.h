/* SPDX-License-Identifier: Apache-2.0
 * A snapshot, and what is known beside it, become a verdict. A pure function of plain data: no clock, no I/O, no vendor.
 *
 *   snapshot ─┐                ┌─▶ rules that weigh causes: evidence ─┐
 *   recent ───┼─▶ facts of a ──┤   line by evidence line              ├─▶ findings of one list ─▶ ranked: the verdict
 *   usual ────┘   GPU          └─▶ detectors, memory of the GPUs, forecasts ──────┘
 */
#pragma once

#include "insight/area/part.h"
#include "insight/facts/facts.h"
#include "insight/forecast/forecast.h"

/* ---- presence ----
 * For how much of the last minutes each finding was there. What comes and goes exists in the moments between, too:
 *
 *   samples    f . . f . . f . .        f found   . not
 *   verdict    f     f . . f f f ...    from the third time on, for as long as it keeps coming back */
struct collection;
struct finding_presence;
struct health_history;

struct finding_presence *presence_new(void); /* NULL: out of memory */
void presence_free(struct finding_presence *p);

/* Notes what this sample has. Each finding gets its beginning, its shares and its tense; what is away for a moment is added. */
void presence_take(struct finding_presence *p, struct collection *c);

/* ---- the verdict ---- */

/* What a judgement rests on beside the moment itself; each may be NULL. */
struct judge_basis {
    const struct recent *past;
    const struct baselines *usual;
    struct health_history *cards; /* what is remembered of the GPUs, brought up to date */
    const struct forecast *forecast;
    const struct job_waits *waits;     /* of this snapshot; NULL: they are looked for */
    struct finding_presence *presence; /* how much of the time findings were there, brought up to date; NULL: the moment is all */
    bool over;                         /* a moment of the past, in the past tense */
    bool log_unread;                   /* the kernel log of this host could not be read */
};

/* What an explanation needs beside the list: the causes with their evidence, in the snapshot's order. */
struct judge_parts {
    struct facts *facts;
    struct why_part *host, *gpus;
};

/* `keep` may be NULL: only the list is wanted. The verdict that a snapshot carries already stands. NULL when memory is out. */
struct verdict *verdict_make(const struct snapshot *now, const struct judge_basis *basis, const struct judge_parts *keep);
