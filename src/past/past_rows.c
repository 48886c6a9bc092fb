/* SPDX-License-Identifier: Apache-2.0
 * Cells and lines; processes and events.
 */
#include "past/history_answer.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/json/told.h"
#include "insight/facts/levels.h"
#include "insight/verdict/health.h"
#include "store/query.h"

/* ---- alerts and changes of health that repeat a finding's row ---- */

enum {
    TOLD_MAX = 4096,        /* episodes in a page; the next query continues after them */
    NEAR_MS = 60000,        /* an open row may be that old, and health recovers a moment after the finding is gone */
    LOOK_BACK_MS = 3600000, /* an alert is resolved at most this long after its finding is gone */
    CURSOR_PLACES = 20,     /* bits of a cursor that are not its time */
};

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

/* The episodes that begin within `page` and may cover events after its cursor. */
static int told_findings_read(struct store *s, const struct store_event_page *page, struct told_findings *ret, struct error *err)
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

static void told_findings_done(struct told_findings *t)
{
    free(t->list);
}

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

/* ---- cells and lines ---- */

static struct json_writer *json_of(struct row_writer *r)
{
    return r->format == HISTORY_JSON ? r->j : &r->line;
}

static void csv_cell(struct row_writer *r, struct str cell, bool text)
{
    if (!r->first)
        buf_char(r->out, ',');
    r->first = false;
    buf_csv(r->out, cell, text);
}

/* True if only the key had to be written. */
static bool key_only(struct row_writer *r, const char *key)
{
    if (r->format != HISTORY_CSV)
        jw_key(json_of(r), key);
    else if (r->header)
        csv_cell(r, str_from(key), false);
    return r->header;
}

void row_begin(struct row_writer *r)
{
    r->first = true;
    r->line = JSON_WRITER(r->out);
    if (r->format != HISTORY_CSV)
        jw_object(json_of(r));
}

void row_end(struct row_writer *r)
{
    if (r->format != HISTORY_CSV)
        jw_end(json_of(r));
    if (r->format != HISTORY_JSON)
        buf_char(r->out, '\n');
}

void row_text(struct row_writer *r, const char *key, const char *text)
{
    if (key_only(r, key))
        return;
    if (r->format == HISTORY_CSV)
        csv_cell(r, str_from(text ? text : ""), true);
    else
        jw_text(json_of(r), text && text[0] ? text : NULL);
}

void row_number(struct row_writer *r, const char *key, double value)
{
    if (key_only(r, key))
        return;
    if (r->format != HISTORY_CSV) {
        jw_number(json_of(r), value);
        return;
    }
    AUTO_BUF struct buf text = BUF(64);
    if (isfinite(value))
        jw_number(JSON_TO(&text), value);
    csv_cell(r, buf_view(&text), false);
}

void row_int(struct row_writer *r, const char *key, int64_t value)
{
    if (key_only(r, key))
        return;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    if (r->format == HISTORY_CSV)
        csv_cell(r, str_from(text), false);
    else
        jw_int(json_of(r), value);
}

void row_bool(struct row_writer *r, const char *key, bool value)
{
    if (key_only(r, key))
        return;
    if (r->format == HISTORY_CSV)
        csv_cell(r, str_from(value ? "true" : "false"), false);
    else
        jw_bool(json_of(r), value);
}

void row_time(struct row_writer *r, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format(at, text);
    row_text(r, key, at.ms > 0 ? text : NULL);
}

/* A whole row, of the form of an answer. */
static void row_write(struct row_writer *r, const struct answer *a, const void *record)
{
    r->line = JSON_WRITER(r->out);
    if (r->format == HISTORY_CSV)
        answer_csv(r->out, a, r->header ? NULL : record, NULL);
    else
        answer_write(json_of(r), a, record, NULL);
    if (r->format == HISTORY_JSONL)
        buf_char(r->out, '\n');
}

/* ---- processes ---- */

struct told_limit_share {
    enum limit limit;
    double share;
};

ANSWER_MAKER(make_limit_words, struct told_limit_share, word, limit_words(of->limit));

