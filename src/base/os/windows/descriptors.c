/* SPDX-License-Identifier: Apache-2.0
 * Limits of descriptors, which Windows has none of that matter.
 */
#include <stdio.h>

#include "base/file.h"

enum { MOST = 8192 };

size_t descriptors_raise(size_t wanted)
{
    (void)wanted;
    return (size_t)_setmaxstdio(MOST);
}

void descriptors_close_from(int first)
{
    (void)first;
}
