/* SPDX-License-Identifier: Apache-2.0
 * The functions of statically linked libraries. Only their names matter here; callers know their types.
 */
#include "port/windows/internal.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
#define CURL_NAMES(X) \
    X(curl_global_init) X(curl_easy_init) X(curl_easy_setopt) X(curl_easy_perform) X(curl_easy_getinfo) X(curl_easy_send) \
    X(curl_easy_recv) X(curl_easy_cleanup) X(curl_easy_strerror) X(curl_slist_append) X(curl_slist_free_all)
#define ZLIB_NAMES(X) \
    X(deflateInit2_) X(deflate) X(deflateBound) X(deflateEnd) X(inflateInit2_) X(inflate) X(inflateEnd)
#define SQLITE_NAMES(X) \
    X(sqlite3_open_v2) X(sqlite3_close_v2) X(sqlite3_exec) X(sqlite3_prepare_v3) X(sqlite3_finalize) X(sqlite3_bind_null) \
    X(sqlite3_bind_int64) X(sqlite3_bind_text) X(sqlite3_step) X(sqlite3_reset) X(sqlite3_column_type) X(sqlite3_column_int64) \
    X(sqlite3_column_text) X(sqlite3_column_bytes) X(sqlite3_changes) X(sqlite3_errmsg) X(sqlite3_config) \
    X(sqlite3_extended_result_codes) X(sqlite3_busy_timeout) X(sqlite3_libversion) X(sqlite3_libversion_number) \
    X(sqlite3_progress_handler) X(sqlite3_backup_init) X(sqlite3_backup_step) X(sqlite3_backup_finish) \
    X(sqlite3_backup_remaining) X(sqlite3_backup_pagecount)
/* clang-format on */

#define DECLARE(name) extern char name[];
CURL_NAMES(DECLARE)
ZLIB_NAMES(DECLARE)
SQLITE_NAMES(DECLARE)
#undef DECLARE

/* Returns Windows error codes, which need translation. */
int sqlite3_system_errno(void *db);

static int posix_sqlite_errno(void *db)
{
    int error = sqlite3_system_errno(db);
    if (error)
        fail_with((DWORD)error);
    return error ? errno : 0;
}

struct linked_function {
    const char *name;
    void *at;
};

#define ENTRY(name) {#name, name},
static const struct linked_function curl_functions[] = {CURL_NAMES(ENTRY){0}};
static const struct linked_function zlib_functions[] = {ZLIB_NAMES(ENTRY){0}};
static const struct linked_function sqlite_functions[] = {SQLITE_NAMES(ENTRY){"sqlite3_system_errno", posix_sqlite_errno}, {0}};
#undef ENTRY

static const struct linked_set {
    const char *name;
    const struct linked_function *functions; /* a NULL name ends it */
} sets[] = {
    {"libcurl.so.4", curl_functions},
    {"libz.so.1", zlib_functions},
    {"libsqlite3.so.0", sqlite_functions},
};
enum { SETS = sizeof sets / sizeof sets[0] };

void *linked_library(const char *name)
{
    for (size_t i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0)
            return (void *)&sets[i];
    return NULL;
}

bool linked_is(const void *library)
{
    for (size_t i = 0; i < SETS; i++)
        if (library == &sets[i])
            return true;
    return false;
}

void *linked_symbol(const void *library, const char *name)
{
    for (const struct linked_function *f = ((const struct linked_set *)library)->functions; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->at;
    return NULL;
}