ANSWER_TABLE(share_answer, struct told_limit_share)
{
    FIELD(NAME, "code", limit, NULL, NAMES(limit_codes), COUNTS);
    MADE(WORD, "words", make_limit_words, NULL);
    FIELD(NUMBER, "share_percent", share, "Of its minutes that were judged", SCALE(100), TENTHS, COUNTS);
}

struct told_run {
    const struct store_process_run *run;
    bool limits_known;
    size_t share_count;
    struct told_limit_share shares[LIMIT_COUNT];
};

static int by_share(const void *a, const void *b)
{
    const struct told_limit_share *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share ? 1 : -1) : (int)x->limit - (int)y->limit;
}

static struct told_run told_run(const struct store_process_run *run)
{
    struct told_run t = {.run = run, .limits_known = run->limits_known};
    double all = 0;
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        all += run->limit_minutes[i];
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        if (run->limit_minutes[i])
            t.shares[t.share_count++] = (struct told_limit_share){(enum limit)i, run->limit_minutes[i] / all};
    qsort(t.shares, t.share_count, sizeof t.shares[0], by_share);
    return t;
}

ANSWER_NAMES(process_types, enum process_type, process_type_name, PROCESS_COMPUTE, PROCESS_BOTH);

SHARED_ANSWER_TABLE(stored_process_answer, struct process)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(TEXT, "command", command, "Masked", OR_NULL);
    FIELD(TEXT, "container", container, NULL, OR_NULL);
    FIELD(TEXT, "model", model, NULL, OR_NULL);
    FIELD(NAME, "type", type, NULL, NAMES(process_types), OR_NULL);
    FIELD(MOMENT, "started_at", started_at, NULL, OR_NULL);
}

static bool make_run_name(const struct answer_at *at, union answer_value *ret)
{
    process_words(&((const struct store_process_run *)at->record)->process, SHORT_NAME, ret->text);
    return ret->text[0];
}

static bool make_held_idle(const struct answer_at *at, union answer_value *ret)
{
    const struct store_process_run *run = at->record;
    ret->yes =
        run_was_held_idle(run->process.type, run->last_seen.ms - run->first_seen.ms, run->sm_mean_permille, run->memory_peak_bytes);
    return true;
}

