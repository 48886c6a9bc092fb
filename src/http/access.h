/* SPDX-License-Identifier: Apache-2.0
 * Who may do what. The checks in front of every route: the name in Host (against DNS rebinding), the page in Origin (against
 * cross-site requests), the token. A failing check answers the request itself and returns false.
 *
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

struct exchange;
struct site;

#define SESSION_COOKIE "whirr_session"
#define PROXY_SECRET_FIELD "X-Whirr-Proxy-Secret"

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

bool access_check_host(struct exchange *x);
bool access_check_origin(struct exchange *x);
/* The same for reads with side effects: a page of another site may not open a live session either. */
bool access_check_own_page(struct exchange *x);
/* Sets x->rights and x->who. False only for a wrong token, or too many of them; a correct one always passes. */
bool access_check_token(struct exchange *x);
/* Counts a wrong token. True if there were too many from this address; `fields` then says how long to wait. */
bool access_note_failure(struct exchange *x, char fields[64]);

/* The value for Access-Control-Allow-Origin, NULL if this origin isn't configured. */
struct str access_cors_origin(const struct exchange *x);

/* Whether a Host (with or without port) is one that only clients of this host use. Pure. */
bool host_is_known(struct str host, const char *const *allowed, size_t allowed_count, const char *own_name);

/* ---- lasting rights ---- */

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
