/* SPDX-License-Identifier: Apache-2.0
 * whirr db: maintains the history database.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/client.h"
#include "ask/history_source.h"
#include "ask/progress.h"
#include "base/cleanup.h"
#include "base/os/words.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/history/db.h"
#include "config/places.h"
#include "store/admin.h"
#include "store/copy.h"

/* ---- which database: the daemon knows best where it writes; it reports that without the password ---- */

static void ask_daemon(const struct cli *cli, bool to_act, struct db_choice *c)
{
    struct client *client = NULL;
    struct error err = {0};
    const char *socket = cli->settings->server.socket;
    if (options_has(cli->options, "direct") ||
        (to_act ? client_open_to_act(socket, &client, &err) : client_open(socket, &client, &err)) < 0)
        return;
    AUTO_BUF struct buf answer = BUF(1 << 20);
    int code = client_request(client, "GET", "/api/health", NULL, &answer, CLIENT_WITHIN_MS, &err);
    str_copy(c->daemon, sizeof c->daemon, str_from(client_place(client)));
    client_close(client);
    AUTO_JSON json_t *doc = code > 0 ? json_loadb(answer.at, answer.len, 0, NULL) : NULL;
    c->health = json_incref(json_object_get(doc, "store"));
    const char *place = json_string_value(json_object_get(c->health, "place"));
    str_copy(c->daemon_place, sizeof c->daemon_place, str_from(place ? place : ""));
}

/* Chooses the daemon's database, if its password is known here. */
static int choose_daemons(const struct cli *cli, struct db_choice *c, struct error *err)
{
    char own[STORE_PLACE_SIZE], shown[STORE_PLACE_SIZE];
    c->by = "daemon";
    if (!strstr(c->daemon_place, "://"))
        return store_place(c->daemon_place, c->url, err);
    /* The daemon reports the place on a server without the password; the settings may have it. */
    if (store_place(cli->settings->store.url, own, err) == 0) {
        store_place_text(own, shown, sizeof shown);
        if (strcmp(shown, c->daemon_place) == 0) {
            str_copy(c->url, sizeof c->url, str_from(own));
            return 0;
        }
    }
    return error_set(err, -EINVAL, "the daemon at %s writes to %s, which is not in the settings here; give it with --store",
                     c->daemon, c->daemon_place);
}

/* `to_act`: to change the database, asks only this user's own daemon: another user's database must be named to be changed. */
static int db_choose(const struct cli *cli, bool to_act, struct db_choice *ret, struct error *err)
{
    const char *named = options_value(cli->options, "store", NULL), *configured = cli->settings->store.url;
    *ret = (struct db_choice){.by = named ? "option" : strcmp(configured, "auto") == 0 ? "default" : "settings"};
    ask_daemon(cli, to_act, ret);
    if (!named && ret->daemon_place[0])
        return choose_daemons(cli, ret, err);
    return store_place(named ? named : configured, ret->url, err);
}

static void db_choice_done(struct db_choice *c)
{
    json_decref(c->health);
    c->health = NULL;
}

const char *db_choice_words(const struct db_choice *c)
{
    return strcmp(c->by, "option") == 0     ? "given with --store"
           : strcmp(c->by, "daemon") == 0   ? "where the daemon writes"
           : strcmp(c->by, "settings") == 0 ? "store.url"
                                            : "the default";
}

/* ---- the subcommands ---- */

/* The context of a subcommand. */
struct db_job {
    struct cli *cli;
    const struct config *config;
    struct db_choice choice;
    const char *url;
    char place[STORE_PLACE_SIZE]; /* the URL without its password, for display */
};

/* Prints an error and how to solve it. */
static int db_failed(const struct db_job *job, int rc, const struct error *err)
{
    bool file = strncmp(job->url, "sqlite:", 7) == 0;
    switch (rc) {
    case -ENOENT: return cli_fail("%s\nTo record a history: whirr serve; to read another one: --store", err->text);
    case -EBUSY:
        return cli_fail("the database is locked by another writer, most likely the daemon (%s); try again, or stop it meanwhile",
                        err->text);
    case -EACCES:
    case -EPERM:
    case -EROFS:
        return file ? cli_fail(
                          "%s; it belongs to the user that the daemon runs as: try again as that user or " WORD_AS_ADMINISTRATOR,
                          err->text)
                    : cli_fail("%s", err->text);
    default: return cli_fail("%s", err->text);
    }
}

