/* SPDX-License-Identifier: Apache-2.0
 * How causes are made. A rule begins a cause, adds evidence line by line, and ends it; each line raises the confidence by its
 * weight (c = 1 - (1 - c)(1 - weight)), each doubt lowers it by its factor. So confidence is nothing but its evidence.
 */
#pragma once

#include "insight/area/part.h"
#include "insight/facts/facts.h"
#include "insight/facts/words.h"

/* Below this a cause is not worth a line; from the second on it is worth the answer. */
#define CONFIDENCE_LEAST 0.05
#define CONFIDENCE_ANSWER 0.3

/* A cause in the making, beside the others of the part. NULL when the part is full and all others are stronger: never, as rules
 * work on `spare` and cause_end() decides. */
struct cause_draft {
    struct why_part *part;
    struct why_cause cause;
    double most; /* no evidence makes this code more likely than that */
};

void cause_begin(struct cause_draft *d, struct why_part *part, enum finding_code code, double most);
void cause_process(struct cause_draft *d, const struct process *p);
void support(struct cause_draft *d, double weight, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
/* format may be NULL: a doubt without a line */
void doubt(struct cause_draft *d, double factor, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
/* The sentence, and into the ranked list: the weakest falls out when it is full. */
void cause_end(struct cause_draft *d, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

const struct why_cause *find_cause(const struct why_part *part, enum finding_code code);
double best_confidence(const struct why_part *part);

/* Evidence that many rules share; each adds nothing where the reading is absent. */
void support_load(struct cause_draft *d, const struct facts *f, double weight);
void support_power(struct cause_draft *d, const struct facts *f, double weight);
void support_temperature(struct cause_draft *d, const struct facts *f, double weight);
void support_fan(struct cause_draft *d, const struct facts *f, double weight);
