/* SPDX-License-Identifier: Apache-2.0
 * Libraries that a test loads and gives back, on Windows.
 */
#pragma once

#include <windows.h>

#include <stdio.h>

enum { RTLD_NOW = 2, RTLD_NOLOAD = 4 };

static inline void *dlopen(const char *path, int flags)
{
    return flags & RTLD_NOLOAD ? GetModuleHandleA(path) : LoadLibraryA(path);
}

static inline void *dlsym(void *library, const char *name)
{
    return (void *)GetProcAddress(library, name);
}

static inline int dlclose(void *library)
{
    return FreeLibrary(library) ? 0 : -1;
}

static inline const char *dlerror(void)
{
    static char text[64];
    snprintf(text, sizeof text, "error %lu of Windows", GetLastError());
    return text;
}
