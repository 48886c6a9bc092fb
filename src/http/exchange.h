/* SPDX-License-Identifier: Apache-2.0
 * One request and its answer, as a route's handler sees them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/blob.h"
#include "http/conn.h"
#include "http/credential.h"
#include "http/rights.h"
#include "http/token.h"
#include "net/http_message.h"

struct server; /* whose handlers these are; opaque in http/ */
struct site;
struct exchange;
struct part_request;
struct reply;

struct route {
    const char *path; /* NULL: all that are left */
    unsigned methods; /* of enum http_method; HEAD and OPTIONS come by themselves */
    const char *type; /* what it answers with; NULL: the handler looks at Accept itself */
    enum right needs;
    void (*handle)(struct exchange *x);
    bool own_pages_only; /* not for pages of other sites, although it is a GET */
    /* Instead of `handle`, where the table has a handler for all: the status of the answer, whose JSON body is appended. */
    int (*answer)(void *owner, const struct part_request *r, struct buf *out);
    bool fresh; /* of these: not from an old sample; waits for one that is young enough */
};

struct exchange {
    struct site *site;
    struct server *server;
    struct conn *conn;
    const struct http_message *request;
    const struct route *route; /* NULL while there is none */
    void (*handle)(struct exchange *x);
    void *owner; /* of the table that the route is in */
    struct str body;
    struct credential shown;                                 /* what it proves who asks by */
    unsigned rights;                                         /* of enum right; 0: a token is needed and was not shown */
    char who[TOKEN_NAME_SIZE];                               /* the token, or the user on the Unix socket; "": not known */
    void (*take)(struct exchange *x, const struct reply *r); /* gets the reply instead of the client; NULL: it is sent */
    bool waited;                                             /* has waited for what it wanted: answers with what there is */
    bool close;                                              /* the connection ends with this answer */
    bool linger;                                             /* ... and the client may still be sending */
    bool done;                                               /* answered, parked, or turned into something else */
};

struct reply {
    int status; /* 0: 200 */
    const char *type;
    struct blob *body;  /* NULL: none; borrowed */
    const char *fields; /* further fields, each line ended by CRLF; NULL: none */
    const char *cache;  /* Cache-Control; NULL: "no-cache" (keep it, but ask) */
    const char *policy; /* Content-Security-Policy; NULL: nothing may be loaded */
    bool has_age;
    int64_t age_ms;
};

/* Compresses, compares tags, leaves the body out for HEAD, keeps or ends the connection. */
void exchange_reply(struct exchange *x, const struct reply *r);
/* {"error": {"code", "message"}} */
void exchange_error(struct exchange *x, int status, const char *code, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
/* The same with further fields. */
void exchange_error_with(struct exchange *x, int status, const char *fields, const char *code, const char *message);
/* A short answer made for this request alone. */
void exchange_json(struct exchange *x, int status, struct buf *out);

/* The head of an answer whose length is not known: the body follows in chunks (HTTP/1.0: as it is), then the connection ends. */
void exchange_begin(struct exchange *x, const struct reply *r);
/* Puts the request aside; it is handled from the start again after http_unpark(). */
void exchange_park(struct exchange *x);
