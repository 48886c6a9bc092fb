/* SPDX-License-Identifier: Apache-2.0
 * The history's figures, on eight simulated cards that show everything an H100 does, one sample every 5 s: rows a second into
 * SQLite, bytes a stored value, how the file grows, how long plots take on a year, what a day's rollup and clean-up cost; what a
 * row costs at 1, 10 and 100 times the rows, and the GPUs. Beside them the floor on the same machine in the same run: the same rows
 * of all tables, those of GPUs alone, and the same plots with nothing but SQLite.
 *
 *   bench_store [DAYS]      30 days by default, about 1.2 GB in $TMPDIR
 *   bench_store postgres    what a row costs in the server of $WHIRR_TEST_POSTGRES (tools/with-postgres), which is emptied
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "figure.h"
#include "source/sim/sim.h"
#include "store/query.h"

enum { GPUS = 8, KINDS = 720, BATCH = 60, SAMPLES_A_DAY = 17280, SAMPLES_A_PART = SAMPLES_A_DAY / 6, DAYS_MAX = 366 };
#define BEGIN_MS 1772323200000LL
#define STEP_MAX 1.15 /* linear, and what one measurement differs from the next */
#define ROWS_MAX 1.05 /* a history that grows: the least of many days differs less */
/* Of the CPU that SQLite alone takes for the same rows of all tables, and of GPUs alone. 0.8 was the goal. What is more is not
 * SQLite's inserting: of the 31,500 instructions of a row, reading and comparing the sample takes 4,000 (5 KB of each GPU, which
 * are in no near cache), summing up 1,800, processes and energy 2,600, and the statements of the hour 2,400. */
#define BARE_LEAST 0.55
#define ALONE_LEAST 0.35

static struct reading gpu_value(const struct gpu *gpu, size_t column)
{
    return gpu->metric[series_place(SERIES_GPU, column)];
}

static int failures;
static char store_path[300], floor_path[320], gpus_path[320];

static double now_s(void)
{
    return (double)clock_mono(&clock_system).ns / 1e9;
}

/* What the process itself used: on a busy machine the wall says more about the neighbors. */
static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- a server: the process of it that works for us ---- */

static char server_url[512];
static int backend; /* its PID; 0: there is none */

static int64_t psql(const char *query)
{
    char command[1024], answer[64] = "";
    snprintf(command, sizeof command, "psql -X -A -t -q -v ON_ERROR_STOP=1 '%s' -c \"%s\" 2>/dev/null", server_url, query);
    FILE *p = popen(command, "r");
    if (!p || (!fgets(answer, sizeof answer, p) && !feof(p)) || pclose(p) != 0) {
        fprintf(stderr, "bench_store: psql failed: %s\n", query);
        exit(1);
    }
    return strtoll(answer, NULL, 10);
}

static void empty_server(void)
{
    psql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public");
}

static void find_backend(void)
{
    backend = (int)psql("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() LIMIT 1");
}

static double backend_s(void)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", backend);
    AUTO_FCLOSE FILE *f = backend ? fopen(path, "r") : NULL;
    if (f && fgets(text, sizeof text, f) && strrchr(text, ')'))
        sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void judge(const char *what, double value, const char *unit, double limit, bool at_least)
{
    bool good = figure(what, value, unit, at_least, limit, "");
    failures += !good;
    printf("%-44s %12.2f %-8s %s %.6g %s\n", what, value, unit, at_least ? "at least" : "at most ", limit, good ? "" : "  MISSED");
    fflush(stdout);
}

static void remove_files(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        char file[340];
        snprintf(file, sizeof file, "%s%s", path, tails[i]);
        unlink(file);
    }
}