/* ---- migrate ---- */

ANSWER_TABLE(head_answer, struct db_job)
{
    FIELD(TEXT, "place", place, NULL);
}

struct told_migration {
    const struct db_job *job;
    int64_t from, to;
    bool migrated;
};

ANSWER_TABLE(migrated_answer, struct told_migration)
{
    VIA(KEYS, NULL, job, head_answer, NULL);
    FIELD(INT, "from_version", from, NULL);
    FIELD(INT, "to_version", to, NULL);
    FIELD(BOOL, "migrated", migrated, NULL);
}

struct told_vacuum {
    const struct db_job *job;
    int64_t before, after, freed;
};

ANSWER_TABLE(vacuumed_answer, struct told_vacuum)
{
    VIA(KEYS, NULL, job, head_answer, NULL);
    FIELD(INT, "before_bytes", before, NULL);
    FIELD(INT, "after_bytes", after, NULL);
    FIELD(INT, "freed_bytes", freed, NULL);
}

static int print_migrated(struct db_job *job, int64_t from, int64_t to)
{
    AUTO_BUF struct buf out = BUF(16384);
    if (job->cli->json) {
        return show_answer(job->cli, &migrated_answer, &(struct told_migration){job, from, to, from != to});
    } else if (from == to) {
        buf_printf(&out, "%s: the schema is version %lld, the newest that this program knows: nothing to do.\n", job->place,
                   (long long)to);
    } else {
        buf_printf(&out, "%s: migrated from schema version %lld to %lld.\n", job->place, (long long)from, (long long)to);
    }
    return show_text(&out);
}

static int migrate(struct db_job *job)
{
    struct error err = {0};
    int64_t version, known = store_known_version();
    int rc = store_peek_version(&job->cli->env, job->url, &version, &err);
    if (rc < 0)
        return db_failed(job, rc, &err);
    if (version == 0)
        return cli_fail("nothing is stored there yet; `whirr serve` creates the tables automatically");
    if (version == known)
        return print_migrated(job, version, known);
    if (options_has(job->cli->options, "dry-run"))
        return show_would(job->cli, "migrate %s from schema version %lld to %lld", job->place, (long long)version,
                          (long long)known);
    /* Opening for writing migrates. */
    const struct store_options options = {
        .env = &job->cli->env, .url = job->url, .host = job->config->store.host, .limits = store_default_limits};
    struct store *s = NULL;
    struct progress *shown = progress_begin("migrating");
    rc = store_open(&options, &s, &err);
    store_close(s);
    progress_end(shown);
    return rc < 0 ? db_failed(job, rc, &err) : print_migrated(job, version, known);
}

/* ---- vacuum ---- */

static int vacuum(struct db_job *job)
{
    struct error err = {0};
    int64_t before, after;
    if (options_has(job->cli->options, "dry-run")) {
        int64_t version;
        int rc = store_peek_version(&job->cli->env, job->url, &version, &err);
        return rc < 0 ? db_failed(job, rc, &err) : show_would(job->cli, "rewrite %s without its free space", job->place);
    }
    struct progress *shown = progress_begin("vacuuming");
    int rc = store_vacuum(&job->cli->env, job->url, options_has(job->cli->options, "full"), &before, &after, &err);
    progress_end(shown);
    if (rc == -ENOSPC)
        return cli_fail("%s; rewriting the file temporarily needs as much space again", err.text);
    if (rc < 0)
        return db_failed(job, rc, &err);
    AUTO_BUF struct buf out = BUF(16384);
    if (job->cli->json) {
        return show_answer(job->cli, &vacuumed_answer,
                           &(struct told_vacuum){job, before, after, MAX_OF(before - after, (int64_t)0)});
    }
    char text[3][NUMBER_SIZE];
    words_bytes(before, text[0]);
    words_bytes(after, text[1]);
    words_bytes(before - after, text[2]);
    if (before > after)
        buf_printf(&out, "%s: freed %s: %s before, %s now.\n", job->place, text[2], text[0], text[1]);
    else
        buf_printf(&out, "%s: nothing to free: %s.\n", job->place, text[1]);
    return show_text(&out);
}

/* ---- export ---- */

