/* SPDX-License-Identifier: Apache-2.0
 * Shows, applies and undoes a plan.
 */
#include "cli/setup/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/keep.h"
#include "base/os/shared.h"
#include "config/config.h"
#include "config/edit.h"

enum { RECORD_VERSION = 1, RECORD_MAX = 8 << 20, COMMAND_MS = 60000, SAID_MAX = 16 * 1024 };

void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->file_count; i++) {
        free(p->files[i].before);
        free(p->files[i].after);
    }
    *p = (struct plan){0};
}

/* ---- building ---- */

static int read_file(const char *path, char **ret, struct error *err)
{
    AUTO_BUF struct buf text = BUF(EDIT_TEXT_MAX);
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    int rc = edit_read(path, &text, err);
    if (rc == 0 && !(*ret = strdup(text.at ? text.at : "")))
        rc = error_set(err, -ENOMEM, "out of memory");
    return rc;
}

int plan_add_file(struct plan *p, const char *path, struct str after, bool config, struct error *err)
{
    if (p->file_count == PLAN_FILES_MAX)
        return error_set(err, -ENOSPC, "too many files");
    struct plan_file *f = &p->files[p->file_count];
    *f = (struct plan_file){.config = config};
    str_copy(f->path, sizeof f->path, str_from(path));
    int rc = read_file(path, &f->before, err);
    if (rc < 0)
        return rc;
    if (f->before ? str_is(after, f->before) : after.len == 0) {
        free(f->before);
        return 0;
    }
    f->after = strndup(after.at, after.len);
    p->file_count++;
    return f->after ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static void copy_words(struct plan_command *c, const char *const *argv)
{
    for (c->count = 0; argv[c->count] && c->count < PLAN_WORDS_MAX; c->count++)
        str_copy(c->words[c->count], PLAN_WORD_SIZE, str_from(argv[c->count]));
}

void plan_add_command(struct plan *p, const char *const *argv, const char *const *undo)
{
    if (p->command_count == PLAN_COMMANDS_MAX)
        return;
    copy_words(&p->commands[p->command_count++], argv);
    if (undo)
        copy_words(&p->undo[p->undo_count++], undo);
}

bool plan_is_empty(const struct plan *p)
{
    return p->file_count == 0 && p->command_count == 0;
}

/* ---- showing ---- */

static bool is_secret(struct str line)
{
    struct str rest = line, key;
    if (!memchr(line.at, '=', line.len) || !str_cut(&rest, '=', &key) || !config_key_is_secret(str_trim(key)))
        return false;
    return !str_starts(str_trim(rest), "\"http://127.0.0.1") && !str_starts(str_trim(rest), "\"http://localhost");
}

static bool has_line(const char *text, struct str wanted)
{
    struct str rest = str_from(text ? text : ""), line;
    while (str_cut(&rest, '\n', &line))
        if (str_equal(line, wanted))
            return true;
    return false;
}

/* Prints the lines of `text` that `other` lacks. */
static void put_lines(struct buf *out, char mark, const char *text, const char *other)
{
    struct str rest = str_from(text ? text : ""), line, key;
    while (str_cut(&rest, '\n', &line)) {
        if (!line.len || has_line(other, line))
            continue;
        struct str shown = line;
        if (is_secret(line))
            str_cut(&shown, '=', &key);
        if (is_secret(line))
            buf_printf(out, "    %c " STR_FMT "= (hidden)\n", mark, STR_ARG(key));
        else
            buf_printf(out, "    %c " STR_FMT "\n", mark, STR_ARG(line));
    }
}

static void put_command(struct buf *out, const struct plan_command *c)
{
    for (size_t i = 0; i < c->count; i++)
        buf_printf(out, "%s%s", i ? " " : "", c->words[i]);
}

void plan_show(const struct plan *p, struct buf *out)
{
    if (plan_is_empty(p)) {
        buf_text(out, "Nothing to do: everything is set up like this already.\n");
        return;
    }
    buf_text(out, p->file_count ? "Files\n" : "");
    for (size_t i = 0; i < p->file_count; i++) {
        const struct plan_file *f = &p->files[i];
        buf_printf(out, "  %s (%s)\n", f->path, f->before ? "changed" : "new");
        put_lines(out, '-', f->before, f->after);
        put_lines(out, '+', f->after, f->before);
    }
    buf_text(out, p->command_count ? "Commands\n" : "");
    for (size_t i = 0; i < p->command_count; i++) {
        buf_text(out, "  ");
        put_command(out, &p->commands[i]);
        buf_char(out, '\n');
    }
}

ANSWER_MAKER(make_new, struct plan_file, yes, !of->before);

ANSWER_TABLE(file_answer, struct plan_file)
{
    FIELD(TEXT, "path", path, NULL);
    MADE(BOOL, "new", make_new, NULL);
}

/* The context is room for a line. */
static const void *next_command(const struct answer_at *at, struct answer_step *step)
{
    const struct plan *p = at->record;
    struct buf *line = at->context;
    if (step->at == p->command_count)
        return NULL;
    line->len = 0;
    put_command(line, &p->commands[step->at++]);
    step->item.text = buf_view(line);
    return &step->item;
}

ANSWER_TABLE(steps_answer, struct plan)
{
    OBJECTS("files", files, file_count, file_answer, NULL);
    EACH(PIECE, "commands", next_command, NULL);
}

struct told_setup {
    bool done;
    const struct plan *p;
};

ANSWER_TABLE(plan_answer, struct told_setup)
{
    FIELD(BOOL, "done", done, NULL);
    VIA(KEYS, NULL, p, steps_answer, NULL);
}

void plan_json(const struct plan *p, bool done, struct buf *out)
{
    AUTO_BUF struct buf line = BUF(8192);
    answer_write(JSON_PAGE(out), &plan_answer, &(struct told_setup){done, p}, &line);
}

/* ---- the record ---- */

static int record_path(char path[PLACE_SIZE + 16], struct error *err)
{
    char folder[PLACE_SIZE];
    int rc = place_state(folder, err);
    if (rc == 0)
        snprintf(path, PLACE_SIZE + 16, "%s/setup.json", folder);
    return rc;
}

/* NULL: there is none, or *rc says why it can't be read. */
static json_t *read_record(const char *path, int *rc, struct error *err)
{
    AUTO_BUF struct buf text = BUF(RECORD_MAX);
    int result = keep_read(path, &text, err);
    *rc = is_gone(result) || result == -ENOTDIR ? 0 : result;
    if (result < 0)
        return NULL;
    json_t *root = json_loadb(text.at, text.len, 0, NULL);
    if (json_integer_value(json_object_get(root, "version")) == RECORD_VERSION)
        return root;
    json_decref(root);
    return NULL;
}

static void plan_hash(const char *text, char hex[HEX_SIZE(SHA256_SIZE)])
{
    uint8_t digest[SHA256_SIZE];
    sha256(str_from(text), digest);
    hex_encode(digest, SHA256_SIZE, hex);
}

/* The original text of a file that an earlier setup changed. */
static const json_t *earlier(const json_t *record, const char *path)
{
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(record, "files"), i, file)
    {
        const char *its = json_string_value(json_object_get(file, "path"));
        if (its && strcmp(its, path) == 0)
            return file;
    }
    return NULL;
}

