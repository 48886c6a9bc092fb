/* SPDX-License-Identifier: Apache-2.0
 * Access tokens. A token is 256 random bits and is shown once; the file has its SHA-256 (random bits can't be guessed, so no slow
 * hash is needed), name, creation time, roles and optional end, one line each:
 *
 *     laptop 2026-11-15T01:02:03.456Z 9f86d081...15b0f00a08 read until 2027-11-15T00:00:00.000Z
 *
 * A line without roles, from an older version, has all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/str.h"

/* What a client may do. A token has one role or several; all roles may read.
 *
 *     read      what the API shows, with command lines masked
 *     commands  read, and command lines as they are
 *     silence   read, and silence alerts
 *     guard     read, and have models moved out of GPUs and back
 *     control   read, and end leases and change settings of GPUs
 *     admin     everything
 */
enum right {
    RIGHT_NONE = 0, /* of a route: open to everyone, like the login page */
    RIGHT_READ = 1 << 0,
    RIGHT_COMMANDS = 1 << 1,
    RIGHT_SILENCE = 1 << 2,
    RIGHT_GUARD = 1 << 3,
    RIGHT_CONTROL = 1 << 4,
    RIGHT_ADMIN = 1 << 5,
    RIGHTS_ALL = (RIGHT_ADMIN << 1) - 1,
};

enum { ROLES_SIZE = 48 };

/* Parses "read", "silence,guard"; -EINVAL with a sentence that lists the roles. */
int rights_parse(struct str roles, unsigned *ret, struct error *err);
/* "silence,guard"; all rights are "admin". */
const char *rights_roles(unsigned rights, char text[ROLES_SIZE]);
/* The role that grants this right: "silence". */
const char *right_role(enum right right);
/* Whether it changes something. */
bool right_acts(enum right right);

enum { TOKENS_MAX = 64, TOKEN_NAME_SIZE = 64, TOKEN_TEXT_SIZE = 80 };

struct access_token {
    char name[TOKEN_NAME_SIZE];
    struct wall made_at, until; /* until 0: never expires */
    unsigned rights;
    uint8_t digest[SHA256_SIZE];
};

struct token_file {
    const char *path; /* NULL: none */
    size_t count;
    struct access_token tokens[TOKENS_MAX];
    struct timespec changed; /* modification time when it was read */
    ino_t inode;
};

/* Reads the file; a missing one has no tokens. An invalid line is an error, and nothing is loaded. */
int token_file_load(struct token_file *f, const char *path, struct error *err);
/* Reports tokens added, removed or changed since the file was last read. */
typedef void token_changed(void *user, const struct access_token *t, const char *how);
/* Rereads it if it changed, so that a new token works at once. `changed` may be NULL. */
void token_file_refresh(struct token_file *f, token_changed *changed, void *user);
/* The token with this text, NULL: unknown; takes constant time. */
const struct access_token *token_file_check(const struct token_file *f, struct str token);
/* The same for its hash. */
const struct access_token *token_file_find(const struct token_file *f, const uint8_t digest[SHA256_SIZE]);

static inline bool token_is_over(const struct access_token *t, struct wall now)
{
    return t->until.ms && now.ms >= t->until.ms;
}

/* The properties of a new token. */
struct token_grant {
    struct wall now, until; /* until 0: never expires */
    unsigned rights;
};

/* Creates a token, adds it to the file (mode 0600, replaced atomically) and writes its text to `text`. */
int token_file_add(struct token_file *f, const char *name, const struct token_grant *grant, char text[TOKEN_TEXT_SIZE],
                   struct error *err);
/* -ENOENT: no such name. */
int token_file_remove(struct token_file *f, const char *name, struct error *err);
