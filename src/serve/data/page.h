/* SPDX-License-Identifier: Apache-2.0
 * The plain page: the answers of `whirr why` and `whirr status` as HTML without scripts, which the browser refreshes. At / it is
 * the part of the dashboard for browsers without scripts; /plain shows it alone.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "model/snapshot.h"

struct why;

/* What the page may load: only its own style sheet and icon. */
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
/* Embeds these responses, so that the first paint has data. `history`: the last hour can be queried. */
void page_write_dashboard(struct buf *out, const struct snapshot *s, const struct why *why, const struct page_data *data,
                          size_t count, bool history);
/* All hosts; its script queries /api/fleet. */
void page_write_fleet(struct buf *out);
/* One GPU (its position) or all (-1), to embed in other pages: the answer and the figures. */
void page_write_tile(struct buf *out, const struct snapshot *s, const struct why *why, int only);
/* The form for a token; `message` may be NULL. */
void page_write_login(struct buf *out, const char *message);

/* ---- The description of the API: openapi.json in this directory, with the metrics filled in from the metric table. ---- */

void openapi_write(struct buf *out); /* the buffer fails if out of memory */
/* The parameter names of each path, as keys: {"/api/why": {"gpu": true, ...}, ...}. */
json_t *openapi_parameters(void);
