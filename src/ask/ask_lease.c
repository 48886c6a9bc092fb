/* SPDX-License-Identifier: Apache-2.0
 * Acquires a lease.
 */
#include "ask/ask_lease.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "ask/ask_fit.h"
#include "ask/client.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "format/capacity_forms.h"

/* Poll for programs without a lease, whose changes send no event; changes of leases do. */
enum {
    LOOK_MS = 2000,
    LOOK_MOST_MS = 15000,
    LIST_AGAIN_MS = 600000,
    SAY_AGAIN_MS = 60000,
    SAY_LOCKED_MS = 1000,
    CLOSING_MS = 20,
    GIVEN_MS = 120000
};

/* ---- one look at the GPUs ---- */

struct gpus_look {
    const struct snapshot *snapshot;
    struct capacity *capacity;
    struct room_gpu *rooms;
};

static void look_done(struct gpus_look *l)
{
    snapshot_unref(l->snapshot);
    free(l->capacity);
    free(l->rooms);
    *l = (struct gpus_look){0};
}

static int look_at_gpus(struct lease_taker *t, struct session *session, struct gpus_look *l, struct error *err)
{
    look_done(l);
    l->snapshot = session_sample(session, GROUP_ALL, err);
    if (!l->snapshot)
        return err->code ? err->code : -EIO;
    l->capacity = fit_capacity(t->cli, session, l->snapshot, 0);
    l->rooms = l->capacity ? calloc(l->capacity->gpu_count + 1, sizeof *l->rooms) : NULL;
    if (!l->rooms)
        return error_set(err, -ENOMEM, "out of memory");
    lease_rooms(l->capacity, l->snapshot, l->rooms);
    t->simulated = l->snapshot->gpu_count && l->snapshot->gpus[0].simulated;
    return 0;
}

/* Collects the GPUs of --gpu that the environment makes visible. An empty list means any. */
static int find_allowed(struct lease_taker *t, struct session *session, const struct gpus_look *l, struct error *err)
{
    const struct capacity *c = l->capacity;
    struct lease *wish = &t->wish;
    int only, rc = session_only(session, l->snapshot, &only, err);
    size_t known = 0;
    if (rc < 0)
        return rc;
    wish->gpu_count = 0;
    for (size_t i = 0; i < c->gpu_count && wish->gpu_count < LEASE_GPUS_MAX; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        bool allowed = (only == ALL_GPUS || l->snapshot->gpus[only].index == gpu->index) && placement_visible(c, i);
        known += gpu_id_key(&gpu->id)[0] != '\0';
        if (!allowed || !gpu_id_key(&gpu->id)[0])
            continue;
        struct lease_gpu *to = &wish->gpus[wish->gpu_count++];
        *to = (struct lease_gpu){.index = gpu->index};
        str_copy(to->uuid, sizeof to->uuid, str_from(gpu_id_key(&gpu->id)));
    }
    if (known && !wish->gpu_count)
        return error_set(err, -ENOSPC, "the environment hides every GPU from this program (VISIBLE_DEVICES)");
    if (wish->gpu_count == known)
        wish->gpu_count = 0;
    return 0;
}

static void judge(struct lease_taker *t, const struct gpus_look *l, struct lease_list *list)
{
    struct wall now = clock_wall(t->cli->env.clock);
    if (t->wish.kind == LEASE_RUN) {
        t->wish.from = now;
        t->wish.until.ms = t->plan_ms ? now.ms + t->plan_ms : 0;
    }
    (void)lease_add_simulated(list, l->snapshot);
    lease_count_use(list, l->snapshot);
    room_find(&t->wish, list->at, list->count, l->rooms, l->capacity->gpu_count, now, &t->answer);
}

/* Reports which process holds the lock for longer than a decision takes, even if the wait has a limit. */
static int lock_leases(struct lease_taker *t, struct error *err)
{
    int rc = lease_dir_lock(&t->dir, SAY_LOCKED_MS, err);
    if (rc != -EBUSY)
        return rc;
    fprintf(stderr, "whirr: waiting: %s\n", err->text);
    return lease_dir_lock(&t->dir, LEASE_LOCK_MS, err);
}

