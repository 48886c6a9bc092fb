/* SPDX-License-Identifier: Apache-2.0
 * Tokens, requests and caches of model servers, as a part of the daemon: a thread queries those on the GPUs over loopback, and adds
 * the figures to their processes in each snapshot. Without a model server it only examines names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/poller.h"
#include "host/identity.h"
#include "host/listens.h"
#include "host/procfs.h"
#include "remote/model_server.h"

enum {
    SERVERS_MAX = 64,
    PARENTS_MAX = 4,
    CHILDREN_MAX = 16,
    CMDLINE_MAX = 128 * 1024,
    EVERY_MS = 5000,
    METRICS_MAX = 8 << 20,
    ANSWER_KEPT = 512 << 10,
    AGAIN = 12,
    SOON = 12,
    SILENT_AFTER = 3
};

/* A process on a GPU and the server it belongs to. */
struct served {
    int32_t pid;
    int64_t start_key;
    enum model_server kind;          /* derived from the process; UNKNOWN: a rule may apply to it */
    const struct serving_rule *rule; /* used by the thread; NULL: none */
    char name[PROCESS_TITLE_SIZE];   /* the rule's name for it; "": none */
    int32_t server;                  /* the process that serves; 0: not found */
    uint16_t port;                   /* from its command line or rule; 0: not found, or it has no data */
    int32_t listener;                /* the process that listens: the same, or a child; 0: as the rule says */
    struct listening listening;
    char model[PROCESS_MODEL_SIZE]; /* in the server's command line, for workers whose own lacks it; "": none */
    int wait, tried;                /* rounds until the next search, and number of searches */
    struct server_answers answers;
    enum reading_state told; /* OK: the last answer is in `answers`; FAILED: it answered before, but no longer */
    bool answered;           /* at least once */
    int silent;              /* failed queries in a row */
    bool there;              /* in the newest snapshot */
};

struct tokens_part {
    struct poller poller;
    struct serving_rules *rules;    /* used by the thread */
    struct served own[SERVERS_MAX]; /* used by the thread */
    size_t own_count;
    struct buf answer;                /* reused for each answer */
    struct served shown[SERVERS_MAX]; /* under the poller's lock */
    size_t shown_count;
    struct serving_rules *fresh; /* under the poller's lock: from a reload, until the thread takes them */
};

/* ---- the thread ---- */

static void take_rules(struct tokens_part *t)
{
    pthread_mutex_lock(&t->poller.lock);
    struct serving_rules *fresh = TAKE(t->fresh);
    pthread_mutex_unlock(&t->poller.lock);
    if (!fresh)
        return;
    free(t->rules);
    t->rules = fresh;
    for (size_t i = 0; i < t->own_count; i++) { /* search for all servers again */
        struct served *e = &t->own[i];
        *e = (struct served){.pid = e->pid, .start_key = e->start_key, .kind = e->kind};
    }
}

static struct served *find_entry(struct tokens_part *t, const struct process *p)
{
    for (size_t i = 0; i < t->own_count; i++)
        if (t->own[i].pid == p->pid && t->own[i].start_key == p->start_key)
            return &t->own[i];
    return NULL;
}

static enum model_server kind_of(const struct served *e)
{
    return e->rule && e->rule->kind ? e->rule->kind : e->kind;
}

static void set_rule(struct served *e, const struct serving_rule *rule)
{
    e->rule = rule;
    str_copy(e->name, sizeof e->name, str_from(rule ? rule->name : ""));
}

/* `others`: include unrecognized processes, which a rule with a port may apply to. */
static void note_process(struct tokens_part *t, const struct process *p, bool others)
{
    size_t first = 0;
    struct served *e = find_entry(t, p);
    enum model_server kind = model_server_of(p); /* by the process's own name, not the one from a rule */
    const struct serving_rule *rule = serving_rule_of_process(t->rules, p);
    bool wanted = kind || rule || (others && serving_rule_of_port(t->rules, &first));
    if (!e && wanted && t->own_count < SERVERS_MAX) {
        e = &t->own[t->own_count++];
        *e = (struct served){.pid = p->pid, .start_key = p->start_key};
    }
    if (!e)
        return;
    e->there = true;
    if (kind)
        e->kind = kind;
    if (!e->rule)
        set_rule(e, rule ? rule : serving_rule_of_kind(t->rules, e->kind));
}

static void find_served(struct tokens_part *t, const struct snapshot *s)
{
    for (size_t i = 0; i < t->own_count; i++)
        t->own[i].there = false;
    for (int others = 0; others < 2; others++)
        for (size_t g = 0; g < s->gpu_count; g++)
            for (size_t k = 0; k < s->gpus[g].process_count && !s->gpus[g].simulated; k++)
                if (s->gpus[g].processes[k].visible)
                    note_process(t, &s->gpus[g].processes[k], others);
    size_t kept = 0;
    for (size_t i = 0; i < t->own_count; i++)
        if (t->own[i].there)
            t->own[kept++] = t->own[i];
    t->own_count = kept;
}

