/* SPDX-License-Identifier: Apache-2.0
 * Silences: which alerts are not sent, to which notifiers, until when. The alert itself goes its way.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

enum {
    SILENCES_MAX = 128,
    SILENCE_MATCHERS_MAX = 8,
    SILENCE_ID_SIZE = 16,
    SILENCE_COMMENT_SIZE = 256,
    SILENCE_BY_SIZE = 64,
};

struct silence_matcher {
    char key[64];    /* "alert", "severity", "gpu", "gpu_uuid", "gpu_name", "host", "process", "pid", "user", or a label */
    char value[128]; /* with * and ?; case does not matter */
};

struct silence {
    char id[SILENCE_ID_SIZE];
    size_t matcher_count; /* all must match */
    struct silence_matcher matchers[SILENCE_MATCHERS_MAX];
    struct wall created_at, until;
    char comment[SILENCE_COMMENT_SIZE], created_by[SILENCE_BY_SIZE];
};

struct silences {
    size_t count;
    uint32_t next_id;
    struct silence list[SILENCES_MAX];
};

/* "alert=hot" into the matcher. -EINVAL and a sentence. */
int silence_add_matcher(struct silence *s, struct str text, struct error *err);
/* Checks it, gives it a number and keeps it. -EINVAL and a sentence; -ENOSPC when there are too many. */
int silences_add(struct silences *all, struct silence *s, struct wall now, struct error *err);
bool silences_remove(struct silences *all, const char *id);
/* Forgets those that are over; true when there were any. */
bool silences_expire(struct silences *all, struct wall now);

/* The value of a label of the alert; NULL: it has none. */
typedef const char *silence_label_fn(const void *alert, const char *key);
/* The first silence that is in force and fits; NULL: none. */
const struct silence *silences_match(const struct silences *all, silence_label_fn *label, const void *alert, struct wall now);
