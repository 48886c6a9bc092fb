/* SPDX-License-Identifier: Apache-2.0
 * whirr db copy, backup and restore: they run for minutes, say how far they are, and can be stopped.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/progress.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/history/db.h"
#include "store/admin.h"
#include "store/copy.h"

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
    VIA(KEYS, NULL, job, db_head_answer, NULL);
    FIELD(WORD, "file", file, NULL);
    FIELD(INT, "bytes", bytes, NULL);
}

static void write_json(struct cli *cli, struct buf *out, const char *from, const char *to, const struct copy_counts *counts)
{
    answer_write(AS_JSON_LINE(cli, out), &copied_answer,
                 &(struct told_copy){from, to, counts->hosts, counts->gpus, copy_rows(counts), copy_written(counts), counts->tables,
                                     COPY_TABLES},
                 NULL);
}

static void write_text(struct buf *out, const char *to, const struct copy_counts *counts)
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
        write_json(job->cli, &out, shown[0], shown[1], &counts);
    else
        write_text(&out, shown[1], &counts);
    return show_text(&out);
}

int db_copy(struct db_job *job)
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

int db_restore(struct db_job *job)
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

int db_backup(struct db_job *job)
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
