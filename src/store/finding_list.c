/* SPDX-License-Identifier: Apache-2.0
 * Reads episodes of findings.
 */

#include "base/cleanup.h"
#include "model/finding.h"
#include "model/severity.h"
#include "store/findings.h"
#include "store/internal.h"

static const char query[] =
    "SELECT f.id, f.gpu_id, g.gpu_index, f.process_id, f.pid, f.code, f.severity, f.severity_now, f.confidence_permille, "
    "f.since_ms, f.first_seen_ms, f.last_seen_ms, f.worst_ms, f.ended, f.headline, f.samples, f.util_sum_permille, f.util_count, "
    "f.power_sum_mw, f.power_count, f.temp_max_mdegc, h.name, p.name, p.user_name, COALESCE(p.container_name, p.container) FROM "
    "finding_episodes f JOIN hosts h ON h.id = f.host_id LEFT JOIN gpus g ON g.id = f.gpu_id LEFT JOIN processes p ON p.id = "
    "f.process_id WHERE f.last_seen_ms >= $1 AND f.first_seen_ms < $2 AND f.id > $3 AND ($4 = '' OR h.name = $4) AND ($5 = 0 OR "
    "f.gpu_id = $5) AND f.severity >= $6 ORDER BY f.id LIMIT $7";

static int64_t number_or(struct db_statement *q, int column, int64_t fallback)
{
    return db_is_null(q, column) ? fallback : db_i64(q, column);
}

static struct reading mean(struct db_statement *q, int sum)
{
    int64_t count = db_i64(q, sum + 1);
    return count > 0 ? reading_ok(db_i64(q, sum) / count) : reading_absent(READING_UNREAD);
}

/* Reads a row; false if this version doesn't know its code. */
static bool read_finding(struct db_statement *q, struct store_finding *f)
{
    char code[64];
    *f = (struct store_finding){.id = db_i64(q, 0),
                                .gpu_id = number_or(q, 1, 0),
                                .gpu_index = (int)number_or(q, 2, -1),
                                .process_id = number_or(q, 3, 0),
                                .pid = (int32_t)db_i64(q, 4),
                                .severity = (enum severity)MIN_OF(db_i64(q, 6), (int64_t)SEVERITY_CRITICAL),
                                .severity_now = (enum severity)MIN_OF(db_i64(q, 7), (int64_t)SEVERITY_CRITICAL),
                                .confidence = (double)db_i64(q, 8) / 1000,
                                .since = {db_i64(q, 9)},
                                .first_seen = {db_i64(q, 10)},
                                .last_seen = {db_i64(q, 11)},
                                .worst_at = {db_i64(q, 12)},
                                .ended = db_i64(q, 13) != 0,
                                .samples = db_i64(q, 15),
                                .util_permille = mean(q, 16),
                                .power_mw = mean(q, 18),
                                .temp_max_mdegc = db_is_null(q, 20) ? reading_absent(READING_UNREAD) : reading_ok(db_i64(q, 20))};
    str_copy(code, sizeof code, db_text(q, 5));
    str_copy(f->headline, sizeof f->headline, db_text(q, 14));
    str_copy(f->host, sizeof f->host, db_text(q, 21));
    str_copy(f->process, sizeof f->process, db_text(q, 22));
    str_copy(f->user, sizeof f->user, db_text(q, 23));
    str_copy(f->container, sizeof f->container, db_text(q, 24));
    return finding_code_from_name(code, &f->code);
}

int store_findings(struct store *s, const struct store_finding_page *page, store_finding_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db, query, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, page->since_ms);
    db_bind_i64(q, 2, page->until_ms);
    db_bind_i64(q, 3, page->cursor);
    db_bind_text(q, 4, page->host ? page->host : "");
    db_bind_i64(q, 5, page->gpu_id);
    db_bind_i64(q, 6, page->least);
    db_bind_i64(q, 7, (int64_t)MIN_OF(page->limit, (size_t)INT32_MAX));
    while ((rc = db_step(q, err)) == 1) {
        struct store_finding f;
        rc = read_finding(q, &f) ? each(user, &f) : 0;
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}
