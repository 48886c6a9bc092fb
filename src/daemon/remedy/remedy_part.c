/* SPDX-License-Identifier: Apache-2.0
 * Remedies as a part of the daemon. POST /api/remedies/ID queues one; each periodic sample moves it on; a thread makes the
 * change and takes it back, since the helper may block. What was measured goes into the history, and with it into what is expected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "daemon/poller.h"
#include "insight/view/why.h"
#include "past/explain.h"
#include "remedy/act.h"
#include "remedy/effect.h"
#include "remedy/measure.h"
#include "remedy/undo.h"
#include "serve/data/data.h"

enum {
    DOINGS_MAX = 16,
    LOOK_EVERY_MS = 3600000,
    FOR_DEFAULT_S = 7200,
    FOR_MAX_S = 7 * 86400,
    MEASURE_DEFAULT_S = 60,
    MEASURE_MAX_S = 3600,
    TRY_SLACK_MS = 60000,
    SAMPLE_EVERY_MS = 1000,
    SAMPLE_WITHIN_MS = 6000,
    EVENTS_READ_MAX = 1000
};

struct remedy_part {
    struct poller poller; /* its lock protects the doings */
    const struct part_host *host;
    const char *simulated; /* the source of the simulated GPUs; NULL: none */
    char lease_dir[PATH_SIZE];
    _Atomic bool may_control;
    uint32_t last_id;
    size_t count;
    struct remedy_doing at[DOINGS_MAX]; /* oldest first */
    size_t ending_count;
    struct undo_entry ending[DOINGS_MAX]; /* settings to put back */
    pthread_mutex_t steps_lock;           /* of parked; taken last */
    struct parked_steps parked;
    struct effects effects; /* used by the loop only, as what follows */
    struct learner *learner;
    struct past_effects *recall; /* running; NULL: none */
    bool recalled;
};

/* ---- the thread: what may block ---- */

static void act_env(const struct remedy_part *p, bool simulated, struct env *ret)
{
    *ret = *p->poller.env;
    ret->simulated = simulated ? p->simulated : NULL;
}

static struct remedy_doing *doing_find(struct remedy_part *p, const char *id)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->at[i].id, id) == 0)
            return &p->at[i];
    return NULL;
}

static void change(struct remedy_part *p, const struct remedy_doing *copy)
{
    struct env env;
    struct error err = {0};
    AUTO_FREE struct lease *lease = calloc(1, sizeof *lease);
    AUTO_FREE struct change_list *l = calloc(1, sizeof *l);
    AUTO_FREE struct gpu *gpu = calloc(1, sizeof *gpu);
    struct wall until = copy->until;
    int rc = lease && l && gpu ? 0 : error_set(&err, -ENOMEM, "out of memory");
    act_env(p, copy->simulated, &env);
    const struct act act = {&env, p->lease_dir};
    char plan[DOING_PLAN_SIZE] = "";
    if (rc == 0) {
        gpu->index = copy->gpu_index;
        str_copy(gpu->id.uuid, sizeof gpu->id.uuid, str_from(copy->gpu));
        gpu->power_mw = copy->before.values.power_mw;
        rc = act_plan(&act, gpu, copy->remedy.code, l, &err);
    }
    if (rc == 0)
        act_words(l, plan, sizeof plan);
    if (rc == 0 && !copy->dry_run) {
        rc = act_is_denied(&act, l)
                 ? error_set(&err, -EACCES, "changing settings of GPUs needs the helper whirr-control, and it does not run")
                 : act_begin(&act, l, copy->who[0] ? copy->who : "whirr do", &until, lease, &err);
    }
    if (l)
        change_list_done(l);
    pthread_mutex_lock(&p->poller.lock);
    struct remedy_doing *d = doing_find(p, copy->id);
    if (d) {
        str_copy(d->plan, sizeof d->plan, str_from(plan));
        d->until = until;
        if (rc == 0 && !d->dry_run)
            str_copy(d->lease_id, sizeof d->lease_id, str_from(lease->id));
        doing_began(d, rc, &err, clock_wall(p->poller.env->clock));
    }
    pthread_mutex_unlock(&p->poller.lock);
}

