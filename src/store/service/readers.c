/* SPDX-License-Identifier: Apache-2.0
 * The queue of questions with each client's account, and the threads that answer them, each from a connection of its own. They
 * start on demand and end when idle: a server has a limited number of connections, and connections and threads take memory.
 */
#include "store/service/service.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os/thread.h"
#include "store/service/internal.h"

/* ---- turns ---- */

static void halve(struct turns *t, struct mono now)
{
    int64_t times = mono_since_ms(now, t->halved) / USE_HALVES_MS;
    if (times <= 0)
        return;
    t->halved = now;
    for (size_t i = 0; i < TURNS_CLIENTS; i++)
        t->clients[i].used_ms = times < 32 ? t->clients[i].used_ms >> times : 0;
}

/* There are more slots than questions, so one without open questions always exists. */
static struct turns_client *client_of(struct turns *t, uint64_t id)
{
    struct turns_client *place = NULL;
    for (size_t i = 0; i < TURNS_CLIENTS; i++) {
        struct turns_client *c = &t->clients[i];
        if (c->id == id && (c->open || c->used_ms))
            return c;
        if (c->open == 0 && (!place || c->used_ms < place->used_ms))
            place = c;
    }
    *place = (struct turns_client){.id = id};
    return place;
}

static void remove_waiting(struct turns *t, struct store_question *q)
{
    struct store_question **at = &t->waiting;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->next = NULL;
    t->waiting_count--;
}

static void add_waiting(struct turns *t, struct store_question *q)
{
    q->next = t->waiting;
    t->waiting = q;
    t->waiting_count++;
}

/* The oldest question of the client with the most, if that is more than the new one's client has. */
static struct store_question *find_evictable(const struct turns *t, size_t others)
{
    struct store_question *found = NULL;
    for (struct store_question *q = t->waiting; q; q = q->next) {
        if (!q->client || q->account->open < (found ? others : others + 1))
            continue;
        others = q->account->open;
        found = q;
    }
    return found;
}

int turns_join(struct turns *t, struct store_question *q, struct mono now, struct store_question **ret_out)
{
    halve(t, now);
    *ret_out = NULL;
    struct turns_client *c = client_of(t, q->client);
    if (q->client && c->open >= QUESTIONS_OF_ONE)
        return -EDQUOT;
    if (t->open >= QUESTIONS_MAX) {
        *ret_out = find_evictable(t, c->open);
        if (!*ret_out)
            return -EBUSY;
        remove_waiting(t, *ret_out);
        turns_leave(t, *ret_out, now);
    }
    c->open++;
    t->open++;
    q->account = c;
    q->asked = now;
    q->at_length = q->is_running = false;
    q->is_long = q->once;
    add_waiting(t, q);
    return 0;
}

/* A question that nothing waits for is answered at once: it costs nothing and frees its place. */
static bool is_over(const struct store_question *q, struct mono now)
{
    return q->canceled || turns_too_late(q, now);
}

static bool has_room_at_length(const struct turns *t, const struct store_question *q)
{
    return t->at_length < READERS_MAX - 1 && (!q->client || q->account->at_length < LONG_OF_ONE);
}

/* Little use counts as none: otherwise a caller that asked once would queue behind all newcomers. */
static int64_t notable_use(const struct turns_client *c)
{
    return c->used_ms / USE_NOTABLE_MS + (int64_t)c->running;
}

struct store_question *turns_next(struct turns *t, struct mono now)
{
    struct store_question *found = NULL;
    int64_t min_used = INT64_MAX;
    halve(t, now);
    for (struct store_question *q = t->waiting; q && min_used >= 0; q = q->next) {
        int64_t used = is_over(q, now) ? -1 : notable_use(q->account);
        /* Among equals, the newest: the client of an old one is more likely to have given up. */
        if (used < min_used && (used < 0 || !q->is_long || has_room_at_length(t, q))) {
            min_used = used;
            found = q;
        }
    }
    if (!found)
        return NULL;
    remove_waiting(t, found);
    found->is_running = true;
    found->begun = now;
    found->at_length = min_used >= 0 && has_room_at_length(t, found);
    found->account->running++;
    found->account->at_length += found->at_length;
    t->at_length += found->at_length;
    return found;
}

