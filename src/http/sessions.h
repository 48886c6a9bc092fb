/* SPDX-License-Identifier: Apache-2.0
 * Who is logged in with a browser. A cookie holds a random number that means something only here and only for a while; it ends with
 * the token that it was given for, with a logout, and with the daemon. Pure data with a fixed size; time is passed in.
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

/* Puts a new session's cookie into `id`. When all places are taken, the one that would end first makes room. False: no random
 * numbers are to be had. */
bool sessions_open(struct sessions *s, const uint8_t token[SHA256_SIZE], int64_t now_ms, char id[SESSION_ID_SIZE]);
/* The hash of the token that the session stands for, NULL when there is no such session (any more). */
const uint8_t *sessions_find(const struct sessions *s, const uint8_t id[SHA256_SIZE], int64_t now_ms); /* hash of its cookie */
void sessions_close(struct sessions *s, const uint8_t id[SHA256_SIZE]);
