/* SPDX-License-Identifier: Apache-2.0
 * Queries the daemon first, which knows how long a problem lasted and whether it recurred; or else reads the history once, or
 * collects a short one from samples of this process.
 */
#include "ask/answers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/rule.h"
#include "ask/cli.h"
#include "ask/client.h"
#include "ask/history_source.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "config/places.h"
#include "insight/facts/levels.h"
#include "insight/view/idle_audit.h"
#include "source/source.h"
#include "source/sysfs/sysfs_idle_audit.h"
#include "store/query.h"

/* ---- guards ---- */

enum { ANSWER_WITHIN_MS = 3000 };

struct round {
    const char *method, *path, *body;
    json_t *workers;
    size_t asked, accepted;
    char *problem;
    size_t size;
};

/* Adds each worker with the path of its guard's socket. */
static void add_workers(struct round *r, const json_t *list, const char *place)
{
    size_t i;
    json_t *worker;
    json_array_foreach((json_t *)list, i, worker) json_object_set_new(worker, "guarded_by", json_string(place));
    json_array_extend(r->workers, (json_t *)list);
}

static void ask_one(struct round *r, struct client *client)
{
    struct error err = {0};
    AUTO_BUF struct buf answer = BUF(4 << 20);
    int status = client_request(client, r->method, r->path, r->body, &answer, ANSWER_WITHIN_MS, &err);
    /* A guard that went away has no worker. One that times out has, in an unknown state, which must not read as "no worker". */
    if (status == -ETIMEDOUT || (status < 0 && client_is_remote(client)))
        str_copy(r->problem, r->size, str_from(err.text));
    if (status < 0)
        return;
    AUTO_JSON json_t *json = json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
    const json_t *list = json_object_get(json, "workers");
    if (status < 300 && json_is_array(list)) {
        r->asked++;
        add_workers(r, list, client_place(client));
    } else if (status != 404 || json_object_get(json, "error")) {
        client_error_text(buf_view(&answer), r->problem, r->size);
    }
}

json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size)
{
    struct round r = {.method = method, .path = path, .body = body, .workers = json_array(), .problem = problem, .size = size};
    struct client *client = NULL;
    struct error err = {0};
    char folder[PLACE_SIZE], socket[PLACE_SIZE + 300];
    problem[0] = '\0';
    bool acts = strcmp(method, "GET") != 0;
    if ((acts ? act_open(cli, &client, &err) : ask_open(cli, &client, &err)) == 0)
        ask_one(&r, client);
    else if (acts || err.code != -ENOENT || cli->host)
        str_copy(problem, size, str_from(err.text));
    client_close(client);
    if (!cli->host && place_runtime(folder, NULL) == 0) {
        AUTO_DIR DIR *dir = opendir(folder);
        if (!dir && !is_gone(-errno))
            snprintf(problem, size, "cannot look for guards in '%s': %s", folder, strerror(errno));
        for (const struct dirent *e; dir && (e = readdir(dir));) {
            if (!str_starts(str_from(e->d_name), "guard-") || !str_ends(str_from(e->d_name), ".sock"))
                continue;
            snprintf(socket, sizeof socket, "%s/%s", folder, e->d_name);
            client = NULL;
            if (client_open(socket, &client, &err) == 0)
                ask_one(&r, client);
            client_close(client);
        }
    }
    *asked = r.asked;
    return r.workers;
}

/* ---- alerts ---- */

enum { ANSWER_MAX = 64 << 20 };

json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err)
{
    struct client *client = NULL;
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    json_t *json = NULL;
    bool acts = strcmp(method, "GET") != 0;
    int result = acts ? act_open(cli, &client, err) : ask_open(cli, &client, err);
    if (result == 0)
        result = client_request(client, method, path, body, &answer, CLIENT_WITHIN_MS, err);
    if (result >= 400) {
        char text[400];
        client_error_text(buf_view(&answer), text, sizeof text);
        error_set(err, -EREMOTEIO, "%s", text);
    } else if (result > 0) {
        json = json_loadb(answer.at, answer.len, 0, NULL);
        if (!json)
            error_set(err, -EPROTO, "cannot understand the daemon's answer");
        if (acts) /* name the daemon that acted */
            json_object_set_new(json, "daemon", json_string(client_place(client)));
    }
    if (!json && cli->host && err->code == -ENOENT)
        err->code = -EIO; /* don't fall back to sampling on this host */
    client_close(client);
    return json;
}