static const char *const exports[] = {"samples",   "minutes", "hours", "host-samples", "host-minutes", "host-hours",
                                      "processes", "events",  NULL};

struct export_request {
    const struct cli *cli;
    const char *what;
};

static bool parameter(void *user, const char *key, char *value, size_t size)
{
    const struct export_request *request = user;
    bool host = strncmp(request->what, "host-", 5) == 0;
    const char *text = options_value(request->cli->options, key, NULL);
    if (strcmp(key, "format") == 0)
        text = text ? text : "csv";
    else if (strcmp(key, "since") == 0)
        text = text ? text : "all";
    else if (strcmp(key, "host") == 0)
        text = text ? text : "*";
    else if (strcmp(key, "metric") == 0)
        text = host ? "host.all" : "all";
    else if (strcmp(key, "step") == 0)
        text = strstr(request->what, "minutes") ? "1m" : strstr(request->what, "hours") ? "1h" : "raw";
    if (!text)
        return false;
    str_copy(value, size, str_from(text));
    return true;
}

struct exported {
    FILE *file;
    struct progress *shown;
    int64_t bytes;
};

static int write_counted(void *user, struct str piece)
{
    struct exported *e = user;
    e->bytes += (int64_t)piece.len;
    progress_set(e->shown, NULL, -1, e->bytes >> 20, "MiB");
    return history_write_piece(e->file, piece);
}

static int download(struct history_source *source, const struct history_question *q, FILE *file, struct error *err)
{
    /* Nothing may be drawn between lines that a person reads. */
    struct exported e = {.file = file, .shown = isatty(fileno(file)) ? NULL : progress_begin("exporting")};
    int rc = history_source_download(source, q, write_counted, &e, err);
    progress_end(e.shown);
    return rc;
}

/* Writes beside the file and renames: it is complete, or it does not exist. */
static int export_to_file(const struct db_job *job, struct history_source *source, const struct history_question *q,
                          const char *path, struct error *err)
{
    char part[PLACE_SIZE];
    if (access(path, F_OK) == 0 && !options_has(job->cli->options, "force"))
        return error_set(err, -EEXIST, "'%s' exists already; to overwrite it: --force", path);
    snprintf(part, sizeof part, "%s.part", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        int code = -errno;
        if (fd >= 0)
            close(fd);
        return error_set(err, code, "cannot write '%s': %s", part, strerror(-code));
    }
    int rc = download(source, q, file, err);
    errno = 0;
    if (fflush(file) != 0 || fsync(fd) != 0 || fclose(file) != 0)
        rc = rc < 0 ? rc : error_set(err, -EIO, "cannot write '%s': %s", part, strerror(errno));
    if (rc == 0 && rename(part, path) != 0)
        rc = error_set(err, -errno, "cannot rename to '%s': %s", path, strerror(errno));
    if (rc < 0)
        unlink(part);
    return rc;
}

static int export(struct db_job *job)
{
    const struct options *o = job->cli->options;
    const char *path = options_value(o, "output", "-");
    struct export_request request = {.cli = job->cli, .what = o->argument_count > 1 ? o->arguments[1] : "samples"};
    struct error err = {0};
    size_t known = 0;
    while (exports[known] && strcmp(exports[known], request.what) != 0)
        known++;
    if (!exports[known])
        return cli_usage(
            job->cli,
            "'%s' cannot be exported: samples, minutes, hours, host-samples, host-minutes, host-hours, processes or events",
            request.what);
    AUTO_FREE struct history_question *q = malloc(sizeof *q);
    if (!q)
        return cli_fail("out of memory");
    enum history_kind kind = strcmp(request.what, "processes") == 0 ? HISTORY_PROCESSES
                             : strcmp(request.what, "events") == 0  ? HISTORY_EVENTS
                                                                    : HISTORY_SERIES;
    if (history_question_read(q, kind, parameter, &request, clock_wall(job->cli->env.clock), MOMENT_LOCAL, &err) < 0)
        return cli_usage(job->cli, "%s", err.text);
    q->finest = true;
    struct history_source *source = NULL;
    int rc = history_source_open_store(job->cli, job->config, job->url, &source, &err);
    if (rc == 0 && strcmp(path, "-") == 0)
        rc = download(source, q, stdout, &err);
    else if (rc == 0)
        rc = export_to_file(job, source, q, path, &err);
    if (rc == 0 && fflush(stdout) != 0)
        rc = error_set(&err, errno == EPIPE ? -EPIPE : -EIO, "cannot write: %s", strerror(errno));
    history_source_close(source);
    if (rc == -EPIPE)
        return EXIT_FAILED;
    return rc < 0 ? db_failed(job, rc, &err) : EXIT_FINE;
}

