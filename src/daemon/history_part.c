/* SPDX-License-Identifier: Apache-2.0
 * The history as a part of the daemon: turns settings into a running service. And what other parts learn from it.
 */
#include "daemon/part.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/os/place.h"
#include "config/places.h"
#include "format/prometheus/prometheus.h"
#include "store/admin.h"

/* The place of the history, while it is in use. */
struct history_place {
    char text[STORE_PLACE_SIZE]; /* an absolute path, or a server without its password; "": none */
    int lock;                    /* one daemon per file; -1: none */
};

struct history_part {
    struct store_service *service; /* NULL: disabled, or not available */
    struct history_place place;
    struct history_memory memory; /* previous places */
    struct damage_look *look;     /* damage check; NULL: none */
};

enum { LOOK_MS = 60000 }; /* limit of the damage check at each start: 60 s are enough for a few GiB */
enum { END_MS = 4000 };   /* limit for writing what is queued; the rest is kept for the next start */

static int64_t days(double n)
{
    return (int64_t)(n * 86400000.0);
}

struct store_limits history_limits(const struct config *config)
{
    return (struct store_limits){
        .raw_ms = days(config->store.raw_days),
        .minute_ms = days(config->store.minute_days),
        .hour_ms = days(config->store.hour_days),
        .process_ms = days(config->store.process_days),
        .event_ms = days(config->store.event_days),
        .max_bytes = config->store.max_size_bytes,
    };
}

/* Two daemons writing one file would count everything twice. The lock is a separate file: SQLite's own locks on the database
 * vanish when any descriptor of it is closed. */
static int lock_file(struct history_place *place, struct error *err)
{
    char path[STORE_PLACE_SIZE + 8];
    pid_t holder;
    struct error inner = {0};
    snprintf(path, sizeof path, "%s-lock", place->text);
    int rc = lock_take(path, &place->lock, &holder, &inner);
    if (rc == -EBUSY)
        return error_set(err, rc, "another daemon (PID %d) is writing to %s; stop it, or give another file with --store",
                         (int)holder, place->text);
    if (rc < 0)
        log_warn("the history database is used without a lock", LOG_TEXT("error", inner.text));
    return 0;
}

/* Resolves the path: several names may lead to the same file. */
static void find_place(const char *url, struct history_place *place)
{
    char folder[STORE_PLACE_SIZE];
    store_place_text(url, place->text, sizeof place->text);
    if (strncmp(url, "sqlite:", 7) != 0)
        return;
    AUTO_FREE char *whole = realpath(place->text, NULL);
    if (whole) {
        str_copy(place->text, sizeof place->text, str_from(whole));
        return;
    }
    str_copy(folder, sizeof folder, str_from(place->text));
    char *slash = strrchr(folder, '/');
    AUTO_FREE char *name = strdup(slash ? slash + 1 : folder);
    if (slash)
        folder[MAX_OF((size_t)(slash - folder), path_root(folder))] = '\0';
    AUTO_FREE char *absolute = realpath(slash ? folder : ".", NULL);
    if (absolute && name)
        snprintf(place->text, sizeof place->text, "%s%s%s", absolute, str_ends(str_from(absolute), "/") ? "" : "/", name);
}

/* The name under which this host is stored, and its machine; of a recorded one, nothing is remembered. */
static void name_host(const struct config *config, const struct env *env, struct history_memory *ret)
{
    *ret = (struct history_memory){0};
    if (config->store.host[0])
        str_copy_clean(ret->host, sizeof ret->host, str_from(config->store.host));
    else if (!env_is_recorded(env))
        env_host_name(ret->host, sizeof ret->host);
    if (file_read(env, "/etc/machine-id", ret->machine, sizeof ret->machine) < 0)
        ret->machine[0] = '\0';
    ret->machine[strcspn(ret->machine, "\n")] = '\0';
}

/* What it was called when this directory's daemon last wrote; "": the same. */
static void previous_name(const struct history_memory *own, char *was, size_t size)
{
    struct history_memory memory;
    history_recall(&memory);
    bool renamed = memory.host[0] && strcmp(memory.host, own->host) != 0;
    bool same = strcmp(memory.machine, own->machine) == 0;
    str_copy(was, size, str_from(!same || !own->host[0] ? "" : renamed ? memory.host : memory.was));
}

