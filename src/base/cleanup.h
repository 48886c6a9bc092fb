/* SPDX-License-Identifier: Apache-2.0
 * Scope-bound cleanup: AUTO_* variables release what they own when they leave scope; TAKE() transfers ownership. Plus array
 * helpers that every file uses.
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

struct json_t; /* of jansson */
void cleanup_json(struct json_t **json);

#define CLEANUP(function) __attribute__((cleanup(function)))
#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_CLOSE CLEANUP(cleanup_close)
#define AUTO_FCLOSE CLEANUP(cleanup_file)
#define AUTO_JSON CLEANUP(cleanup_json)

/* Moves a pointer out of its AUTO_ variable, leaving NULL. */
#define TAKE(p)                 \
    ({                          \
        typeof(p) taken_ = (p); \
        (p) = NULL;             \
        taken_;                 \
    })

/* Makes room for one more item in a heap array, doubling it when full. False: out of memory, array unchanged. */
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

/* One more entry of a list that is full at each power of two; NULL: out of memory. */
#define ONE_MORE(list, count)                                                \
    ({                                                                       \
        size_t capacity_ = (count) & ((count)-1) ? (count) + 1 : (count);    \
        ROOM_FOR_ONE(list, count, capacity_, 1) ? &(list)[(count)++] : NULL; \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
