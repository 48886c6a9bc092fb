/* SPDX-License-Identifier: Apache-2.0
 * DLLs. Bare names load from the directory of the program or the system, never from the working directory; user-installed ones
 * also from PATH.
 */
#include "base/os/library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/os/library_names.h"
#include "base/os/place.h"
#include "port/windows/internal.h"

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
