/* SPDX-License-Identifier: Apache-2.0
 * A directory of kernel attributes: one small file per value, and drivers that fail in many ways. Remembers the failures that
 * concern the whole device.
 */
#pragma once

#include "base/file.h"
#include "model/reading.h"

enum { ATTR_NUMBER_SIZE = 128, ATTR_NAME_SIZE = 64 };

struct attrs {
    const struct env *env;
    char path[PATH_SIZE - ATTR_NAME_SIZE]; /* on the real host, without the sysroot */
    bool refused;                          /* a read gave EPERM: asleep on newer kernels */
    bool gone;                             /* a read gave ENODEV: unplugged or unbound in mid-read */
    bool unread;                           /* a read of an existing file failed */
};

/* -ENAMETOOLONG, with an empty path that contains nothing. */
int attrs_init(struct attrs *a, const struct env *env, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

/* An attribute's text, cut at the first NUL (some captures and drivers pad) and trimmed; its length or -errno. */
ssize_t attrs_text(struct attrs *a, const char *name, char *text, size_t size);
/* The raw bytes. */
ssize_t attrs_bytes(struct attrs *a, const char *name, void *to, size_t size);
/* A decimal number. -ENODATA: empty file, -EBADMSG: something else. */
int attrs_number(struct attrs *a, const char *name, int64_t *ret);
/* The number times `multiply` divided by `divide`, rounded; or why there is none. */
struct reading attrs_reading(struct attrs *a, const char *name, int64_t multiply, int64_t divide);
/* The first of several names that exists. */
struct reading attrs_first(struct attrs *a, const char *const *names, size_t count, int64_t multiply, int64_t divide);
bool attrs_exists(const struct attrs *a, const char *name);
/* Writes a setting; 0 or -errno. */
int attrs_write(const struct attrs *a, const char *name, const char *text);
int attrs_write_number(const struct attrs *a, const char *name, int64_t value);
/* Whether this process may write it. */
bool attrs_writable(const struct attrs *a, const char *name);

/* The meaning of an attribute's errno: drivers return EINVAL and EOPNOTSUPP for "this chip has no such sensor". */
enum reading_state attrs_state(int error);
