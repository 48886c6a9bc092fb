/* SPDX-License-Identifier: Apache-2.0
 * Writes log lines, each with one write(2), so that threads don't mix their lines.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/secret/mask.h"

static _Atomic int least_level = LOG_WARNING;
static enum log_format line_format = LOG_FORMAT_TEXT;
static FILE *output;

static const char *const level_names[] = {"debug", "info", "warning", "error"};
/* sd_journald's line prefixes on stderr: syslog priorities. */
static const char *const journal_prefix[] = {"<7>", "<6>", "<4>", "<3>"};

void log_setup(enum log_level least, enum log_format format, FILE *to)
{
    least_level = (int)least;
    line_format = format;
    output = to;
}

void log_through(log_fn *say, void *user, enum log_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (say)
        say(user, level, text);
}

void log_set_level(enum log_level least)
{
    least_level = (int)least;
}

bool log_format_from_name(const char *name, enum log_format *ret)
{
    static const char *const names[] = {"text", "json", "journal"};
    size_t i = NAME_FIND(names, str_from(name));
    if (i < ARRAY_LEN(names))
        *ret = (enum log_format)i;
    return i < ARRAY_LEN(names);
}

static void write_json(struct buf *line, enum log_level level, const char *message, const struct log_field *fields)
{
    char time[WALL_TEXT_SIZE];
    wall_format(clock_wall(&clock_system), time);
    struct json_writer j = JSON_WRITER(line);
    jw_object(&j);
    jw_key_text(&j, "time", time);
    jw_key_text(&j, "level", level_names[level]);
    jw_key_text(&j, "message", message);
    for (const struct log_field *f = fields; f->key; f++) {
        if (f->text)
            jw_key_text(&j, f->key, f->text);
        else
            jw_key_int(&j, f->key, f->number);
    }
    jw_end(&j);
}

static void write_quoted(struct buf *line, const char *key, const char *value)
{
    buf_printf(line, " %s=\"", key);
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_char(line, '\\');
        buf_char(line, *c);
    }
    buf_char(line, '"');
}

static void write_text(struct buf *line, enum log_level level, const char *message, const struct log_field *fields)
{
    if (line_format != LOG_FORMAT_JOURNAL) {
        char time[WALL_TEXT_SIZE];
        wall_format(clock_wall(&clock_system), time);
        buf_printf(line, "%s %-7s ", time, level_names[level]);
    }
    buf_text(line, message);
    for (const struct log_field *f = fields; f->key; f++) {
        if (!f->text)
            buf_printf(line, " %s=%lld", f->key, (long long)f->number);
        else if (strpbrk(f->text, " \"=\t\n\r\\") || !f->text[0])
            write_quoted(line, f->key, f->text);
        else
            buf_printf(line, " %s=%s", f->key, f->text);
    }
}

/* Formats without allocating: the reason for an exit must get out even when memory is exhausted. */
static void put_without_memory(FILE *to, enum log_level level, const char *message, const struct log_field *fields)
{
    fprintf(to, "%s: %s", level_names[level], message);
    for (const struct log_field *f = fields; f->key; f++) {
        fprintf(to, " %s=", f->key);
        if (!f->text)
            fprintf(to, "%lld", (long long)f->number);
        for (const char *c = f->text; c && *c; c++)
            fputc(*c == '\n' || *c == '\r' ? ' ' : *c, to);
    }
    fputc('\n', to);
    fflush(to);
}

static void write_line(enum log_level level, const char *message, const struct log_field *fields)
{
    AUTO_BUF struct buf line = BUF(16384);
    if (line_format == LOG_FORMAT_JSON)
        write_json(&line, level, message, fields);
    else
        write_text(&line, level, message, fields);
    FILE *to = output ? output : stderr;
    if (!buf_reserve(&line, 1)) { /* for the newline */
        put_without_memory(to, level, message, fields);
        return;
    }
    /* Keep it one line, whatever a driver's message contains. */
    for (size_t i = 0; i < line.len; i++)
        if (line.at[i] == '\n' || line.at[i] == '\r')
            line.at[i] = ' ';
    if (line_format == LOG_FORMAT_JOURNAL && log_journal(level, line.at, message, fields))
        return;
    if (line_format == LOG_FORMAT_JOURNAL) /* journald parses priority prefixes on stderr, too */
        fputs(journal_prefix[level], to);
    buf_char(&line, '\n');
    fwrite(line.at, 1, line.len, to);
    fflush(to);
}