static struct store_service *start_service(const struct config *config, const struct env *env, struct history_place *place,
                                           const struct history_memory *own, struct error *err)
{
    char was[HOST_NAME_SIZE];
    char url[STORE_PLACE_SIZE], folder[PLACE_SIZE], queue[PLACE_SIZE + 32] = "";
    *err = (struct error){0};
    *place = (struct history_place){.lock = -1};
    if (strcmp(config->store.url, "none") == 0)
        return NULL;
    bool server = strncmp(config->store.url, "postgres", 8) == 0;
    if (store_place(config->store.url, url, err) < 0 || (server && place_state(folder, err) < 0))
        return NULL;
    find_place(url, place);
    if (!server && lock_file(place, err) < 0)
        return NULL;
    if (server)
        snprintf(queue, sizeof queue, "%s/queue.db", folder);
    previous_name(own, was, sizeof was);
    char machine[HEX_SIZE(8)] = "";
    prometheus_machine(env, machine);
    const struct store_service_options options = {
        .clock = env->clock,
        .store = {.env = env,
                  .url = url,
                  .host = config->store.host,
                  .was = was,
                  .one_host = true,
                  .machine = machine,
                  .limits = history_limits(config)},
        .queue_path = queue[0] ? queue : NULL,
        .queue_bytes = config->store.queue_bytes,
        .say = log_plainly,
    };
    struct store_service *v = store_service_new(&options, err);
    if (v)
        store_service_event(v, &(struct store_event){.at = clock_wall(env->clock),
                                                     .gpu_index = -1,
                                                     .kind = "daemon",
                                                     .severity = "info",
                                                     .text = "whirr " WHIRR_VERSION " started"});
    return v;
}

/* ---- damage ---- */

/* SQLite finds a damaged page only when it reads it, maybe in a year. So a thread reads the whole file at each start, beside the
 * writer and on its own connection. Shutdown does not wait for it: the thread and the part share ownership of this. */
struct damage_look {
    _Atomic int shares;
    _Atomic bool cancel, is_damaged; /* is_damaged: `found` is set */
    char url[STORE_PLACE_SIZE + 8], found[256];
};

static void leave_look(struct damage_look *l)
{
    if (l && atomic_fetch_sub(&l->shares, 1) == 1)
        free(l);
}

static void *look_for_damage(void *arg)
{
    struct damage_look *l = arg;
    struct error err = {0};
    int rc = store_find_damage(l->url, &l->cancel, LOOK_MS, l->found, sizeof l->found, &err);
    const char *place = l->url + strlen("sqlite:"), *found = l->found;
    if (rc == 0 && l->found[0]) {
        log_error(
            "the history database is damaged; what can be read of it is still shown, and new samples are written: stop whirr, "
            "copy the file, and rescue it with: sqlite3 FILE .recover | sqlite3 NEW",
            LOG_TEXT("file", place), LOG_TEXT("damage", found));
        atomic_store(&l->is_damaged, true);
    } else if (rc < 0 && rc != -ECANCELED) {
        log_debug("the history database was not looked through for damage", LOG_TEXT("error", err.text));
    }
    leave_look(l);
    return NULL;
}

static struct damage_look *begin_look(const char *place)
{
    pthread_t thread;
    struct damage_look *l = place[0] == '/' && access(place, F_OK) == 0 ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return NULL;
    l->shares = 2;
    snprintf(l->url, sizeof l->url, "sqlite:%s", place);
    if (pthread_create(&thread, NULL, look_for_damage, l) != 0) {
        free(l);
        return NULL;
    }
    pthread_detach(thread);
    return l;
}

static bool is_damaged(const struct history_part *p)
{
    return p->look && atomic_load(&p->look->is_damaged);
}

/* Nothing is copied between databases: tell users who change store.url where the old one is. */
static void note_place(struct history_part *p, const struct history_memory *own)
{
    const char *before = p->memory.before, *now = p->place.text;
    if (now[0] && history_note(now, own->host, own->machine, &p->memory))
        log_warn("the history is kept in another place than before: nothing was copied, and the old one is still there; "
                 "to take it along: whirr db copy BEFORE NOW; to go back to it, set store.url (or --store) and restart",
                 LOG_TEXT("before", before), LOG_TEXT("now", now));
}

/* Run without a history if it can't be recorded, but not if another daemon records it. */
static void *open_history(const struct part_host *host, struct error *ret)
{
    struct history_part *p = calloc(1, sizeof *p);
    struct error err;
    if (!p)
        return NULL;
    struct history_memory own;
    name_host(host->config, host->env, &own);
    p->service = start_service(host->config, host->env, &p->place, &own, &err);
    if (!p->service && err.code == -EBUSY) {
        error_set(ret, err.code, "%s", err.text);
        free(p);
        return NULL;
    }
    if (p->service && engine_subscribe(host->engine, store_service_inbox(p->service)) < 0) {
        error_set(&err, -ENOSPC, "too many subscribers");
        store_service_free(TAKE(p->service), 0);
    }
    if (!p->service && err.text[0])
        log_error("no history is kept", LOG_TEXT("error", err.text));
    else
        note_place(p, &own);
    if (p->service)
        p->look = begin_look(p->place.text);
    return p;
}

