/* SPDX-License-Identifier: Apache-2.0
 * Notifiers and the service that owns them and passes notices to them. A notifier's thread receives notices, saves its queue to
 * disk and sends what is due.
 */
#include "alert/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert/notify/send.h"
#include "base/cleanup.h"
#include "base/keep.h"
#include "base/mailbox.h"
#include "base/os/shared.h"

/* ---- a notifier: a thread with the queue of one target ---- */

enum { MESSAGES_MAX = 256, NOTIFIER_PATH_SIZE = 4224 };

struct notifier_service {
    struct notifier_options options;
    char folder[NOTIFIER_PATH_SIZE];
    struct notifier *list[NOTIFIERS_MAX];
    size_t count;
    struct notifier *leaving[NOTIFIERS_MAX]; /* removed by a reload; their threads may still be busy */
    size_t leaving_count;
};

/* A message in the mailbox: exactly one of these. */
enum roll { ROLL_NONE, ROLL_BEGINS, ROLL_ENDS };
struct notifier_message {
    struct alert_notice *notice;
    struct notify_target *target; /* new settings */
    struct home_view *view;
    enum roll roll;
};

struct notifier {
    const struct notifier_service *service;
    const struct env *env;
    char name[NOTICE_NOTIFIER_SIZE], path[NOTIFIER_PATH_SIZE];
    struct mailbox *mail;
    _Atomic bool stop;
    pthread_t thread;
    bool runs;
    /* Owned by the thread */
    struct notify_target *target;
    struct outbox outbox;
    bool keeping_fails;
    bool rolling;
    uint64_t lost_before_roll; /* messages dropped before the roll call; one with gaps proves nothing */
    struct home_view *view;    /* the last one; NULL: none came */
    bool view_is_new, showing_fails;
    struct mono last_used; /* when the open connection was last used */
    /* Owned by the calling thread */
    int64_t view_every_ms; /* 0: never */
    struct mono last_view;
    /* Shared, under the lock */
    pthread_mutex_t lock;
    struct notifier_stats stats;
};

static void drop_message(void *item)
{
    struct notifier_message *l = item;
    free(l->notice);
    notify_target_free(l->target);
    home_view_free(l->view);
    free(l);
}

#define notifier_log(n, level, ...) log_through((n)->service->options.say, (n)->service->options.user, level, __VA_ARGS__)

/* ---- on disk ---- */

static void thread_load(struct notifier *n)
{
    AUTO_BUF struct buf text = BUF(OUTBOX_FILE_MAX);
    struct error err = {0};
    const struct clock *clock = n->env->clock;
    int rc = n->path[0] ? keep_read(n->path, &text, &err) : -ENOENT;
    if (rc == 0)
        rc = outbox_read(&n->outbox, buf_view(&text), clock_mono(clock), clock_wall(clock), &err);
    if (rc == -EINVAL || rc == -EFBIG) {
        struct error moved = {0};
        keep_aside(n->path, &moved);
        notifier_log(n, LOG_WARNING, "notifier %s: its queue '%s' was damaged and is now '%s.damaged'; starting a new one", n->name,
                     n->path, n->path);
    } else if (rc < 0 && rc != -ENOENT) {
        notifier_log(n, LOG_WARNING, "notifier %s: its queue cannot be read: %s", n->name, err.text);
    }
    n->outbox.changed = false;
}

static void save(struct notifier *n)
{
    struct outbox *o = &n->outbox;
    if (!n->path[0] || !o->changed)
        return;
    o->changed = false;
    AUTO_BUF struct buf text = BUF(OUTBOX_FILE_MAX);
    struct error err = {0};
    outbox_write(o, n->name, &text);
    int rc = buf_check(&text, &err, "it is too large");
    if (rc == 0)
        rc = keep_write(n->path, buf_view(&text), &err);
    if (rc < 0 && !n->keeping_fails)
        notifier_log(n, LOG_WARNING, "notifier %s: its queue will not survive a restart: %s", n->name, err.text);
    n->keeping_fails = rc < 0;
}

/* ---- statistics ---- */

