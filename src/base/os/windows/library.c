/* SPDX-License-Identifier: Apache-2.0
 * DLLs. By name alone they come from the folder of the program or of the system, never from the folder that is worked in.
 */
#include "base/os/library.h"

#include <errno.h>
#include <string.h>

#include "base/env.h"
#include "base/os/windows/internal.h"
#include "base/os/windows/linked.h"

void *library_load(const char *name, struct error *err)
{
    wchar_t wide[WIDE_PATH];
    bool placed = strpbrk(name, "/\\:");
    void *own = linked_library(name);
    if (own)
        return own;
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
