/* SPDX-License-Identifier: Apache-2.0
 * Scope-bound cleanup: AUTO_* variables release what they own when they leave scope; TAKE() hands it on. And what every file uses
 * of lists.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define CLEANUP(function) __attribute__((cleanup(function)))
#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_CLOSE CLEANUP(cleanup_close)
#define AUTO_FCLOSE CLEANUP(cleanup_file)

/* Moves a pointer out of its AUTO_ variable, which then owns nothing. */
#define TAKE(p)                 \
    ({                          \
        typeof(p) taken_ = (p); \
        (p) = NULL;             \
        taken_;                 \
    })

/* Whether a list on the heap has room for one more: a full one becomes twice as long. False: out of memory; it stays as it was. */
#define ROOM_FOR_ONE(list, count, capacity, first)                         \
    ({                                                                     \
        bool room_ = (count) < (capacity);                                 \
        if (!room_) {                                                      \
            size_t more_ = (capacity) ? 2 * (capacity) : (first);          \
            typeof(list) grown_ = realloc((list), more_ * sizeof *(list)); \
            room_ = grown_ != NULL;                                        \
            (list) = room_ ? grown_ : (list);                              \
            (capacity) = room_ ? more_ : (capacity);                       \
        }                                                                  \
        room_;                                                             \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
