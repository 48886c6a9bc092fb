/* SPDX-License-Identifier: Apache-2.0
 * One piece of a table after the other: its rows are read, in the numbers of the destination, beside those that it has; what is
 * missing or less complete is written, and both are compared again.
 *
 * The source is read in one snapshot, so that a minute, the samples below it and the mark that it is not summed up yet agree.
 */
#include "store/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "store/copy_tables.h"

enum {
    CELLS_A_PIECE = 300000, /* 24 bytes each, and their texts */
    ROWS_A_PIECE = 15000,
    TRIES = 4, /* another writer may have been faster */
    SQL_MAX = 1 << 18,
};
#define TEXTS_MAX ((size_t)256 << 20)
#define BUCKET_END 0x7fffffff

struct copied_cell {
    int64_t number;
    const char *text; /* NULL: a number */
    bool there;
};

/* Rows of one side. A row begins with a cell that has the length of its key, for sorting. */
struct copied_rows {
    struct copied_cell *cells;
    struct copied_cell **rows, **pairs; /* pairs: the row with the same key on the other side, or NULL */
    size_t count, capacity;             /* of rows; of cells */
    struct arena texts;
};

struct id_pair {
    int64_t from, to;
};

struct id_map {
    struct id_pair *list;
    size_t count, capacity;
};

struct copier {
    const struct copy_options *options;
    struct store *from, *to;
    struct copy_scope from_scope, to_scope;
    struct id_map hosts, gpus, processes;
    struct copy_table table;
    struct db_statement *ahead, *read, *read_to, *insert, *update;
    struct copied_rows ours, theirs; /* of the source, of the destination */
    struct copy_counts *counts;
    struct copy_table_count *count;
    const struct id_pair *subject; /* of the buckets that are copied */
    int64_t first;                 /* moment of the table */
};

/* ---- numbers of GPUs, hosts and processes ---- */

static int by_source(const void *a, const void *b)
{
    const struct id_pair *one = a, *other = b;
    return (one->from > other->from) - (one->from < other->from);
}

static int map_add(struct id_map *m, int64_t from, int64_t to, struct error *err)
{
    if (!ROOM_FOR_ONE(m->list, m->count, m->capacity, 64))
        return error_set(err, -ENOMEM, "out of memory");
    m->list[m->count++] = (struct id_pair){from, to};
    return 0;
}

static bool map_find(const struct id_map *m, int64_t *id)
{
    const struct id_pair key = {*id, 0}, *found = m->count ? bsearch(&key, m->list, m->count, sizeof key, by_source) : NULL;
    if (found)
        *id = found->to;
    return found != NULL;
}

static void map_sort(struct id_map *m)
{
    if (m->count)
        qsort(m->list, m->count, sizeof *m->list, by_source);
}

static void list_ids(const struct id_map *m, bool from, struct buf *out)
{
    buf_text(out, m->count ? "" : "-1");
    for (size_t i = 0; i < m->count; i++)
        buf_printf(out, "%s%lld", i ? ", " : "", (long long)(from ? m->list[i].from : m->list[i].to));
}