/* The service grants it now, before its program is made: a descriptor keeps it until then. In a directory of one's own the lock
 * does. -EAGAIN: another request was faster. */
static int claim(struct lease_taker *t, struct error *err)
{
    int fd, rc;
    do {
        fd = -1;
        rc = t->wish.kind == LEASE_RUN ? lease_dir_begin(&t->dir, t->wish.id, &fd, err) : 0;
        if (rc == 0)
            rc = lease_dir_commit(&t->dir, &t->wish, fd, err);
        if (rc < 0 && fd >= 0)
            lease_dir_cancel(&t->dir, t->wish.id, fd);
    } while (rc == -EPIPE);
    if (rc < 0)
        return rc;
    lease_taker_leave_queue(t);
    t->fd = fd;
    return 0;
}

/* Called with the lock held; keeps it if there is room. */
static int decide(struct lease_taker *t, struct gpus_look *l, struct lease_list *list, struct error *err)
{
    lease_list_done(list);
    int rc = lease_dir_list(&t->dir, clock_wall(t->cli->env.clock), list, err);
    if (rc < 0)
        return rc;
    lease_dir_sweep(&t->dir, list);
    rc = lease_list_admits(list, &t->wish, err);
    if (rc < 0)
        return rc;
    judge(t, l, list);
    if (t->answer.verdict != ROOM_GRANTED)
        return 0;
    struct lease asked = t->wish;
    t->wish.state = LEASE_ACTIVE;
    t->wish.simulated = t->simulated;
    t->wish.gpu_count = t->answer.count;
    for (size_t i = 0; i < t->answer.count; i++) {
        const struct capacity_gpu *gpu = l->rooms[t->answer.gpus[i]].card;
        t->wish.gpus[i] = (struct lease_gpu){.index = gpu->index, .free_bytes = t->answer.free_bytes[i]};
        str_copy(t->wish.gpus[i].uuid, sizeof t->wish.gpus[i].uuid, str_from(gpu_id_key(&gpu->id)));
    }
    rc = t->dir.service ? claim(t, err) : 0;
    if (rc < 0) {
        t->wish = asked;
        if (rc != -EAGAIN)
            return rc;
        t->answer.verdict = ROOM_WAITS;
        str_copy(t->answer.words, sizeof t->answer.words, str_from(err->text));
        return 0;
    }
    t->capacity = TAKE(l->capacity);
    return 0;
}

/* ---- the queue ---- */

/* What the actions of one request share. */
struct queue_wait {
    struct session *session; /* once it is the first in line */
    struct gpus_look look;
    struct lease_list list;
    struct mono listed_at, said_at;
    int64_t pause_ms;
    char said[ROOM_WORDS];
    int watch; /* -errno: there are too many watches */
};

static void queue_wait_done(struct queue_wait *w)
{
    session_close(w->session);
    look_done(&w->look);
    lease_list_done(&w->list);
    if (w->watch >= 0)
        close(w->watch);
}
#define AUTO_QUEUE_WAIT __attribute__((cleanup(queue_wait_done)))

static int join_queue(struct queue_wait *w, struct lease_taker *t, struct error *err)
{
    int rc;
    t->wish.state = LEASE_WAITING;
    t->wish.simulated = t->simulated;
    t->wish.ticket = w->list.next_ticket;
    do {
        rc = lease_dir_begin(&t->dir, t->wish.id, &t->fd, err);
        if (rc < 0)
            return rc;
        lease_taker_handle_signals(t, true);
        rc = lease_dir_commit(&t->dir, &t->wish, t->fd, err);
        if (rc == 0)
            return 0;
        lease_dir_cancel(&t->dir, t->wish.id, t->fd);
        t->fd = -1;
    } while (rc == -EPIPE);
    return rc;
}

/* Waits until this lease is first in line. */
static int wait_turn(struct lease_taker *t, struct error *err)
{
    for (;;) {
        AUTO_LEASE_LIST struct lease_list list = {0};
        struct lease before;
        int rc = lease_dir_list(&t->dir, clock_wall(t->cli->env.clock), &list, err);
        const struct lease *found = rc == 0 ? room_before(&t->wish, list.at, list.count) : NULL;
        if (!found)
            return rc;
        before = *found;
        lease_list_done(&list);
#ifdef __GLIBC__
        malloc_trim(0); /* hundreds of processes may sleep here */
#endif
        rc = lease_dir_await(&t->dir, &before);
        if (rc < 0 && rc != -EINTR)
            return error_set(err, rc, "cannot wait for lease %s: %s", before.id, strerror(-rc));
    }
}

