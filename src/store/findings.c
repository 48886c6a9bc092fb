/* SPDX-License-Identifier: Apache-2.0
 * Writes episodes of findings: one row from the first sample that had a finding to the last one.
 *
 *   sample     f f f . f f f f . . . . . . . . .        f found   . not
 *   row        ├─────── one episode ──────┤   └ after a gap of GAP_MS it ends, at the last sample that had the finding
 *
 * A row is written when an episode begins, gets worse and ends, and in between less and less often, but at least every minute:
 * after a crash the end of an open episode is known to the minute. An episode that was open at shutdown continues if the finding
 * is back within RESUME_MS of the last sample that had it; otherwise it ended at that sample.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"
#include "store/internal.h"
#include "store/query.h"

/* ---- writing ---- */

enum {
    GAP_MS = 30000,         /* an episode ends after this long without its finding */
    RESUME_MS = 180000,     /* the same after a restart: the row may be a minute old, and starting takes time */
    CONFIRM_MAX_MS = 60000, /* maximum age of an open episode's row */
    CONFIRM_MIN_MS = 1000,
    HURRIED_GAP_MS = 600000, /* the gap that ends an episode once too many have begun */
    BEGUN_PER_HOUR = 30,     /* for the host plus each GPU; further episodes are not stored */
};

static void read_open(struct db_statement *q, struct open_finding *e)
{
    e->id = db_i64(q, 0);
    e->gpu_id = db_i64_or(q, 1, 0);
    e->process_id = db_i64_or(q, 2, 0);
    e->pid = (int32_t)db_i64(q, 3);
    e->worst = e->now = (enum severity)db_i64(q, 5);
    e->confidence_permille = db_i64(q, 6);
    e->first_ms = db_i64(q, 7);
    e->last_ms = e->written_ms = db_i64(q, 8);
    e->samples = db_i64(q, 9);
    e->util_sum = db_i64(q, 10);
    e->util_count = db_i64(q, 11);
    e->power_sum = db_i64(q, 12);
    e->power_count = db_i64(q, 13);
    e->temp_max_mdegc = db_reading(q, 14);
    e->start_key = db_i64_or(q, 15, 0);
    e->from_before = true;
}

/* After a start: loads the open episodes, so that they continue. */
static int load_open(struct store *s, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db,
                        "SELECT f.id, f.gpu_id, f.process_id, f.pid, f.code, f.severity, f.confidence_permille, f.first_seen_ms, "
                        "f.last_seen_ms, f.samples, f.util_sum_permille, f.util_count, f.power_sum_mw, f.power_count, "
                        "f.temp_max_mdegc, p.start_key FROM finding_episodes f LEFT JOIN processes p ON p.id = f.process_id WHERE "
                        "f.ended = 0 AND f.host_id = $1 ORDER BY f.last_seen_ms DESC",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, s->host_id);
    while ((rc = db_step(q, err)) == 1 && s->open_count < OPEN_FINDINGS_MAX) {
        struct open_finding *e = &s->open_findings[s->open_count];
        char code[64];
        *e = (struct open_finding){0};
        read_open(q, e);
        str_copy(code, sizeof code, db_text(q, 4));
        /* A code of a later version: this one can't find it again, so the episode ends like any other. */
        if (!finding_code_from_name(code, &e->code))
            e->code = FINDING_CODE_COUNT;
        s->open_count++;
    }
    if (rc == 1)
        db_reset(q);
    s->findings_loaded = rc >= 0;
    return rc < 0 ? rc : 0;
}

static struct known_gpu *known_of(struct store *s, int index)
{
    for (size_t i = 0; index >= 0 && i < s->gpu_count; i++)
        if (s->gpus[i].index == index)
            return &s->gpus[i];
    return NULL;
}

/* Whether the episode is about the process that has this PID now. */
static bool is_same_process(const struct open_finding *e, const struct process_run *run)
{
    if (run && e->process_id)
        return run->start_key == e->start_key;
    return !e->from_before || (!run && !e->process_id);
}

static struct open_finding *find_open(struct store *s, const struct finding *f, int64_t gpu_id)
{
    /* Findings come in about the same order in every sample. */
    for (size_t i = 0; i < s->open_count; i++) {
        size_t at = (s->open_next + i) % s->open_count;
        struct open_finding *e = &s->open_findings[at];
        if (e->code != f->code || e->gpu_id != gpu_id || e->pid != f->pid ||
            !is_same_process(e, process_runs_about(s, gpu_id, f->pid)))
            continue;
        s->open_next = at + 1;
        return e;
    }
    return NULL;
}

