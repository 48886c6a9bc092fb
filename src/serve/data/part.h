/* SPDX-License-Identifier: Apache-2.0
 * A part of the daemon beside the server: history, guard, health, capacity, forecast, alerts, notifiers. Each is one const table;
 * the server passes requests to its routes, and asks for its series and its object in /api/health. All calls come from the loop's
 * thread and must not block.
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
struct part_host; /* context of the daemon's parts: daemon/part.h */
struct prometheus_extra;
struct route;
struct snapshot;
struct store_service;

struct part_ops {
    const char *name; /* also its key in /api/health */
    const struct route *routes;
    size_t route_count;
    /* Called before the server exists. Returns NULL with a message in `err`; without one, it is out of memory. */
    void *(*open)(const struct part_host *host, struct error *err);
    int (*start)(void *part, const struct part_host *host); /* the server exists, but no sample yet; 0 or -errno */
    /* Called for each periodic sample, in the order of the parts. */
    void (*sampled)(void *part, const struct snapshot *s);
    void (*metrics)(void *part, const struct snapshot *s, struct buf *out);               /* its own series */
    void (*counts)(void *part, const struct snapshot *s, struct prometheus_extra *extra); /* for series of the server */
    void (*health)(void *part, struct json_writer *j);                                    /* writes an object */
    bool (*is_degraded)(void *part);                                                      /* true: the service is degraded */
    void (*reload)(void *part, const struct config *config);
    void (*stop)(void *part);  /* before the engine ends */
    void (*close)(void *part); /* after the server has ended; NULL is fine */
};

struct part {
    const struct part_ops *ops;
    void *self;
};

/* The other parts of the daemon. Called from the server's thread; must not block. */
struct server_parts {
    const struct part *list; /* with their routes, series and health */
    size_t count;
    struct store_service *store;                           /* answers about the past; NULL: none */
    void (*sampled)(void *user, const struct snapshot *s); /* called for each periodic sample; may be NULL */
    void *user;
};

/* A request for a part's route. */
struct part_request {
    struct str body;
    bool owner;                      /* may see private data: whole command lines */
    unsigned rights;                 /* of enum right */
    const char *name;                /* behind the path of a route with `below`; "" none */
    const char *who;                 /* name of the client; "" or NULL: unknown */
    const struct http_message *http; /* for part_query(); NULL: no parameters */
    const struct snapshot *latest;   /* the newest sample, periodic or for a request; without GPUs before the first */
};

/* The decoded value of a query parameter, truncated if too long; false if absent. */
bool part_query(const struct part_request *r, const char *key, char *value, size_t size);

/* Finds the GPU of the parameter `gpu`: its position in the snapshot, or ALL_GPUS. A status other than 200 means that it does
 * not exist, and the response says so. */
int part_which_gpu(const struct part_request *r, const struct snapshot *s, int *ret, struct buf *out);

/* Writes the body of an error: {"error": {"code", "message"}}. Returns the status. */
int part_error(struct buf *out, int status, const char *code, const char *message);
