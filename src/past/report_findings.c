/* SPDX-License-Identifier: Apache-2.0
 * The report's part about trouble: findings in the span, once per kind and GPU, with their total duration.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "past/report.h"
#include "past/span.h"
#include "store/findings.h"

enum { ROWS_AT_ONCE = 1024 };

struct finding_rows {
    struct report *report;
    int64_t cursor;
    size_t count;
};

static struct report_finding *find_kind(struct report *r, const struct store_finding *f)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].code == f->code && r->findings[i].gpu_id == f->gpu_id)
            return &r->findings[i];
    if (r->finding_count == REPORT_FINDINGS_MAX)
        return NULL;
    struct report_finding *found = &r->findings[r->finding_count++];
    *found = (struct report_finding){.gpu_id = f->gpu_id, .gpu_index = f->gpu_index, .code = f->code, .since = r->until};
    return found;
}

static int add_episode(void *user, const struct store_finding *f)
{
    struct finding_rows *rows = user;
    struct report *r = rows->report;
    rows->cursor = f->id;
    rows->count++;
    struct report_finding *found = find_kind(r, f);
    if (!found)
        return 0;
    struct wall since = {MAX_OF(f->first_seen.ms, r->since.ms)}, until = {MIN_OF(f->last_seen.ms, r->until.ms)};
    if (!found->times || f->severity > found->severity) {
        found->severity = f->severity;
        span_past_tense(f->headline, found->headline, sizeof found->headline);
    }
    found->times++;
    found->total_ms += MAX_OF(until.ms - since.ms, (int64_t)0);
    found->since.ms = MIN_OF(found->since.ms, since.ms);
    found->until.ms = MAX_OF(found->until.ms, until.ms);
    return 0;
}

static int worst_first(const void *a, const void *b)
{
    const struct report_finding *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity < y->severity ? 1 : -1;
    if (x->total_ms != y->total_ms)
        return x->total_ms < y->total_ms ? 1 : -1;
    return x->code != y->code ? (int)x->code - (int)y->code : x->gpu_index - y->gpu_index;
}

int report_findings(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
{
    struct finding_rows rows = {.report = r};
    int rc;
    do {
        const struct store_finding_page page = {.host = host,
                                                .gpu_id = gpu_id,
                                                .since_ms = r->since.ms,
                                                .until_ms = r->until.ms,
                                                .least = SEVERITY_NOTICE,
                                                .cursor = rows.cursor,
                                                .limit = ROWS_AT_ONCE};
        rows.count = 0;
        rc = store_findings(s, &page, add_episode, &rows, err);
    } while (rc == 0 && rows.count == ROWS_AT_ONCE);
    qsort(r->findings, r->finding_count, sizeof r->findings[0], worst_first);
    return rc;
}
