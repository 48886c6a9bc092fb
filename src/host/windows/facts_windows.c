/* SPDX-License-Identifier: Apache-2.0
 * Times, waits, parents and command lines of Windows. Makes no system calls.
 */
#include "host/windows/facts_windows.h"

#include <stdio.h>

#include "base/cleanup.h"

/* From 1601 to 1970. */
#define EPOCH_FILETIME 116444736000000000LL

enum { FILETIMES_PER_MS = 10000 };

struct wall windows_wall(int64_t filetime)
{
    return (struct wall){filetime > EPOCH_FILETIME ? (filetime - EPOCH_FILETIME) / FILETIMES_PER_MS : 0};
}

int64_t windows_start_key(int64_t filetime)
{
    return MAX_OF(windows_wall(filetime).ms, (int64_t)1);
}

enum calls_wait windows_wait(uint32_t state, uint32_t reason)
{
    enum { INITIALIZED, READY, RUNNING, STANDBY, TERMINATED, WAITING, TRANSITION, DEFERRED_READY };
    enum {
        PAGE_IN = 2,
        DELAY = 4,
        SUSPENDED = 5,
        WR_PAGE_IN = 9,
        WR_DELAY = 11,
        WR_SUSPENDED = 12,
        KEYED_EVENT = 21,
        RESOURCE = 27,
        PUSH_LOCK = 28,
        MUTEX = 29,
        FAST_MUTEX = 34,
        GUARDED_MUTEX = 35,
        ALERT_BY_THREAD = 37, /* slim locks and condition variables */
    };
    if (state == READY || state == RUNNING || state == STANDBY || state == DEFERRED_READY)
        return CALLS_WAIT_RUNNING;
    if (state != WAITING)
        return CALLS_WAIT_OTHER;
    switch (reason) {
    case PAGE_IN:
    case WR_PAGE_IN: return CALLS_WAIT_DISK;
    case DELAY:
    case WR_DELAY: return CALLS_WAIT_SLEEP;
    case SUSPENDED:
    case WR_SUSPENDED: return CALLS_WAIT_STOPPED;
    case KEYED_EVENT:
    case RESOURCE:
    case PUSH_LOCK:
    case MUTEX:
    case FAST_MUTEX:
    case GUARDED_MUTEX:
    case ALERT_BY_THREAD: return CALLS_WAIT_LOCK;
    default: return CALLS_WAIT_OTHER;
    }
}

void windows_drop_false_parents(struct calls_process *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < count && !found; k++)
            found = list[k].pid == list[i].parent && k != i && list[k].start_key <= list[i].start_key;
        if (!found)
            list[i].parent = 0;
    }
}

/* ---- command lines ---- */

struct argument_writer {
    char *text;
    size_t size, len;
    bool full;
};

static void put(struct argument_writer *w, char c)
{
    w->full = w->full || w->len + 1 >= w->size; /* reserve space for the NUL */
    if (!w->full)
        w->text[w->len++] = c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Backslashes before a quote count half, and an odd one escapes the quote. Returns the bytes consumed. */
static size_t put_backslashes(struct argument_writer *w, struct str rest)
{
    size_t count = 0;
    while (count < rest.len && rest.at[count] == '\\')
        count++;
    bool quote = count < rest.len && rest.at[count] == '"';
    for (size_t i = 0; i < (quote ? count / 2 : count); i++)
        put(w, '\\');
    if (!quote || count % 2 == 0)
        return count;
    put(w, '"');
    return count + 1;
}

/* The program comes first: quotes end it, and backslashes are ordinary characters. */
static size_t put_program(struct argument_writer *w, struct str line)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < line.len && (quoted || !is_blank(line.at[i])); i++) {
        if (line.at[i] == '"')
            quoted = !quoted;
        else
            put(w, line.at[i]);
    }
    return i;
}

static size_t put_argument(struct argument_writer *w, struct str line)
{
    bool quoted = false;
    size_t i = 0;
    while (i < line.len && (quoted || !is_blank(line.at[i]))) {
        struct str rest = {line.at + i, line.len - i};
        if (rest.at[0] == '\\') {
            i += put_backslashes(w, rest);
        } else if (rest.at[0] != '"') {
            put(w, rest.at[0]);
            i++;
        } else if (quoted && rest.len > 1 && rest.at[1] == '"') {
            put(w, '"');
            i += 2;
        } else {
            quoted = !quoted;
            i++;
        }
    }
    return i;
}

size_t windows_arguments(struct str line, char *text, size_t size)
{
    struct argument_writer w = {text, size, 0, false};
    size_t at = 0, whole = 0;
    for (bool first = true; !w.full; first = false) {
        while (at < line.len && is_blank(line.at[at]))
            at++;
        if (at >= line.len)
            break;
        struct str rest = {line.at + at, line.len - at};
        at += first ? put_program(&w, rest) : put_argument(&w, rest);
        if (w.full)
            break;
        w.text[w.len++] = '\0';
        whole = w.len;
        w.full = w.len >= w.size;
    }
    return whole;
}

struct str windows_program_name(struct str path)
{
    size_t at = path.len;
    while (at > 0 && path.at[at - 1] != '\\' && path.at[at - 1] != '/')
        at--;
    struct str name = {path.at + at, path.len - at};
    bool program = name.len > 4 && str_is_any_case((struct str){name.at + name.len - 4, 4}, ".exe");
    return (struct str){name.at, program ? name.len - 4 : name.len};
}

void windows_loopback(const uint8_t *bytes, size_t count, char address[LISTEN_ADDRESS_SIZE])
{
    bool any = true, one = true;
    for (size_t i = 0; i < count; i++) {
        any = any && bytes[i] == 0;
        one = one && bytes[i] == (i + 1 == count);
    }
    address[0] = '\0';
    if (count == 16 && (any || one))
        snprintf(address, LISTEN_ADDRESS_SIZE, "[::1]");
    else if (count == 4 && any)
        snprintf(address, LISTEN_ADDRESS_SIZE, "127.0.0.1");
    else if (count == 4 && bytes[0] == 127)
        snprintf(address, LISTEN_ADDRESS_SIZE, "127.%u.%u.%u", bytes[1], bytes[2], bytes[3]);
}