/* A moment deserves the headline if it is more severe, more certain, or equally severe and hotter. */
static bool is_worse(const struct open_finding *e, const struct finding *f, int64_t temp_mdegc)
{
    int64_t confidence = (int64_t)(f->confidence * 1000 + 0.5);
    enum finding_area area = finding_kind(f->code)->area;
    if (f->severity != e->worst)
        return f->severity > e->worst;
    if (confidence != e->confidence_permille)
        return confidence > e->confidence_permille;
    return (area == AREA_HEAT || area == AREA_FAN) && temp_mdegc > reading_or(e->temp_max_mdegc, INT64_MAX);
}

static void confirm(struct open_finding *e, const struct finding *f, const struct gpu *gpu, int64_t at_ms)
{
    int64_t value, temp = gpu ? reading_or(gpu->temp_mdegc, 0) : 0;
    if (e->samples == 0 || is_worse(e, f, temp)) {
        e->worst = f->severity;
        e->confidence_permille = (int64_t)(f->confidence * 1000 + 0.5);
        e->worst_ms = at_ms;
        memcpy(e->headline, f->headline, sizeof e->headline);
    }
    e->changed |= e->now != f->severity;
    e->now = f->severity;
    e->last_ms = MAX_OF(e->last_ms, at_ms);
    e->from_before = false;
    e->samples++;
    if (gpu && reading_get(gpu->util_permille, &value)) {
        e->util_sum += value;
        e->util_count++;
    }
    if (gpu && reading_get(gpu->power_mw, &value)) {
        e->power_sum += value;
        e->power_count++;
    }
    if (gpu && gpu->temp_mdegc.state == READING_OK)
        e->temp_max_mdegc = reading_ok(MAX_OF(temp, reading_or(e->temp_max_mdegc, temp)));
}

/* Binds the columns in the order of both statements, from `at` on. */
static void bind_state(struct db_statement *q, int at, const struct open_finding *e)
{
    db_bind_numbers(q, at, e->worst, e->now, e->confidence_permille, e->last_ms, e->samples, e->util_sum, e->util_count,
                    e->power_sum, e->power_count);
    db_bind_reading(q, at + 9, e->temp_max_mdegc);
}

static int put_begin(struct store *s, struct open_finding *e, int64_t since_ms, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_FINDING_BEGIN, err);
    if (!q)
        return err->code;
    bind_state(q, 1, e);
    db_bind_i64(q, 11, s->host_id);
    db_bind_id(q, 12, e->gpu_id);
    db_bind_id(q, 13, e->process_id);
    db_bind_i64(q, 14, e->pid);
    db_bind_text(q, 15, finding_code_name(e->code));
    db_bind_numbers(q, 16, since_ms, e->first_ms, e->worst_ms);
    db_bind_text(q, 19, e->headline);
    int rc = db_step(q, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave a finding no number");
    e->id = db_i64(q, 0);
    e->written_ms = e->last_ms;
    e->headline[0] = '\0';
    e->changed = false;
    db_reset(q);
    return 0;
}

static int put_state(struct store *s, struct open_finding *e, bool ended, struct error *err)
{
    struct db_statement *q = store_statement(s, e->headline[0] ? ST_FINDING_WORSE : ST_FINDING_STATE, err);
    if (!q)
        return err->code;
    int at = 12;
    bind_state(q, 1, e);
    db_bind_i64(q, 11, ended);
    if (e->headline[0]) {
        db_bind_i64(q, at++, e->worst_ms);
        db_bind_text(q, at++, e->headline);
    }
    db_bind_i64(q, at, e->id);
    e->written_ms = e->last_ms;
    int rc = db_put(q, err);
    e->headline[0] = '\0';
    e->changed = false;
    return rc;
}

/* Whether another episode may begin in this hour: a row for each time that a reading wavers around a limit would be noise. */
static bool may_begin(struct store *s, int64_t at_ms)
{
    int64_t hour = bucket_of(LEVEL_HOUR, at_ms);
    if (hour != s->begun_hour)
        s->begun_count = 0;
    s->begun_hour = hour;
    return s->open_count < OPEN_FINDINGS_MAX && s->begun_count < BEGUN_PER_HOUR * (s->gpu_count + 1);
}

static int finding_episodes_begin(struct store *s, const struct finding *f, const struct gpu *gpu, int64_t gpu_id, int64_t at_ms,
                                  struct error *err)
{
    if (!may_begin(s, at_ms))
        return 0;
    struct open_finding *e = &s->open_findings[s->open_count];
    const struct process_run *run = process_runs_about(s, gpu_id, f->pid);
    *e = (struct open_finding){.gpu_id = gpu_id,
                               .process_id = run ? run->id : 0,
                               .start_key = run ? run->start_key : 0,
                               .pid = f->pid,
                               .code = f->code,
                               .first_ms = at_ms,
                               .last_ms = at_ms};
    confirm(e, f, gpu, at_ms);
    int64_t since_ms = f->since.ms > 0 && f->since.ms < at_ms ? f->since.ms : at_ms;
    int rc = put_begin(s, e, since_ms, err);
    if (rc < 0)
        return rc;
    s->open_count++;
    s->begun_count++;
    return 0;
}

