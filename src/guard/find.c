/* SPDX-License-Identifier: Apache-2.0
 * Finding the worker through procfs and cgroupfs, below the sysroot.
 */
#include "guard/find.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "guard/target.h"
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
    if (f->leader.pid && !f->leader.start_key)
        target_started(env, f->leader.pid, &f->leader.start_key);
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
    if (f->leader.pid && !f->leader.start_key)
        target_started(f->env, f->leader.pid, &f->leader.start_key);
}

void finder_remember(struct finder *f, const struct claim_identity *pids, size_t count)
{
    f->remembered_count = MIN_OF(count, (size_t)CLAIM_WORKER_PIDS);
    if (f->remembered_count)
        memcpy(f->remembered, pids, f->remembered_count * sizeof *pids);
    f->known_count = 0;
}

/* ---- who listens on a port ---- */

/* The inode of the listening socket in /proc/net/tcp or tcp6: "0: 0100007F:2CAA 00000000:0000 0A ... INODE". */
static bool listening_inode(const struct env *env, const char *path, int port, int64_t *inode)
{
    AUTO_BUF struct buf text = BUF(4 << 20);
    if (file_read_all(env, path, &text) < 0)
        return false;
    char suffix[8];
    snprintf(suffix, sizeof suffix, ":%04X", (unsigned)port);
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        struct str word, fields[10];
        size_t count = 0;
        while (count < ARRAY_LEN(fields) && str_word(&line, &word))
            fields[count++] = word;
        if (count == ARRAY_LEN(fields) && str_ends(fields[1], suffix) && str_is(fields[3], "0A") && str_to_i64(fields[9], inode))
            return true;
    }
    return false;
}

static bool holds_socket(const struct env *env, int32_t pid, const char *wanted)
{
    char path[96], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    AUTO_DIR DIR *dir = dir_open(env, path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/fd/%.16s", pid, e->d_name);
        if (file_read_link(env, path, target, sizeof target) > 0 && strcmp(target, wanted) == 0)
            return true;
    }
    return false;
}

static bool find_listener(const struct env *env, int port, struct claim_identity *ret)
{
    int64_t inode;
    if (!listening_inode(env, "/proc/net/tcp", port, &inode) && !listening_inode(env, "/proc/net/tcp6", port, &inode))
        return false;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "socket:[%lld]", (long long)inode);
    AUTO_DIR DIR *proc = dir_open(env, "/proc");
    for (const struct dirent *e; proc && (e = readdir(proc));) {
        int64_t pid;
        if (!isdigit((unsigned char)e->d_name[0]) || !str_to_i64(str_from(e->d_name), &pid) ||
            !holds_socket(env, (int32_t)pid, wanted))
            continue;
        ret->pid = (int32_t)pid;
        return target_started(env, ret->pid, &ret->start_key);
    }
    return false;
}

/* ---- one process ---- */

/* Does the unified (or systemd's) hierarchy's path have this unit as a part, or begin with this group? */
static bool in_cgroup(const struct finder *f, int32_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    if (file_read_head(f->env, path, text, sizeof text) <= 0)
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
static bool is_steam_launch(const struct env *env, int32_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    return len > 0 && memmem(text, (size_t)len, "SteamLaunch", 11) && memmem(text, (size_t)len, "AppId=", 6);
}

static bool is_remembered(const struct finder *f, int32_t pid, int64_t start)
{
    for (size_t i = 0; i < f->remembered_count; i++)
        if (f->remembered[i].pid == pid && f->remembered[i].start_key == start)
            return true;
    return false;
}

/* Another process has its number. As long as any process of the group lives, the kernel does not give the number away: then there
 * is none of the worker's left. */
static bool is_taken(const struct env *env, struct claim_identity leader)
{
    int64_t start;
    return leader.start_key && target_started(env, leader.pid, &start) && start != leader.start_key;
}

/* Goes up from the process to its ancestors. */
static void learn(const struct finder *f, const struct process *p, struct known_process *k)
{
    const struct guard_match *m = &f->match;
    bool by_leader = m->port || f->leader.pid, by_name = !by_leader && m->name[0];
    bool follows = f->leader.pid && !is_taken(f->env, f->leader);
    *k = (struct known_process){.who = {p->pid, p->start_key}, .ours = is_remembered(f, p->pid, p->start_key)};
    if (!by_leader && !by_name)
        k->ours |= in_cgroup(f, p->pid);
    int32_t pid = p->pid;
    for (int level = 0; level < ANCESTORS_MAX && pid > 1; level++) {
        char path[64], text[4096];
        struct proc_stat stat;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        ssize_t len = file_read_head(f->env, path, text, sizeof text);
        if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat))
            break;
        /* A worker that whirr started leads its own process group: orphans of it stay in there. */
        if (follows && (pid == f->leader.pid || stat.group == f->leader.pid))
            k->ours = true;
        if (by_name && (same_name(stat.comm, m->name) || (level == 0 && strcmp(p->name, m->name) == 0)))
            k->ours = true;
        if (f->steam && !k->game)
            k->game = is_steam_launch(f->env, pid);
        pid = (int32_t)stat.parent;
    }
}

