/* SPDX-License-Identifier: Apache-2.0
 * One table after the other, piece by piece (copy_rows.c), with the SQL that reads and writes its columns in either database.
 *
 * The source is read in one snapshot, so that a minute, the samples below it and the mark that it is not summed up yet agree.
 */
#include "store/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/copy_tables.h"

/* ---- tables ---- */

/* Columns in the order in which they are copied, those of the key before the bar. A letter after a colon is the role: g GPU, h
 * host, p process, s subject, t text, i the row's ID; w: the weight. */
static const struct {
    const char *name, *columns, *moment;
    int parted;
    int64_t unit_ms;
} plain[] = {
    {"processes",
     "first_seen_ms gpu_id:g pid start_key | id:i started_at_ms name:t user_name:t command:t container:t model:t type:t "
     "last_seen_ms ended samples:w memory_peak_bytes memory_sum_bytes memory_count sm_sum_permille sm_count energy_mj "
     "container_name:t job:t title:t parked_mj",
     "first_seen_ms", -1, 1},
    {"facts", "gpu_id:g key:t since_ms | value:t", "since_ms", -1, 1},
    {"process_minutes",
     "minute process_id:p | samples:w memory_max_bytes memory_sum_bytes memory_count sm_sum_permille sm_count energy_mj "
     "limit_code:t "
     "limit_samples generated_tokens prompt_tokens running_sum running_samples parked_mj requests",
     "minute", PARTED_PROCESS_MINUTES, MINUTE_MS},
    {"process_hours",
     "hour process_id:p | samples:w memory_max_bytes memory_sum_bytes memory_count sm_sum_permille sm_count energy_mj "
     "present_minutes busy_minutes held_minutes byte_minutes idle_byte_minutes partial_minutes:t limits:t generated_tokens "
     "prompt_tokens parked_mj requests",
     "hour", PARTED_PROCESS_HOURS, HOUR_MS},
    {"energy", "minute gpu_id:g | energy_mj:w attributed_mj counted", "minute", PARTED_ENERGY, MINUTE_MS},
    {"energy_hours",
     "hour gpu_id:g | energy_mj:w attributed_mj counter_mj watched_ms busy_ms idle_ms idle_mj util_sum_permille util_minutes",
     "hour", PARTED_ENERGY_HOURS, HOUR_MS},
    {"events", "at_ms host_id:h gpu_id:g kind:t severity:t code text:t data:t |", "at_ms", -1, 1},
    {"finding_episodes",
     "first_seen_ms host_id:h gpu_id:g pid code:t | id:i process_id:p severity severity_now confidence_permille since_ms "
     "last_seen_ms ended worst_ms headline:t samples:w util_sum_permille util_count power_sum_mw power_count temp_max_mdegc",
     "first_seen_ms", -1, 1},
    /* Last: a bucket that is marked is summed up from what is there. */
    {"pending", "series level subject:s bucket |", "bucket", -1, 1},
};

/* Processes and facts, then the series, then what refers to processes. */
enum { BEFORE_SERIES = 2, SERIES_TABLES = SERIES_COUNT * LEVEL_COUNT };
_Static_assert(ARRAY_LEN(plain) + SERIES_TABLES == COPY_TABLES, "one entry for each table");

static const char roles[] = {
    [COPY_TEXT] = 't', [COPY_GPU] = 'g', [COPY_HOST] = 'h', [COPY_PROCESS] = 'p', [COPY_SUBJECT] = 's', [COPY_ID] = 'i'};

static struct copy_column *add(struct copy_table *t, bool key, enum copy_role role, bool narrow, struct str name, const char *end)
{
    struct copy_column *c = &t->columns[t->count++];
    *c = (struct copy_column){.role = role, .key = key, .narrow = narrow};
    snprintf(c->name, sizeof c->name, STR_FMT "%s", STR_ARG(name), end);
    t->keys += key;
    return c;
}

