/* SPDX-License-Identifier: Apache-2.0
 * One request and its answer, as seen by a route's handler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/access.h"
#include "http/loop.h"
#include "net/http_message.h"

struct server; /* the handlers' owner; opaque in http/ */
struct site;
struct exchange;
struct part_request;
struct reply;

struct route {
    const char *path; /* NULL: all remaining paths */
    unsigned methods; /* of enum http_method; HEAD and OPTIONS are implicit */
    const char *type; /* its media type; NULL: the handler checks Accept itself */
    enum right needs;
    void (*handle)(struct exchange *x);
    bool own_pages_only; /* not for pages of other sites, although it is a GET */
    /* In place of `handle` if the table has a common handler: returns the status and appends a JSON body. */
    int (*answer)(void *owner, const struct part_request *r, struct buf *out);
    bool fresh; /* of these: needs a fresh sample, and waits for one */
    bool below; /* the path ends with a slash; one name may follow, which the handler reads */
};

struct exchange {
    struct site *site;
    struct server *server;
    struct conn *conn;
    const struct http_message *request;
    const struct route *route; /* NULL: none yet */
    void (*handle)(struct exchange *x);
    void *owner; /* of the route's table */
    struct str body;
    struct credential shown;                                 /* its credentials */
    unsigned rights;                                         /* of enum right; 0: a token is needed but missing */
    char who[TOKEN_NAME_SIZE];                               /* the token, or the user on the Unix socket; "": unknown */
    void (*take)(struct exchange *x, const struct reply *r); /* receives the reply in place of the client; NULL: send it */
    bool waited;                                             /* its wait is over: answer with what is available */
    bool close;                                              /* close the connection after this answer */
    bool linger;                                             /* ... and the client may still be sending */
    bool done;                                               /* answered, parked, or upgraded */
};

struct reply {
    int status; /* 0: 200 */
    const char *type;
    struct blob *body;  /* NULL: none; borrowed */
    const char *fields; /* extra fields, each ending with CRLF; NULL: none */
    const char *cache;  /* Cache-Control; NULL: "no-cache" (store, but revalidate) */
    const char *policy; /* Content-Security-Policy; NULL: load nothing */
    bool has_age;
    int64_t age_ms;
};

/* Compresses, compares ETags, omits the body for HEAD, keeps or closes the connection. */
void exchange_reply(struct exchange *x, const struct reply *r);
/* {"error": {"code", "message"}} */
void exchange_error(struct exchange *x, int status, const char *code, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
/* The same with extra fields. */
void exchange_error_with(struct exchange *x, int status, const char *fields, const char *code, const char *message);
/* A short answer for this request only. */
void exchange_json(struct exchange *x, int status, struct buf *out);

/* Sends the head of an answer of unknown length: the body follows in chunks (HTTP/1.0: plain), then the connection closes. */
void exchange_begin(struct exchange *x, const struct reply *r);
/* Parks the request; http_unpark() restarts its handling. */
void exchange_park(struct exchange *x);

/* An answer of any length: slices, each requested when the previous one is sent. A slow client costs one slice of memory and no
 * other client's time; after a client leaves, nothing more is requested. */

enum { DOWNLOADS_MAX = 32, DOWNLOADS_OF_ONE = 8 };

/* The source of slices. */
struct download_source {
    /* Requests the next slice; download_slice() follows. False: busy, retry later. */
    bool (*ask)(struct download_source *s);
    /* The last call: all sent, or the client is gone. `asked`: a slice is still pending. */
    void (*gone)(struct download_source *s, bool asked);
};

/* Whether there is room for one more; if not, answers the request. */
bool download_has_room(struct exchange *x);
/* Sends the head and the first slice (NULL: empty); `more`: others follow. False: out of memory, and the caller keeps the
 * source. */
bool download_begin(struct exchange *x, const struct reply *head, struct download_source *source, struct blob *first, bool more);
/* Delivers the requested slice; not after gone(). */
void download_slice(struct conn *c, struct blob *slice, bool more);
/* No slice is available: aborts the answer. */
void download_break_off(struct conn *c);