static void die(const char *what)
{
    fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

/* An hour of snapshots, to be used again and again at later times: making them is not what is measured. */
static struct snapshot *kinds[KINDS];

static void make_kinds(struct snapshot **list, size_t count, size_t gpus)
{
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct error err;
    struct gpu_id ids[GPU_MAX];
    char setting[64];
    clock_manual_init(&clock, (struct wall){BEGIN_MS});
    env_init_system(&env);
    env.clock = &clock.clock;
    snprintf(setting, sizeof setting, "gpus=%zu,model=h100,scenario=bursty", gpus);
    if (sim_source.open(&env, setting, &source, &err) != 0)
        die(err.text);
    sim_source.list(source, ids, GPU_MAX);
    for (size_t k = 0; k < count; k++) {
        list[k] = snapshot_new(gpus);
        snprintf(list[k]->host.name, HOST_NAME_SIZE, "bench");
        list[k]->interval_s = 5;
        if (sim_source.refresh)
            sim_source.refresh(source, GROUP_ALL, &err);
        for (size_t i = 0; i < gpus; i++) {
            sim_source.sample(source, i, GROUP_ALL, &list[k]->gpus[i]);
            list[k]->gpus[i].id = ids[i];
            list[k]->gpus[i].index = (int)i;
        }
        clock_manual_advance_ms(&clock, 5000);
    }
    sim_source.close(source);
}

static int64_t values_of(const struct snapshot *s)
{
    int64_t values = 0;
    for (size_t i = 0; i < GPUS; i++)
        for (size_t c = 0; c < series_count(SERIES_GPU); c++)
            values += gpu_value(&s->gpus[i], c).state == READING_OK;
    return values;
}

/* Writes `count` samples from number `from` on, of so many kinds; returns the seconds it took. */
static double write_kinds(struct store *s, struct snapshot **list, size_t kind_count, int64_t from, int64_t count)
{
    struct error err;
    double begin = now_s();
    for (int64_t i = from; i < from + count; i += BATCH) {
        const struct snapshot *batch[BATCH];
        for (int k = 0; k < BATCH; k++) {
            struct snapshot *one = list[(size_t)(i + k) % kind_count];
            one->taken_at.ms = BEGIN_MS + (i + k) * 5000;
            one->taken.ns = (i + k + 1) * 5 * NS_PER_S;
            batch[k] = one;
        }
        if (store_write(s, batch, BATCH, NULL, 0, &err) != 0)
            die(err.text);
    }
    return now_s() - begin;
}

static double write_samples(struct store *s, int64_t from, int64_t count)
{
    return write_kinds(s, kinds, KINDS, from, count);
}

/* ---- the floor: SQLite and nothing else ---- */

static sqlite3 *open_bare(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        die("cannot open a file of SQLite");
    sqlite3_exec(
        db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -4096",
        NULL, NULL, NULL);
    return db;
}

static sqlite3_stmt *prepare_bare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return q;
}

/* Tables whose rows are inserted again, and when each row was: samples at their moment, what is summed up when its time is over. */
static const struct bare_table {
    const char *name, *written_ms;
} bare_tables[] = {
    {"samples", "id >> 14"},
    {"host_samples", "id >> 14"},
    {"minutes", "((id & 4294967295) + 1) * 60000"},
    {"host_minutes", "((id & 4294967295) + 1) * 60000"},
    {"hours", "((id & 4294967295) + 1) * 3600000"},
    {"host_hours", "((id & 4294967295) + 1) * 3600000"},
    {"process_minutes", "(minute + 1) * 60000"},
    {"energy", "(minute + 1) * 60000"},
    {"process_hours", "(hour + 1) * 3600000"},
    {"energy_hours", "(hour + 1) * 3600000"},
};

struct bare_value {
    enum { BARE_NULL, BARE_NUMBER, BARE_TEXT } kind;
    int64_t number;
    char *text;
};

/* All of a table that was written in a span of time, in the order in which it was. */
struct bare_rows {
    size_t count, room, columns, next;
    int64_t *written_ms;
    struct bare_value *values;
    sqlite3_stmt *insert;
};