static void publish(struct notifier *n, enum notifier_state state)
{
    const struct outbox *o = &n->outbox;
    pthread_mutex_lock(&n->lock);
    struct notifier_stats *s = &n->stats;
    s->state = state;
    s->type = notify_type_name(n->target->type);
    str_copy(s->target, sizeof s->target, str_from(n->target->shown));
    s->queued = o->count;
    s->held = outbox_held(o, clock_wall(n->env->clock), &s->held_until);
    str_copy(s->quiet, sizeof s->quiet, str_from(n->target->quiet_text));
    str_copy(s->digest, sizeof s->digest, str_from(n->target->digest_text));
    s->failed_total = o->given_up + mailbox_dropped(n->mail);
    s->last_sent_at = o->last_sent_at;
    s->next_try_at = (struct wall){0};
    if (o->retry.failures) {
        int64_t left = mono_since_ms(o->retry.not_before, clock_mono(n->env->clock));
        s->next_try_at.ms = clock_wall(n->env->clock).ms + MAX_OF(left, (int64_t)0);
    }
    pthread_mutex_unlock(&n->lock);
}

static void publish_attempt(struct notifier *n, const struct notify_attempt *a, size_t notices)
{
    pthread_mutex_lock(&n->lock);
    n->stats.attempts_total++;
    n->stats.queued = n->outbox.count; /* set together so that readers see consistent figures */
    n->stats.errors_total += a->result != OUTBOX_SENT;
    n->stats.sent_total += a->result == OUTBOX_SENT ? notices : 0;
    str_copy(n->stats.last_error, sizeof n->stats.last_error, str_from(a->error));
    pthread_mutex_unlock(&n->lock);
}

static void notifier_get_stats(struct notifier *n, struct notifier_stats *ret)
{
    pthread_mutex_lock(&n->lock);
    *ret = n->stats;
    pthread_mutex_unlock(&n->lock);
}

/* ---- sending ---- */

/* Logs the first failure only: one line per outage, not per attempt. */
static void log_outcome(struct notifier *n, const struct notify_attempt *a, uint32_t failures_before, uint64_t given_up_before,
                        int64_t pause_ms)
{
    uint64_t given_up = n->outbox.given_up - given_up_before;
    if (a->result == OUTBOX_SENT && failures_before)
        notifier_log(n, LOG_INFO, "notifier %s: %s can be reached again", n->name, n->target->shown);
    if (given_up)
        notifier_log(n, LOG_ERROR, "notifier %s: %llu notification%s dropped: %s", n->name, (unsigned long long)given_up,
                     given_up == 1 ? "" : "s", a->error);
    else if (a->result != OUTBOX_SENT && !failures_before)
        notifier_log(n, LOG_WARNING, "notifier %s: cannot reach %s, retrying in %.1f s: %s", n->name, n->target->shown,
                     (double)pause_ms / MS_PER_S, a->error);
}

static void send_due(struct notifier *n)
{
    static _Thread_local struct outbox_batch batch; /* too large for the stack */
    const struct clock *clock = n->env->clock;
    while (!atomic_load(&n->stop) && outbox_take(&n->outbox, clock_mono(clock), clock_wall(clock), &batch)) {
        const struct notice_group group = {batch.list, batch.count};
        uint32_t failures = n->outbox.retry.failures;
        uint64_t given_up = n->outbox.given_up;
        struct notify_attempt attempt;
        publish(n, NOTIFIER_SENDING);
        notify_attempt(n->env, n->target, &group, clock_wall(clock), &n->stop, &attempt);
        if (attempt.result == OUTBOX_CANCELLED)
            return;
        int64_t pause_ms =
            outbox_settle(&n->outbox, &batch, attempt.result, attempt.pause_ms, clock_mono(clock), clock_wall(clock));
        save(n); /* save before it is shown as sent: a reader may stop us then, and it must not be sent twice */
        publish_attempt(n, &attempt, batch.taken);
        log_outcome(n, &attempt, failures, given_up, pause_ms);
        n->last_used = clock_mono(clock);
        n->view_is_new |= n->view != NULL; /* the view includes the number of firing alerts */
    }
}

