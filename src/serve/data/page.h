/* SPDX-License-Identifier: Apache-2.0
 * The plain page: the answers of `whirr why` and `whirr status` as HTML without scripts, which the browser refreshes. At / it is
 * the part of the dashboard for browsers without scripts; /plain shows it alone.
 */
#pragma once

#include "base/buf.h"
#include "model/snapshot.h"

struct why;

/* Content policies. The plain page loads only its own style sheet and icon. */
extern const char page_policy[];
/* The dashboard also runs its own script, which queries this server. */
extern const char dashboard_policy[];
extern const char page_style[], page_icon[];

/* `dashboard`: there is one at /; without it, the page says how to get it. */
void page_write(struct buf *out, const struct snapshot *s, const struct why *why, bool dashboard);
/* An API response to embed in the page. */
struct page_data {
    const char *id;
    struct str json;
};
/* Embeds these responses, so that the first paint has data. `history`: the last hour can be queried; `version`: asset_version(). */
void page_write_dashboard(struct buf *out, const struct snapshot *s, const struct why *why, const struct page_data *data,
                          size_t count, bool history, const char *version);
/* The page of all hosts; its script queries /api/fleet. */
void page_write_fleet(struct buf *out, const char *version);
/* A tile to embed in other pages: answer and figures of one GPU (its position) or of all (-1). */
void page_write_tile(struct buf *out, const struct snapshot *s, const struct why *why, int only);
/* The form for a token; `message` may be NULL. */
void page_write_login(struct buf *out, const char *message);