static void read_bare(sqlite3 *from, const struct bare_table *t, int64_t since_ms, int64_t until_ms, struct bare_rows *r)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT %s AS written_ms, * FROM %s WHERE written_ms >= ?1 AND written_ms < ?2 ORDER BY 1, 2",
             t->written_ms, t->name);
    sqlite3_stmt *q = prepare_bare(from, sql);
    sqlite3_bind_int64(q, 1, since_ms);
    sqlite3_bind_int64(q, 2, until_ms);
    *r = (struct bare_rows){.columns = (size_t)sqlite3_column_count(q) - 1};
    while (sqlite3_step(q) == SQLITE_ROW) {
        if (r->count == r->room) {
            r->room = r->room ? 2 * r->room : 1024;
            r->written_ms = realloc(r->written_ms, r->room * sizeof *r->written_ms);
            r->values = realloc(r->values, r->room * r->columns * sizeof *r->values);
            if (!r->written_ms || !r->values)
                die("out of memory");
        }
        r->written_ms[r->count] = sqlite3_column_int64(q, 0);
        struct bare_value *v = &r->values[r->columns * r->count++];
        for (size_t i = 0; i < r->columns; i++) {
            int type = sqlite3_column_type(q, (int)i + 1);
            v[i] = (struct bare_value){type == SQLITE_NULL ? BARE_NULL : type == SQLITE_INTEGER ? BARE_NUMBER : BARE_TEXT};
            if (v[i].kind == BARE_NUMBER)
                v[i].number = sqlite3_column_int64(q, (int)i + 1);
            else if (v[i].kind == BARE_TEXT)
                v[i].text = strdup((const char *)sqlite3_column_text(q, (int)i + 1));
        }
    }
    sqlite3_finalize(q);
}

/* The same table with the same keys and indexes. */
static void make_bare(sqlite3 *from, sqlite3 *to, const struct bare_table *t, struct bare_rows *r)
{
    AUTO_BUF struct buf insert = BUF(1 << 16);
    sqlite3_stmt *q =
        prepare_bare(from, "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type IN ('table', 'index') AND sql IS NOT NULL "
                           "ORDER BY type DESC");
    sqlite3_bind_text(q, 1, t->name, -1, SQLITE_STATIC);
    while (sqlite3_step(q) == SQLITE_ROW)
        if (sqlite3_exec(to, (const char *)sqlite3_column_text(q, 0), NULL, NULL, NULL) != SQLITE_OK)
            die(sqlite3_errmsg(to));
    sqlite3_finalize(q);
    buf_printf(&insert, "INSERT INTO %s VALUES (?", t->name);
    for (size_t i = 1; i < r->columns; i++)
        buf_text(&insert, ", ?");
    buf_char(&insert, ')');
    r->insert = prepare_bare(to, insert.at);
    r->next = 0;
}

static void put_bare(sqlite3 *to, struct bare_rows *r, int64_t until_ms)
{
    for (; r->next < r->count && r->written_ms[r->next] < until_ms; r->next++) {
        const struct bare_value *v = &r->values[r->columns * r->next];
        for (size_t i = 0; i < r->columns; i++)
            if (v[i].kind == BARE_NUMBER)
                sqlite3_bind_int64(r->insert, (int)i + 1, v[i].number);
            else if (v[i].kind == BARE_TEXT)
                sqlite3_bind_text(r->insert, (int)i + 1, v[i].text, -1, SQLITE_STATIC);
            else
                sqlite3_bind_null(r->insert, (int)i + 1);
        sqlite3_step(r->insert);
        if (sqlite3_reset(r->insert) != SQLITE_OK)
            die(sqlite3_errmsg(to));
    }
}

/* What a row of a GPU costs when all that was written with it in a day, or the rows of GPUs alone, is inserted with nothing but
 * SQLite: the same tables, keys, indexes, values, transactions and durability. Nothing is summed up, looked up or compared. */
