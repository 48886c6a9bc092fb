/* SPDX-License-Identifier: Apache-2.0
 * Identifies processes. A known process costs one look per sample; everything else is read once, and again only after its name
 * changed (exec) or after a while (programs rewrite their command line). Each system reads in its own way: who.h.
 *
 *   pid ──▶ bucket ──▶ who {pid, start_key, names, cpu baseline} ──▶ who ...
 */
#include "host/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/words.h"
#include "base/secret/mask.h"
#include "host/listens.h"
#include "host/procfs.h"
#include "host/who.h"

enum {
    BUCKETS = 256,
    ENTRIES_MAX = 16384, /* beyond that, processes are identified each time, without a CPU rate */
    KEPT_SWEEPS = 8,     /* samples without processes must not lose the CPU baselines */
    LOOK_AGAIN_MS = 30 * 1000,
    CPU_WINDOW_MS = 200, /* ticks are 10 ms: a shorter window gives noise */
    CMDLINE_SIZE = 16384,
    ANCESTORS_MAX = 8,
    FAMILY_LEN = 5, /* letters that names of a program and its workers have in common */
};

struct identity {
    const struct env *env;
    struct who_reader *reader;
    int64_t ticks_per_s;
    unsigned sweep;
    size_t count;
    struct who *buckets[BUCKETS];
};

struct identity *identity_new(const struct env *env, bool show_secrets)
{
    struct identity *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->reader = who_reader_new(env, show_secrets);
    if (!i->reader) {
        free(i);
        return NULL;
    }
    i->env = env;
    i->ticks_per_s = who_ticks_per_s(i->reader);
    return i;
}

void identity_free(struct identity *i)
{
    if (!i)
        return;
    for (size_t b = 0; b < BUCKETS; b++)
        while (i->buckets[b]) {
            struct who *gone = i->buckets[b];
            i->buckets[b] = gone->next;
            free(gone);
        }
    who_reader_free(i->reader);
    free(i);
}

/* The nearest launcher among the ancestors; else the parent if it is the same kind of program, which forked or spawned workers
 * ("python3", "VLLM::EngineCore" of "VLLM::Worker"). A shell or session starts anything, so it doesn't count. Keeps a launcher
 * that ended. */
void who_learn_launcher(const struct env *env, struct who *w)
{
    char text[CMDLINE_SIZE];
    struct str args[ARGUMENTS_MAX];
    int32_t pid = w->parent;
    for (int above = 0; above < ANCESTORS_MAX && !w->launcher[0] && pid > 1; above++, pid = process_parent(env, pid)) {
        const char *name = job_launcher(args, who_arguments(env, pid, text, sizeof text, args, ARGUMENTS_MAX));
        if (name)
            snprintf(w->launcher, sizeof w->launcher, "%s:%d", name, (int)pid);
    }
    if (w->launcher[0] || w->parent <= 1 || strncmp(w->comm, w->parent_name, FAMILY_LEN) != 0)
        return;
    snprintf(w->launcher, sizeof w->launcher, "%.15s:%d", w->comm, (int)w->parent);
    w->launcher_is_own = true;
}

void who_take_job(struct who *w, const struct process_job *job)
{
    w->rank = job->rank;
    w->world_size = job->world_size;
    w->variables = job->variables;
    /* A single process isn't a job, whatever started it: jobs_assign() looks for others of its launcher. */
    str_copy(w->job, sizeof w->job, str_from(job->id[0] || reading_or(job->world_size, 1) < 2 ? job->id : w->launcher));
}

static struct who *identity_find(struct identity *i, int32_t pid)
{
    for (struct who *e = i->buckets[(uint32_t)pid % BUCKETS]; e; e = e->next)
        if (e->pid == pid)
            return e;
    return NULL;
}

static void identity_forget(struct identity *i, int32_t pid)
{
    for (struct who **at = &i->buckets[(uint32_t)pid % BUCKETS]; *at; at = &(*at)->next)
        if ((*at)->pid == pid) {
            struct who *gone = *at;
            *at = gone->next;
            free(gone);
            i->count--;
            return;
        }
}

static struct who *identity_add(struct identity *i, int32_t pid)
{
    struct who *e = i->count < ENTRIES_MAX ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return NULL;
    e->pid = pid;
    e->next = i->buckets[(uint32_t)pid % BUCKETS];
    i->buckets[(uint32_t)pid % BUCKETS] = e;
    i->count++;
    return e;
}

