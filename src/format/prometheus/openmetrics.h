/* SPDX-License-Identifier: Apache-2.0
 * OpenMetrics 1.0: families of counters without "_total", units, quotes escaped in help texts, and an end that shows that nothing
 * was cut off.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define OPENMETRICS_TYPE "application/openmetrics-text"
#define OPENMETRICS_CONTENT_TYPE OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"

/* `text`: what prometheus_write() and its companions made, HELP and TYPE in front of each family. */
void openmetrics_from_prometheus(struct str text, struct buf *out);