static void read_columns(struct copy_table *t, const char *text)
{
    struct str rest = str_from(text), word;
    bool key = true;
    while (str_cut(&rest, ' ', &word)) {
        struct str name = word;
        size_t len = strcspn(word.at, ": ");
        name.len = MIN_OF(len, word.len);
        if (str_is(word, "|")) {
            key = false;
            continue;
        }
        enum copy_role role = COPY_NUMBER;
        char letter = name.len < word.len ? word.at[name.len + 1] : '\0';
        for (size_t i = 1; i < sizeof roles; i++)
            if (roles[i] == letter)
                role = (enum copy_role)i;
        if (letter == 'w')
            t->weight = (int)t->count;
        if (role == COPY_ID)
            t->id = (int)t->count;
        add(t, key, role, false, name, "");
    }
}

static void series_columns(struct copy_table *t, const struct schema *from)
{
    static const char *const parts[] = {"_sum", "_min", "_max", "_count"};
    enum copy_role subject = t->series == SERIES_GPU ? COPY_GPU : COPY_HOST;
    bool raw = t->form == COPY_RAW;
    add(t, true, raw ? COPY_NUMBER : subject, false, str_from(""), "");
    add(t, true, raw ? subject : COPY_NUMBER, false, str_from(""), "");
    if (!raw)
        t->weight = (int)t->count;
    if (!raw || t->series == SERIES_GPU)
        add(t, false, COPY_NUMBER, false, str_from(raw ? "gpu_index" : "samples"), "");
    for (size_t i = 0; i < from->count[t->series]; i++) {
        const struct series_column *c = &from->columns[t->series][i];
        for (size_t part = 0; part < (raw ? 1 : ARRAY_LEN(parts)); part++)
            add(t, false, COPY_NUMBER, !c->wide && (raw || part > 0), str_from(c->name), raw ? "" : parts[part]);
    }
}

static int copy_table_init(struct copy_table *t, size_t which, const struct schema *from, struct error *err)
{
    *t = (struct copy_table){.weight = -1, .id = -1, .parted = -1, .unit_ms = 1};
    t->columns = calloc(4 * SERIES_COLUMNS_MAX + 3, sizeof *t->columns);
    if (!t->columns)
        return error_set(err, -ENOMEM, "out of memory");
    if (which >= BEFORE_SERIES && which < BEFORE_SERIES + SERIES_TABLES) {
        t->level = (enum level)((which - BEFORE_SERIES) / SERIES_COUNT);
        t->series = (enum series)((which - BEFORE_SERIES) % SERIES_COUNT);
        t->name = series_table(t->series, t->level);
        t->form = t->level == LEVEL_RAW ? COPY_RAW : COPY_BUCKET;
        t->parted = (int)parted_of(t->series, t->level);
        t->unit_ms = level_ms(t->level);
        series_columns(t, from);
        return 0;
    }
    size_t at = which < BEFORE_SERIES ? which : which - SERIES_TABLES;
    t->name = plain[at].name;
    t->moment = plain[at].moment;
    t->parted = plain[at].parted;
    t->unit_ms = plain[at].unit_ms;
    read_columns(t, plain[at].columns);
    return 0;
}

static void copy_table_done(struct copy_table *t)
{
    free(t->columns);
}

bool copy_packs(const struct copy_table *t, enum db_kind kind)
{
    return t->form == COPY_BUCKET || (t->form == COPY_RAW && kind == DB_SQLITE);
}

static void write_where(const struct copy_table *t, enum db_kind kind, const struct copy_scope *scope, struct buf *out)
{
    bool gpus = t->form == COPY_PLAIN ? false : t->series == SERIES_GPU;
    const char *list = gpus ? scope->gpus.at : scope->hosts.at;
    if (t->form == COPY_RAW) {
        buf_printf(out, " FROM %s WHERE %s AND %s IN (%s)", t->name, raw_words(kind, t->series)->span,
                   raw_words(kind, t->series)->subject, list);
        return;
    }
    if (t->form == COPY_BUCKET) {
        buf_printf(out, " FROM %s WHERE id >= $1 AND id < $2%s", t->name, parts_between(kind, t->level));
        return;
    }
    buf_printf(out, " FROM %s WHERE %s >= $1 AND %s < $2", t->name, t->moment, t->moment);
    bool marks = false, host = false, process = false, gpu = false;
    for (size_t i = 0; i < t->count; i++) {
        marks |= t->columns[i].role == COPY_SUBJECT;
        host |= t->columns[i].role == COPY_HOST;
        process |= t->columns[i].role == COPY_PROCESS;
        gpu |= t->columns[i].role == COPY_GPU;
    }
    if (marks)
        buf_printf(out, " AND ((series = 0 AND subject IN (%s)) OR (series <> 0 AND subject IN (%s)))", scope->gpus.at,
                   scope->hosts.at);
    else if (host)
        buf_printf(out, " AND host_id IN (%s)", scope->hosts.at);
    else if (gpu)
        buf_printf(out, " AND gpu_id IN (%s)", scope->gpus.at);
    else if (process)
        buf_printf(out, " AND process_id IN (SELECT id FROM processes WHERE gpu_id IN (%s))", scope->gpus.at);
}

