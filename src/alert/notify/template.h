/* SPDX-License-Identifier: Apache-2.0
 * Texts with {{names}} in them. In a JSON template (one that begins with { or [) values are escaped to fit between its quotes;
 * {{name|json}} writes a whole JSON value, {{name|raw}} the bare text.
 */
#pragma once

#include "alert/notify/notice.h"
#include "base/buf.h"
#include "base/error.h"

/* Notices that are sent together; the leading one provides the values, {{alerts}} lists all. */
struct notice_group {
    const struct alert_notice *const *list; /* the leading one first */
    size_t count;
};

bool template_is_json(const char *text);
/* -EINVAL names an unknown name; otherwise only the buffer can fail. */
int template_render(const char *text, const struct notice_group *group, struct buf *out, struct error *err);
/* Renders an example to find unknown names and invalid JSON. */
int template_check(const char *text, struct error *err);
