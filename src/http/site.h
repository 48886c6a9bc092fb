/* SPDX-License-Identifier: Apache-2.0
 * A place that answers HTTP: the sockets that it listens on, who may ask, which routes there are. What the routes are about is not
 * known here: the server that owns the site gives their tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/exchange.h"
#include "http/limiter.h"
#include "http/listener.h"
#include "http/loop.h"
#include "http/sessions.h"
#include "http/token.h"

enum { SITE_LISTEN_MAX = 8, SITE_NAMES_MAX = 16, SITE_RULES_MAX = 64 };

struct site_names {
    const char *const *list; /* "*" is everyone */
    size_t count;
};

/* How proxies that name people prove themselves. */
struct site_proxies {
    uid_t users[SITE_NAMES_MAX]; /* on the Unix socket */
    size_t user_count;
    const char *certificates[SITE_NAMES_MAX]; /* common names */
    size_t certificate_count;
    const char *secret; /* in PROXY_SECRET_FIELD; NULL: none */
};

/* What clients may do who prove otherwise than by a token who they are. */
struct site_rule {
    unsigned rights;
    struct site_names certificates, users, groups;
};

struct site_options {
    const char *listen[SITE_LISTEN_MAX]; /* "127.0.0.1:9447" */
    size_t listen_count;
    const char *socket_path;               /* NULL: no Unix socket */
    bool insecure;                         /* other addresses than loopback without a token */
    bool require_token;                    /* also on loopback */
    const char *tls_certificate, *tls_key; /* PEM files; NULL: plain */
    const char *tls_client_ca;             /* PEM file; NULL: clients show no certificates */
    const char *proxy_user, *proxy_groups; /* fields in which these proxies name people: */
    struct site_proxies proxies;
    struct site_rule rules[SITE_RULES_MAX];
    size_t rule_count;
    const char *token_file;                    /* where `whirr token` keeps hashes; NULL: no tokens */
    const char *allowed_hosts[SITE_NAMES_MAX]; /* further names of this server, against DNS rebinding */
    size_t allowed_host_count;
    const char *cors_origins[SITE_NAMES_MAX]; /* "https://grafana.example", "*" */
    size_t cors_origin_count;
    size_t connections_max; /* 0: 16384 */
};

/* Routes that belong together. */
struct route_table {
    const struct route *routes;
    size_t count;
    void *owner;                        /* x->owner of their requests */
    void (*handle)(struct exchange *x); /* for rows without a handler; NULL: each has one */
};

struct site_ops {
    /* The tables that may have the request's path, in the order in which they are searched; false behind the last. */
    bool (*table)(const struct exchange *x, size_t i, struct route_table *ret);
    /* Whether its query asks for what there is; otherwise it was answered. May be NULL. */
    bool (*knows_query)(struct exchange *x);
    /* A browser without a token: to the form that asks for one, and back. */
    void (*send_to_login)(struct exchange *x);
    /* An answer to a request that changes something, or would have: for the log of who did what. May be NULL. */
    void (*acted)(const struct exchange *x, int status);
    /* A token came, went ("added", "removed") or got another role or end ("changed"). May be NULL. */
    void (*token_changed)(struct server *server, const struct access_token *t, const char *how);
    const char *const *data_paths; /* beginnings of paths that pages of other sites may not load; NULL behind the last */
};

struct site {
    struct site_options options;
    const struct site_ops *ops;
    struct server *server; /* of the handlers */
    struct loop loop;
    struct listener listeners[SITE_LISTEN_MAX + 1];
    size_t listener_count;
    struct tls *tls;
    struct token_file tokens;
    struct sessions sessions;
    struct limiter limiter; /* of failed tokens */
    struct conn *waiters;   /* requests that wait for news */
    struct watch *waiters_timer;
    struct tenure *tenures; /* rights that last (http/credential.h) */
    struct watch *tenures_ticker;
    size_t downloads;
    char own_name[256]; /* of the host */
    bool proxy_hinted;  /* a warning about a proxy in front of it was logged */
    bool stopping;
    uint64_t requests_total, errors_total; /* errors: of the service, see exchange_reply() */
};

/* Nothing listens before site_listen(). The options' texts must outlive the site. On failure, site_done() is still due. */
int site_init(struct site *s, const struct site_options *options, const struct site_ops *ops, struct server *server,
              struct error *err);
int site_listen(struct site *s, struct error *err);
/* Accepts nothing more; connections without a request end. */
void site_stop(struct site *s);
/* Closes all connections: their protocols are told before the site goes. */
void site_close_connections(struct site *s);
void site_done(struct site *s);
/* What can change while it runs; certificate and tokens are read again. Says what failed in err, but applies the rest. */
int site_reload(struct site *s, const struct site_options *options, struct error *err);

/* The tokens as the file has them now. */
void site_refresh_tokens(struct site *s);

/* Parks the request; it is handled again at site_wake() or after that time. */
void site_wait(struct exchange *x, int64_t wait_ms);
void site_wake(struct site *s);
