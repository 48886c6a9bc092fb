/* SPDX-License-Identifier: Apache-2.0
 * Lazily loaded libraries: the loader functions of each system. The rest is in base/env.h.
 */
#pragma once

/* NULL: no such symbol. */
void *library_symbol(void *library, const char *name);

/* The name of a library on this system, and the package that has it. Callers use the Linux name. */
#ifdef __linux__
static inline const char *library_name(const char *name)
{
    return name;
}
static inline const char *library_package(const char *name, const char *of_debian)
{
    (void)name;
    return of_debian;
}
#else
const char *library_name(const char *name);
const char *library_package(const char *name, const char *of_debian);
#endif

/* Requests huge pages for the library's large tables: a short-lived program fills them all at once. */
void library_fill_faster(void *library);
/* Keeps the library that contains `part` loaded until the program ends. */
void library_stay(const void *part);
