/* SPDX-License-Identifier: Apache-2.0
 * The machine around the GPUs at one moment; what each reading means stands in host_metrics.def. Rates and shares of CPU time are
 * PENDING on the first sample.
 */
#pragma once

#include "model/metric.h"
#include "model/reading.h"

enum { HOST_NAME_SIZE = 65 };

struct host {
    char name[HOST_NAME_SIZE];
    union {
        struct {
#define HOST_METRIC(field, ...) struct reading field;
#include "model/host_metrics.def"
#undef HOST_METRIC
        };
        struct reading metric[HOST_METRIC_COUNT];
    };
};
