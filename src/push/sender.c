/* SPDX-License-Identifier: Apache-2.0
 * Sends the queue in order. 2xx: sent. 429 and 5xx, or nobody there: again later, as Retry-After says or with growing pauses. Other
 * answers are a no for good: the request is dropped and counted, and the next one has its chance. Who does not know remote
 * write 2.0 says so with 415, or with a success that does not say how many samples were written: it gets 1.0 from then on.
 */
#include "push/sender.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mailbox.h"
#include "net/http.h"
#include "push/push.h"

enum {
    LETTERS_MAX = 16,
    PAUSE_FIRST_MS = 1000,
    PAUSE_MOST_MS = 60000,
    LAST_CHANCE_MS = 1000,
    LOOK_MS = 20,
    HEADERS_MAX = 20,
    HEADER_SIZE = 4096
};

struct push_letter {
    struct push_scrape scrape;
    bool empty; /* only to be woken */
};

/* Where to, and how: what [push.NAME] says. */
struct push_target {
    char url[2048], job[128], instance[128];
    enum push_kind kind;
    size_t batch;
    int64_t timeout_ms, queue_bytes;
    char header_text[HEADERS_MAX][HEADER_SIZE];
    size_t header_count;
};

struct push_sender {
    struct push_setup setup;
    char name[PUSH_NAME_SIZE], host[128];
    struct mailbox *mail;
    _Atomic bool stop, give_up, ended;
    pthread_t thread;
    bool runs;
    /* The thread's own */
    struct push_target target;
    struct push_queue *queue;
    struct push_scrape before;
    struct wall last_at;
    struct mono not_before;
    uint32_t failures;
    uint64_t seed;
    bool disk_fails;
    bool took_2, only_1; /* the other side has taken a request of 2.0; it knows 1.0 alone */
    /* For others to look at */
    pthread_mutex_t lock;
    struct push_stats stats;
    struct push_target *next; /* from now on; NULL: nothing has changed */
};

static void drop_letter(void *item)
{
    struct push_letter *l = item;
    push_scrape_done(&l->scrape);
    free(l);
}

#define say(p, level, ...) log_say((p)->setup.say, (p)->setup.user, level, __VA_ARGS__)

static void publish(struct push_sender *p)
{
    pthread_mutex_lock(&p->lock);
    push_queue_get(p->queue, &p->stats.queue);
    p->stats.lost_samples = p->stats.queue.lost_samples;
    p->stats.failing = p->failures > 0;
    pthread_mutex_unlock(&p->lock);
}

/* ---- into the queue ---- */

static void encode(struct push_sender *p, const struct push_line *lines, size_t count, struct wall at)
{
    const struct push_identity who = {p->target.job, p->target.instance, p->host, p->setup.started};
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
    struct error err = {0};
    switch (p->target.kind == PUSH_WRITE_2 && p->only_1 ? PUSH_WRITE_1 : p->target.kind) {
    case PUSH_WRITE_1: push_remote_write(&plain, lines, count, at, &who); break;
    case PUSH_WRITE_2: push_remote_write_2(&plain, lines, count, at, &who); break;
    case PUSH_OTLP_JSON: push_otlp(&body, lines, count, at, &who); break;
    case PUSH_OTLP_PROTOBUF: push_otlp_protobuf(&body, lines, count, at, &who); break;
    }
    if (p->target.kind == PUSH_WRITE_1 || p->target.kind == PUSH_WRITE_2)
        push_snappy(&body, buf_view(&plain));
    if (plain.failed || body.failed) {
        say(p, LOG_ERROR, "push %s: out of memory, %zu samples dropped", p->name, count);
        return;
    }
    int rc = push_queue_put(p->queue, buf_view(&body), (uint32_t)count, &err);
    if (rc < 0 && !p->disk_fails)
        say(p, LOG_WARNING, "push %s: the last %d requests wait in memory and will not survive a restart: %s", p->name,
            PUSH_MEMORY_MAX, err.text);
    if (rc == 0 && p->disk_fails)
        say(p, LOG_INFO, "push %s: its queue can be written again", p->name);
    p->disk_fails = rc < 0;
}

static void take_scrape(struct push_sender *p, struct push_scrape *now)
{
    now->at = push_time(now->at, p->last_at);
    p->last_at = now->at;
    size_t count = now->count;
    if (push_mark_stale(now, &p->before) < 0)
        say(p, LOG_WARNING, "push %s: out of memory, series that ended are not marked", p->name);
    for (size_t i = 0; i < now->count; i += p->target.batch)
        encode(p, now->lines + i, MIN_OF(p->target.batch, now->count - i), now->at);
    now->count = count; /* views of the ended ones point into the text that goes now */
    push_scrape_done(&p->before);
    p->before = *now;
    *now = (struct push_scrape){0};
}

