/* SPDX-License-Identifier: Apache-2.0
 * Routes that another part of the daemon answers (guard, insight, alerts): the server only carries the request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct exchange;
struct http_request;
struct snapshot;

struct part_request {
    const char *method; /* "GET", "POST" */
    struct str path;    /* of the route */
    struct str body;
    bool owner;                      /* may see what others may not: whole command lines */
    const struct http_request *http; /* for part_query() */
    const struct snapshot *latest;   /* the newest sample, periodic or taken for a request; without GPUs before the first */
};

/* The decoded value of a query parameter; false when absent, too long or badly encoded. */
bool part_query(const struct part_request *r, const char *key, char *value, size_t size);

/* The body of an answer that says no: {"error": {"code", "message"}}. Returns the status. */
int part_error(struct buf *out, int status, const char *code, const char *message);

void handle_part(struct exchange *x);
/* The same for what must not be answered from an old sample: waits for one that is young enough. */
void handle_part_fresh(struct exchange *x);
