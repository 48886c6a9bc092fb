/* SPDX-License-Identifier: Apache-2.0
 * Health as a part of the daemon: judged with every sample, saved across restarts, passed to clients, history and alerts.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "base/log.h"
#include "config/places.h"
#include "daemon/part.h"
#include "engine/engine.h"
#include "format/health_forms.h"
#include "format/prometheus/prometheus.h"
#include "insight/verdict/health.h"
#include "insight/verdict/health_memory.h"
#include "insight/verdict/judge.h"
#include "remedy/undo.h"

enum { SAVE_EVERY_MS = 300000 };

struct health_part {
    const struct part_host *host; /* the judge of its engine remembers the GPUs */
    struct health *latest;        /* NULL before the first sample */
    struct wall watched_since;
    const struct snapshot *last; /* which GPUs there are, for ?gpu= */
    struct health_place place;   /* path "": what is known is not kept */
    struct wall saved_at;
    bool warned_of_log, saving_fails;
};

/* ---- across restarts ---- */

/* A damaged file is moved aside; -ENOENT: there is none yet. */
static int health_part_load(struct health_part *p, const char *state, struct error *err)
{
    struct health_log_mark seen;
    int rc = engine_recall(p->host->engine, state, &p->place, &seen, err);
    fault_log_skip(engine_fault_log(p->host->engine), seen);
    if (rc == -EINVAL || rc == -EFBIG) {
        struct error moved = {0};
        keep_aside(p->place.path, &moved);
    }
    return rc;
}

static int write_file(struct health_part *p, struct error *err)
{
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    struct judge *judge = engine_lock_judge(p->host->engine);
    health_write(judge_health(judge), &p->place.host, fault_log_mark(engine_fault_log(p->host->engine)),
                 clock_wall(p->host->env->clock), &text);
    engine_unlock_judge(p->host->engine);
    int rc = buf_check(&text, err, "the health records of the GPUs are too large");
    return rc < 0 ? rc : keep_write(p->place.path, buf_view(&text), err);
}

static void health_part_save(struct health_part *p, struct wall now)
{
    struct error err = {0};
    if (!p->place.path[0])
        return;
    int rc = write_file(p, &err);
    if (rc < 0 && !p->saving_fails)
        log_warn("health records of the GPUs will not survive a restart", LOG_TEXT("error", err.text));
    p->saving_fails = rc < 0;
    p->saved_at = now;
}

static void *open_health(const struct part_host *host, struct error *ret)
{
    (void)ret;
    struct health_part *p = calloc(1, sizeof *p);
    struct error err = {0};
    char state[PLACE_SIZE];
    if (!p)
        return NULL;
    p->host = host;
    if (place_state(state, &err) < 0)
        log_warn("health records of the GPUs will not survive a restart", LOG_TEXT("error", err.text));
    else if (health_part_load(p, state, &err) < 0 && err.code != -ENOENT)
        log_warn("cannot read the health records of the GPUs, starting over", LOG_TEXT("file", p->place.path),
                 LOG_TEXT("error", err.text));
    return p;
}

/* Saves while the judge still exists. */
static void stop_health(void *part)
{
    struct health_part *p = part;
    if (p->latest)
        health_part_save(p, (struct wall){0});
}

static void close_health(void *part)
{
    struct health_part *p = part;
    if (!p)
        return;
    snapshot_unref(p->last);
    health_free(p->latest);
    free(p);
}

/* ---- changes ---- */

static const char *severity(const struct health_verdict *v)
{
    return v->state >= HEALTH_FAILING ? "critical" : v->state == HEALTH_DEGRADED ? "warning" : "info";
}

static void log_change(const struct health_verdict *v)
{
    enum log_level level = v->state >= HEALTH_FAILING ? LOG_ERROR : v->state == HEALTH_DEGRADED ? LOG_WARNING : LOG_INFO;
    const struct log_field fields[] = {LOG_INT("gpu", v->gpu_index),
                                       LOG_TEXT("name", v->id.name),
                                       LOG_TEXT("health", health_state_name(v->state)),
                                       LOG_TEXT("before", health_state_name(v->before)),
                                       LOG_TEXT("reason", v->reason),
                                       {0}};
    log_write(level, "health of a GPU changed", fields);
}

