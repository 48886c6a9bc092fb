/* SPDX-License-Identifier: Apache-2.0
 * One trouble is one event. A finding that held became an alert, and may have changed the health of its GPU: three rows of one
 * trouble. The finding's row has its times, so among all events the others are left out; asked for by their kind they are all
 * there.
 */
#pragma once

#include "model/finding.h"
#include "store/query.h"

/* An episode that is among the events. */
struct told_finding {
    enum finding_code code;
    enum severity severity;
    int64_t gpu_id; /* 0: of the host */
    int64_t from_ms, to_ms;
    char host[HOST_NAME_SIZE];
};

struct told_findings {
    struct told_finding *list;
    size_t count;
};

/* The episodes that begin in the time of `page` and may tell what comes behind its cursor. */
int told_findings_read(struct store *s, const struct store_event_page *page, struct told_findings *ret, struct error *err);
void told_findings_done(struct told_findings *t);

/* Whether an episode tells what this event does: of the same code (for a change of health: of one that makes it so), GPU and time,
 * and at least as grave, so that nothing looks better than it was. */
bool told_already(const struct told_findings *t, const struct store_event_row *event);
