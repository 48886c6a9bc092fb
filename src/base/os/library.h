/* SPDX-License-Identifier: Apache-2.0
 * Libraries that are loaded late: what only the loader of a system can do. The rest is in base/env.h.
 */
#pragma once

/* NULL: it has none of that name. */
void *library_symbol(void *library, const char *name);

/* What it is called here, and what it comes with: those who load one know it by its name on Linux. */
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

/* Its large tables are filled at once by this program, which ends soon: asks for memory that is cheap to fill. */
void library_fill_faster(void *library);
/* The library that this is a part of is not unloaded before the program ends. */
void library_stay(const void *part);