/* ---- copy, backup and restore: they run for minutes, say how far they are, and can be stopped ---- */

static void show_copied(void *shown, const struct copy_counts *counts)
{
    progress_set(shown, counts->tables[counts->table].name, counts->permille, copy_rows(counts), "rows");
}

ANSWER_TABLE(table_answer, struct copy_table_count)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(INT, "rows", rows, NULL);
    FIELD(INT, "written", written, NULL);
    FIELD(INT, "kept", kept, NULL);
}

struct told_copy {
    const char *from, *to;
    int64_t hosts, gpus, rows, written;
    const struct copy_table_count *tables;
    size_t count;
};

ANSWER_TABLE(copied_answer, struct told_copy)
{
    FIELD(WORD, "from", from, NULL);
    FIELD(WORD, "to", to, NULL);
    FIELD(INT, "hosts", hosts, NULL);
    FIELD(INT, "gpus", gpus, NULL);
    FIELD(INT, "rows", rows, NULL);
    FIELD(INT, "written", written, NULL);
    OBJECTS("tables", tables, count, table_answer, NULL);
}

struct told_backup {
    const struct db_job *job;
    const char *file;
    int64_t bytes;
};

ANSWER_TABLE(backed_up_answer, struct told_backup)
{
    VIA(KEYS, NULL, job, head_answer, NULL);
    FIELD(WORD, "file", file, NULL);
    FIELD(INT, "bytes", bytes, NULL);
}

static void write_copied_json(struct cli *cli, struct buf *out, const char *from, const char *to, const struct copy_counts *counts)
{
    answer_write(AS_JSON_LINE(cli, out), &copied_answer,
                 &(struct told_copy){from, to, counts->hosts, counts->gpus, copy_rows(counts), copy_written(counts), counts->tables,
                                     COPY_TABLES},
                 NULL);
}

static void write_copied_text(struct buf *out, const char *to, const struct copy_counts *counts)
{
    int64_t rows = copy_rows(counts), written = copy_written(counts), kept = 0;
    for (size_t i = 0; i < COPY_TABLES; i++)
        kept += counts->tables[i].kept;
    buf_printf(out, "%s: all %lld row%s of %lld host%s and %lld GPU%s are there, ", to, (long long)rows, rows == 1 ? "" : "s",
               (long long)counts->hosts, counts->hosts == 1 ? "" : "s", (long long)counts->gpus, counts->gpus == 1 ? "" : "s");
    buf_printf(out, written ? "%lld added now and read back.\n" : "and were before.\n", (long long)written);
    if (kept)
        buf_printf(out, "%lld of them are more complete there and stay as they are.\n", (long long)kept);
}

/* The URLs, and the words for them. */
static int run_copy(struct db_job *job, const char *from, const char *to, const char *what)
{
    struct error err = {0};
    char shown[2][STORE_PLACE_SIZE];
    static struct copy_counts counts;
    store_place_text(from, shown[0], sizeof shown[0]);
    store_place_text(to, shown[1], sizeof shown[1]);
    if (options_has(job->cli->options, "dry-run")) {
        int64_t version;
        int rc = store_peek_version(&job->cli->env, from, &version, &err);
        return rc < 0 ? db_failed(job, rc, &err)
                      : show_would(job->cli, "add to %s what is missing there of %s", shown[1], shown[0]);
    }
    struct progress *progress = progress_begin(what);
    int rc = store_copy(&(struct copy_options){.env = &job->cli->env,
                                               .from = from,
                                               .to = to,
                                               .host = options_value(job->cli->options, "host", NULL),
                                               .cancel = progress_stop(),
                                               .progress = show_copied,
                                               .user = progress},
                        &counts, &err);
    progress_end(progress);
    if (rc == -ECANCELED)
        return cli_fail("stopped; %lld rows of %s are in %s, and the same command goes on from there",
                        (long long)copy_rows(&counts), shown[0], shown[1]);
    if (rc < 0)
        return db_failed(job, rc, &err);
    AUTO_BUF struct buf out = BUF(16384);
    if (job->cli->json)
        write_copied_json(job->cli, &out, shown[0], shown[1], &counts);
    else
        write_copied_text(&out, shown[1], &counts);
    return show_text(&out);
}