static void publish_change(struct health_part *p, const struct health_verdict *v, struct wall at)
{
    AUTO_BUF struct buf data = BUF(8192);
    char text[HEALTH_TEXT_SIZE + 64];
    json_health_change(JSON_TO(&data), v, at);
    if (data.failed)
        return;
    log_change(v);
    snprintf(text, sizeof text, "GPU %d is %s: %s", v->gpu_index, health_state_name(v->state), v->reason);
    if (p->host->server)
        server_announce(p->host->server, TOPIC_GPU_HEALTH, buf_view(&data));
    if (p->host->store)
        store_service_event(
            p->host->store,
            &(struct store_event){
                .at = at, .gpu_index = v->gpu_index, .kind = "health", .severity = severity(v), .text = text, .data = data.at});
}

static struct health_basis basis_of(struct health_part *p)
{
    struct health_basis basis = {.remembered = true, .watched_since = p->watched_since};
    engine_lock_judge(p->host->engine);
    basis.log_state = fault_log_state(engine_fault_log(p->host->engine));
    basis.log_message = fault_log_message(engine_fault_log(p->host->engine));
    engine_unlock_judge(p->host->engine);
    if (p->last)
        basis.at = p->last->taken_at;
    return basis;
}

static void warn_of_kernel_log_once(struct health_part *p)
{
    struct health_basis basis = basis_of(p);
    if (!p->warned_of_log && basis.log_message[0])
        log_warn("cannot watch the kernel log for driver errors", LOG_TEXT("reason", basis.log_message));
    p->warned_of_log = true;
}

static const struct health_verdict *verdict_on(const struct health *health, const struct gpu_id *id)
{
    for (size_t i = 0; health && i < health->count; i++)
        if (gpu_same(&health->verdicts[i].id, id))
            return &health->verdicts[i];
    return NULL;
}

/* The judge has also seen samples for requests, so compare with what this part saw last. */
static void health_part_compare(struct health *fresh, const struct health *last)
{
    for (size_t i = 0; i < fresh->count; i++) {
        struct health_verdict *v = &fresh->verdicts[i];
        const struct health_verdict *before = verdict_on(last, &v->id);
        if (!before)
            continue;
        v->before = before->state;
        v->changed = before->state != v->state;
    }
}

static void health_part_take(struct health_part *p, const struct snapshot *s)
{
    struct health *fresh = judge_copy_health(engine_lock_judge(p->host->engine));
    engine_unlock_judge(p->host->engine);
    snapshot_unref(p->last);
    p->last = snapshot_ref(s);
    if (!fresh)
        return;
    bool changed = false;
    health_part_compare(fresh, p->latest);
    health_free(p->latest);
    p->latest = fresh;
    if (!p->watched_since.ms)
        p->watched_since = s->taken_at;
    for (size_t i = 0; i < fresh->count; i++) {
        const struct health_verdict *v = &fresh->verdicts[i];
        changed |= v->changed;
        /* Don't report falling asleep and waking up. */
        if (v->changed && v->state != HEALTH_ASLEEP && !(v->before == HEALTH_ASLEEP && v->state == HEALTH_HEALTHY))
            publish_change(p, v, s->taken_at);
    }
    if (s->gpu_count)
        warn_of_kernel_log_once(p);
    if (changed || s->taken_at.ms - p->saved_at.ms >= SAVE_EVERY_MS || s->taken_at.ms < p->saved_at.ms)
        health_part_save(p, s->taken_at);
}

/* ---- for other parts ---- */

const struct health *health_part_latest(const struct health_part *p)
{
    return p ? p->latest : NULL;
}

static void health_part_sampled(void *part, const struct snapshot *s)
{
    health_part_take(part, s);
}

