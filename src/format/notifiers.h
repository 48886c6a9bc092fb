/* SPDX-License-Identifier: Apache-2.0
 * Notifiers and their statistics, for the API, the metrics and `whirr notify`.
 */
#pragma once

#include "alert/notify/notify.h"
#include "answer/answer.h"

struct page;

extern const struct answer notifiers_answer;
/* {"notifiers": [...]} */
void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count);
/* Sent, given up, attempted and waiting notices, one series per notifier. */
void prometheus_notifiers(struct buf *out, const struct notifier_stats *list, size_t count);
/* `running`: the figures come from a daemon. */
void table_notifiers(struct buf *out, const struct page *page, const struct notifier_stats *list, size_t count, bool running);
/* Parses the output of json_notifiers; returns how many, at most `max`. */
size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max);
