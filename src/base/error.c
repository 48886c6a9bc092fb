/* SPDX-License-Identifier: Apache-2.0
 * Error sentences. Knows nothing of logs or exit codes.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/secret/mask.h"

int error_set(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (strstr(err->text, "://")) /* sentences reach logs, pages and other users: mask secrets in URLs */
        mask_here(err->text, sizeof err->text);
    err->code = code;
    return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return 0;
    char said[sizeof err->text];
    memcpy(said, err->text, sizeof said);

    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (used < 0)
        used = 0;
    if ((size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", said);
    return err->code;
}