/* Sleeps until the next check; the end of a lease wakes it at once. */
static void first_pause(struct queue_wait *w)
{
    struct pollfd watch = {.fd = w->watch, .events = POLLIN};
    struct mono begin = clock_mono(&clock_system);
    for (int64_t left; (left = w->pause_ms - mono_since_ms(clock_mono(&clock_system), begin)) > 0;) {
        if (w->watch < 0 || poll(&watch, 1, (int)left) <= 0) {
            if (w->watch < 0)
                pause_ms(left);
            break;
        }
        if (!lease_dir_changed(w->watch))
            continue;
        pause_ms(CLOSING_MS); /* the kernel reports the close before it releases the lock */
        w->listed_at.ns = 0;
        w->pause_ms = LOOK_MS;
        return;
    }
    w->pause_ms = MIN_OF(w->pause_ms * 3 / 2, (int64_t)LOOK_MOST_MS);
}

static void say_waiting(struct queue_wait *w, const struct lease_taker *t)
{
    struct mono now = clock_mono(&clock_system);
    if (strcmp(w->said, t->answer.words) == 0 || (w->said[0] && mono_since_ms(now, w->said_at) < SAY_AGAIN_MS))
        return;
    fprintf(stderr, "whirr: waiting for room: %s\n", t->answer.words);
    w->said_at = now;
    snprintf(w->said, sizeof w->said, "%s", t->answer.words);
}

static int await(struct queue_wait *w, struct lease_taker *t, struct error *err)
{
    lease_dir_unlock(&t->dir);
    say_waiting(w, t);
    if (w->session) {
        first_pause(w);
        return 0;
    }
    lease_list_done(&w->list);
    int rc = wait_turn(t, err);
    w->session = rc == 0 ? session_open(t->cli, err) : NULL;
    if (!w->session)
        return rc < 0 ? rc : err->code;
    w->said_at.ns = 0; /* what it waits for now may be news */
    w->watch = lease_dir_watch(&t->dir);
    session_set_max_age(w->session, LOOK_MS / 2);
    session_set_leases(w->session, &w->list);
    return 0;
}

/* A first attempt, which also finds requests that can never succeed. */
static int decide_first(struct queue_wait *w, struct lease_taker *t, struct error *err)
{
    struct session *session = session_open(t->cli, err);
    int rc = session ? look_at_gpus(t, session, &w->look, err) : err->code;
    if (rc == 0 && !w->look.capacity->gpu_count)
        rc = error_set(err, -ENODEV, "no GPU was found on this host");
    if (rc == 0)
        rc = find_allowed(t, session, &w->look, err);
    session_close(session);
    if (rc == 0)
        rc = lock_leases(t, err);
    return rc < 0 ? rc : decide(t, &w->look, &w->list, err);
}

/* Caches the list of leases: reads the files again only after a change. Takes the lock if there seems to be room. */
static int decide_again(struct queue_wait *w, struct lease_taker *t, struct error *err)
{
    struct mono now = clock_mono(&clock_system);
    int rc = 0;
    if (w->watch < 0 || !w->listed_at.ns || mono_since_ms(now, w->listed_at) >= LIST_AGAIN_MS) {
        lease_list_done(&w->list);
        rc = lease_dir_list(&t->dir, clock_wall(t->cli->env.clock), &w->list, err);
        w->listed_at = now;
    }
    if (rc == 0)
        rc = look_at_gpus(t, w->session, &w->look, err);
    if (rc == 0)
        judge(t, &w->look, &w->list);
    if (rc < 0 || t->answer.verdict != ROOM_GRANTED)
        return rc;
    rc = lock_leases(t, err);
    return rc < 0 ? rc : decide(t, &w->look, &w->list, err);
}