/* ---- open connections ---- */

/* Don't queue a state that can't be sent: the next one is newer. Logs one line per outage. */
static void show_view(struct notifier *n)
{
    struct error err = {0};
    if (!n->view || !n->view_is_new || atomic_load(&n->stop))
        return;
    n->view_is_new = false;
    int rc = broker_show(n->env, n->target, n->view, n->outbox.sent_count, &n->stop, &err);
    n->last_used = clock_mono(n->env->clock);
    if (rc == -ECANCELED)
        return;
    if (rc < 0 && !n->showing_fails)
        notifier_log(n, LOG_WARNING, "notifier %s: cannot show the state at %s, retrying: %s", n->name, n->target->shown, err.text);
    if (rc == 0 && n->showing_fails)
        notifier_log(n, LOG_INFO, "notifier %s: %s can be reached again", n->name, n->target->shown);
    if ((rc < 0) != n->showing_fails || rc < 0) {
        pthread_mutex_lock(&n->lock);
        str_copy(n->stats.last_error, sizeof n->stats.last_error, str_from(rc < 0 ? err.text : ""));
        pthread_mutex_unlock(&n->lock);
    }
    n->showing_fails = rc < 0;
}

static int64_t until_ping_ms(const struct notifier *n)
{
    int64_t idle = mono_since_ms(clock_mono(n->env->clock), n->last_used);
    return n->target->broker ? MAX_OF(MQTT_KEEP_ALIVE_S * MS_PER_S / 2 - idle, (int64_t)0) : -1;
}

static void keep_alive(struct notifier *n)
{
    struct error err = {0};
    if (until_ping_ms(n) != 0)
        return;
    broker_keep_alive(n->target, &err); /* a broken connection is reopened with the next message */
    n->last_used = clock_mono(n->env->clock);
}

/* Waits for the next message, and handles clicks on notifications meanwhile. */
static struct notifier_message *wait_for_message(struct notifier *n, int64_t wait)
{
    int64_t ping = until_ping_ms(n);
    if (ping >= 0 && (wait < 0 || ping < wait))
        wait = ping;
    if (n->target->desktop && wait != 0) {
        struct pollfd fds[] = {{.fd = mailbox_fd(n->mail), .events = POLLIN},
                               {.fd = desktop_fd(n->target->desktop), .events = POLLIN}};
        int64_t max = mailbox_closed(n->mail) ? 0 : 1000; /* closing the mailbox does not wake the descriptor */
        if (poll(fds, 2, (int)(wait < 0 ? max : MIN_OF(wait, max))) > 0 && fds[1].revents)
            desktop_listen(n->target->desktop);
        wait = 0;
    }
    return mailbox_take(n->mail, wait);
}

static void open_message(struct notifier *n, struct notifier_message *l)
{
    const struct clock *clock = n->env->clock;
    if (l->notice)
        outbox_put(&n->outbox, l->notice, clock_mono(clock), clock_wall(clock));
    if (l->roll == ROLL_BEGINS) {
        outbox_roll_begin(&n->outbox);
        n->rolling = true;
        n->lost_before_roll = mailbox_dropped(n->mail);
    }
    if (l->roll == ROLL_ENDS && n->rolling && mailbox_dropped(n->mail) == n->lost_before_roll)
        outbox_roll_end(&n->outbox, clock_mono(clock), clock_wall(clock));
    n->rolling &= l->roll != ROLL_ENDS;
    if (l->view) {
        home_view_free(n->view);
        n->view = TAKE(l->view);
        n->view_is_new = true;
    }
    if (l->target) {
        notify_target_free(n->target);
        n->target = TAKE(l->target);
        n->outbox.rules = n->target->rules;
        n->outbox.retry.not_before = (struct mono){0}; /* try new settings at once */
    }
    drop_message(l);
}

