/* SPDX-License-Identifier: Apache-2.0
 * A directory of kernel attributes: one small file a value, and drivers that fail in many ways. Remembers the two failures that
 * say something about the whole device.
 */
#pragma once

#include "base/file.h"
#include "model/reading.h"

enum { ATTR_NUMBER_SIZE = 128, ATTR_NAME_SIZE = 64 };

struct attrs {
    const struct env *env;
    char path[PATH_SIZE - ATTR_NAME_SIZE]; /* as on the real machine, without the sysroot */
    bool refused;                          /* a read gave EPERM: asleep on newer kernels */
    bool gone;                             /* a read gave ENODEV: unplugged or unbound in mid-read */
    bool unread;                           /* a read of something that is there failed */
};

/* -ENAMETOOLONG, and an empty path in which nothing is found. */
int attrs_init(struct attrs *a, const struct env *env, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

/* The text of an attribute, cut at the first NUL (some captures and drivers pad) and trimmed; its length or -errno. */
ssize_t attrs_text(struct attrs *a, const char *name, char *text, size_t size);
/* The bytes as they are. */
ssize_t attrs_bytes(struct attrs *a, const char *name, void *to, size_t size);
/* One decimal number. -ENODATA: the file is empty, -EBADMSG: it holds something else. */
int attrs_number(struct attrs *a, const char *name, int64_t *ret);
/* The number, times `multiply`, divided by `divide` and rounded; or the reason why there is none. */
struct reading attrs_reading(struct attrs *a, const char *name, int64_t multiply, int64_t divide);
/* Reads several names and takes the first that is there. */
struct reading attrs_first(struct attrs *a, const char *const *names, size_t count, int64_t multiply, int64_t divide);
bool attrs_exists(const struct attrs *a, const char *name);
/* Writes a setting; 0 or -errno. */
int attrs_write(const struct attrs *a, const char *name, const char *text);
int attrs_write_number(const struct attrs *a, const char *name, int64_t value);
/* Whether this process may write it. */
bool attrs_writable(const struct attrs *a, const char *name);

/* What an errno of an attribute means: drivers say EINVAL and EOPNOTSUPP for "this chip has no such sensor". */
enum reading_state attrs_state(int error);
