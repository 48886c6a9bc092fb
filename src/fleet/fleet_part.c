/* SPDX-License-Identifier: Apache-2.0
 * The fleet as a part of the daemon: GET /api/fleet. A thread queries the database of `fleet.url`, but only while clients ask; the
 * loop answers with the latest result and never blocks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "daemon/part.h"
#include "fleet/fleet.h"
#include "format/json/json.h"

/* ---- a copy of the settings, for a query that outlives a reload ---- */

enum { SETTINGS_MAX = 4 << 20 };

struct fleet_settings {
    _Atomic int refs;
    struct arena arena;
    struct config_fleet copy;
};

/* NULL is fine */
static void settings_unref(struct fleet_settings *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    arena_done(&s->arena);
    free(s);
}

static const char *settings_copy(struct fleet_settings *s, const char *text, bool *whole)
{
    const char *copy = arena_copy(&s->arena, str_from(text));
    *whole &= copy != NULL;
    return copy;
}

static void copy_headers(struct fleet_settings *s, const struct config_map *from, bool *whole)
{
    struct config_pair *pairs = arena_alloc(&s->arena, (from->count + 1) * sizeof *pairs);
    *whole &= pairs != NULL;
    for (size_t i = 0; pairs && i < from->count; i++)
        pairs[i] = (struct config_pair){settings_copy(s, from->pairs[i].key, whole), settings_copy(s, from->pairs[i].value, whole)};
    s->copy.headers = (struct config_map){pairs, from->count};
}

static void copy_expect(struct fleet_settings *s, const struct config_list *from, bool *whole)
{
    const char **items = arena_alloc(&s->arena, (from->count + 1) * sizeof *items);
    *whole &= items != NULL;
    for (size_t i = 0; items && i < from->count; i++)
        items[i] = settings_copy(s, from->items[i], whole);
    s->copy.expect = (struct config_list){items, from->count};
}

/* NULL: out of memory */
static struct fleet_settings *settings_new(const struct config_fleet *from)
{
    struct fleet_settings *s = calloc(1, sizeof *s);
    bool whole = true;
    if (!s)
        return NULL;
    atomic_store(&s->refs, 1);
    s->arena = ARENA(SETTINGS_MAX);
    s->copy = (struct config_fleet){.url = settings_copy(s, from->url, &whole),
                                    .token = settings_copy(s, from->token, &whole),
                                    .tenant = settings_copy(s, from->tenant, &whole),
                                    .ca = settings_copy(s, from->ca, &whole),
                                    .certificate = settings_copy(s, from->certificate, &whole),
                                    .key = settings_copy(s, from->key, &whole)};
    copy_headers(s, &from->headers, &whole);
    copy_expect(s, &from->expect, &whole);
    if (whole)
        return s;
    settings_unref(s);
    return NULL;
}

