/* SPDX-License-Identifier: Apache-2.0
 * Line by line: tables begin at a header, values may span lines.
 */
#include "config/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "base/os/place.h"
#include "base/os/shared.h"

/* ---- places ---- */

bool edit_place(const char *named, char path[PLACE_SIZE])
{
    const char *file = named && named[0] ? named : env_variable("WHIRR_CONFIG");
    const char *root = env_variable(CONFIG_SYSTEM_ROOT), *base = env_variable("XDG_CONFIG_HOME"), *home = env_variable("HOME");
    int len = -1;
    if (file && file[0])
        len = snprintf(path, PLACE_SIZE, "%s", file);
    else if (geteuid() == 0)
        len = snprintf(path, PLACE_SIZE, "%s%s", root ? root : "", CONFIG_SYSTEM_FILE);
    else if (base && path_is_whole(base))
        len = snprintf(path, PLACE_SIZE, "%s/whirr/whirr.toml", base);
    else if (home && home[0])
        len = snprintf(path, PLACE_SIZE, "%s/.config/whirr/whirr.toml", home);
    if (len <= 0 || len >= PLACE_SIZE)
        return false;
    path_normalise(path);
    return true;
}

int edit_read(const char *path, struct buf *text, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return error_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    char bytes[8192];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        buf_add(text, bytes, (size_t)got);
    return got < 0 || text->failed ? error_set(err, -EIO, "cannot read '%s'", path) : 0;
}

/* ---- lines ---- */

/* State of a walk through the lines. */
struct line_walk {
    struct str rest;
    struct str line;   /* without its newline */
    size_t at, next;   /* offsets of this line and the next */
    struct str header; /* text between the brackets of the enclosing table; "" none */
    bool is_header;    /* the line starts a table */
    bool continues;    /* the line belongs to a value that began before it */
    int depth;         /* brackets left open before this line */
    char quotes;       /* of an open multi-line string: " or '; 0 none */
};

/* Counts brackets that a line opens and doesn't close, outside strings and comments. */
static void count_brackets(struct line_walk *w)
{
    for (size_t i = 0; i < w->line.len; i++) {
        char c = w->line.at[i];
        bool triple = i + 2 < w->line.len && (c == '"' || c == '\'') && w->line.at[i + 1] == c && w->line.at[i + 2] == c;
        if (w->quotes) {
            if (triple && c == w->quotes) {
                w->quotes = 0;
                i += 2;
            }
        } else if (triple) {
            w->quotes = c;
            i += 2;
        } else if (c == '"' || c == '\'') {
            for (i++; i < w->line.len && w->line.at[i] != c; i++)
                i += c == '"' && w->line.at[i] == '\\';
        } else if (c == '#') {
            break;
        } else {
            w->depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        }
    }
}

static bool walk_next(struct line_walk *w)
{
    w->continues = w->depth > 0 || w->quotes;
    w->at = w->next;
    if (w->at >= w->rest.len)
        return false;
    const char *end = memchr(w->rest.at + w->at, '\n', w->rest.len - w->at);
    size_t len = end ? (size_t)(end - w->rest.at) - w->at : w->rest.len - w->at;
    w->line = (struct str){w->rest.at + w->at, len};
    w->next = w->at + len + (end != NULL);
    struct str trimmed = str_trim(w->line);
    w->is_header = !w->continues && trimmed.len && trimmed.at[0] == '[';
    if (w->is_header) {
        size_t skip = str_starts(trimmed, "[[") ? 2 : 1;
        const char *close = memchr(trimmed.at, ']', trimmed.len);
        struct str inside = {trimmed.at + skip, close ? (size_t)(close - trimmed.at) - skip : 0};
        w->header = str_trim(inside);
        w->depth = 0;
        return true;
    }
    if (!w->continues)
        w->depth = 0;
    count_brackets(w);
    return true;
}

static struct line_walk walk_of(const struct buf *text)
{
    return (struct line_walk){.rest = buf_view(text)};
}

/* [notify.phone] and [notify."phone"] are the same table. */
static bool header_is(struct str header, const char *path, bool below)
{
    char plain[256];
    size_t len = 0;
    for (size_t i = 0; i < header.len && len + 1 < sizeof plain; i++)
        if (header.at[i] != '"' && header.at[i] != '\'' && header.at[i] != ' ')
            plain[len++] = header.at[i];
    plain[len] = '\0';
    size_t size = strlen(path);
    return strcmp(plain, path) == 0 || (below && strncmp(plain, path, size) == 0 && plain[size] == '.');
}

/* Replaces the bytes from..to. */
static void replace(struct buf *text, size_t from, size_t to, const char *with)
{
    AUTO_BUF struct buf made = BUF(EDIT_TEXT_MAX);
    struct str old = buf_view(text);
    buf_add(&made, old.at, from);
    buf_text(&made, with);
    buf_add(&made, old.at + to, old.len - to);
    text->len = 0;
    buf_str(text, buf_view(&made));
    text->failed |= made.failed;
}

void edit_quote(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned char)*text);
        else
            buf_printf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    buf_char(out, '"');
}

static bool line_sets(struct str line, const char *key)
{
    struct str trimmed = str_trim(line), name;
    return memchr(trimmed.at, '=', trimmed.len) && str_cut(&trimmed, '=', &name) && str_is(str_trim(name), key);
}

