/* SPDX-License-Identifier: Apache-2.0
 * Parts that several answers are made of.
 */
#pragma once

#include "answer/answer.h"
#include "model/finding.h"
#include "model/severity.h"
#include "model/snapshot.h"

extern const struct answer_names finding_codes, severities;
extern const struct answer activity_answer, limit_answer, usual_answer;

struct finding_told {
    const struct finding *f;
    const struct verdict *v;
};

/* Findings of one GPU, of the host alone (-1), or EVERY_GPU and the host. `v` may be NULL: there are none. */
struct findings_told {
    const struct verdict *v;
    int gpu_index;
    struct finding_told first;
    bool judged;
    enum severity severity; /* of the first */
};
struct findings_told told_findings(const struct verdict *v, int gpu_index);
/* `findings`; `finding`, the first of them; `severity` and `findings`. */
extern const struct answer findings_answer, first_finding_answer, verdict_answer;

/* `looked`, `not_looked`: the areas that a GPU's verdict is based on. */
extern const struct answer looked_answer;
const struct gpu_looked *told_looked(const struct verdict *v, int gpu_index);
