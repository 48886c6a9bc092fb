/* SPDX-License-Identifier: Apache-2.0
 * Loads SQLite and its functions.
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
/* The program links SQLite, libwhirr does not: there these are NULL. */
#define WEAK(name) extern __typeof__(sqlite3_##name) sqlite3_##name __attribute__((weak));
SQLITE_FUNCTIONS(WEAK)
#undef WEAK

static bool use_linked(void)
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
static bool use_linked(void)
{
    return false;
}
#endif

static bool load_shared(struct error *why)
{
    void *library = library_load("libsqlite3.so.0", why);
    return library && library_symbols(library, symbols, ARRAY_LEN(symbols), why) == 0;
}

static int load_functions(struct error *err)
{
    struct error why = {0};
    if (!use_linked() && !load_shared(&why))
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later (Debian: libsqlite3-0): %s", why.text);
    if (sqlite.libversion_number() < OLDEST)
        return error_set(err, -ENOSYS, "the history needs SQLite 3.37 or later; this host has %s", sqlite.libversion());
    /* SQLite would take a lock to count each allocation, and nothing reads the count. No effect once SQLite is in use. */
    sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* SQLite would allocate twenty pages at once per connection: more than most need, and it can't free them one by one. */
    sqlite.config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    loaded = true;
    return 0;
}

int sqlite_load(struct error *err)
{
    pthread_mutex_lock(&sqlite_lock);
    int rc = loaded ? 0 : load_functions(err);
    pthread_mutex_unlock(&sqlite_lock);
    return rc;
}
