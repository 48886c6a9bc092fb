/* SPDX-License-Identifier: Apache-2.0
 * Finds alerts and changes of health that repeat a finding's row.
 */
#include "past/past_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "insight/verdict/health.h"
#include "store/findings.h"

enum {
    TOLD_MAX = 4096,        /* episodes in a page; the next query continues after them */
    NEAR_MS = 60000,        /* an open row may be that old, and health recovers a moment after the finding is gone */
    LOOK_BACK_MS = 3600000, /* an alert is resolved at most this long after its finding is gone */
    CURSOR_PLACES = 20,     /* bits of a cursor that are not its time */
};

/* ---- episodes ---- */

struct told_reading {
    const struct store_event_page *page;
    struct told_findings *to;
};

static int told_findings_add(void *user, const struct store_finding *f)
{
    struct told_reading *r = user;
    if (f->first_seen.ms < r->page->since_ms) /* listed in an earlier period already */
        return 0;
    struct told_finding *to = &r->to->list[r->to->count++];
    *to = (struct told_finding){f->code, f->severity, f->gpu_id, MIN_OF(f->since.ms, f->first_seen.ms), f->last_seen.ms, ""};
    memcpy(to->host, f->host, sizeof to->host);
    return r->to->count == TOLD_MAX;
}

int told_findings_read(struct store *s, const struct store_event_page *page, struct told_findings *ret, struct error *err)
{
    int64_t from_ms = MAX_OF(page->since_ms, page->cursor >> CURSOR_PLACES);
    const struct store_finding_page findings = {.host = page->host,
                                                .gpu_id = page->gpu_id,
                                                .since_ms = MAX_OF(from_ms - LOOK_BACK_MS, page->since_ms),
                                                .until_ms = page->until_ms,
                                                .least = SEVERITY_NOTICE,
                                                .limit = TOLD_MAX};
    struct told_reading r = {page, ret};
    *ret = (struct told_findings){.list = calloc(TOLD_MAX, sizeof *ret->list)};
    return ret->list ? store_findings(s, &findings, told_findings_add, &r, err) : error_set(err, -ENOMEM, "out of memory");
}

void told_findings_done(struct told_findings *t)
{
    free(t->list);
}

/* ---- events ---- */

/* What an alert or a change of health is about. */
struct told_trouble {
    bool any_code; /* any that affects health */
    finding_code code;
    enum severity severity;
    int64_t from_ms, to_ms;
};

static bool read_alert_trouble(const json_t *data, struct told_trouble *t)
{
    struct wall pending = json_moment(data, "pending_since"), started = json_moment(data, "started_at");
    int64_t from_ms = pending.ms > 0 ? pending.ms : started.ms;
    if (from_ms > 0)
        t->from_ms = MIN_OF(from_ms, t->to_ms);
    return finding_code_from_name(json_text(data, "code"), &t->code);
}

/* The first state after a start says nothing about trouble that ended. */
static bool read_health_trouble(const json_t *data, struct told_trouble *t)
{
    enum health_state state, before;
    if (!health_state_from_name(json_text(data, "state"), &state))
        return false;
    if (!health_state_from_name(json_text(data, "before"), &before))
        before = HEALTH_UNKNOWN;
    t->any_code = true;
    return state >= HEALTH_DEGRADED || before >= HEALTH_DEGRADED;
}

static bool read_trouble(const struct store_event_row *event, struct told_trouble *ret)
{
    bool alert = strcmp(event->kind, "alert") == 0;
    AUTO_JSON json_t *data = (alert || strcmp(event->kind, "health") == 0) && event->data ? json_loads(event->data, 0, NULL) : NULL;
    *ret = (struct told_trouble){.from_ms = event->at.ms, .to_ms = event->at.ms};
    return data && severity_from_text(event->severity, &ret->severity) &&
           (alert ? read_alert_trouble(data, ret) : read_health_trouble(data, ret));
}

static bool is_told_by(const struct told_finding *f, const struct store_event_row *event, const struct told_trouble *t)
{
    bool same = t->any_code ? finding_kind(f->code)->effect != EFFECT_HEALTHY : f->code == t->code;
    return same && f->gpu_id == event->gpu_id && f->severity >= t->severity && f->from_ms <= t->to_ms + NEAR_MS &&
           t->from_ms <= f->to_ms + NEAR_MS && strcmp(f->host, event->host) == 0;
}

bool told_already(const struct told_findings *t, const struct store_event_row *event)
{
    struct told_trouble trouble;
    if (t->count == 0 || !read_trouble(event, &trouble))
        return false;
    for (size_t i = 0; i < t->count; i++)
        if (is_told_by(&t->list[i], event, &trouble))
            return true;
    return false;
}
