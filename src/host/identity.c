/* SPDX-License-Identifier: Apache-2.0
 * Who a process is. A known process costs one read (its stat file) a sample; all else is read once, and again only when its name
 * changed (exec) or after a while (programs rewrite their command line).
 *
 *   pid ──▶ bucket ──▶ entry {pid, start_key, who, cpu baseline} ──▶ entry ...
 */
#include "host/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/secret/mask.h"
#include "host/procfs.h"

enum {
    BUCKETS = 256,
    ENTRIES_MAX = 16384, /* processes beyond are identified anew each time, without a CPU rate */
    KEPT_SWEEPS = 8,     /* samples without processes must not cost the CPU baselines */
    LOOK_AGAIN_MS = 30 * 1000,
    CPU_WINDOW_MS = 200, /* ticks are 10 ms: a shorter window gives noise */
    CMDLINE_SIZE = 16384,
    ENVIRON_MAX = 128 * 1024,
    COMM_CUT_LEN = 15, /* the kernel cuts names here */
    ANCESTORS_MAX = 8,
    FAMILY_LEN = 5, /* letters that the names of a program and its workers share */
};

struct entry {
    struct entry *next;
    int32_t pid, parent;
    bool ours;           /* false: this number means another process on the host */
    bool unsure;         /* whether it is ours could not be read yet */
    unsigned sweep;      /* the last one it was seen in */
    bool fresh;          /* read since the last sweep */
    struct mono learned; /* when who was read */
    struct mono cpu_at;
    int64_t cpu_ticks;
    struct reading cpu_permille;
    struct reading host_mem_bytes;
    int64_t start_key;
    struct wall started_at;
    char comm[PROCESS_NAME_SIZE]; /* as the kernel says it: a change means exec */
    char name[PROCESS_NAME_SIZE];
    char parent_name[PROCESS_NAME_SIZE];
    char user[PROCESS_USER_SIZE];
    char command[PROCESS_COMMAND_SIZE];
    char container[PROCESS_CONTAINER_SIZE];
    char model[PROCESS_MODEL_SIZE];
    char title[PROCESS_TITLE_SIZE];
    char container_name[PROCESS_CONTAINER_NAME_SIZE];
    enum reading_state container_name_state;
    char job[PROCESS_JOB_SIZE], launcher[PROCESS_JOB_SIZE];
    bool launcher_is_own; /* a program of the same name, no launcher that is known */
    struct reading rank, world_size;
};

struct identity {
    const struct env *env;
    struct users *users;
    bool show_secrets;
    bool of_host; /* /proc shows the host's PIDs */
    int64_t ticks_per_s, page_bytes;
    struct wall booted;      /* ms 0 unknown */
    int64_t booted_by_clock; /* wall minus monotonic clock when it was read, in ms */
    unsigned sweep;
    size_t count;
    struct entry *buckets[BUCKETS];
};

/* The line "btime SECONDS" of /proc/stat. It stands behind the interrupt counters, which can be tens of kilobytes. */
static struct wall boot_time(const struct env *env)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    if (file_read_all(env, "/proc/stat", &text) < 0)
        return (struct wall){0};
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        int64_t seconds;
        if (str_starts(line, "btime ") && str_to_i64((struct str){line.at + 6, line.len - 6}, &seconds) && seconds > 0 &&
            seconds < INT64_MAX / MS_PER_S)
            return (struct wall){seconds * MS_PER_S};
    }
    return (struct wall){0};
}

static int64_t clock_offset_ms(const struct env *env)
{
    return clock_wall(env->clock).ms - clock_mono(env->clock).ns / NS_PER_MS;
}

/* A daemon may start before the clock was set: the time of boot is read again when the clock was moved. */
static void follow_clock(struct identity *i)
{
    int64_t offset = clock_offset_ms(i->env);
    if (i->booted.ms && llabs(offset - i->booted_by_clock) < 2 * MS_PER_S)
        return;
    i->booted = boot_time(i->env);
    i->booted_by_clock = offset;
}

struct identity *identity_new(const struct env *env, bool show_secrets)
{
    struct identity *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->users = users_new(env);
    if (!i->users) {
        free(i);
        return NULL;
    }
    i->env = env;
    i->show_secrets = show_secrets;
    i->of_host = procfs_is_of_host(env);
    /* Ticks have been hundredths of a second on every Linux; pages are 4, 16 or 64 KiB. */
    i->ticks_per_s = MAX_OF(sysconf(_SC_CLK_TCK), 1);
    i->page_bytes = MAX_OF(sysconf(_SC_PAGESIZE), 1);
    return i;
}

