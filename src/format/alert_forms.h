/* SPDX-License-Identifier: Apache-2.0
 * Alerts, their rules and silences as JSON and as Prometheus series.
 */
#pragma once

#include "alert/alert.h"
#include "answer/answer.h"

/* alert_answer: of a struct alert, an element of GET /api/alerts, the data of the event `alert`, and what the history stores. */
extern const struct answer alert_answer, alerts_answer, alert_rules_answer;

/* GET /api/alerts; requires a sorted set. `only`: the index of a GPU, or EVERY_GPU and the host. */
void json_alerts(struct json_writer *j, const struct alert_set *set, int only);
/* GET /api/alerts/rules; set may be NULL if no states are known. */
void json_alert_rules(struct json_writer *j, const struct alert_rules *rules, const struct alert_set *set);
extern const struct answer silenced_answer, unsilenced_answer; /* of a struct silence: the replies of POST /api/alerts/silence */

/* whirr_alert_firing and related series. */
void prometheus_alerts(struct buf *out, const struct alert_set *set);
