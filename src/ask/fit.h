/* SPDX-License-Identifier: Apache-2.0
 * Where commands get the capacity that a model or an amount is placed in.
 */
#pragma once

#include "ask/session.h"
#include "insight/fit/model_size.h"
#include "insight/fit/placement.h"

/* Memory from a sample of this moment; reserve, workers, health and the past from the daemon, where one runs. Without one, health
 * is judged from the sample (GROUP_ALL) and the kernel log. From malloc; NULL: out of memory. */
struct capacity *fit_capacity(struct cli *cli, struct session *session, const struct snapshot *s, int64_t reserve_bytes);

/* What the files do not say cannot be promised: then fitting weights are not a fitting model. */
void fit_doubt(const struct model_need *need, struct placement *p);
