/* SPDX-License-Identifier: Apache-2.0
 * Alerts as a part of the daemon: evaluates rules with every periodic sample, after the other parts have seen it; saves their state
 * across restarts, and passes every change to notifiers and clients.
 */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/alert.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/keep.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "config/places.h"
#include "daemon/part.h"
#include "format/alert_forms.h"
#include "format/json/json.h"
#include "insight/view/why.h"
#include "serve/data/data.h"

/* The file that carries alerts across restarts. A thread writes it, so that a hanging disk does not stop the daemon. */

struct alert_file {
    char *path;
    struct mailbox *texts; /* of char *: holds one at most, and drops the older one */
    pthread_t thread;
    bool running;
};

static void *write_texts(void *arg)
{
    struct alert_file *f = arg;
    bool told = false;
    for (char *text; (text = mailbox_take(f->texts, -1));) {
        struct error err = {0};
        int result = keep_write(f->path, str_from(text), &err);
        if (result && !told)
            log_error("cannot save the state of alerts; it will not survive a restart", LOG_TEXT("error", err.text));
        told = result != 0;
        free(text);
    }
    return NULL;
}

/* Writes what is left, waits for that, and ends. NULL is fine. */
static void alert_file_close(struct alert_file *f)
{
    if (!f)
        return;
    if (f->running) {
        mailbox_close(f->texts); /* its content is still taken */
        pthread_join(f->thread, NULL);
    }
    if (f->texts)
        mailbox_free(f->texts);
    free(f->path);
    free(f);
}

/* NULL: out of memory or threads. */
static struct alert_file *alert_file_open(const char *path)
{
    struct alert_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->path = strdup(path);
    f->texts = mailbox_new(1, free);
    f->running = f->path && f->texts && pthread_create(&f->thread, NULL, write_texts, f) == 0;
    if (f->running)
        return f;
    alert_file_close(f);
    return NULL;
}

/* Appends the saved state. -ENOENT: there is none. */
static int alert_file_read(struct alert_file *f, struct buf *text, struct error *err)
{
    return keep_read(f->path, text, err);
}

/* Moves a file aside that can't be parsed. */
static void alert_file_set_aside(struct alert_file *f)
{
    struct error err = {0};
    if (keep_aside(f->path, &err))
        log_warn("cannot move the damaged state of alerts away", LOG_TEXT("error", err.text));
}

/* Takes ownership of the text; the newest one wins. */
static void alert_file_write(struct alert_file *f, struct buf *text)
{
    char *taken = buf_take(text);
    if (taken)
        mailbox_put(f->texts, taken);
}

enum { ALERT_TEXT_MAX = 16 << 10, KEEP_SOON_MS = 5 * 1000, KEEP_EVERY_MS = 30 * 1000 };

struct alert_part {
    const struct env *env;
    struct server *server;
    struct store_service *store; /* NULL: no history is recorded */
    struct notify_part *notify;  /* recipients: notify_part_tell() */
    struct hook_part *hooks;
    struct alert_rules *rules;
    struct alert_set set;
    const struct forecast_part *forecast;
    struct alert_file *file; /* NULL: nothing is saved */
    struct wall kept_at;
    char dashboard_url[NOTICE_LINK_SIZE]; /* "": none: messages have no link */
};

/* ---- changes ---- */

static void log_news(enum alert_news news, const struct alert *a)
{
    struct log_field name = LOG_TEXT("alert", a->rule), gpu = LOG_INT("gpu", a->gpu_index),
                     severity = LOG_TEXT("severity", severity_text(a->severity));
    char text[ALERT_SUMMARY_SIZE + 32];
    bool begins = news == NEWS_FIRED || news == NEWS_UPDATED;
    snprintf(text, sizeof text, "alert %s: %s", begins ? "fires" : "is resolved, was", a->summary);
    if (begins && a->severity >= SEVERITY_WARNING)
        log_warn(text, name, severity, gpu);
    else
        log_info(text, name, severity, gpu);
}

static void store_news(struct alert_part *p, enum alert_news news, const struct alert *a, const char *json)
{
    char text[ALERT_SUMMARY_SIZE + NOTICE_ALERT_SIZE + 32];
    if (!p->store || news == NEWS_UPDATED)
        return;
    snprintf(text, sizeof text, "%s %s: %s", a->rule, news == NEWS_FIRED ? "fires" : "is resolved, was", a->summary);
    store_service_event(p->store, &(struct store_event){.at = news == NEWS_FIRED ? a->state.started_at : a->state.ended_at,
                                                        .gpu_index = a->gpu_index,
                                                        .kind = "alert",
                                                        .severity = severity_text(a->severity),
                                                        .text = text,
                                                        .data = json});
}

