/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as a part of the daemon: they hear what the alerts say. Calls are from the loop's thread and never wait.
 */
#pragma once

#include "alert/notify/notify.h"
#include "serve/api/part.h"

struct notify_part;

struct notify_part *notify_part_new(const struct env *env, const struct config *config); /* NULL: out of memory */
void notify_part_reload(struct notify_part *p, const struct config *config);
void notify_part_free(struct notify_part *p); /* waits about a second for what is under way; NULL is fine */

void notify_part_tell(struct notify_part *p, const struct alert_notice *notice);
/* Everything that fires is told between these two; what is not among it is over. */
void notify_part_roll_begin(struct notify_part *p);
void notify_part_roll_end(struct notify_part *p);
/* The status of the answer, or 0: not one of its routes. */
int notify_part_request(struct notify_part *p, const struct part_request *r, struct buf *out);
void notify_part_metrics(struct notify_part *p, struct buf *out);
