/* SPDX-License-Identifier: Apache-2.0
 * The part of dlopen() that is the same everywhere.
 */
#include "base/os/library.h"

#include <dlfcn.h>

void *library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}