static int get_health(void *part, const struct part_request *r, struct buf *out)
{
    struct health_part *p = part;
    static const struct health nothing = {.worst = HEALTH_UNKNOWN};
    const struct health *health = p->latest;
    int at, status = part_which_gpu(r, p->last, &at, out);
    if (status != 200)
        return status;
    int only = at == ALL_GPUS ? HEALTH_ALL : p->last->gpus[at].index;
    struct health_basis basis = basis_of(p);
    json_health(JSON_LINE(out), health ? health : &nothing, &basis, p->last ? p->last->verdict : NULL, only);
    return 200;
}

static int get_inventory(void *part, const struct part_request *r, struct buf *out)
{
    struct health_part *p = part;
    struct json_writer j = JSON_WRITER(out);
    char which[GPU_UUID_SIZE];
    /* It may be missing. */
    bool one = part_query(r, "gpu", which, sizeof which) || part_query(r, "gpu_index", which, sizeof which);
    size_t found = json_inventory(&j, judge_health(engine_lock_judge(p->host->engine)), r->latest, one ? which : NULL);
    engine_unlock_judge(p->host->engine);
    if (one && !found) {
        out->len = 0;
        return part_error(out, 404, "no_such_gpu", "No such GPU was ever seen here.");
    }
    buf_char(out, '\n');
    return 200;
}

static void record_forgotten(struct health_part *p, const struct health_card *card, const char *by, struct wall at)
{
    AUTO_BUF struct buf data = BUF(4096);
    char text[GPU_NAME_SIZE + GPU_UUID_SIZE + 128];
    bool forgotten = card->forgotten.ms > 0;
    snprintf(text, sizeof text, "%s %s %s%s%s", card->id.name, gpu_id_key(&card->id),
             forgotten ? "was forgotten" : "has to be there again", by[0] ? ", said " : "", by);
    log_warn(forgotten ? "a device was forgotten: it need not be there" : "a forgotten device has to be there again",
             LOG_TEXT("kind", device_kind_name(card->id.kind)), LOG_TEXT("uuid", card->id.uuid),
             LOG_TEXT("pci", card->id.pci_address), LOG_TEXT("by", by));
    json_inventory_gpu(JSON_TO(&data), card, p->last);
    if (p->host->store && !data.failed)
        store_service_event(p->host->store, &(struct store_event){.at = at,
                                                                  .gpu_index = card->id.kind == DEVICE_GPU ? card->index : -1,
                                                                  .kind = "inventory",
                                                                  .severity = "info",
                                                                  .text = text,
                                                                  .data = data.at});
}

/* `at` 0: it has to be there again. *ret: a copy. 0 or -errno of health_forget(). */
static int forget_one(struct health_part *p, const char *which, struct wall at, const char *by, struct health_card *ret)
{
    struct wall now = clock_wall(p->host->env->clock);
    struct health_card *found;
    if (!p->last)
        return -ENOENT;
    int rc = health_forget(judge_health(engine_lock_judge(p->host->engine)), p->last, which, at, by, &found);
    if (rc == 0)
        *ret = *found;
    engine_unlock_judge(p->host->engine);
    if (rc == 0) {
        record_forgotten(p, ret, by, now);
        health_part_save(p, now);
    }
    return rc;
}

int health_part_expect(struct health_part *p, const char *which, const char *by)
{
    struct health_card card;
    return forget_one(p, which, (struct wall){0}, by ? by : "", &card);
}

void health_part_undo(struct health_part *p, const struct gpu *only, struct undo_list *list)
{
    const struct health_history *known = p ? judge_health(engine_lock_judge(p->host->engine)) : NULL;
    for (size_t i = 0; known && i < known->card_count; i++) {
        const struct health_card *card = &known->cards[i];
        const char *name = gpu_id_key(&card->id);
        struct undo_entry *e =
            card->forgotten.ms && (!only || health_is_called(card, only->id.uuid)) ? undo_add(list, UNDO_FORGOTTEN, name) : NULL;
        if (!e)
            continue;
        snprintf(e->what, sizeof e->what, "inventory");
        snprintf(e->now, sizeof e->now, "%s %s forgotten", card->id.name, name);
        snprintf(e->before, sizeof e->before, "expected");
        snprintf(e->by, sizeof e->by, "%s", card->forgotten_by);
        snprintf(e->how, sizeof e->how, "whirr forget --undo %s", name);
        e->since = card->forgotten;
    }
    if (known)
        engine_unlock_judge(p->host->engine);
}