/* Adds the answer about the alert's GPU or else the host; none without a sample. */
static void add_why(struct alert_part *p, struct alert_notice *n)
{
    struct data *data = p->server ? server_data(p->server) : NULL;
    const struct why *why = data && data->has_sample ? data_why(data) : NULL;
    const char *answer = why ? why->answer : "";
    for (size_t i = 0; why && n->gpu_index >= 0 && i < why->gpu_count; i++)
        if (why->gpus[i].gpu_index == n->gpu_index)
            answer = why->gpus[i].answer;
    str_copy(n->why, sizeof n->why, str_from(answer));
}

/* Hooks run only when something changed. */
static void notify(struct alert_part *p, const struct alert *a, bool changed)
{
    struct alert_notice notice;
    alert_notice(a, &notice);
    add_why(p, &notice);
    notice_set_link(&notice, p->dashboard_url);
    if (notice.notifier_count)
        notify_part_tell(p->notify, &notice);
    if (changed)
        hook_part_tell(p->hooks, &notice);
}

static void on_news(void *user, enum alert_news news, const struct alert_rule *rule, struct alert *a)
{
    struct alert_part *p = user;
    (void)rule;
    if (news == NEWS_PENDING || news == NEWS_CALMED)
        return;
    AUTO_BUF struct buf text = BUF(ALERT_TEXT_MAX);
    answer_write(JSON_TO(&text), &alert_answer, a, NULL);
    log_news(news, a);
    store_news(p, news, a, text.failed ? NULL : text.at);
    if (p->server && !text.failed)
        server_announce(p->server, TOPIC_ALERT, buf_view(&text));
    if (news == NEWS_RESOLVED ? a->sent : !a->silenced_by[0])
        notify(p, a, true);
}

/* ---- across restarts ---- */

static void restore(struct alert_part *p)
{
    AUTO_BUF struct buf text = BUF(ALERT_KEEP_MAX);
    struct error err = {0};
    int result = alert_file_read(p->file, &text, &err);
    if (result == -ENOENT)
        return;
    if (!result)
        result = alert_keep_read(&p->set, buf_view(&text), &err);
    if (result == 0)
        return;
    log_error("cannot read the state of alerts, starting over", LOG_TEXT("error", err.text));
    if (result == -EINVAL)
        alert_file_set_aside(p->file);
}

static void open_file(struct alert_part *p)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE + 16];
    struct error err = {0};
    if (place_state(folder, &err) < 0) {
        log_warn("the state of alerts will not survive a restart", LOG_TEXT("error", err.text));
        return;
    }
    snprintf(path, sizeof path, "%s/alerts.json", folder);
    p->file = alert_file_open(path);
    if (p->file)
        restore(p);
}

static void alert_part_keep(struct alert_part *p)
{
    AUTO_BUF struct buf text = BUF(ALERT_KEEP_MAX);
    if (!p->file || !p->set.last_at.ms)
        return;
    alert_keep_write(&text, &p->set);
    if (text.failed)
        return;
    alert_file_write(p->file, &text);
    p->set.changed = p->set.stirred = false;
    p->kept_at = p->set.last_at;
}

/* Pending times need the time of the last sample; otherwise nothing changes between events. */
static bool waits(const struct alert_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct alert_state *s = &set->list[i]->state;
        if (s->phase == ALERT_PENDING || s->calm_at.ms || s->known_at.ms)
            return true;
    }
    return false;
}

/* ---- the part ---- */

static struct alert_rules *read_rules(const struct env *env, const struct config *config)
{
    static struct config_problems problems; /* large */
    struct alert_rules *rules = NULL;
    config_problems_clear(&problems);
    alert_rules_new(config, env, &problems, &rules);
    for (size_t i = 0; i < problems.count; i++) /* reading the configuration reported these already, and rejected it */
        log_error(problems.list[i].text, LOG_TEXT("where", problems.list[i].where));
    return rules;
}

static void close_alerts(void *part)
{
    struct alert_part *p = part;
    if (!p)
        return;
    alert_part_keep(p);
    alert_file_close(p->file);
    alert_set_done(&p->set);
    alert_rules_free(p->rules);
    free(p);
}