/* Series that nobody continues are marked as ended: graphs stop at once instead of five minutes later. */
static void mark_the_end(struct push_sender *p)
{
    struct push_scrape end = {.at = clock_wall(p->setup.env->clock)};
    if (p->before.count)
        take_scrape(p, &end);
}

/* ---- out of the queue ---- */

enum push_outcome { SENT, REFUSED, LATER, CANCELLED };

static enum push_outcome judge(int status)
{
    if (status >= 200 && status < 300)
        return SENT;
    if (status == -ECANCELED)
        return CANCELLED;
    return status < 0 || status == 429 || status >= 500 || status == 408 ? LATER : REFUSED;
}

/* xorshift: only so that many hosts do not ask a server at the same moment. */
static uint32_t dice(struct push_sender *p)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return (uint32_t)(p->seed >> 32);
}

static int64_t pause_after(struct push_sender *p, int64_t asked_ms)
{
    int64_t pause = PAUSE_FIRST_MS;
    for (uint32_t i = 1; i < p->failures && pause < PAUSE_MOST_MS; i++)
        pause *= 2;
    pause = MIN_OF(pause, (int64_t)PAUSE_MOST_MS);
    pause -= pause * (dice(p) % 250) / 1000;
    return MAX_OF(pause, asked_ms);
}

/* A request as it waits in the queue. */
struct push_request {
    struct buf body;
    enum push_kind kind;
    uint32_t samples;
};

/* What waits as 2.0 for somebody who only knows 1.0 is written anew. */
static int prepare(const struct push_sender *p, struct push_request *r)
{
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    AUTO_BUF struct buf old = BUF(PUSH_BODY_MAX);
    r->kind = push_kind_of(buf_view(&r->body));
    if (r->kind != PUSH_WRITE_2 || !p->only_1)
        return 0;
    int rc = push_unsnappy(&plain, buf_view(&r->body));
    if (rc == 0)
        rc = push_back_to_1(&old, buf_view(&plain));
    if (rc < 0)
        return rc;
    r->kind = PUSH_WRITE_1;
    r->body.len = 0;
    push_snappy(&r->body, buf_view(&old));
    return r->body.failed ? -ENOMEM : 0;
}

static int post(struct push_sender *p, const struct push_request *r, struct buf *answer, struct buf *reply_headers,
                int64_t *retry_after_ms, struct error *err)
{
    static const struct {
        const char *type, *encoding, *version;
    } kinds[] = {
        [PUSH_WRITE_1] = {"application/x-protobuf", "Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0"},
        [PUSH_WRITE_2] = {"application/x-protobuf;proto=io.prometheus.write.v2.Request", "Content-Encoding: snappy",
                          "X-Prometheus-Remote-Write-Version: 2.0.0"},
        [PUSH_OTLP_JSON] = {"application/json", NULL, NULL},
        [PUSH_OTLP_PROTOBUF] = {"application/x-protobuf", NULL, NULL},
    };
    const char *headers[HEADERS_MAX + 3] = {0};
    size_t count = 0;
    if (kinds[r->kind].encoding) {
        headers[count++] = kinds[r->kind].encoding;
        headers[count++] = kinds[r->kind].version;
    }
    for (size_t i = 0; i < p->target.header_count; i++)
        headers[count++] = p->target.header_text[i];
    const struct http_request request = {.method = "POST",
                                         .url = p->target.url,
                                         .body = buf_view(&r->body).at,
                                         .body_len = r->body.len,
                                         .content_type = kinds[r->kind].type,
                                         .headers = headers,
                                         .timeout_ms = p->target.timeout_ms,
                                         .secret_url = true,
                                         .reply_headers = reply_headers,
                                         .retry_after_ms = retry_after_ms,
                                         .cancel = &p->give_up};
    return http_call(p->setup.env, &request, answer, err);
}

/* Whether the answer to a request of 2.0 is that of somebody who only knows 1.0: such a one cannot read it (400), says so (415), or
 * takes it for an empty request of 1.0. */
static bool knows_only_1(const struct push_sender *p, const struct push_request *r, int status, const struct buf *reply_headers)
{
    if (r->kind != PUSH_WRITE_2)
        return false;
    if (status >= 200 && status < 300)
        return !strcasestr(reply_headers->len ? reply_headers->at : "", "X-Prometheus-Remote-Write-Samples-Written:");
    return status == 415 || (status == 400 && !p->took_2);
}

