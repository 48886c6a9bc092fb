/* SPDX-License-Identifier: Apache-2.0
 * Finds the worker through procfs and cgroupfs, below the sysroot.
 */
#include "guard/find.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "guard/guard_target.h"
#include "host/procfs.h"

enum { KNOWN_MAX = 1024, ANCESTORS_MAX = 64, COMM_LEN = 15 };

struct known_process {
    struct claim_identity who;
    bool ours, game;
    bool seen; /* in the last look */
};

struct finder {
    const struct env *env;
    struct guard_match match;
    bool steam;
    struct claim_identity leader;
    struct claim_identity remembered[CLAIM_WORKER_PIDS];
    size_t remembered_count;
    struct known_process known[KNOWN_MAX];
    size_t known_count;
    int unsure; /* -errno: something was unreadable in this look */
};

struct finder *finder_new(const struct env *env, const struct guard_match *match, bool steam)
{
    struct finder *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->env = env;
    f->match = *match;
    f->steam = steam;
    f->leader = match->leader;
    return f;
}

void finder_free(struct finder *f)
{
    free(f);
}

void finder_set_leader(struct finder *f, struct claim_identity leader)
{
    if (leader.pid == f->leader.pid && leader.start_key == f->leader.start_key)
        return;
    f->leader = leader;
    f->known_count = 0;
}

void finder_set_match(struct finder *f, const struct guard_match *match, bool steam)
{
    bool same = memcmp(&f->match, match, sizeof *match) == 0;
    f->known_count = 0;
    f->steam = steam;
    if (same)
        return;
    f->match = *match;
    f->leader = match->leader;
}

void finder_remember(struct finder *f, const struct claim_identity *pids, size_t count)
{
    f->remembered_count = MIN_OF(count, (size_t)CLAIM_WORKER_PIDS);
    if (f->remembered_count)
        memcpy(f->remembered, pids, f->remembered_count * sizeof *pids);
    f->known_count = 0;
}

/* ---- the listener of a port ---- */

/* The inode of the listening socket in /proc/net/tcp or tcp6: "0: 0100007F:2CAA 00000000:0000 0A ... INODE". -ESRCH: none. */
static int listening_inode(const struct env *env, const char *path, int port, int64_t *inode)
{
    enum { TABLE_MAX = 1 << 20 }; /* the kernel lists listening sockets first: ten thousand connections after them don't matter */
    AUTO_FREE char *text = malloc(TABLE_MAX);
    ssize_t len = text ? file_read_head(env, path, text, TABLE_MAX) : -ENOMEM;
    if (len < 0)
        return is_gone(len) ? -ESRCH : (int)len;
    char suffix[8];
    snprintf(suffix, sizeof suffix, ":%04X", (unsigned)port);
    struct str rest = {text, (size_t)len}, line;
    while (str_cut(&rest, '\n', &line)) {
        struct str word, fields[10];
        size_t count = 0;
        while (count < ARRAY_LEN(fields) && str_word(&line, &word))
            fields[count++] = word;
        if (count == ARRAY_LEN(fields) && str_ends(fields[1], suffix) && str_is(fields[3], "0A") && str_to_i64(fields[9], inode))
            return 0;
    }
    return -ESRCH;
}

/* 0: yes; -ESRCH: no. */
static int holds_socket(const struct env *env, int32_t pid, const char *wanted)
{
    char path[96], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    AUTO_DIR DIR *dir = dir_open(env, path);
    if (!dir)
        return is_gone(-errno) ? -ESRCH : -errno;
    int result = -ESRCH;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/fd/%.16s", pid, e->d_name);
        ssize_t len = file_read_link(env, path, target, sizeof target);
        if (len > 0 && strcmp(target, wanted) == 0)
            return 0;
        if (len < 0 && !is_gone(len) && len != -EINVAL) /* not a link: a recorded host */
            result = (int)len;
    }
    return result;
}

/* -ESRCH: nothing listens there. Other errors: something may, but can't be seen. */
static int find_listener(const struct env *env, int port, struct claim_identity *ret)
{
    int64_t inode;
    int rc = listening_inode(env, "/proc/net/tcp", port, &inode);
    int six = rc < 0 ? listening_inode(env, "/proc/net/tcp6", port, &inode) : 0;
    if (rc < 0 && six < 0)
        return rc == -ESRCH ? six : rc;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "socket:[%lld]", (long long)inode);
    AUTO_DIR DIR *proc = dir_open(env, "/proc");
    if (!proc)
        return -errno;
    int result = -ESRCH;
    for (const struct dirent *e; (e = readdir(proc));) {
        int64_t pid;
        if (!isdigit((unsigned char)e->d_name[0]) || !str_to_i64(str_from(e->d_name), &pid))
            continue;
        rc = holds_socket(env, (int32_t)pid, wanted);
        if (rc == 0)
            rc = target_started(env, ret->pid = (int32_t)pid, &ret->start_key);
        if (rc == 0)
            return 0;
        result = rc == -ESRCH ? result : rc;
    }
    return result;
}