static void *open_alerts(const struct part_host *host, struct error *err)
{
    (void)err;
    struct alert_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    /* Field by field: assigning the whole struct would touch all of its tables. */
    p->env = host->env;
    p->notify = part_find(host, &notify_part_ops);
    p->hooks = part_find(host, &hook_part_ops);
    p->forecast = part_find(host, &forecast_part_ops);
    p->rules = read_rules(host->env, host->config);
    if (!p->rules) {
        free(p);
        return NULL;
    }
    str_copy(p->dashboard_url, sizeof p->dashboard_url, str_from(host->config->server.dashboard_url));
    alert_set_init(&p->set, p->rules);
    open_file(p);
    return p;
}

/* Sends all firing alerts again. Notifiers know what they have sent: nothing is sent twice, and a crash loses nothing. */
static void send_again(struct alert_part *p)
{
    notify_part_roll_begin(p->notify);
    for (size_t i = 0; i < p->set.count; i++) {
        struct alert *a = p->set.list[i];
        if (a->state.phase == ALERT_FIRING && a->sent)
            notify(p, a, false);
    }
    notify_part_roll_end(p->notify); /* ends the alerts that notifiers have sent and that no longer fire */
}

static int alert_part_start(void *part, const struct part_host *host)
{
    struct alert_part *p = part;
    p->server = host->server;
    p->store = host->store;
    send_again(p);
    return 0;
}

static void alert_part_reload(void *part, const struct config *config)
{
    struct alert_part *p = part;
    struct alert_rules *rules = read_rules(p->env, config);
    if (!rules) {
        log_error("cannot change the alert rules, keeping the old ones");
        return;
    }
    str_copy(p->dashboard_url, sizeof p->dashboard_url, str_from(config->server.dashboard_url));
    alert_set_rules(&p->set, rules, clock_wall(p->env->clock), on_news, p);
    alert_rules_free(p->rules);
    p->rules = rules;
    send_again(p);
    alert_part_keep(p);
}

static struct store_facts know_the_store(const struct alert_part *p)
{
    struct store_facts facts = {.full_seconds = forecast_part_store_seconds(p->forecast)};
    struct store_status status = {.state = STORE_OPENING};
    if (p->store)
        store_service_status(p->store, &status);
    if (status.state != STORE_OPENING)
        facts.failing = reading_ok(status.state != STORE_OK);
    return facts;
}

static void alert_part_sampled(void *part, const struct snapshot *s)
{
    struct alert_part *p = part;
    const struct store_facts store = know_the_store(p);
    alert_set_step(&p->set, s, &store, on_news, p);
    int64_t age_ms = s->taken_at.ms - p->kept_at.ms;
    if (p->set.changed || (p->set.stirred && age_ms >= KEEP_SOON_MS) || (waits(&p->set) && age_ms >= KEEP_EVERY_MS))
        alert_part_keep(p);
}

static void alert_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    (void)s;
    prometheus_alerts(out, &((struct alert_part *)part)->set);
}

/* ---- POST /api/alerts/silence: adds or removes a silence ---- */

enum { SILENCE_LONGEST_S = 366 * 86400 };

/* {"alert": "hot", "gpu": 0} or ["alert=hot", "gpu=0"] */
static int read_matchers(const json_t *matchers, struct silence *s, struct error *err)
{
    char text[256];
    const char *key;
    json_t *value;
    size_t i;
    int result = 0;
    json_array_foreach(matchers, i, value)
    {
        const char *one = json_string_value(value);
        result = result ? result : silence_add_matcher(s, str_from(one ? one : ""), err);
    }
    if (!json_is_object(matchers))
        return result;
    json_object_foreach((json_t *)matchers, key, value)
    {
        if (json_is_integer(value))
            snprintf(text, sizeof text, "%s=%lld", key, (long long)json_integer_value(value));
        else
            snprintf(text, sizeof text, "%s=%s", key, json_is_string(value) ? json_string_value(value) : "");
        result = result ? result : silence_add_matcher(s, str_from(text), err);
    }
    return result;
}

/* "for_seconds": 3600, or "until": "2026-11-15T12:00:00Z" */
static int read_end(const json_t *body, struct wall now, struct silence *s, struct error *err)
{
    const json_t *seconds = json_object_get(body, "for_seconds"), *until = json_object_get(body, "until");
    double length = json_number_value(seconds);
    if (json_is_number(seconds) && length > 0 && length <= SILENCE_LONGEST_S)
        s->until.ms = now.ms + (int64_t)(length * MS_PER_S);
    else if (seconds || !json_is_string(until) || !wall_parse(str_from(json_string_value(until)), &s->until))
        return error_set(err, -EINVAL, "\"for_seconds\" (up to a year) or \"until\" (a time like 2026-11-15T12:00:00Z) is needed");
    return 0;
}

