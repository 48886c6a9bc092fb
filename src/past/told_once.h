/* SPDX-License-Identifier: Apache-2.0
 * One trouble is one event. A finding that held became an alert, and may have changed its GPU's health: three rows for one trouble.
 * The finding's row has the times, so a list of all events omits the others; a query by kind returns them.
 */
#pragma once

#include "model/finding.h"
#include "store/query.h"

/* An episode among the events. */
struct told_finding {
    finding_code code;
    enum severity severity;
    int64_t gpu_id; /* 0: of the host */
    int64_t from_ms, to_ms;
    char host[HOST_NAME_SIZE];
};

struct told_findings {
    struct told_finding *list;
    size_t count;
};

/* The episodes that begin within `page` and may cover events after its cursor. */
int told_findings_read(struct store *s, const struct store_event_page *page, struct told_findings *ret, struct error *err);
void told_findings_done(struct told_findings *t);

/* Whether an episode covers this event: same code (for a change of health: one that causes it), GPU and time, and at least as
 * severe, so that nothing looks better than it was. */
bool told_already(const struct told_findings *t, const struct store_event_row *event);
