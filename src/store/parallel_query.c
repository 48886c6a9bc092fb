/* SPDX-License-Identifier: Apache-2.0
 * Runs a query on its own connection, in a thread that ends with it.
 */
#include "store/query.h"

#include <errno.h>
#include <unistd.h>

#include "store/internal.h"

enum { LARGE_FILE = 256 << 20 };

/* With the cancel flag and deadline of the first. */
static int open_again(const struct store *s, struct store **ret, struct error *err)
{
    int rc = s->url ? store_open_read_only(s->env, s->url, ret, err) : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0)
        store_set_cancel(*ret, s->db->cancel, s->db->until);
    return rc;
}

static void *parallel_query_main(void *arg)
{
    struct parallel_query *a = arg;
    struct store *own = NULL;
    if (open_again(a->first, &own, &a->err) < 0)
        return NULL;
    a->rc = a->run(own, a->user, &a->err);
    a->done = true;
    store_close(own);
    return NULL;
}

bool parallel_query_is_faster(const struct store *s)
{
    return s->db->ops->kind == DB_POSTGRES || (s->file_bytes >= LARGE_FILE && sysconf(_SC_NPROCESSORS_ONLN) > 1);
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
