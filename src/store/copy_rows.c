/* SPDX-License-Identifier: Apache-2.0
 * Hosts and GPUs of the source in the destination: found there by name and identity, or added, with what is known of them. Then
 * one piece of a table: its rows are read, in the numbers of the destination, beside those that it has; what is missing or less
 * complete is written, and both are compared again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/copy_tables.h"

/* ---- hosts and GPUs of both sides ---- */

static int by_source(const void *a, const void *b)
{
    const struct id_pair *one = a, *other = b;
    return (one->from > other->from) - (one->from < other->from);
}

static int id_map_add(struct id_map *m, int64_t from, int64_t to, struct error *err)
{
    if (!ROOM_FOR_ONE(m->list, m->count, m->capacity, 64))
        return error_set(err, -ENOMEM, "out of memory");
    m->list[m->count++] = (struct id_pair){from, to};
    return 0;
}

/* replaces the number of the source by that of the destination */
static bool id_map_find(const struct id_map *m, int64_t *id)
{
    const struct id_pair key = {*id, 0}, *found = m->count ? bsearch(&key, m->list, m->count, sizeof key, by_source) : NULL;
    if (found)
        *id = found->to;
    return found != NULL;
}

void id_map_sort(struct id_map *m)
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
                       : error_set(err, -EOVERFLOW, "more than %lld hosts or GPUs in one database: copy one host with --of",
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
        buf_printf(&values, ", %lld", (long long)(db_i64_or(q, i, 0)));
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
            rc = id_map_add(&c->hosts, from, to, err);
    }
    if (rc == 0 && host && !c->hosts.count)
        return error_set(err, -ENODEV, "there is no host '%s' in it", host);
    id_map_sort(&c->hosts);
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
    id_map_find(&c->hosts, &host);
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
    return rc < 0 ? rc : id_map_add(&c->gpus, db_i64(q, 0), to, err);
}

static int copy_gpus(struct copier *c, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(COPY_SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_printf(&sql,
               "SELECT id, host_id, identity, uuid, pci_address, name, vendor, gpu_index, first_seen_ms, simulated, last_seen_ms "
               "FROM gpus WHERE host_id IN (%s) ORDER BY id",
               c->from_scope.hosts.at);
    int rc = db_prepare_text(c->from->db, &sql, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1)
        rc = copy_gpu(c, q, err);
    id_map_sort(&c->gpus);
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

int copy_prepare_destination(struct copier *c, struct error *err)
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

/* ---- rows ---- */

enum { TRIES = 4 /* another writer may have been faster */ };
#define TEXTS_MAX ((size_t)256 << 20)

void piece_init(struct copied_rows *p)
{
    p->texts = ARENA(TEXTS_MAX);
    p->count = 0;
}

void piece_done(struct copied_rows *p)
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
        if (map && !id_map_find(map, &cell->number)) {
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
    arena_done(&p->texts);
    piece_init(p);
    db_bind_numbers(q, 1, from, to);
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

/* ---- a piece ---- */

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
            rc = id_map_add(&c->processes, row[1 + t->id].number, pair[1 + t->id].number, err);
    }
    c->count->rows += (int64_t)c->ours.count;
    return rc == 0 && overlaps && t->form == COPY_BUCKET && t->level == LEVEL_MINUTE ? mark_all(c, err) : rc;
}

int copy_piece(struct copier *c, int64_t from, int64_t to, struct error *err)
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
