/* SPDX-License-Identifier: Apache-2.0
 * The sentences of which the answer about one GPU is made.
 */
#pragma once

#include "insight/area/area.h"
#include "insight/view/why.h"

void answer_gpu(const struct facts *f, struct why_part *part);
void answer_usual(struct why_part *part, bool over);               /* a sentence more where something is unusual */
void answer_changed(const struct facts *f, struct why_part *part); /* a driver, a setting that is new; no trouble */
void answer_resume(const struct facts *f, struct why_part *part);  /* what a suspend has changed */
/* Faults that no cause of the explanation is about, as sentences, causes and advice. */
void answer_findings(const struct facts *f, struct why_part *part);
void suggest(const struct facts *f, struct why_part *part);
