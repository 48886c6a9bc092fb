/* SPDX-License-Identifier: Apache-2.0
 * Releases the driver on request.
 */
#include "serve/api/core.h"

#include <jansson.h>
#include <math.h>

#include "answer/answer.h"
#include "base/log.h"
#include "engine/engine.h"

enum { TIMEOUT_MS = 5000, DEFAULT_S = 300, CLAIM_MAX_S = 86400 };

static void release_work(struct errand *e)
{
    struct release *r = (struct release *)e;
    r->result = engine_release(r->data->engine, r->for_ms, TIMEOUT_MS);
}

static void release_after(struct errand *e)
{
    struct release *r = (struct release *)e;
    log_info(r->for_ms ? "driver released on request" : "driver in use again on request", LOG_INT("for_seconds", r->for_ms / 1000));
    data_refresh(r->data); /* so that all clients see it */
}

const struct errand_ops releasing = {release_work, release_after, "Another request to release the driver is under way."};

struct told_release {
    bool released;
    int64_t for_ms;
    struct wall until;
};

SHARED_ANSWER_TABLE(released_answer, struct told_release, .name = "Released")
{
    FIELD(BOOL, "released", released, "False with 202: a call into the driver has not come back yet");
    FIELD(AMOUNT, "for_seconds", for_ms, NULL, SCALE(1e-3));
    FIELD(MOMENT, "until", until, NULL, OR_NULL);
}

static void reply(struct exchange *x, const struct release *r)
{
    bool in_time = r->result == 0;
    struct told_release told = {r->for_ms > 0 && in_time, r->for_ms, {r->for_ms ? clock_wall(&clock_system).ms + r->for_ms : 0}};
    AUTO_BUF struct buf out = BUF(1024);
    answer_write(JSON_LINE(&out), &released_answer, &told, NULL);
    exchange_json(x, in_time ? 200 : 202, &out);
}

/* {"for_seconds": 300}; an empty body means five minutes, 0 ends a release. False: answered with 400. */
static bool read_duration(struct exchange *x, int64_t *ret_ms)
{
    double seconds = DEFAULT_S;
    struct str body = str_trim(x->body);
    if (body.len) {
        json_t *json = json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, NULL);
        const json_t *value = json_object_get(json, "for_seconds");
        bool fine = json_is_object(json) && (!value || json_is_number(value));
        if (value)
            seconds = json_number_value(value);
        json_decref(json);
        if (!fine || !(seconds >= 0 && seconds <= CLAIM_MAX_S)) {
            exchange_error(x, 400, "bad_body", "The body must be {\"for_seconds\": N} with N from 0 (take it back now) to %d.",
                           CLAIM_MAX_S);
            return false;
        }
    }
    *ret_ms = (int64_t)ceil(seconds * 1000);
    return true;
}

void post_release(struct exchange *x)
{
    struct release *r = &x->server->release;
    int64_t for_ms;
    if (errand_is_over(&r->errand, x)) {
        reply(x, r);
        return;
    }
    if (!read_duration(x, &for_ms) || !errand_is_free(&r->errand, x))
        return;
    r->data = &x->server->data;
    r->for_ms = for_ms;
    errand_begin(&r->errand, x);
}
