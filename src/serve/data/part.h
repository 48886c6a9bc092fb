/* SPDX-License-Identifier: Apache-2.0
 * A part of the daemon beside the server: history, guard, health, capacity, forecast, alerts, notifiers. Each is one const table;
 * the server carries requests to the routes in it, and asks it for its series and its line in /api/health. All calls are from the
 * loop's thread and must not block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/str.h"

struct config;
struct http_message;
struct part_host; /* what the daemon gives to its parts: daemon/part.h */
struct prometheus_extra;
struct route;
struct snapshot;
struct store_service;

struct part_ops {
    const char *name; /* also its key in /api/health */
    const struct route *routes;
    size_t route_count;
    /* Before the server. NULL and a sentence, or none: out of memory. */
    void *(*open)(const struct part_host *host, struct error *err);
    int (*start)(void *part, const struct part_host *host); /* the server is there, the first sample is not; 0 or -errno */
    /* Each periodic sample, in the order of the parts. */
    void (*sampled)(void *part, const struct snapshot *s);
    void (*metrics)(void *part, const struct snapshot *s, struct buf *out);               /* series of its own */
    void (*counts)(void *part, const struct snapshot *s, struct prometheus_extra *extra); /* for series that belong to the server */
    void (*health)(void *part, struct json_writer *j);                                    /* writes an object */
    bool (*is_degraded)(void *part);                                                      /* true: the service is degraded */
    void (*reload)(void *part, const struct config *config);
    void (*stop)(void *part);  /* before the engine goes */
    void (*close)(void *part); /* after the server has gone; NULL is fine */
};

struct part {
    const struct part_ops *ops;
    void *self;
};

/* The other parts of the daemon. Called from the server's thread; must not block. */
struct server_parts {
    const struct part *list; /* with their routes, series and health */
    size_t count;
    struct store_service *store;                           /* answers about the past; NULL: there is none */
    void (*sampled)(void *user, const struct snapshot *s); /* each periodic sample; NULL: not wanted */
    void *user;
};

/* A request as a part's route sees it. */
struct part_request {
    struct str body;
    bool owner;                      /* may see what others may not: whole command lines */
    const char *who;                 /* asks, as far as it is known; "" or NULL: it is not */
    const struct http_message *http; /* for part_query(); NULL: there are no parameters */
    const struct snapshot *latest;   /* the newest sample, periodic or taken for a request; without GPUs before the first */
};

/* The decoded value of a query parameter, cut where it is too long; false when absent. */
bool part_query(const struct part_request *r, const char *key, char *value, size_t size);

/* The GPU that `gpu` of the query names, as its position in the snapshot, or ALL_GPUS. Another status than 200: there is none,
 * which was answered. */
int part_which_gpu(const struct part_request *r, const struct snapshot *s, int *ret, struct buf *out);

/* The body of an answer that says no: {"error": {"code", "message"}}. Returns the status. */
int part_error(struct buf *out, int status, const char *code, const char *message);
