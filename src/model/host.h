/* SPDX-License-Identifier: Apache-2.0
 * The host around the GPUs at one moment; host_metrics.def explains each reading. Rates and CPU shares are PENDING on the first
 * sample.
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
