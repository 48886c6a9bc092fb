/* SPDX-License-Identifier: Apache-2.0
 * The thread: puts what it receives into its queue, and sends from there in order. Drops and counts what was refused for good, and
 * goes on to the next.
 */
#include "push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "base/mailbox.h"
#include "net/clock_off.h"
#include "net/retry.h"

enum { REFUSED_LOG_MS = 600000, PAUSE_MAX_MS = 60000, MESSAGES_MAX = 16, LAST_CHANCE_MS = 1000, POLL_MS = 20 };

struct push_message {
    struct push_scrape scrape;
    bool empty; /* only to wake the thread */
};

struct push_sender {
    struct push_setup setup;
    char name[PUSH_NAME_SIZE], host[128];
    struct mailbox *mail;
    _Atomic bool stop, give_up, ended;
    pthread_t thread;
    bool runs;
    /* Owned by the thread */
    struct push_target *target;
    struct push_queue *queue;
    struct push_scrape before;
    struct wall last_at;
    struct wall first_at; /* of the first scrape; ms 0: none yet */
    struct retry retry;
    bool disk_fails, clock_off;
    struct mono refusal_logged; /* ns 0: the last one was accepted */
    uint64_t refused_unlogged;  /* samples since then */
    /* Shared with readers */
    pthread_mutex_t lock;
    struct push_stats stats;
    struct push_target *next; /* new settings; NULL: unchanged */
};

static void drop_message(void *item)
{
    struct push_message *l = item;
    push_scrape_done(&l->scrape);
    free(l);
}

#define sender_log(p, level, ...) log_through((p)->setup.say, (p)->setup.user, level, __VA_ARGS__)

static void sender_publish(struct push_sender *p)
{
    pthread_mutex_lock(&p->lock);
    push_queue_get(p->queue, &p->stats.queue);
    p->stats.lost_samples = p->stats.queue.lost_samples;
    p->stats.failing = p->retry.failures > 0;
    pthread_mutex_unlock(&p->lock);
}

/* ---- into the queue ---- */

static void queue_lines(struct push_sender *p, const struct push_line *lines, size_t count, struct wall at)
{
    const struct push_identity who = {p->target->job, p->target->instance, p->host, p->setup.started, p->first_at};
    AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
    struct error err = {0};
    if (push_target_encode(p->target, &body, lines, count, at, &who) < 0) {
        sender_log(p, LOG_ERROR, "push %s: out of memory, %zu samples dropped", p->name, count);
        return;
    }
    int rc = push_queue_put(p->queue, buf_view(&body), (uint32_t)count, &err);
    if (rc < 0 && !p->disk_fails)
        sender_log(p, LOG_WARNING, "push %s: the last %d requests wait in memory and will not survive a restart: %s", p->name,
                   PUSH_MEMORY_MAX, err.text);
    if (rc == 0 && p->disk_fails)
        sender_log(p, LOG_INFO, "push %s: its queue can be written again", p->name);
    p->disk_fails = rc < 0;
}

static void take_scrape(struct push_sender *p, struct push_scrape *now)
{
    now->at = push_time(now->at, p->last_at);
    p->last_at = now->at;
    if (!p->first_at.ms)
        p->first_at = now->at;
    size_t count = now->count;
    if (push_mark_stale(now, &p->before) < 0)
        sender_log(p, LOG_WARNING, "push %s: out of memory, series that ended are not marked", p->name);
    for (size_t i = 0; i < now->count; i += p->target->batch)
        queue_lines(p, now->lines + i, MIN_OF(p->target->batch, now->count - i), now->at);
    now->count = count; /* views of ended series point into the text being freed */
    push_scrape_done(&p->before);
    p->before = *now;
    *now = (struct push_scrape){0};
}

/* Marks discontinued series as ended: graphs stop at once instead of five minutes later. */
static void mark_the_end(struct push_sender *p)
{
    struct push_scrape end = {.at = clock_wall(p->setup.env->clock)};
    if (p->before.count)
        take_scrape(p, &end);
}

/* ---- out of the queue ---- */

static void count_outcome(struct push_sender *p, enum push_outcome outcome, uint32_t samples, const char *error)
{
    pthread_mutex_lock(&p->lock);
    struct push_stats *s = &p->stats;
    s->requests++;
    s->failures += outcome != PUSH_SENT;
    s->sent_samples += outcome == PUSH_SENT ? samples : 0;
    s->refused_samples += outcome == PUSH_REFUSED ? samples : 0;
    if (outcome == PUSH_SENT)
        s->last_sent_at = clock_wall(p->setup.env->clock);
    s->refusing = outcome == PUSH_REFUSED || (s->refusing && outcome != PUSH_SENT);
    str_copy(s->last_error, sizeof s->last_error, str_from(outcome == PUSH_SENT ? "" : error));
    pthread_mutex_unlock(&p->lock);
}

