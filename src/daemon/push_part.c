/* SPDX-License-Identifier: Apache-2.0
 * Push as a part of the daemon: passes the text of /metrics to the senders of [push.NAME], each at its own interval. Also tells
 * Prometheus which hosts to scrape.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/os/shared.h"
#include "config/places.h"
#include "daemon/part.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"
#include "push/push.h"
#include "serve/data/data.h"
#include "serve/server.h"

enum { SENDERS_MAX = 16, EARLY_MS = 500 };

struct push_part {
    const struct part_host *host;
    char folder[PLACE_SIZE + 8]; /* of the queues; "": queue in memory */
    struct wall started;
    struct push_sender *retired[SENDERS_MAX]; /* removed from the configuration: they end in their own time */
    size_t retired_count;
    struct {
        struct push_sender *sender;
        int64_t every_ms;
        struct mono given;
    } list[SENDERS_MAX];
    size_t count;
};

/* Frees senders that have ended, and waits for the one of this name, if given: two must not share a queue. */
static void free_retired(struct push_part *p, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->retired_count; i++)
        if (push_sender_has_ended(p->retired[i]) || (name && strcmp(name, push_sender_name(p->retired[i])) == 0))
            push_sender_free(p->retired[i]);
        else
            p->retired[kept++] = p->retired[i];
    p->retired_count = kept;
}

static void open_sender(struct push_part *p, const struct config *config, const struct config_push *settings)
{
    struct error err = {0};
    char name[HOST_NAME_SIZE] = "";
    for (size_t i = 0; i < config->metrics.labels.count; i++)
        if (strcmp(config->metrics.labels.pairs[i].key, "host") == 0)
            str_copy(name, sizeof name, str_from(config->metrics.labels.pairs[i].value));
    if (!name[0])
        env_host_name(name, sizeof name);
    if (p->count == SENDERS_MAX) {
        log_error("too many [push.NAME] tables, this one is ignored", LOG_TEXT("push", settings->entry.name),
                  LOG_INT("most", SENDERS_MAX));
        return;
    }
    free_retired(p, settings->entry.name);
    const struct push_setup setup = {
        .env = p->host->env, .folder = p->folder[0] ? p->folder : NULL, .host = name, .started = p->started, .say = log_plainly};
    struct push_sender *sender = push_sender_new(&setup, settings, &err);
    if (!sender) {
        log_error("metrics are not pushed", LOG_TEXT("push", settings->entry.name), LOG_TEXT("error", err.text));
        return;
    }
    p->list[p->count].sender = sender;
    p->list[p->count].given = (struct mono){0};
    p->list[p->count++].every_ms = settings->interval_ms;
}

/* Finds the directory of the queues when the first sender needs it. */
static void find_folder(struct push_part *p)
{
    char state[PLACE_SIZE];
    struct error err = {0};
    if (p->folder[0])
        return;
    if (place_state(state, &err) < 0) {
        log_warn("what is to be pushed will not survive a restart", LOG_TEXT("error", err.text));
        return;
    }
    snprintf(p->folder, sizeof p->folder, "%s/push", state);
    if (shared_dir_make(p->folder, 0700, &err) < 0)
        log_warn("what is to be pushed will not survive a restart", LOG_TEXT("error", err.text));
}

static void *open_push(const struct part_host *host, struct error *ret)
{
    (void)ret;
    struct push_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->host = host;
    p->started = clock_wall(host->env->clock);
    if (host->config->push_count)
        find_folder(p);
    for (size_t i = 0; i < host->config->push_count; i++)
        open_sender(p, host->config, &host->config->push[i]);
    return p;
}

static const struct config_push *settings_of(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->push_count; i++)
        if (strcmp(config->push[i].entry.name, name) == 0)
            return &config->push[i];
    return NULL;
}

/* Ends removed senders, updates those that remain, starts new ones. Queues stay. */
static void push_part_reload(void *part, const struct config *config)
{
    struct push_part *p = part;
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct config_push *settings = settings_of(config, push_sender_name(p->list[i].sender));
        if (!settings) {
            free_retired(p, p->retired_count == SENDERS_MAX ? push_sender_name(p->retired[0]) : NULL);
            push_sender_retire(p->list[i].sender);
            p->retired[p->retired_count++] = p->list[i].sender;
            continue;
        }
        push_sender_change(p->list[i].sender, settings);
        p->list[kept] = p->list[i];
        p->list[kept++].every_ms = settings->interval_ms;
    }
    p->count = kept;
    if (config->push_count)
        find_folder(p);
    for (size_t i = 0; i < config->push_count; i++) {
        bool known = false;
        for (size_t k = 0; k < kept; k++)
            known |= strcmp(push_sender_name(p->list[k].sender), config->push[i].entry.name) == 0;
        if (!known)
            open_sender(p, config, &config->push[i]);
    }
}

/* Samples have their own rhythm, so accept one that is slightly early. */
static void push_part_sampled(void *part, const struct snapshot *s)
{
    struct push_part *p = part;
    free_retired(p, NULL);
    for (size_t i = 0; i < p->count; i++) {
        bool due = !p->list[i].given.ns || mono_since_ms(s->taken, p->list[i].given) + EARLY_MS >= p->list[i].every_ms;
        const struct blob *text = due ? data_body(server_data(p->host->server), BODY_PROMETHEUS) : NULL;
        if (!text)
            continue;
        p->list[i].given = s->taken;
        push_sender_give(p->list[i].sender, (struct str){text->at, text->len}, s->taken_at);
    }
}