/* Why nothing is known: it has no data, or stopped answering. A busy server may miss a query or two. */
static enum reading_state unanswered(const struct served *e)
{
    return !e->answered || e->silent == 0 ? READING_UNSUPPORTED : e->silent < SILENT_AFTER ? READING_PENDING : READING_FAILED;
}

/* Interprets the status or failure; OK: it has the page. Any answer at all counts as a sign of life. */
static enum reading_state ask_page(struct tokens_part *t, struct served *e, const char *page)
{
    struct error err = {0};
    t->answer.len = 0;
    t->answer.failed = false;
    int status = fetch_page(t->poller.env, e->rule, e->listener ? e->listening.address : "", e->port, page, &t->poller.stop,
                            &t->answer, &err);
    if (status == -EACCES || status == 401 || status == 403) {
        log_warn("a model server is not asked for tokens and requests", LOG_TEXT("process", e->name[0] ? e->name : e->model),
                 LOG_INT("pid", e->pid), LOG_TEXT("error", status > 0 ? "it wants a key: [serving.NAME]" : err.text));
        return READING_DENIED;
    }
    e->silent = status < 0 ? e->silent + 1 : 0;
    e->answered |= status == 200;
    return status == 200 ? READING_OK : unanswered(e);
}

static bool take_answer(struct served *e, struct str answer)
{
    struct mono now = clock_mono(&clock_system);
    enum model_server kind = kind_of(e);
    if (kind == SERVER_LLAMA_CPP)
        return server_answer_slots(&e->answers, answer, now);
    if (server_answers_json(kind))
        return server_answer_json(&e->answers, kind, answer);
    return server_answer_metrics(&e->answers, kind, answer, now);
}

static void ask_server(struct tokens_part *t, struct served *e)
{
    if (!model_server_page(kind_of(e))) {
        log_warn("the process does not show which model server it is: set kind", LOG_TEXT("serving", e->name),
                 LOG_INT("pid", e->pid));
        return;
    }
    if (kind_of(e) == SERVER_LLAMA_CPP) { /* /props answers even if the model sleeps, whereas querying the slots would wake it */
        e->told = ask_page(t, e, "props");
        if (e->told == READING_OK)
            e->told = server_answer_awake(buf_view(&t->answer));
        if (e->told != READING_OK)
            return;
    }
    e->told = ask_page(t, e, model_server_page(kind_of(e)));
    if (e->told == READING_OK && !take_answer(e, buf_view(&t->answer)))
        e->told = READING_UNSUPPORTED;
}

/* Workers of one server share its figures: the first of them holds these. */
static const struct served *taken_by(const struct tokens_part *t, const struct served *e, int32_t server)
{
    for (const struct served *other = t->own; other < e; other++)
        if (other->server == server && other->port)
            return other;
    return NULL;
}

static bool child_listens(struct tokens_part *t, struct served *e, int32_t pid)
{
    int32_t children[CHILDREN_MAX];
    size_t count = process_children(t->poller.env, pid, children, CHILDREN_MAX);
    for (size_t i = 0; i < count; i++)
        if (process_listens(t->poller.env, children[i], e->port, &e->listening)) {
            e->listener = children[i];
            return true;
        }
    return false;
}

/* Takes the port of the rule, or of the process's command line, if it listens there. Never queries its other ports. */
static bool find_front(struct tokens_part *t, struct served *e, int32_t pid, const struct serving_rule *rule)
{
    struct str args[ARGUMENTS_MAX];
    AUTO_FREE char *text = malloc(CMDLINE_MAX);
    enum model_server kind = rule && rule->kind ? rule->kind : kind_of(e);
    int len = text ? process_command(t->poller.env, pid, text, CMDLINE_MAX) : -ENOMEM;
    if (len < 0)
        return false;
    size_t count = proc_arguments((struct str){text, (size_t)len}, args, ARGUMENTS_MAX);
    e->listener = pid;
    e->port = rule ? rule->port : 0;
    if ((rule ? !model_server_may_sleep(kind, args, count) : model_server_port(kind, args, count, &e->port)) &&
        ((model_server_listens_below(kind) && child_listens(t, e, pid)) ||
         process_listens(t->poller.env, pid, e->port, &e->listening)) &&
        (rule || !serving_rules_ignore(t->rules, e->port))) {
        model_name(args, count, e->model, sizeof e->model);
        return true;
    }
    e->port = 0;
    return false;
}

/* The process on the GPU is often a child of the one that serves. `rule` has a port. */
static bool find_above(struct tokens_part *t, struct served *e, const struct serving_rule *rule)
{
    int32_t pid = e->pid;
    int parents = model_server_is_alone(kind_of(e)) ? 1 : PARENTS_MAX;
    for (int up = 0; up < parents && pid > 1; up++, pid = process_parent(t->poller.env, pid)) {
        const struct served *other = taken_by(t, e, pid);
        if (other && (!rule || other->rule == rule)) {
            memcpy(e->model, other->model, sizeof e->model);
            if (other->rule)
                set_rule(e, other->rule);
            return true;
        }
        if (!find_front(t, e, pid, rule))
            continue;
        e->server = pid;
        if (rule)
            set_rule(e, rule);
        return true;
    }
    return false;
}