/* A target that always refuses would log a line per request, forever. */
static void log_refusal(struct push_sender *p, uint32_t samples, const char *error)
{
    struct mono now = clock_mono(p->setup.env->clock);
    p->refused_unlogged += samples;
    if (p->refusal_logged.ns && mono_since_ms(now, p->refusal_logged) < REFUSED_LOG_MS)
        return;
    sender_log(p, LOG_ERROR, "push %s: %" PRIu64 " samples refused and dropped: %s; the next line about that comes in 10 minutes",
               p->name, p->refused_unlogged, error);
    p->refusal_logged = now;
    p->refused_unlogged = 0;
}

/* A database queries by its own time: samples with a wrong clock end up where no query looks. */
static void compare_clocks(struct push_sender *p, struct wall its_time)
{
    if (!its_time.ms)
        return;
    int64_t ahead_ms = clock_wall(p->setup.env->clock).ms - its_time.ms;
    bool off = clock_is_off(ahead_ms);
    pthread_mutex_lock(&p->lock);
    p->stats.clock_ahead_ms = reading_ok(ahead_ms);
    pthread_mutex_unlock(&p->lock);
    char words[64];
    if (off && !p->clock_off)
        sender_log(p, LOG_WARNING, "push %s: this host's %s: its samples are stored at the wrong time", p->name,
                   clock_off_words(ahead_ms, "the receiver's", words, sizeof words));
    if (!off && p->clock_off)
        sender_log(p, LOG_INFO, "push %s: this host's clock and the receiver's agree again", p->name);
    p->clock_off = off;
}

static void log_outcome(struct push_sender *p, enum push_outcome outcome, uint32_t samples, const char *error, int64_t pause_ms)
{
    if (outcome == PUSH_SENT && p->retry.failures)
        sender_log(p, LOG_INFO, "push %s: the other side can be reached again", p->name);
    if (outcome == PUSH_REFUSED)
        log_refusal(p, samples, error);
    if (outcome == PUSH_SENT && p->refusal_logged.ns) {
        sender_log(p, LOG_INFO, "push %s: samples are accepted again", p->name);
        p->refusal_logged = (struct mono){0};
    }
    if (outcome == PUSH_LATER && p->retry.failures == 1)
        sender_log(p, LOG_WARNING, "push %s: cannot send, retrying in %.1f s: %s", p->name, (double)pause_ms / MS_PER_S, error);
}

/* True: the next one may follow at once. */
static bool send_first(struct push_sender *p)
{
    AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
    struct push_answer answer;
    uint32_t samples = 0;
    int64_t pause_ms = 0;
    if (!push_queue_first(p->queue, &body, &samples))
        return false;
    enum push_outcome outcome = push_target_send(p->target, p->setup.env, &body, &p->give_up, &answer);
    if (outcome == PUSH_CANCELLED)
        return false;
    if (outcome == PUSH_AS_1) {
        sender_log(p, LOG_WARNING, "push %s: the other side does not know remote write 2.0, sending 1.0", p->name);
        return true; /* the same one, again */
    }
    if (outcome == PUSH_LATER)
        pause_ms = retry_failed(&p->retry, clock_mono(p->setup.env->clock), PAUSE_MAX_MS, answer.retry_after_ms);
    else
        push_queue_drop_first(p->queue);
    count_outcome(p, outcome, samples, answer.text);
    compare_clocks(p, answer.its_time);
    log_outcome(p, outcome, samples, answer.text, pause_ms);
    if (outcome != PUSH_LATER)
        p->retry.failures = 0;
    sender_publish(p);
    return outcome != PUSH_LATER;
}

static int64_t until_due_ms(const struct push_sender *p)
{
    struct push_queue_state state;
    push_queue_get(p->queue, &state);
    return state.requests ? retry_wait_ms(&p->retry, clock_mono(p->setup.env->clock)) : -1;
}

/* New settings apply to new and queued requests: they go to the new target. A series with another job or instance is a different
 * one, and the old one ended. */
static void take_target(struct push_sender *p)
{
    pthread_mutex_lock(&p->lock);
    struct push_target *next = p->next, *old = p->target;
    p->next = NULL;
    pthread_mutex_unlock(&p->lock);
    if (!next)
        return;
    if (strcmp(next->job, old->job) != 0 || strcmp(next->instance, old->instance) != 0)
        mark_the_end(p);
    if (strcmp(next->url, old->url) == 0 && next->kind == old->kind) {
        next->took_2 = old->took_2;
        next->only_1 = old->only_1;
    } else
        p->retry.not_before = (struct mono){0};
    p->target = next;
    push_target_free(old);
    push_queue_set_max(p->queue, next->queue_bytes);
}