/* The text with secrets masked; allocates only if something was masked. */
static const char *masked(const char *text, char **ret_heap)
{
    AUTO_BUF struct buf out = BUF(16384);
    if (!text)
        return NULL;
    mask_text(str_from(text), &out);
    if (out.failed || !out.at || strcmp(out.at, text) == 0)
        return text;
    return *ret_heap = buf_take(&out);
}

/* ---- rate limits for repeated lines ---- */

/* Identical lines, and lines that differ only in fields: a burst, then one per interval. */
enum { SAME_AT_ONCE = 10, SAME_EVERY_S = 10, LIKE_AT_ONCE = 100, LIKE_EVERY_S = 1, REPEATS_MAX = 128, FIELDS_MAX = 24 };

struct repeat {
    uint64_t hash; /* 0: free */
    int64_t left;  /* how many more may pass */
    struct mono at, seen;
    int64_t left_out;
};

static struct repeat same_lines[REPEATS_MAX], like_lines[REPEATS_MAX];
static pthread_mutex_t repeats_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return (hash ^ 0xff) * 1099511628211u;
}

static uint64_t hash_fields(uint64_t hash, const struct log_field *fields)
{
    for (const struct log_field *f = fields; f->key; f++)
        hash = f->text ? hash_text(hash_text(hash, f->key), f->text) : (hash ^ (uint64_t)f->number) * 1099511628211u;
    return hash;
}

/* Evicts the least recently used entry. */
static struct repeat *find_repeat(struct repeat repeats[REPEATS_MAX], uint64_t hash, int64_t at_once, struct mono now)
{
    struct repeat *place = &repeats[0];
    for (size_t i = 0; i < REPEATS_MAX; i++) {
        if (repeats[i].hash == hash)
            return &repeats[i];
        if (repeats[i].seen.ns < place->seen.ns)
            place = &repeats[i];
    }
    *place = (struct repeat){.hash = hash, .left = at_once, .at = now};
    return place;
}

static void refill(struct repeat *r, int64_t at_once, int64_t every_s, struct mono now)
{
    int64_t gained = (now.ns - r->at.ns) / (every_s * NS_PER_S);
    r->left = MIN_OF(at_once, r->left + gained);
    r->at.ns += gained * every_s * NS_PER_S;
    r->seen = now;
}

static int64_t write_off(struct repeat *r)
{
    int64_t left_out = r->left_out;
    r->left--;
    r->left_out = 0;
    return left_out;
}

/* Whether the line may pass, and how many like it were dropped since the last one. Debug lines always pass. */
static bool passes(enum log_level level, const char *message, const struct log_field *fields, int64_t *left_out)
{
    uint64_t like = hash_text(14695981039346656037u, message);
    struct mono now = clock_mono(&clock_system);
    *left_out = 0;
    if (level == LOG_DEBUG)
        return true;
    pthread_mutex_lock(&repeats_lock);
    struct repeat *same = find_repeat(same_lines, hash_fields(like, fields), SAME_AT_ONCE, now);
    struct repeat *alike = find_repeat(like_lines, like, LIKE_AT_ONCE, now);
    refill(same, SAME_AT_ONCE, SAME_EVERY_S, now);
    refill(alike, LIKE_AT_ONCE, LIKE_EVERY_S, now);
    struct repeat *full = same->left == 0 ? same : alike->left == 0 ? alike : NULL;
    if (full)
        full->left_out++;
    else
        *left_out = write_off(same) + write_off(alike);
    pthread_mutex_unlock(&repeats_lock);
    return !full;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    int64_t left_out;
    if ((int)level < least_level || !passes(level, message, fields, &left_out))
        return;
    struct log_field shown[FIELDS_MAX + 2] = {0};
    char *heap[FIELDS_MAX + 1] = {0};
    size_t count = 0;
    for (; count < FIELDS_MAX && fields[count].key; count++) {
        shown[count] = fields[count];
        shown[count].text = masked(fields[count].text, &heap[count]);
    }
    if (left_out)
        shown[count] = LOG_INT("left_out", left_out);
    write_line(level, masked(message, &heap[FIELDS_MAX]), shown);
    for (size_t i = 0; i <= FIELDS_MAX; i++)
        free(heap[i]);
}

void log_plainly(void *user, enum log_level level, const char *message)
{
    (void)user;
    log_write(level, message, (const struct log_field[]){{0}});
}
