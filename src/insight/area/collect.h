/* SPDX-License-Identifier: Apache-2.0
 * Findings on their way to a verdict. The same
 * fact found twice is one finding, with the higher severity.
 */
#pragma once

#include "model/finding.h"
#include "model/snapshot.h"

struct collection {
    const struct snapshot *now;
    struct verdict *verdict;
    size_t most; /* findings that it has room for */
};

/* Room for a verdict about this snapshot. -ENOMEM. */
int collection_init(struct collection *c, const struct snapshot *now);

/* NULL: no more room. */
struct finding *collect_finding(struct collection *c, const struct finding *found);
/* `gpu` may be NULL: the host. `format` is the headline. */
void collect(struct collection *c, const struct gpu *gpu, enum finding_code code, enum severity severity, double confidence,
             int32_t pid, const char *format, ...) __attribute__((format(gnu_printf, 7, 8)));

/* The same from whole sentences: "The fan has stopped." becomes "GPU 1: the fan has stopped". `found` has the rest. */
void collect_sentence(struct collection *c, const struct gpu *gpu, int gpu_index, struct finding found, const char *text);