static int add_silence(struct silences *silences, struct wall now, const json_t *body, const char *who, struct buf *out)
{
    struct silence s = {0};
    struct error err = {0};
    const char *comment = json_string_value(json_object_get(body, "comment"));
    const char *by = json_string_value(json_object_get(body, "created_by"));
    str_copy_clean(s.comment, sizeof s.comment, str_from(comment ? comment : ""));
    str_copy_clean(s.created_by, sizeof s.created_by, str_from(by ? by : who ? who : ""));
    int result = read_matchers(json_object_get(body, "matchers"), &s, &err);
    if (!result)
        result = read_end(body, now, &s, &err);
    if (!result)
        result = silences_add(silences, &s, now, &err);
    if (result) {
        char sentence[sizeof err.text + 2];
        snprintf(sentence, sizeof sentence, "%s.", err.text);
        return part_error(out, result == -ENOSPC ? 503 : 400, result == -ENOSPC ? "too_many" : "bad_body", sentence);
    }
    answer_write(JSON_LINE(out), &silenced_answer, &s, NULL);
    return 201;
}

static int remove_silence(struct silences *silences, const char *id, struct buf *out)
{
    struct silence gone = {0};
    if (!silences_remove(silences, id))
        return part_error(out, 404, "no_such_silence", "There is no such silence; `whirr alert silence list` lists them.");
    str_copy(gone.id, sizeof gone.id, str_from(id));
    answer_write(JSON_LINE(out), &unsilenced_answer, &gone, NULL);
    return 200;
}

/* Appends the body and returns the status; below 300: the silences have changed. */
static int silence_request(struct silences *silences, struct wall now, const struct part_request *r, struct buf *out)
{
    AUTO_JSON json_t *json = json_loadb(r->body.at ? r->body.at : "", r->body.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *remove = json_object_get(json, "remove");
    return !json_is_object(json)    ? part_error(out, 400, "bad_body", "The body must be a JSON object.")
           : !remove                ? add_silence(silences, now, json, r->who, out)
           : json_is_string(remove) ? remove_silence(silences, json_string_value(remove), out)
                                    : part_error(out, 400, "bad_body", "\"remove\" must be the number of a silence, like \"s1\".");
}

/* ---- requests ---- */

static int get_alerts(void *part, const struct part_request *r, struct buf *out)
{
    struct alert_part *p = part;
    int only, status = part_which_gpu(r, r->latest, &only, out);
    if (status != 200)
        return status;
    alert_set_sort(&p->set);
    json_alerts(JSON_LINE(out), &p->set, only == ALL_GPUS ? EVERY_GPU : r->latest->gpus[only].index);
    return 200;
}

static int get_rules(void *part, const struct part_request *r, struct buf *out)
{
    struct alert_part *p = part;
    (void)r;
    json_alert_rules(JSON_LINE(out), p->set.rules, &p->set);
    return 200;
}

static int post_silence(void *part, const struct part_request *r, struct buf *out)
{
    struct alert_part *p = part;
    struct wall now = clock_wall(p->env->clock);
    int status = silence_request(&p->set.silences, now, r, out);
    if (status < 300) {
        alert_set_silence(&p->set, now, on_news, p);
        alert_part_keep(p);
    }
    return status;
}

const struct silences *alert_part_silences(const struct alert_part *p)
{
    return p ? &p->set.silences : NULL;
}

bool alert_part_unsilence(struct alert_part *p, const char *id)
{
    if (!p || !silences_remove(&p->set.silences, id))
        return false;
    alert_set_silence(&p->set, clock_wall(p->env->clock), on_news, p);
    alert_part_keep(p);
    return true;
}

static const struct route routes_of_alerts[] = {
    {"/api/alerts", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_alerts},
    {"/api/alerts/rules", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_rules},
    {"/api/alerts/silence", HTTP_POST, PART_JSON, RIGHT_SILENCE, .answer = post_silence},
};

const struct part_ops alert_part_ops = {.name = "alerts",
                                        .routes = routes_of_alerts,
                                        .route_count = ARRAY_LEN(routes_of_alerts),
                                        .open = open_alerts,
                                        .start = alert_part_start,
                                        .sampled = alert_part_sampled,
                                        .metrics = alert_part_metrics,
                                        .reload = alert_part_reload,
                                        .close = close_alerts};
