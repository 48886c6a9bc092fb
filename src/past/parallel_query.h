/* SPDX-License-Identifier: Apache-2.0
 * A second connection to a server or a large file, while the first goes on: half of a long answer each. A small file is read by
 * one alone, as is a server that has no connection left: then the work is done when its end is asked for.
 */
#pragma once

#include <pthread.h>

#include "store/query.h"

/* 0 or -errno with a sentence. */
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

/* Whether two of them are worth more than one. */
bool parallel_query_is_faster(const struct store *s);
void parallel_query_begin(struct parallel_query *a, struct store *s, parallel_query_fn *run, void *user);
/* What it returned. To be called at least once; while it works, `user` is its own. */
int parallel_query_end(struct parallel_query *a, struct error *err);
/* The first in this thread and the second in another; the first that fails says why. */
int parallel_query_both(struct store *s, parallel_query_fn *first, void *first_user, parallel_query_fn *second, void *second_user,
                        struct error *err);
