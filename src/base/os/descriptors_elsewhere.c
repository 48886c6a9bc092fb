/* SPDX-License-Identifier: Apache-2.0
 * What only Linux can do with descriptors.
 */
#include <errno.h>

#include "base/file.h"

/* Only a process itself can: programs that are started keep the higher one. */
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
