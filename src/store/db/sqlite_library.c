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

enum { OLDEST = 3037000 };

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"sqlite3_" #name, &sqlite.name},
    SQLITE_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

#ifdef WHIRR_SQLITE_LINKED
/* The program has it, libwhirr does not: there these are NULL. */
#define WEAK(name) extern __typeof__(sqlite3_##name) sqlite3_##name __attribute__((weak));
SQLITE_FUNCTIONS(WEAK)
#undef WEAK

static bool take_own(void)
{
    if (!sqlite3_libversion_number)
        return false;
    sqlite = (struct sqlite_library){
#define OWN(name) .name = sqlite3_##name,
        SQLITE_FUNCTIONS(OWN)
#undef OWN
    };
    return true;
}
#else
static bool take_own(void)
{
    return false;
}
#endif

static bool take_from_library(struct error *why)
{
    void *library = library_load("libsqlite3.so.0", why);
    return library && library_symbols(library, symbols, ARRAY_LEN(symbols), why) == 0;
}

static int look_up(struct error *err)
{
    struct error why = {0};
    if (!take_own() && !take_from_library(&why))
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later (Debian: libsqlite3-0): %s", why.text);
    if (sqlite.libversion_number() < OLDEST)
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later; this host has %s", sqlite.libversion());
    /* Counting every allocation takes a lock each time, and the count is never read. Without effect once SQLite is in use. */
    sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* Twenty pages at once for each connection are more than most need, and cannot be given back one by one. */
    sqlite.config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
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