/* Performs it, and returns how it went; *ret_rc gets the first failure. */
static enum lease_event perform(struct queue_wait *w, struct lease_taker *t, enum lease_action action, int *ret_rc,
                                struct error *err)
{
    struct error ignored;
    int rc = 0;
    bool decides = action == ACTION_DECIDE;
    if (decides)
        rc = t->fd < 0 ? decide_first(w, t, err) : decide_again(w, t, err);
    else if (action == ACTION_JOIN)
        rc = join_queue(w, t, err);
    else if (action == ACTION_AWAIT)
        rc = await(w, t, err);
    else
        rc = lease_dir_remove(&t->dir, t->wish.id, &ignored);
    /* In the queue, "never" is no reason to leave: a lost GPU comes back. */
    bool later = t->answer.verdict == ROOM_WAITS || (t->answer.verdict == ROOM_NEVER && t->fd >= 0);
    if (decides && rc == 0 && later && t->timeout_ms != 0)
        return EVENT_FULL;
    if (decides && rc == 0 && t->answer.verdict != ROOM_GRANTED)
        rc = error_set(err, t->answer.verdict == ROOM_NEVER ? -ENOSPC : -EAGAIN, "%s", t->answer.words);
    if (*ret_rc == 0)
        *ret_rc = rc;
    return rc < 0 ? EVENT_FAILED : EVENT_DONE;
}

/* ---- for commands ---- */

int lease_taker_init(struct lease_taker *t, struct cli *cli, enum lease_kind kind, struct error *err)
{
    *t = (struct lease_taker){.cli = cli, .dir = LEASE_DIR_CLOSED, .timeout_ms = -1, .fd = -1};
    lease_init(&t->wish, kind, kind == LEASE_RUN ? getpid() : 0, clock_wall(cli->env.clock));
    t->wish.gpus_wanted = 1;
    int rc = lease_new_id(t->wish.id);
    return rc < 0 ? error_set(err, rc, "cannot make an id for a lease: %s", strerror(-rc)) : 0;
}

void lease_taker_leave_queue(struct lease_taker *t)
{
    if (t->fd < 0)
        return;
    flock(t->fd, LOCK_UN); /* a child may have inherited it */
    close(t->fd);
    t->fd = -1;
}

void lease_taker_done(struct lease_taker *t)
{
    lease_taker_handle_signals(t, false);
    lease_taker_leave_queue(t);
    free(TAKE(t->capacity));
    lease_dir_close(&t->dir);
}

int lease_take(struct lease_taker *t, struct error *err)
{
    AUTO_QUEUE_WAIT struct queue_wait w = {.pause_ms = LOOK_MS, .watch = -1};
    lease_taker_set_timeout(t); /* covers every kind of wait: a driver, a daemon, a lock, whirr-control */
    int rc = lease_dir_open(&t->dir, t->cli->settings->lease.dir, err);
    if (rc < 0)
        return rc;
    enum lease_action action = lease_next(&t->stage, EVENT_ASK);
    while (action != ACTION_START && action != ACTION_REST)
        action = lease_next(&t->stage, perform(&w, t, action, &rc, err));
    if (rc < 0)
        lease_dir_unlock(&t->dir);
    return rc;
}

void lease_taker_tell(struct lease_taker *t, enum lease_event event)
{
    struct error ignored;
    if (lease_next(&t->stage, event) == ACTION_LEAVE)
        lease_next(&t->stage, lease_dir_remove(&t->dir, t->wish.id, &ignored) < 0 ? EVENT_FAILED : EVENT_DONE);
}

bool lease_environment(const struct lease_taker *t, struct buf *out)
{
    struct placement_copy copy = {.share_count = t->answer.count};
    for (size_t i = 0; i < t->answer.count; i++)
        copy.shares[i].gpu = t->answer.gpus[i];
    return placement_program_env(out, t->capacity, &copy);
}

/* ---- room for a script ---- */

