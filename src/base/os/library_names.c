/* SPDX-License-Identifier: Apache-2.0
 * Looks up library names.
 */
#include "base/os/library_names.h"

#include <stddef.h>
#include <string.h>

#include "base/os/library.h"

const struct library_name *library_find(const char *name)
{
    for (const struct library_name *l = library_names; l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

const char *library_name(const char *name)
{
    const struct library_name *l = library_find(name);
    return l ? l->own : name;
}

const char *library_package(const char *name, const char *of_debian)
{
    const struct library_name *l = library_find(name);
    return l ? l->package : of_debian;
}