static int64_t until_due_ms(const struct notifier *n)
{
    const struct clock *clock = n->env->clock;
    struct mono due = outbox_due(&n->outbox, clock_mono(clock), clock_wall(clock));
    if (due.ns == INT64_MAX)
        return -1;
    int64_t left = due.ns - clock_mono(n->env->clock).ns;
    return left <= 0 ? 0 : left / NS_PER_MS + 1;
}

static void *thread_main(void *arg)
{
    struct notifier *n = arg;
    for (;;) {
        send_due(n);
        show_view(n);
        keep_alive(n);
        enum notifier_state state = n->outbox.retry.failures ? NOTIFIER_RETRYING
                                    : n->outbox.count        ? NOTIFIER_WAITING
                                                             : NOTIFIER_IDLE;
        publish(n, state);
        int64_t wait = until_due_ms(n);
        struct notifier_message *l = wait_for_message(n, wait); /* once closed, it drains: the rest only goes to disk */
        while (l) {
            open_message(n, l);
            l = mailbox_take(n->mail, 0);
        }
        save(n);
        if (atomic_load(&n->stop))
            return NULL;
    }
}

/* ---- called by the service ---- */

/* Asks the thread to end, and cancels the current attempt. */
static void notifier_stop(struct notifier *n)
{
    atomic_store(&n->stop, true);
    mailbox_close(n->mail);
}

/* Joins the thread. */
static void notifier_free(struct notifier *n)
{
    if (n->runs) {
        notifier_stop(n);
        pthread_join(n->thread, NULL);
    }
    outbox_done(&n->outbox);
    home_view_free(n->view);
    notify_target_free(n->target);
    mailbox_free(n->mail);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

/* Loads its queue and starts its thread. */
static struct notifier *notifier_new(const struct notifier_service *service, const struct config_notify *settings,
                                     struct error *err)
{
    struct notifier *n = calloc(1, sizeof *n);
    if (!n) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    n->service = service;
    n->env = service->options.env;
    pthread_mutex_init(&n->lock, NULL);
    str_copy(n->name, sizeof n->name, str_from(settings->entry.name));
    str_copy(n->stats.name, sizeof n->stats.name, str_from(n->name));
    n->outbox.retry.seed = retry_seed(n);
    n->mail = mailbox_new(MESSAGES_MAX, drop_message);
    n->target = notify_target_new(settings);
    n->view_every_ms = settings->type == CONFIG_NOTIFY_MQTT ? settings->state_interval_ms : 0;
    if (n->mail && n->target) {
        n->outbox.rules = n->target->rules;
        if (service->folder[0])
            keep_path(service->folder, n->name, ".json", n->path, sizeof n->path);
        thread_load(n);
        publish(n, n->outbox.count ? NOTIFIER_WAITING : NOTIFIER_IDLE);
        n->runs = pthread_create(&n->thread, NULL, thread_main, n) == 0;
    }
    if (n->runs)
        return n;
    error_set(err, -EAGAIN, "no memory or threads for notifier '%s'", n->name);
    notifier_free(n);
    return NULL;
}

static void post_message(struct notifier *n, struct notifier_message message)
{
    struct notifier_message *l = malloc(sizeof *l);
    if (l) {
        *l = message;
        mailbox_put(n->mail, l);
        return;
    }
    free(message.notice);
    notify_target_free(message.target);
    home_view_free(message.view);
}

/* Both are called from the service's thread. */
static bool notifier_wants_view(const struct notifier *n, struct mono now)
{
    return n->view_every_ms && (!n->last_view.ns || mono_since_ms(now, n->last_view) >= n->view_every_ms);
}

static void notifier_show(struct notifier *n, const struct home_view *view, struct mono now)
{
    size_t size = sizeof *view + view->snapshot->gpu_count * sizeof view->gpu_why[0];
    struct home_view *copy = malloc(size);
    if (!copy)
        return;
    memcpy(copy, view, size);
    copy->snapshot = snapshot_ref(view->snapshot);
    n->last_view = now;
    post_message(n, (struct notifier_message){.view = copy});
}

static void notifier_put(struct notifier *n, const struct alert_notice *notice)
{
    struct alert_notice *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *notice;
    post_message(n, (struct notifier_message){.notice = copy});
}

/* See outbox_roll_begin(). */
static void notifier_roll(struct notifier *n, bool begins)
{
    post_message(n, (struct notifier_message){.roll = begins ? ROLL_BEGINS : ROLL_ENDS});
}

/* Applies new settings for the same name. */
static int notifier_change(struct notifier *n, const struct config_notify *settings, struct error *err)
{
    struct notify_target *target = notify_target_new(settings);
    if (!target)
        return error_set(err, -ENOMEM, "out of memory");
    n->view_every_ms = settings->type == CONFIG_NOTIFY_MQTT ? settings->state_interval_ms : 0;
    n->last_view = (struct mono){0}; /* a new broker has not received it yet */
    post_message(n, (struct notifier_message){.target = target});
    return 0;
}

/* ---- the service: all notifiers ---- */

const char *notifier_state_name(enum notifier_state state)
{
    static const char *const names[] = {"idle", "waiting", "sending", "retrying"};
    return names[state];
}

static struct notifier *notifiers_find(const struct notifier_service *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->list[i]->name, name) == 0)
            return s->list[i];
    return NULL;
}

