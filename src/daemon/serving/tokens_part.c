/* SPDX-License-Identifier: Apache-2.0
 * Tokens, requests and caches of model servers, as a part of the daemon: a thread asks those that run on the GPUs, on
 * loopback, and what they say is put beside their processes in each snapshot. Without a model server it only looks at names.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "daemon/poller.h"
#include "daemon/serving/server_answer.h"
#include "host/identity.h"
#include "host/listens.h"
#include "host/procfs.h"
#include "net/talk.h"

enum {
    SERVERS_MAX = 64,
    PARENTS_MAX = 4,
    CHILDREN_MAX = 16,
    CMDLINE_MAX = 128 * 1024,
    EVERY_MS = 5000,
    ASK_WITHIN_MS = 1000,
    METRICS_MAX = 8 << 20,
    AGAIN = 12,
    SOON = 12,
    SILENT_AFTER = 3
};

/* A process on a GPU and the server that it belongs to. */
struct served {
    int32_t pid;
    int64_t start_key;
    enum model_server kind;
    int32_t server;   /* the process that answers; 0: not found */
    uint16_t port;    /* which its command line names; 0: not found, or it says nothing */
    int32_t listener; /* the process that listens there: the same, or a child of it */
    struct listening listening;
    char model[PROCESS_MODEL_SIZE]; /* that the server's command line names, for workers that do not; "" none */
    int wait, tried;                /* rounds until it is looked for again, and how often it was */
    struct server_answers answers;
    enum reading_state told; /* OK: the last answer is in `answers`; FAILED: it has answered before, and does not now */
    bool answered;           /* at any time */
    int silent;              /* how often in a row it did not */
    bool there;              /* in the newest snapshot */
};

struct tokens_part {
    struct poller poller;
    struct served own[SERVERS_MAX]; /* the thread's */
    size_t own_count;
    struct buf answer;                /* during a round: the last one */
    struct served shown[SERVERS_MAX]; /* with the poller's lock */
    size_t shown_count;
};

/* ---- the thread ---- */

static struct served *entry_for(struct tokens_part *t, const struct process *p)
{
    for (size_t i = 0; i < t->own_count; i++)
        if (t->own[i].pid == p->pid && t->own[i].start_key == p->start_key)
            return &t->own[i];
    if (t->own_count == SERVERS_MAX)
        return NULL;
    t->own[t->own_count] = (struct served){.pid = p->pid, .start_key = p->start_key};
    return &t->own[t->own_count++];
}

static void find_served(struct tokens_part *t, const struct snapshot *s)
{
    for (size_t i = 0; i < t->own_count; i++)
        t->own[i].there = false;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t k = 0; k < s->gpus[g].process_count && !s->gpus[g].simulated; k++) {
            const struct process *p = &s->gpus[g].processes[k];
            enum model_server kind = p->visible ? model_server_of(p) : SERVER_UNKNOWN;
            struct served *e = kind != SERVER_UNKNOWN ? entry_for(t, p) : NULL;
            if (!e)
                continue;
            e->there = true;
            e->kind = kind;
        }
    size_t kept = 0;
    for (size_t i = 0; i < t->own_count; i++)
        if (t->own[i].there)
            t->own[kept++] = t->own[i];
    t->own_count = kept;
}

/* True: it has the page. One that answers anything at all is not silent. */
static bool ask_page(struct tokens_part *t, struct served *e, const char *page)
{
    t->answer.len = 0;
    t->answer.failed = false;
    int status = talk_get(e->listening.address, e->port, page, ASK_WITHIN_MS, &t->poller.stop, &t->answer);
    e->silent = status < 0 ? e->silent + 1 : 0;
    e->answered |= status == 200;
    return status == 200;
}

/* Why nothing is known: it does not say it, or it says nothing any more. A server under load may miss a question or two. */
static enum reading_state unanswered(const struct served *e)
{
    return !e->answered || e->silent == 0 ? READING_UNSUPPORTED : e->silent < SILENT_AFTER ? READING_PENDING : READING_FAILED;
}

static bool take_answer(struct served *e, struct str answer)
{
    struct mono now = clock_mono(&clock_system);
    switch (e->kind) {
    case SERVER_LLAMA_CPP: return server_answer_slots(&e->answers, answer, now);
    case SERVER_COMFYUI: return server_answer_queue(&e->answers, answer);
    default: return server_answer_metrics(&e->answers, e->kind, answer, now);
    }
}

static void ask_server(struct tokens_part *t, struct served *e)
{
    if (e->kind == SERVER_LLAMA_CPP) { /* answers /props also when its model sleeps, and a look at its slots would wake that */
        e->told = ask_page(t, e, "props") ? server_answer_awake(buf_view(&t->answer)) : unanswered(e);
        if (e->told != READING_OK)
            return;
    }
    if (!ask_page(t, e, model_server_page(e->kind)))
        e->told = unanswered(e);
    else
        e->told = take_answer(e, buf_view(&t->answer)) ? READING_OK : READING_UNSUPPORTED;
}

/* Workers of one server share what it says: the first of them has it. */
static const struct served *taken_by(const struct tokens_part *t, const struct served *e, int32_t server)
{
    for (const struct served *other = t->own; other < e; other++)
        if (other->server == server && other->port)
            return other;
    return NULL;
}