struct bare_cost {
    double cpu_us, wall_us;
};

static struct bare_cost floor_of(struct bare_rows *rows, size_t tables, int64_t since_ms)
{
    sqlite3 *from = open_bare(store_path), *to = open_bare(floor_path);
    for (size_t t = 0; t < tables; t++)
        make_bare(from, to, &bare_tables[t], &rows[t]);
    sqlite3_close(from);
    struct bare_cost cost = {1e9, 1e9};
    for (int64_t part = 0; part < SAMPLES_A_DAY; part += SAMPLES_A_PART) {
        double cpu = cpu_s(), begin = now_s();
        for (int64_t i = part + BATCH; i <= part + SAMPLES_A_PART; i += BATCH) {
            sqlite3_exec(to, "BEGIN IMMEDIATE", NULL, NULL, NULL);
            for (size_t t = 0; t < tables; t++)
                put_bare(to, &rows[t], since_ms + i * 5000);
            sqlite3_exec(to, "COMMIT", NULL, NULL, NULL);
        }
        cost.cpu_us = MIN_OF(cost.cpu_us, (cpu_s() - cpu) * 1e6 / (SAMPLES_A_PART * GPUS));
        cost.wall_us = MIN_OF(cost.wall_us, (now_s() - begin) * 1e6 / (SAMPLES_A_PART * GPUS));
    }
    for (size_t t = 0; t < tables; t++)
        sqlite3_finalize(rows[t].insert);
    sqlite3_close(to);
    remove_files(floor_path);
    return cost;
}

/* The same span of summaries, read by one bare statement. */
static double floor_plot_ms(const char *table, int64_t from, int64_t to)
{
    sqlite3 *db = open_bare(store_path);
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT id, samples, power_mw_sum, power_mw_min, power_mw_max FROM %s WHERE id BETWEEN ? AND ?",
             table);
    sqlite3_stmt *q = prepare_bare(db, sql);
    double best = 1e9;
    for (int i = 0; i < 9; i++) {
        double begin = now_s();
        sqlite3_bind_int64(q, 1, bucket_key(1 + i % GPUS, from));
        sqlite3_bind_int64(q, 2, bucket_key(1 + i % GPUS, to));
        while (sqlite3_step(q) == SQLITE_ROW)
            (void)sqlite3_column_int64(q, 2);
        sqlite3_reset(q);
        best = MIN_OF(best, (now_s() - begin) * 1000);
    }
    sqlite3_finalize(q);
    sqlite3_close(db);
    return best;
}

/* ---- the store ---- */