/* Rows from moment $1, before $2. With COPY_BUCKET these are keys. */
static void copy_select_sql(const struct copy_table *t, enum db_kind kind, const struct copy_scope *scope, struct buf *out)
{
    const struct raw_words *words = raw_words(kind, t->series);
    buf_text(out, "SELECT ");
    for (size_t i = 0; i < t->count; i++) {
        const char *name = t->columns[i].name;
        if (t->form == COPY_RAW && i < 2)
            name = i == 0 ? words->ms : words->subject;
        if (t->form == COPY_BUCKET && i < 2)
            name = i == 0 ? "(id >> 32)" : "(id & 4294967295)";
        buf_printf(out, "%s%s", i ? ", " : "", name);
    }
    write_where(t, kind, scope, out);
}

/* The moment, or key, of the row after the next `rows`, in the same range. */
static void copy_ahead_sql(const struct copy_table *t, enum db_kind kind, const struct copy_scope *scope, size_t rows,
                           struct buf *out)
{
    const struct raw_words *words = raw_words(kind, t->series);
    buf_printf(out, "SELECT %s", t->form == COPY_RAW ? words->ms : t->form == COPY_BUCKET ? "id" : t->moment);
    write_where(t, kind, scope, out);
    buf_printf(out, " ORDER BY %s LIMIT 1 OFFSET %zu",
               t->form == COPY_RAW      ? words->order
               : t->form == COPY_BUCKET ? "id"
                                        : t->moment,
               rows);
}

/* The name of the n-th parameter's column. */
static const char *stored_name(const struct copy_table *t, enum db_kind kind, size_t i)
{
    if (t->form == COPY_PLAIN || i > 1)
        return t->columns[i].name;
    return i == 0 ? "recorded_at" : raw_words(kind, t->series)->subject;
}