static void change_back(struct remedy_part *p, const struct remedy_doing *copy)
{
    struct env env;
    struct error err = {0};
    char words[SETTINGS_WORDS];
    act_env(p, copy->simulated, &env);
    int rc = act_end(&(struct act){&env, p->lease_dir}, copy->lease_id, words, &err);
    pthread_mutex_lock(&p->poller.lock);
    struct remedy_doing *d = doing_find(p, copy->id);
    if (d)
        doing_ended(d, rc == -ENOENT ? 0 : rc, &err, clock_wall(p->poller.env->clock));
    pthread_mutex_unlock(&p->poller.lock);
}

/* What could not be taken back is still in the list. */
static bool end_next(struct remedy_part *p)
{
    struct undo_entry e;
    struct env env;
    struct error err = {0};
    char words[SETTINGS_WORDS];
    pthread_mutex_lock(&p->poller.lock);
    bool found = p->ending_count > 0;
    if (found)
        e = p->ending[--p->ending_count];
    pthread_mutex_unlock(&p->poller.lock);
    if (!found)
        return false;
    act_env(p, e.simulated, &env);
    int rc = act_end(&(struct act){&env, p->lease_dir}, e.id, words, &err);
    if (rc < 0 && rc != -ENOENT)
        log_warn("a setting could not be put back", LOG_TEXT("lease", e.id), LOG_TEXT("error", err.text));
    return true;
}

/* The next one that is to be changed or put back; false: none. */
static bool act_next(struct remedy_part *p, struct remedy_doing *copy)
{
    bool found = false;
    pthread_mutex_lock(&p->poller.lock);
    for (size_t i = 0; i < p->count && !found; i++) {
        found = p->at[i].phase == DOING_BEGIN || p->at[i].phase == DOING_END;
        if (found)
            *copy = p->at[i];
    }
    pthread_mutex_unlock(&p->poller.lock);
    if (found)
        (copy->phase == DOING_BEGIN ? change : change_back)(p, copy);
    return found;
}

/* True: something is still being measured. */
static bool measure_next(struct remedy_part *p)
{
    bool running = false;
    pthread_mutex_lock(&p->poller.lock);
    for (size_t i = 0; i < p->count; i++)
        running |= p->at[i].phase != DOING_OVER;
    pthread_mutex_unlock(&p->poller.lock);
    if (!running)
        return false;
    AUTO_SNAPSHOT const struct snapshot *s =
        engine_sample(p->poller.engine, GROUP_FAST | GROUP_PROCESS, SAMPLE_EVERY_MS / 2, SAMPLE_WITHIN_MS);
    pthread_mutex_lock(&p->poller.lock);
    for (size_t i = 0; s && i < p->count; i++) {
        const struct gpu *gpu = snapshot_gpu(s, p->at[i].gpu_index);
        doing_sample(&p->at[i], gpu && gpu->state == GPU_OK ? gpu : NULL, s->taken_at);
    }
    pthread_mutex_unlock(&p->poller.lock);
    return true;
}

static int64_t remedy_part_poll(void *part)
{
    struct remedy_part *p = part;
    AUTO_FREE struct remedy_doing *copy = malloc(sizeof *copy);
    bool running = measure_next(p);
    while (copy && act_next(p, copy))
        ;
    while (end_next(p))
        ;
    return running ? SAMPLE_EVERY_MS : LOOK_EVERY_MS;
}

static void charge_contexts(void *part, struct snapshot *s)
{
    struct remedy_part *p = part;
    pthread_mutex_lock(&p->steps_lock);
    for (size_t i = 0; i < s->gpu_count; i++)
        parked_charge(&p->parked, &s->gpus[i]);
    pthread_mutex_unlock(&p->steps_lock);
}

/* ---- the history ---- */

static void note_step(struct remedy_part *p, const struct effect *e)
{
    pthread_mutex_lock(&p->steps_lock);
    parked_note(&p->parked, e);
    pthread_mutex_unlock(&p->steps_lock);
}

static void record_effect(struct remedy_part *p, const struct effect *e)
{
    AUTO_BUF struct buf data = BUF(4096);
    struct remedy_values change = effect_changes(&e->before, &e->after);
    char words[EFFECT_WORDS], text[512];
    answer_write(JSON_TO(&data), &effect_answer, e, NULL);
    snprintf(text, sizeof text, "%s%s%s", e->what, e->what[0] ? ": " : "", effect_words(&change, &e->before, words));
    if (p->host->store)
        store_service_event(p->host->store, &(struct store_event){.at = e->at,
                                                                  .gpu_index = e->gpu_index,
                                                                  .kind = "effect",
                                                                  .severity = "info",
                                                                  .text = text,
                                                                  .data = data.failed ? NULL : data.at});
    (void)effects_put(&p->effects, e);
    note_step(p, e);
    if (p->host->server)
        data_forget_why(server_data(p->host->server));
}

