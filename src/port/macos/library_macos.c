/* SPDX-License-Identifier: Apache-2.0
 * Libraries through dlopen(). System libraries have other names on macOS; all others come from Homebrew.
 */
#include "base/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/file.h"
#include "port/library_names.h"

enum { LOAD_FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

const struct library_name library_names[] = {
    {"libcurl.so.4", "/usr/lib/libcurl.4.dylib", "part of macOS"},
    {"libsqlite3.so.0", "/usr/lib/libsqlite3.dylib", "part of macOS"},
    {"libncursesw.so.6", "/usr/lib/libncurses.5.4.dylib", "part of macOS"},
    {"libz.so.1", "/usr/lib/libz.1.dylib", "part of macOS"},
    {"libpq.so.5", "libpq.5.dylib", "Homebrew: libpq"},
    {"libcrypto.so.3", "libcrypto.3.dylib", "Homebrew: openssl@3"},
    {"libssl.so.3", "libssl.3.dylib", "Homebrew: openssl@3"},
    {NULL, NULL, NULL},
};

/* Homebrew's library directories. Keg-only packages, which macOS partly provides itself, have their own. */
static void *load_brewed(const char *name)
{
    static const char *const folders[] = {"/opt/homebrew/lib", "/opt/homebrew/opt/openssl@3/lib", "/opt/homebrew/opt/libpq/lib",
                                          "/usr/local/lib",    "/usr/local/opt/openssl@3/lib",    "/usr/local/opt/libpq/lib"};
    void *library = NULL;
    for (size_t i = 0; !library && i < ARRAY_LEN(folders); i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        library = dlopen(path, LOAD_FLAGS);
    }
    return library;
}

void *library_load(const char *name, struct error *err)
{
    const struct library_name *k = library_find(name);
    if (k && k->own[0] != '/') { /* a bare name could load from the working directory */
        void *brewed = load_brewed(k->own);
        if (!brewed)
            error_set(err, -ENOENT, "there is no %s where Homebrew has libraries", k->own);
        return brewed;
    }
    void *library = dlopen(library_name(name), LOAD_FLAGS);
    if (!library) {
        const char *said = dlerror();
        error_set(err, -ENOENT, "%s", said ? said : "dlopen failed");
    }
    return library;
}

void *library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
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
