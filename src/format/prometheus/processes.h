/* SPDX-License-Identifier: Apache-2.0
 * Inside of the Prometheus text: labels of a GPU, and series of processes.
 */
#pragma once

#include "base/buf.h"
#include "model/snapshot.h"

/* gpu, uuid and name of the card; those of the instance where it is one; simulated="true" only where it is. */
void prometheus_gpu_labels(struct buf *out, const struct gpu *card, const struct gpu *instance);

void prometheus_processes(struct buf *out, const struct snapshot *s);
