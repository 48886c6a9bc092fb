/* SPDX-License-Identifier: Apache-2.0
 * A notice as JSON: the object that webhooks and programs get, and that queues on disk are made of.
 */
#pragma once

#include <jansson.h>

#include "alert/notify/notice.h"
#include "base/json_writer.h"

/* The members, for an object that the caller has opened. Keys never vanish; what is not known is null. */
void notice_json_members(struct json_writer *j, const struct alert_notice *n);
/* A whole object. */
void notice_json(struct json_writer *j, const struct alert_notice *n);
/* Reads it back; false: it is none. Names of notifiers are not part of it. */
bool notice_from_json(const json_t *object, struct alert_notice *ret);