static json_t *make_record(const struct plan *p, const json_t *old)
{
    json_t *root = json_pack("{s:i, s:[], s:[]}", "version", RECORD_VERSION, "files", "undo");
    json_t *files = json_object_get(root, "files"), *undo = json_object_get(root, "undo"), *entry;
    size_t i;
    for (size_t f = 0; f < p->file_count; f++) {
        char after[HEX_SIZE(SHA256_SIZE)];
        const json_t *first = earlier(old, p->files[f].path);
        plan_hash(p->files[f].after, after);
        json_t *before = first                ? json_copy(json_object_get(first, "before"))
                         : p->files[f].before ? json_string_nocheck(p->files[f].before)
                                              : json_null();
        json_array_append_new(files, json_pack("{s:s, s:o, s:s}", "path", p->files[f].path, "before", before, "after", after));
    }
    json_array_foreach(json_object_get(old, "files"), i, entry)
    {
        const char *path = json_string_value(json_object_get(entry, "path"));
        if (path && !earlier(root, path))
            json_array_append(files, entry);
    }
    for (size_t c = p->undo_count; c-- > 0;) {
        json_t *words = json_array();
        for (size_t w = 0; w < p->undo[c].count; w++)
            json_array_append_new(words, json_string(p->undo[c].words[w]));
        json_array_append_new(undo, words);
    }
    json_array_foreach(json_object_get(old, "undo"), i, entry)
    {
        bool known = false;
        for (size_t k = 0; k < json_array_size(undo); k++)
            known |= json_equal(json_array_get(undo, k), entry);
        if (!known)
            json_array_append(undo, entry);
    }
    return root;
}

