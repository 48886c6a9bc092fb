/* SPDX-License-Identifier: Apache-2.0
 * What alerts must know after a restart, as text: states, silences, recent driver errors.
 */
#pragma once

#include "alert/alert.h"

enum { ALERT_KEEP_MAX = 16 << 20 };

void alert_keep_write(struct buf *out, const struct alert_set *set);
/* Into a set that was just made. -EINVAL and a sentence when it is not what alert_keep_write wrote; what is wrong in a single entry
 * leaves that one out. */
int alert_keep_read(struct alert_set *set, struct str text, struct error *err);
