/* SPDX-License-Identifier: Apache-2.0
 * Compatible with GNU's functions.
 */
#include "port/gnu/text_gnu.h"

#include <string.h>

void *gnu_memrchr(const void *in, int byte, size_t len)
{
    const unsigned char *bytes = in;
    while (len--)
        if (bytes[len] == (unsigned char)byte)
            return (void *)(bytes + len);
    return NULL;
}

void *gnu_mempcpy(void *to, const void *from, size_t len)
{
    return (char *)memcpy(to, from, len) + len;
}

char *gnu_strchrnul(const char *in, int c)
{
    while (*in && *in != (char)c)
        in++;
    return (char *)in;
}
