/* SPDX-License-Identifier: Apache-2.0
 * Work on a connection of its own, in a thread that ends with it.
 */
#include "past/aside.h"

#include <unistd.h>

enum { LARGE_FILE = 256 << 20 };

static void *run(void *arg)
{
    struct aside *a = arg;
    struct store *own = NULL;
    if (store_open_again(a->first, &own, &a->err) < 0)
        return NULL;
    a->rc = a->run(own, a->user, &a->err);
    a->done = true;
    store_close(own);
    return NULL;
}

bool aside_is_faster(const struct store *s)
{
    return store_is_server(s) || (store_file_bytes(s) >= LARGE_FILE && sysconf(_SC_NPROCESSORS_ONLN) > 1);
}

void aside_begin(struct aside *a, struct store *s, aside_fn *work, void *user)
{
    *a = (struct aside){.run = work, .user = user, .first = s};
    a->started = aside_is_faster(s) && pthread_create(&a->thread, NULL, run, a) == 0;
}

int aside_end(struct aside *a, struct error *err)
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

int aside_both(struct store *s, aside_fn *first, void *first_user, aside_fn *second, void *second_user, struct error *err)
{
    struct aside aside;
    struct error unheard;
    aside_begin(&aside, s, second, second_user);
    int rc = first(s, first_user, err);
    int second_rc = aside_end(&aside, rc < 0 ? &unheard : err);
    return rc < 0 ? rc : second_rc;
}