/* Replaces the lines of the key in its section; false: it has none. */
static bool replace_key(struct buf *text, const char *section, const char *key, const char *with, size_t *after_header)
{
    for (struct line_walk w = walk_of(text); walk_next(&w);) {
        if (!header_is(w.header, section, false))
            continue;
        if (w.is_header)
            *after_header = w.next;
        else if (!w.continues && line_sets(w.line, key)) {
            size_t from = w.at, to = w.next;
            while ((w.depth > 0 || w.quotes) && walk_next(&w))
                to = w.next;
            replace(text, from, to, with);
            return true;
        }
    }
    return false;
}

void edit_unset(struct buf *text, const char *section, const char *key)
{
    size_t after_header = SIZE_MAX;
    bool empty = replace_key(text, section, key, "", &after_header);
    for (struct line_walk w = walk_of(text); empty && walk_next(&w);)
        if (header_is(w.header, section, true))
            empty =
                w.is_header ? header_is(w.header, section, false) && !memchr(w.line.at, '#', w.line.len) : !str_trim(w.line).len;
    if (empty)
        edit_remove(text, section);
}

void edit_set(struct buf *text, const char *section, const char *key, const char *value)
{
    AUTO_BUF struct buf line = BUF(64 * 1024);
    buf_printf(&line, "%s = %s\n", key, value);
    const char *written = line.at ? line.at : "";
    size_t after_header = SIZE_MAX;
    if (replace_key(text, section, key, written, &after_header))
        return;
    if (after_header != SIZE_MAX) {
        bool ended = after_header && buf_view(text).at[after_header - 1] == '\n';
        replace(text, after_header, after_header, ended ? "" : "\n");
        replace(text, after_header + !ended, after_header + !ended, written);
        return;
    }
    AUTO_BUF struct buf table = BUF(64 * 1024);
    buf_printf(&table, "[%s]\n%s", section, written);
    edit_append(text, table.at ? table.at : "");
}

bool edit_has(const struct buf *text, const char *path)
{
    for (struct line_walk w = walk_of(text); walk_next(&w);)
        if (w.is_header && header_is(w.header, path, true))
            return true;
    return false;
}

bool edit_remove(struct buf *text, const char *path)
{
    bool found = false;
    for (bool again = true; again;) {
        size_t from = SIZE_MAX, to = 0;
        again = false;
        for (struct line_walk w = walk_of(text); walk_next(&w);) {
            if (!header_is(w.header, path, true)) {
                if (from != SIZE_MAX)
                    break;
                continue;
            }
            from = from == SIZE_MAX ? w.at : from;
            to = w.next;
        }
        if (from != SIZE_MAX) {
            while (from >= 2 && buf_view(text).at[from - 1] == '\n' && buf_view(text).at[from - 2] == '\n')
                from--; /* remove the empty line before it, too */
            replace(text, from, to, "");
            found = again = true;
        }
    }
    return found;
}

void edit_append(struct buf *text, const char *table)
{
    struct str old = buf_view(text);
    if (old.len && old.at[old.len - 1] != '\n')
        buf_char(text, '\n');
    buf_text(text, old.len ? "\n" : "");
    buf_text(text, table);
}

/* ---- writing ---- */

static int make_parent(const char *path, struct error *err)
{
    char folder[PLACE_SIZE];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    return folder[0] ? shared_dir_make(folder, 0755, err) : 0;
}

size_t edit_parents(const char *path)
{
    char folder[PLACE_SIZE];
    size_t there = 0;
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (access(folder, F_OK) == 0)
            there = (size_t)(slash - folder);
        *slash = '/';
    }
    return there;
}

void edit_undo(const char *path, size_t there)
{
    char folder[PLACE_SIZE];
    snprintf(folder, sizeof folder, "%s", path);
    unlink(folder);
    for (char *slash = strrchr(folder, '/'); slash && (size_t)(slash - folder) > there; slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (rmdir(folder) < 0) /* not empty: another program put something there */
            return;
    }
}

/* Keeps owner and group of the replaced file; as root, uses the service's group. */
static void set_access(int fd, const char *path)
{
    struct stat old;
    const struct group *service = geteuid() == 0 ? getgrnam("whirr") : NULL;
    bool there = stat(path, &old) == 0;
    gid_t group = service ? service->gr_gid : there ? old.st_gid : getegid();
    bool shared = service || (there && (old.st_mode & 0040));
    if (fchown(fd, there ? old.st_uid : (uid_t)-1, group) == 0 || errno == EPERM)
        fchmod(fd, shared ? 0640 : 0600);
}

/* Is it a valid configuration? Other modules check their settings later. */
static int check(const struct env *env, const char *path, struct error *err)
{
    static const char *const none[] = {NULL};
    struct config_problems *problems = calloc(1, sizeof *problems);
    struct config *config = NULL;
    if (!problems)
        return error_set(err, -ENOMEM, "out of memory");
    const struct config_inputs inputs = {.env = env, .file = path, .environment = none};
    int rc = config_load(&inputs, &config, problems);
    if (rc < 0) {
        size_t first = 0;
        while (first + 1 < problems->count && problems->list[first].warning)
            first++;
        error_set(err, -EINVAL, "line %d: %s", problems->list[first].line, problems->list[first].text);
    }
    config_free(config);
    free(problems);
    return rc;
}

struct edited {
    const struct env *env;
    const char *path;
};

/* The new text replaces the file only if it is a valid configuration. */
static int make_ready(void *user, int fd, const char *fresh, struct error *err)
{
    struct edited *edited = user;
    set_access(fd, edited->path);
    return check(edited->env, fresh, err);
}

int edit_write(const struct env *env, const char *path, struct str text, struct error *err)
{
    struct edited edited = {env, path};
    int rc = make_parent(path, err);
    return rc < 0 ? rc : keep_write_ready(path, text, make_ready, &edited, err);
}
