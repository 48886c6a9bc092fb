/* SPDX-License-Identifier: Apache-2.0
 * An HTTP site: its listening sockets, access rules, and routes. It knows nothing about their meaning: the server that owns the
 * site provides the tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/str.h"
#include "http/exchange.h"
#include "http/listener.h"
#include "http/loop.h"
#include "http/peers.h"
#include "http/token.h"

/* Browser logins. A cookie has a random number with a meaning only here and for a limited time; it ends with its token, with a
 * logout, and with the daemon. Pure data of fixed size; the caller passes the time. */

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

/* Counts failures per client address, and reports who has too many. Pure data of fixed size; the caller passes the time. */

enum { LIMITER_SLOTS = 256, LIMITER_FAILURES = 10, LIMITER_WINDOW_MS = 60000 };

struct limiter_slot {
    struct peer_id who;
    int64_t since_ms;
    uint32_t failures; /* 0: free */
};

struct limiter {
    struct limiter_slot slots[LIMITER_SLOTS];
};

/* How long the address must wait; 0: it may try. */
int64_t limiter_wait_ms(const struct limiter *l, const struct peer_id *who, int64_t now_ms);
void limiter_failed(struct limiter *l, const struct peer_id *who, int64_t now_ms);

enum { SITE_LISTEN_MAX = 8, SITE_NAMES_MAX = 16, SITE_RULES_MAX = 64 };

struct site_names {
    const char *const *list; /* "*" is everyone */
    size_t count;
};

/* How proxies that name users prove themselves. */
struct site_proxies {
    uid_t users[SITE_NAMES_MAX]; /* on the Unix socket */
    size_t user_count;
    const char *certificates[SITE_NAMES_MAX]; /* common names */
    size_t certificate_count;
    const char *secret; /* in PROXY_SECRET_FIELD; NULL: none */
};

/* Rights of clients that prove their identity without a token. */
struct site_rule {
    unsigned rights;
    struct site_names certificates, users, groups;
};

struct site_options {
    const char *listen[SITE_LISTEN_MAX]; /* "127.0.0.1:9447" */
    size_t listen_count;
    const char *socket_path;               /* NULL: no Unix socket */
    bool insecure;                         /* allow addresses beyond loopback without a token */
    bool require_token;                    /* also on loopback */
    const char *tls_certificate, *tls_key; /* PEM files; NULL: plain */
    const char *tls_client_ca;             /* PEM file; NULL: no client certificates */
    const char *proxy_user, *proxy_groups; /* fields in which these proxies name users: */
    struct site_proxies proxies;
    struct site_rule rules[SITE_RULES_MAX];
    size_t rule_count;
    const char *token_file;                    /* where `whirr token` stores hashes; NULL: no tokens */
    const char *allowed_hosts[SITE_NAMES_MAX]; /* other names of this server, against DNS rebinding */
    size_t allowed_host_count;
    const char *cors_origins[SITE_NAMES_MAX]; /* "https://grafana.example", "*" */
    size_t cors_origin_count;
    size_t connections_max; /* 0: 16384 */
};

/* A group of routes. */
struct route_table {
    const struct route *routes;
    size_t count;
    void *owner;                        /* x->owner of their requests */
    void (*handle)(struct exchange *x); /* for rows without their own handler; NULL: each has one */
};

struct site_ops {
    /* The tables that may contain the request's path, in search order; false after the last. */
    bool (*table)(const struct exchange *x, size_t i, struct route_table *ret);
    /* False if its query has unknown parameters, and answers it. May be NULL. */
    bool (*knows_query)(struct exchange *x);
    /* Redirects a browser without a token to the login form, and back. */
    void (*send_to_login)(struct exchange *x);
    /* Reports an answer to a request that changes something, or would have: for the audit log. May be NULL. */
    void (*acted)(const struct exchange *x, int status);
    /* A token was "added", "removed", or its role or end "changed". May be NULL. */
    void (*token_changed)(struct server *server, const struct access_token *t, const char *how);
    const char *const *data_paths; /* path prefixes that pages of other sites may not load; NULL-terminated */
};

struct site {
    struct site_options options;
    const struct site_ops *ops;
    struct server *server; /* the handlers' */
    struct loop loop;
    struct listener listeners[SITE_LISTEN_MAX + 1];
    size_t listener_count;
    struct tls *tls;
    struct token_file tokens;
    struct sessions sessions;
    struct limiter limiter; /* for wrong tokens */
    struct conn *waiters;   /* requests waiting for news */
    struct watch *waiters_timer;
    struct tenure *tenures; /* lasting rights (http/access.h) */
    struct watch *tenures_ticker;
    size_t downloads;
    char own_name[256]; /* of the host */
    bool proxy_hinted;  /* the warning about a proxy was logged */
    bool stopping;
    uint64_t requests_total, errors_total; /* errors: the service's own, see exchange_reply() */
};

/* site_listen() starts listening. The options' texts must outlive the site. After a failure, still call site_done(). */
int site_init(struct site *s, const struct site_options *options, const struct site_ops *ops, struct server *server,
              struct error *err);
int site_listen(struct site *s, struct error *err);
/* Stops accepting; closes connections without a request. */
void site_stop(struct site *s);
/* Closes all connections, so that their protocols are notified before the site goes. */
void site_close_connections(struct site *s);
void site_done(struct site *s);
/* Applies what can change at run time; rereads certificate and tokens. Reports failures in err, but applies the rest. */
int site_reload(struct site *s, const struct site_options *options, struct error *err);

/* Rereads the token file if it changed. */
void site_refresh_tokens(struct site *s);

/* Parks the request; site_wake() or the timeout resumes it. */
void site_wait(struct exchange *x, int64_t wait_ms);
void site_wake(struct site *s);