static void history_part_reload(void *part, const struct config *config)
{
    struct history_part *p = part;
    struct store_limits limits = history_limits(config);
    if (p->service)
        store_service_set_limits(p->service, &limits);
}

struct told_store {
    struct store_status of;
    const char *state, *place, *before, *message, *clock;
    bool damaged;
    int64_t offset_s, wait_s;
};

SHARED_ANSWER_TABLE(store_health_answer, struct told_store, .name = "StoreHealth")
{
    FIELD(WORD, "state", state, NULL);
    FIELD(WORD, "kind", of.kind, NULL, OR_NULL);
    FIELD(WORD, "place", place, "The file, or the server without its password", OR_NULL);
    FIELD(WORD, "previous_place", before,
          "Where the history was kept before `store.url` was changed: it is still there, and nothing was copied", OR_NULL);
    FIELD(INT, "queued_rows", of.queued, NULL);
    FIELD(WORD, "message", message, NULL, OR_NULL);
    FIELD(BOOL, "damaged", damaged,
          "Damage was found in the SQLite file, which is looked through once at each start, for at most a minute; `message` says "
          "what to do");
    FIELD(INT, "written_total", of.written, NULL);
    FIELD(INT, "lost_total", of.lost, NULL);
    FIELD(WORD, "clock", clock,
          "How the clock stands to the time that the history has seen pass; unless trusted, nothing is deleted by it",
          .schema = "{\"enum\": [\"trusted\", \"ahead\", \"behind\"]}");
    FIELD(INT, "clock_offset_seconds", offset_s, NULL);
    FIELD(INT, "clock_wait_seconds", wait_s, "How much longer it has to stay this way to be trusted");
    FIELD(INT, "cleanup_failures_total", of.clean_failures, NULL);
    FIELD(INT, "used_bytes", of.used_bytes, NULL, NONE(-1));
}

static void health(void *part, struct json_writer *j)
{
    struct history_part *p = part;
    struct told_store told = {.of.used_bytes = -1, .before = p->memory.before, .state = "off"};
    char damage[400] = "";
    if (p->service) {
        store_service_status(p->service, &told.of);
        told.state = store_state_name(told.of.state);
        told.place = p->place.text;
    }
    if (is_damaged(p))
        snprintf(damage, sizeof damage, "the file is damaged (%s); rescue it with: sqlite3 FILE .recover | sqlite3 NEW",
                 p->look->found);
    told.damaged = damage[0];
    told.message = told.of.message[0] ? told.of.message : damage;
    /* Whether expiry trusts the clock, or waits until it has proved itself. */
    int side = store_clock_side(&told.of.clock);
    told.clock = side > 0 ? "ahead" : side < 0 ? "behind" : "trusted";
    told.offset_s = side ? told.of.clock.offset_ms / MS_PER_S : 0;
    told.wait_s = side ? told.of.clock.wait_ms / MS_PER_S : 0;
    answer_write(j, &store_health_answer, &told, NULL);
}

static bool is_degraded(void *part)
{
    struct store_service *v = ((struct history_part *)part)->service;
    struct store_status status;
    if (!v)
        return false;
    if (is_damaged(part))
        return true;
    store_service_status(v, &status);
    return store_is_troubled(&status);
}

struct store_service *history_part_service(const struct history_part *p)
{
    return p->service;
}

void history_part_end(struct history_part *p)
{
    if (p)
        store_service_free(TAKE(p->service), END_MS);
}

static void close_history(void *part)
{
    struct history_part *p = part;
    history_part_end(p);
    if (p && p->place.lock >= 0)
        close(p->place.lock);
    if (p && p->look) {
        atomic_store(&p->look->cancel, true);
        leave_look(p->look);
    }
    free(p);
}

const struct part_ops history_part_ops = {.name = "store",
                                          .open = open_history,
                                          .health = health,
                                          .is_degraded = is_degraded,
                                          .reload = history_part_reload,
                                          .close = close_history};

/* ---- what a part learns from the history ---- */

void recall_unref(struct recall *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    if (r->done)
        r->done(r);
    free(r);
}

static int find_for_part(struct store_question *q, struct store *s, struct error *err)
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
    r->question = (struct store_question){.read = find_for_part, .answered = answered};
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
