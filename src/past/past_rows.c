/* SPDX-License-Identifier: Apache-2.0
 * Cells and lines; processes and events.
 */
#include "past/past_rows.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"

/* ---- cells ---- */

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

static void row_null(struct row_writer *r, const char *key)
{
    row_text(r, key, NULL);
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
    struct json_writer j = JSON_WRITER(&text);
    if (isfinite(value))
        jw_number(&j, value);
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

static void row_reading(struct row_writer *r, const char *key, struct reading value, double scale)
{
    row_number(r, key, value.state == READING_OK ? (double)value.value * scale : NAN);
}

/* ---- processes ---- */

/* The longest remaining limit; LIMIT_UNJUDGED: none is left. */
static int next_limit(const struct store_process_run *run, const bool *done)
{
    int most = LIMIT_UNJUDGED;
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        if (!done[i] && run->limit_minutes[i] > (most ? run->limit_minutes[most] : 0))
            most = i;
    return most;
}

/* Its limits, longest first, each with its share of the judged minutes. */
static void write_limits(struct row_writer *r, const struct store_process_run *run)
{
    AUTO_BUF struct buf cell = BUF(1024);
    struct json_writer *j = json_of(r);
    bool done[LIMIT_COUNT] = {true};
    double all = 0;
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        all += run->limit_minutes[i];
    if (r->header || !run->limits_known) {
        row_null(r, "limits");
        return;
    }
    if (r->format != HISTORY_CSV)
        jw_key_array(j, "limits");
    for (int most; (most = next_limit(run, done)) > LIMIT_UNJUDGED; done[most] = true) {
        double share = round(1000 * run->limit_minutes[most] / all) / 10;
        buf_printf(&cell, "%s%s:%g", cell.len ? " " : "", limit_name((enum limit)most), share);
        if (r->format == HISTORY_CSV)
            continue;
        jw_object(j);
        jw_key_text(j, "code", limit_name((enum limit)most));
        jw_key_text(j, "words", limit_words((enum limit)most));
        jw_key_number(j, "share_percent", share);
        jw_end(j);
    }
    if (r->format != HISTORY_CSV)
        jw_end(j);
    else
        row_text(r, "limits", buf_view(&cell).len ? cell.at : "");
}

static void write_run(struct row_writer *r, const struct store_process_run *run)
{
    const struct process *p = &run->process;
    char words[PROCESS_WORDS];
    row_begin(r);
    row_int(r, "life", run->id);
    row_text(r, "host", run->host);
    row_int(r, "gpu_index", run->gpu_index);
    row_text(r, "gpu_uuid", run->gpu_uuid);
    row_int(r, "pid", p->pid);
    row_text(r, "name", p->name);
    row_text(r, "user", p->user);
    row_text(r, "command", p->command);
    row_text(r, "container", p->container);
    row_text(r, "model", p->model);
    row_text(r, "type", process_type_name(p->type));
    row_time(r, "started_at", p->started_at);
    row_time(r, "first_seen", run->first_seen);
    row_time(r, "last_seen", run->last_seen);
    row_bool(r, "ended", run->ended);
    row_reading(r, "memory_peak_mb", run->memory_peak_bytes, 1.0 / (1 << 20));
    row_reading(r, "memory_mean_mb", run->memory_mean_bytes, 1.0 / (1 << 20));
    row_reading(r, "utilization_mean_percent", run->sm_mean_permille, 0.1);
    row_number(r, "energy_joules", (double)run->energy_mj * 1e-3);
    row_text(r, "short_name", process_words(p, SHORT_NAME, words));
    row_bool(r, "held_idle",
             run_was_held_idle(p->type, run->last_seen.ms - run->first_seen.ms, run->sm_mean_permille, run->memory_peak_bytes));
    row_bool(r, "simulated", run->simulated);
    write_limits(r, run);
    row_end(r);
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

static void write_event(struct row_writer *r, const struct store_event_row *e)
{
    row_begin(r);
    row_int(r, "id", e->id);
    row_time(r, "at", e->at);
    row_text(r, "host", e->host);
    if (e->gpu_index >= 0)
        row_int(r, "gpu_index", e->gpu_index);
    else
        row_null(r, "gpu_index");
    row_text(r, "kind", e->kind);
    row_text(r, "severity", e->severity);
    if (e->code)
        row_int(r, "code", e->code);
    else
        row_null(r, "code");
    row_text(r, "text", e->text);
    /* We wrote this as JSON, but others may have changed it. */
    json_t *data = r->format != HISTORY_CSV && e->data ? json_loads(e->data, JSON_DECODE_ANY, NULL) : NULL;
    if (data) {
        char *line = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);
        jw_key(json_of(r), "data");
        jw_raw(json_of(r), str_from(line ? line : "null"));
        free(line);
        json_decref(data);
    } else {
        row_text(r, "data", e->data);
    }
    row_end(r);
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
        const struct store_span span = {.host = list->host,
                                        .gpu_id = list->gpu_id,
                                        .since_ms = q->since_ms,
                                        .until_ms = q->until_ms,
                                        .within = history_list_within(s, q),
                                        .limits = true,
                                        .in_order = !q->by_energy,
                                        .cursor = list->cursor,
                                        .run = q->run,
                                        .pid = q->pid,
                                        .name = q->process[0] ? q->process : NULL,
                                        .limit = list->limit + 1};
        rc = store_process_runs(s, &span, add_run, list, err);
    } else {
        rc = write_events(s, list, err);
    }
    if (list->rows == &document)
        list->rows = NULL;
    return rc;
}