static void take_mail(struct push_sender *p, int64_t wait_ms)
{
    struct push_message *l = mailbox_take(p->mail, wait_ms);
    take_target(p);
    while (l) {
        if (!l->empty)
            take_scrape(p, &l->scrape);
        drop_message(l);
        l = mailbox_take(p->mail, 0);
    }
    sender_publish(p);
}

static void *thread_main(void *arg)
{
    struct push_sender *p = arg;
    while (!atomic_load(&p->stop)) {
        int64_t wait_ms = until_due_ms(p);
        take_mail(p, wait_ms);
        if (until_due_ms(p) == 0)
            send_first(p);
    }
    take_mail(p, 0);
    mark_the_end(p);
    struct mono end = {clock_mono(p->setup.env->clock).ns + (int64_t)LAST_CHANCE_MS * NS_PER_MS};
    while (!p->retry.failures && !atomic_load(&p->give_up) && clock_mono(p->setup.env->clock).ns < end.ns && send_first(p))
        ;
    atomic_store(&p->ended, true);
    return NULL;
}

/* ---- public functions ---- */

struct push_sender *push_sender_new(const struct push_setup *setup, const struct config_push *settings, struct error *err)
{
    struct push_sender *p = calloc(1, sizeof *p);
    char folder[4200];
    if (!p) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    p->setup = *setup;
    pthread_mutex_init(&p->lock, NULL);
    str_copy(p->name, sizeof p->name, str_from(settings->entry.name));
    str_copy(p->stats.name, sizeof p->stats.name, str_from(p->name));
    str_copy(p->host, sizeof p->host, str_from(setup->host));
    p->target = push_target_new(settings, p->host, err);
    if (!p->target) {
        push_sender_free(p);
        return NULL;
    }
    p->retry.seed = retry_seed(p);
    if (setup->folder)
        keep_path(setup->folder, p->name, "", folder, sizeof folder);
    p->mail = mailbox_new(MESSAGES_MAX, drop_message);
    p->queue = push_queue_new(setup->folder ? folder : NULL, settings->queue_bytes);
    if (p->mail && p->queue) {
        sender_publish(p);
        p->runs = pthread_create(&p->thread, NULL, thread_main, p) == 0;
    }
    if (p->runs)
        return p;
    error_set(err, -EAGAIN, "no memory or threads for push '%s'", p->name);
    push_sender_free(p);
    return NULL;
}

void push_sender_change(struct push_sender *p, const struct config_push *settings)
{
    struct error err = {0};
    struct push_target *target = push_target_new(settings, p->host, &err);
    struct push_message *wake = calloc(1, sizeof *wake);
    if (!target || !wake) {
        sender_log(p, LOG_ERROR, "push %s: its settings stay as they were: %s", p->name, target ? "out of memory" : err.text);
        push_target_free(target);
        free(wake);
        return;
    }
    pthread_mutex_lock(&p->lock);
    struct push_target *old = p->next;
    p->next = target;
    pthread_mutex_unlock(&p->lock);
    push_target_free(old);
    wake->empty = true;
    mailbox_put(p->mail, wake);
}

void push_sender_retire(struct push_sender *p)
{
    atomic_store(&p->stop, true);
    mailbox_close(p->mail);
}

bool push_sender_has_ended(struct push_sender *p)
{
    return atomic_load(&p->ended);
}

const char *push_sender_name(const struct push_sender *p)
{
    return p->name;
}

void push_sender_give(struct push_sender *p, struct str text, struct wall at)
{
    struct push_message *l = calloc(1, sizeof *l);
    if (l && push_scrape_init(&l->scrape, text, at) == 0)
        mailbox_put(p->mail, l);
    else
        free(l);
}

void push_sender_stats(struct push_sender *p, struct push_stats *ret)
{
    pthread_mutex_lock(&p->lock);
    *ret = p->stats;
    pthread_mutex_unlock(&p->lock);
}

void push_sender_free(struct push_sender *p)
{
    if (!p)
        return;
    if (p->runs) {
        push_sender_retire(p);
        for (int i = 0; i < LAST_CHANCE_MS / POLL_MS && !atomic_load(&p->ended); i++)
            usleep(POLL_MS * 1000);
        atomic_store(&p->give_up, true); /* the request in progress stays in the queue */
        pthread_join(p->thread, NULL);
    }
    push_target_free(p->next);
    push_target_free(p->target);
    push_scrape_done(&p->before);
    push_queue_free(p->queue);
    mailbox_free(p->mail);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