static int notifiers_add(struct notifier_service *s, const struct config_notify *settings, struct error *err)
{
    if (s->count == NOTIFIERS_MAX) {
        log_through(s->options.say, s->options.user, LOG_ERROR, "too many notifiers, the last ones are left out");
        return 0;
    }
    struct notifier *n = notifier_new(s, settings, err);
    if (!n)
        return err->code;
    s->list[s->count++] = n;
    return 0;
}

/* Without this directory queues don't survive a restart, but messages are still sent. */
static void prepare_folder(struct notifier_service *s)
{
    if (!s->options.folder || s->options.config->notify_count == 0)
        return;
    struct error err = {0};
    if (shared_dir_make(s->options.folder, 0700, &err) < 0) {
        log_through(s->options.say, s->options.user, LOG_WARNING, "queued notifications will not survive a restart: %s", err.text);
        return;
    }
    str_copy(s->folder, sizeof s->folder, str_from(s->options.folder));
}

struct notifier_service *notifier_service_new(const struct notifier_options *options, struct error *err)
{
    struct notifier_service *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    s->options = *options;
    prepare_folder(s);
    int rc = 0;
    for (size_t i = 0; i < options->config->notify_count && rc == 0; i++)
        rc = notifiers_add(s, &options->config->notify[i], err);
    s->options.config = NULL;
    s->options.folder = NULL;
    if (rc == 0)
        return s;
    notifier_service_free(s);
    return NULL;
}

void notifier_service_free(struct notifier_service *s)
{
    if (!s)
        return;
    /* Signal all of them before joining: together they take only as long as the slowest. */
    for (size_t i = 0; i < s->count; i++)
        notifier_stop(s->list[i]);
    for (size_t i = 0; i < s->count; i++)
        notifier_free(s->list[i]);
    for (size_t i = 0; i < s->leaving_count; i++)
        notifier_free(s->leaving[i]);
    free(s);
}

void notifier_service_put(struct notifier_service *s, const struct alert_notice *notice)
{
    for (size_t i = 0; i < notice->notifier_count; i++) {
        struct notifier *n = notifiers_find(s, notice->notifiers[i]);
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= strcmp(notice->notifiers[i], notice->notifiers[k]) == 0;
        if (n && !twice)
            notifier_put(n, notice);
    }
}

bool notifier_service_wants_view(const struct notifier_service *s, struct mono now)
{
    for (size_t i = 0; i < s->count; i++)
        if (notifier_wants_view(s->list[i], now))
            return true;
    return false;
}

void notifier_service_show(struct notifier_service *s, const struct home_view *view, struct mono now)
{
    for (size_t i = 0; i < s->count; i++)
        if (notifier_wants_view(s->list[i], now))
            notifier_show(s->list[i], view, now);
}

void notifier_service_roll_begin(struct notifier_service *s)
{
    for (size_t i = 0; i < s->count; i++)
        notifier_roll(s->list[i], true);
}

