/* SPDX-License-Identifier: Apache-2.0
 * Libraries that have other names than on Linux: each system has a table of them.
 */
#pragma once

struct library_name {
    const char *name, *own, *package; /* on Linux, here, and what has it */
};
extern const struct library_name library_names[]; /* the last has no name */

/* NULL: it is called the same everywhere. */
const struct library_name *library_find(const char *name);
