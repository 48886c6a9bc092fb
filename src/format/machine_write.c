/* SPDX-License-Identifier: Apache-2.0
 * Writes a recorded host: text as text, everything else in hex, each process as one block.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "format/machine_text.h"

enum { HEX_PER_LINE = 32, RUN_MIN = 6, SECTION_DEPTH = 3 };

struct writer {
    struct buf *out;
    const struct machine_entry *entries;
    size_t count, left_out;
    char section[PATH_SIZE];
    int64_t pid; /* of the current block; 0: none */
};

static bool name_fits(const char *path)
{
    for (const char *c = path; *c; c++)
        if (!isgraph((unsigned char)*c) || strchr("#[]|=", *c))
            return false;
    return path[0] == '/' && path[1];
}

static bool is_text(struct str bytes)
{
    for (size_t i = 0; i < bytes.len;) {
        unsigned char c = (unsigned char)bytes.at[i];
        size_t len = str_utf8((struct str){bytes.at + i, bytes.len - i});
        if (len == 0 || (c < ' ' && c != '\t' && c != '\n') || c == 0x7f)
            return false;
        i += len;
    }
    return bytes.len == 0 || bytes.at[bytes.len - 1] == '\n';
}

static void write_lines(struct writer *w, struct str text)
{
    struct str line;
    while (str_cut(&text, '\n', &line))
        buf_printf(w->out, line.len ? "| " STR_FMT "\n" : "|" STR_FMT "\n", STR_ARG(line));
}

static size_t run_at(struct str bytes, size_t at)
{
    size_t end = at;
    while (end < bytes.len && bytes.at[end] == bytes.at[at])
        end++;
    return end - at;
}

static void write_hex(struct writer *w, struct str bytes)
{
    size_t in_line = 0;
    for (size_t i = 0; i < bytes.len;) {
        size_t run = run_at(bytes, i);
        unsigned byte = (unsigned char)bytes.at[i];
        buf_text(w->out, in_line == 0 ? "| " : run >= RUN_MIN || in_line % 4 == 0 ? " " : "");
        if (run >= RUN_MIN) {
            buf_printf(w->out, "%02x*%zu", byte, run);
            i += run;
            in_line = (in_line / 4 + 2) * 4 - 1; /* a word of its own */
        } else {
            buf_printf(w->out, "%02x", byte);
            i++;
        }
        if (++in_line >= HEX_PER_LINE || i == bytes.len) {
            buf_char(w->out, '\n');
            in_line = 0;
        }
    }
}

static int by_path(const void *key, const void *entry)
{
    return strcmp(key, ((const struct machine_entry *)entry)->path);
}

static const struct machine_entry *machine_write_find(const struct writer *w, const char *path)
{
    return bsearch(path, w->entries, w->count, sizeof *w->entries, by_path);
}

/* The process that a path belongs to; 0: none. */
static int64_t process_of(const char *path)
{
    const char *end = strncmp(path, "/proc/", 6) == 0 ? strchr(path + 6, '/') : NULL;
    int64_t pid = 0;
    return end && str_to_i64((struct str){path + 6, (size_t)(end - path - 6)}, &pid) && pid > 0 ? pid : 0;
}

static void begin_process(struct writer *w, int64_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/comm", pid);
    const struct machine_entry *comm = machine_write_find(w, path);
    struct str name = comm ? str_trim(comm->bytes) : (struct str){0};
    buf_printf(w->out, "\nprocess %" PRId64 "%s" STR_FMT "\n", pid, name.len ? " " : "", STR_ARG(name));
    snprintf(w->section, sizeof w->section, "/proc/%" PRId64, pid);
    w->pid = pid;
}

/* The directory that an entry shares with the next one, so that adjacent directories form a section. */
static size_t section_of(const struct writer *w, const struct machine_entry *e)
{
    size_t own = (size_t)(strrchr(e->path, '/') - e->path), shared = 0, depth = 0;
    const char *next = e + 1 < w->entries + w->count ? e[1].path : "";
    for (size_t i = 0; i <= own && e->path[i] == next[i]; i++)
        if (e->path[i] == '/' && i > 0 && ++depth)
            shared = i;
    return depth >= SECTION_DEPTH ? shared : own;
}

/* The path as written: relative within the section; otherwise begins a new section. */
static const char *name_of(struct writer *w, const struct machine_entry *e)
{
    const char *path = e->path;
    int64_t pid = process_of(path);
    size_t len = strlen(w->section);
    if (pid && pid != w->pid)
        begin_process(w, pid);
    else if (!pid && (w->pid || len == 0 || strncmp(path, w->section, len) != 0 || path[len] != '/')) {
        w->pid = 0;
        str_copy(w->section, sizeof w->section, (struct str){path, section_of(w, e)});
        buf_printf(w->out, w->section[0] ? "\n[%s]\n" : "\n", w->section);
    }
    return w->section[0] ? path + strlen(w->section) + 1 : path;
}