/* Puts the ID of a host or GPU that the destination knows into *ret, else that of a new one. */
static int find_or_insert(struct store *to, struct db_statement *find, struct db_statement *insert, int64_t *ret, struct error *err)
{
    int rc = db_step(find, err);
    struct db_statement *q = rc == 1 ? find : insert;
    if (rc == 0)
        rc = db_step(insert, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave it no number");
    *ret = db_i64(q, 0);
    db_reset(q);
    int64_t max = subject_max(to->db->ops->kind);
    return *ret <= max ? 0
                       : error_set(err, -EOVERFLOW, "more than %lld hosts or GPUs in one database: copy one host with --host",
                                   (long long)max);
}

static int note_seen(struct store *to, const char *table, int64_t id, int64_t first, int64_t last, struct error *err)
{
    return db_execf(to->db, err,
                    "UPDATE %s SET first_seen_ms = CASE WHEN first_seen_ms < %lld THEN first_seen_ms ELSE %lld END, last_seen_ms = "
                    "CASE WHEN last_seen_ms > %lld THEN last_seen_ms ELSE %lld END WHERE id = %lld",
                    table, (long long)first, (long long)first, (long long)last, (long long)last, (long long)id);
}

/* What a host keeps for how long, and what it knows of the time, unless it has said so there. */
static int copy_retention(struct copier *c, int64_t from, int64_t to, struct error *err)
{
    static const char columns[] =
        "raw_ms, minute_ms, hour_ms, process_ms, event_ms, now_ms, believed_ms, claim_ms, held_ms, alive_ms";
    AUTO_STATEMENT struct db_statement *q = NULL;
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT %s, ahead_ms FROM retention WHERE host_id = %lld", columns, (long long)from);
    int rc = db_prepare(c->from->db, sql, &q, err);
    if (rc == 0)
        rc = db_step(q, err);
    if (rc != 1)
        return rc;
    AUTO_BUF struct buf values = BUF(1024);
    for (int i = 0; i < 11; i++)
        buf_printf(&values, ", %lld", (long long)(db_is_null(q, i) ? 0 : db_i64(q, i)));
    db_reset(q);
    return db_execf(c->to->db, err,
                    "INSERT INTO retention (host_id, %s, ahead_ms) VALUES (%lld%s) ON CONFLICT (host_id) DO NOTHING", columns,
                    (long long)to, values.at);
}

static int copy_hosts(struct copier *c, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    const char *host = c->options->host;
    int rc = db_prepare(c->from->db,
                        host ? "SELECT id, name, first_seen_ms, last_seen_ms FROM hosts WHERE name = $1"
                             : "SELECT id, name, first_seen_ms, last_seen_ms FROM hosts ORDER BY id",
                        &q, err);
    if (rc == 0 && host)
        db_bind_text(q, 1, host);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct db_statement *find = store_statement(c->to, ST_HOST_FIND, err);
        struct db_statement *insert = find ? store_statement(c->to, ST_HOST_INSERT, err) : NULL;
        char name[HOST_NAME_SIZE];
        int64_t from = db_i64(q, 0), to;
        if (!insert)
            return err->code;
        str_copy(name, sizeof name, db_text(q, 1));
        db_bind_text(find, 1, name);
        db_bind_text(insert, 1, name);
        db_bind_i64(insert, 2, db_i64(q, 2));
        rc = find_or_insert(c->to, find, insert, &to, err);
        if (rc == 0)
            rc = note_seen(c->to, "hosts", to, db_i64(q, 2), db_i64(q, 3), err);
        if (rc == 0)
            rc = copy_retention(c, from, to, err);
        if (rc == 0)
            rc = map_add(&c->hosts, from, to, err);
    }
    if (rc == 0 && host && !c->hosts.count)
        return error_set(err, -ENODEV, "there is no host '%s' in it", host);
    map_sort(&c->hosts);
    list_ids(&c->hosts, true, &c->from_scope.hosts);
    list_ids(&c->hosts, false, &c->to_scope.hosts);
    return rc;
}

static int copy_gpu(struct copier *c, struct db_statement *q, struct error *err)
{
    struct db_statement *find = store_statement(c->to, ST_GPU_FIND, err);
    struct db_statement *insert = find ? store_statement(c->to, ST_GPU_INSERT, err) : NULL;
    char texts[5][IDENTITY_SIZE]; /* identity, uuid, pci_address, name, vendor */
    int64_t host = db_i64(q, 1), to;
    if (!insert)
        return err->code;
    map_find(&c->hosts, &host);
    db_bind_i64(find, 1, host);
    db_bind_i64(insert, 1, host);
    for (int i = 0; i < 5; i++) {
        str_copy(texts[i], sizeof texts[i], db_is_null(q, 2 + i) ? str_from("") : db_text(q, 2 + i));
        db_bind_word(insert, 2 + i, texts[i]);
    }
    db_bind_text(find, 2, texts[0]);
    for (int i = 0; i < 3; i++) /* gpu_index, first_seen_ms, simulated */
        db_bind_i64(insert, 7 + i, db_i64(q, 7 + i));
    int rc = find_or_insert(c->to, find, insert, &to, err);
    if (rc == 0)
        rc = note_seen(c->to, "gpus", to, db_i64(q, 8), db_i64(q, 10), err);
    return rc < 0 ? rc : map_add(&c->gpus, db_i64(q, 0), to, err);
}

static int copy_gpus(struct copier *c, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_printf(&sql,
               "SELECT id, host_id, identity, uuid, pci_address, name, vendor, gpu_index, first_seen_ms, simulated, last_seen_ms "
               "FROM gpus WHERE host_id IN (%s) ORDER BY id",
               c->from_scope.hosts.at);
    int rc = db_prepare_text(c->from->db, &sql, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1)
        rc = copy_gpu(c, q, err);
    map_sort(&c->gpus);
    list_ids(&c->gpus, true, &c->from_scope.gpus);
    list_ids(&c->gpus, false, &c->to_scope.gpus);
    return rc;
}

