/* SPDX-License-Identifier: Apache-2.0
 * Descriptor functions that only Linux has.
 */
#include <errno.h>

#include "base/file.h"

/* Only a process itself can lower its limit: child processes keep the raised one. */
void descriptors_lower_of(int32_t pid)
{
    (void)pid;
}

ssize_t dir_entries(int dir, void *buffer, size_t size)
{
    (void)dir, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}
