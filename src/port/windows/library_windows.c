/* SPDX-License-Identifier: Apache-2.0
 * DLLs. Bare names load from the directory of the program or the system, never from the working directory; user-installed ones
 * also from PATH. Libraries that every Linux host has are linked statically, and found by their Linux names.
 */
#include "base/os/library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/os/place.h"
#include "port/library_names.h"
#include "port/windows/internal.h"

/* ---- linked libraries: only the names of their functions matter here; callers know their types ---- */

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

static void *linked_library(const char *name)
{
    for (size_t i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0)
            return (void *)&sets[i];
    return NULL;
}

static bool linked_is(const void *library)
{
    for (size_t i = 0; i < SETS; i++)
        if (library == &sets[i])
            return true;
    return false;
}

static void *linked_symbol(const void *library, const char *name)
{
    for (const struct linked_function *f = ((const struct linked_set *)library)->functions; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->at;
    return NULL;
}

const struct library_name library_names[] = {
    {"libcrypto.so.3", "libcrypto-3-x64.dll", "OpenSSL for Windows"},
    {"libssl.so.3", "libssl-3-x64.dll", "OpenSSL for Windows"},
    {"libpq.so.5", "libpq.dll", "part of PostgreSQL for Windows"},
    {NULL, NULL, NULL},
};

/* ---- loading ---- */

static void turn_slashes(wchar_t *path)
{
    for (wchar_t *c = path; *c; c++)
        if (*c == L'/')
            *c = L'\\';
}

/* Loads from this directory, dependencies included. */
static HMODULE load_from(struct str folder, const char *name, DWORD *error)
{
    enum { FLAGS = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32 };
    char path[WIDE_PATH];
    wchar_t wide[WIDE_PATH];
    if (snprintf(path, sizeof path, "%.*s\\%s", (int)folder.len, folder.at, name) >= (int)sizeof path || !wide_path(path, wide) ||
        GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES)
        return NULL;
    turn_slashes(wide);
    HMODULE library = LoadLibraryExW(wide, NULL, FLAGS);
    if (!library)
        *error = GetLastError();
    return library;
}

static HMODULE load_beside_program(const char *name, DWORD *error)
{
    wchar_t wide[WIDE_PATH];
    char program[WIDE_PATH];
    DWORD len = GetModuleFileNameW(NULL, wide, WIDE_PATH);
    bool known = len > 0 && len < WIDE_PATH && utf8_from(wide, program, sizeof program);
    const char *slash = known ? path_last_slash(program) : NULL;
    return slash ? load_from((struct str){program, (size_t)(slash - program)}, name, error) : NULL;
}

static HMODULE load_from_path(const char *name, DWORD *error)
{
    const char *path = env_variable("PATH");
    struct str rest = str_from(path ? path : ""), folder;
    HMODULE library = NULL;
    while (!library && path_next(&rest, &folder))
        library = load_from(folder, name, error);
    return library;
}

/* Loads a library that users install. */
static void *load_installed(const char *name, struct error *err)
{
    wchar_t wide[64];
    DWORD error = 0; /* from a file that exists but didn't load */
    HMODULE library = load_beside_program(name, &error);
    if (!library && wide_from(name, wide, sizeof wide / sizeof wide[0]))
        library = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library)
        library = load_from_path(name, &error);
    if (library)
        return library;
    if (!error)
        error_set(err, -ENOENT, "there is no %s; put it beside whirr.exe, or its directory into PATH", name);
    else if (error == ERROR_MOD_NOT_FOUND)
        error_set(err, -ENOENT, "%s: a library that it needs is missing beside it", name);
    else
        error_set(err, -ENOENT, "%s: cannot be loaded (error %lu of Windows)", name, error);
    return NULL;
}

void *library_load(const char *name, struct error *err)
{
    wchar_t wide[WIDE_PATH];
    bool placed = strpbrk(name, "/\\:");
    void *own = linked_library(name);
    if (own)
        return own;
    if (library_find(name))
        return load_installed(library_name(name), err);
    if (placed ? !wide_path(name, wide) : !wide_from(name, wide, WIDE_PATH)) {
        error_set(err, -ENOENT, "%s: not a path", name);
        return NULL;
    }
    turn_slashes(wide);
    HMODULE library = LoadLibraryExW(
        wide, NULL, placed ? LOAD_WITH_ALTERED_SEARCH_PATH : LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library) {
        DWORD error = GetLastError();
        bool missing = error == ERROR_MOD_NOT_FOUND || error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
        error_set(err, -ENOENT, missing ? "%s: not found" : "%s: cannot be loaded (error %lu of Windows)", name, error);
    }
    return library;
}

const char *library_path(void *library)
{
    static char path[WIDE_PATH]; /* of the only library whose path anyone needs */
    wchar_t wide[WIDE_PATH];
    DWORD len = GetModuleFileNameW(library, wide, WIDE_PATH);
    return len > 0 && len < WIDE_PATH && utf8_from(wide, path, sizeof path) ? path : "";
}

void *library_symbol(void *library, const char *name)
{
    return linked_is(library) ? linked_symbol(library, name) : (void *)GetProcAddress(library, name);
}

/* Windows has no huge pages for library data. */
void library_fill_faster(void *library)
{
    (void)library;
}

void library_stay(const void *part)
{
    HMODULE library;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, part, &library);
}