/* The columns of the source, and how far back it is whole. */
static int copy_schema(struct copier *c, struct error *err)
{
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        size_t missing[SERIES_COLUMNS_MAX], count = 0;
        for (size_t i = 0; i < series_count((enum series)series); i++)
            if (c->from->schema.has[series][i] && !c->to->schema.has[series][i])
                missing[count++] = i;
        store_forget_columns(c->to);
        if (count)
            rc = schema_add_columns(&c->to->schema, (enum series)series, missing, count, err);
        if (rc == 0 && count)
            rc = schema_refresh_views(&c->to->schema, err);
        for (int level = 0; rc == 0 && level < LEVEL_COUNT; level++)
            rc = set_horizon(c->to, (enum series)series, (enum level)level, c->from->horizon_ms[series][level], err);
    }
    return rc;
}

static int prepare_destination(struct copier *c, struct error *err)
{
    int rc = db_begin(c->to->db, err);
    if (rc < 0)
        return rc;
    rc = schema_lock(c->to->db, err); /* numbers are given one at a time */
    if (rc == 0)
        rc = copy_hosts(c, err);
    if (rc == 0)
        rc = copy_gpus(c, err);
    if (rc == 0)
        rc = copy_schema(c, err);
    if (rc == 0)
        return db_commit(c->to->db, err);
    db_rollback(c->to->db);
    return rc;
}

/* ---- rows of one piece ---- */

static void piece_clear(struct copied_rows *p)
{
    arena_done(&p->texts);
    p->texts = ARENA(TEXTS_MAX);
    p->count = 0;
}

static void piece_done(struct copied_rows *p)
{
    arena_done(&p->texts);
    free(p->cells);
    free(p->rows);
    free(p->pairs);
}

/* Tables have rows of different widths. */
static bool piece_room(struct copied_rows *p, size_t width)
{
    if ((p->count + 1) * width <= p->capacity)
        return true;
    size_t more = MAX_OF(2 * p->capacity, 1024 * width);
    struct copied_cell *cells = realloc(p->cells, more * sizeof *cells);
    p->cells = cells ? cells : p->cells;
    p->capacity = cells ? more : p->capacity;
    return cells != NULL;
}

/* Gives a row of the source the numbers of the destination. False: it belongs to nothing that is copied. */
static bool translate(const struct copier *c, struct copied_cell *row)
{
    bool found = true, server = c->to->db->ops->kind == DB_POSTGRES;
    for (size_t i = 0; i < c->table.count; i++) {
        const struct copy_column *column = &c->table.columns[i];
        struct copied_cell *cell = &row[1 + i];
        const struct id_map *map = column->role == COPY_GPU       ? &c->gpus
                                   : column->role == COPY_HOST    ? &c->hosts
                                   : column->role == COPY_PROCESS ? &c->processes
                                   : column->role != COPY_SUBJECT ? NULL
                                   : row[1].number == SERIES_GPU  ? &c->gpus
                                                                  : &c->hosts;
        if (!cell->there)
            continue;
        if (map && !map_find(map, &cell->number)) {
            found &= !column->key;
            cell->there = false; /* an episode outlives the process that it was about */
        }
        if (server && column->narrow && cell->number != (int32_t)cell->number)
            cell->there = false; /* what the daemon does with it there */
        cell->number = cell->there ? cell->number : 0;
    }
    return found;
}

static int by_key(const void *a, const void *b)
{
    const struct copied_cell *one = *(struct copied_cell *const *)a, *other = *(struct copied_cell *const *)b;
    for (size_t i = 1; i <= (size_t)one[0].number; i++) {
        int order = one[i].there != other[i].there ? one[i].there - other[i].there
                    : one[i].text && other[i].text ? strcmp(one[i].text, other[i].text)
                                                   : (one[i].number > other[i].number) - (one[i].number < other[i].number);
        if (order)
            return order;
    }
    return 0;
}

static int piece_sort(struct copied_rows *p, size_t width, struct error *err)
{
    free(p->rows);
    free(p->pairs);
    p->rows = calloc(p->count + 1, sizeof *p->rows);
    p->pairs = calloc(p->count + 1, sizeof *p->pairs);
    if (!p->rows || !p->pairs)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < p->count; i++)
        p->rows[i] = p->cells + i * width;
    qsort(p->rows, p->count, sizeof *p->rows, by_key);
    return 0;
}