int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret)
{
    static struct config_problems problems; /* large */
    int status = settings_load(cli, NULL, 0, ret_config);
    if (status != EXIT_FINE)
        return status;
    if (alert_rules_new(*ret_config, &cli->env, &problems, ret) == 0)
        return EXIT_FINE;
    config_free(TAKE(*ret_config));
    return cli_fail("cannot read the rules: %s", problems.count ? problems.list[0].text : "out of memory");
}

int alert_print_json(const json_t *json)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    AUTO_FREE char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
    buf_printf(&out, "%s\n", text ? text : "{}");
    return show_text(&out);
}

/* ---- forecasts ---- */

/* How far back to look, how many rows to read at most, and how old the newest may be to count as current. */
enum { LOOK_BACK_MS = 3 * 3600 * 1000, ROWS_MAX = 40000, PAGE_ROWS = 10000, FRESH_MS = 60000 };

/* Columns to read. */
static const char *const wanted[] = {"mem_used_bytes", "mem_free_bytes", "mem_total_bytes", "mem_reserved_bytes",
                                     "temp_mdegc",     "power_mw",       "throttle_bits",   "power_limit_mw"};
enum { USED, FREE, TOTAL, RESERVED, TEMP, POWER, THROTTLE, LIMIT, WANTED };

struct stored_course {
    const struct snapshot *now;
    struct forecast_memory *memory;
    struct snapshot *building; /* collects the rows of one moment */
    int64_t building_ms, first_ms, last_ms, step_ms;
    int64_t cursor;
    size_t rows;
    int column[WANTED]; /* position among the queried columns; -1: this database lacks it */
};

static void flush(struct stored_course *p)
{
    if (!p->building)
        return;
    struct snapshot *s = p->building;
    s->taken_at.ms = p->building_ms;
    s->taken.ns = p->now->taken.ns - (p->now->taken_at.ms - p->building_ms) * NS_PER_MS;
    /* A monotonic time that is not positive lies before the last boot. */
    if (s->taken.ns > 0 && p->building_ms < p->now->taken_at.ms) {
        forecast_see(p->memory, s);
        if (!p->first_ms || p->building_ms - p->last_ms > FRESH_MS)
            p->first_ms = p->building_ms;
        p->last_ms = p->building_ms;
    }
    snapshot_unref(s);
    p->building = NULL;
}

static struct reading cell(const struct stored_course *p, const struct store_row *row, int which)
{
    return p->column[which] >= 0 ? row->values[p->column[which]] : reading_absent(READING_UNREAD);
}

static int forecast_take_row(void *user, const struct store_row *row)
{
    struct stored_course *p = user;
    p->cursor = row->cursor;
    if (++p->rows > ROWS_MAX)
        return 1;
    if (p->building && row->at.ms != p->building_ms)
        flush(p);
    if (!p->building) {
        p->building = snapshot_new(p->now->gpu_count);
        if (!p->building)
            return -ENOMEM;
        p->building_ms = row->at.ms;
        for (size_t i = 0; i < p->now->gpu_count; i++) {
            p->building->gpus[i].id = p->now->gpus[i].id;
            p->building->gpus[i].index = p->now->gpus[i].index;
            p->building->gpus[i].state = GPU_ERROR; /* until its row arrives */
        }
    }
    for (size_t i = 0; i < p->now->gpu_count; i++) {
        struct gpu *g = &p->building->gpus[i];
        if (!gpu_same(&g->id, &row->gpu->identity))
            continue;
        g->state = GPU_OK;
        g->mem_used_bytes = cell(p, row, USED);
        g->mem_free_bytes = cell(p, row, FREE);
        g->mem_total_bytes = cell(p, row, TOTAL);
        g->mem_reserved_bytes = cell(p, row, RESERVED);
        g->temp_mdegc = cell(p, row, TEMP);
        g->power_mw = cell(p, row, POWER);
        g->throttle_bits = cell(p, row, THROTTLE);
        g->power_limit_mw = p->now->gpus[i].power_limit_mw;
    }
    return 0;
}

static int read_rows(struct store *s, const char *host, struct stored_course *p, struct error *err)
{
    size_t columns[WANTED], count = 0;
    for (int i = 0; i < WANTED; i++) {
        int found = series_find(SERIES_GPU, wanted[i]);
        p->column[i] = found < 0 ? -1 : (int)count;
        if (found >= 0)
            columns[count++] = (size_t)found;
    }
    struct store_page page = {.host = host,
                              .since_ms = p->now->taken_at.ms - LOOK_BACK_MS,
                              .until_ms = p->now->taken_at.ms + 1,
                              .gpu_index = -1,
                              .limit = PAGE_ROWS,
                              .columns = columns,
                              .column_count = count};
    for (;;) {
        size_t before = p->rows;
        page.cursor = p->cursor;
        int rc = store_rows(s, &page, forecast_take_row, p, err);
        if (rc < 0)
            return rc;
        if (p->rows - before < PAGE_ROWS || p->rows > ROWS_MAX)
            return 0;
    }
}