static bool of_process(const struct writer *w, const char *path, const char *name)
{
    return w->pid && strcmp(path + strlen(w->section) + 1, name) == 0;
}

/* Readable words, if no word contains a blank. */
static bool write_command_line(struct writer *w, struct str bytes)
{
    AUTO_BUF struct buf words = BUF(65536);
    struct str word;
    if (bytes.len == 0 || bytes.at[bytes.len - 1] != '\0')
        return false;
    for (struct str rest = bytes; str_cut(&rest, '\0', &word);) {
        for (size_t i = 0; i < word.len; i++)
            if (!isgraph((unsigned char)word.at[i]))
                return false;
        if (word.len == 0)
            return false;
        buf_printf(&words, " " STR_FMT, STR_ARG(word));
    }
    buf_printf(w->out, "cmdline =" STR_FMT "\n", STR_ARG(buf_view(&words)));
    return true;
}

/* A descriptor and its fdinfo form one entry. */
static bool write_descriptor(struct writer *w, const char *name, struct str target)
{
    char path[PATH_SIZE];
    if (!w->pid || strncmp(name, "fd/", 3) != 0)
        return false;
    snprintf(path, sizeof path, "%s/fdinfo/%s", w->section, name + 3);
    const struct machine_entry *info = machine_write_find(w, path);
    if (!info || !is_text(info->bytes))
        return false;
    buf_printf(w->out, "fd %s = " STR_FMT "\n", name + 3, STR_ARG(target));
    write_lines(w, info->bytes);
    return true;
}

static bool is_written_with_its_descriptor(struct writer *w, const struct machine_entry *e)
{
    int64_t pid = process_of(e->path);
    const char *info = pid ? strstr(e->path, "/fdinfo/") : NULL;
    char path[PATH_SIZE];
    if (!info || !is_text(e->bytes))
        return false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%s", pid, info + strlen("/fdinfo/"));
    const struct machine_entry *link = machine_write_find(w, path);
    return link && link->kind == MACHINE_LINK;
}

static void write_file(struct writer *w, const struct machine_entry *e)
{
    if (is_written_with_its_descriptor(w, e))
        return;
    const char *name = name_of(w, e);
    if (of_process(w, e->path, "comm") && str_trim(e->bytes).len)
        return; /* part of the block's first line */
    if (of_process(w, e->path, "cmdline") && write_command_line(w, e->bytes))
        return;
    const char *newline = e->bytes.len ? memchr(e->bytes.at, '\n', e->bytes.len) : NULL;
    if (!is_text(e->bytes)) {
        buf_printf(w->out, "hex %s =\n", name);
        write_hex(w, e->bytes);
    } else if (newline && newline != e->bytes.at && newline + 1 == e->bytes.at + e->bytes.len) {
        buf_printf(w->out, "%s = " STR_FMT, name, STR_ARG(e->bytes));
    } else {
        buf_printf(w->out, "%s =\n", name);
        write_lines(w, e->bytes);
    }
}

static bool has_below(const struct writer *w, size_t i)
{
    size_t len = strlen(w->entries[i].path);
    for (size_t k = i + 1; k < w->count && strncmp(w->entries[k].path, w->entries[i].path, len) == 0; k++)
        if (w->entries[k].path[len] == '/')
            return true;
    return false;
}

static void write_entry(struct writer *w, size_t i)
{
    const struct machine_entry *e = &w->entries[i];
    if (!name_fits(e->path) || (e->kind == MACHINE_LINK && (e->bytes.len == 0 || memchr(e->bytes.at, '\n', e->bytes.len)))) {
        w->left_out++;
    } else if (e->kind == MACHINE_FILE) {
        write_file(w, e);
    } else if (has_below(w, i)) {
        return; /* created for its contents */
    } else if (e->kind == MACHINE_FOLDER) {
        const char *name = name_of(w, e);
        buf_printf(w->out, "folder %s\n", name);
    } else {
        const char *name = name_of(w, e);
        if (!write_descriptor(w, name, e->bytes))
            buf_printf(w->out, "link %s = " STR_FMT "\n", name, STR_ARG(e->bytes));
    }
}

size_t machine_write(struct buf *out, struct str about, const struct machine_entry *entries, size_t count)
{
    struct writer w = {.out = out, .entries = entries, .count = count};
    struct str line;
    buf_text(out, "# whirr machine 1\n");
    while (str_cut(&about, '\n', &line))
        buf_printf(out, line.len ? "# " STR_FMT "\n" : "#" STR_FMT "\n", STR_ARG(line));
    for (size_t i = 0; i < count; i++)
        write_entry(&w, i);
    return w.left_out;
}