static int db_copy(struct db_job *job)
{
    static char from[STORE_PLACE_SIZE], to[STORE_PLACE_SIZE];
    struct error err = {0};
    if (store_place(job->cli->options->arguments[1], from, &err) < 0 || store_place(job->cli->options->arguments[2], to, &err) < 0)
        return cli_error(job->cli, &err);
    job->url = from;
    if (strcmp(from, to) == 0)
        return cli_usage(job->cli, "FROM and TO are the same database");
    return run_copy(job, from, to, "copying");
}

static int db_restore(struct db_job *job)
{
    static char from[STORE_PLACE_SIZE];
    struct error err = {0};
    char found[256];
    if (store_place(job->cli->options->arguments[1], from, &err) < 0)
        return cli_error(job->cli, &err);
    /* A damaged backup is named before anything is taken from it. */
    struct progress *progress = progress_begin("looking through the backup");
    int rc = store_find_damage(from, progress_stop(), INT64_C(3600000), found, sizeof found, &err);
    progress_end(progress);
    if (rc == -ECANCELED)
        return cli_fail("stopped; nothing was restored yet");
    if (rc == 0 && found[0])
        return cli_fail("%s is damaged: %s\nTo take from it what can be read: whirr db copy %s %s", from + strlen("sqlite:"), found,
                        from + strlen("sqlite:"), job->place);
    if (rc == -ENOENT)
        return cli_fail("cannot open '%s': %s", job->cli->options->arguments[1], err.text);
    if (rc < 0 && rc != -EOPNOTSUPP)
        return db_failed(job, rc, &err);
    return run_copy(job, from, job->url, "restoring");
}

static void show_part(void *shown, const char *part, int64_t permille)
{
    progress_set(shown, part, permille, 0, NULL);
}

static int db_backup(struct db_job *job)
{
    const char *path = job->cli->options->arguments[1];
    struct error err = {0};
    int64_t bytes = 0;
    char size[NUMBER_SIZE];
    if (access(path, F_OK) == 0 && !options_has(job->cli->options, "force"))
        return cli_fail("'%s' exists already; to overwrite it: --force", path);
    if (options_has(job->cli->options, "dry-run")) {
        int64_t version;
        int rc = store_peek_version(&job->cli->env, job->url, &version, &err);
        return rc < 0 ? db_failed(job, rc, &err) : show_would(job->cli, "write all of %s to %s", job->place, path);
    }
    struct progress *progress = progress_begin("backing up");
    int rc = store_backup(&(struct backup_options){.env = &job->cli->env,
                                                   .from = job->url,
                                                   .path = path,
                                                   .host = options_value(job->cli->options, "host", NULL),
                                                   .cancel = progress_stop(),
                                                   .progress = show_part,
                                                   .user = progress},
                          &bytes, &err);
    progress_end(progress);
    if (rc == -ECANCELED)
        return cli_fail("stopped; there is no '%s'", path);
    if (rc < 0)
        return db_failed(job, rc, &err);
    AUTO_BUF struct buf out = BUF(16384);
    if (job->cli->json) {
        return show_answer(job->cli, &backed_up_answer, &(struct told_backup){job, path, bytes});
    } else {
        buf_printf(&out, "%s: backed up to %s, %s.\n", job->place, path, words_bytes(bytes, size));
    }
    return show_text(&out);
}

/* ---- the command ---- */

static int status(struct db_job *job)
{
    struct error err = {0};
    int rc = db_status(job->cli, job->config, &job->choice, &err);
    return rc < 0 ? db_failed(job, rc, &err) : EXIT_FINE;
}