void identity_free(struct identity *i)
{
    if (!i)
        return;
    for (size_t b = 0; b < BUCKETS; b++)
        while (i->buckets[b]) {
            struct entry *gone = i->buckets[b];
            i->buckets[b] = gone->next;
            free(gone);
        }
    users_free(i->users);
    free(i);
}

static ssize_t read_of(const struct identity *i, int32_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return file_read_head(i->env, path, text, size);
}

/* The kernel cuts names after 15 bytes; where the command line goes on with the same letters, it has the rest. */
static void whole_name(struct entry *e, struct str program)
{
    const char *slash = program.len ? memrchr(program.at, '/', program.len) : NULL;
    if (slash)
        program = (struct str){slash + 1, program.len - (size_t)(slash + 1 - program.at)};
    /* A program that was started by its descriptor has the number for a name before Linux 6.14. */
    bool number = e->comm[0] && strspn(e->comm, "0123456789") == strlen(e->comm);
    if (program.len && (number || (strlen(e->comm) == COMM_CUT_LEN && str_starts(program, e->comm))))
        str_copy_clean(e->name, sizeof e->name, program);
    else
        str_copy(e->name, sizeof e->name, str_from(e->comm));
}

void command_join(const struct str *args, size_t count, char *to, size_t size)
{
    AUTO_BUF struct buf text = BUF(CMDLINE_SIZE + ARGUMENTS_MAX);
    for (size_t a = 0; a < count; a++) {
        if (a)
            buf_char(&text, ' ');
        buf_str(&text, args[a]);
    }
    str_copy_clean(to, size, buf_view(&text));
}

static void learn_title(struct identity *i, struct entry *e, const struct str *args, size_t count)
{
    char path[64], directory[PATH_SIZE] = "";
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)e->pid);
    struct env quiet = *i->env; /* working directories are not for a recording of this host */
    quiet.on_read = NULL;
    if (file_read_link(&quiet, path, directory, sizeof directory) <= 0)
        directory[0] = '\0';
    command_title(args, count, str_from(directory), e->title, sizeof e->title);
}

static void learn_container(struct identity *i, struct entry *e, struct str cgroup)
{
    char container[PROCESS_CONTAINER_SIZE];
    container_name(cgroup, container, sizeof container);
    /* The files of a runtime are many and long: a name that is known stays as long as the container does. */
    if (strcmp(container, e->container) != 0 || e->container_name_state != READING_OK)
        e->container_name_state = container_label(i->env, cgroup, container, e->container_name, sizeof e->container_name);
    str_copy(e->container, sizeof e->container, str_from(container));
}

/* A container of a job often runs as root, or as a user without a name here: then the job says whose it is. Else the kernel's
 * word counts, not that of an environment which any process may set. */
static void learn_job(struct identity *i, struct entry *e, struct str cgroup, int64_t uid)
{
    AUTO_BUF struct buf environment = BUF(ENVIRON_MAX);
    char path[64];
    int64_t number;
    struct process_job job;
    struct env quiet = *i->env; /* secrets: not for a recording of this host */
    quiet.on_read = NULL;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)e->pid);
    bool known = file_read_all(&quiet, path, &environment) >= 0;
    process_job(cgroup, known ? buf_view(&environment) : (struct str){0}, &job);
    e->rank = job.rank;
    e->world_size = job.world_size;
    /* Alone it is no job, whatever started it: others of the same launcher are looked for in the whole sample. */
    str_copy(e->job, sizeof e->job, str_from(job.id[0] || reading_or(job.world_size, 1) < 2 ? job.id : e->launcher));
    if (!job.of_slurm || (uid > 0 && !str_to_i64(str_from(e->user), &number)))
        return;
    if (job.uid >= 0)
        users_name(i->users, job.uid, e->user, sizeof e->user);
    else if (job.user[0])
        str_copy(e->user, sizeof e->user, str_from(job.user));
}

/* The nearest launcher above the process. Else the parent, if it is a program of the same kind: one that has forked or spawned its
 * workers ("python3", "VLLM::EngineCore" of "VLLM::Worker"). A shell or a session starts anything. One that has ended is not
 * forgotten. */