/* ---- one process ---- */

/* 0 also if the process is gone. Records read errors: then nothing is known about the process. */
static ssize_t read_of(struct finder *f, int32_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    ssize_t len = file_read_head(f->env, path, text, size);
    if (len < 0 && !is_gone(len))
        f->unsure = (int)len;
    return MAX_OF(len, 0);
}

/* Whether the path in the unified (or systemd's) hierarchy contains this unit, or starts with this group. */
static bool in_cgroup(struct finder *f, int32_t pid)
{
    char text[4096];
    if (read_of(f, pid, "cgroup", text, sizeof text) <= 0)
        return false;
    char unit[METHOD_TEXT_SIZE + 16];
    snprintf(unit, sizeof unit, "%s%s", f->match.unit, strchr(f->match.unit, '.') ? "" : ".service");
    struct str rest = str_from(text), line, part;
    while (str_cut(&rest, '\n', &line)) {
        /* "0::/system.slice/ollama.service" */
        if (!str_cut(&line, ':', &part) || !str_cut(&line, ':', &part))
            continue;
        struct str group = line;
        size_t len = strlen(f->match.cgroup);
        if (len && str_starts(group, f->match.cgroup) &&
            (group.len == len || group.at[len] == '/' || f->match.cgroup[len - 1] == '/'))
            return true;
        while (f->match.unit[0] && str_cut(&group, '/', &part))
            if (str_is(part, unit))
                return true;
    }
    return false;
}

static bool same_name(struct str comm, const char *name)
{
    size_t len = MIN_OF(strlen(name), (size_t)COMM_LEN);
    return comm.len == len && memcmp(comm.at, name, len) == 0;
}

/* Steam starts games as ".../reaper SteamLaunch AppId=570 -- ...". */
static bool is_steam_launch(struct finder *f, int32_t pid)
{
    char text[1024];
    ssize_t len = read_of(f, pid, "cmdline", text, sizeof text);
    return len > 0 && memmem(text, (size_t)len, "SteamLaunch", 11) && memmem(text, (size_t)len, "AppId=", 6);
}

static bool is_remembered(const struct finder *f, int32_t pid, int64_t start)
{
    for (size_t i = 0; i < f->remembered_count; i++)
        if (f->remembered[i].pid == pid && f->remembered[i].start_key == start)
            return true;
    return false;
}

/* The PID was reused. The kernel doesn't reuse it while any process of the group lives, so none of the worker's is left. */
static bool is_taken(const struct env *env, struct claim_identity leader)
{
    int64_t start;
    return leader.start_key && target_started(env, leader.pid, &start) == 0 && start != leader.start_key;
}

/* Walks up from the process to its ancestors. */
static void learn_process(struct finder *f, const struct process *p, struct known_process *k)
{
    const struct guard_match *m = &f->match;
    bool by_leader = m->port || f->leader.pid, by_name = !by_leader && m->name[0];
    bool follows = f->leader.pid && !is_taken(f->env, f->leader);
    *k = (struct known_process){.who = {p->pid, p->start_key}, .ours = is_remembered(f, p->pid, p->start_key)};
    if (!by_leader && !by_name)
        k->ours |= in_cgroup(f, p->pid);
    int32_t pid = p->pid;
    for (int level = 0; level < ANCESTORS_MAX && pid > 1; level++) {
        char text[4096];
        struct proc_stat stat;
        ssize_t len = read_of(f, pid, "stat", text, sizeof text);
        if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat))
            break;
        /* A worker started by whirr leads its own process group: its orphans stay in there. */
        if (follows && (pid == f->leader.pid || stat.group == f->leader.pid))
            k->ours = true;
        if (by_name && (same_name(stat.comm, m->name) || (level == 0 && strcmp(p->name, m->name) == 0)))
            k->ours = true;
        if (f->steam && !k->game)
            k->game = is_steam_launch(f, pid);
        pid = (int32_t)stat.parent;
    }
}

/* NULL: unreadable. */
static const struct known_process *know(struct finder *f, const struct process *p)
{
    for (size_t i = 0; i < f->known_count; i++) {
        if (f->known[i].who.pid == p->pid && f->known[i].who.start_key == p->start_key) {
            f->known[i].seen = true;
            return &f->known[i];
        }
    }
    if (f->known_count == KNOWN_MAX) /* more processes than any host has: learn them again each time */
        f->known_count = 0;
    struct known_process *k = &f->known[f->known_count];
    int before = f->unsure;
    f->unsure = 0;
    learn_process(f, p, k);
    k->seen = true;
    bool unsure = f->unsure && !k->ours;
    f->known_count += f->unsure == 0; /* otherwise learn it again */
    f->unsure = f->unsure ? f->unsure : before;
    return unsure ? NULL : k;
}