static void stop(struct turns *t, struct store_question *q, struct mono now)
{
    if (q->is_running)
        q->account->used_ms += MAX_OF(mono_since_ms(now, q->begun), (int64_t)0);
    q->account->running -= q->is_running;
    q->account->at_length -= q->at_length;
    t->at_length -= q->at_length;
    q->is_running = q->at_length = false;
}

void turns_again(struct turns *t, struct store_question *q, struct mono now)
{
    stop(t, q, now);
    q->is_long = true;
    add_waiting(t, q);
}

void turns_leave(struct turns *t, struct store_question *q, struct mono now)
{
    stop(t, q, now);
    q->account->open--;
    t->open--;
}

/* Removes any waiting question, at the end; NULL: none. */
static struct store_question *turns_drop(struct turns *t)
{
    struct store_question *q = t->waiting;
    if (q) {
        remove_waiting(t, q);
        turns_leave(t, q, q->asked);
    }
    return q;
}

/* ---- readers ---- */

enum { READER_IDLE_MS = 5000 };

static int open_for_reading(struct store_service *v, struct store **store, struct error *err)
{
    struct store_status status;
    store_service_status(v, &status);
    /* A server known to be unreachable would only make all callers wait. */
    if (service_is_server(v) && status.state == STORE_AWAY)
        return error_set(err, -ENOTCONN, "%s", status.message);
    int rc = *store ? store_refresh(*store, err) : store_open_read_only(v->options.store.env, v->url, store, err);
    /* No file means an empty history, unless the writer cannot create it. */
    if (rc == -ENOENT && store_is_troubled(&status) && status.message[0])
        rc = error_set(err, -EIO, "%s", status.message);
    return rc;
}

static struct mono later(struct mono now, int64_t ms)
{
    return (struct mono){now.ns + ms * NS_PER_MS};
}

/* Connects the reader to the writer's current file. */
static int connect_reader(struct store_reader *r, struct error *err)
{
    struct store_service *v = r->service;
    unsigned now = atomic_load(&v->epoch);
    if (r->store && now != r->epoch) {
        store_close(r->store);
        r->store = NULL;
    }
    r->epoch = now;
    if (r->store)
        store_set_cancel(r->store, &r->question->canceled, r->until);
    bool again = r->store != NULL;
    int rc = open_for_reading(v, &r->store, err);
    if (rc < 0) {
        store_close(r->store);
        r->store = NULL;
    }
    if (rc == -ENOTCONN && again) /* retry: the connection was dropped with the previous question */
        rc = open_for_reading(v, &r->store, err);
    if (rc == 0)
        store_set_cancel(r->store, &r->question->canceled, r->until);
    return rc;
}

static int too_late(struct error *err)
{
    return error_set(err, -ETIME, "it took longer than %d s", QUESTION_MS / MS_PER_S);
}

static int read_question(struct store_reader *r, struct error *err)
{
    struct store_question *q = r->question;
    struct mono now = clock_mono(&clock_system);
    if (q->canceled)
        return error_set(err, -ECANCELED, "the question was withdrawn");
    if (turns_too_late(q, now))
        return too_late(err);
    if (!q->at_length)
        r->until = later(now, QUESTION_MOMENT_MS);
    else
        r->until = q->client ? later(now, QUESTION_MS) : (struct mono){0};
    int rc = connect_reader(r, err);
    if (rc == 0)
        rc = q->read(q, r->store, err);
    if (r->store)
        store_set_cancel(r->store, NULL, (struct mono){0});
    /* Whatever the message says: an interrupted read may fail anywhere. */
    if (rc < 0 && q->canceled)
        rc = error_set(err, -ECANCELED, "the question was withdrawn");
    else if (rc < 0 && r->until.ns && clock_mono(&clock_system).ns >= r->until.ns)
        rc = too_late(err);
    return rc;
}

