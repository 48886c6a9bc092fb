/* SPDX-License-Identifier: Apache-2.0
 * Waits for readings and sends them.
 */
#include "serve/api/core.h"

#include <ctype.h>
#include <errno.h>

#include "format/process_rows.h"

/* Waits only while the daemon is starting. If the first sample takes longer, every client learns at once that it has not
 * arrived. */
static bool wait_for_first(struct exchange *x)
{
    struct server *s = x->server;
    int64_t left = FRESH_WAIT_MS - mono_since_ms(clock_mono(&clock_system), s->started);
    if (x->waited || left <= 0 || data_is_fresh(&s->data, 0, INT64_MAX / 2))
        return true;
    site_wait(x, left);
    return false;
}

bool ready_fresh(struct exchange *x, unsigned groups, int64_t max_age_ms)
{
    struct server *s = x->server;
    if (x->waited || data_is_fresh(&s->data, groups, max_age_ms))
        return true;
    site_wait(x, FRESH_WAIT_MS);
    return false;
}

bool ready_recent(struct exchange *x, int64_t default_ms)
{
    char text[24];
    int64_t max_age = default_ms;
    if (http_query(x->request, "max_age_ms", text, sizeof text))
        str_to_i64(str_from(text), &max_age);
    if (max_age < 0 || (max_age == default_ms && !x->server->data.has_sample))
        return x->server->data.has_sample || wait_for_first(x);
    return ready_fresh(x, GROUP_QUICK, max_age);
}

void ready_reply(struct exchange *x, struct blob *body, const char *type)
{
    if (!body)
        return;
    exchange_reply(x,
                   &(struct reply){
                       .type = type, .body = body, .has_age = x->server->data.has_sample, .age_ms = data_age_ms(&x->server->data)});
}

void ready_json(struct exchange *x, struct buf *out)
{
    AUTO_BLOB struct blob *body = blob_take(out);
    ready_reply(x, body, "application/json");
}

void ready_starting(struct exchange *x)
{
    exchange_error_with(x, 503, "Retry-After: 1\r\n", "starting", DATA_STARTING);
}

int ready_which_gpu(struct exchange *x)
{
    char which[GPU_UUID_SIZE];
    if (!http_query(x->request, "gpu", which, sizeof which) && !http_query(x->request, "gpu_index", which, sizeof which))
        return ALL_GPUS;
    int found = snapshot_find_gpu(x->server->data.latest, which);
    if (found >= 0)
        return found;
    if (!x->server->data.has_sample) {
        ready_starting(x);
        return -2;
    }
    exchange_error(x, 404, "no_such_gpu", "There is no GPU '%s' here.", which);
    return -2;
}

bool ready_find_process(struct exchange *x, const char *asked, int only, struct process_rows *rows)
{
    struct error err = {0};
    bool found = process_rows_find(rows, x->server->data.latest, asked, only, &err) == 0;
    if (!found)
        exchange_error(x, err.code == -ESRCH ? 404 : 503, "no_such_process", "%c%s.", toupper((unsigned char)err.text[0]),
                       err.text + 1);
    return found;
}