/* Parameters in the order of the columns; where copy_packs, the first two are one, their key. */
static void copy_insert_sql(const struct copy_table *t, enum db_kind kind, struct buf *out)
{
    bool packs = copy_packs(t, kind);
    size_t first = packs ? 2 : 0, parameter = packs ? 1 : 0;
    buf_printf(out, "INSERT INTO %s (%s", t->name, packs ? "id" : "");
    for (size_t i = first; i < t->count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", stored_name(t, kind, i));
    buf_printf(out, ") VALUES (%s", packs ? "$1" : "");
    for (size_t i = first; i < t->count; i++) {
        bool time = t->form == COPY_RAW && i == 0;
        buf_printf(out, time ? "%sto_timestamp(CAST($%zu AS BIGINT) / 1000.0)" : "%s$%zu", i ? ", " : "", ++parameter);
    }
    buf_char(out, ')');
}

/* Parameters: the columns beside the key, but for an ID, in their order; then the row's ID where it has one, else its key as in
 * copy_insert_sql(). */
static void copy_update_sql(const struct copy_table *t, enum db_kind kind, struct buf *out)
{
    size_t parameter = 0, set = 0;
    buf_printf(out, "UPDATE %s SET ", t->name);
    for (size_t i = t->keys; i < t->count; i++)
        if (t->columns[i].role != COPY_ID)
            buf_printf(out, "%s%s = $%zu", set++ ? ", " : "", t->columns[i].name, ++parameter);
    buf_text(out, " WHERE ");
    if (t->id >= 0 || copy_packs(t, kind)) {
        buf_printf(out, "id = $%zu", ++parameter);
        return;
    }
    for (size_t i = 0; i < t->keys; i++) {
        bool time = t->form == COPY_RAW && i == 0;
        buf_printf(out, time ? "%s%s = to_timestamp(CAST($%zu AS BIGINT) / 1000.0)" : "%s%s = $%zu", i ? " AND " : "",
                   stored_name(t, kind, i), ++parameter);
    }
}

/* ---- copying ---- */

enum {
    CELLS_A_PIECE = 300000, /* 24 bytes each, and their texts */
    ROWS_A_PIECE = 15000,
};
#define BUCKET_END 0x7fffffff

static int find_ahead(struct copier *c, int64_t from, int64_t end, int64_t *ret, struct error *err)
{
    db_bind_numbers(c->ahead, 1, from, end);
    int rc = db_step(c->ahead, err);
    if (rc < 0)
        return rc;
    *ret = rc == 1 ? db_i64(c->ahead, 0) : end;
    if (rc == 1)
        db_reset(c->ahead);
    *ret = *ret > from ? *ret : from + 1; /* more rows of one moment than a piece should have */
    return 0;
}

static void report(struct copier *c, int64_t at, int64_t done_subjects, int64_t subjects)
{
    int64_t now = clock_wall(c->options->env->clock).ms / c->table.unit_ms;
    if (subjects)
        c->counts->permille = 1000 * done_subjects / subjects;
    else if (c->first && now > c->first)
        c->counts->permille = 1000 * MAX_OF((int64_t)0, MIN_OF(at, now) - c->first) / (now - c->first);
    if (c->options->progress)
        c->options->progress(c->options->user, c->counts);
}

static int copy_range(struct copier *c, int64_t from, int64_t end, int64_t subject, int64_t subjects, struct error *err)
{
    int rc = 0;
    for (int64_t to = end; rc == 0 && from < end; from = to) {
        if (c->options->cancel && *c->options->cancel)
            return error_set(err, -ECANCELED, "it was stopped");
        rc = find_ahead(c, from, end, &to, err);
        if (rc == 0)
            rc = copy_piece(c, from, to, err);
        report(c, MIN_OF(to, end - 1), subject, subjects);
    }
    return rc;
}

static int prepare_all(struct copier *c, struct error *err)
{
    struct copy_table *t = &c->table;
    size_t rows = MIN_OF((size_t)CELLS_A_PIECE / (t->count + 1), (size_t)ROWS_A_PIECE);
    enum db_kind from = c->from->db->ops->kind, to = c->to->db->ops->kind;
    AUTO_BUF struct buf ahead = BUF(COPY_SQL_MAX), read = BUF(COPY_SQL_MAX), read_to = BUF(COPY_SQL_MAX),
                        insert = BUF(COPY_SQL_MAX), update = BUF(COPY_SQL_MAX);
    copy_ahead_sql(t, from, &c->from_scope, rows, &ahead);
    copy_select_sql(t, from, &c->from_scope, &read);
    copy_select_sql(t, to, &c->to_scope, &read_to);
    copy_insert_sql(t, to, &insert);
    copy_update_sql(t, to, &update);
    int rc = db_prepare_text(c->from->db, &ahead, &c->ahead, err);
    if (rc == 0)
        rc = db_prepare_text(c->from->db, &read, &c->read, err);
    if (rc == 0)
        rc = db_prepare_text(c->to->db, &read_to, &c->read_to, err);
    if (rc == 0)
        rc = db_prepare_text(c->to->db, &insert, &c->insert, err);
    if (rc == 0 && t->keys < t->count)
        rc = db_prepare_text(c->to->db, &update, &c->update, err);
    return rc;
}

static void finish_all(struct copier *c)
{
    struct db_statement **const all[] = {&c->ahead, &c->read, &c->read_to, &c->insert, &c->update};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        db_finish(all[i]);
    copy_table_done(&c->table);
}

static int copy_table(struct copier *c, size_t which, struct error *err)
{
    struct copy_table *t = &c->table;
    int rc = copy_table_init(t, which, &c->from->schema, err);
    c->counts->table = which;
    c->counts->permille = 0;
    c->count = &c->counts->tables[which];
    c->count->name = t->name;
    c->first = 0;
    if (rc == 0)
        rc = prepare_all(c, err);
    /* Skip what the destination has already deleted as too old: it would delete it again. */
    int64_t begin_ms = t->form == COPY_PLAIN ? 0 : c->to->horizon_ms[t->series][t->level];
    const struct id_map *subjects = t->series == SERIES_GPU ? &c->gpus : &c->hosts;
    if (rc == 0 && t->form != COPY_BUCKET)
        rc = copy_range(c, begin_ms, t->form == COPY_RAW ? LATEST_MS : INT64_MAX, 0, 0, err);
    for (size_t i = 0; rc == 0 && t->form == COPY_BUCKET && i < subjects->count; i++) {
        c->subject = &subjects->list[i];
        int64_t base = bucket_key(c->subject->from, 0);
        rc = copy_range(c, base + begin_ms / t->unit_ms, base + BUCKET_END, (int64_t)i, (int64_t)subjects->count, err);
    }
    finish_all(c);
    id_map_sort(&c->processes);
    return rc < 0 ? error_prefix(err, "%s", c->count->name) : 0;
}

static int begin_reading(struct store *from, struct error *err)
{
    from->db->takes_time = true;
    return db_exec(from->db,
                   from->db->ops->kind == DB_SQLITE
                       ? "BEGIN"
                       : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; SET LOCAL jit = off",
                   err);
}

static int open_both(struct copier *c, struct error *err)
{
    const struct copy_options *o = c->options;
    const struct store_options options = {.env = o->env, .url = o->to, .host = "", .limits = store_default_limits};
    int rc = store_open_read_only(o->env, o->from, &c->from, err);
    if (rc < 0)
        return rc;
    store_set_cancel(c->from, o->cancel, (struct mono){0});
    rc = begin_reading(c->from, err);
    if (rc == 0)
        rc = store_open(&options, &c->to, err);
    if (rc == 0 && c->from->inode && c->from->inode == c->to->inode && c->from->device == c->to->device)
        return error_set(err, -EINVAL, "both are the same database");
    return rc;
}

int store_copy(const struct copy_options *options, struct copy_counts *ret, struct error *err)
{
    AUTO_FREE struct copier *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = (struct copy_counts){0};
    c->options = options;
    c->counts = ret;
    c->from_scope = c->to_scope = (struct copy_scope){BUF(COPY_SQL_MAX), BUF(COPY_SQL_MAX)};
    piece_init(&c->ours);
    piece_init(&c->theirs);
    int rc = open_both(c, err);
    if (rc == 0)
        rc = copy_prepare_destination(c, err);
    if (rc == 0 && (c->from_scope.gpus.failed || c->to_scope.gpus.failed))
        rc = error_set(err, -ENOMEM, "out of memory");
    ret->hosts = (int64_t)c->hosts.count;
    ret->gpus = (int64_t)c->gpus.count;
    for (size_t i = 0; rc == 0 && i < COPY_TABLES; i++)
        rc = copy_table(c, i, err);
    piece_done(&c->ours);
    piece_done(&c->theirs);
    struct buf *const bufs[] = {&c->from_scope.hosts, &c->from_scope.gpus, &c->to_scope.hosts, &c->to_scope.gpus};
    for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
        buf_done(bufs[i]);
    free(c->hosts.list);
    free(c->gpus.list);
    free(c->processes.list);
    store_close(c->from);
    store_close(c->to);
    return rc;
}

int64_t copy_rows(const struct copy_counts *counts)
{
    int64_t sum = 0;
    for (size_t i = 0; i < COPY_TABLES; i++)
        sum += counts->tables[i].rows;
    return sum;
}

int64_t copy_written(const struct copy_counts *counts)
{
    int64_t sum = 0;
    for (size_t i = 0; i < COPY_TABLES; i++)
        sum += counts->tables[i].written;
    return sum;
}