static int piece_read(const struct copier *c, struct db_statement *q, int64_t from, int64_t to, struct copied_rows *p,
                      struct error *err)
{
    const struct copy_table *t = &c->table;
    bool ours = p == &c->ours;
    size_t width = t->count + 1;
    int rc;
    piece_clear(p);
    db_bind_i64(q, 1, from);
    db_bind_i64(q, 2, to);
    while ((rc = db_step(q, err)) == 1) {
        if (!piece_room(p, width))
            return error_set(err, -ENOMEM, "out of memory");
        struct copied_cell *row = p->cells + p->count * width;
        row[0] = (struct copied_cell){.number = (int64_t)t->keys};
        for (size_t i = 0; i < t->count; i++) {
            struct copied_cell *cell = &row[1 + i];
            *cell = (struct copied_cell){.there = !db_is_null(q, (int)i)};
            if (cell->there && t->columns[i].role == COPY_TEXT) {
                cell->text = arena_copy(&p->texts, db_text(q, (int)i));
                if (!cell->text)
                    return error_set(err, -ENOMEM, "out of memory");
            } else if (cell->there) {
                cell->number = db_i64(q, (int)i);
            }
        }
        p->count += !ours || translate(c, row);
    }
    return rc < 0 ? rc : piece_sort(p, width, err);
}

static void pair_up(struct copied_rows *ours, const struct copied_rows *theirs)
{
    for (size_t i = 0, k = 0; i < ours->count; i++) {
        int order = -1;
        while (k < theirs->count && (order = by_key(&theirs->rows[k], &ours->rows[i])) < 0)
            k++;
        ours->pairs[i] = k < theirs->count && order == 0 ? theirs->rows[k++] : NULL;
    }
}

static bool cells_differ(const struct copy_table *t, const struct copied_cell *one, const struct copied_cell *other)
{
    for (size_t i = t->keys; i < t->count; i++) {
        const struct copied_cell *a = &one[1 + i], *b = &other[1 + i];
        if (t->columns[i].role == COPY_ID)
            continue;
        if (a->there != b->there || a->number != b->number || (a->text && b->text && strcmp(a->text, b->text) != 0))
            return true;
    }
    return false;
}

/* The destination's row covers more: both databases were written to, and this is where they overlap. */
static bool is_fuller(const struct copy_table *t, const struct copied_cell *row, const struct copied_cell *pair)
{
    return t->weight >= 0 && pair[1 + t->weight].number > row[1 + t->weight].number;
}

static bool is_needed(const struct copy_table *t, const struct copied_rows *ours, size_t i)
{
    const struct copied_cell *pair = ours->pairs[i];
    return !pair || (cells_differ(t, ours->rows[i], pair) && !is_fuller(t, ours->rows[i], pair));
}

static size_t count_needed(const struct copier *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->ours.count; i++)
        count += is_needed(&c->table, &c->ours, i);
    return count;
}

/* ---- writing ---- */

static int64_t moment_of_row(const struct copy_table *t, const struct copied_cell *row)
{
    if (t->form == COPY_BUCKET)
        return row[2].number;
    for (size_t i = 0; t->form == COPY_PLAIN && i < t->count; i++)
        if (strcmp(t->columns[i].name, t->moment) == 0)
            return row[1 + i].number;
    return row[1].number;
}

static int64_t packed_key(const struct copy_table *t, const struct copied_cell *row)
{
    return t->form == COPY_RAW ? raw_key(row[1].number, row[2].number) : bucket_key(row[1].number, row[2].number);
}

static void bind_cell(struct db_statement *q, int at, const struct copied_cell *cell)
{
    if (!cell->there)
        db_bind_null(q, at);
    else if (cell->text)
        db_bind_text(q, at, cell->text);
    else
        db_bind_i64(q, at, cell->number);
}

static int put_new(struct copier *c, struct copied_cell *row, int64_t id, struct error *err)
{
    const struct copy_table *t = &c->table;
    bool packs = copy_packs(t, c->to->db->ops->kind);
    int at = 1;
    if (packs)
        db_bind_i64(c->insert, at++, packed_key(t, row));
    for (size_t i = packs ? 2 : 0; i < t->count; i++) {
        if (t->columns[i].role == COPY_ID)
            db_bind_i64(c->insert, at++, id);
        else
            bind_cell(c->insert, at++, &row[1 + i]);
    }
    return db_put(c->insert, err);
}

