/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as a part of the daemon: the alerts tell them. Calls are from the loop's thread and never wait.
 */
#pragma once

#include "alert/notify/notify.h"

struct notify_part;

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice);
/* Everything that fires is told between these two; what is not among it is over. */
void notify_part_roll_begin(struct notify_part *p);
void notify_part_roll_end(struct notify_part *p);