static struct fleet_settings *settings_ref(struct fleet_settings *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

enum { FRESH_MS = 5000, TIMEOUT_MS = 5000, BODY_MAX = 64 << 20, BILL_MS = 24 * 3600 * 1000 };

/* One query, in a thread of its own. */
struct fleet_query {
    pthread_t thread;
    _Atomic bool over, cancel;
    const struct env *env;
    struct fleet_settings *settings;
    char *currency;
    double price_per_kwh;
    struct buf body; /* an object; empty on failure */
    struct error err;
};

struct fleet_part {
    const struct env *env;
    struct fleet_settings *settings;
    char *currency;
    double price_per_kwh;
    struct fleet_query *query; /* running; NULL: none */
    struct mono asked;         /* when the last one began */
    struct wall fetched_at;    /* of `body`; ms 0: none yet */
    struct buf body;
    struct forgotten_metrics forgotten;
    char problem[sizeof(((struct error *)0)->text)]; /* of the last query; "": none */
};

struct told_part {
    struct wall fetched_at;
    bool loading;
    const char *problem;
    struct str body;
};

SHARED_ANSWER_TABLE(fleet_answer_form, struct told_part, .name = "Fleet", .about = "All hosts")
{
    FIELD(MOMENT, "fetched_at", fetched_at, "When `fleet` came from the database; null: not yet", OR_NULL);
    FIELD(BOOL, "loading", loading, "The database is being asked");
    FIELD(WORD, "error", problem, "Why the last question failed; `fleet` is older then", OR_NULL);
    WRITTEN_OBJECT("fleet", body, fleet_now_answer, NULL, PRESENT(body.len));
}

/* ---- in the thread ---- */

/* If it fails, the rest is still worth showing: older databases may lack the counters. */
static bool add_bill(const struct fleet_query *l, const struct fleet_place *place, struct fleet_bill *bill, enum fleet_by by)
{
    struct error err = {0};
    *bill = (struct fleet_bill){.by = by, .span_ms = BILL_MS, .price_per_kwh = l->price_per_kwh, .currency = l->currency};
    return fleet_bill_fetch(place, bill, &err) == 0;
}

static void *run(void *arg)
{
    struct fleet_query *l = arg;
    struct fleet f;
    const struct config_fleet *c = &l->settings->copy;
    const struct fleet_place place = {.env = l->env, .url = c->url, .timeout_ms = TIMEOUT_MS, .settings = c, .cancel = &l->cancel};
    if (fleet_fetch(&place, FLEET_WANT_ALL, &f, &l->err) == 0) {
        struct json_writer j = JSON_WRITER(&l->body);
        struct fleet_bill by_host, by_user;
        bool has_host = add_bill(l, &place, &by_host, FLEET_BY_HOST), has_user = add_bill(l, &place, &by_user, FLEET_BY_USER);
        fleet_json_now(&j, &f, has_host ? &by_host : NULL, has_user ? &by_user : NULL);
        fleet_bill_done(&by_host);
        fleet_bill_done(&by_user);
        fleet_done(&f);
        if (l->body.failed)
            error_set(&l->err, -1, "the answer is too large");
    }
    atomic_store(&l->over, true);
    return NULL;
}

/* ---- in the loop ---- */

static void query_free(struct fleet_query *l)
{
    if (!l)
        return;
    buf_done(&l->body);
    settings_unref(l->settings);
    free(l->currency);
    free(l);
}

static void part_begin(struct fleet_part *p, struct mono now)
{
    struct fleet_query *l = calloc(1, sizeof *l);
    p->asked = now;
    if (!l)
        return;
    *l = (struct fleet_query){.env = p->env, .price_per_kwh = p->price_per_kwh, .body = BUF(BODY_MAX)};
    l->settings = settings_ref(p->settings);
    l->currency = strdup(p->currency);
    if (l->currency && pthread_create(&l->thread, NULL, run, l) == 0)
        p->query = l;
    else
        query_free(l);
}

/* Joins the thread and takes its result, unless a reload has changed the database meanwhile. */
static void finish(struct fleet_part *p)
{
    struct fleet_query *l = TAKE(p->query);
    pthread_join(l->thread, NULL);
    if (strcmp(l->settings->copy.url, p->settings->copy.url) != 0) {
        query_free(l);
        return;
    }
    str_copy(p->problem, sizeof p->problem, str_from(l->err.text));
    if (!l->err.text[0] && l->body.len) {
        buf_done(&p->body);
        p->body = l->body;
        l->body = (struct buf){0};
        p->fetched_at = clock_wall(p->env->clock);
    }
    query_free(l);
}

static int get_fleet(void *part, const struct part_request *r, struct buf *out)
{
    struct fleet_part *p = part;
    (void)r;
    if (!p->settings->copy.url[0])
        return part_error(out, 404, "no_fleet", "No database of the fleet is configured (fleet.url).");
    struct mono now = clock_mono(p->env->clock);
    if (p->query && atomic_load(&p->query->over))
        finish(p);
    if (!p->query && (!p->asked.ns || mono_since_ms(now, p->asked) >= FRESH_MS))
        part_begin(p, now);
    answer_write(JSON_LINE(out), &fleet_answer_form,
                 &(struct told_part){p->fetched_at, p->query != NULL, p->problem, p->body.len ? buf_view(&p->body) : STR("")},
                 NULL);
    return 200;
}

/* No client waits for an answer any more. */
static void stop(void *part)
{
    struct fleet_part *p = part;
    if (p->query)
        atomic_store(&p->query->cancel, true);
}

static void reload(void *part, const struct config *config)
{
    struct fleet_part *p = part;
    struct fleet_settings *settings = settings_new(&config->fleet);
    char *currency = strdup(config->energy.currency);
    if (!settings || !currency) { /* out of memory: keep the old ones */
        settings_unref(settings);
        free(currency);
        return;
    }
    if (p->settings && strcmp(p->settings->copy.url, config->fleet.url) != 0) { /* a different fleet */
        buf_done(&p->body);
        p->body = (struct buf){0};
        p->fetched_at = (struct wall){0};
        p->asked = (struct mono){0};
        p->problem[0] = '\0';
        stop(p);
    }
    settings_unref(p->settings);
    free(p->currency);
    p->settings = settings;
    p->currency = currency;
    p->price_per_kwh = config->energy.price_per_kwh;
}

static void close_fleet(void *part)
{
    struct fleet_part *p = part;
    if (!p)
        return;
    if (p->query)
        finish(p);
    buf_done(&p->body);
    buf_done(&p->forgotten.text);
    settings_unref(p->settings);
    free(p->currency);
    free(p);
}

static void *open_fleet(const struct part_host *host, struct error *err)
{
    (void)err;
    struct fleet_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->env = host->env;
    reload(p, host->config);
    if (p->settings)
        return p;
    close_fleet(p);
    return NULL;
}

static const struct route routes_of_fleet[] = {{"/api/fleet", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_fleet}};

static void fleet_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    (void)s;
    fleet_forgotten_metrics(&((struct fleet_part *)part)->forgotten, out);
}

const struct part_ops fleet_part_ops = {.name = "fleet",
                                        .routes = routes_of_fleet,
                                        .route_count = ARRAY_LEN(routes_of_fleet),
                                        .open = open_fleet,
                                        .reload = reload,
                                        .metrics = fleet_metrics,
                                        .stop = stop,
                                        .close = close_fleet};
