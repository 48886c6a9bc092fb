/* SPDX-License-Identifier: Apache-2.0
 * Libraries whose names differ from those on Linux: one table per system.
 */
#pragma once

struct library_name {
    const char *name, *own, *package; /* on Linux, on this system, and the package that has it */
};
extern const struct library_name library_names[]; /* a NULL name ends it */

/* NULL: it has the same name everywhere. */
const struct library_name *library_find(const char *name);