ANSWER_TABLE(run_answer, struct store_process_run)
{
    FIELD(INT, "life", id, "Number of this life of a process on a GPU");
    FIELD(TEXT, "host", host, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(KEYS, NULL, process, NULL, FIELDS(stored_process_answer));
    FIELD(MOMENT, "first_seen", first_seen, NULL);
    FIELD(MOMENT, "last_seen", last_seen, NULL);
    FIELD(BOOL, "ended", ended, NULL);
    FIELD(OPTION, "memory_peak_mb", memory_peak_bytes, NULL, SCALE(1.0 / (1 << 20)));
    FIELD(OPTION, "memory_mean_mb", memory_mean_bytes, NULL, SCALE(1.0 / (1 << 20)));
    FIELD(OPTION, "utilization_mean_percent", sm_mean_permille, NULL, SCALE(0.1));
    FIELD(AMOUNT, "energy_joules", energy_mj, NULL, SCALE(1e-3));
    FIELD(OPTION, "parked_joules", parked_mj, PARKED_ABOUT, SCALE(1e-3));
    MADE(TEXT, "short_name", make_run_name, "As in Process", OR_NULL);
    MADE(BOOL, "held_idle", make_held_idle, "It held memory for half an hour or more and did nothing");
    FIELD(BOOL, "simulated", simulated, NULL);
}

SHARED_ANSWER_TABLE(life_answer, struct told_run, .name = "ProcessLife", .about = "One life of a process on a GPU")
{
    VIA(KEYS, NULL, run, run_answer, NULL);
    OBJECTS("limits", shares, share_count, share_answer,
            "What limited it in that time, the longest first; null where sums are of whole lives", PRESENT(limits_known));
}

static void write_run(struct row_writer *r, const struct store_process_run *run)
{
    struct told_run t = told_run(run);
    row_write(r, &life_answer, &t);
}

static int written(struct history_list *list)
{
    list->count++;
    if (list->rows->out->failed)
        return -ENOMEM;
    list->more = list->bytes_max && list->rows->out->len >= list->bytes_max;
    return list->more;
}

static int add_run(void *user, const struct store_process_run *run)
{
    struct history_list *list = user;
    if (list->count == list->limit) {
        list->more = true;
        return 1;
    }
    write_run(list->rows, run);
    list->cursor = run->id;
    return written(list);
}

bool history_list_within(struct store *s, const struct history_question *q)
{
    return q->since_ms >= store_horizon(s, SERIES_GPU, LEVEL_MINUTE);
}

/* ---- events ---- */

struct told_event {
    const struct store_event_row *row;
    struct str data;
};

ANSWER_TABLE(row_answer, struct store_event_row)
{
    FIELD(INT, "id", id, NULL);
    FIELD(MOMENT, "at", at, NULL);
    FIELD(WORD, "host", host, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL, NONE(-1));
    FIELD(WORD, "kind", kind, NULL);
    FIELD(WORD, "severity", severity, NULL);
    FIELD(INT, "code", code, NULL, OR_NULL);
    FIELD(WORD, "text", text, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(past_event_answer, struct told_event, .name = "PastEvent", .about = "Something that happened")
{
    VIA(KEYS, NULL, row, row_answer, NULL);
    FIELD(ANY, "data", data, "More, depending on the kind; null: nothing");
}

static void write_event(struct row_writer *r, const struct store_event_row *e)
{
    /* We wrote this as JSON, but others may have changed it. */
    json_t *data = e->data ? json_loads(e->data, JSON_DECODE_ANY, NULL) : NULL;
    if (!data && e->data)
        data = json_string(e->data);
    AUTO_FREE char *text = data ? json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    row_write(r, &past_event_answer, &(struct told_event){e, str_from(text ? text : "")});
    json_decref(data);
}

static int add_event(void *user, const struct store_event_row *event)
{
    struct history_list *list = user;
    list->looked++;
    if (told_already(&list->told, event)) {
        list->cursor = event->cursor;
        return 0;
    }
    if (list->count == list->limit) {
        list->more = true;
        return 1;
    }
    write_event(list->rows, event);
    list->cursor = event->cursor;
    return written(list);
}

/* Reads more rows if some were left out. */
static int write_events(struct store *s, struct history_list *list, struct error *err)
{
    const struct history_question *q = list->question;
    struct store_event_page page = {.host = list->host,
                                    .kind = q->event[0] ? q->event : NULL,
                                    .gpu_id = list->gpu_id,
                                    .since_ms = q->since_ms,
                                    .until_ms = q->until_ms,
                                    .limit = list->limit + 1};
    int rc;
    do {
        page.cursor = list->cursor;
        list->looked = 0;
        rc = page.kind ? 0 : told_findings_read(s, &page, &list->told, err);
        if (rc == 0)
            rc = store_events(s, &page, add_event, list, err);
        told_findings_done(&list->told);
        list->told = (struct told_findings){0};
    } while (rc == 0 && !list->more && list->looked == page.limit);
    return rc;
}

/* ---- both ---- */

void history_list_header(const struct history_question *q, struct row_writer *rows)
{
    rows->header = true;
    if (q->kind == HISTORY_PROCESSES)
        write_run(rows, &(struct store_process_run){0});
    else
        write_event(rows, &(struct store_event_row){.gpu_index = -1});
    rows->header = false;
}

int history_list_write(struct store *s, struct history_list *list, struct error *err)
{
    const struct history_question *q = list->question;
    struct row_writer document = {.format = HISTORY_JSON, .j = list->j, .out = list->j ? list->j->out : NULL};
    if (!list->rows)
        list->rows = &document;
    int rc;
    if (q->kind == HISTORY_PROCESSES) {
        struct store_span span = history_runs_of(q, list->host, list->gpu_id);
        span.within = history_list_within(s, q);
        span.limits = true;
        span.in_order = !q->by_energy;
        span.cursor = list->cursor;
        span.limit = list->limit + 1;
        rc = store_process_runs(s, &span, add_run, list, err);
    } else {
        rc = write_events(s, list, err);
    }
    if (list->rows == &document)
        list->rows = NULL;
    return rc;
}