static void learn_launcher(struct identity *i, struct entry *e)
{
    char text[CMDLINE_SIZE];
    struct str args[ARGUMENTS_MAX];
    struct proc_stat stat;
    int64_t pid = e->parent;
    for (int above = 0; above < ANCESTORS_MAX && !e->launcher[0] && pid > 1 && pid <= INT32_MAX; above++) {
        ssize_t len = read_of(i, (int32_t)pid, "cmdline", text, sizeof text);
        size_t count = len > 0 ? proc_arguments((struct str){text, (size_t)len}, args, ARGUMENTS_MAX) : 0;
        const char *name = job_launcher(args, count);
        if (name)
            snprintf(e->launcher, sizeof e->launcher, "%s:%d", name, (int)pid);
        len = read_of(i, (int32_t)pid, "stat", text, sizeof text);
        pid = len > 0 && proc_stat_parse((struct str){text, (size_t)len}, &stat) ? stat.parent : 0;
    }
    if (e->launcher[0] || e->parent <= 1 || strncmp(e->comm, e->parent_name, FAMILY_LEN) != 0)
        return;
    snprintf(e->launcher, sizeof e->launcher, "%.15s:%d", e->comm, (int)e->parent);
    e->launcher_is_own = true;
}

/* Everything that stays as long as the process does what it does. */
static void identity_learn(struct identity *i, struct entry *e)
{
    char text[CMDLINE_SIZE];
    struct str args[ARGUMENTS_MAX];
    e->learned = clock_mono(i->env->clock);
    e->user[0] = e->command[0] = e->model[0] = e->title[0] = '\0';

    ssize_t len = read_of(i, e->pid, "cmdline", text, sizeof text);
    size_t count = len > 0 ? proc_arguments((struct str){text, (size_t)len}, args, ARGUMENTS_MAX) : 0;
    whole_name(e, count ? args[0] : (struct str){0});
    model_name(args, count, e->model, sizeof e->model);
    if (!e->model[0])
        ollama_model_name(i->env, e->pid, args, count, e->model, sizeof e->model);
    learn_title(i, e, args, count);
    if (i->show_secrets)
        command_join(args, count, e->command, sizeof e->command);
    else
        mask_arguments(args, count, e->command, sizeof e->command);

    struct proc_status status;
    len = read_of(i, e->pid, "status", text, sizeof text);
    proc_status_parse((struct str){text, len > 0 ? (size_t)len : 0}, &status);
    if (status.uid >= 0)
        users_name(i->users, status.uid, e->user, sizeof e->user);

    len = read_of(i, e->pid, "cgroup", text, sizeof text);
    struct str cgroup = {text, len > 0 ? (size_t)len : 0};
    learn_container(i, e, cgroup);
    learn_launcher(i, e);
    learn_job(i, e, cgroup, status.uid);
}

/* Of the parent only the name: read again when another process adopted this one. */
static void learn_parent(struct identity *i, struct entry *e, int64_t parent)
{
    char text[1024];
    struct proc_stat stat;
    e->parent = parent > 0 && parent <= INT32_MAX ? (int32_t)parent : 0;
    e->parent_name[0] = '\0';
    ssize_t len = e->parent ? read_of(i, e->parent, "stat", text, sizeof text) : 0;
    if (len > 0 && proc_stat_parse((struct str){text, (size_t)len}, &stat))
        str_copy_clean(e->parent_name, sizeof e->parent_name, stat.comm);
}

static struct entry *identity_find(struct identity *i, int32_t pid)
{
    for (struct entry *e = i->buckets[(uint32_t)pid % BUCKETS]; e; e = e->next)
        if (e->pid == pid)
            return e;
    return NULL;
}

static void identity_forget(struct identity *i, int32_t pid)
{
    for (struct entry **at = &i->buckets[(uint32_t)pid % BUCKETS]; *at; at = &(*at)->next)
        if ((*at)->pid == pid) {
            struct entry *gone = *at;
            *at = gone->next;
            free(gone);
            i->count--;
            return;
        }
}

static struct entry *identity_add(struct identity *i, int32_t pid)
{
    struct entry *e = i->count < ENTRIES_MAX ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return NULL;
    e->pid = pid;
    e->next = i->buckets[(uint32_t)pid % BUCKETS];
    i->buckets[(uint32_t)pid % BUCKETS] = e;
    i->count++;
    return e;
}

static struct reading resident(struct identity *i, const struct entry *e, const struct proc_stat *stat)
{
    /* The pages of a recorded machine may be of another size than ours: there the text in kB counts. */
    if (env_is_recorded(i->env)) {
        char text[4096];
        struct proc_status status;
        ssize_t len = read_of(i, e->pid, "status", text, sizeof text);
        proc_status_parse((struct str){text, len > 0 ? (size_t)len : 0}, &status);
        if (status.vm_rss_bytes >= 0)
            return reading_ok(status.vm_rss_bytes);
    }
    int64_t bytes;
    if (stat->rss_pages < 0 || __builtin_mul_overflow(stat->rss_pages, i->page_bytes, &bytes))
        return reading_absent(READING_FAILED);
    return reading_ok(bytes);
}

