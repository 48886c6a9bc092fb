/* SPDX-License-Identifier: Apache-2.0
 * Browser logins. A cookie has a random number with a meaning only here and for a limited time; it ends with its token, with a
 * logout, and with the daemon. Pure data of fixed size; the caller passes the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/str.h"

enum { SESSIONS_MAX = 256, SESSION_ID_SIZE = HEX_SIZE(32), SESSION_SECONDS = 7 * 86400 };

struct session_slot {
    uint8_t id[SHA256_SIZE];    /* hash of the cookie's value */
    uint8_t token[SHA256_SIZE]; /* hash of the token, as in the token file */
    int64_t until_ms;           /* 0: free */
};

struct sessions {
    struct session_slot slots[SESSIONS_MAX];
};

/* Writes a new session's cookie to `id`. When full, evicts the session that would end first. False: no random numbers available. */
bool sessions_open(struct sessions *s, const uint8_t token[SHA256_SIZE], int64_t now_ms, char id[SESSION_ID_SIZE]);
/* The hash of the session's token, NULL: no such session (any more). */
const uint8_t *sessions_find(const struct sessions *s, const uint8_t id[SHA256_SIZE], int64_t now_ms); /* hash of its cookie */
void sessions_close(struct sessions *s, const uint8_t id[SHA256_SIZE]);
