/* SPDX-License-Identifier: Apache-2.0
 * What a request shows of who asks, and what that allows at this moment. The two are apart because a right is not given once: it
 * lasts as long as what it allows. Whatever goes on after its request was answered (a WebSocket, a Socket.IO session, a download)
 * holds a tenure: once a second, and at each reload, what its request has shown is judged again, with the tokens and settings of
 * that moment. When it allows less than it did, the tenure is over, and its owner ends the stream. Requests that wait need none:
 * they are handled from the start again.
 *
 * A client shows a token, a browser's session, the user on a Unix socket or a certificate. Fields that name people are believed
 * from a proxy alone that has proved itself: by its user on the Unix socket, by its certificate, or by a secret that it shares with
 * this server. An address is no proof: every program of that host has it.
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
    bool is_local; /* from this host, and not passed on by a proxy that says so */
    bool is_unix;
    bool is_owner; /* a Unix socket's other end runs as us or as root */
    uid_t uid;     /* of a Unix socket's other end */
    bool has_token, has_session, has_secret;
    uint8_t token[SHA256_SIZE], session[SHA256_SIZE], secret[SHA256_SIZE]; /* hashes of what was shown */
    struct str certificate;                                                /* its common name; empty: none */
    struct str user, groups;                                               /* as a proxy may name them; empty: not named */
};

/* The texts are those of the request and the connection. */
void credential_read(const struct exchange *x, struct credential *ret);
/* What it allows now, of enum right; `who` gets the name, "" where there is none. */
unsigned credential_rights(const struct site *s, const struct credential *id, char who[TOKEN_NAME_SIZE]);
/* The token that it shows, itself or by a session; NULL: none that is known. */
const struct access_token *credential_token(const struct site *s, const struct credential *id);
/* It shows the secret of a proxy, but not ours. */
bool credential_lies(const struct site *s, const struct credential *id);
/* Why it allows less than before, for people. */
const char *credential_loss(const struct site *s, const struct credential *id);

struct tenure {
    struct tenure *next, *prev; /* of the site */
    struct site *site;          /* NULL: it has not begun, or has ended */
    struct credential shown;
    char *texts;     /* of `shown` */
    unsigned rights; /* at the beginning */
    void *owner;
    void (*over)(void *owner, const char *why);
};

/* False: out of memory. The memory is the caller's, who ends it before that goes. */
bool tenure_begin(struct tenure *t, const struct exchange *x, void *owner, void (*over)(void *owner, const char *why));
/* One that has not begun is fine. */
void tenure_end(struct tenure *t);

/* Judges all of them. */
void tenures_check(struct site *s);
