/* SPDX-License-Identifier: Apache-2.0
 * The peer of a process: the other end of the pipe or connection that its main thread waits on. The kernel names the file
 * (/proc/PID/syscall); without permission, or with several files at once, the peer is known only if there is just one.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"
#include "host/linux/process_files.h"

enum {
    AGAIN_MS = 10 * 1000, /* doubles for the same file: a search takes milliseconds */
    AGAIN_MAX_MS = 160 * 1000,
    EXPENSIVE = 32, /* counts as this many files */
    TABLE_BYTES = 4 << 20,
    FILES_OF_ONE = 256,
    FILES_OF_ALL = 16384,
    POLLED_MAX = 64,
    ESTABLISHED = 1,
    CPU_LEAST_MS = 300,
};

/* ---- the file it waits on ---- */

enum end_kind { END_NONE, END_PIPE, END_SOCKET, END_NAMED };

struct end {
    enum end_kind kind;
    uint64_t inode;
    char path[96]; /* of a named one: a FIFO */
};

static struct end end_of(const struct env *env, int32_t pid, const char *fd)
{
    char target[PATH_SIZE];
    struct end e = {0};
    ssize_t n = proc_fd(env, pid, fd, target, sizeof target);
    struct str link = {target, n > 0 ? (size_t)n : 0};
    size_t skip = str_starts(link, "socket:[") ? 8 : str_starts(link, "pipe:[") ? 6 : 0;
    if (skip && str_ends(link, "]") && str_to_u64((struct str){link.at + skip, link.len - skip - 1}, &e.inode))
        e.kind = skip == 8 ? END_SOCKET : END_PIPE;
    if (str_starts(link, "/") && link.len < sizeof e.path) {
        e.kind = END_NAMED;
        str_copy(e.path, sizeof e.path, link);
    }
    return e;
}

