/* SPDX-License-Identifier: Apache-2.0
 * Leases in JSON and as series.
 */
#pragma once

#include "lease/lease_dir.h"

/* {"leases": [...], "problems": [...]} */
void json_leases(struct json_writer *j, const struct lease_list *list);
