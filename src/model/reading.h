/* SPDX-License-Identifier: Apache-2.0
 * A reading: a number, or the reason why there is none. Zeroed memory is an absent reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum reading_state {
    READING_UNREAD, /* not requested */
    READING_OK,
    READING_UNSUPPORTED, /* this GPU, driver or kernel lacks it */
    READING_DENIED,      /* needs privileges */
    READING_ASLEEP,      /* reading would wake the GPU */
    READING_FAILED,
    READING_PENDING,     /* a rate: needs a second sample */
    READING_IMPLAUSIBLE, /* the source returned an impossible value (ranges.def) */
    READING_LAST = READING_IMPLAUSIBLE,
};

struct reading {
    int64_t value;
    enum reading_state state;
};

static inline struct reading reading_ok(int64_t value)
{
    return (struct reading){value, READING_OK};
}

static inline struct reading reading_absent(enum reading_state why)
{
    return (struct reading){0, why};
}

static inline bool reading_get(struct reading r, int64_t *ret)
{
    if (r.state != READING_OK)
        return false;
    *ret = r.value;
    return true;
}

static inline int64_t reading_or(struct reading r, int64_t fallback)
{
    return r.state == READING_OK ? r.value : fallback;
}

/* "unread", "unsupported", ...: the API's words. */
const char *reading_state_name(enum reading_state state);
bool reading_state_from_name(const char *name, enum reading_state *ret);

/* From 0 or -errno of a kernel file to a state. */
enum reading_state reading_state_from_errno(int error);
