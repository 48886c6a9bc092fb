/* SPDX-License-Identifier: Apache-2.0
 * The plain page: what `whirr why` and `whirr status` say, as HTML without scripts, refreshed by the browser itself. At / it is the
 * part of the dashboard for browsers without scripts; at /plain it stands alone.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "model/snapshot.h"

struct why;

/* What the page may load: its own style sheet and icon, and nothing else. */
extern const char page_policy[];
/* The dashboard also runs its own script, which asks this server. */
extern const char dashboard_policy[];
extern const char page_style[], page_icon[];

/* `dashboard`: there is one at /; a build without says how to get it. */
void page_write(struct buf *out, const struct snapshot *s, const struct why *why, bool dashboard);
/* An answer of the API, to be written into the page. */
struct page_data {
    const char *id;
    struct str json;
};
/* With these answers in it: the first paint has data without asking. `history`: there is a last hour to ask for. */
void page_write_dashboard(struct buf *out, const struct snapshot *s, const struct why *why, const struct page_data *data,
                          size_t count, bool history);
/* All hosts; its script asks /api/fleet. */
void page_write_fleet(struct buf *out);
/* One GPU (its position) or all (-1), to be embedded in other pages: the answer and the figures. */
void page_write_tile(struct buf *out, const struct snapshot *s, const struct why *why, int only);
/* The form that asks for a token; `message` may be NULL. */
void page_write_login(struct buf *out, const char *message);

/* ---- The description of the API: openapi.json of this folder, with the metrics filled in from the metric table. ---- */

void openapi_write(struct buf *out); /* the buffer fails when memory is out */
/* The names of the parameters of each path, as keys: {"/api/why": {"gpu": true, ...}, ...}. */
json_t *openapi_parameters(void);