static void forget_gone(struct finder *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->known_count; i++) {
        if (!f->known[i].seen)
            continue;
        f->known[kept] = f->known[i];
        f->known[kept++].seen = false;
    }
    f->known_count = kept;
}

static void add_pid(struct claim_worker *w, struct claim_identity who)
{
    if (w->pid_count < CLAIM_WORKER_PIDS && !claim_has_pid(w, who.pid))
        w->pids[w->pid_count++] = who;
}

/* ---- the whole worker ---- */

static enum worker_presence either(enum worker_presence a, enum worker_presence b)
{
    return a == WORKER_ALIVE || b == WORKER_ALIVE ? WORKER_ALIVE
           : a == WORKER_GONE && b == WORKER_GONE ? WORKER_GONE
                                                  : WORKER_UNKNOWN;
}

static enum worker_presence has_processes(const struct env *env, const char *path)
{
    char text[64];
    ssize_t len = file_read_head(env, path, text, sizeof text);
    return len > 0 ? WORKER_ALIVE : len == 0 || is_gone(len) ? WORKER_GONE : WORKER_UNKNOWN;
}

static enum worker_presence group_presence(const struct finder *f)
{
    char path[PATH_SIZE], unit[METHOD_TEXT_SIZE + 16];
    const struct guard_match *m = &f->match;
    if (m->cgroup[0]) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.procs", m->cgroup);
        return has_processes(f->env, path);
    }
    snprintf(unit, sizeof unit, "%s%s", m->unit, strchr(m->unit, '.') ? "" : ".service");
    snprintf(path, sizeof path, "/sys/fs/cgroup/system.slice/%s/cgroup.procs", unit);
    enum worker_presence of_system = has_processes(f->env, path);
    unsigned uid = (unsigned)getuid();
    snprintf(path, sizeof path, "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/app.slice/%s/cgroup.procs", uid, uid,
             unit);
    return of_system == WORKER_ALIVE ? WORKER_ALIVE : either(of_system, has_processes(f->env, path));
}

static enum worker_presence presence_of(struct finder *f, const struct claim_identity *pids, size_t count)
{
    enum worker_presence there = WORKER_GONE;
    for (size_t i = 0; i < count && there != WORKER_ALIVE; i++) {
        int rc = pids[i].pid > 0 ? target_check(f->env, pids[i], NULL) : -ESRCH;
        there = either(there, presence_from_check(rc));
        if (presence_from_check(rc) == WORKER_UNKNOWN)
            f->unsure = rc;
    }
    return there;
}

/* Only a certain absence counts as gone: an unreadable worker may be asleep, and is resumed later. */
static enum worker_presence presence(struct finder *f, const struct claim_worker *w)
{
    const struct guard_match *m = &f->match;
    enum worker_presence there = f->unsure ? WORKER_UNKNOWN : WORKER_GONE;
    there = either(there, presence_of(f, w->pids, w->pid_count));
    if (there != WORKER_ALIVE)
        there = either(there, presence_of(f, f->remembered, f->remembered_count));
    if (there != WORKER_ALIVE && !f->leader.pid && (m->unit[0] || m->cgroup[0]))
        there = either(there, group_presence(f));
    return there;
}

static void follow_leader(struct finder *f)
{
    if (f->leader.pid && !f->leader.start_key) {
        int rc = target_started(f->env, f->leader.pid, &f->leader.start_key);
        f->unsure = rc == -ESRCH ? 0 : rc;
    }
    if (!f->match.port || presence_of(f, &f->leader, 1) != WORKER_GONE)
        return;
    struct claim_identity found = {0};
    int rc = find_listener(f->env, f->match.port, &found);
    if (rc == 0 || rc == -ESRCH)
        finder_set_leader(f, rc == 0 ? found : (struct claim_identity){0});
    else
        f->unsure = rc;
}

/* A process without identity: of another PID namespace, or unreadable when sampled. */
static void look_at_nameless(struct finder *f, const struct process *p)
{
    int64_t start;
    int rc = target_started(f->env, p->pid, &start);
    if (rc < 0 && rc != -ESRCH)
        f->unsure = rc;
}

enum worker_presence finder_look(struct finder *f, const struct snapshot *s, struct claim_worker *worker,
                                 struct claim_signals *signals)
{
    worker->pid_count = 0;
    signals->game_count = 0;
    f->unsure = 0;
    follow_leader(f);
    if (presence_of(f, &f->leader, 1) != WORKER_GONE)
        add_pid(worker, f->leader);
    for (size_t g = 0; s && g < s->gpu_count; g++) {
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            const struct known_process *k = p->start_key ? know(f, p) : NULL;
            if (!p->start_key)
                look_at_nameless(f, p);
            else if (k && k->ours)
                add_pid(worker, k->who);
            else if (k && k->game && signals->game_count < ARRAY_LEN(signals->games))
                signals->games[signals->game_count++] = k->who;
        }
    }
    forget_gone(f);
    enum worker_presence there = presence(f, worker);
    signals->unsure = f->unsure;
    return there;
}
