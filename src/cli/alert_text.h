/* SPDX-License-Identifier: Apache-2.0
 * Alerts, rules and silences for people, from what the API says.
 */
#pragma once

#include <jansson.h>

#include "format/table/page.h"

/* The body of GET /api/alerts. `all`: also those that are over. */
void alert_text(struct buf *out, const struct page *page, const json_t *body, bool all);
/* The body of GET /api/alerts/rules. */
void alert_rules_text(struct buf *out, const struct page *page, const json_t *body);
/* Every name that conditions may use. */
void alert_names_text(struct buf *out, const struct page *page);
void alert_names_json(struct buf *out);
void silences_text(struct buf *out, const struct page *page, const json_t *silences);