/* At the first look: the mean over the life of the process, as ps(1) shows it. */
static struct reading cpu_over_life(const struct identity *i, const struct entry *e, int64_t ticks)
{
    int64_t age_ms = clock_wall(i->env->clock).ms - e->started_at.ms;
    if (env_is_recorded(i->env) || !e->started_at.ms || age_ms < CPU_WINDOW_MS)
        return reading_absent(READING_PENDING);
    return reading_ok((int64_t)((double)MAX_OF(ticks, 0) * 1000.0 * 1000.0 / (double)(i->ticks_per_s * age_ms) + 0.5));
}

static void measure_cpu(struct identity *i, struct entry *e, int64_t ticks)
{
    struct mono now = clock_mono(i->env->clock);
    if (e->cpu_permille.state == READING_UNREAD) {
        e->cpu_permille = cpu_over_life(i, e, ticks);
        e->cpu_at = now;
        e->cpu_ticks = ticks;
        return;
    }
    int64_t elapsed_ms = mono_since_ms(now, e->cpu_at);
    if (elapsed_ms < CPU_WINDOW_MS)
        return; /* keeps the last rate */
    int64_t used = MAX_OF(ticks - e->cpu_ticks, 0);
    e->cpu_permille = reading_ok((int64_t)((double)used * 1000.0 * 1000.0 / (double)(i->ticks_per_s * elapsed_ms) + 0.5));
    e->cpu_at = now;
    e->cpu_ticks = ticks;
}

static void meet(struct identity *i, struct entry *e, const struct proc_stat *stat)
{
    e->start_key = stat->start_ticks;
    follow_clock(i);
    if (i->booted.ms && stat->start_ticks >= 0 && stat->start_ticks < INT64_MAX / MS_PER_S)
        e->started_at = (struct wall){i->booted.ms + stat->start_ticks * MS_PER_S / i->ticks_per_s};
    int holds = i->of_host ? 1 : process_holds_gpu(i->env, e->pid);
    e->ours = holds > 0;
    e->unsure = holds < 0;
}

static struct entry *identity_keep(const struct identity *i, struct entry *e)
{
    e->sweep = i->sweep;
    e->fresh = true;
    return e;
}

/* Brings the entry of a pid up to date; NULL when no such process can be seen. `spare` serves where the cache is full. */
static struct entry *identity_look(struct identity *i, int32_t pid, struct entry *spare)
{
    struct entry *e = identity_find(i, pid);
    if (e && e->fresh)
        return e; /* the same process on another GPU of this sample */

    char text[1024];
    struct proc_stat stat;
    ssize_t len = read_of(i, pid, "stat", text, sizeof text);
    if (len < 0 && !is_gone(len)) /* no descriptor, no memory: it is still who it was */
        return e && !e->unsure ? identity_keep(i, e) : NULL;
    if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat)) {
        identity_forget(i, pid);
        return NULL;
    }
    if (e && e->start_key != stat.start_ticks) { /* the number was given to another process */
        identity_forget(i, pid);
        e = NULL;
    }
    bool is_new = !e;
    if (is_new) {
        e = identity_add(i, pid);
        if (!e) {
            *spare = (struct entry){.pid = pid};
            e = spare;
        }
        meet(i, e, &stat);
    }
    identity_keep(i, e);
    if (!is_new && e->unsure)
        meet(i, e, &stat);
    if (!e->ours)
        return e;

    char comm[PROCESS_NAME_SIZE];
    str_copy_clean(comm, sizeof comm, stat.comm);
    if (is_new || e->parent != stat.parent)
        learn_parent(i, e, stat.parent);
    if (is_new || strcmp(comm, e->comm) != 0 || mono_since_ms(clock_mono(i->env->clock), e->learned) >= LOOK_AGAIN_MS) {
        str_copy(e->comm, sizeof e->comm, str_from(comm));
        identity_learn(i, e);
    }
    e->host_mem_bytes = resident(i, e, &stat);
    measure_cpu(i, e, stat.cpu_ticks);
    return e;
}

static void keep_or_copy(char *to, size_t size, const char *from)
{
    if (!to[0])
        str_copy(to, size, str_from(from));
}

void identity_fill(struct identity *i, struct process *p)
{
    if (p->start_key || p->started_at.ms) /* the source knows its processes: they are not of this machine */
        return;
    struct entry spare;
    struct entry *e = p->pid > 0 ? identity_look(i, p->pid, &spare) : NULL;
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
    if (!e->launcher_is_own || p->type != PROCESS_GRAPHICS) /* browsers start processes of their own for every purpose */
        keep_or_copy(p->launcher, sizeof p->launcher, e->launcher);
    p->rank = e->rank;
    p->world_size = e->world_size;
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
        for (struct entry **at = &i->buckets[b]; *at;) {
            struct entry *e = *at;
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