double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem)
{
    const struct config *config = cli->settings;
    struct error err = {0};
    char host[HOST_NAME_SIZE];
    str_copy(host, sizeof host, str_from(config->store.host[0] ? config->store.host : now->host.name));
    struct store *store;
    if (history_open(cli, config, &store, &err) < 0) {
        if (cli->ask.store)
            *problem = err;
        log_debug("no history", LOG_TEXT("reason", err.text));
        return 0;
    }
    struct stored_course past = {.now = now, .memory = memory};
    if (read_rows(store, host, &past, &err) < 0)
        log_debug("cannot read the history", LOG_TEXT("reason", err.text));
    else
        flush(&past);
    snapshot_unref(past.building);
    store_close(store);
    return past.last_ms && now->taken_at.ms - past.last_ms <= FRESH_MS ? (double)(now->taken_at.ms - past.first_ms) / 1000 : 0;
}

/* ---- health ---- */

int health_ask(const struct cli *cli, struct session *session, struct health **ret, struct health_basis *basis, struct buf *texts,
               struct error *err)
{
    AUTO_BUF struct buf answer = BUF(4 << 20);
    struct health *health = NULL;
    if (session_get(session, "/api/gpu/health", &answer) == 200)
        health = health_from_json(buf_view(&answer), basis, texts);
    if (!health && cli->host)
        return error_set(err, -EPROTO, "%s sent no verdict on its GPUs: it is a different version, or has no health monitoring",
                         cli->host);
    if (!health)
        health = session_health(session, basis);
    if (!health)
        return error_set(err, -ENOMEM, "out of memory");
    *ret = health;
    return 0;
}

/* ---- why, right now ---- */

enum { SAMPLES = 4, PAUSE_MS = 350 };

/* The drivers recorded the last seconds, so there is no need to wait. But a warm CPU may be the answer, and only watching shows
 * what it does. */
static bool knows_enough(const struct snapshot *now)
{
    if (cpu_is_warm(&now->host))
        return false;
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].state == GPU_OK && !now->gpus[i].before_count)
            return false;
    return true;
}

/* The last --source; "": none. */
static const char *source_of(const struct cli *cli)
{
    return cli->ask.source_count ? cli->ask.sources[cli->ask.source_count - 1] : "";
}

/* Audits the environment of the GPUs: only on this host, not for a recording of another one. */
static int look_around(struct cli *cli, const struct snapshot *now, struct why *why, struct error *err)
{
    if (!cli->ask.idle && !why_wants_audit(why))
        return 0;
    AUTO_FREE struct idle_facts *idle_facts = calloc(now->gpu_count + 1, sizeof *idle_facts);
    if (!idle_facts)
        return error_set(err, -ENOMEM, "out of memory");
    const struct source_ops *ops = source_of_spec(source_of(cli), NULL);
    if (!ops || !ops->recorded)
        idle_facts_read(&cli->env, now, idle_facts);
    why_audit(why, now, idle_facts);
    return 0;
}

const struct snapshot *sample_watched(struct session *session, struct error *err)
{
    bool watched = session_has_sampled(session);
    const struct snapshot *now = session_sample(session, GROUP_ALL, err);
    for (int i = 1; i < SAMPLES && now && !watched && !session_asks_daemon(session); i++) {
        pause_ms(PAUSE_MS);
        snapshot_unref(now);
        now = session_sample(session, GROUP_ALL, err);
    }
    return now;
}

int explain_now(struct cli *cli, struct session *session, const struct snapshot **ret_now, struct why **ret, struct error *err)
{
    bool watched = session_has_sampled(session);
    AUTO_SNAPSHOT const struct snapshot *now = session_sample(session, GROUP_ALL | GROUP_PAST, err);
    if (!now)
        return err->code;
    bool enough = watched || session_asks_daemon(session) || knows_enough(now);
    for (int i = 1; i < SAMPLES && now->gpu_count && !enough; i++) {
        pause_ms(PAUSE_MS);
        const struct snapshot *next = session_sample(session, i + 1 == SAMPLES ? GROUP_ALL : GROUP_QUICK, err);
        if (!next)
            return err->code;
        snapshot_unref(now);
        now = next;
    }
    struct why *why = session_why(session, now);
    if (!why)
        why = why_explain(now, NULL);
    if (!why)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = look_around(cli, now, why, err);
    if (rc < 0) {
        why_free(why);
        return rc;
    }
    *ret = why;
    *ret_now = TAKE(now);
    return 0;
}
