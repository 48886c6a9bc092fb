/* SPDX-License-Identifier: Apache-2.0
 * Names of reading states.
 */
#include "model/reading.h"

#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char *const names[] = {
    [READING_UNREAD] = "unread",           [READING_OK] = "ok",
    [READING_UNSUPPORTED] = "unsupported", [READING_DENIED] = "denied",
    [READING_ASLEEP] = "asleep",           [READING_FAILED] = "failed",
    [READING_PENDING] = "pending",         [READING_IMPLAUSIBLE] = "implausible",
};

const char *reading_state_name(enum reading_state state)
{
    return (size_t)state < ARRAY_LEN(names) ? names[state] : "failed";
}

bool reading_state_from_name(const char *name, enum reading_state *ret)
{
    size_t i = NAME_FIND(names, str_from(name));
    if (i < ARRAY_LEN(names))
        *ret = (enum reading_state)i;
    return i < ARRAY_LEN(names);
}

enum reading_state reading_state_from_errno(int error)
{
    switch (error < 0 ? -error : error) {
    case 0: return READING_OK;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
    case ENOSYS: return READING_UNSUPPORTED;
    case EACCES: return READING_DENIED;
    case EPERM: return READING_DENIED;
    default: return READING_FAILED;
    }
}
