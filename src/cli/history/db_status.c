/* SPDX-License-Identifier: Apache-2.0
 * The database's contents, the daemon's report on it, and what will be cleaned up next.
 */
#include "cli/history/db.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/places.h"
#include "daemon/part.h"
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

static bool make_kept(const struct answer_at *at, union answer_value *ret)
{
    const struct status *s = at->context;
    ret->real = (double)kept_ms(&s->limits, ((const struct store_table *)at->record)->name) / 86400000.0;
    return true;
}

static bool make_next_cleaning(const struct answer_at *at, union answer_value *ret)
{
    ret->at.ms = next_cleaning_ms(at->context, at->record);
    return true;
}

ANSWER_TABLE(table_answer, struct store_table)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(INT, "rows", rows, NULL);
    FIELD(MOMENT, "first", first, NULL, OR_NULL);
    FIELD(MOMENT, "last", last, NULL, OR_NULL);
    MADE(NUMBER, "kept_days", make_kept, NULL);
    MADE(MOMENT, "next_cleaning", make_next_cleaning, NULL, OR_NULL);
}

ANSWER_TABLE(choice_answer, struct db_choice)
{
    FIELD(TEXT, "socket", daemon, NULL, OR_NULL);
    FIELD(TEXT, "place", daemon_place, NULL, OR_NULL);
}

ANSWER_TABLE(daemon_answer, struct status)
{
    FIELD(BOOL, "running", daemon, NULL);
    VIA(KEYS, NULL, choice, choice_answer, NULL);
    FIELD(TEXT, "store_state", state, NULL, OR_NULL);
    FIELD(TEXT, "message", message, NULL, OR_NULL);
    FIELD(INT, "waiting", waiting, NULL, PRESENT(daemon));
}

ANSWER_MAKER(make_chosen_by, struct status, word, of->choice->by);

static bool make_known_version(const struct answer_at *at, union answer_value *ret)
{
    (void)at;
    ret->number = store_known_version();
    return true;
}

static const void *next_table(const struct answer_at *at, struct answer_step *step)
{
    const struct status *s = at->record;
    return s->counted && step->at < SURVEY_TABLES ? &s->survey.tables[step->at++] : NULL;
}

ANSWER_TEST(has_log, struct status, of->counted && of->survey.log_bytes >= 0);
ANSWER_TEST(has_unused, struct status, of->counted && of->survey.unused_bytes >= 0);

ANSWER_TABLE(status_answer, struct status)
{
    FIELD(WORD, "kind", survey.kind, NULL);
    FIELD(TEXT, "place", place, NULL);
    MADE(WORD, "chosen_by", make_chosen_by, NULL);
    FIELD(INT, "schema_version", survey.version, NULL);
    MADE(INT, "known_version", make_known_version, NULL);
    FIELD(INT, "size_bytes", survey.bytes, NULL, PRESENT(counted));
    FIELD(INT, "unused_bytes", survey.unused_bytes, NULL, WHEN(has_unused));
    FIELD(INT, "log_bytes", survey.log_bytes, NULL, WHEN(has_log));
    FIELD(INT, "max_size_bytes", limits.max_bytes, "null: no limit", OR_NULL);
    FIELD(INT, "hosts", survey.hosts, NULL, PRESENT(counted));
    FIELD(INT, "gpus", survey.gpus, NULL, PRESENT(counted));
    PART("daemon", daemon_answer, NULL);
    FIELD(INT, "queue_bytes", queue_bytes, NULL, NONE(-1));
    EACH(OBJECT, "tables", next_table, NULL, FIELDS(table_answer));
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
    if (cli->json)
        answer_write(AS_JSON_LINE(cli, &out), &status_answer, &s, &s);
    else
        write_text(&out, &cli->page, &s);
    return show_text(&out) == EXIT_FINE ? 0 : error_set(err, -EIO, "cannot write");
}