/* What can be forgotten, or expected again. */
static int answer_unknown(struct health_part *p, const char *which, bool undo, struct buf *out)
{
    const struct health_history *known = judge_health(engine_lock_judge(p->host->engine));
    const char *state = undo ? "was forgotten" : "is missing";
    AUTO_BUF struct buf text = BUF(1024), names = BUF(1024);
    char clean[64];
    for (size_t i = 0; i < known->card_count; i++) {
        struct inventory_gpu one;
        inventory_gpu(&one, &known->cards[i], p->last);
        if (one.place != INVENTORY_PRESENT && (one.place == INVENTORY_FORGOTTEN) == undo)
            buf_printf(&names, "%s%s", names.len ? ", " : "", one.name);
    }
    engine_unlock_judge(p->host->engine);
    str_copy_clean(clean, sizeof clean, str_from(which));
    if (names.len)
        buf_printf(&text, "Nothing called '%s' %s. What %s: %s.", clean, state, state, names.at);
    else
        buf_text(&text, undo ? "Nothing was forgotten, so there is nothing to undo."
                             : "Nothing is missing, so there is nothing to forget.");
    return part_error(out, 404, "no_such_gpu",
                      text.failed || names.failed ? "Nothing is called that; `whirr forget` lists them." : text.at);
}

static int answer_forget(struct health_part *p, const char *which, bool undo, const char *by, struct buf *out)
{
    struct health_card card;
    int rc = forget_one(p, which, undo ? (struct wall){0} : clock_wall(p->host->env->clock), by, &card);
    if (rc == -EBUSY)
        return part_error(out, 409, "gpu_is_there", "It is there: only what is missing or was replaced can be forgotten.");
    if (rc == -EMLINK)
        return part_error(out, 409, "several_gpus", "Several GPUs are called that; name one by its UUID.");
    if (rc < 0)
        return answer_unknown(p, which, undo, out);
    struct inventory_gpu gpu;
    inventory_gpu(&gpu, &card, p->last);
    answer_write(JSON_LINE(out), &forgotten_one_answer, &gpu, NULL);
    return 200;
}

static int post_forget(void *part, const struct part_request *r, struct buf *out)
{
    struct health_part *p = part;
    char by[64];
    AUTO_JSON json_t *json = json_loadb(r->body.at ? r->body.at : "", r->body.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *gpu = json_object_get(json, "gpu"), *undo = json_object_get(json, "undo");
    const char *said = json_string_value(json_object_get(json, "by"));
    str_copy_clean(by, sizeof by, str_from(said && said[0] ? said : r->who ? r->who : ""));
    return !json_is_string(gpu) || (undo && !json_is_boolean(undo))
               ? part_error(out, 400, "bad_body",
                            "The body must be an object with \"gpu\": a UUID, a PCI address, an index or a port.")
           : !p->last ? part_error(out, 503, "starting", "There is no sample yet.")
                      : answer_forget(p, json_string_value(gpu), json_is_true(undo), by, out);
}

static void health_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    struct health_part *p = part;
    (void)s;
    const struct health *health = p->latest;
    if (health)
        prometheus_health(out, health);
}

static void counts(void *part, const struct snapshot *s, struct prometheus_extra *extra)
{
    struct health_part *p = part;
    (void)s;
    extra->health = p->latest;
}

static const struct route routes_of_health[] = {
    {"/api/gpu/forget", HTTP_POST, PART_JSON, RIGHT_ADMIN, .answer = post_forget},
    {"/api/gpu/health", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_health},
    {"/api/gpu/inventory", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_inventory},
};

const struct part_ops health_part_ops = {.name = "health",
                                         .routes = routes_of_health,
                                         .route_count = ARRAY_LEN(routes_of_health),
                                         .open = open_health,
                                         .sampled = health_part_sampled,
                                         .metrics = health_part_metrics,
                                         .counts = counts,
                                         .stop = stop_health,
                                         .close = close_health};