/* What the other side said, in one line. */
static void explain(int status, const struct buf *answer, const struct error *err, char *text, size_t size)
{
    char said[160];
    str_copy_clean(said, sizeof said, str_trim(buf_view(answer)));
    if (status < 0)
        snprintf(text, size, "%s", err->text);
    else
        snprintf(text, size, "answered %d%s%s", status, said[0] ? ": " : "", said);
}

static void settle(struct push_sender *p, enum push_outcome outcome, uint32_t samples, const char *error, int64_t pause_ms)
{
    pthread_mutex_lock(&p->lock);
    struct push_stats *s = &p->stats;
    s->requests++;
    s->failures += outcome != SENT;
    s->sent_samples += outcome == SENT ? samples : 0;
    s->refused_samples += outcome == REFUSED ? samples : 0;
    if (outcome == SENT)
        s->last_sent_at = clock_wall(p->setup.env->clock);
    str_copy(s->last_error, sizeof s->last_error, str_from(outcome == SENT ? "" : error));
    pthread_mutex_unlock(&p->lock);
    if (outcome == SENT && p->failures)
        say(p, LOG_INFO, "push %s: the other side can be reached again", p->name);
    if (outcome == REFUSED)
        say(p, LOG_ERROR, "push %s: %u samples refused and dropped: %s", p->name, samples, error);
    if (outcome == LATER && p->failures == 1)
        say(p, LOG_WARNING, "push %s: cannot send, retrying in %.1f s: %s", p->name, (double)pause_ms / MS_PER_S, error);
}

static void cleanup_request(struct push_request *r)
{
    buf_done(&r->body);
}

/* True: the next one may be tried at once. */
static bool send_first(struct push_sender *p)
{
    struct push_request request __attribute__((cleanup(cleanup_request))) = {.body = BUF(PUSH_BODY_MAX)};
    AUTO_BUF struct buf answer = BUF(64 << 10);
    AUTO_BUF struct buf reply_headers = BUF(64 << 10);
    struct error err = {0};
    char text[PUSH_ERROR_SIZE];
    int64_t retry_after_ms = 0, pause_ms = 0;
    if (!push_queue_first(p->queue, &request.body, &request.samples))
        return false;
    int status = prepare(p, &request);
    if (status < 0) {
        error_set(&err, status, "this request cannot be read: %s", strerror(-status));
        status = 400; /* nobody will ever take it */
    } else
        status = post(p, &request, &answer, &reply_headers, &retry_after_ms, &err);
    if (knows_only_1(p, &request, status, &reply_headers)) {
        p->only_1 = true;
        say(p, LOG_WARNING, "push %s: the other side does not know remote write 2.0, sending 1.0", p->name);
        return true; /* the same one, now */
    }
    enum push_outcome outcome = judge(status);
    if (outcome == CANCELLED)
        return false;
    p->took_2 |= outcome == SENT && request.kind == PUSH_WRITE_2;
    explain(status, &answer, &err, text, sizeof text);
    if (outcome == LATER) {
        p->failures++;
        pause_ms = pause_after(p, retry_after_ms);
        p->not_before = (struct mono){clock_mono(p->setup.env->clock).ns + pause_ms * NS_PER_MS};
    } else {
        push_queue_drop_first(p->queue);
    }
    settle(p, outcome, request.samples, text, pause_ms);
    if (outcome != LATER)
        p->failures = 0;
    publish(p);
    return outcome != LATER;
}

static int64_t until_due_ms(const struct push_sender *p)
{
    struct push_queue_state state;
    push_queue_get(p->queue, &state);
    if (!state.requests)
        return -1;
    int64_t left = p->not_before.ns - clock_mono(p->setup.env->clock).ns;
    return left <= 0 ? 0 : left / NS_PER_MS + 1;
}

/* New settings are for what comes now, and for what waits: it goes to the new place. A series under another job or instance is
 * another series, and the old one has ended. */
static void take_target(struct push_sender *p)
{
    pthread_mutex_lock(&p->lock);
    AUTO_FREE struct push_target *next = p->next;
    p->next = NULL;
    pthread_mutex_unlock(&p->lock);
    if (!next)
        return;
    if (strcmp(next->job, p->target.job) != 0 || strcmp(next->instance, p->target.instance) != 0)
        mark_the_end(p);
    if (strcmp(next->url, p->target.url) != 0 || next->kind != p->target.kind) {
        p->took_2 = p->only_1 = false;
        p->not_before = (struct mono){0};
    }
    p->target = *next;
    push_queue_set_most(p->queue, next->queue_bytes);
}

static void take_mail(struct push_sender *p, int64_t wait_ms)
{
    struct push_letter *l = mailbox_take(p->mail, wait_ms);
    take_target(p);
    while (l) {
        if (!l->empty)
            take_scrape(p, &l->scrape);
        drop_letter(l);
        l = mailbox_take(p->mail, 0);
    }
    publish(p);
}

