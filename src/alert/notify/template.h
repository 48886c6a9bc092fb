/* SPDX-License-Identifier: Apache-2.0
 * Texts with {{names}} in them. In a template that is JSON (it begins with { or [) values are written so that they fit between its
 * quotes; {{name|json}} writes a whole JSON value, {{name|raw}} the bare text.
 */
#pragma once

#include "alert/notify/notice.h"
#include "base/buf.h"
#include "base/error.h"

/* Several notices that are told together; the leading one gives the values, {{alerts}} has them all. */
struct notice_group {
    const struct alert_notice *const *list; /* the leading one first */
    size_t count;
};

bool template_is_json(const char *text);
/* -EINVAL with the name that is not known; nothing else fails but the buffer. */
int template_render(const char *text, const struct notice_group *group, struct buf *out, struct error *err);
/* Renders an example: unknown names, and JSON that is none. */
int template_check(const char *text, struct error *err);