/* Uses the place in the process's rule, whichever process listens there. The process itself must not be stopped. */
static bool find_told(struct tokens_part *t, struct served *e)
{
    for (const struct served *other = t->own; other < e; other++)
        if (other->rule == e->rule && other->port)
            return false; /* the other entry shows its figures */
    e->listener = 0;
    e->port = process_is_stopped(t->poller.env, e->pid) ? 0 : e->rule->port;
    return e->port != 0;
}

static void find_server(struct tokens_part *t, struct served *e)
{
    const struct serving_rule *rule;
    e->wait = e->tried++ < SOON ? 0 : AGAIN; /* it may be starting */
    if (e->rule && e->rule->process[0] && e->rule->port) {
        if (find_told(t, e))
            ask_server(t, e);
        return;
    }
    bool found = false;
    for (size_t at = 0; !found && (rule = serving_rule_of_port(t->rules, &at));)
        found = find_above(t, e, rule);
    if ((found || (kind_of(e) && find_above(t, e, NULL))) && e->port && !(e->rule && e->rule->ignore))
        ask_server(t, e);
}

/* Checks each time: a port that was closed may belong to a worker by now. */
static bool is_still_there(struct tokens_part *t, struct served *e)
{
    if (!e->listener)
        return !process_is_stopped(t->poller.env, e->pid);
    return process_still_listens(t->poller.env, e->listener, &e->listening) ||
           find_front(t, e, e->server, e->rule && e->rule->port ? e->rule : NULL);
}

static void ask_one(struct tokens_part *t, struct served *e)
{
    bool known = e->port != 0;
    if (!known && e->wait-- > 0)
        return;
    e->told = READING_UNSUPPORTED;
    if ((e->rule && e->rule->ignore) || (kind_of(e) && !model_server_page(kind_of(e))))
        return;
    if (!known)
        find_server(t, e);
    else if (is_still_there(t, e))
        ask_server(t, e);
    if (e->told == READING_UNSUPPORTED || e->told == READING_DENIED)
        e->port = 0; /* gone, or replaced */
}

static void ask_all(struct tokens_part *t)
{
    for (size_t i = 0; i < t->own_count && !t->poller.stop; i++)
        ask_one(t, &t->own[i]);
    if (t->answer.capacity > ANSWER_KEPT || !t->own_count) { /* reuse the buffer, but don't keep a large one */
        buf_done(&t->answer);
        t->answer = BUF(METRICS_MAX);
    }
    pthread_mutex_lock(&t->poller.lock);
    memcpy(t->shown, t->own, t->own_count * sizeof t->own[0]);
    t->shown_count = t->own_count;
    pthread_mutex_unlock(&t->poller.lock);
}

static int64_t tokens_part_poll(void *part)
{
    struct tokens_part *t = part;
    AUTO_SNAPSHOT const struct snapshot *s = t->poller.wanted ? engine_latest(t->poller.engine) : NULL;
    take_rules(t);
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
    if (!e->kind && !e->name[0])
        return; /* only examined because of a rule, but not a server */
    if (e->name[0])
        str_copy(p->title, sizeof p->title, str_from(e->name));
    for (size_t i = 0; i < FIGURES; i++)
        p->metric[FIGURES_FROM + i] = e->told == READING_OK ? e->answers.figure[i] : reading_absent(e->told);
    if (e->told == READING_OK) {
        memcpy(p->served, e->answers.served, sizeof p->served);
        str_copy(p->server_kind, sizeof p->server_kind, str_from(model_server_name(e->kind)));
    }
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
                                              tokens_part_poll, annotate};

static void *open_tokens(const struct part_host *host, struct error *err)
{
    (void)err;
    struct tokens_part *t = poller_open(&ask_servers, sizeof(struct tokens_part), host);
    if (!t)
        return NULL;
    t->answer = BUF(METRICS_MAX);
    t->rules = serving_rules_new(host->config);
    if (t->rules)
        return t;
    poller_close(t);
    return NULL;
}

static void reload_tokens(void *part, const struct config *config)
{
    struct tokens_part *t = part;
    struct serving_rules *fresh = serving_rules_new(config);
    poller_reload(t, config);
    if (!fresh)
        return; /* if out of memory, keep the old ones */
    pthread_mutex_lock(&t->poller.lock);
    struct serving_rules *before = t->fresh;
    t->fresh = fresh;
    pthread_mutex_unlock(&t->poller.lock);
    free(before);
    poller_wake(t);
}

static void close_tokens(void *part)
{
    struct tokens_part *t = part;
    if (!t)
        return;
    free(t->rules);
    free(t->fresh);
    buf_done(&t->answer);
    poller_close(t);
}

const struct part_ops tokens_part_ops = {
    .name = "model_servers",
    .open = open_tokens,
    .start = poller_start,
    .reload = reload_tokens,
    .stop = poller_stop,
    .close = close_tokens,
};