static int count_point(void *user, const struct store_point *point)
{
    (void)point;
    ++*(int64_t *)user;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of nine plots, in milliseconds. */
static double plot_ms(struct store *s, int64_t since_ms, int64_t until_ms, int64_t *points)
{
    size_t column = (size_t)series_find(SERIES_GPU, "power_watts");
    double times[9];
    for (int i = 0; i < 9; i++) {
        struct store_plot plot = {
            .subject = 1 + i % GPUS, .since_ms = since_ms, .until_ms = until_ms, .columns = &column, .column_count = 1};
        struct error err;
        *points = 0;
        double begin = now_s();
        if (store_series(s, &plot, count_point, points, &err) != 0)
            die(err.text);
        times[i] = (now_s() - begin) * 1000;
    }
    qsort(times, ARRAY_LEN(times), sizeof times[0], by_value);
    return times[4];
}

/* CPU of a row at 1, 10 and 100 times as much: what grows faster than linear shows as a row that costs more. */
static void judge_steps(const char *what, const double us[3], double limit)
{
    printf("CPU of a row at 1x, 10x and 100x the %s: %.2f, %.2f, %.2f us\n", what, us[0], us[1], us[2]);
    fflush(stdout);
    for (int i = 1; i < 3; i++) {
        char name[64], peer[64];
        snprintf(name, sizeof name, "CPU of a row at %s the %s", i == 1 ? "10x" : "100x", what);
        snprintf(peer, sizeof peer, "at %s: %.1f us", i == 1 ? "1x" : "10x", us[i - 1]);
        failures += !figure(name, us[i] / us[i - 1], "x", false, limit, peer);
    }
}

/* As many rows from 1, 10 and 100 GPUs, in turns; the best of three: neighbors and caches make one more expensive, never cheaper.
 */
static void measure_gpus(void)
{
    enum { GPU_KINDS = 12, ROWS = 96000, ROUNDS = 3 };
    static const size_t counts[] = {1, 10, 100};
    double us[ARRAY_LEN(counts)];
    struct env env;
    env_init_system(&env);
    for (size_t turn = 0; turn < ROUNDS * ARRAY_LEN(counts); turn++) {
        size_t i = turn % ARRAY_LEN(counts);
        struct snapshot *list[GPU_KINDS];
        struct store *s = NULL;
        struct error err;
        char url[360];
        int64_t samples = ROWS / (int64_t)counts[i] / BATCH * BATCH;
        snprintf(url, sizeof url, "sqlite:%s", gpus_path);
        const struct store_options options = {.env = &env, .url = url, .host = "", .limits = store_default_limits};
        if (store_open(&options, &s, &err) != 0)
            die(err.text);
        make_kinds(list, GPU_KINDS, counts[i]);
        write_kinds(s, list, GPU_KINDS, 0, BATCH); /* what is made once */
        double before = cpu_s();
        write_kinds(s, list, GPU_KINDS, BATCH, samples);
        double row_us = (cpu_s() - before) * 1e6 / (double)(samples * (int64_t)counts[i]);
        us[i] = turn < ARRAY_LEN(counts) ? row_us : MIN_OF(us[i], row_us);
        store_close(s);
        remove_files(gpus_path);
        for (size_t k = 0; k < GPU_KINDS; k++)
            snapshot_unref(list[k]);
    }
    judge_steps("GPUs", us, STEP_MAX);
}

/* A row's CPU here and in the server. */
static double server_row_us(struct store *s, struct snapshot **list, size_t kind_count, size_t gpus, int64_t from, int64_t samples)
{
    double own = cpu_s(), server = backend_s();
    write_kinds(s, list, kind_count, from, samples);
    own = cpu_s() - own;
    server = backend_s() - server;
    double rows = (double)(samples * (int64_t)gpus);
    printf("  %6.0f rows of %3zu GPUs: %6.1f us here, %6.1f us in the server\n", rows, gpus, own * 1e6 / rows, server * 1e6 / rows);
    fflush(stdout);
    return (own + server) * 1e6 / rows;
}

static struct store *open_server(const struct env *env)
{
    struct store *s = NULL;
    struct error err;
    const struct store_options options = {.env = env, .url = server_url, .host = "", .limits = store_default_limits};
    empty_server();
    if (store_open(&options, &s, &err) != 0)
        die(err.text);
    find_backend();
    return s;
}

static int measure_server(void)
{
    enum { GPU_KINDS = 12, ROWS = 12000 };
    static const size_t counts[] = {1, 10, 100};
    double us[ARRAY_LEN(counts)];
    struct env env;
    env_init_system(&env);
    const char *url = getenv("WHIRR_TEST_POSTGRES");
    if (!url || (size_t)snprintf(server_url, sizeof server_url, "%s", url) >= sizeof server_url) {
        printf("skipped: no PostgreSQL\n");
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct snapshot *list[GPU_KINDS];
        struct store *s = open_server(&env);
        make_kinds(list, GPU_KINDS, counts[i]);
        write_kinds(s, list, GPU_KINDS, 0, BATCH); /* what is made once */
        us[i] = server_row_us(s, list, GPU_KINDS, counts[i], BATCH, ROWS / (int64_t)counts[i] / BATCH * BATCH);
        store_close(s);
        for (size_t k = 0; k < GPU_KINDS; k++)
            snapshot_unref(list[k]);
    }
    judge_steps("GPUs, PostgreSQL", us, STEP_MAX);
    struct store *s = open_server(&env);
    make_kinds(kinds, KINDS, GPUS);
    write_kinds(s, kinds, KINDS, 0, BATCH);
    for (int64_t i = 0, done = BATCH, samples = BATCH; i < 3; done += samples, samples *= 10, i++)
        us[i] = server_row_us(s, kinds, KINDS, GPUS, done, samples);
    judge_steps("rows, PostgreSQL", us, STEP_MAX);
    store_close(s);
    empty_server();
    for (size_t k = 0; k < KINDS; k++)
        snapshot_unref(kinds[k]);
    return failures > 0;
}

/* Each day that was written as a whole. */
struct days {
    double rows_a_second[DAYS_MAX];
    size_t count;
};

/* Returns the CPU of a row in microseconds, of the four hours in which it was least: long enough for everything that is done now
 * and then, short enough for a machine that is at times slow. */
static double write_days(struct store *s, int64_t from, int64_t count, struct days *days)
{
    double least_us = 1e9, day_s = 0;
    for (int64_t done = 0; done < count; done += SAMPLES_A_PART) {
        int64_t samples = MIN_OF(count - done, (int64_t)SAMPLES_A_PART);
        double before = cpu_s();
        day_s += write_samples(s, from + done, samples);
        least_us = MIN_OF(least_us, (cpu_s() - before) * 1e6 / (double)(samples * GPUS));
        if ((done + samples) % SAMPLES_A_DAY == 0 && days->count < DAYS_MAX) {
            days->rows_a_second[days->count++] = SAMPLES_A_DAY * GPUS / day_s;
            day_s = 0;
        }
    }
    return least_us;
}

/* Neighbors, of the host and of its disk, make a day slower, never faster. So the fastest counts, here and of the floor; how far
 * the others are from it tells how quiet it was. What is promised beside the floor is promised of the CPU, which a busy disk does
 * not change. */
static void judge_rates(struct days *days, double row_us)
{
    enum { ROUNDS = 5 };
    struct bare_rows rows[ARRAY_LEN(bare_tables)];
    struct bare_cost all = {1e9, 1e9}, alone = {1e9, 1e9};
    char peer[160];
    int64_t since_ms = BEGIN_MS + DAY_MS / 2; /* not the first rows, and not at the beginning of a day */
    sqlite3 *from = open_bare(store_path);
    for (size_t t = 0; t < ARRAY_LEN(bare_tables); t++)
        read_bare(from, &bare_tables[t], since_ms, since_ms + DAY_MS, &rows[t]);
    sqlite3_close(from);
    for (int i = 0; i < ROUNDS; i++) {
        struct bare_cost a = floor_of(rows, ARRAY_LEN(bare_tables), since_ms), b = floor_of(rows, 1, since_ms);
        all = (struct bare_cost){MIN_OF(all.cpu_us, a.cpu_us), MIN_OF(all.wall_us, a.wall_us)};
        alone = (struct bare_cost){MIN_OF(alone.cpu_us, b.cpu_us), MIN_OF(alone.wall_us, b.wall_us)};
    }
    for (size_t t = 0; t < ARRAY_LEN(bare_tables); t++) {
        for (size_t i = 0; i < rows[t].count * rows[t].columns; i++)
            free(rows[t].values[i].text);
        free(rows[t].values);
        free(rows[t].written_ms);
    }
    qsort(days->rows_a_second, days->count, sizeof days->rows_a_second[0], by_value);
    double best = days->rows_a_second[days->count - 1];
    snprintf(peer, sizeof peer, "the fastest of %zu days, slowest %.0f, median %.0f; bare inserts of the same rows %.0f",
             days->count, days->rows_a_second[0], days->rows_a_second[days->count / 2], 1e6 / all.wall_us);
    printf("rows a second: %.0f, %s\n", best, peer);
    failures += !figure("rows for each second of CPU", 1e6 / row_us, "rows", true, 100000,
                        peer); /* by the clock, the disk counts as well */
    printf("CPU of a row: %.2f us; of bare inserts of all that is stored with it %.2f us, of the rows of GPUs alone %.2f us\n",
           row_us, all.cpu_us, alone.cpu_us);
    snprintf(peer, sizeof peer, "%.1f us, bare %.1f us", row_us, all.cpu_us);
    failures += !figure("rows of each second of CPU, beside bare inserts of all that is stored", all.cpu_us / row_us, "x", true,
                        BARE_LEAST, peer);
    snprintf(peer, sizeof peer, "%.1f us, bare %.1f us", row_us, alone.cpu_us);
    failures += !figure("rows of each second of CPU, beside bare inserts of the rows of GPUs alone", alone.cpu_us / row_us, "x",
                        true, ALONE_LEAST, peer);
}

static void measure_growth(struct store *s, int64_t total)
{
    int64_t values_a_sample = 0, used, done = 0;
    double cpu = cpu_s(), row_us[3] = {0};
    struct days days = {0};
    struct error err;
    for (size_t k = 0; k < KINDS; k++)
        values_a_sample += values_of(kinds[k]);
    double per_sample = (double)values_a_sample / KINDS;
    for (int64_t part = total / 100, step = 0; part <= total; part *= 10, step++) {
        row_us[step] = write_days(s, done, part - done, &days);
        done = part;
        if (store_used_bytes(s, &used, &err) != 0)
            die(err.text);
        printf("%10lld rows: %7.1f MB, %6.1f bytes a row, %4.2f bytes a value\n", (long long)(done * GPUS), (double)used / 1e6,
               (double)used / (double)(done * GPUS), (double)used / ((double)done * per_sample));
        fflush(stdout);
    }
    cpu = cpu_s() - cpu;
    judge_steps("rows", row_us, ROWS_MAX);
    judge_rates(&days, MIN_OF(row_us[1], row_us[2]));
    printf("  %.0f rows for each second of CPU\n", (double)(total * GPUS) / cpu);
    judge("bytes a stored value, everything counted", (double)used / ((double)total * per_sample), "bytes", 5, false);
}

/* A day whose samples all came late: every minute and hour of it is computed anew from the rows. */
static void measure_rollup(struct store *s, int64_t total)
{
    sqlite3 *db = open_bare(store_path);
    char sql[512];
    int64_t first = BEGIN_MS / 60000, left;
    snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1439), g(k) AS (SELECT 1 UNION ALL SELECT k + 1 "
        "FROM g WHERE k < %d) INSERT OR IGNORE INTO pending SELECT %d, %d, k, %lld + i FROM n, g",
        GPUS, SERIES_GPU, LEVEL_MINUTE, (long long)first);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    sqlite3_stmt *q = prepare_bare(
        db,
        "SELECT COUNT(*) FROM pending WHERE level = 1 AND bucket BETWEEN ?1 AND ?1 + 1439 OR level = 2 AND bucket BETWEEN ?1 / 60 "
        "AND ?1 / 60 + 23");
    double begin = now_s();
    int writes = 0;
    do {
        write_samples(s, total + writes * BATCH, BATCH);
        writes++;
        sqlite3_bind_int64(q, 1, first);
        left = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
        sqlite3_reset(q);
    } while (left > 0 && writes < 1000);
    printf("a day summed up anew: %.2f s for %d minutes and %d hours, in %d writes\n", now_s() - begin, 1440 * GPUS, 24 * GPUS,
           writes);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static void measure_cleaning(struct store *s, int64_t end_ms)
{
    struct store_limits limits = store_default_limits;
    struct error err;
    limits.raw_ms = end_ms - BEGIN_MS - DAY_MS; /* the first day goes */
    limits.max_bytes = 0;
    store_set_limits(s, &limits);
    double begin = now_s(), longest = 0;
    int steps = 0, rc;
    do {
        double step = now_s();
        rc = store_clean(s, (struct wall){end_ms}, (struct mono){end_ms * NS_PER_MS}, &err);
        longest = longest > now_s() - step ? longest : now_s() - step;
        steps++;
    } while (rc == 1);
    if (rc < 0)
        die(err.text);
    printf("a day of samples cleaned up: %.2f s in %d steps, the longest %.1f ms\n", now_s() - begin, steps, longest * 1000);
}

static void measure_plot(struct store *s, const char *what, int64_t since_ms, int64_t until_ms, double limit_ms)
{
    int64_t points, step_ms;
    enum level level;
    double ms = plot_ms(s, since_ms, until_ms, &points);
    judge(what, ms, "ms", limit_ms, false);
    const struct store_plot plot = {.subject = 1, .since_ms = since_ms, .until_ms = until_ms};
    store_plan(s, &plot, &step_ms, &level);
    if (level == LEVEL_RAW)
        return;
    const char *table = series_table(SERIES_GPU, level);
    double bare = floor_plot_ms(table, since_ms / level_ms(level), until_ms / level_ms(level));
    printf("  %lld points; one bare statement over the same %s: %.2f ms, ratio %.1f\n", (long long)points, table, bare, ms / bare);
}

/* The hours that are there, again and again before them, until they are those of a year. */
static void make_year(int64_t days)
{
    sqlite3 *db = open_bare(store_path);
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE earlier SET id = id - %lld; INSERT OR IGNORE INTO hours SELECT * FROM earlier",
             (long long)days * 24);
    int code = sqlite3_exec(db, "BEGIN; CREATE TEMP TABLE earlier AS SELECT * FROM hours", NULL, NULL, NULL);
    for (int64_t made = days; code == SQLITE_OK && made < 365; made += days)
        code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "postgres") == 0)
        return measure_server();
    int64_t days = argc > 1 ? strtoll(argv[1], NULL, 10) : 30;
    const char *folder = getenv("TMPDIR");
    char url[320];
    snprintf(store_path, sizeof store_path, "%s/bench_store.%d.db", folder ? folder : "/tmp", (int)getpid());
    snprintf(floor_path, sizeof floor_path, "%s.floor", store_path);
    snprintf(gpus_path, sizeof gpus_path, "%s.gpus", store_path);
    snprintf(url, sizeof url, "sqlite:%s", store_path);
    struct env env;
    env_init_system(&env);
    struct store *s = NULL;
    struct error err;
    const struct store_options options = {.env = &env, .url = url, .host = "", .limits = store_default_limits};
    if (days < 2)
        die("at least two days");
    if (store_open(&options, &s, &err) != 0)
        die(err.text);
    make_kinds(kinds, KINDS, GPUS);
    int64_t total = days * SAMPLES_A_DAY / (100 * BATCH) * (100 * BATCH), end_ms = BEGIN_MS + total * 5000;
    measure_growth(s, total);
    measure_gpus();
    measure_plot(s, "one metric of one GPU over a day", end_ms - DAY_MS, end_ms, 3);
    measure_plot(s, "one metric of one GPU over 30 days", BEGIN_MS, end_ms, 5);
    make_year(days);
    measure_plot(s, "one metric of one GPU over a year", end_ms - 365 * DAY_MS, end_ms, 20);
    measure_rollup(s, total);
    measure_cleaning(s, end_ms);
    store_close(s);
    remove_files(store_path);
    for (size_t k = 0; k < KINDS; k++)
        snapshot_unref(kinds[k]);
    return failures > 0;
}
