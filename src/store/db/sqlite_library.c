/* SPDX-License-Identifier: Apache-2.0
 * Finds SQLite and the functions in it.
 */
#include "store/db/sqlite_library.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/env.h"

struct sqlite_library sqlite;
static bool loaded;
static pthread_mutex_t sqlite_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"sqlite3_" #name, &sqlite.name},
    SQLITE_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static int look_up(struct error *err)
{
    struct error why = {0};
    void *library = library_load("libsqlite3.so.0", &why);
    if (!library || library_symbols(library, symbols, ARRAY_LEN(symbols), &why) < 0)
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later (Debian: libsqlite3-0): %s", why.text);
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
