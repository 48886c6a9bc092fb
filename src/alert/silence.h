/* SPDX-License-Identifier: Apache-2.0
 * Silences: which alerts are not sent, to which notifiers, until when. They don't affect the alert's state.
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
    char value[128]; /* may contain * and ?; ignores case */
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

/* Parses "alert=hot" and adds it. -EINVAL and a message. */
int silence_add_matcher(struct silence *s, struct str text, struct error *err);
/* Checks it, assigns an ID and stores it. -EINVAL and a message; -ENOSPC if there are too many. */
int silences_add(struct silences *all, struct silence *s, struct wall now, struct error *err);
bool silences_remove(struct silences *all, const char *id);
/* Removes expired silences; true if there were any. */
bool silences_expire(struct silences *all, struct wall now);

/* The value of an alert's label, or NULL. */
typedef const char *silence_label_fn(const void *alert, const char *key);
/* The first active silence that matches, or NULL. */
const struct silence *silences_match(const struct silences *all, silence_label_fn *label, const void *alert, struct wall now);
