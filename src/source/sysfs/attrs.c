/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes kernel attributes. Knows their formats and failures, not their meaning.
 */
#include "source/sysfs/attrs.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int attrs_init(struct attrs *a, const struct env *env, const char *format, ...)
{
    *a = (struct attrs){.env = env};
    va_list args;
    va_start(args, format);
    int len = vsnprintf(a->path, sizeof a->path, format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof a->path)
        return 0;
    a->path[0] = '\0';
    return -ENAMETOOLONG;
}

static ssize_t attrs_note(struct attrs *a, ssize_t got)
{
    if (got == -EPERM)
        a->refused = true;
    if (got == -ENODEV || got == -ENXIO)
        a->gone = true;
    a->unread |= got < 0 && got != -ENOENT;
    return got;
}

static int whole_path(const struct attrs *a, const char *name, char path[PATH_SIZE])
{
    if (!a->path[0])
        return -ENOENT;
    int len = snprintf(path, PATH_SIZE, "%s/%s", a->path, name);
    return len < 0 || len >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

ssize_t attrs_text(struct attrs *a, const char *name, char *text, size_t size)
{
    char path[PATH_SIZE];
    int rc = whole_path(a, name, path);
    if (rc < 0)
        return rc;
    ssize_t got = attrs_note(a, file_read_head(a->env, path, text, size));
    if (got < 0)
        return got;
    struct str trimmed = str_trim((struct str){text, strnlen(text, (size_t)got)});
    memmove(text, trimmed.at, trimmed.len);
    text[trimmed.len] = '\0';
    return (ssize_t)trimmed.len;
}

ssize_t attrs_bytes(struct attrs *a, const char *name, void *to, size_t size)
{
    char path[PATH_SIZE];
    int rc = whole_path(a, name, path);
    return rc < 0 ? rc : attrs_note(a, file_read_head(a->env, path, to, size));
}

int attrs_number(struct attrs *a, const char *name, int64_t *ret)
{
    char text[ATTR_NUMBER_SIZE];
    ssize_t len = attrs_text(a, name, text, sizeof text);
    if (len < 0)
        return (int)len;
    if (len == 0)
        return -ENODATA;
    return str_to_i64((struct str){text, (size_t)len}, ret) ? 0 : -EBADMSG;
}

struct reading attrs_reading(struct attrs *a, const char *name, int64_t multiply, int64_t divide)
{
    int64_t value, scaled;
    int rc = attrs_number(a, name, &value);
    if (rc < 0)
        return reading_absent(attrs_state(rc));
    if (__builtin_mul_overflow(value, multiply, &scaled) || scaled > INT64_MAX / 2 || scaled < INT64_MIN / 2)
        return reading_absent(READING_IMPLAUSIBLE);
    int64_t half = (scaled < 0 ? -divide : divide) / 2;
    return reading_ok((scaled + half) / divide);
}

struct reading attrs_first(struct attrs *a, const char *const *names, size_t count, int64_t multiply, int64_t divide)
{
    struct reading best = reading_absent(READING_UNSUPPORTED);
    for (size_t i = 0; i < count; i++) {
        struct reading r = attrs_reading(a, names[i], multiply, divide);
        if (r.state == READING_OK)
            return r;
        if (best.state == READING_UNSUPPORTED)
            best = r;
    }
    return best;
}

bool attrs_exists(const struct attrs *a, const char *name)
{
    char path[PATH_SIZE];
    return whole_path(a, name, path) == 0 && file_exists(a->env, path);
}

int attrs_write(const struct attrs *a, const char *name, const char *text)
{
    char path[PATH_SIZE];
    int rc = whole_path(a, name, path);
    return rc < 0 ? rc : file_write(a->env, path, str_from(text));
}

int attrs_write_number(const struct attrs *a, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return attrs_write(a, name, text);
}

bool attrs_writable(const struct attrs *a, const char *name)
{
    char path[PATH_SIZE], whole[PATH_SIZE];
    return whole_path(a, name, path) == 0 && env_path(a->env, whole, "%s", path) == 0 && access(whole, W_OK) == 0;
}

enum reading_state attrs_state(int error)
{
    switch (error < 0 ? -error : error) {
    case EINVAL:
    case ENODATA:
    case ENOTDIR: return READING_UNSUPPORTED;
    case ENODEV:
    case ENXIO: return READING_FAILED;
    default: return reading_state_from_errno(error);
    }
}
