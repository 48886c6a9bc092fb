/* SPDX-License-Identifier: Apache-2.0
 * Writes a recorded host: text as text, everything else in hex, each process as one block. Expands one into files: enters
 * directories without following links, and creates links last, so that no line can lead out of the directory.
 */
#include "format/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/file.h"

/* ---- writing ---- */

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

static const struct machine_entry *find_entry(const struct writer *w, const char *path)
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

static void write_process(struct writer *w, int64_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/comm", pid);
    const struct machine_entry *comm = find_entry(w, path);
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
        write_process(w, pid);
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
    const struct machine_entry *info = find_entry(w, path);
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
    const struct machine_entry *link = find_entry(w, path);
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

/* ---- expanding: creating files ---- */

enum { LINKS_MAX = 20000, NAME_SIZE = 64 };

struct machine_link {
    char *path, *target;
    size_t line;
};

struct machine_reader {
    int root;
    size_t line;
    struct error *err;
    char section[PATH_SIZE]; /* base of relative paths */
    /* The file being read; no path: none. */
    char path[PATH_SIZE];
    bool hex;
    struct buf bytes;
    /* The process of the current block; 0: none. */
    int64_t pid, uid, start;
    char comm[NAME_SIZE];
    bool has_stat, has_status;
    struct machine_link *links;
    size_t link_count;
};

static int bad(struct machine_reader *r, const char *what)
{
    return error_set(r->err, -EINVAL, "line %zu: %s", r->line, what);
}

/* ---- creating ---- */

/* Opens the directory that contains the last part of `path`, creating those on the way; `name` is that part. */
static int open_parent(struct machine_reader *r, const char *path, struct str *name)
{
    int at = dup(r->root), problem = at < 0 ? errno : EINVAL;
    struct str rest = str_from(path + (path[0] == '/')), part;
    while (at >= 0 && str_cut(&rest, '/', &part)) {
        char text[PATH_SIZE];
        str_copy(text, sizeof text, part);
        if (part.len == 0 || str_is(part, ".") || str_is(part, "..")) {
            close(at);
            return bad(r, "a path must not have empty parts, '.' or '..'");
        }
        if (rest.len == 0) {
            *name = part;
            return at;
        }
        bool is_there = mkdirat(at, text, 0755) == 0 || errno == EEXIST;
        int next = is_there ? openat(at, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        problem = errno;
        close(at);
        at = next;
    }
    if (at >= 0)
        close(at);
    return error_set(r->err, -problem, "line %zu: cannot make '%s': %s", r->line, path, strerror(problem));
}

static int make(struct machine_reader *r, enum machine_kind kind, const char *path, struct str bytes)
{
    struct str part;
    AUTO_CLOSE int parent = open_parent(r, path, &part);
    if (parent < 0)
        return parent;
    char name[PATH_SIZE], target[PATH_SIZE];
    str_copy(name, sizeof name, part);
    str_copy(target, sizeof target, bytes);
    AUTO_CLOSE int fd = -1;
    bool made = false;
    if (kind == MACHINE_LINK) {
        made = symlinkat(target, parent, name) == 0;
    } else if (kind == MACHINE_FOLDER) {
        made = mkdirat(parent, name, 0755) == 0 || errno == EEXIST;
    } else {
        fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        made = fd >= 0 && write(fd, bytes.at, bytes.len) == (ssize_t)bytes.len;
    }
    return made ? 0 : error_set(r->err, -errno, "line %zu: cannot make '%s': %s", r->line, path, strerror(errno));
}

static int finish_file(struct machine_reader *r)
{
    if (!r->path[0])
        return 0;
    int rc = r->bytes.failed ? bad(r, "a file is too large") : make(r, MACHINE_FILE, r->path, buf_view(&r->bytes));
    r->path[0] = '\0';
    buf_done(&r->bytes);
    r->bytes = BUF(MACHINE_TEXT_MAX);
    return rc;
}

/* Adds what every process has, and a block may omit. */
static int finish_process(struct machine_reader *r)
{
    int rc = finish_file(r);
    char path[PATH_SIZE], text[512];
    if (rc == 0 && r->pid && !r->has_stat) {
        snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", r->pid);
        snprintf(text, sizeof text,
                 "%" PRId64 " (%s) S 1 %" PRId64 " %" PRId64 " 0 -1 4194304 0 0 0 0 10 5 0 0 20 0 1 0 %" PRId64 " 1000000 300\n",
                 r->pid, r->comm, r->pid, r->pid, r->start);
        rc = make(r, MACHINE_FILE, path, str_from(text));
    }
    if (rc == 0 && r->pid && !r->has_status) {
        snprintf(path, sizeof path, "/proc/%" PRId64 "/status", r->pid);
        snprintf(text, sizeof text, "Name:\t%s\nPid:\t%" PRId64 "\nUid:\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
                 r->comm, r->pid, r->uid, r->uid, r->uid, r->uid);
        rc = make(r, MACHINE_FILE, path, str_from(text));
    }
    r->pid = 0;
    return rc;
}

/* ---- parsing lines ---- */

static int whole_path(struct machine_reader *r, struct str path, char out[PATH_SIZE])
{
    const char *before = path.len && path.at[0] == '/' ? "" : r->section, *slash = before[0] ? "/" : "";
    if (path.len == 0 || (!before[0] && path.at[0] != '/'))
        return bad(r, "a path must begin with '/' or stand below a [directory]");
    if ((size_t)snprintf(out, PATH_SIZE, "%s%s" STR_FMT, before, slash, STR_ARG(path)) >= PATH_SIZE)
        return bad(r, "a path is too long");
    return 0;
}

/* "780001ff ff*12": bytes in any grouping, and repeated bytes. */
static int add_hex(struct machine_reader *r, struct str text)
{
    struct str word;
    while (str_word(&text, &word)) {
        const char *star = memchr(word.at, '*', word.len);
        size_t digits = star ? (size_t)(star - word.at) : word.len;
        uint64_t times = 1;
        bool counted = !star || (digits == 2 && str_to_u64((struct str){star + 1, word.len - digits - 1}, &times));
        if (digits % 2 || !counted || times > MACHINE_TEXT_MAX)
            return bad(r, "hex bytes are pairs of digits, as in 00ff 07*12");
        for (size_t i = 0; i < digits; i += 2) {
            int high = hex_digit(word.at[i]), low = hex_digit(word.at[i + 1]);
            if (high < 0 || low < 0)
                return bad(r, "hex bytes are pairs of digits, as in 00ff 07*12");
            for (uint64_t n = 0; n < times && !r->bytes.failed; n++)
                buf_char(&r->bytes, (char)(high << 4 | low));
        }
    }
    return 0;
}

static int add_line(struct machine_reader *r, struct str text)
{
    if (!r->path[0])
        return bad(r, "'|' continues a file, but none was begun");
    if (r->hex)
        return add_hex(r, text);
    buf_str(&r->bytes, text);
    buf_char(&r->bytes, '\n');
    return 0;
}

static int begin_file(struct machine_reader *r, struct str path, struct str value, bool hex)
{
    int rc = whole_path(r, path, r->path);
    r->hex = hex;
    if (rc < 0)
        r->path[0] = '\0';
    return rc == 0 && value.len ? add_line(r, value) : rc;
}

static int add_link(struct machine_reader *r, const char *path, struct str target)
{
    if (target.len == 0 || target.len >= PATH_SIZE)
        return bad(r, "a link needs a target");
    struct machine_link *more = r->link_count < LINKS_MAX ? realloc(r->links, (r->link_count + 1) * sizeof *more) : NULL;
    if (!more)
        return bad(r, "too many links");
    r->links = more;
    more[r->link_count++] = (struct machine_link){strdup(path), strndup(target.at, target.len), r->line};
    return 0;
}

static int begin_process(struct machine_reader *r, struct str text)
{
    struct str pid;
    if (!str_word(&text, &pid) || !str_to_i64(pid, &r->pid) || r->pid <= 0 || r->pid > INT32_MAX) {
        r->pid = 0;
        return bad(r, "a process needs its number and its name, as in 'process 4242 python3'");
    }
    r->uid = r->start = 0;
    r->has_stat = r->has_status = false;
    str_copy(r->comm, sizeof r->comm, str_trim(text));
    snprintf(r->section, sizeof r->section, "/proc/%" PRId64, r->pid);
    return r->comm[0] ? begin_file(r, STR("comm"), str_from(r->comm), false) : 0;
}

/* "fd 5 = /dev/dri/renderD128"; the lines after it are its fdinfo. */
static int begin_descriptor(struct machine_reader *r, struct str number, struct str target)
{
    char path[PATH_SIZE];
    int64_t fd;
    if (!str_to_i64(number, &fd) || fd < 0)
        return bad(r, "a descriptor is a number, as in 'fd 5 = /dev/dri/renderD128'");
    snprintf(path, sizeof path, "%s/fd/%" PRId64, r->section, fd);
    int rc = add_link(r, path, target);
    snprintf(path, sizeof path, "fdinfo/%" PRId64, fd);
    return rc < 0 ? rc : begin_file(r, str_from(path), (struct str){0}, false);
}

/* Lines of a process block that are more than a file; 1: not such a line. */
static int read_process_line(struct machine_reader *r, struct str path, struct str value)
{
    struct str word, rest = path;
    if (str_is(path, "uid") || str_is(path, "start"))
        return str_to_i64(value, str_is(path, "uid") ? &r->uid : &r->start) ? 0 : bad(r, "not a number");
    if (str_is(path, "cmdline")) {
        int rc = begin_file(r, path, (struct str){0}, false);
        while (rc == 0 && str_word(&value, &word)) {
            buf_str(&r->bytes, word);
            buf_char(&r->bytes, '\0');
        }
        return rc;
    }
    if (str_word(&rest, &word) && str_is(word, "fd") && str_word(&rest, &word))
        return begin_descriptor(r, word, value);
    return 1;
}

/* "PATH = VALUE"; VALUE may be missing. */
static bool cut_at_equals(struct str line, struct str *path, struct str *value)
{
    const char *mark = memmem(line.at, line.len, " = ", 3);
    if (!mark && str_ends(line, " =")) {
        *path = (struct str){line.at, line.len - 2};
        *value = (struct str){0};
        return true;
    }
    if (!mark)
        return false;
    *path = (struct str){line.at, (size_t)(mark - line.at)};
    *value = (struct str){mark + 3, line.len - path->len - 3};
    return true;
}

static bool keyword(struct str *line, const char *word)
{
    size_t len = strlen(word);
    if (!str_starts(*line, word) || line->len < len + 2 || line->at[len] != ' ' || line->at[len + 1] == '=')
        return false;
    *line = (struct str){line->at + len + 1, line->len - len - 1};
    return true;
}

static int begin_section(struct machine_reader *r, struct str line)
{
    r->section[0] = '\0';
    if (line.at[line.len - 1] != ']' || line.len < 3)
        return bad(r, "a [directory] needs its closing bracket");
    struct str path = {line.at + 1, line.len - 2};
    char whole[PATH_SIZE];
    int rc = whole_path(r, path, whole);
    if (rc == 0)
        str_copy(r->section, sizeof r->section, str_from(whole));
    return rc;
}

static int read_entry(struct machine_reader *r, struct str line)
{
    char whole[PATH_SIZE];
    struct str path, value;
    bool link = keyword(&line, "link"), hex = !link && keyword(&line, "hex"), folder = !link && !hex && keyword(&line, "folder");
    if (folder) {
        int rc = whole_path(r, line, whole);
        return rc < 0 ? rc : make(r, MACHINE_FOLDER, whole, (struct str){0});
    }
    if (!cut_at_equals(line, &path, &value))
        return bad(r, "expected 'PATH = VALUE'");
    if (link) {
        int rc = whole_path(r, path, whole);
        return rc < 0 ? rc : add_link(r, whole, value);
    }
    r->has_stat |= str_is(path, "stat");
    r->has_status |= str_is(path, "status");
    int rc = r->pid && !hex ? read_process_line(r, path, value) : 1;
    return rc == 1 ? begin_file(r, path, value, hex) : rc;
}

static int read_line(struct machine_reader *r, struct str line)
{
    while (line.len && (line.at[0] == ' ' || line.at[0] == '\t'))
        line = (struct str){line.at + 1, line.len - 1};
    if (line.len && line.at[0] == '|') {
        size_t skip = line.len > 1 && line.at[1] == ' ' ? 2 : 1;
        return add_line(r, (struct str){line.at + skip, line.len - skip});
    }
    if (line.len == 0 || line.at[0] == '#')
        return 0;
    bool process = keyword(&line, "process");
    int rc = process || line.at[0] == '[' ? finish_process(r) : finish_file(r);
    if (rc < 0)
        return rc;
    return process ? begin_process(r, line) : line.at[0] == '[' ? begin_section(r, line) : read_entry(r, line);
}

static int open_empty(const char *dir, struct error *err)
{
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return error_set(err, -errno, "cannot create '%s': %s", dir, strerror(errno));
    AUTO_DIR DIR *there = opendir(dir);
    if (!there)
        return error_set(err, -errno, "cannot open '%s': %s", dir, strerror(errno));
    for (struct dirent *entry; (entry = readdir(there));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return error_set(err, -ENOTEMPTY, "'%s' is not empty", dir);
    int fd = openat(dirfd(there), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? error_set(err, -errno, "cannot open '%s': %s", dir, strerror(errno)) : fd;
}

int machine_expand(struct str text, const char *dir, struct error *err)
{
    AUTO_FREE struct machine_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_CLOSE int root = open_empty(dir, err);
    if (root < 0)
        return root;
    r->root = root;
    r->err = err;
    r->bytes = BUF(MACHINE_TEXT_MAX);
    int rc = 0;
    for (struct str line; rc == 0 && str_cut(&text, '\n', &line);) {
        r->line++;
        rc = read_line(r, line);
    }
    if (rc == 0)
        rc = finish_process(r);
    for (size_t i = 0; i < r->link_count; i++) {
        r->line = r->links[i].line;
        if (rc == 0)
            rc = r->links[i].path && r->links[i].target ? make(r, MACHINE_LINK, r->links[i].path, str_from(r->links[i].target))
                                                        : error_set(err, -ENOMEM, "out of memory");
        free(r->links[i].path);
        free(r->links[i].target);
    }
    free(r->links);
    buf_done(&r->bytes);
    return rc;
}