static int put_over(struct copier *c, const struct copied_cell *row, const struct copied_cell *pair, struct error *err)
{
    const struct copy_table *t = &c->table;
    int at = 1;
    for (size_t i = t->keys; i < t->count; i++)
        if (t->columns[i].role != COPY_ID)
            bind_cell(c->update, at++, &row[1 + i]);
    if (t->id >= 0)
        db_bind_i64(c->update, at, pair[1 + t->id].number);
    else if (copy_packs(t, c->to->db->ops->kind))
        db_bind_i64(c->update, at, packed_key(t, row));
    else
        for (size_t i = 0; i < t->keys; i++)
            bind_cell(c->update, at++, &row[1 + i]);
    return db_put(c->update, err);
}

/* Reserves IDs: the next ones of a file, whose lock is held, or of the server's sequence. */
static int reserve_ids(struct copier *c, size_t count, int64_t *ids, struct error *err)
{
    char sql[160];
    AUTO_STATEMENT struct db_statement *q = NULL;
    bool server = c->to->db->ops->kind == DB_POSTGRES;
    if (server)
        snprintf(sql, sizeof sql, "SELECT nextval(pg_get_serial_sequence('%s', 'id')) FROM generate_series(1, %zu)", c->table.name,
                 count);
    else
        snprintf(sql, sizeof sql, "SELECT COALESCE(MAX(id), 0) + 1 FROM %s", c->table.name);
    int rc = db_prepare(c->to->db, sql, &q, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (server || i == 0) {
            rc = db_step(q, err);
            if (rc != 1)
                return rc < 0 ? rc : error_set(err, -EIO, "the database gave no number");
            rc = 0;
        }
        ids[i] = server ? db_i64(q, 0) : i ? ids[i - 1] + 1 : db_i64(q, 0);
    }
    if (q)
        db_reset(q);
    return rc;
}

/* Sums of days are made again of the hours that were added. */
static int forget_days(struct copier *c, int64_t last_hour, struct error *err)
{
    int64_t day = last_hour * HOUR_MS / DAY_MS + 1, from;
    int rc = days_begin(c->to, err);
    if (rc == 0)
        rc = days_from(c->to, &from, err);
    if (rc < 0 || from >= day)
        return rc;
    return db_execf(c->to->db, err,
                    "INSERT INTO meta (key, value) VALUES ('days_from', '%lld') ON CONFLICT (key) DO UPDATE SET value = "
                    "excluded.value",
                    (long long)day);
}

/* A minute of which both databases have a part: its samples are both there, and are summed up again. */
static int mark_overlaps(struct copier *c, struct error *err)
{
    const struct copy_table *t = &c->table;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ours.count; i++) {
        const struct copied_cell *row = c->ours.rows[i], *pair = c->ours.pairs[i];
        if (!pair || pair[1 + t->weight].number == row[1 + t->weight].number ||
            row[2].number * t->unit_ms < c->to->horizon_ms[t->series][LEVEL_RAW])
            continue;
        struct db_statement *q = store_statement(c->to, ST_PENDING, err);
        if (!q)
            return err->code;
        const int64_t mark[] = {t->series, t->level, row[1].number, row[2].number};
        for (int k = 0; k < 4; k++)
            db_bind_i64(q, 1 + k, mark[k]);
        rc = db_put(q, err);
    }
    return rc;
}

static int put_rows(struct copier *c, struct error *err)
{
    const struct copy_table *t = &c->table;
    size_t missing = 0, next = 0;
    int64_t last = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ours.count; i++) {
        if (!is_needed(t, &c->ours, i))
            continue;
        int64_t moment = moment_of_row(t, c->ours.rows[i]);
        missing += !c->ours.pairs[i];
        last = MAX_OF(last, moment);
        if (t->parted >= 0)
            rc = partition_ready(c->to, (enum parted)t->parted, moment * t->unit_ms, err);
    }
    AUTO_FREE int64_t *ids = t->id >= 0 ? calloc(missing + 1, sizeof *ids) : NULL;
    if (rc == 0 && t->id >= 0)
        rc = ids ? reserve_ids(c, missing, ids, err) : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && c->to->db->ops->kind == DB_POSTGRES && (t->parted == PARTED_PROCESS_HOURS || t->parted == PARTED_ENERGY_HOURS))
        rc = forget_days(c, last, err);
    for (size_t i = 0; rc == 0 && i < c->ours.count; i++) {
        if (!is_needed(t, &c->ours, i))
            continue;
        struct copied_cell *pair = c->ours.pairs[i];
        rc = pair ? put_over(c, c->ours.rows[i], pair, err) : put_new(c, c->ours.rows[i], ids ? ids[next++] : 0, err);
    }
    return rc;
}

