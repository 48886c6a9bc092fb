/* SPDX-License-Identifier: Apache-2.0
 * Usual values of the GPUs, as a part of the daemon: a reader of the database learns them from the history, at the start and once
 * an hour, for explanations and health. What changed on a GPU is looked up sooner: when its samples show another value.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/part.h"
#include "insight/verdict/judge.h"
#include "past/explain.h"
#include "past/past_usual.h"
#include "serve/data/data.h"

enum { LEARN_EVERY_MS = 3600000, RETRY_MS = 10000 };
/* When another driver or slot, and another setting, is in the history. */
static const int64_t look_after_ms[] = {3000, CHANGE_HOLD_MS + 5000};

struct lesson {
    struct recall recall;
    struct baselines *learned;
    bool changes_only;
};

struct usual_part {
    struct store_service *store; /* NULL: no history is recorded, so nothing is learned */
    struct server *server;
    struct engine *engine;
    struct lesson *lesson; /* running; NULL: none */
    struct mono next;
    struct mono look[ARRAY_LEN(look_after_ms)]; /* at changes; ns 0: not due */
    struct values_seen seen;
    struct baselines *latest;
};

static void lesson_done(struct recall *r)
{
    free(((struct lesson *)r)->learned);
}

/* Runs in a reader's thread. A history without this host teaches nothing; retrying soon would only reopen it, which costs more
 * than minutes of sampling. */
static int usual_part_learn(struct recall *r, struct store *s, struct error *err)
{
    struct lesson *l = (struct lesson *)r;
    struct baselines *learned = NULL;
    char host[HOST_NAME_SIZE];
    int rc = told_host(s, r->host, NULL, host, err);
    if (rc == 0 && l->changes_only) {
        learned = calloc(1, sizeof *learned);
        rc = learned ? past_changes(s, host, r->until, &learned->changes, err) : error_set(err, -ENOMEM, "out of memory");
    } else if (rc == 0) {
        rc = past_usual(s, host, r->until, &learned, err);
    }
    if (rc != 0 && rc != -ENOENT && rc != -ENODATA && rc != -ETIME && rc != -ECANCELED)
        log_warn("what is usual for the GPUs cannot be learned from the history", LOG_TEXT("error", err->text));
    free(l->learned);
    l->learned = rc < 0 ? NULL : TAKE(learned);
    free(learned);
    return rc;
}

static void usual_part_ask(struct usual_part *p, const struct snapshot *s, bool changes_only)
{
    struct lesson *l = calloc(1, sizeof *l);
    if (!l)
        return;
    *l = (struct lesson){.recall = {.find = usual_part_learn, .done = lesson_done}, .changes_only = changes_only};
    if (recall_ask(&l->recall, p->store, s))
        p->lesson = l;
}

static void usual_part_take(struct usual_part *p, const struct snapshot *s)
{
    if (!p->lesson || !recall_is_over(&p->lesson->recall))
        return;
    struct baselines *learned = TAKE(p->lesson->learned);
    bool changes_only = p->lesson->changes_only, none = p->lesson->recall.rc == -ENOENT || p->lesson->recall.rc == -ENODATA;
    recall_unref(&TAKE(p->lesson)->recall);
    if (none && !learned)
        learned = calloc(1, sizeof *learned);
    if (!changes_only)
        p->next = (struct mono){s->taken.ns + (learned ? LEARN_EVERY_MS : RETRY_MS) * (int64_t)NS_PER_MS};
    if (!learned)
        return;
    if (changes_only && p->latest) {
        p->latest->changes = learned->changes;
        free(learned);
        learned = TAKE(p->latest);
    }
    if (p->engine) {
        judge_set_usual(engine_lock_judge(p->engine), learned);
        engine_unlock_judge(p->engine);
    }
    if (p->server)
        data_forget_why(server_data(p->server));
    free(p->latest);
    p->latest = learned;
}

static void *open_usual(const struct part_host *host, struct error *err)
{
    (void)err;
    struct usual_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct usual_part){.store = host->store, .engine = host->engine};
    return p;
}

static int usual_part_start(void *part, const struct part_host *host)
{
    ((struct usual_part *)part)->server = host->server;
    return 0;
}

static void look_at_changes(struct usual_part *p, const struct snapshot *s)
{
    bool differ = values_differ(&p->seen, s);
    for (size_t i = 0; i < ARRAY_LEN(p->look); i++) {
        if (differ)
            p->look[i] = (struct mono){s->taken.ns + look_after_ms[i] * (int64_t)NS_PER_MS};
        if (p->lesson || !p->latest || !p->look[i].ns || s->taken.ns < p->look[i].ns)
            continue;
        p->look[i] = (struct mono){0};
        usual_part_ask(p, s, true);
    }
}

static void usual_part_sampled(void *part, const struct snapshot *s)
{
    struct usual_part *p = part;
    if (!p->store)
        return;
    usual_part_take(p, s);
    if (!p->lesson && s->taken.ns >= p->next.ns)
        usual_part_ask(p, s, false);
    else
        look_at_changes(p, s);
}

static void close_usual(void *part)
{
    struct usual_part *p = part;
    if (!p)
        return;
    if (p->lesson)
        recall_unref(&p->lesson->recall);
    free(p->latest);
    free(p);
}

const struct baselines *usual_part_latest(const struct usual_part *p)
{
    return p ? p->latest : NULL;
}

const struct part_ops usual_part_ops = {
    .name = "usual", .open = open_usual, .start = usual_part_start, .sampled = usual_part_sampled, .close = close_usual};
