/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as a part of the daemon: recomputed with every periodic sample, from its own memory and the size of the history.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/os/place.h"
#include "config/places.h"
#include "daemon/part.h"
#include "engine/engine.h"
#include "format/forecast_forms.h"
#include "insight/verdict/judge.h"
#include "store/query.h"

/* The size of the database changes slowly. */
enum { STORE_EVERY_MS = 30000 };

/* How far back the history reaches. */
struct reach {
    struct recall recall;
    int64_t first_ms; /* 0: unknown */
};

struct forecast_part {
    const struct config *config;
    struct store_service *store; /* NULL: no history is recorded */
    struct reach *reach;         /* asked; NULL: not yet, or known */
    bool asked;
    int64_t first_ms; /* 0: unknown (yet) */
    struct mono store_seen;
    struct engine *engine;       /* its judge remembers the trends */
    struct forecast *latest;     /* NULL before the first sample */
    const struct snapshot *last; /* the sample it belongs to */
    struct mono began;
};

/* Free space where the SQLite database lies (or would); absent for other databases. */
static struct reading disk_free(const struct config *config)
{
    char url[STORE_PLACE_SIZE];
    struct statvfs fs;
    struct error err = {0};
    if (store_place(config->store.url, url, &err) < 0 || strncmp(url, "sqlite:", 7) != 0)
        return reading_absent(READING_UNSUPPORTED);
    /* Check the directory: the file may not exist yet. */
    char *folder = url + 7, *slash = strrchr(folder, '/');
    if (slash)
        folder[MAX_OF((size_t)(slash - folder), path_root(folder))] = '\0';
    if (statvfs(slash ? folder : ".", &fs) < 0)
        return reading_absent(reading_state_from_errno(-errno));
    return reading_ok((int64_t)fs.f_bavail * (int64_t)fs.f_frsize);
}

static void *open_forecast(const struct part_host *host, struct error *err)
{
    (void)err;
    struct forecast_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct forecast_part){.config = host->config, .store = host->store, .engine = host->engine};
    return p;
}

static void forecast_part_reload(void *part, const struct config *config)
{
    ((struct forecast_part *)part)->config = config;
}

static void close_forecast(void *part)
{
    struct forecast_part *p = part;
    if (!p)
        return;
    if (p->reach)
        recall_unref(&p->reach->recall);
    snapshot_unref(p->last);
    forecast_free(p->latest);
    free(p);
}

static int oldest(void *user, const struct store_gpu *gpu)
{
    int64_t *first = user;
    if (gpu->first_seen.ms > 0 && (!*first || gpu->first_seen.ms < *first))
        *first = gpu->first_seen.ms;
    return 0;
}

static int find_reach(struct recall *r, struct store *s, struct error *err)
{
    int64_t *first = &((struct reach *)r)->first_ms;
    *first = 0;
    return store_gpus(s, NULL, oldest, first, err);
}

static void ask_reach(struct forecast_part *p, const struct snapshot *s)
{
    struct reach *r = p->asked ? NULL : calloc(1, sizeof *r);
    if (p->reach && recall_is_over(&p->reach->recall)) {
        p->first_ms = p->reach->recall.rc == 0 ? p->reach->first_ms : 0;
        recall_unref(&TAKE(p->reach)->recall);
    }
    if (!r)
        return;
    r->recall.find = find_reach;
    p->asked = recall_ask(&r->recall, p->store, s);
    p->reach = p->asked ? r : NULL;
}

static void see_store(struct forecast_part *p, const struct snapshot *s)
{
    if (!p->store || (p->store_seen.ns && mono_since_ms(s->taken, p->store_seen) < STORE_EVERY_MS))
        return;
    ask_reach(p, s);
    struct store_status status;
    store_service_status(p->store, &status);
    struct store_limits limits = history_limits(p->config);
    bool file = strcmp(status.kind, "sqlite") == 0;
    struct forecast_store_facts facts = {.at = s->taken,
                                         .used_bytes = status.used_bytes >= 0 ? reading_ok(status.used_bytes)
                                                                              : reading_absent(READING_FAILED),
                                         .cap_bytes = file ? reading_ok(limits.max_bytes) : reading_absent(READING_UNSUPPORTED),
                                         .disk_free_bytes = file ? disk_free(p->config) : reading_absent(READING_UNSUPPORTED),
                                         .retention_ms = limits.raw_ms,
                                         .kept_ms = p->first_ms > 0 ? MAX_OF(s->taken_at.ms - p->first_ms, 1) : 0};
    forecast_see_store(judge_forecast(engine_lock_judge(p->engine)), &facts);
    engine_unlock_judge(p->engine);
    if (status.used_bytes >= 0)
        p->store_seen = s->taken;
}

static void forecast_part_take(struct forecast_part *p, const struct snapshot *s)
{
    if (!p->began.ns)
        p->began = s->taken;
    see_store(p, s);
    struct forecast *f = judge_copy_forecast(engine_lock_judge(p->engine));
    engine_unlock_judge(p->engine);
    if (!f)
        return; /* out of memory: keep the previous one, with its time */
    forecast_free(p->latest);
    p->latest = f;
    snapshot_unref(p->last);
    p->last = snapshot_ref(s);
}

/* A database at its size limit drops its oldest samples as configured: no reason for an alarm. */
struct reading forecast_part_store_seconds(const struct forecast_part *p)
{
    const struct forecast_store *store = p && p->latest && p->latest->has_store ? &p->latest->store : NULL;
    if (store && (store->of_disk || store->when.verdict != FORECAST_REACHED))
        return forecast_seconds(&store->when);
    return reading_absent(READING_UNREAD);
}

static void forecast_part_sampled(void *part, const struct snapshot *s)
{
    forecast_part_take(part, s);
}

static struct forecast_basis basis_of(const struct forecast_part *p)
{
    struct forecast_basis basis = {.remembered = true};
    if (!p->last)
        return basis;
    basis.host = p->last->host.name;
    basis.watched_s = (double)mono_since_ms(p->last->taken, p->began) / 1000;
    for (size_t i = 0; i < p->last->gpu_count; i++)
        basis.simulated |= p->last->gpus[i].simulated;
    return basis;
}

static int get_forecast(void *part, const struct part_request *r, struct buf *out)
{
    struct forecast_part *p = part;
    static const struct forecast nothing = {.starting = true};
    int only, status = part_which_gpu(r, p->last, &only, out);
    if (status != 200)
        return status;
    struct forecast_basis basis = basis_of(p);
    json_forecast(JSON_LINE(out), p->latest ? p->latest : &nothing, &basis, only);
    return 200;
}

static void forecast_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    struct forecast_part *p = part;
    (void)s;
    if (p->latest)
        prometheus_forecast(out, p->latest);
}

static const struct route routes_of_forecast[] = {{"/api/forecast", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_forecast}};

const struct part_ops forecast_part_ops = {.name = "forecast",
                                           .routes = routes_of_forecast,
                                           .route_count = ARRAY_LEN(routes_of_forecast),
                                           .open = open_forecast,
                                           .sampled = forecast_part_sampled,
                                           .metrics = forecast_part_metrics,
                                           .reload = forecast_part_reload,
                                           .close = close_forecast};