static int write_record(const struct plan *p, struct error *err)
{
    char path[PLACE_SIZE + 16];
    int rc = record_path(path, err);
    if (rc < 0)
        return rc;
    AUTO_JSON json_t *old = read_record(path, &rc, err);
    if (rc < 0)
        return rc; /* a record of earlier changes must not get lost */
    AUTO_JSON json_t *record = make_record(p, old);
    char *text = json_dumps(record, JSON_INDENT(1));
    rc = text ? keep_write(path, str_from(text), err) : error_set(err, -ENOMEM, "out of memory");
    free(text);
    return rc;
}

/* ---- applying ---- */

static int write_plain(const char *path, const char *text, struct error *err)
{
    char folder[PLACE_SIZE];
    str_copy(folder, sizeof folder, str_from(path));
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    int rc = slash && folder[0] ? shared_dir_make(folder, 0755, err) : 0;
    return rc < 0 ? rc : keep_write_as(path, str_from(text), 0644, err);
}

static int run_command(const struct env *env, const struct plan_command *c, struct error *err)
{
    AUTO_BUF struct buf out = BUF(SAID_MAX), diag = BUF(SAID_MAX), line = BUF(8192);
    const char *argv[PLAN_WORDS_MAX + 1] = {0};
    for (size_t i = 0; i < c->count; i++)
        argv[i] = strcmp(c->words[i], "whirr") == 0 && i == 0 ? env->self_program : c->words[i];
    int step = setup_service.step ? setup_service.step(c, err) : 1;
    if (step <= 0)
        return step;
    put_command(&line, c);
    struct error why = {0};
    int status = env->launch(env, &(struct launch){.argv = argv, .timeout_ms = COMMAND_MS, .out = &out, .err = &diag}, &why);
    if (status == 0) {
        if (out.len)
            fwrite(out.at, 1, out.len, stdout); /* a new token is printed only once */
        return 0;
    }
    struct str said = str_trim(buf_view(&diag));
    return error_set(err, -EIO, "`%s` failed: " STR_FMT, line.at, (int)MIN_OF(said.len ? said.len : strlen(why.text), (size_t)300),
                     said.len ? said.at : why.text);
}

int plan_do(const struct env *env, const struct plan *p, struct error *err)
{
    int rc = write_record(p, err);
    for (size_t i = 0; rc == 0 && i < p->file_count; i++) {
        const struct plan_file *f = &p->files[i];
        rc = f->config ? edit_write(env, f->path, str_from(f->after), err) : write_plain(f->path, f->after, err);
    }
    for (size_t i = 0; rc == 0 && i < p->command_count; i++)
        rc = run_command(env, &p->commands[i], err);
    return rc;
}

