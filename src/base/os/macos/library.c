/* SPDX-License-Identifier: Apache-2.0
 * Libraries through dlopen(). Those that are part of every Mac have other names there; others are looked for where Homebrew has
 * them.
 */
#include "base/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/file.h"

static const char *own_name(const char *name)
{
    static const struct {
        const char *name, *own;
    } known[] = {
        {"libcurl.so.4", "/usr/lib/libcurl.4.dylib"},
        {"libsqlite3.so.0", "/usr/lib/libsqlite3.dylib"},
        {"libncursesw.so.6", "/usr/lib/libncurses.5.4.dylib"},
        {"libz.so.1", "/usr/lib/libz.1.dylib"},
        {"libpq.so.5", "libpq.5.dylib"},
        {"libcrypto.so.3", "libcrypto.3.dylib"},
        {"libssl.so.3", "libssl.3.dylib"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].own;
    return name;
}

void *library_load(const char *name, struct error *err)
{
    enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };
    char brewed[PATH_SIZE];
    const char *own = own_name(name);
    void *library = dlopen(own, FLAGS);
    snprintf(brewed, sizeof brewed, "/opt/homebrew/lib/%s", own);
    if (!library && !strchr(own, '/'))
        library = dlopen(brewed, FLAGS);
    if (!library) {
        const char *said = dlerror();
        error_set(err, -ENOENT, "%s", said ? said : "dlopen failed");
    }
    return library;
}

const char *library_path(void *library)
{
    (void)library;
    return "";
}

void library_fill_faster(void *library)
{
    (void)library;
}

void library_stay(const void *part)
{
    Dl_info found;
    if (dladdr(part, &found) && found.dli_fname)
        dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