static void close_push(void *part)
{
    struct push_part *p = part;
    for (size_t i = 0; p && i < p->count; i++)
        push_sender_free(p->list[i].sender);
    for (size_t i = 0; p && i < p->retired_count; i++)
        push_sender_free(p->retired[i]);
    free(p);
}

/* ---- statistics ---- */

static void push_part_series(struct buf *out, const struct push_part *p, const char *name, const char *type, const char *help,
                             double (*value)(const struct push_stats *))
{
    prometheus_head(out, name, type, help);
    for (size_t i = 0; i < p->count; i++) {
        struct push_stats stats;
        push_sender_stats(p->list[i].sender, &stats);
        buf_printf(out, "%s{", name);
        prometheus_label(out, true, "push", stats.name);
        prometheus_end(out, value(&stats));
    }
}

static double sent(const struct push_stats *s)
{
    return (double)s->sent_samples;
}

static double refused(const struct push_stats *s)
{
    return (double)s->refused_samples;
}

static double lost(const struct push_stats *s)
{
    return (double)s->lost_samples;
}

static double waiting(const struct push_stats *s)
{
    return (double)s->queue.samples;
}

static double bytes(const struct push_stats *s)
{
    return (double)s->queue.bytes;
}

/* For servers that report their time. */
static void clock_series(struct buf *out, const struct push_part *p)
{
    bool headed = false;
    for (size_t i = 0; i < p->count; i++) {
        struct push_stats stats;
        push_sender_stats(p->list[i].sender, &stats);
        if (stats.clock_ahead_ms.state != READING_OK)
            continue;
        prometheus_head_once(out, &headed, "whirr_push_clock_ahead_seconds", "gauge",
                             "How far this host's clock is ahead of the receiver's; negative: behind it");
        buf_text(out, "whirr_push_clock_ahead_seconds{");
        prometheus_label(out, true, "push", stats.name);
        prometheus_end(out, (double)stats.clock_ahead_ms.value / MS_PER_S);
    }
}

static void push_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    const struct push_part *p = part;
    (void)s;
    if (!p->count)
        return;
    push_part_series(out, p, "whirr_push_samples_sent_total", "counter", "Samples that the other side has accepted", sent);
    push_part_series(out, p, "whirr_push_samples_refused_total", "counter", "Samples that the other side has refused for good",
                     refused);
    push_part_series(out, p, "whirr_push_samples_lost_total", "counter", "Samples that found no room in the queue", lost);
    push_part_series(out, p, "whirr_push_samples_waiting", "gauge", "Samples that wait to be sent", waiting);
    push_part_series(out, p, "whirr_push_queue_bytes", "gauge", "Size of the requests that wait to be sent", bytes);
    clock_series(out, p);
}

ANSWER_MAKER(target_state, struct push_stats, word, of->failing ? "retrying" : of->refusing ? "refused" : "ok");

ANSWER_TABLE(target_answer, struct push_stats, .name = "PushTarget")
{
    FIELD(TEXT, "name", name, NULL);
    MADE(WORD, "state", target_state, "refused: the last request was refused for good, and its samples are lost",
         .schema = "{\"enum\": [\"ok\", \"retrying\", \"refused\"]}");
    FIELD(INT, "samples_sent", sent_samples, NULL);
    FIELD(INT, "samples_refused", refused_samples, NULL);
    FIELD(INT, "samples_lost", lost_samples, NULL);
    FIELD(INT, "samples_waiting", queue.samples, NULL);
    FIELD(INT, "queue_bytes", queue.bytes, NULL);
    FIELD(MOMENT, "last_sent_at", last_sent_at, NULL, OR_NULL);
    FIELD(OPTION, "clock_ahead_seconds", clock_ahead_ms,
          "This host's clock against the receiver's, from the date of its answers; null: they have none", SCALE(1e-3));
    FIELD(TEXT, "message", last_error, NULL, OR_NULL);
}

static const void *next_target(const struct answer_at *at, struct answer_step *step)
{
    const struct push_part *p = at->record;
    if (step->at == p->count)
        return NULL;
    push_sender_stats(p->list[step->at++].sender, at->context);
    return at->context;
}

ANSWER_MAKER(push_state, struct push_part, word, of->count ? "on" : "off");

SHARED_ANSWER_TABLE(push_health_answer, struct push_part, .name = "PushHealth", .about = "Databases that metrics are sent to")
{
    MADE(WORD, "state", push_state, NULL, .schema = "{\"enum\": [\"on\", \"off\"]}");
    EACH(OBJECT, "targets", next_target, NULL, FIELDS(target_answer));
}

static void health(void *part, struct json_writer *j)
{
    answer_write(j, &push_health_answer, part, &(struct push_stats){0});
}

static bool is_degraded(void *part)
{
    const struct push_part *p = part;
    for (size_t i = 0; i < p->count; i++) {
        struct push_stats s;
        push_sender_stats(p->list[i].sender, &s);
        if (s.failing || s.refusing)
            return true;
    }
    return false;
}

static int get_targets(void *part, const struct part_request *r, struct buf *out)
{
    const struct push_part *p = part;
    (void)r;
    json_scrape_targets(JSON_LINE(out), p->host->config);
    return 200;
}

static const struct route routes_of_push[] = {{"/api/targets", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_targets}};

const struct part_ops push_part_ops = {.name = "push",
                                       .routes = routes_of_push,
                                       .route_count = ARRAY_LEN(routes_of_push),
                                       .open = open_push,
                                       .reload = push_part_reload,
                                       .sampled = push_part_sampled,
                                       .metrics = push_part_metrics,
                                       .health = health,
                                       .is_degraded = is_degraded,
                                       .close = close_push};