/* On the first look: the mean over the life of the process, like ps(1). */
static struct reading cpu_over_life(const struct identity *i, const struct who *e, int64_t ticks)
{
    int64_t age_ms = clock_wall(i->env->clock).ms - e->started_at.ms;
    if (env_is_recorded(i->env) || !e->started_at.ms || age_ms < CPU_WINDOW_MS)
        return reading_absent(READING_PENDING);
    return reading_ok((int64_t)((double)MAX_OF(ticks, 0) * 1000.0 * 1000.0 / (double)(i->ticks_per_s * age_ms) + 0.5));
}

static void measure_cpu(struct identity *i, struct who *e, int64_t ticks)
{
    struct mono now = clock_mono(i->env->clock);
    if (ticks < 0) {
        e->cpu_permille = reading_absent(READING_UNSUPPORTED);
        return;
    }
    if (e->cpu_permille.state == READING_UNREAD) {
        e->cpu_permille = cpu_over_life(i, e, ticks);
        e->cpu_at = now;
        e->cpu_ticks = ticks;
        return;
    }
    int64_t elapsed_ms = mono_since_ms(now, e->cpu_at);
    if (elapsed_ms < CPU_WINDOW_MS)
        return; /* keep the last rate */
    int64_t used = MAX_OF(ticks - e->cpu_ticks, 0);
    e->cpu_permille = reading_ok((int64_t)((double)used * 1000.0 * 1000.0 / (double)(i->ticks_per_s * elapsed_ms) + 0.5));
    e->cpu_at = now;
    e->cpu_ticks = ticks;
}

static struct who *identity_keep(const struct identity *i, struct who *e)
{
    e->sweep = i->sweep;
    e->fresh = true;
    return e;
}

/* Updates the entry of a pid; NULL: not visible. Uses `spare` if the cache is full. */
static struct who *identity_look(struct identity *i, int32_t pid, struct who *spare)
{
    struct who *e = identity_find(i, pid);
    if (e && e->fresh)
        return e; /* the same process on another GPU of this sample */

    struct who_now now;
    int rc = who_look(i->reader, pid, &now);
    if (rc < 0 && !is_gone(rc)) /* out of descriptors or memory: assume that nothing changed */
        return e && !e->unsure ? identity_keep(i, e) : NULL;
    if (rc < 0) {
        identity_forget(i, pid);
        return NULL;
    }
    if (e && e->start_key != now.start_key) { /* the PID was reused */
        identity_forget(i, pid);
        e = NULL;
    }
    bool is_new = !e;
    if (is_new) {
        e = identity_add(i, pid);
        if (!e) {
            *spare = (struct who){.pid = pid};
            e = spare;
        }
        e->start_key = now.start_key;
        who_meet(i->reader, e, &now);
    }
    identity_keep(i, e);
    if (!is_new && e->unsure)
        who_meet(i->reader, e, &now);
    if (!e->ours)
        return e;

    if (is_new || e->parent != now.parent)
        who_learn_parent(i->reader, e, now.parent);
    if (is_new || strcmp(now.comm, e->comm) != 0 || mono_since_ms(clock_mono(i->env->clock), e->learned) >= LOOK_AGAIN_MS) {
        str_copy(e->comm, sizeof e->comm, str_from(now.comm));
        e->learned = clock_mono(i->env->clock);
        who_learn(i->reader, e);
    }
    e->host_mem_bytes = who_memory(i->reader, e, &now);
    measure_cpu(i, e, now.cpu_ticks);
    return e;
}

static void keep_or_copy(char *to, size_t size, const char *from)
{
    if (!to[0])
        str_copy(to, size, str_from(from));
}