static bool is_over(const struct store *s, const struct open_finding *e, const struct snapshot *snapshot, int64_t at_ms)
{
    int64_t slow_ms = (int64_t)(snapshot->interval_s * 3 * MS_PER_S), gap_ms = e->from_before ? RESUME_MS : GAP_MS;
    if (s->begun_count * 2 > BEGUN_PER_HOUR * (s->gpu_count + 1))
        gap_ms = MAX_OF(gap_ms, (int64_t)HURRIED_GAP_MS);
    /* Also end the episode if the clock was set back by more than the gap: otherwise it would stay open until the clock reaches
     * that time again. */
    return llabs(at_ms - e->last_ms) > MAX_OF(slow_ms, gap_ms) || at_ms < e->first_ms;
}

static int end_missing(struct store *s, const struct snapshot *snapshot, int64_t at_ms, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->open_count;) {
        struct open_finding *e = &s->open_findings[i];
        if (!is_over(s, e, snapshot, at_ms)) {
            i++;
            continue;
        }
        rc = put_state(s, e, true, err);
        *e = s->open_findings[--s->open_count];
    }
    return rc;
}

int findings_write(struct store *s, const struct snapshot *snapshot, int64_t at_ms, struct error *err)
{
    const struct verdict *v = snapshot->verdict;
    if (!v)
        return 0;
    int rc = s->findings_loaded ? 0 : load_open(s, err);
    if (rc == 0) /* first end old episodes: a finding may begin a new one */
        rc = end_missing(s, snapshot, at_ms, err);
    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        if (f->tense == TENSE_WAS) /* its episode has ended */
            continue;
        const struct gpu *gpu = f->gpu_index >= 0 ? snapshot_gpu(snapshot, f->gpu_index) : NULL;
        const struct known_gpu *known = gpu ? known_of(s, f->gpu_index) : NULL;
        int64_t gpu_id = known ? known->id : 0;
        struct open_finding *e = find_open(s, f, gpu_id);
        if (e)
            confirm(e, f, gpu, at_ms);
        else
            rc = finding_episodes_begin(s, f, gpu, gpu_id, at_ms, err);
    }
    return rc;
}

/* The longer an episode lasts, the less often its row is updated. */
static bool is_due(const struct open_finding *e)
{
    int64_t every_ms = MIN_OF(MAX_OF((e->written_ms - e->first_ms) / 4, (int64_t)CONFIRM_MIN_MS), (int64_t)CONFIRM_MAX_MS);
    return e->changed || e->last_ms - e->written_ms >= every_ms;
}

int findings_flush(struct store *s, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->open_count; i++)
        if (is_due(&s->open_findings[i]))
            rc = put_state(s, &s->open_findings[i], false, err);
    return rc;
}

/* ---- reading ---- */

static const char query[] =
    "SELECT f.id, f.gpu_id, g.gpu_index, f.process_id, f.pid, f.code, f.severity, f.severity_now, f.confidence_permille, "
    "f.since_ms, f.first_seen_ms, f.last_seen_ms, f.worst_ms, f.ended, f.headline, f.samples, f.util_sum_permille, f.util_count, "
    "f.power_sum_mw, f.power_count, f.temp_max_mdegc, h.name, p.name, p.user_name, COALESCE(p.container_name, p.container) FROM "
    "finding_episodes f JOIN hosts h ON h.id = f.host_id LEFT JOIN gpus g ON g.id = f.gpu_id LEFT JOIN processes p ON p.id = "
    "f.process_id WHERE f.last_seen_ms >= $1 AND f.first_seen_ms < $2 AND f.id > $3 AND ($4 = '' OR h.name = $4) AND ($5 = 0 OR "
    "f.gpu_id = $5) AND f.severity >= $6 ORDER BY f.id LIMIT $7";

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
                                .gpu_id = db_i64_or(q, 1, 0),
                                .gpu_index = (int)db_i64_or(q, 2, -1),
                                .process_id = db_i64_or(q, 3, 0),
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
                                .temp_max_mdegc = db_reading(q, 20)};
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
    db_bind_numbers(q, 1, page->since_ms, page->until_ms, page->cursor);
    db_bind_text(q, 4, page->host ? page->host : "");
    db_bind_numbers(q, 5, page->gpu_id, page->least, (int64_t)MIN_OF(page->limit, (size_t)INT32_MAX));
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct store_finding f;
        rc = read_finding(q, &f) ? each(user, &f) : 0;
    }
    return MIN_OF(rc, 0);
}
