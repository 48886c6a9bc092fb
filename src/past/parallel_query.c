/* SPDX-License-Identifier: Apache-2.0
 * Runs a query on its own connection, in a thread that ends with it.
 */
#include "past/parallel_query.h"

#include <unistd.h>

enum { LARGE_FILE = 256 << 20 };

static void *parallel_query_main(void *arg)
{
    struct parallel_query *a = arg;
    struct store *own = NULL;
    if (store_open_again(a->first, &own, &a->err) < 0)
        return NULL;
    a->rc = a->run(own, a->user, &a->err);
    a->done = true;
    store_close(own);
    return NULL;
}

bool parallel_query_is_faster(const struct store *s)
{
    return store_is_server(s) || (store_file_bytes(s) >= LARGE_FILE && sysconf(_SC_NPROCESSORS_ONLN) > 1);
}

void parallel_query_begin(struct parallel_query *a, struct store *s, parallel_query_fn *work, void *user)
{
    *a = (struct parallel_query){.run = work, .user = user, .first = s};
    a->started = parallel_query_is_faster(s) && pthread_create(&a->thread, NULL, parallel_query_main, a) == 0;
}

int parallel_query_end(struct parallel_query *a, struct error *err)
{
    if (a->started)
        pthread_join(a->thread, NULL);
    a->started = false;
    if (!a->done) {
        a->err = (struct error){0};
        a->rc = a->run(a->first, a->user, &a->err);
        a->done = true;
    }
    if (a->rc < 0)
        *err = a->err;
    return a->rc;
}

int parallel_query_both(struct store *s, parallel_query_fn *first, void *first_user, parallel_query_fn *second, void *second_user,
                        struct error *err)
{
    struct parallel_query query;
    struct error ignored;
    parallel_query_begin(&query, s, second, second_user);
    int rc = first(s, first_user, err);
    int second_rc = parallel_query_end(&query, rc < 0 ? &ignored : err);
    return rc < 0 ? rc : second_rc;
}