void identity_fill(struct identity *i, struct process *p)
{
    if (p->start_key || p->started_at.ms) /* the source identified its processes: they aren't on this host */
        return;
    struct who spare;
    struct who *e = p->pid > 0 ? identity_look(i, p->pid, &spare) : NULL;
    p->visible = e && e->ours;
    if (!p->visible)
        return;
    p->start_key = e->start_key;
    p->started_at = e->started_at;
    p->parent = e->parent;
    keep_or_copy(p->parent_name, sizeof p->parent_name, e->parent_name);
    keep_or_copy(p->name, sizeof p->name, e->name);
    keep_or_copy(p->user, sizeof p->user, e->user);
    keep_or_copy(p->command, sizeof p->command, e->command);
    keep_or_copy(p->container, sizeof p->container, e->container);
    keep_or_copy(p->model, sizeof p->model, e->model);
    keep_or_copy(p->title, sizeof p->title, e->title);
    keep_or_copy(p->container_name, sizeof p->container_name, e->container_name);
    keep_or_copy(p->job, sizeof p->job, e->job);
    if (!e->launcher_is_own || p->type != PROCESS_GRAPHICS) /* browsers fork processes for every purpose */
        keep_or_copy(p->launcher, sizeof p->launcher, e->launcher);
    p->rank = e->rank;
    p->world_size = e->world_size;
    p->variables = e->variables;
    p->container_name_state = e->container_name_state;
    if (p->cpu_permille.state == READING_UNREAD)
        p->cpu_permille = e->cpu_permille;
    if (p->host_mem_bytes.state == READING_UNREAD)
        p->host_mem_bytes = e->host_mem_bytes;
}

void identity_sweep(struct identity *i)
{
    i->sweep++;
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct who **at = &i->buckets[b]; *at;) {
            struct who *e = *at;
            e->fresh = false;
            if (i->sweep - e->sweep <= KEPT_SWEEPS) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            free(e);
            i->count--;
        }
}

/* ---- User names, each looked up once: the system may ask a server and take its time ---- */

enum {
    USERS_MAX = 512,              /* beyond that, the oldest makes room */
    ASK_AGAIN_MS = 5 * 60 * 1000, /* a user without a name may get one */
};

struct user {
    int64_t uid;
    struct mono asked;
    bool named;
    char name[USER_NAME_SIZE];
};

struct users {
    const struct env *env;
    struct user known[USERS_MAX];
    size_t count, next;
};

struct users *users_new(const struct env *env)
{
    struct users *u = calloc(1, sizeof *u);
    if (u)
        u->env = env;
    return u;
}

void users_free(struct users *u)
{
    free(u);
}

void users_name(struct users *u, int64_t uid, char *to, size_t size)
{
    struct mono now = clock_mono(u->env->clock);
    struct user *user = NULL;
    for (size_t i = 0; i < u->count && !user; i++)
        if (u->known[i].uid == uid)
            user = &u->known[i];
    if (!user || (!user->named && mono_since_ms(now, user->asked) > ASK_AGAIN_MS)) {
        if (!user) {
            user = &u->known[u->next];
            u->next = (u->next + 1) % USERS_MAX;
            u->count = MIN_OF(u->count + 1, (size_t)USERS_MAX);
        }
        *user = (struct user){.uid = uid, .asked = now};
        user->named = users_look_up(u->env, uid, user->name);
        if (!user->named)
            snprintf(user->name, sizeof user->name, "%lld", (long long)uid);
    }
    str_copy(to, size, str_from(user->name));
}

/* ---- Details of one process for the person who asks: cleaned, with secrets masked ---- */

enum { LINE_SIZE = 4096, VARIABLES_MAX = 1024 };

void details_add(struct buf *out, const char *label, const char *text)
{
    char clean[LINE_SIZE];
    str_copy_clean(clean, sizeof clean, str_from(text));
    buf_printf(out, "%s\t%s\n", label, clean);
}

/* Why procfs(5) hides something from this user. */
const char *details_refusal(int64_t error)
{
    if (error == -ENOSYS)
        return "this system does not show it";
    return error == -EACCES || error == -EPERM ? "only its user and " WORD_ADMINISTRATOR " can read it" : "could not be read";
}

void details_add_command(struct buf *out, const struct str *args, size_t count, bool show_secrets)
{
    char line[LINE_SIZE] = "";
    if (show_secrets)
        command_join(args, count, line, sizeof line);
    else
        mask_arguments(args, count, line, sizeof line);
    details_add(out, "Command", line);
}

void details_add_environment(struct buf *out, struct str variables, bool show_secrets)
{
    struct str variable;
    const char *label = "Environment";
    for (int i = 0; i < VARIABLES_MAX && str_cut(&variables, '\0', &variable); i++) {
        char line[LINE_SIZE];
        if (!variable.len)
            continue;
        if (show_secrets)
            str_copy_clean(line, sizeof line, variable);
        else
            mask_arguments(&variable, 1, line, sizeof line);
        details_add(out, label, line);
        label = "";
    }
}
