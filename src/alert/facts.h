/* SPDX-License-Identifier: Apache-2.0
 * What alert rules know beyond the snapshot: the findings of health and forecast, and how the daemon itself is doing. The part that
 * finds something fills it in before the rules are evaluated; what was not filled in is absent, and rules about it do not fire.
 */
#pragma once

#include "model/gpu.h"
#include "model/reading.h"
#include "model/snapshot.h"

struct alert_gpu_facts {
#define GPU_FACT(field, ...) struct reading field;
#include "alert/facts.def"
    char health_reason[192]; /* a sentence for the summary; "" none */
};

struct alert_facts {
#define HOST_FACT(field, ...) struct reading field;
#include "alert/facts.def"
    struct alert_gpu_facts gpus[GPU_MAX]; /* by the GPU's index (struct gpu.index), not by its place in the snapshot */
};

/* All are absent. Only what has to change is written, here and in a copy: there is room for many GPUs, and few are there. */
void alert_facts_clear(struct alert_facts *facts);
void alert_facts_copy(struct alert_facts *to, const struct alert_facts *from);

/* Fills in what is missing and the snapshot shows: source_down, the fans and the activity. */
void alert_facts_from_snapshot(struct alert_facts *facts, const struct snapshot *now);
