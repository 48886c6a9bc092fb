/* SPDX-License-Identifier: Apache-2.0
 * Prints a message in one piece: the C library writes to an unbuffered stream byte by byte, and a console would show each byte of
 * a non-ASCII character separately.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "port/windows/internal.h"

int posix_vfprintf(FILE *to, const char *format, va_list args)
{
    char small[1024], *text = small;
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(small, sizeof small, format, args);
    if (len >= (int)sizeof small) {
        text = malloc((size_t)len + 1);
        len = text ? vsnprintf(text, (size_t)len + 1, format, again) : -1;
    }
    va_end(again);
    bool shown = len > 0 && to == stderr && console_message(text, (size_t)len);
    if (len > 0 && !shown && fwrite(text, 1, (size_t)len, to) != (size_t)len)
        len = -1;
    if (text != small)
        free(text);
    return len;
}

int posix_fprintf(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = posix_vfprintf(to, format, args);
    va_end(args);
    return len;
}