void notifier_service_roll_end(struct notifier_service *s)
{
    for (size_t i = 0; i < s->count; i++)
        notifier_roll(s->list[i], false);
}

static bool still_there(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->notify_count; i++)
        if (strcmp(config->notify[i].entry.name, name) == 0)
            return true;
    return false;
}

/* Removed notifiers end in their own time: a reload must not wait for a target that hangs. */
static void dismiss(struct notifier_service *s, const struct config *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct notifier *n = s->list[i];
        if (still_there(config, n->name)) {
            s->list[kept++] = n;
            continue;
        }
        notifier_stop(n);
        if (s->leaving_count == NOTIFIERS_MAX) {
            notifier_free(s->leaving[0]); /* stopped long ago */
            memmove(s->leaving, s->leaving + 1, --s->leaving_count * sizeof s->leaving[0]);
        }
        s->leaving[s->leaving_count++] = n;
    }
    s->count = kept;
}

int notifier_service_reload(struct notifier_service *s, const struct config *config, struct error *err)
{
    int rc = 0;
    dismiss(s, config);
    for (size_t i = 0; i < config->notify_count; i++) {
        struct notifier *n = notifiers_find(s, config->notify[i].entry.name);
        int one = n ? notifier_change(n, &config->notify[i], err) : notifiers_add(s, &config->notify[i], err);
        rc = rc ? rc : one;
    }
    return rc;
}

size_t notifier_service_stats(struct notifier_service *s, struct notifier_stats *stats, size_t max)
{
    for (size_t i = 0; i < MIN_OF(s->count, max); i++)
        notifier_get_stats(s->list[i], &stats[i]);
    return s->count;
}

static void try_once(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                     bool only_connect, struct notifier_result *ret)
{
    static const _Atomic bool never = false;
    *ret = (struct notifier_result){0};
    struct notify_target *target = notify_target_new(notifier);
    if (!target) {
        snprintf(ret->error, sizeof ret->error, "out of memory");
        return;
    }
    target->visit = true;
    target->only_connect = only_connect;
    const struct notice_group group = {(const struct alert_notice *const[]){notice}, 1};
    struct notify_attempt attempt;
    struct mono before = clock_mono(env->clock);
    notify_attempt(env, target, &group, clock_wall(env->clock), &never, &attempt);
    ret->took_ms = mono_since_ms(clock_mono(env->clock), before);
    ret->fine = attempt.result == OUTBOX_SENT;
    ret->status = attempt.status;
    str_copy(ret->target, sizeof ret->target, str_from(target->shown));
    str_copy(ret->answer, sizeof ret->answer, str_from(attempt.answer));
    str_copy(ret->error, sizeof ret->error, str_from(attempt.error));
    notify_target_free(target);
}

void notifier_try(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                  struct notifier_result *ret)
{
    try_once(env, notifier, notice, false, ret);
}

void notifier_reach(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                    struct notifier_result *ret)
{
    try_once(env, notifier, notice, true, ret);
}

void notifier_describe(const struct config_notify *notifier, struct notifier_stats *ret)
{
    *ret = (struct notifier_stats){.type = notify_type_name((enum config_notify_type)notifier->type)};
    struct notify_target *target = notify_target_new(notifier);
    str_copy(ret->name, sizeof ret->name, str_from(notifier->entry.name));
    str_copy(ret->target, sizeof ret->target, str_from(target ? target->shown : ""));
    str_copy(ret->quiet, sizeof ret->quiet, str_from(target ? target->quiet_text : ""));
    str_copy(ret->digest, sizeof ret->digest, str_from(target ? target->digest_text : ""));
    notify_target_free(target);
}