static const struct known_process *know(struct finder *f, const struct process *p)
{
    for (size_t i = 0; i < f->known_count; i++) {
        if (f->known[i].who.pid == p->pid && f->known[i].who.start_key == p->start_key) {
            f->known[i].seen = true;
            return &f->known[i];
        }
    }
    if (f->known_count == KNOWN_MAX) /* more processes than anybody has: learned again each time */
        f->known_count = 0;
    struct known_process *k = &f->known[f->known_count++];
    learn(f, p, k);
    k->seen = true;
    return k;
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
    for (size_t i = 0; i < w->pid_count; i++)
        if (w->pids[i].pid == who.pid)
            return;
    if (w->pid_count < CLAIM_WORKER_PIDS)
        w->pids[w->pid_count++] = who;
}

/* ---- the whole worker ---- */

static bool group_has_processes(const struct finder *f)
{
    char path[PATH_SIZE], text[64], unit[METHOD_TEXT_SIZE + 16];
    const struct guard_match *m = &f->match;
    if (m->cgroup[0]) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.procs", m->cgroup);
        return file_read_head(f->env, path, text, sizeof text) > 0;
    }
    snprintf(unit, sizeof unit, "%s%s", m->unit, strchr(m->unit, '.') ? "" : ".service");
    snprintf(path, sizeof path, "/sys/fs/cgroup/system.slice/%s/cgroup.procs", unit);
    if (file_read_head(f->env, path, text, sizeof text) > 0)
        return true;
    unsigned uid = (unsigned)getuid();
    snprintf(path, sizeof path, "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/app.slice/%s/cgroup.procs", uid, uid,
             unit);
    return file_read_head(f->env, path, text, sizeof text) > 0;
}

static bool any_alive(const struct finder *f, const struct claim_identity *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (target_alive(f->env, pids[i]))
            return true;
    return false;
}

static enum worker_presence presence(struct finder *f, const struct claim_worker *w)
{
    const struct guard_match *m = &f->match;
    if (w->pid_count && any_alive(f, w->pids, w->pid_count))
        return WORKER_ALIVE;
    if (any_alive(f, f->remembered, f->remembered_count))
        return WORKER_ALIVE;
    if (!f->leader.pid && (m->unit[0] || m->cgroup[0]) && group_has_processes(f))
        return WORKER_ALIVE;
    return WORKER_GONE;
}

static void follow_leader(struct finder *f)
{
    if (!f->match.port || (f->leader.pid && target_alive(f->env, f->leader)))
        return;
    struct claim_identity found = {0};
    find_listener(f->env, f->match.port, &found);
    finder_set_leader(f, found);
}

enum worker_presence finder_look(struct finder *f, const struct snapshot *s, struct claim_worker *worker,
                                 struct claim_signals *signals)
{
    worker->pid_count = 0;
    signals->game_count = 0;
    follow_leader(f);
    if (f->leader.pid && target_alive(f->env, f->leader))
        add_pid(worker, f->leader);
    for (size_t g = 0; s && g < s->gpu_count; g++) {
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            if (!p->start_key) /* not in this PID namespace: nobody can tell who it is */
                continue;
            const struct known_process *k = know(f, p);
            if (k->ours)
                add_pid(worker, k->who);
            else if (k->game && signals->game_count < ARRAY_LEN(signals->games))
                signals->games[signals->game_count++] = k->who;
        }
    }
    forget_gone(f);
    return presence(f, worker);
}