static bool give_room(struct lease_dir *dir, struct lease *wish, const struct snapshot *s, const struct room_gpu *room)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct room_answer answer;
    struct error err;
    if (lease_dir_lock(dir, LEASE_LOCK_MS, &err) < 0 || lease_dir_list(dir, wish->from, &list, &err) < 0 ||
        lease_list_admits(&list, wish, &err) < 0) {
        fprintf(stderr, "whirr: %s\n", err.text); /* other leases are unknown, so assume no room */
        return false;
    }
    lease_dir_sweep(dir, &list);
    lease_count_use(&list, s);
    wish->ticket = list.next_ticket;
    room_find(wish, list.at, list.count, room, 1, wish->from, &answer);
    wish->gpus[0].free_bytes = answer.free_bytes[0];
    if (answer.verdict == ROOM_GRANTED && lease_dir_put(dir, wish, &err) < 0)
        fprintf(stderr, "whirr: %s; the room is not reserved\n", err.text);
    return answer.verdict == ROOM_GRANTED;
}

bool lease_give_room(struct cli *cli, const struct snapshot *s, const struct capacity_gpu *gpu, int64_t bytes)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    struct capacity_gpu bare = *gpu;
    struct room_gpu room = {.card = &bare};
    struct lease wish;
    struct error err;
    lease_init(&wish, LEASE_WAIT, 0, clock_wall(cli->env.clock));
    if (cli->host || !gpu_id_key(&gpu->id)[0] || lease_new_id(wish.id) < 0 ||
        lease_dir_open(&dir, cli->settings->lease.dir, &err) < 0)
        return true;
    bare.reserve_bytes = 0;
    bare.reclaimable_bytes = (struct reading){0};
    wish.until.ms = wish.from.ms + GIVEN_MS;
    wish.mem_bytes = bytes;
    wish.gpus_wanted = 1;
    wish.gpu_count = 1;
    wish.gpus[0] = (struct lease_gpu){.index = gpu->index};
    str_copy(wish.gpus[0].uuid, sizeof wish.gpus[0].uuid, str_from(gpu_id_key(&gpu->id)));
    return give_room(&dir, &wish, s, &room);
}

/* ---- the list ---- */

static int list_from_json(const json_t *root, struct lease_list *ret, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(root, "leases"), i, one)
    {
        if (!ROOM_FOR_ONE(list.at, list.count, list.capacity, 16))
            return error_set(err, -ENOMEM, "out of memory");
        if (lease_from_json(one, &list.at[list.count], err) == 0)
            list.count++;
    }
    json_array_foreach(json_object_get(root, "problems"), i, one)
    {
        if (list.problem_count < LEASE_PROBLEMS_MAX && json_is_string(one))
            str_copy_clean(list.problems[list.problem_count++], sizeof list.problems[0], str_from(json_string_value(one)));
    }
    *ret = list;
    list = (struct lease_list){0};
    return 0;
}

/* -ENOENT: no daemon is running, or it does not know leases. */
static int ask_daemon(struct cli *cli, struct lease_list *ret, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(64 << 20);
    struct client *client = NULL;
    int rc = ask_open(cli, &client, err);
    if (rc < 0)
        return rc;
    int status = client_request(client, "GET", "/api/leases", NULL, &answer, CLIENT_WITHIN_MS, err);
    client_close(client);
    AUTO_JSON json_t *root = status == 200 ? json_loadb(buf_view(&answer).at, answer.len, 0, NULL) : NULL;
    rc = root ? list_from_json(root, ret, err) : status < 0 ? status : error_set(err, -ENOENT, "the daemon knows no leases");
    return rc;
}

static void add_simulated(struct cli *cli, struct lease_list *list)
{
    struct error err;
    struct session *session = session_open(cli, &err);
    AUTO_SNAPSHOT const struct snapshot *s = session ? session_sample(session, GROUP_FAST, &err) : NULL;
    if (s)
        (void)lease_add_simulated(list, s);
    session_close(session);
}

int lease_ask_list(struct cli *cli, struct lease_list *ret, struct error *err)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    int rc = sampling_option(cli) ? -ENOENT : ask_daemon(cli, ret, err);
    if (rc == 0 || cli->host)
        return rc;
    rc = lease_dir_find(&dir, cli->settings->lease.dir, err);
    if (rc == 0)
        rc = lease_dir_list(&dir, clock_wall(cli->env.clock), ret, err);
    if (cli->ask.source_count)
        add_simulated(cli, ret);
    return rc;
}
