/* SPDX-License-Identifier: Apache-2.0
 * Tokens per second, requests and caches of model servers, as a part of the daemon: a thread asks those that run on the GPUs, on
 * loopback, and what they say is put beside their processes in each snapshot. Without a model server it only looks at names, and
 * libcurl is never loaded.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "daemon/model_server.h"
#include "daemon/poller.h"
#include "host/listens.h"
#include "host/procfs.h"
#include "net/http.h"

enum {
    SERVERS_MAX = 64,
    PARENTS_MAX = 4,
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
    int32_t server; /* the process that answers; 0: not found */
    uint16_t port;  /* which its command line names; 0: not found, or it says nothing of tokens */
    char address[LISTEN_ADDRESS_SIZE];
    int wait, tried; /* rounds until it is looked for again, and how often it was */
    struct server_speed speed;
    struct reading tokens_milli; /* FAILED: it has answered before, and does not now */
    bool told;                   /* its last answer is in `speed` */
    bool answered;               /* at any time */
    int silent;                  /* how often in a row it did not */
    bool there;                  /* in the newest snapshot */
};

struct tokens_part {
    struct poller poller;
    struct served own[SERVERS_MAX]; /* the thread's */
    size_t own_count;
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
static bool ask_page(struct tokens_part *t, struct served *e, const char *page, struct buf *answer)
{
    char url[96];
    struct error err = {0};
    snprintf(url, sizeof url, "http://%s:%u/%s", e->address, e->port, page);
    const struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = ASK_WITHIN_MS, .connect_timeout_ms = ASK_WITHIN_MS, .cancel = &t->poller.stop};
    int status = http_call(t->poller.env, &request, answer, &err);
    e->silent = status < 0 ? e->silent + 1 : 0;
    e->answered |= status == 200;
    return status == 200;
}

/* What is not known: it does not say it, or it says nothing any more. A server under load may miss a question or two. */
static struct reading unanswered(const struct served *e)
{
    return reading_absent(!e->answered || e->silent == 0 ? READING_UNSUPPORTED
                          : e->silent < SILENT_AFTER     ? READING_PENDING
                                                         : READING_FAILED);
}

/* llama.cpp answers /props also when its model sleeps, and a look at its slots would wake that. */
static struct reading ask_speed(struct tokens_part *t, struct served *e)
{
    AUTO_BUF struct buf answer = BUF(METRICS_MAX);
    bool slots = e->kind == SERVER_LLAMA_CPP;
    if (slots) {
        AUTO_BUF struct buf props = BUF(METRICS_MAX);
        if (!ask_page(t, e, "props", &props))
            return unanswered(e);
        enum reading_state awake = model_server_awake(buf_view(&props));
        if (awake != READING_OK)
            return reading_absent(awake);
    }
    if (!ask_page(t, e, slots ? "slots" : "metrics", &answer))
        return unanswered(e);
    e->told = true;
    return (slots ? model_server_slots : model_server_speed)(&e->speed, buf_view(&answer), clock_mono(&clock_system));
}

/* Workers of one server share its speed: the first of them has it. */
static bool is_taken(const struct tokens_part *t, const struct served *e, int32_t server)
{
    for (const struct served *other = t->own; other < e; other++)
        if (other->server == server && other->port)
            return true;
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
    if (model_server_port(e->kind, args, count, &e->port) && process_listens(t->poller.env, pid, e->port, e->address))
        return true;
    e->port = 0;
    return false;
}

/* The process on the GPU is often a child of the one that answers. */
static void find_server(struct tokens_part *t, struct served *e)
{
    int32_t pid = e->pid;
    e->wait = e->tried++ < SOON ? 0 : AGAIN; /* it may be starting */
    e->tokens_milli = reading_absent(READING_UNSUPPORTED);
    for (int up = 0; up < PARENTS_MAX && pid > 1; up++, pid = process_parent(t->poller.env, pid)) {
        if (is_taken(t, e, pid))
            return;
        if (!find_front(t, e, pid))
            continue;
        e->server = pid;
        e->tokens_milli = ask_speed(t, e);
        if (e->tokens_milli.state == READING_UNSUPPORTED)
            e->port = 0;
        return;
    }
}

static void ask_all(struct tokens_part *t)
{
    for (size_t i = 0; i < t->own_count && !t->poller.stop; i++) {
        struct served *e = &t->own[i];
        e->told = false;
        if (e->port) {
            /* Looked up each time: a port that was given up may be a worker's by now. */
            e->tokens_milli = find_front(t, e, e->server) ? ask_speed(t, e) : reading_absent(READING_UNSUPPORTED);
            if (e->tokens_milli.state == READING_UNSUPPORTED)
                e->port = 0; /* gone, or another one now */
        } else if (e->wait-- <= 0) {
            find_server(t, e);
        }
    }
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
    const struct reading none = reading_absent(e->tokens_milli.state);
    const struct server_load untold = {none, none, none, none}, *load = e->told ? &e->speed.load : &untold;
    p->tokens_milli = e->tokens_milli;
    p->requests_running = load->running;
    p->requests_waiting = load->waiting;
    p->kv_cache_permille = load->kv_permille;
    p->preempted_milli = load->preempted_milli;
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

static const struct poller_ops ask_servers = {"model servers are not asked for their speed", tokens_part_wanted, tokens_part_look,
                                              annotate};

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