static int compare(struct copier *c, int64_t from, int64_t to, struct error *err)
{
    int rc = piece_read(c, c->read_to, from, to, &c->theirs, err);
    if (rc == 0)
        pair_up(&c->ours, &c->theirs);
    return rc;
}

static int write_rows(struct copier *c, int64_t from, int64_t to, struct error *err)
{
    const struct copy_table *t = &c->table;
    int rc = db_begin(c->to->db, err);
    if (rc < 0)
        return rc;
    /* Where no key refuses a row that is there twice, a second copy has to wait. */
    if (t->id >= 0 || t->keys == t->count) {
        rc = schema_lock(c->to->db, err);
        if (rc == 0)
            rc = compare(c, from, to, err);
    }
    if (rc == 0)
        rc = put_rows(c, err);
    if (rc == 0)
        return db_commit(c->to->db, err);
    db_rollback(c->to->db);
    partition_forget(c->to);
    return rc;
}

/* ---- a table, piece by piece ---- */

static int mark_all(struct copier *c, struct error *err)
{
    int rc = db_begin(c->to->db, err);
    if (rc < 0)
        return rc;
    rc = mark_overlaps(c, err);
    if (rc == 0)
        return db_commit(c->to->db, err);
    db_rollback(c->to->db);
    return rc;
}

/* What follows once all rows of the piece are there. */
static int piece_is_there(struct copier *c, struct error *err)
{
    const struct copy_table *t = &c->table;
    bool processes = strcmp(t->name, "processes") == 0, overlaps = false;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ours.count; i++) {
        const struct copied_cell *row = c->ours.rows[i], *pair = c->ours.pairs[i];
        bool differs = cells_differ(t, row, pair);
        c->count->kept += differs;
        overlaps |= differs;
        if (processes)
            rc = map_add(&c->processes, row[1 + t->id].number, pair[1 + t->id].number, err);
    }
    c->count->rows += (int64_t)c->ours.count;
    return rc == 0 && overlaps && t->form == COPY_BUCKET && t->level == LEVEL_MINUTE ? mark_all(c, err) : rc;
}

/* From and to are moments, or keys of the source. */
static int copy_piece(struct copier *c, int64_t from, int64_t to, struct error *err)
{
    const struct copy_table *t = &c->table;
    int rc = piece_read(c, c->read, from, to, &c->ours, err);
    if (rc < 0 || c->ours.count == 0)
        return rc;
    /* The destination may have any number of later rows. */
    int64_t last = INT64_MIN, base = 0;
    for (size_t i = 0; i < c->ours.count; i++)
        last = MAX_OF(last, moment_of_row(t, c->ours.rows[i]));
    if (t->form == COPY_BUCKET) {
        base = bucket_key(c->subject->to, 0);
        from = from - bucket_key(c->subject->from, 0);
    }
    if (!c->first)
        c->first = last;
    rc = compare(c, base + from, base + last + 1, err);
    for (int tries = 1; rc == 0 && count_needed(c) > 0; tries++) {
        size_t needed = count_needed(c);
        if (tries == TRIES)
            return error_set(err, -EUCLEAN, "%zu rows of %s are not there, or differ, after they were written", needed, t->name);
        rc = write_rows(c, base + from, base + last + 1, err);
        if (rc == 0 && tries == 1)
            c->count->written += (int64_t)needed;
        if ((rc == -EIO || rc == -EBUSY) && tries + 1 < TRIES)
            rc = 0; /* another writer was faster, or holds the lock: look again */
        if (rc == 0)
            rc = compare(c, base + from, base + last + 1, err);
    }
    return rc < 0 ? rc : piece_is_there(c, err);
}

static int find_ahead(struct copier *c, int64_t from, int64_t end, int64_t *ret, struct error *err)
{
    db_bind_i64(c->ahead, 1, from);
    db_bind_i64(c->ahead, 2, end);
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
    AUTO_BUF struct buf ahead = BUF(SQL_MAX), read = BUF(SQL_MAX), read_to = BUF(SQL_MAX), insert = BUF(SQL_MAX),
                        update = BUF(SQL_MAX);
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
    map_sort(&c->processes);
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
    c->from_scope = c->to_scope = (struct copy_scope){BUF(SQL_MAX), BUF(SQL_MAX)};
    c->ours.texts = c->theirs.texts = ARENA(TEXTS_MAX);
    int rc = open_both(c, err);
    if (rc == 0)
        rc = prepare_destination(c, err);
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
