/* SPDX-License-Identifier: Apache-2.0
 * Finds SQLite and the functions in it.
 */
#include "store/db/sqlite_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/env.h"

struct sqlite_library sqlite;
static bool loaded;
static pthread_mutex_t sqlite_lock = PTHREAD_MUTEX_INITIALIZER;

static int look_up(struct error *err)
{
    struct error why = {0};
    void *library = library_load("libsqlite3.so.0", &why);
    if (!library)
        return error_set(err, -ENOSYS, "the history needs SQLite (Debian: libsqlite3-0): %s", why.text);
#define LOOK_UP(name)                                      \
    if (!(sqlite.name = dlsym(library, "sqlite3_" #name))) \
        return error_set(err, -ENOSYS, "SQLite has no sqlite3_%s: version 3.37 or later is needed", #name);
    SQLITE_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    /* Counting every allocation takes a lock each time, and nobody asks for the count. Without effect once SQLite is in use. */
    sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
    loaded = true;
    return 0;
}

int sqlite_load(struct error *err)
{
    pthread_mutex_lock(&sqlite_lock);
    int rc = loaded ? 0 : look_up(err);
    pthread_mutex_unlock(&sqlite_lock);
    return rc;
}
