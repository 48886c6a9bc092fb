/* SPDX-License-Identifier: Apache-2.0
 * Requests about alerts: what fires, the rules, silences.
 */
#pragma once

#include "alert/alert.h"
#include "serve/api/part.h"

/* The status of the answer, whose body is appended; 0: not one of these routes. `changed`: the silences are other ones now. */
int alert_api(struct alert_set *set, const struct alert_facts *facts, struct wall now, const struct part_request *r,
              struct buf *out, bool *changed);