static int db_run(struct cli *cli)
{
    static const struct {
        const char *name;
        int (*run)(struct db_job *job);
        bool acts;
        const char *takes; /* its further arguments */
        size_t least, most;
    } verbs[] = {{"status", status, false, "", 0, 0},         {"migrate", migrate, true, "", 0, 0},
                 {"export", export, false, " [WHAT]", 0, 1},  {"vacuum", vacuum, true, "", 0, 0},
                 {"copy", db_copy, false, " FROM TO", 2, 2},  {"backup", db_backup, false, " FILE", 1, 1},
                 {"restore", db_restore, true, " FILE", 1, 1}};
    static const char *const names[] = {"status", "migrate", "export", "vacuum", "copy", "backup", "restore"};
    _Static_assert(ARRAY_LEN(names) == ARRAY_LEN(verbs), "one name for each");
    const char *verb = cli->options->arguments[0];
    size_t which = 0;
    while (which < ARRAY_LEN(verbs) && strcmp(verbs[which].name, verb) != 0)
        which++;
    if (which == ARRAY_LEN(verbs))
        return cli_unknown(cli, "subcommand", verb, names, ARRAY_LEN(names));
    size_t given = cli->options->argument_count - 1;
    if (given > verbs[which].most)
        return cli_usage(cli, "'%s' does not take '%s'", verb, cli->options->arguments[1 + verbs[which].most]);
    if (given < verbs[which].least)
        return cli_usage(cli, "it is: whirr db %s%s", verb, verbs[which].takes);
    tzset();
    static struct db_job job; /* large */
    struct error err = {0};
    job = (struct db_job){.cli = cli, .config = cli->settings};
    /* A copy names both. */
    int rc = verbs[which].run == db_copy ? 0 : db_choose(cli, verbs[which].acts, &job.choice, &err), code;
    job.url = job.choice.url;
    store_place_text(job.url, job.place, sizeof job.place);
    if (rc < 0)
        code = cli_error(cli, &err);
    else
        code = verbs[which].run(&job);
    db_choice_done(&job.choice);
    return code;
}

static const char *const formats[] = {"csv", "jsonl", NULL};

static const struct option_spec options[] = {
    {OPTION_STORE},
    {.name = "format", .argument = "FORMAT", .values = formats, .help = "export: csv (default) or jsonl"},
    {OPTION_OUTPUT("export: write to this file instead of stdout")},
    {.name = "force", .help = "export, backup: overwrite an existing file"},
    {.name = "since", .argument = "TIME", .help = "export: start, like -30d (default: all)"},
    {.name = "until", .argument = "TIME", .help = "export: end (default: now)"},
    {.name = "of", .known_as = "host", .argument = "NAME", .help = "export, copy, backup, restore: only this host (default: all)"},
    {.name = "full", .help = "vacuum, PostgreSQL: return space to the disk; locks each table meanwhile"},
    {.name = "dry-run", .help = "migrate, vacuum, copy, backup, restore: show what would be done; change nothing"},
};

const struct command command_db = {
    .name = "db",
    .group = HELP_SETUP,
    .summary = "Manage the history database: status, backup, restore, copy, export, migrate, vacuum",
    .details =
        "Uses the database given with --store; else the one that the daemon writes to (to change something: only your own "
        "daemon's); else the configured one. status counts rows and shows what is cleaned up when. migrate brings the "
        "tables of an older version up to date; the daemon does that automatically when it starts. export writes samples, "
        "minutes, hours, host-samples, host-minutes, host-hours, processes or events, any number of them in little memory. "
        "vacuum rewrites the file without free space; samples of a running daemon wait meanwhile and are not lost. backup "
        "writes all of the history into one SQLite file; restore adds the rows of one that are missing and deletes nothing. "
        "copy does the same between any two databases, such as a file and a PostgreSQL server, reads each row back, and goes "
        "on where it was stopped. All of them work while the daemon runs.",
    .arguments = "status | backup FILE | restore FILE | copy FROM TO | export [WHAT] | migrate | vacuum",
    .offers = {{.behind = "export",
                .place = 1,
                .words = "samples|minutes|hours|host-samples|host-minutes|host-hours|processes|events"}},
    .arguments_min = 1,
    .arguments_max = 3,
    OPTIONS(options),
    .examples = {{"whirr db status", "what is stored, for which time, and how much space it takes"},
                 {"whirr db backup /mnt/backup/whirr.db", "everything, in one file, while the daemon runs"},
                 {"whirr db copy whirr.db postgresql://whirr@db/whirr", "move to a server"}},
    .run = db_run,
};