/* ---- undoing ---- */

/* False if it failed and may be retried. */
static bool undo_file(const struct env *env, const json_t *file, bool dry_run, struct buf *out)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    const char *before = json_string_value(json_object_get(file, "before")),
               *after = json_string_value(json_object_get(file, "after"));
    char *now = NULL, found[HEX_SIZE(SHA256_SIZE)];
    struct error err = {0};
    if (!path || !after)
        return true;
    int rc = read_file(path, &now, &err);
    plan_hash(now ? now : "", found);
    bool config = strlen(path) > 5 && strcmp(path + strlen(path) - 5, ".toml") == 0;
    if (rc == 0 && !now)
        buf_printf(out, "gone already   %s\n", path);
    else if (rc == 0 && strcmp(found, after) != 0)
        buf_printf(out, "left as it is  %s (it was changed since)\n", path);
    else if (rc == 0 && dry_run)
        buf_printf(out, "%s  %s\n", before ? "would restore" : "would remove ", path);
    else if (rc == 0 && before)
        rc = config ? edit_write(env, path, str_from(before), &err) : write_plain(path, before, &err);
    else if (rc == 0 && unlink(path) < 0)
        rc = error_set(&err, -errno, "%s", strerror(errno));
    if (rc < 0)
        buf_printf(out, "failed         %s: %s\n", path, err.text);
    else if (!dry_run && now && strcmp(found, after) == 0)
        buf_printf(out, "%s  %s\n", before ? "restored     " : "removed      ", path);
    free(now);
    return rc == 0;
}

static void undo_command(const struct env *env, const json_t *words, bool dry_run, struct buf *out)
{
    struct plan_command c = {0};
    struct error err = {0};
    for (; c.count < MIN_OF(json_array_size(words), (size_t)PLAN_WORDS_MAX); c.count++) {
        const char *word = json_string_value(json_array_get(words, c.count));
        str_copy(c.words[c.count], PLAN_WORD_SIZE, str_from(word ? word : ""));
    }
    bool done = dry_run || run_command(env, &c, &err) == 0;
    buf_text(out, dry_run ? "would run      " : done ? "ran            " : "failed         ");
    put_command(out, &c);
    buf_printf(out, "%s%s\n", done ? "" : ": ", done ? "" : err.text);
}

/* Keeps files that could not be restored in the record, with their original text: there is no other copy. */
static int keep_failed(const char *path, json_t *failed, struct error *err)
{
    if (!json_array_size(failed))
        return unlink(path) == 0 ? 0 : error_set(err, -errno, "cannot remove '%s': %s", path, strerror(errno));
    AUTO_JSON json_t *record = json_pack("{s:i, s:O, s:[]}", "version", RECORD_VERSION, "files", failed, "undo");
    AUTO_FREE char *text = json_dumps(record, JSON_INDENT(1));
    return text ? keep_write(path, str_from(text), err) : error_set(err, -ENOMEM, "out of memory");
}

int plan_undo(const struct env *env, bool dry_run, struct buf *out, struct error *err)
{
    char path[PLACE_SIZE + 16];
    int rc = record_path(path, err);
    json_t *record = rc == 0 ? read_record(path, &rc, err) : NULL, *entry;
    size_t i;
    if (rc == 0 && !record)
        return error_set(err, -ENOENT, "nothing was set up by `whirr setup`");
    if (rc < 0)
        return rc;
    AUTO_JSON json_t *failed = json_array();
    json_array_foreach(json_object_get(record, "undo"), i, entry) undo_command(env, entry, dry_run, out);
    json_array_foreach(json_object_get(record, "files"), i, entry)
    {
        if (!undo_file(env, entry, dry_run, out))
            json_array_append(failed, entry);
    }
    rc = dry_run ? 0 : keep_failed(path, failed, err);
    json_decref(record);
    return rc;
}
