/* SPDX-License-Identifier: Apache-2.0
 * Way "checkpoint".
 */
#pragma once

#include "guard/way.h"

extern const struct way_ops way_checkpoint;

/* Memory that must be free before a process that held `bytes` is restored. A restore that lacks memory can never be repeated. */
int64_t checkpoint_restore_bytes(int64_t bytes);