/* Runs the dequeued question, or requeues it when its slice is over. Called locked; unlocks while running. */
static void answer_one(struct store_reader *r)
{
    struct store_service *v = r->service;
    struct store_question *q = r->question;
    struct error err = {0};
    pthread_mutex_unlock(&v->lock);
    int rc = read_question(r, &err);
    pthread_mutex_lock(&v->lock);
    struct mono now = clock_mono(&clock_system);
    bool again = rc == -ETIME && !q->at_length && !q->canceled && !turns_too_late(q, now) && !v->closed;
    r->question = NULL;
    if (again)
        turns_again(&v->turns, q, now);
    else
        turns_leave(&v->turns, q, now);
    pthread_cond_broadcast(&v->turn); /* capacity for long questions has changed */
    if (again)
        return;
    pthread_mutex_unlock(&v->lock);
    q->answered(q, rc, &err);
    pthread_mutex_lock(&v->lock);
}

/* Waits for a question. False: none came for a while, or the service ends. */
static bool await_turn(struct store_reader *r)
{
    struct store_service *v = r->service;
    struct mono until = {clock_mono(&clock_system).ns + (int64_t)READER_IDLE_MS * NS_PER_MS};
    bool in_time = true;
    v->readers_idle++;
    while (!(r->question = turns_next(&v->turns, clock_mono(&clock_system))) && !v->closed && in_time)
        in_time = condition_wait_until(&v->turn, &v->lock, until);
    v->readers_idle--;
    return r->question != NULL;
}

static void *run_reader(void *arg)
{
    struct store_reader *r = arg;
    struct store_service *v = r->service;
    pthread_mutex_lock(&v->lock);
    while (await_turn(r))
        answer_one(r);
    struct store *store = TAKE(r->store);
    r->state = READER_OVER;
    v->readers_run--;
    pthread_mutex_unlock(&v->lock);
    store_close(store);
    service_release(v);
    return NULL;
}

static void add_reader(struct store_service *v)
{
    struct store_reader *r = v->readers;
    while (r->state == READER_RUNS)
        r++;
    if (r->state == READER_OVER)
        pthread_join(r->thread, NULL);
    *r = (struct store_reader){.service = v};
    atomic_fetch_add(&v->users, 1);
    if (pthread_create(&r->thread, NULL, run_reader, r) != 0) {
        atomic_fetch_sub(&v->users, 1);
        return;
    }
    r->state = READER_RUNS;
    v->readers_run++;
}

static int join_queue(struct store_service *v, struct store_question *q, struct store_question **out)
{
    if (v->closed)
        return -ECANCELED;
    /* If a thread can't be started, a running one gets to the question in the end. */
    if (v->turns.waiting_count >= v->readers_idle && v->readers_run < READERS_MAX)
        add_reader(v);
    if (v->readers_run == 0)
        return -EBUSY;
    int rc = turns_join(&v->turns, q, clock_mono(&clock_system), out);
    pthread_cond_signal(&v->turn);
    return rc;
}

int store_service_ask(struct store_service *v, struct store_question *q)
{
    struct store_question *out = NULL;
    struct error err = {0};
    pthread_mutex_lock(&v->lock);
    int rc = join_queue(v, q, &out);
    pthread_mutex_unlock(&v->lock);
    if (out)
        out->answered(out, error_set(&err, -EBUSY, "too many questions about the past wait"), &err);
    return rc;
}

void store_service_end_questions(struct store_service *v)
{
    struct error err = {0};
    error_set(&err, -ECANCELED, "the history database was closed");
    pthread_mutex_lock(&v->lock);
    v->closed = true;
    for (size_t i = 0; i < READERS_MAX; i++)
        if (v->readers[i].question)
            v->readers[i].question->canceled = true;
    for (struct store_question *q; (q = turns_drop(&v->turns));) {
        pthread_mutex_unlock(&v->lock);
        q->answered(q, err.code, &err);
        pthread_mutex_lock(&v->lock);
    }
    pthread_cond_broadcast(&v->turn);
    pthread_mutex_unlock(&v->lock);
}