static bool child_listens(struct tokens_part *t, struct served *e, int32_t pid)
{
    char path[64], text[CHILDREN_MAX * 12];
    struct str word;
    int64_t child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    ssize_t len = file_read_head(t->poller.env, path, text, sizeof text);
    struct str rest = {text, len > 0 ? (size_t)len : 0};
    while (str_word(&rest, &word))
        if (str_to_i64(word, &child) && process_listens(t->poller.env, (int32_t)child, e->port, &e->listening)) {
            e->listener = (int32_t)child;
            return true;
        }
    return false;
}

/* The port that a process is to answer on by its command line, if it listens there. Its other ports are never asked. */
static bool find_front(struct tokens_part *t, struct served *e, int32_t pid)
{
    char path[64];
    struct str args[ARGUMENTS_MAX];
    AUTO_BUF struct buf text = BUF(CMDLINE_MAX);
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    if (file_read_all(t->poller.env, path, &text) < 0)
        return false;
    size_t count = proc_arguments(buf_view(&text), args, ARGUMENTS_MAX);
    e->listener = pid;
    if (model_server_port(e->kind, args, count, &e->port) &&
        (model_server_listens_below(e->kind) ? child_listens(t, e, pid)
                                             : process_listens(t->poller.env, pid, e->port, &e->listening))) {
        model_name(args, count, e->model, sizeof e->model);
        return true;
    }
    e->port = 0;
    return false;
}

/* The process on the GPU is often a child of the one that answers. */
static void find_server(struct tokens_part *t, struct served *e)
{
    int32_t pid = e->pid;
    int parents = model_server_is_alone(e->kind) ? 1 : PARENTS_MAX;
    e->wait = e->tried++ < SOON ? 0 : AGAIN; /* it may be starting */
    for (int up = 0; up < parents && pid > 1; up++, pid = process_parent(t->poller.env, pid)) {
        const struct served *other = taken_by(t, e, pid);
        if (other) {
            memcpy(e->model, other->model, sizeof e->model);
            return;
        }
        if (!find_front(t, e, pid))
            continue;
        e->server = pid;
        ask_server(t, e);
        return;
    }
}

static void ask_all(struct tokens_part *t)
{
    t->answer = BUF(METRICS_MAX);
    for (size_t i = 0; i < t->own_count && !t->poller.stop; i++) {
        struct served *e = &t->own[i];
        bool known = e->port != 0;
        if (!known && e->wait-- > 0)
            continue;
        e->told = READING_UNSUPPORTED;
        if (!known)
            find_server(t, e);
        else if (process_still_listens(t->poller.env, e->listener, &e->listening) || find_front(t, e, e->server))
            ask_server(t, e); /* looked up each time: a port that was given up may be a worker's by now */
        if (e->told == READING_UNSUPPORTED)
            e->port = 0; /* gone, or another one now */
    }
    buf_done(&t->answer);
    pthread_mutex_lock(&t->poller.lock);
    memcpy(t->shown, t->own, t->own_count * sizeof t->own[0]);
    t->shown_count = t->own_count;
    pthread_mutex_unlock(&t->poller.lock);
}

static int64_t tokens_part_look(void *part)
{
    struct tokens_part *t = part;
    AUTO_SNAPSHOT const struct snapshot *s = t->poller.wanted ? engine_latest(t->poller.engine) : NULL;
    if (s)
        find_served(t, s);
    else
        t->own_count = 0;
    ask_all(t);
    return EVERY_MS;
}

/* ---- in each snapshot: called by the engine ---- */

static void show(struct process *p, const struct served *e)
{
    for (size_t i = 0; i < FIGURES; i++)
        p->metric[FIGURES_FROM + i] = e->told == READING_OK ? e->answers.figure[i] : reading_absent(e->told);
    if (!p->model[0])
        str_copy(p->model, sizeof p->model, str_from(e->model));
}

static void annotate(void *part, struct snapshot *s)
{
    const struct tokens_part *t = part;
    for (size_t g = 0; t->shown_count && g < s->gpu_count; g++)
        for (size_t k = 0; k < s->gpus[g].process_count; k++) {
            struct process *p = &s->gpus[g].processes[k];
            for (size_t i = 0; i < t->shown_count; i++)
                if (t->shown[i].pid == p->pid && t->shown[i].start_key == p->start_key)
                    show(p, &t->shown[i]);
        }
}

/* ---- the part ---- */

static bool tokens_part_wanted(const struct config *config)
{
    return config->sampling.model_servers;
}

static const struct poller_ops ask_servers = {"model servers are not asked for tokens and requests", tokens_part_wanted,
                                              tokens_part_look, annotate};

static void *open_tokens(const struct part_host *host, struct error *err)
{
    (void)err;
    return poller_open(&ask_servers, sizeof(struct tokens_part), host);
}

const struct part_ops tokens_part_ops = {
    .name = "model_servers",
    .open = open_tokens,
    .start = poller_start,
    .reload = poller_reload,
    .stop = poller_stop,
    .close = poller_close,
};
