/* SPDX-License-Identifier: Apache-2.0
 * Leases in JSON and as series.
 */
#pragma once

#include "lease/lease_dir.h"
#include "model/snapshot.h"

extern const struct answer leases_answer;
/* {"leases": [...], "problems": [...]}; command lines only for the daemon's owner and on the host itself. */
void json_leases(struct json_writer *j, const struct lease_list *list, bool commands, const struct gpu *only);

void prometheus_leases(struct buf *out, const struct snapshot *s, const struct lease_list *list);