static void *live(void *arg)
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
    while (!p->failures && !atomic_load(&p->give_up) && clock_mono(p->setup.env->clock).ns < end.ns && send_first(p))
        ;
    atomic_store(&p->ended, true);
    return NULL;
}

/* ---- from outside ---- */

#define TOO_LONG "push '%s' has a URL of more than %zu bytes, more than %d headers, or one of more than %d bytes"

static enum push_kind kind_of(enum config_push_protocol protocol)
{
    switch (protocol) {
    case CONFIG_PUSH_REMOTE_WRITE: return PUSH_WRITE_1;
    case CONFIG_PUSH_REMOTE_WRITE_2: return PUSH_WRITE_2;
    case CONFIG_PUSH_OTLP: return PUSH_OTLP_JSON;
    case CONFIG_PUSH_OTLP_PROTOBUF: return PUSH_OTLP_PROTOBUF;
    }
    return PUSH_WRITE_1;
}

/* What is cut is another address, or another secret: better none at all. */
static bool set_target(struct push_target *to, const struct config_push *settings, const char *host)
{
    *to = (struct push_target){.kind = kind_of(settings->protocol),
                               .batch = (size_t)settings->batch,
                               .timeout_ms = settings->timeout_ms,
                               .queue_bytes = settings->queue_bytes};
    str_copy(to->url, sizeof to->url, str_from(settings->url));
    str_copy(to->job, sizeof to->job, str_from(settings->job));
    str_copy(to->instance, sizeof to->instance, str_from(settings->instance[0] ? settings->instance : host));
    bool fits = strlen(settings->url) < sizeof to->url && settings->headers.count <= HEADERS_MAX;
    for (size_t i = 0; fits && i < settings->headers.count; i++)
        fits = snprintf(to->header_text[to->header_count++], HEADER_SIZE, "%s: %s", settings->headers.pairs[i].key,
                        settings->headers.pairs[i].value) < HEADER_SIZE;
    return fits;
}

static void set_folder(const struct push_sender *p, char *path, size_t size)
{
    char file[PUSH_NAME_SIZE];
    str_copy(file, sizeof file, str_from(p->name));
    for (char *c = file; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            *c = '_';
    snprintf(path, size, "%s/%s", p->setup.folder, file);
}

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
    if (!set_target(&p->target, settings, p->host)) {
        error_set(err, -E2BIG, TOO_LONG, p->name, sizeof p->target.url - 1, HEADERS_MAX, HEADER_SIZE - 1);
        push_sender_free(p);
        return NULL;
    }
    p->seed = ((uint64_t)clock_mono(&clock_system).ns ^ (uint64_t)(uintptr_t)p) | 1;
    if (setup->folder)
        set_folder(p, folder, sizeof folder);
    p->mail = mailbox_new(LETTERS_MAX, drop_letter);
    p->queue = push_queue_new(setup->folder ? folder : NULL, settings->queue_bytes);
    if (p->mail && p->queue) {
        publish(p);
        p->runs = pthread_create(&p->thread, NULL, live, p) == 0;
    }
    if (p->runs)
        return p;
    error_set(err, -EAGAIN, "no memory or threads for push '%s'", p->name);
    push_sender_free(p);
    return NULL;
}

void push_sender_change(struct push_sender *p, const struct config_push *settings)
{
    struct push_target *target = malloc(sizeof *target);
    struct push_letter *wake = calloc(1, sizeof *wake);
    if (!target || !wake) {
        say(p, LOG_ERROR, "push %s: out of memory, its settings stay as they were", p->name);
        free(target);
        free(wake);
        return;
    }
    if (!set_target(target, settings, p->host)) {
        say(p, LOG_ERROR, TOO_LONG "; its settings stay as they were", p->name, sizeof target->url - 1, HEADERS_MAX,
            HEADER_SIZE - 1);
        free(target);
        free(wake);
        return;
    }
    pthread_mutex_lock(&p->lock);
    struct push_target *old = p->next;
    p->next = target;
    pthread_mutex_unlock(&p->lock);
    free(old);
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
    struct push_letter *l = calloc(1, sizeof *l);
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
        atomic_store(&p->stop, true);
        mailbox_close(p->mail);
        for (int i = 0; i < LAST_CHANCE_MS / LOOK_MS && !atomic_load(&p->ended); i++)
            usleep(LOOK_MS * 1000);
        atomic_store(&p->give_up, true); /* what is under way stays in the queue */
        pthread_join(p->thread, NULL);
    }
    free(p->next);
    push_scrape_done(&p->before);
    push_queue_free(p->queue);
    mailbox_free(p->mail);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
