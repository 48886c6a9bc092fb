/* SPDX-License-Identifier: Apache-2.0
 * Functions of GNU's C library that Windows lacks or has otherwise: text, patterns, the words of errors, sorting.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *memmem(const void *in, size_t in_len, const void *what, size_t what_len)
{
    const char *at = in;
    if (what_len == 0)
        return (void *)in;
    for (; in_len >= what_len; at++, in_len--) {
        const char *next = memchr(at, *(const unsigned char *)what, in_len - what_len + 1);
        if (!next)
            return NULL;
        in_len -= (size_t)(next - at);
        at = next;
        if (memcmp(at, what, what_len) == 0)
            return (void *)at;
    }
    return NULL;
}

char *strcasestr(const char *in, const char *what)
{
    size_t len = strlen(what);
    for (; *in || !len; in++)
        if (strncasecmp(in, what, len) == 0)
            return (char *)in;
    return NULL;
}

char *strsep(char **rest, const char *ends)
{
    char *word = *rest, *end = word ? strpbrk(word, ends) : NULL;
    if (end)
        *end++ = '\0';
    *rest = end;
    return word;
}

char *strndup(const char *text, size_t len)
{
    len = strnlen(text, len);
    char *copy = malloc(len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

/* ---- patterns ---- */

static const char *match_set(const char *pattern, char c, bool *ret)
{
    bool negated = *pattern == '!' || *pattern == '^', found = false;
    const char *p = pattern + negated;
    for (bool first = true; *p && (first || *p != ']'); first = false, p++) {
        char from = *p, to = from;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            to = p[2];
            p += 2;
        }
        found |= c >= from && c <= to;
    }
    *ret = found != negated;
    return *p ? p + 1 : NULL;
}

int fnmatch(const char *pattern, const char *name, int flags)
{
    for (; *pattern; name++) {
        bool fits = *name != '\0';
        if (*pattern == '*') {
            for (const char *rest = name;; rest++) {
                if (fnmatch(pattern + 1, rest, flags) == 0)
                    return 0;
                if (!*rest)
                    return FNM_NOMATCH;
            }
        }
        const char *behind = *pattern == '[' ? match_set(pattern + 1, *name, &fits) : NULL;
        if (!behind) {
            pattern += *pattern == '\\' && pattern[1];
            fits = *name && (*pattern == '?' || *pattern == *name);
            behind = pattern + 1;
        }
        if (!fits)
            return FNM_NOMATCH;
        pattern = behind;
    }
    return *name ? FNM_NOMATCH : 0;
}

/* ---- errors ---- */

/* Replaces the C library's, which lacks socket errors, and whose texts differ from other systems'. */
char *strerror(int code)
{
    static const struct {
        int code;
        const char *words;
    } all[] = {
        {0, "Success"},
        {EPERM, "Operation not permitted"},
        {ENOENT, "No such file or directory"},
        {ESRCH, "No such process"},
        {EINTR, "Interrupted system call"},
        {EIO, "Input/output error"},
        {ENXIO, "No such device or address"},
        {E2BIG, "Argument list too long"},
        {ENOEXEC, "Exec format error"},
        {EBADF, "Bad file descriptor"},
        {ECHILD, "No child processes"},
        {EAGAIN, "Resource temporarily unavailable"},
        {EWOULDBLOCK, "Resource temporarily unavailable"},
        {ENOMEM, "Cannot allocate memory"},
        {EACCES, "Permission denied"},
        {EBUSY, "Device or resource busy"},
        {EEXIST, "File exists"},
        {EXDEV, "Invalid cross-device link"},
        {ENODEV, "No such device"},
        {ENOTDIR, "Not a directory"},
        {EISDIR, "Is a directory"},
        {EINVAL, "Invalid argument"},
        {EMFILE, "Too many open files"},
        {EFBIG, "File too large"},
        {ENOSPC, "No space left on device"},
        {ESPIPE, "Illegal seek"},
        {EROFS, "Read-only file system"},
        {EPIPE, "Broken pipe"},
        {EDOM, "Numerical argument out of domain"},
        {ERANGE, "Numerical result out of range"},
        {ENAMETOOLONG, "File name too long"},
        {ENOSYS, "Function not implemented"},
        {ENOTEMPTY, "Directory not empty"},
        {ELOOP, "Too many levels of symbolic links"},
        {EADDRINUSE, "Address already in use"},
        {EADDRNOTAVAIL, "Cannot assign requested address"},
        {EAFNOSUPPORT, "Address family not supported by protocol"},
        {EALREADY, "Operation already in progress"},
        {EBADMSG, "Bad message"},
        {ECANCELED, "Operation canceled"},
        {ECONNABORTED, "Software caused connection abort"},
        {ECONNREFUSED, "Connection refused"},
        {ECONNRESET, "Connection reset by peer"},
        {EHOSTUNREACH, "No route to host"},
        {EINPROGRESS, "Operation now in progress"},
        {EISCONN, "Transport endpoint is already connected"},
        {EMSGSIZE, "Message too long"},
        {ENETDOWN, "Network is down"},
        {ENETUNREACH, "Network is unreachable"},
        {ENODATA, "No data available"},
        {ENOTCONN, "Transport endpoint is not connected"},
        {ENOTSUP, "Operation not supported"},
        {EOPNOTSUPP, "Operation not supported"},
        {EOVERFLOW, "Value too large for defined data type"},
        {EPROTO, "Protocol error"},
        {ETIMEDOUT, "Connection timed out"},
        {EUCLEAN, "Structure needs cleaning"},
        {ESTALE, "Stale file handle"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].code == code)
            return (char *)all[i].words;
    return (char *)"Unknown error";
}

/* ---- stable sorting like glibc's, for the same order of rows everywhere; qsort() replaces the system's, which isn't stable ----
 */

struct sort_order {
    size_t size;
    posix_compare compare;
    void *user;
};

static void merge(const struct sort_order *s, char *rows, size_t left, size_t count, char *room)
{
    const char *a = rows, *a_end = rows + left * s->size, *b = a_end, *b_end = rows + count * s->size;
    char *to = room;
    while (a < a_end && b < b_end) {
        const char **from = s->compare(a, b, s->user) <= 0 ? &a : &b;
        memcpy(to, *from, s->size);
        *from += s->size;
        to += s->size;
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(rows, room, (size_t)(to - room) + (size_t)(a_end - a));
}

static void sort(const struct sort_order *s, char *rows, size_t count, char *room)
{
    size_t left = count / 2;
    if (count < 2)
        return;
    sort(s, rows, left, room);
    sort(s, rows + left * s->size, count - left, room);
    merge(s, rows, left, count, room);
}

void qsort_r(void *rows, size_t count, size_t size, posix_compare compare, void *user)
{
    char few[4096];
    char *room = count * size <= sizeof few ? few : malloc(count * size);
    if (!room)
        abort();
    sort(&(struct sort_order){size, compare, user}, rows, count, room);
    if (room != few)
        free(room);
}

struct plain {
    int (*compare)(const void *, const void *);
};

static int compare_plain(const void *a, const void *b, void *user)
{
    return ((const struct plain *)user)->compare(a, b);
}

void qsort(void *rows, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    struct plain plain = {compare};
    qsort_r(rows, count, size, compare_plain, &plain);
}