static bool end_same(const struct end *a, const struct end *b)
{
    return a->kind != END_NONE && a->kind == b->kind && a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

struct waited {
    bool is_one, writes; /* a read or write of one file */
    bool is_lock;        /* a lock, not a file */
    bool sleeps;         /* select or poll without files: how Python slept before 3.11 */
    int64_t fd;          /* or the epoll's */
    size_t polled;       /* files of the epoll */
    int64_t fds[POLLED_MAX];
};

static void read_epoll(struct evidence_reader *r, const struct evidence_memory *w, struct waited *ret)
{
    char name[48], text[4096];
    struct str line, word;
    snprintf(name, sizeof name, "fdinfo/%d", (int)ret->fd);
    ssize_t n = budget_read(r, w->directory, name, text, sizeof text);
    struct str rest = {text, n > 0 ? (size_t)n : 0};
    while (ret->polled < POLLED_MAX && str_cut(&rest, '\n', &line))
        if (str_starts(line, "tfd:") && str_word(&line, &word) && str_word(&line, &word) &&
            str_to_i64(word, &ret->fds[ret->polled]))
            ret->polled++;
}

static bool read_argument(struct str *rest, int64_t *ret)
{
    struct str word;
    if (!str_word(rest, &word))
        return false;
    return str_to_cursor(str_starts(word, "0x") ? (struct str){word.at + 2, word.len - 2} : word, ret);
}

static bool is_call(int64_t call, const long *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (call == calls[i])
            return true;
    return false;
}

/* "45 0x5 0x7ffd... "; false: running right now. */
static bool read_syscall(struct evidence_reader *r, const struct evidence_memory *w, struct waited *ret)
{
    static const long reads[] = {SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg};
    static const long writes[] = {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg};
    /* Newer architectures lack the first of each. */
    static const long epolls[] = {
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
        SYS_epoll_pwait};
    static const long selects[] = {
#ifdef SYS_select
        SYS_select,
#endif
        SYS_pselect6};
    static const long polls[] = {
#ifdef SYS_poll
        SYS_poll,
#endif
        SYS_ppoll};
    char text[256];
    struct str number;
    int64_t call, count = 1, list;
    *ret = (struct waited){.fd = -1};
    ssize_t n = budget_read(r, w->directory, "syscall", text, sizeof text);
    struct str rest = {text, n > 0 ? (size_t)n : 0};
    if (n <= 0)
        return n != 0; /* not permitted, but the kind of wait is known */
    if (!str_word(&rest, &number) || !str_to_i64(number, &call))
        return false;
    ret->writes = is_call(call, writes, ARRAY_LEN(writes));
    ret->is_one = ret->writes || is_call(call, reads, ARRAY_LEN(reads));
    ret->is_lock = call == SYS_futex;
    bool epoll = is_call(call, epolls, ARRAY_LEN(epolls));
    if (ret->is_one || epoll)
        return read_argument(&rest, &ret->fd) && (!epoll || (read_epoll(r, w, ret), true));
    if (is_call(call, selects, ARRAY_LEN(selects)))
        ret->sleeps = read_argument(&rest, &count) && count == 0;
    else if (is_call(call, polls, ARRAY_LEN(polls)))
        ret->sleeps = read_argument(&rest, &list) && read_argument(&rest, &count) && count == 0;
    return true;
}

/* ---- connections ---- */

struct connection {
    char local[40], remote[40]; /* in the kernel's format: "0100007F:1F90" */
    uint64_t inode;
};

static bool read_connection(struct str line, struct connection *ret)
{
    struct str word[10];
    int64_t state;
    for (size_t i = 0; i < ARRAY_LEN(word); i++)
        if (!str_word(&line, &word[i]))
            return false;
    str_copy(ret->local, sizeof ret->local, word[1]);
    str_copy(ret->remote, sizeof ret->remote, word[2]);
    return str_to_cursor(word[3], &state) && state == ESTABLISHED && str_to_u64(word[9], &ret->inode);
}

/* "127.0.0.1:8080", "[::1]:8080"; a mapped IPv4 address in IPv4 form. */
static void write_endpoint(const char *text, char *to, size_t size)
{
    struct str rest = str_from(text), address;
    uint32_t words[4] = {0};
    char name[INET6_ADDRSTRLEN] = "?";
    int64_t port = 0, word;
    if (!str_cut(&rest, ':', &address) || !str_to_cursor(rest, &port))
        return;
    for (size_t i = 0; i < 4 && address.len >= 8 * (i + 1); i++)
        if (str_to_cursor((struct str){address.at + 8 * i, 8}, &word))
            words[i] = (uint32_t)word;
    bool six = address.len == 32, mapped = six && !words[0] && !words[1] && words[2] == htonl(0xffff);
    inet_ntop(six && !mapped ? AF_INET6 : AF_INET, mapped ? &words[3] : words, name, sizeof name);
    snprintf(to, size, six && !mapped ? "[%s]:%d" : "%s:%d", name, (int)port);
}

struct table {
    char *text;
    size_t len;
};

static struct table read_table(const struct evidence_reader *r, const struct evidence_memory *w, const char *name)
{
    char file[32];
    struct env quiet = unrecorded(r->env);
    struct table t = {.text = malloc(TABLE_BYTES)};
    snprintf(file, sizeof file, "net/%s", name);
    ssize_t n = t.text ? proc_read(&quiet, w->watched.target.pid, file, t.text, TABLE_BYTES) : 0;
    t.len = n > 0 ? (size_t)n : 0;
    return t;
}

/* The other end of a connection within this host: swaps local and remote. */
static uint64_t other_inode(const struct table *t, const struct connection *c)
{
    struct connection other;
    for (struct str rest = {t->text, t->len}, line; str_cut(&rest, '\n', &line);)
        if (read_connection(line, &other) && strcmp(other.local, c->remote) == 0 && strcmp(other.remote, c->local) == 0)
            return other.inode;
    return 0;
}

/* ---- the process at the other end ---- */

static bool holds(const struct evidence_reader *r, int32_t pid, const struct end *end, bool writes, int *left)
{
    char path[64], text[256];
    struct env quiet = unrecorded(r->env);
    AUTO_DIR DIR *dir = proc_dir(&quiet, pid, "fd");
    const struct dirent *e;
    for (int i = 0; dir && i<FILES_OF_ONE && * left> 0 && (e = readdir(dir)); i++, --*left) {
        struct end its = e->d_name[0] == '.' ? (struct end){0} : end_of(&quiet, pid, e->d_name);
        if (!end_same(&its, end))
            continue;
        if (its.kind == END_SOCKET)
            return true;
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", (int)pid, e->d_name);
        ssize_t n = file_read_head(&quiet, path, text, sizeof text);
        struct str rest = {text, n > 0 ? (size_t)n : 0}, line, word, flags = {"", 0};
        while (str_cut(&rest, '\n', &line))
            if (str_starts(line, "flags:") && str_word(&line, &word))
                str_word(&line, &flags);
        char access = flags.len ? flags.at[flags.len - 1] : '?'; /* an octal digit: 0 read, 1 write, 2 both */
        if (access == '2' || access == (writes ? '1' : '0'))
            return true;
    }
    return false;
}

/* Checks its children and parent first, then all others. 0: none accessible. */
static int32_t holder_of(const struct evidence_reader *r, const struct evidence_memory *w, const struct end *end, bool writes)
{
    int left = FILES_OF_ALL;
    int32_t own = w->watched.target.pid;
    for (size_t i = 0; i < w->children.count; i++)
        if (holds(r, w->children.list[i].pid, end, writes, &left))
            return w->children.list[i].pid;
    int64_t parent = w->looks[w->look_count - 1].stat.parent;
    if (parent > 1 && holds(r, (int32_t)parent, end, writes, &left))
        return (int32_t)parent;
    AUTO_DIR DIR *dir = dir_open(r->env, "/proc");
    const struct dirent *e;
    while (dir && left > 0 && (e = readdir(dir))) {
        int64_t pid;
        if (str_to_i64(str_from(e->d_name), &pid) && pid > 1 && pid <= INT32_MAX && pid != own &&
            holds(r, (int32_t)pid, end, writes, &left))
            return (int32_t)pid;
    }
    return 0;
}

static bool read_peer_stat(struct evidence_reader *r, int32_t pid, char *name, size_t size, struct proc_stat *stat)
{
    char file[32], text[1024];
    snprintf(file, sizeof file, "%d/stat", (int)pid);
    ssize_t n = budget_read(r, r->proc, file, text, sizeof text);
    if (n <= 0 || !proc_stat_parse((struct str){text, (size_t)n}, stat))
        return false;
    if (name)
        str_copy_clean(name, size, stat->comm);
    stat->comm = (struct str){0};
    return true;
}

/* "redis.service", or the name of the process. */
static void name_peer(struct evidence_reader *r, int32_t pid, char *name, size_t size)
{
    char file[32], text[512];
    struct str path, unit;
    snprintf(file, sizeof file, "%d/cgroup", (int)pid);
    ssize_t n = budget_read(r, r->proc, file, text, sizeof text);
    if (n <= 0 || !cgroup_path((struct str){text, (size_t)n}, NULL, &path))
        return;
    unit = address_file_name(path);
    if (str_ends(unit, ".service") && unit.len < size && !str_starts(unit, "user@"))
        str_copy_clean(name, size, unit);
}

/* ---- a look ---- */

static void take(struct evidence_reader *r, struct peer_memory *m, int32_t pid, const char *place)
{
    char name[EVIDENCE_NAME_SIZE] = "";
    struct proc_stat stat;
    m->pid = 0;
    m->cpu_at.ns = 0;
    m->cpu = reading_absent(READING_PENDING);
    str_copy(m->text, sizeof m->text, str_from(place));
    if (!pid || !read_peer_stat(r, pid, name, sizeof name, &stat))
        return;
    name_peer(r, pid, name, sizeof name);
    m->pid = pid;
    m->start_ticks = stat.start_ticks;
    if (place[0])
        snprintf(m->text, sizeof m->text, "%s (%s, PID %d)", place, name, (int)pid);
    else
        snprintf(m->text, sizeof m->text, "%s (PID %d)", name, (int)pid);
}

static bool is_polled(const struct waited *by, int64_t fd)
{
    for (size_t i = 0; i < by->polled; i++)
        if (by->fds[i] == fd)
            return true;
    return !by->polled;
}

/* The candidate files; a read or write has only one. */
static size_t list_ends(const struct evidence_reader *r, const struct evidence_memory *w, const struct waited *by, struct end *ends)
{
    char path[64];
    int64_t fd;
    size_t count = 0;
    struct env quiet = unrecorded(r->env);
    if (by->is_one) {
        snprintf(path, sizeof path, "%d", (int)by->fd);
        ends[0] = end_of(&quiet, w->watched.target.pid, path);
        bool named = ends[0].kind == END_NAMED && w->looks[w->look_count - 1].kind != WAIT_PIPE; /* a file on a disk */
        return ends[0].kind != END_NONE && !named;
    }
    AUTO_DIR DIR *dir = proc_dir(&quiet, w->watched.target.pid, "fd");
    const struct dirent *e;
    for (int i = 0; dir && i < FILES_OF_ONE && count < POLLED_MAX && (e = readdir(dir)); i++) {
        if (!str_to_i64(str_from(e->d_name), &fd) || !is_polled(by, fd))
            continue;
        ends[count] = end_of(&quiet, w->watched.target.pid, e->d_name);
        count += ends[count].kind == END_SOCKET;
    }
    return count;
}

static bool is_among(const struct end *ends, size_t count, uint64_t inode)
{
    for (size_t i = 0; i < count; i++)
        if (ends[i].kind == END_SOCKET && ends[i].inode == inode)
            return true;
    return false;
}

/* Several connections are ambiguous unless they share the other end. A lock may be anyone's: only a process of the same program
 * counts then, as a rank is. */
static void find_connection(struct evidence_reader *r, struct evidence_memory *w, const struct end *ends, size_t count, bool lock)
{
    struct peer_memory *m = &w->peer;
    struct connection found = {0}, c;
    uint64_t other = 0;
    bool several = false;
    for (int v = 0; v < 2 && !several; v++) {
        struct table t = read_table(r, w, v ? "tcp6" : "tcp");
        for (struct str rest = {t.text, t.len}, line; !several && str_cut(&rest, '\n', &line);) {
            if (!read_connection(line, &c) || !is_among(ends, count, c.inode))
                continue;
            several = found.remote[0] && strcmp(found.remote, c.remote) != 0 && !lock;
            if (found.remote[0])
                continue;
            found = c;
            other = other_inode(&t, &c);
        }
        free(t.text);
    }
    if (several || !found.remote[0])
        return;
    char place[64] = "", name[EVIDENCE_NAME_SIZE] = "";
    struct proc_stat stat;
    int32_t pid = other ? holder_of(r, w, &(struct end){.kind = END_SOCKET, .inode = other}, false) : 0;
    if (lock && (!pid || !read_peer_stat(r, pid, name, sizeof name, &stat) || strcmp(name, w->name) != 0))
        return;
    write_endpoint(found.remote, place, sizeof place);
    take(r, m, pid, lock ? "" : place);
}

static void find_peer(struct evidence_reader *r, struct evidence_memory *w, const struct waited *by)
{
    struct end ends[POLLED_MAX];
    size_t count = by->sleeps ? 0 : list_ends(r, w, by, ends);
    w->peer.text[0] = '\0';
    w->peer.pid = 0;
    w->peer.sleeps = by->sleeps;
    if (count && ends[0].kind != END_SOCKET)
        take(r, &w->peer, holder_of(r, w, &ends[0], !by->writes), "");
    else if (count)
        find_connection(r, w, ends, count, by->is_lock);
}

static void look_at_cpu(struct evidence_reader *r, struct peer_memory *m)
{
    struct proc_stat stat;
    int64_t elapsed_ns = r->now.ns - m->cpu_at.ns;
    if (m->cpu_at.ns && elapsed_ns < CPU_LEAST_MS * (int64_t)NS_PER_MS)
        return;
    if (!read_peer_stat(r, m->pid, NULL, 0, &stat) || stat.start_ticks != m->start_ticks) {
        m->pid = 0;
        m->at.ns = m->found_at.ns = 0;
        return;
    }
    if (m->cpu_at.ns)
        m->cpu = reading_ok(core_permille((stat.cpu_ticks - m->cpu_ticks) * (NS_PER_S / r->ticks_per_s), elapsed_ns));
    m->cpu_at = r->now;
    m->cpu_ticks = stat.cpu_ticks;
}

void peer_look(struct evidence_reader *r, struct evidence_memory *w, size_t first)
{
    struct peer_memory *m = &w->peer;
    size_t waits = 0;
    enum wait_kind now = w->looks[w->look_count - 1].kind;
    for (size_t i = first; i < w->look_count; i++) {
        enum wait_kind kind = w->looks[i].kind;
        waits += kind == WAIT_PIPE || kind == WAIT_SOCKET || kind == WAIT_POLL || kind == WAIT_LOCK;
    }
    if (waits * 2 < w->look_count - first) {
        *m = (struct peer_memory){0};
        return;
    }
    if (m->pid)
        look_at_cpu(r, m);
    struct waited by;
    bool at_it = now == WAIT_PIPE || now == WAIT_SOCKET || now == WAIT_POLL || now == WAIT_LOCK;
    if (waits < 2 || !at_it || (m->at.ns && mono_since_ms(r->now, m->at) < AGAIN_MS) || r->share_left < EXPENSIVE ||
        !read_syscall(r, w, &by))
        return;
    bool same = m->found_at.ns && m->fd == by.fd && m->at_lock == by.is_lock && m->sleeps == by.sleeps;
    m->at = r->now;
    if (same && mono_since_ms(r->now, m->found_at) < m->again_ms)
        return;
    r->share_left -= EXPENSIVE;
    m->again_ms = same ? MIN_OF(2 * m->again_ms, (int64_t)AGAIN_MAX_MS) : AGAIN_MS;
    m->found_at = r->now;
    m->fd = by.fd;
    m->at_lock = by.is_lock;
    find_peer(r, w, &by);
}

void peer_write(const struct evidence_memory *w, struct host_evidence *ret)
{
    const struct peer_memory *m = &w->peer;
    if (m->sleeps && ret->main_poll_permille.state == READING_OK) {
        ret->main_sleep_permille = reading_ok(reading_or(ret->main_sleep_permille, 0) + ret->main_poll_permille.value);
        ret->main_poll_permille = reading_ok(0);
    }
    if (!m->text[0])
        return;
    str_copy(ret->peer, sizeof ret->peer, str_from(m->text));
    if (m->pid) {
        ret->peer_pid = reading_ok(m->pid);
        ret->peer_cpu_permille = m->cpu;
    }
}