/* Settings that a type requires. */
static int check_account(const struct notify_target *t, size_t recipients, struct error *err)
{
    static const struct {
        enum config_notify_type type;
        const char *token, *to; /* NULL: not needed */
        size_t max;
    } needs[] = {
        {CONFIG_NOTIFY_EMAIL, NULL, "an email address, like to = \"me@example.org\"", NOTIFY_RECIPIENTS_MAX},
        {CONFIG_NOTIFY_TELEGRAM, "the token that @BotFather gave for the bot", "the ID of a chat, like to = \"123456789\"", 1},
        {CONFIG_NOTIFY_GOTIFY, "the token of a Gotify application", NULL, 0},
        {CONFIG_NOTIFY_PUSHOVER, "the token of a Pushover application", "a Pushover user or group key", 1},
        {CONFIG_NOTIFY_MATRIX, "the access token of a Matrix user", "the ID of a room, like to = \"!abc:example.org\"", 1},
    };
    const char *scheme = t->type == CONFIG_NOTIFY_EMAIL ? "smtp" : t->type == CONFIG_NOTIFY_MQTT ? "mqtt" : "http";
    size_t len = strlen(scheme);
    const char *rest = strncmp(t->url, scheme, len) == 0 ? t->url + len + (t->url[len] == 's') : "";
    if (t->url[0] && strncmp(rest, "://", 3) != 0)
        return error_set(err, -EINVAL, "its url must begin with %s:// or %ss://", scheme, scheme);
    if (t->type == CONFIG_NOTIFY_MQTT && (!t->topic[0] || strpbrk(t->topic, "+#") || strpbrk(t->discovery, "+#")))
        return error_set(err, -EINVAL, "topics must not be empty, nor hold + or #");
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        if (needs[i].type != t->type)
            continue;
        if (needs[i].token && !t->token[0])
            return error_set(err, -EINVAL, "token is missing: %s", needs[i].token);
        if (needs[i].to && (!recipients || !t->to[0][0]))
            return error_set(err, -EINVAL, "to is missing: %s", needs[i].to);
        if (recipients > needs[i].max)
            return error_set(err, -EINVAL, "it has %zu recipients in `to`; %s takes %zu", recipients, notify_type_name(t->type),
                             needs[i].max);
    }
    if (t->type == CONFIG_NOTIFY_MATRIX && t->to[0][0] != '!')
        return error_set(err, -EINVAL,
                         "`to` is not the ID of a Matrix room, which begins with ! (Element: Room settings, Advanced)");
    for (size_t i = 0; t->type == CONFIG_NOTIFY_EMAIL && t->to[i]; i++)
        if (!strchr(t->to[i], '@') || strpbrk(t->to[i], "\r\n<> "))
            return error_set(err, -EINVAL, "recipient %zu in `to` is not an email address", i + 1);
    if (strpbrk(t->from, "\r\n") || strpbrk(t->token, "\r\n /"))
        return error_set(err, -EINVAL, "%s holds a character that cannot be sent", strpbrk(t->from, "\r\n") ? "from" : "token");
    return 0;
}

int notifier_check(const struct config_notify *notifier, struct error *err)
{
    struct notify_target *target = notify_target_new(notifier);
    if (!target)
        return error_set(err, -ENOMEM, "out of memory");
    struct quiet hours;
    int rc = check_account(target, notifier->to.count, err);
    if (rc == 0)
        rc = quiet_parse(&notifier->quiet, false, &hours, err);
    if (rc == 0)
        rc = quiet_parse(&notifier->digest, true, &hours, err);
    if (rc == 0)
        rc = template_check(target->template_text, err);
    struct alert_notice example = {.gpu_index = -1};
    const struct notice_group group = {(const struct alert_notice *const[]){&example}, 1};
    struct notify_message message = {0};
    struct notify_address address;
    notify_target_address(target, &address);
    address.template_text = "";
    if (rc == 0)
        rc = notify_message(&address, &group, (struct wall){1}, &message, err);
    notify_message_done(&message);
    for (size_t i = 0; rc == 0 && i < notifier->headers.count; i++)
        if (strpbrk(notifier->headers.pairs[i].key, "\r\n: ") || strpbrk(notifier->headers.pairs[i].value, "\r\n"))
            rc = error_set(err, -EINVAL, "'%s' cannot be a header", notifier->headers.pairs[i].key);
    notify_target_free(target);
    return rc;
}
