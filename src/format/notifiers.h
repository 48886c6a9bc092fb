/* SPDX-License-Identifier: Apache-2.0
 * Notifiers and how they are doing, as the API, the metrics and `whirr notify` show them.
 */
#pragma once

#include "alert/notify/notify.h"
#include "base/json_writer.h"

struct page;

/* {"notifiers": [...]} */
void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count);
/* What has been sent, given up, tried and what waits, one series a notifier. */
void prometheus_notifiers(struct buf *out, const struct notifier_stats *list, size_t count);
/* `running`: the figures are those of a daemon. */
void table_notifiers(struct buf *out, const struct page *page, const struct notifier_stats *list, size_t count, bool running);
/* Reads what json_notifiers wrote; returns how many, at most `max`. */
size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max);
