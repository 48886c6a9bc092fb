/* SPDX-License-Identifier: Apache-2.0
 * Descriptor limits: the C library limits files; sockets aren't among them and have no limit.
 */
#include <stdio.h>

#include "base/file.h"

enum { MOST = 2048 }; /* Windows refuses more */

size_t descriptors_raise(size_t wanted)
{
    (void)_setmaxstdio(MOST);
    return wanted;
}

void descriptors_close_from(int first)
{
    (void)first;
}
