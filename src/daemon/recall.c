/* SPDX-License-Identifier: Apache-2.0
 * What a part learns from the history.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/part.h"

void recall_unref(struct recall *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    if (r->done)
        r->done(r);
    free(r);
}

static int find(struct store_question *q, struct store *s, struct error *err)
{
    struct recall *r = (struct recall *)q;
    return r->find(r, s, err);
}

static void answered(struct store_question *q, int rc, const struct error *err)
{
    struct recall *r = (struct recall *)q;
    (void)err;
    r->rc = rc;
    atomic_store(&r->over, true);
    recall_unref(r);
}

bool recall_ask(struct recall *r, struct store_service *store, const struct snapshot *s)
{
    const char *named = store_service_host(store);
    str_copy(r->host, sizeof r->host, str_from(named[0] ? named : s->host.name));
    r->until = s->taken_at;
    r->question = (struct store_question){.read = find, .answered = answered};
    atomic_store(&r->refs, 2);
    if (store_service_ask(store, &r->question) == 0)
        return true;
    recall_unref(r);
    recall_unref(r);
    return false;
}

bool recall_is_over(const struct recall *r)
{
    return r && atomic_load(&r->over);
}
