/* SPDX-License-Identifier: Apache-2.0
 * The host around the GPUs at one moment; host_metrics.def explains each reading. Rates and CPU shares are PENDING on the first
 * sample.
 */
#pragma once

#include "base/clock.h"
#include "model/metric.h"
#include "model/reading.h"

enum { HOST_NAME_SIZE = 65, HOST_VERSION_SIZE = 40 };

struct host {
    char name[HOST_NAME_SIZE];
    char kernel[HOST_VERSION_SIZE], bios[HOST_VERSION_SIZE]; /* their versions; "" unknown */
    char ib_lost_names[64];                                  /* of the InfiniBand ports that lost their link, as far as they fit */
    union {
        struct {
#define HOST_METRIC(field, ...) struct reading field;
#include "model/host_metrics.def"
#undef HOST_METRIC
        };
        struct reading metric[HOST_METRIC_COUNT];
    };
    struct mono kept_from[HOST_METRIC_COUNT]; /* the sample that read it; 0: this one */
};

/* How long before the sample a metric was read. */
static inline int64_t host_metric_age_ms(const struct host *host, size_t metric, struct mono sample)
{
    return host->kept_from[metric].ns && sample.ns > host->kept_from[metric].ns ? mono_since_ms(sample, host->kept_from[metric])
                                                                                : 0;
}