static void record_doing(struct remedy_part *p, const struct remedy_doing *d, struct wall now)
{
    char text[768], words[EFFECT_WORDS] = "";
    AUTO_BUF struct buf data = BUF(8192);
    struct effect e;
    answer_write(JSON_TO(&data), &doing_answer, d, NULL);
    if (d->remedy.source)
        effect_words(&d->remedy.expected, &d->before.values, words);
    snprintf(text, sizeof text, "%s: %s%s%s. %s%s%s%s", d->who[0] ? d->who : "whirr do",
             d->plan[0] ? d->plan : remedy_row(d->remedy.code)->code, d->trying ? " (tried)" : "",
             d->kept ? ", kept" : ", taken back", d->text, words[0] ? " Expected: " : "", words, words[0] ? "." : "");
    log_info("a remedy was done", LOG_TEXT("who", d->who), LOG_TEXT("result", d->text));
    if (p->host->store)
        store_service_event(p->host->store, &(struct store_event){.at = now,
                                                                  .gpu_index = d->gpu_index,
                                                                  .kind = "audit",
                                                                  .severity = "info",
                                                                  .text = text,
                                                                  .data = data.failed ? NULL : data.at});
    if (doing_effect(d, now, &e))
        record_effect(p, &e);
}

/* ---- what the history has of earlier runs ---- */

struct past_effects {
    struct recall recall;
    struct effects found;
};

static void past_effects_done(struct recall *r)
{
    effects_done(&((struct past_effects *)r)->found);
}

static int take_event(void *user, const struct store_event_row *event)
{
    struct past_effects *r = user;
    struct effect e;
    return event->data && effect_from_text(event->data, &e) ? effects_put(&r->found, &e) : 0;
}

static int read_effects(struct recall *r, struct store *s, struct error *err)
{
    char host[HOST_NAME_SIZE];
    int rc = told_host(s, r->host, NULL, host, err);
    const struct store_event_page page = {
        .host = host, .since_ms = 0, .until_ms = r->until.ms, .kind = "effect", .limit = EVENTS_READ_MAX};
    return rc < 0 ? rc : store_events(s, &page, take_event, r, err);
}

static void recall_effects(struct remedy_part *p, const struct snapshot *s)
{
    if (p->recall && recall_is_over(&p->recall->recall)) {
        struct effects fresh = p->effects; /* of this run: newer */
        p->effects = p->recall->found;
        p->recall->found = (struct effects){0};
        for (size_t i = 0; i < fresh.count; i++)
            (void)effects_put(&p->effects, &fresh.list[i]);
        effects_done(&fresh);
        for (size_t i = 0; i < p->effects.count; i++)
            note_step(p, &p->effects.list[i]);
        recall_unref(&TAKE(p->recall)->recall);
        data_forget_why(server_data(p->host->server));
    }
    struct past_effects *r = p->recalled || !p->host->store ? NULL : calloc(1, sizeof *r);
    if (!r)
        return;
    p->recalled = true;
    r->recall.find = read_effects;
    r->recall.done = past_effects_done;
    if (recall_ask(&r->recall, p->host->store, s))
        p->recall = r;
}

/* Steps that came without whirr: while it measures one of its own, that one is told. */
static void learn(struct remedy_part *p, const struct snapshot *s)
{
    for (size_t i = 0; p->learner && i < s->gpu_count; i++) {
        struct effect e;
        bool busy = false;
        if (!learn_sample(p->learner, &s->gpus[i], s->taken_at, &e))
            continue;
        for (size_t k = 0; k < p->count; k++)
            busy |= p->at[k].gpu_index == s->gpus[i].index && p->at[k].phase != DOING_OVER;
        if (!busy)
            record_effect(p, &e);
    }
}

/* What is over is reported once. */
static void record_all(struct remedy_part *p, struct wall now)
{
    pthread_mutex_lock(&p->poller.lock);
    for (size_t i = 0; i < p->count; i++) {
        struct remedy_doing *d = &p->at[i];
        if (d->phase != DOING_OVER || d->told)
            continue;
        d->told = true;
        if (!d->dry_run)
            record_doing(p, d, now);
    }
    pthread_mutex_unlock(&p->poller.lock);
}

