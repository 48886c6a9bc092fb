/* SPDX-License-Identifier: Apache-2.0
 * Compatible with GNU's functions.
 */
#include "port/gnu/text_gnu.h"

#include <ctype.h>
#include <stdbool.h>
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

/* ---- versions ---- */

enum version_state { OUTSIDE, WHOLE, FRACTION, ZEROS };

/* What the digits before this position belong to. */
static enum version_state state_at(const char *text, size_t at)
{
    size_t from = at;
    while (from > 0 && isdigit((unsigned char)text[from - 1]))
        from--;
    if (from == at)
        return OUTSIDE;
    if (text[from] != '0')
        return WHOLE;
    while (from < at && text[from] == '0')
        from++;
    return from < at ? FRACTION : ZEROS;
}

/* Digits compare as numbers, but with a leading 0 as a fraction: the longer run of zeros is smaller. */
int gnu_strverscmp(const char *a, const char *b)
{
    size_t at = 0, in_a = 0, in_b = 0;
    while (a[at] && a[at] == b[at])
        at++;
    while (isdigit((unsigned char)a[at + in_a]))
        in_a++;
    while (isdigit((unsigned char)b[at + in_b]))
        in_b++;
    int difference = (unsigned char)a[at] - (unsigned char)b[at];
    enum version_state state = state_at(a, at);
    bool numbers = state == WHOLE || (state == OUTSIDE && in_a && in_b && a[at] != '0' && b[at] != '0');
    if (numbers && in_a != in_b)
        return in_a < in_b ? -1 : 1;
    if (state == ZEROS && !in_a != !in_b)
        return in_a ? -1 : 1;
    return difference;
}
