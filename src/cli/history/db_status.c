/* SPDX-License-Identifier: Apache-2.0
 * The database's contents, the daemon's report on it, and what will be cleaned up next.
 */
#include "cli/history/db.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/places.h"
#include "daemon/history_part.h"
#include "format/json/json.h"
#include "format/table/grid.h"
#include "store/admin.h"

struct status {
    const struct db_choice *choice;
    char place[1024];
    struct store_survey survey;
    bool counted; /* false: an older version, whose tables are not read */
    struct store_limits limits;
    struct wall now;
    /* Reported by the daemon. */
    bool daemon;
    char state[32], message[256];
    int64_t waiting;
    int64_t queue_bytes; /* size of the file that queues samples for a server; -1: none */
};

static void take_health(const json_t *store, struct status *s)
{
    const char *state = json_string_value(json_object_get(store, "state"));
    const char *message = json_string_value(json_object_get(store, "message"));
    s->daemon = state != NULL;
    snprintf(s->state, sizeof s->state, "%s", state ? state : "");
    snprintf(s->message, sizeof s->message, "%s", message ? message : "");
    s->waiting = json_integer_value(json_object_get(store, "queued_rows"));
}

static int64_t queue_size(const char *url)
{
    char dir[PLACE_SIZE], path[PLACE_SIZE + 16];
    struct stat info;
    struct error err;
    if (strncmp(url, "sqlite:", 7) == 0 || place_state(dir, &err) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/queue.db", dir);
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* How long the rows of a table are kept. */
static int64_t kept_ms(const struct store_limits *l, const char *table)
{
    if (strstr(table, "samples"))
        return l->raw_ms;
    if (strstr(table, "minutes"))
        return l->minute_ms;
    if (strstr(table, "hours"))
        return l->hour_ms;
    return strcmp(table, "events") == 0 || strcmp(table, "finding_episodes") == 0 ? l->event_ms : l->process_ms;
}

static int64_t next_cleaning_ms(const struct status *s, const struct store_table *t)
{
    return t->rows ? MAX_OF(t->first.ms + kept_ms(&s->limits, t->name), s->now.ms) : 0;
}

/* ---- JSON ---- */

static void json_bytes(struct json_writer *j, const char *key, int64_t value)
{
    jw_key(j, key);
    if (value >= 0)
        jw_int(j, value);
    else
        jw_null(j);
}

static void write_json(struct json_writer *j, const struct status *s)
{
    const struct store_survey *v = &s->survey;
    jw_object(j);
    jw_key_text(j, "kind", v->kind);
    jw_key_text(j, "place", s->place);
    jw_key_text(j, "chosen_by", s->choice->by);
    jw_key_int(j, "schema_version", v->version);
    jw_key_int(j, "known_version", store_known_version());
    json_bytes(j, "size_bytes", s->counted ? v->bytes : -1);
    json_bytes(j, "unused_bytes", s->counted ? v->unused_bytes : -1);
    json_bytes(j, "log_bytes", s->counted ? v->log_bytes : -1);
    json_bytes(j, "max_size_bytes", s->limits.max_bytes ? s->limits.max_bytes : -1);
    json_bytes(j, "hosts", s->counted ? v->hosts : -1);
    json_bytes(j, "gpus", s->counted ? v->gpus : -1);
    jw_key_object(j, "daemon");
    jw_key_bool(j, "running", s->daemon);
    json_words(j, "socket", s->choice->daemon);
    json_words(j, "place", s->choice->daemon_place);
    json_words(j, "store_state", s->state);
    json_words(j, "message", s->message);
    json_bytes(j, "waiting", s->daemon ? s->waiting : -1);
    jw_end(j);
    json_bytes(j, "queue_bytes", s->queue_bytes);
    jw_key_array(j, "tables");
    for (size_t i = 0; s->counted && i < SURVEY_TABLES; i++) {
        const struct store_table *t = &v->tables[i];
        jw_object(j);
        jw_key_text(j, "name", t->name);
        jw_key_int(j, "rows", t->rows);
        json_time(j, "first", t->first);
        json_time(j, "last", t->last);
        jw_key_number(j, "kept_days", (double)kept_ms(&s->limits, t->name) / 86400000.0);
        json_time(j, "next_cleaning", (struct wall){next_cleaning_ms(s, t)});
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

/* ---- text ---- */

static void write_size(struct buf *out, const struct status *s)
{
    const struct store_survey *v = &s->survey;
    char size[NUMBER_SIZE], part[NUMBER_SIZE];
    words_bytes(v->bytes, size);
    buf_printf(out, "size    %s", size);
    if (v->unused_bytes > 0) {
        words_bytes(v->unused_bytes, part);
        buf_printf(out, ", %s of it free", part);
    }
    if (v->log_bytes > 0) {
        words_bytes(v->log_bytes, part);
        buf_printf(out, ", %s in the log beside it", part);
    }
    if (s->limits.max_bytes && v->log_bytes >= 0) {
        words_bytes(s->limits.max_bytes, part);
        buf_printf(out, "; at most %s", part);
    }
    buf_char(out, '\n');
}

static void write_daemon(struct buf *out, const struct page *page, const struct status *s)
{
    char part[NUMBER_SIZE];
    if (!s->daemon)
        buf_text(out, "daemon  not running: nothing is written or cleaned up\n");
    else if (strcmp(s->choice->daemon_place, s->place) != 0)
        buf_printf(out, "daemon  running at %s, %s%s\n", s->choice->daemon,
                   s->choice->daemon_place[0] ? "but writes to another database: " : "but keeps no history",
                   s->choice->daemon_place);
    else
        buf_printf(out, "daemon  running, history database: %s, %lld waiting%s%s\n", s->state, (long long)s->waiting,
                   s->message[0] ? page_dot(page) : "", s->message);
    if (s->queue_bytes >= 0) {
        words_bytes(s->queue_bytes, part);
        buf_printf(out, "queue   %s on disk\n", part);
    }
}

static void write_tables(struct buf *out, const struct page *page, const struct status *s)
{
    static const struct grid_column columns[] = {{"TABLE", LEFT, 0}, {"ROWS", RIGHT, 0}, {"FROM", LEFT, 1},
                                                 {"TO", LEFT, 1},    {"KEPT", RIGHT, 0}, {"NEXT CLEANING", LEFT, 2}};
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < SURVEY_TABLES; i++) {
        const struct store_table *t = &s->survey.tables[i];
        char rows[24], first[MOMENT_TEXT_SIZE], last[MOMENT_TEXT_SIZE], kept[WORDS_SIZE], next[MOMENT_TEXT_SIZE];
        snprintf(rows, sizeof rows, "%lld", (long long)t->rows);
        moment_format(t->first, s->now, first);
        moment_format(t->last, s->now, last);
        words_duration(kept_ms(&s->limits, t->name), kept);
        moment_format((struct wall){next_cleaning_ms(s, t)}, s->now, next);
        grid_add(&g, INK_STRONG, t->name);
        grid_add(&g, INK_PLAIN, rows);
        grid_add(&g, INK_PLAIN, t->rows ? first : page_dash(page));
        grid_add(&g, INK_PLAIN, t->rows ? last : page_dash(page));
        grid_add(&g, INK_PLAIN, kept);
        grid_add(&g, INK_PLAIN, t->rows ? (next_cleaning_ms(s, t) == s->now.ms ? "now" : next) : page_dash(page));
    }
    grid_write(out, page, &g);
}

static void write_text(struct buf *out, const struct page *page, const struct status *s)
{
    const struct store_survey *v = &s->survey;
    buf_printf(out, "store   %s, %s (%s)\n", v->kind, s->place, db_choice_words(s->choice));
    buf_printf(out, "schema  version %lld%s\n", (long long)v->version,
               v->version < store_known_version()
                   ? ", older than this program: `whirr db migrate`, or a start of the daemon, brings it up to date"
                   : "");
    if (s->counted) {
        write_size(out, s);
        buf_printf(out, "of      %lld host%s, %lld GPU%s\n", (long long)v->hosts, v->hosts == 1 ? "" : "s", (long long)v->gpus,
                   v->gpus == 1 ? "" : "s");
    }
    write_daemon(out, page, s);
    if (s->counted) {
        buf_char(out, '\n');
        write_tables(out, page, s);
    }
}

static int read_survey(struct cli *cli, const char *url, struct status *s, struct error *err)
{
    int rc = store_peek_version(&cli->env, url, &s->survey.version, err);
    if (rc < 0)
        return rc;
    if (s->survey.version == 0)
        return error_set(err, -ENOENT, "nothing is stored at '%s'", s->place);
    s->survey.kind = strncmp(url, "sqlite:", 7) == 0 ? "sqlite" : "postgresql";
    if (s->survey.version < store_known_version())
        return 0;
    struct store *store = NULL;
    rc = store_open_read_only(&cli->env, url, &store, err);
    if (rc == 0)
        rc = store_survey(store, &s->survey, err);
    s->counted = rc == 0;
    store_close(store);
    return rc;
}

int db_status(struct cli *cli, const struct config *config, const struct db_choice *choice, struct error *err)
{
    struct status s = {.limits = history_limits(config),
                       .now = clock_wall(cli->env.clock),
                       .queue_bytes = queue_size(choice->url),
                       .choice = choice};
    store_place_text(choice->url, s.place, sizeof s.place);
    int rc = read_survey(cli, choice->url, &s, err);
    if (rc < 0)
        return rc;
    take_health(choice->health, &s);
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (cli->json) {
        struct json_writer j = show_json(cli, &out);
        write_json(&j, &s);
        buf_char(&out, '\n');
    } else {
        write_text(&out, &cli->page, &s);
    }
    return show_text(&out) == EXIT_FINE ? 0 : error_set(err, -EIO, "cannot write");
}
