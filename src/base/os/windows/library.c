/* SPDX-License-Identifier: Apache-2.0
 * DLLs. By name alone they come from the folder of the program or of the system, never from the folder that is worked in; those
 * that people install themselves from a folder of PATH, too.
 */
#include "base/os/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/env.h"
#include "base/os/windows/internal.h"
#include "base/os/windows/linked.h"

static const struct installed {
    const char *name, *own, *package;
} installed[] = {
    {"libcrypto.so.3", "libcrypto-3-x64.dll", "OpenSSL for Windows"},
    {"libssl.so.3", "libssl-3-x64.dll", "OpenSSL for Windows"},
    {"libpq.so.5", "libpq.dll", "part of PostgreSQL for Windows"},
};

static const struct installed *find_installed(const char *name)
{
    for (size_t i = 0; i < sizeof installed / sizeof installed[0]; i++)
        if (strcmp(installed[i].name, name) == 0)
            return &installed[i];
    return NULL;
}

const char *library_name(const char *name)
{
    const struct installed *i = find_installed(name);
    return i ? i->own : name;
}

const char *library_package(const char *name, const char *of_debian)
{
    const struct installed *i = find_installed(name);
    return i ? i->package : of_debian;
}

/* ---- loading ---- */

/* From this folder, with what it needs. A folder that is not named from the root on would be another one tomorrow. */
static HMODULE load_from(const wchar_t *folder, size_t len, const wchar_t *name, DWORD *error)
{
    enum { FLAGS = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32 };
    wchar_t path[WIDE_PATH];
    bool whole = len > 2 && (folder[1] == L':' || wcsncmp(folder, L"\\\\", 2) == 0);
    if (!whole || len + wcslen(name) + 2 > WIDE_PATH)
        return NULL;
    wmemcpy(path, folder, len);
    path[len] = L'\\';
    wcscpy(path + len + 1, name);
    if (GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES)
        return NULL;
    HMODULE library = LoadLibraryExW(path, NULL, FLAGS);
    if (!library)
        *error = GetLastError();
    return library;
}

static HMODULE load_beside_program(const wchar_t *name, DWORD *error)
{
    wchar_t program[WIDE_PATH];
    DWORD len = GetModuleFileNameW(NULL, program, WIDE_PATH);
    while (len > 0 && program[len - 1] != L'\\')
        len--;
    return len > 0 ? load_from(program, len - 1, name, error) : NULL;
}

static HMODULE load_from_path(const wchar_t *name, DWORD *error)
{
    DWORD size = GetEnvironmentVariableW(L"PATH", NULL, 0);
    wchar_t *all = size ? malloc(size * sizeof *all) : NULL;
    HMODULE library = NULL;
    if (all && GetEnvironmentVariableW(L"PATH", all, size) < size)
        for (const wchar_t *at = all; !library && *at;) {
            size_t len = wcscspn(at, L";");
            library = load_from(at, len, name, error);
            at += len + (at[len] == L';');
        }
    free(all);
    return library;
}

/* One that people install. */
static void *load_installed(const char *name, struct error *err)
{
    wchar_t wide[64];
    DWORD error = 0; /* of one that was there */
    HMODULE library = wide_from(name, wide, sizeof wide / sizeof wide[0]) ? load_beside_program(wide, &error) : NULL;
    if (!library)
        library = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library)
        library = load_from_path(wide, &error);
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
    if (find_installed(name))
        return load_installed(library_name(name), err);
    if (placed ? !wide_path(name, wide) : !wide_from(name, wide, WIDE_PATH)) {
        error_set(err, -ENOENT, "%s: not a path", name);
        return NULL;
    }
    for (wchar_t *c = wide; *c; c++)
        if (*c == L'/')
            *c = L'\\';
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
    static char path[WIDE_PATH]; /* of the one library that says where it is */
    wchar_t wide[WIDE_PATH];
    DWORD len = GetModuleFileNameW(library, wide, WIDE_PATH);
    return len > 0 && len < WIDE_PATH && utf8_from(wide, path, sizeof path) ? path : "";
}

void *library_symbol(void *library, const char *name)
{
    return linked_is(library) ? linked_symbol(library, name) : (void *)GetProcAddress(library, name);
}

/* Windows fills tables in pages of one size. */
void library_fill_faster(void *library)
{
    (void)library;
}

void library_stay(const void *part)
{
    HMODULE library;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, part, &library);
}