static void remedy_part_sampled(void *part, const struct snapshot *s)
{
    record_all(part, s->taken_at);
    recall_effects(part, s);
    learn(part, s);
}

/* ---- requests ---- */

/* The remedies of all GPUs or of one, or one remedy. */
struct told_remedies {
    struct remedy_part *part;
    const char *only; /* an ID; NULL: all */
    int gpu;          /* ALL_GPUS */
    struct effect_hits hits[REMEDY_COUNT];
    size_t hit_count;
};

static const void *next_doing(const struct answer_at *at, struct answer_step *step)
{
    const struct told_remedies *told = at->record;
    while (step->at < told->part->count) {
        const struct remedy_doing *d = &told->part->at[told->part->count - ++step->at];
        if ((!told->only || strcmp(told->only, d->id) == 0) && (told->gpu == ALL_GPUS || told->gpu == d->gpu_index))
            return d;
    }
    return NULL;
}

static const void *next_effect(const struct answer_at *at, struct answer_step *step)
{
    const struct told_remedies *told = at->record;
    const struct effects *all = &told->part->effects;
    while (step->at < all->count) {
        const struct effect *e = &all->list[all->count - ++step->at];
        if (told->gpu == ALL_GPUS || told->gpu == e->gpu_index)
            return e;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(remedies_answer, struct told_remedies, .name = "Remedies")
{
    EACH(OBJECT, "doings", next_doing, "The newest first", FIELDS(doing_answer));
    OBJECTS("hits", hits, hit_count, effect_hits_answer, NULL);
    EACH(OBJECT, "effects", next_effect, "The newest first", FIELDS(effect_answer));
}

static int write_doings(struct remedy_part *p, const char *only, int gpu, int status, struct buf *out)
{
    struct told_remedies told = {.part = p, .only = only, .gpu = gpu};
    told.hit_count = effects_hits(&p->effects, told.hits, ARRAY_LEN(told.hits));
    pthread_mutex_lock(&p->poller.lock);
    answer_write(JSON_LINE(out), &remedies_answer, &told, NULL);
    pthread_mutex_unlock(&p->poller.lock);
    return status;
}

static int get_remedies(void *part, const struct part_request *r, struct buf *out)
{
    int at, status = part_which_gpu(r, r->latest, &at, out);
    record_all(part, r->latest->taken_at);
    return status == 200 ? write_doings(part, NULL, at == ALL_GPUS ? at : r->latest->gpus[at].index, status, out) : status;
}

/* Looks again: the answer may be another by now. */
static int find_remedy(struct remedy_part *p, const struct part_request *r, const json_t *body, const char *id,
                       struct remedy_doing *d, struct buf *out)
{
    struct data *data = p->host->server ? server_data(p->host->server) : NULL;
    const struct why *why = data && data->has_sample ? data_why(data) : NULL;
    const json_t *asked = json_object_get(body, "gpu");
    char *end;
    long number = strtol(id, &end, 10);
    if (!why || !why->gpu_count)
        return part_error(out, 503, "starting", "There is no answer yet; ask again in a moment.");
    const struct why_part *part = NULL;
    for (size_t i = 0; i < why->gpu_count; i++)
        if (asked ? json_is_integer(asked) && json_integer_value(asked) == why->gpus[i].gpu_index : i == why->main)
            part = &why->gpus[i];
    const struct gpu *gpu = part ? snapshot_gpu(r->latest, part->gpu_index) : NULL;
    if (!gpu)
        return part_error(out, 404, "no_such_gpu", "There is no such GPU.");
    for (size_t i = 0; i < part->suggestion_count; i++) {
        const struct remedy *m = &part->remedies[i];
        if (*end ? strcmp(remedy_row(m->code)->code, id) != 0 : m->number != number)
            continue;
        d->remedy = *m;
        d->gpu_index = gpu->index;
        d->simulated = gpu->simulated;
        d->before.values.power_mw = gpu->power_mw; /* a plan depends on it */
        str_copy(d->gpu, sizeof d->gpu, str_from(gpu_id_key(&gpu->id)));
        str_copy(d->gpu_name, sizeof d->gpu_name, str_from(gpu->id.name));
        return 0;
    }
    char text[WHY_ANSWER_SIZE + 64];
    snprintf(text, sizeof text, "That is no longer advised; nothing was changed. %s", part->answer);
    return part_error(out, 409, "no_longer_so", text);
}

static bool seconds_of(const json_t *body, const char *key, double *value, double most)
{
    const json_t *given = json_object_get(body, key);
    if (!given)
        return true;
    *value = json_number_value(given);
    return json_is_number(given) && *value > 0 && *value <= most;
}

static int read_doing(struct remedy_part *p, const json_t *body, struct remedy_doing *d, struct buf *out)
{
    double keep_s = FOR_DEFAULT_S, measure_s = MEASURE_DEFAULT_S;
    const char *keep_if = json_text(body, "keep_if");
    if (!seconds_of(body, "for_seconds", &keep_s, FOR_MAX_S) || !seconds_of(body, "measure_seconds", &measure_s, MEASURE_MAX_S))
        return part_error(out, 400, "bad_body",
                          "\"for_seconds\" (up to a week) and \"measure_seconds\" (up to an hour) must be numbers.");
    d->has_keep_if = keep_if[0];
    if (keep_if[0] && !keep_if_parse(keep_if, &d->keep_if))
        return part_error(out, 400, "bad_body",
                          "\"keep_if\" must be like \"fan < 70%\"; fan, power, temperature, clock or tokens.");
    d->trying = json_is_true(json_object_get(body, "try"));
    d->dry_run = json_is_true(json_object_get(body, "dry_run"));
    d->measure_ms = (int64_t)(measure_s * MS_PER_S);
    /* Should the daemon be killed while it tries: the setting goes back all the same. */
    d->until.ms =
        clock_wall(p->poller.env->clock).ms + (d->trying ? 2 * d->measure_ms + TRY_SLACK_MS : (int64_t)(keep_s * MS_PER_S));
    return 0;
}

static int refuse(const struct remedy_part *p, const struct part_request *r, const struct remedy_doing *d, struct buf *out)
{
    const struct remedy_row *row = remedy_row(d->remedy.code);
    const struct gpu *gpu = snapshot_gpu(r->latest, d->gpu_index);
    char text[REMEDY_TEXT_SIZE + 256];
    if (row->kind != REMEDY_SETTING && !d->simulated) {
        snprintf(text, sizeof text, "That is for a person; whirr can't do it: %s",
                 d->remedy.command[0] ? d->remedy.command : d->remedy.text);
        return part_error(out, 409, "for_a_person", text);
    }
    if (!d->simulated && !p->may_control)
        return part_error(out, 403, "control_off",
                          "Changing settings is off; the host's owner turns it on with [control] allow = true.");
    if (gpu->lease.id[0] && gpu->lease.user[0] && !d->simulated && strcmp(gpu->lease.user, r->who ? r->who : "") != 0) {
        snprintf(text, sizeof text, "GPU %d is reserved for %s: that is for them to do: %s", gpu->index, gpu->lease.user,
                 d->remedy.command[0] ? d->remedy.command : "whirr do");
        return part_error(out, 403, "not_yours", text);
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->at[i].phase != DOING_OVER && p->at[i].gpu_index == d->gpu_index)
            return part_error(out, 409, "busy", "A remedy is being measured on this GPU; ask again when it is over.");
    return 0;
}

/* Called locked. */
static struct remedy_doing *add_doing(struct remedy_part *p, const struct remedy_doing *d)
{
    size_t oldest = 0;
    while (oldest < p->count && p->at[oldest].phase != DOING_OVER)
        oldest++;
    if (p->count == DOINGS_MAX && oldest == p->count)
        return NULL;
    if (p->count == DOINGS_MAX)
        memmove(&p->at[oldest], &p->at[oldest + 1], (--p->count - oldest) * sizeof p->at[0]);
    p->at[p->count] = *d;
    return &p->at[p->count++];
}

static int begin(struct remedy_part *p, const struct part_request *r, struct remedy_doing *d, struct buf *out)
{
    pthread_mutex_lock(&p->poller.lock);
    int status = refuse(p, r, d, out);
    if (!status) {
        snprintf(d->id, sizeof d->id, "r%u", ++p->last_id);
        doing_start(d, r->latest->taken_at);
        if (!add_doing(p, d))
            status = part_error(out, 503, "too_many", "Too many remedies are being measured.");
    }
    pthread_mutex_unlock(&p->poller.lock);
    if (!status)
        poller_wake(p);
    return status ? status : write_doings(p, d->id, ALL_GPUS, 202, out);
}

static int post_remedy(void *part, const struct part_request *r, struct buf *out)
{
    struct remedy_part *p = part;
    AUTO_FREE struct remedy_doing *d = calloc(1, sizeof *d);
    const char *id = r->name;
    struct str text = str_trim(r->body);
    if (!d)
        return part_error(out, 503, "internal", "Out of memory.");
    AUTO_JSON json_t *body = text.len ? json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, NULL) : json_object();
    int status = json_is_object(body) ? 0
                                      : part_error(out, 400, "bad_body",
                                                   "The body must be a JSON object, like {\"gpu\": 0, \"for_seconds\": 7200}.");
    if (!status)
        status = find_remedy(p, r, body, id, d, out);
    if (!status)
        status = read_doing(p, body, d, out);
    str_copy_clean(d->who, sizeof d->who, str_from(r->who ? r->who : ""));
    if (!status)
        status = begin(p, r, d, out);
    return status;
}

/* ---- settings that undo_part.c gives back ---- */

int remedy_part_put_back(struct remedy_part *p, const struct undo_entry *e, struct error *err)
{
    pthread_mutex_lock(&p->poller.lock);
    bool room = p->ending_count < DOINGS_MAX;
    if (room)
        p->ending[p->ending_count++] = *e;
    for (size_t i = 0; room && i < p->count; i++)
        if (strcmp(p->at[i].lease_id, e->id) == 0)
            doing_undone(&p->at[i]);
    pthread_mutex_unlock(&p->poller.lock);
    if (!room)
        return error_set(err, -EBUSY, "too many settings are being put back; ask again in a second");
    poller_wake(p);
    return 0;
}

/* ---- the part ---- */

static bool remedies_wanted(const struct config *config)
{
    (void)config;
    return true;
}

static const struct poller_ops acting = {"remedies can't be done", remedies_wanted, remedy_part_poll, charge_contexts};

static void remedy_part_reload(void *part, const struct config *config)
{
    ((struct remedy_part *)part)->may_control = config->control.allow;
}

static void *open_remedies(const struct part_host *host, struct error *err)
{
    struct remedy_part *p = poller_open(&acting, sizeof *p, host);
    (void)err;
    if (!p)
        return NULL;
    pthread_mutex_init(&p->steps_lock, NULL);
    p->host = host;
    p->learner = calloc(1, sizeof *p->learner);
    p->simulated = host->simulated;
    str_copy(p->lease_dir, sizeof p->lease_dir, str_from(host->config->lease.dir));
    remedy_part_reload(p, host->config);
    return p;
}

static int start_remedies(void *part, const struct part_host *host)
{
    struct remedy_part *p = part;
    data_set_effects(server_data(host->server), &p->effects);
    return poller_start(part, host);
}

/* What is being tried goes back; what was done stays until its end. */
static void stop_remedies(void *part)
{
    struct remedy_part *p = part;
    poller_stop(part);
    for (size_t i = 0; i < p->count; i++) {
        struct remedy_doing *d = &p->at[i];
        if (d->phase == DOING_OVER || !d->lease_id[0])
            continue;
        d->phase = DOING_END;
        change_back(p, d);
    }
}

static void close_remedies(void *part)
{
    struct remedy_part *p = part;
    if (p) {
        if (p->recall)
            recall_unref(&p->recall->recall);
        effects_done(&p->effects);
        free(p->learner);
        pthread_mutex_destroy(&p->steps_lock);
    }
    poller_close(part);
}

static const struct route routes_of_remedies[] = {
    {"/api/remedies", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_remedies},
    {"/api/remedies/", HTTP_POST, PART_JSON, RIGHT_CONTROL, .answer = post_remedy, .fresh = true, .below = true},
};

const struct part_ops remedy_part_ops = {.name = "remedies",
                                         .routes = routes_of_remedies,
                                         .route_count = ARRAY_LEN(routes_of_remedies),
                                         .open = open_remedies,
                                         .start = start_remedies,
                                         .sampled = remedy_part_sampled,
                                         .reload = remedy_part_reload,
                                         .stop = stop_remedies,
                                         .close = close_remedies};
