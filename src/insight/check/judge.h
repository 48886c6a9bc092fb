/* SPDX-License-Identifier: Apache-2.0
 * What a check means: pure functions of what was measured and seen. Known answers need no threshold; speed is compared with
 * physics, with the GPU's own past and with its siblings, and only where the run allows it; what was not tested is never called
 * healthy.
 */
#pragma once

#include "insight/check/run.h"

/* A look at the GPU during the run: `at_work` while its arithmetic is timed. True: too hot to go on. */
bool check_observe(struct check_run *run, const struct gpu *gpu, bool at_work);
/* What counters show more than before. */
void check_compare_counters(struct check_run *run, const struct gpu *before, const struct gpu *after);

/* Judges: fills in expectations, verdict, words and advice. `past`: earlier runs of the same GPU, the newest last; `siblings`: runs
 * of the same model beside it. */
void check_judge(struct check_run *run, const struct check_run *past, size_t past_count, const struct check_run *const *siblings,
                 size_t sibling_count);
/* Tests to be repeated before a low value counts: compared with past or siblings, it may have been a disturbance. */
unsigned check_suspects(const struct check_run *run);
/* Why this GPU must not be tested now, in words; false: it may be. */
bool check_refuses(const struct gpu *gpu, char words[CHECK_WORDS]);

bool check_disturbs(const struct process *p); /* computes, and is no desktop */

/* "115 million" */
const char *words_many(int64_t count, char out[32]);
/* What a value is and means: "4,496 GB/s, 93% of physics"; false: not measured. */
bool check_value_words(const struct check_run *run, enum check_value value, char *out, size_t size);
