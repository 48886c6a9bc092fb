/* SPDX-License-Identifier: Apache-2.0
 * A request's credentials, and the rights they grant at this moment. They are separate because rights can change while something
 * uses them. Everything that outlives its request (a WebSocket, a Socket.IO session, a download) holds a tenure: once a second, and
 * at each reload, its credentials are checked again with the current tokens and settings. If they grant less than before, the
 * tenure is over, and its owner ends the stream. Waiting requests need none: they are handled again from the start.
 *
 * Credentials are a token, a browser session, the user on a Unix socket or a certificate. Fields that name users count only from a
 * proxy that has proved itself: by its user on the Unix socket, its certificate, or a secret shared with this server. An address is
 * no proof: every program on that host has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/str.h"
#include "http/token.h"

#define PROXY_SECRET_FIELD "X-Whirr-Proxy-Secret"

struct exchange;
struct site;

struct credential {
    bool is_local; /* from this host, and not visibly forwarded by a proxy */
    bool is_unix;
    bool is_owner; /* the other end of a Unix socket runs as us or root */
    uid_t uid;     /* at the other end of a Unix socket */
    bool has_token, has_session, has_secret;
    uint8_t token[SHA256_SIZE], session[SHA256_SIZE], secret[SHA256_SIZE]; /* hashes of the credentials */
    struct str certificate;                                                /* its common name; empty: none */
    struct str user, groups;                                               /* named by a proxy; empty: none */
};

/* The texts point into the request and the connection. */
void credential_read(const struct exchange *x, struct credential *ret);
/* Its current rights, of enum right; `who` gets the name, "": none. */
unsigned credential_rights(const struct site *s, const struct credential *id, char who[TOKEN_NAME_SIZE]);
/* The token it shows, directly or through a session; NULL: no known one. */
const struct access_token *credential_token(const struct site *s, const struct credential *id);
/* It shows a proxy secret, but not ours. */
bool credential_lies(const struct site *s, const struct credential *id);

struct tenure {
    struct tenure *next, *prev; /* in the site's list */
    struct site *site;          /* NULL: not started, or ended */
    struct credential shown;
    char *texts;     /* memory of `shown` */
    unsigned rights; /* at the start */
    void *owner;
    void (*over)(void *owner, const char *why);
};

/* False: out of memory. The caller owns the memory and ends the tenure before freeing it. */
bool tenure_begin(struct tenure *t, const struct exchange *x, void *owner, void (*over)(void *owner, const char *why));
/* No-op if not started. */
void tenure_end(struct tenure *t);

/* Rechecks all of them. */
void tenures_check(struct site *s);
