/* SPDX-License-Identifier: Apache-2.0
 * A second connection to a server or a large file, so that each answers half of a long query. A small file, or a server without a
 * free connection, uses one: then the query runs when its result is requested.
 */
#pragma once

#include <pthread.h>

#include "store/query.h"

/* 0 or -errno with a message. */
typedef int parallel_query_fn(struct store *s, void *user, struct error *err);

struct parallel_query {
    parallel_query_fn *run;
    void *user;
    struct store *first;
    pthread_t thread;
    bool started, done;
    int rc;
    struct error err;
};

/* Whether two connections are faster than one. */
bool parallel_query_is_faster(const struct store *s);
void parallel_query_begin(struct parallel_query *a, struct store *s, parallel_query_fn *run, void *user);
/* Returns the result. Must be called at least once; until then, `user` belongs to the query. */
int parallel_query_end(struct parallel_query *a, struct error *err);
/* Runs the first in this thread and the second in another; reports the first failure. */
int parallel_query_both(struct store *s, parallel_query_fn *first, void *first_user, parallel_query_fn *second, void *second_user,
                        struct error *err);
