/* SPDX-License-Identifier: Apache-2.0
 * The shared scan: maintains the list of processes and their graphics descriptors with few system calls, decides when to scan and
 * who owns a client, and sums clients up to the processes and load of a card.
 */
#include "source/drm/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/cleanup.h"

/* ---- Maintains the list of processes and their graphics descriptors with few system calls ---- */

enum { PROCS_MAX = 65536, PROC_FDS_MAX = 4096, PROC_WALK_MS = 10000, PROC_WALK_BLIND_MS = 2000 };

enum { FD_UNREAD = -1, FD_SILENT = -2 };

struct held_fd {
    int32_t fd;
    int32_t minor;  /* of the device node; in a recorded tree, from its name */
    int32_t client; /* index, FD_UNREAD, or FD_SILENT: its driver has no statistics (retried with the next walk) */
};

struct proc {
    int32_t pid;
    bool hidden, kernel_thread, known;
    int8_t broker;  /* 1: opens devices for others, 0: doesn't, -1: not checked */
    uint64_t inode; /* changes when a PID is reused */
    uint64_t mark;  /* fingerprint of its descriptor list; 0: this kernel has none */
    struct mono walked;
    struct held_fd *fds;
    size_t fd_count;
};

struct procs {
    const struct env *env;
    int dir;           /* of /proc; -1 not open */
    struct proc *list; /* by pid */
    size_t count;
    uint64_t walks;
};

enum { DRM_MAJOR = 226, ACCEL_MAJOR = 261 };

static void procs_init(struct procs *p, const struct env *env)
{
    *p = (struct procs){.env = env, .dir = -1};
}

static void procs_done(struct procs *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].fds);
    free(p->list);
    if (p->dir >= 0)
        close(p->dir);
    procs_init(p, p->env);
}

static bool to_number(const char *text, int32_t *ret)
{
    int64_t value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > INT32_MAX / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *ret = (int32_t)value;
    return value > 0 || text[-1] == '0';
}

/* Recorded trees have symlinks in place of device nodes. */
static bool recorded_minor(int dir, const char *name, int32_t *minor)
{
    char target[64];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    if (strncmp(target, "/dev/dri/renderD", 16) == 0)
        return to_number(target + 16, minor);
    if (strncmp(target, "/dev/accel/accel", 16) == 0 && to_number(target + 16, minor) && *minor < ACCEL_MINORS) {
        *minor += ACCEL_MINORS;
        return true;
    }
    return strncmp(target, "/dev/dri/card", 13) == 0 && to_number(target + 13, minor);
}

/* Never touches a file system that may hang: what the kernel knows itself suffices. */
static bool real_minor(int dir, const char *name, int32_t *ret)
{
    struct statx st;
    if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
        return false;
    bool accel = st.stx_rdev_major == ACCEL_MAJOR;
    if (!S_ISCHR(st.stx_mode) || (st.stx_rdev_major != DRM_MAJOR && !accel) || st.stx_rdev_minor >= ACCEL_MINORS)
        return false;
    *ret = (int32_t)st.stx_rdev_minor + (accel ? ACCEL_MINORS : 0);
    return true;
}

static int32_t known_client(const struct proc *before, int32_t fd, int32_t minor)
{
    for (size_t i = 0; i < before->fd_count; i++)
        if (before->fds[i].fd == fd && before->fds[i].minor == minor && before->fds[i].client >= 0)
            return before->fds[i].client;
    return FD_UNREAD;
}

static bool add_fd(struct held_fd **fds, size_t *count, struct held_fd new)
{
    if (*count == PROC_FDS_MAX)
        return false;
    /* Grows at 0, 4, 8, 16, ... */
    if (*count == 0 || (*count >= 4 && (*count & (*count - 1)) == 0)) {
        struct held_fd *more = realloc(*fds, (*count ? *count * 2 : 4) * sizeof *more);
        if (!more)
            return false;
        *fds = more;
    }
    (*fds)[(*count)++] = new;
    return true;
}

/* False: incomplete. */
static bool read_fd_names(struct procs *p, int dir, const struct proc *before, struct held_fd **fds, size_t *count)
{
    bool recorded = env_is_recorded(p->env);
    char buffer[8192] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t got;
    while ((got = dir_entries(dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            struct held_fd held;
            at += entry->d_reclen;
            if (!to_number(entry->d_name, &held.fd))
                continue;
            if (!(recorded ? recorded_minor(dir, entry->d_name, &held.minor) : real_minor(dir, entry->d_name, &held.minor)))
                continue;
            held.client = known_client(before, held.fd, held.minor);
            if (!add_fd(fds, count, held))
                return false;
        }
    }
    return got == 0 || is_gone(-errno);
}

/* Kernel threads hide their descriptors, too, but have none. Flags are field 9 of stat, after the name in parentheses. */
static bool is_kernel_thread(const struct procs *p, int32_t pid)
{
    char name[32], text[512];
    snprintf(name, sizeof name, "%d/stat", pid);
    if (file_read_at(p->dir, name, text, sizeof text) <= 0)
        return false;
    const char *end = strrchr(text, ')');
    struct str rest = str_from(end ? end + 1 : ""), word;
    uint64_t flags = 0;
    for (int field = 3; field <= 9 && str_word(&rest, &word); field++)
        if (field == 9 && !str_to_u64(word, &flags))
            return false;
    return flags & 0x00200000;
}

/* Scans the descriptors of one process. False: failed, which says nothing about the process. */
static bool procs_walk(struct procs *p, struct proc *proc, struct mono now)
{
    char name[32];
    snprintf(name, sizeof name, "%d/fd", proc->pid);
    AUTO_CLOSE int dir = dir_fd_open_at(p->dir, name);
    struct held_fd *fds = NULL;
    size_t count = 0;
    bool hidden = dir == -EACCES || dir == -EPERM;
    p->walks++;
    if (dir < 0 && !hidden && !is_gone(dir))
        return false;
    if (dir >= 0 && !read_fd_names(p, dir, proc, &fds, &count)) {
        free(fds);
        return false;
    }
    if (hidden && !proc->hidden)
        proc->kernel_thread = is_kernel_thread(p, proc->pid);
    proc->hidden = hidden;
    free(proc->fds);
    proc->fds = fds;
    proc->fd_count = count;
    proc->walked = now;
    return true;
}

/* Since Linux 6.2 the size of PID/fd is the number of open descriptors. Recorded trees use the modification time. */
static uint64_t fd_mark(const struct procs *p, int32_t pid)
{
    char name[32];
    struct stat st;
    char *digit = name + sizeof name - 4;
    memcpy(digit, "/fd", 4);
    for (int32_t n = pid; n > 0; n /= 10)
        *--digit = (char)('0' + n % 10);
    if (fstatat(p->dir, digit, &st, 0) < 0)
        return 0;
    if (!env_is_recorded(p->env))
        return (uint64_t)st.st_size;
    return (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec + (uint64_t)st.st_size;
}

static void update_one(struct procs *p, struct proc *proc, struct mono now)
{
    uint64_t mark = fd_mark(p, proc->pid);
    int64_t age = mono_since_ms(now, proc->walked);
    int64_t spread = proc->pid % 10 * 1000; /* spread over scans */
    bool due = age >= (mark ? PROC_WALK_MS + spread : PROC_WALK_BLIND_MS);
    if (proc->hidden && proc->known)
        due = age >= PROC_WALK_MS + spread; /* inaccessible until it changes its user */
    else if (mark != proc->mark)
        due = true;
    if (!proc->known || due)
        proc->known = procs_walk(p, proc, now);
    proc->mark = mark;
}

struct pid_inode {
    int32_t pid;
    uint64_t inode;
};

static int compare_pids(const void *a, const void *b)
{
    const struct pid_inode *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* All PIDs of /proc, sorted. NULL: incomplete, or out of memory (errno). */
static struct pid_inode *list_pids(struct procs *p, size_t *count)
{
    size_t capacity = MAX_OF(p->count + 64, (size_t)256);
    struct pid_inode *pids = malloc(capacity * sizeof *pids);
    char buffer[16384] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t got = 0;
    bool sorted = true;
    *count = 0;
    lseek(p->dir, 0, SEEK_SET);
    while (pids && (got = dir_entries(p->dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            int32_t pid;
            at += entry->d_reclen;
            if (!to_number(entry->d_name, &pid) || pid <= 0 || *count == PROCS_MAX)
                continue;
            if (*count == capacity) {
                struct pid_inode *more = realloc(pids, (capacity *= 2) * sizeof *pids);
                if (!more) {
                    free(pids);
                    return NULL;
                }
                pids = more;
            }
            sorted = sorted && (*count == 0 || pids[*count - 1].pid < pid);
            pids[(*count)++] = (struct pid_inode){pid, entry->d_ino};
        }
    }
    if (got < 0) {
        free(pids);
        return NULL;
    }
    if (pids && !sorted)
        qsort(pids, *count, sizeof *pids, compare_pids);
    return pids;
}

/* Keeps what is known about processes that still exist. */
static int merge_pids(struct procs *p, const struct pid_inode *pids, size_t count)
{
    struct proc *list = calloc(MAX_OF(count, (size_t)1), sizeof *list);
    if (!list)
        return -ENOMEM;
    size_t old = 0;
    for (size_t i = 0; i < count; i++) {
        for (; old < p->count && p->list[old].pid < pids[i].pid; old++)
            free(p->list[old].fds);
        bool same = old < p->count && p->list[old].pid == pids[i].pid && p->list[old].inode == pids[i].inode;
        list[i] = same ? p->list[old++] : (struct proc){.pid = pids[i].pid, .inode = pids[i].inode, .broker = -1};
    }
    for (; old < p->count; old++)
        free(p->list[old].fds);
    free(p->list);
    p->list = list;
    p->count = count;
    return 0;
}

/* Updates the list; scans the descriptors of new and changed processes. 0 or -errno. */
static int procs_update(struct procs *p, struct mono now)
{
    if (p->dir < 0)
        p->dir = dir_fd_open(p->env, "/proc");
    if (p->dir < 0)
        return p->dir;
    size_t count;
    AUTO_FREE struct pid_inode *pids = list_pids(p, &count);
    int rc = pids ? merge_pids(p, pids, count) : errno ? -errno : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        update_one(p, &p->list[i], now);
    return rc;
}

static bool proc_is_broker(const struct procs *p, struct proc *proc)
{
    static const char *const brokers[] = {"systemd", "systemd-logind", "elogind", "elogind-daemon", "seatd", "seatd-launch"};
    if (proc->broker >= 0)
        return proc->broker;
    char name[32], text[32];
    snprintf(name, sizeof name, "%d/comm", proc->pid);
    ssize_t len = file_read_at(p->dir, name, text, sizeof text);
    struct str comm = str_trim((struct str){text, len > 0 ? (size_t)len : 0});
    if (len < 0)
        return false;
    proc->broker = 0;
    for (size_t i = 0; i < ARRAY_LEN(brokers); i++)
        if (str_is(comm, brokers[i]))
            proc->broker = 1;
    return proc->broker;
}

/* ---- The shared scan: when to scan, which descriptors to read, and who owns a client ---- */

/* Result of a finished scan: all that the sources see. */
struct scan_result {
    uint32_t number; /* of the scan; 0: none yet */
    int rc;
    bool moved; /* an engine worked since the first scan */
    struct drm_client *clients;
    size_t client_count;
    char silent[GPU_MAX][DRM_NAME_SIZE]; /* GPUs held open by a process whose driver has no client statistics */
    size_t silent_count;
    struct drm_scan_stats stats;
};

struct drm_scan {
    const struct env *env;
    struct drm_scan *next;
    size_t refs; /* guarded by the list's lock */

    /* Never held while reading a file: a driver whose read hangs blocks only the source that scans. */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool scanning;
    struct timespec wait_until; /* limit for waiting on the scan in progress */
    struct mono scanned;        /* start of the last scan */
    struct scan_result latest;

    /* Owned by the scanning thread, without a lock. */
    uint32_t number;
    int rc;
    size_t hidden;
    uint64_t reads;
    bool moved;
    struct procs procs;
    struct clients clients;
    struct drm_card *cards;
    size_t card_count;
    uint64_t signature;
    bool power_known[GPU_MAX], asleep[GPU_MAX];
    bool silent[GPU_MAX];
};

enum { SCAN_HUNG_MS = 2000 }; /* an older result is no longer shown while the next scan hangs */

enum { FRESH_MS = 200, WAIT_MS = 300 };

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct drm_scan *all; /* one per env in use */

static struct drm_scan *scan_new(const struct env *env)
{
    struct drm_scan *s = calloc(1, sizeof *s);
    pthread_condattr_t monotonic;
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return NULL;
    }
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->env = env;
    s->latest.rc = -EAGAIN;
    procs_init(&s->procs, env);
    return s;
}

static void scan_free(struct drm_scan *s)
{
    procs_done(&s->procs);
    clients_done(&s->clients);
    free(s->cards);
    free(s->latest.clients);
    pthread_cond_destroy(&s->finished);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

struct drm_scan *drm_scan_ref(const struct env *env)
{
    pthread_mutex_lock(&all_lock);
    struct drm_scan *s = all;
    while (s && s->env != env)
        s = s->next;
    if (!s && (s = scan_new(env))) {
        s->next = all;
        all = s;
    }
    if (s)
        s->refs++;
    pthread_mutex_unlock(&all_lock);
    return s;
}

void drm_scan_unref(struct drm_scan *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&all_lock);
    bool last = --s->refs == 0;
    for (struct drm_scan **at = &all; last && *at; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    pthread_mutex_unlock(&all_lock);
    if (last)
        scan_free(s);
}

/* Maps device nodes to cards and checks whether they sleep: once per scan, and when cards come or go. */
static void update_cards(struct drm_scan *s)
{
    uint64_t signature = drm_cards_signature(s->env);
    if (!s->cards || signature != s->signature) {
        if (!s->cards)
            s->cards = calloc(GPU_MAX, sizeof *s->cards);
        int count = s->cards ? drm_cards_list(s->env, s->cards, GPU_MAX) : -ENOMEM;
        if (count >= 0 || count == -ENOENT) { /* otherwise keep the known cards: a sleeping one must not be woken */
            s->card_count = count > 0 ? (size_t)count : 0;
            s->signature = signature;
        }
    }
    memset(s->power_known, 0, sizeof s->power_known);
    memset(s->silent, 0, sizeof s->silent);
}

static const struct drm_card *card_of_minor(struct drm_scan *s, int32_t minor, size_t *index)
{
    for (size_t i = 0; i < s->card_count; i++) {
        if (s->cards[i].render_minor != minor && s->cards[i].card_minor != minor)
            continue;
        *index = i;
        return &s->cards[i];
    }
    return NULL;
}

/* With some drivers (xe), reading fdinfo wakes the card. */
static bool is_asleep(struct drm_scan *s, int32_t minor)
{
    size_t i;
    const struct drm_card *card = card_of_minor(s, minor, &i);
    if (!card)
        return false;
    if (!s->power_known[i]) {
        s->power_known[i] = true;
        s->asleep[i] = drm_card_power(card, s->env) == CARD_ASLEEP;
    }
    return s->asleep[i];
}

static void device_name(struct drm_scan *s, const struct fdinfo *info, int32_t minor, char name[GPU_PCI_SIZE])
{
    size_t i;
    const struct drm_card *card = info->pdev[0] ? NULL : card_of_minor(s, minor, &i);
    if (info->pdev[0])
        str_copy(name, GPU_PCI_SIZE, str_from(info->pdev));
    else if (card)
        str_copy(name, GPU_PCI_SIZE, str_from(card->pci_address[0] ? card->pci_address : card->name));
    else
        snprintf(name, GPU_PCI_SIZE, "minor%d", minor);
}

/* "PID/fdinfo/FD" without printf's cost: needed for every client in every scan. */
static void fdinfo_path(int32_t pid, int32_t fd, char path[48])
{
    char digits[16];
    size_t len = 0, at = 0;
    for (int32_t n = pid; n > 0 && len < sizeof digits; n /= 10)
        digits[len++] = (char)('0' + n % 10);
    while (len)
        path[at++] = digits[--len];
    memcpy(path + at, "/fdinfo/", 8);
    at += 8;
    do
        digits[len++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0 && len < sizeof digits);
    while (len)
        path[at++] = digits[--len];
    path[at] = '\0';
}

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t h = len, word;
    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; len; text++, len--)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h ? h : 1;
}

static void read_client(struct drm_scan *s, struct proc *proc, struct held_fd *held, struct mono now)
{
    char path[48], text[FDINFO_SIZE], device[GPU_PCI_SIZE];
    struct fdinfo info;
    fdinfo_path(proc->pid, held->fd, path);
    ssize_t len = file_read_at(s->procs.dir, path, text, sizeof text);
    s->reads++;
    if (len < 0) {
        held->client = FD_UNREAD; /* closed meanwhile, or the process ended */
        if (len == -EACCES || len == -EPERM)
            proc->hidden = true;
        return;
    }
    uint64_t hash = hash_of(text, (size_t)len);
    if (held->client >= 0 && s->clients.list[held->client].text == hash) {
        client_unchanged(&s->clients.list[held->client], now, s->number);
        return;
    }
    if (!fdinfo_parse((struct str){text, (size_t)len}, &info)) {
        if (held->minor < ACCEL_MINORS) {
            held->client = FD_SILENT;
            return;
        }
        /* Most NPU drivers report nothing, but it is known that the process has it open. */
        info = (struct fdinfo){.client_id = (uint64_t)proc->pid};
    }
    device_name(s, &info, held->minor, device);
    held->client = clients_place(&s->clients, device, info.client_id);
    if (held->client < 0 || s->clients.list[held->client].read_in == s->number)
        return;
    s->moved |= client_update(&s->clients.list[held->client], &info, now, s->number);
    s->clients.list[held->client].text = hash;
}

static struct proc *proc_of_pid(struct drm_scan *s, int32_t pid)
{
    size_t low = 0, high = s->procs.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->procs.list[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->procs.count && s->procs.list[low].pid == pid ? &s->procs.list[low] : NULL;
}

/* A client shared by several processes belongs to the oldest, which opened it and forked, unless that one only opens devices for
 * others. Processes come in PID order. */
static void touch(struct drm_scan *s, struct drm_client *c, const struct proc *proc)
{
    if (c->seen_in != s->number) {
        c->seen_in = s->number;
        c->owner = proc->pid;
        return;
    }
    struct proc *owner = c->owner == proc->pid ? NULL : proc_of_pid(s, c->owner);
    if (owner && proc_is_broker(&s->procs, owner))
        c->owner = proc->pid;
}

static void visit(struct drm_scan *s, struct proc *proc, struct held_fd *held, struct mono now)
{
    size_t card;
    if (held->client == FD_SILENT && card_of_minor(s, held->minor, &card))
        s->silent[card] = true;
    if (held->client == FD_SILENT)
        return;
    bool known = held->client >= 0;
    bool due = !known || (s->clients.list[held->client].read_in != s->number && client_due(&s->clients.list[held->client], now));
    if (due && !is_asleep(s, held->minor))
        read_client(s, proc, held, now);
    if (held->client >= 0)
        touch(s, &s->clients.list[held->client], proc);
    else if (held->client == FD_SILENT && card_of_minor(s, held->minor, &card))
        s->silent[card] = true;
}

/* Dropping ended clients moves indexes. */
static void sweep(struct drm_scan *s)
{
    AUTO_FREE int32_t *moved = calloc(MAX_OF(s->clients.count, (size_t)1), sizeof *moved);
    if (!moved || !clients_sweep(&s->clients, s->number, moved))
        return;
    for (size_t i = 0; i < s->procs.count; i++)
        for (size_t f = 0; f < s->procs.list[i].fd_count; f++) {
            struct held_fd *held = &s->procs.list[i].fds[f];
            if (held->client >= 0)
                held->client = moved[held->client] >= 0 ? moved[held->client] : FD_UNREAD;
        }
}

static void scan(struct drm_scan *s, struct mono now)
{
    s->number++;
    update_cards(s);
    s->rc = procs_update(&s->procs, now);
    if (s->rc < 0)
        return;
    s->hidden = 0;
    s->clients.left_out = 0;
    for (size_t i = 0; i < s->procs.count; i++) {
        struct proc *proc = &s->procs.list[i];
        for (size_t f = 0; f < proc->fd_count; f++)
            visit(s, proc, &proc->fds[f], now);
        s->hidden += proc->hidden && !proc->kernel_thread;
    }
    sweep(s);
}

/* False: out of memory; the previous result stays. */
static bool result_of(const struct drm_scan *s, struct scan_result *ret)
{
    *ret = (struct scan_result){.number = s->number, .rc = s->rc, .moved = s->moved, .client_count = s->clients.count};
    ret->stats = (struct drm_scan_stats){.processes = s->procs.count,
                                         .hidden = s->hidden,
                                         .clients = s->clients.count,
                                         .scans = s->number,
                                         .walks = s->procs.walks,
                                         .reads = s->reads};
    for (size_t i = 0; i < s->card_count; i++)
        if (s->silent[i])
            memcpy(ret->silent[ret->silent_count++], s->cards[i].name, DRM_NAME_SIZE);
    if (s->clients.count == 0)
        return true;
    ret->clients = malloc(s->clients.count * sizeof *ret->clients);
    if (ret->clients)
        memcpy(ret->clients, s->clients.list, s->clients.count * sizeof *ret->clients);
    return ret->clients != NULL;
}

/* Whether the caller's thread scans now. Others wait a little for that scan and use its result. */
static bool begin_scan(struct drm_scan *s, struct mono now)
{
    pthread_mutex_lock(&s->lock);
    bool due = s->latest.number == 0 || mono_since_ms(now, s->scanned) >= FRESH_MS, mine = due && !s->scanning;
    if (mine) {
        s->scanning = true;
        s->scanned = now;
        int64_t until = clock_mono(&clock_system).ns + (int64_t)WAIT_MS * NS_PER_MS;
        s->wait_until = (struct timespec){.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    }
    while (!mine && s->scanning && pthread_cond_timedwait(&s->finished, &s->lock, &s->wait_until) == 0)
        ;
    pthread_mutex_unlock(&s->lock);
    return mine;
}

void drm_scan_refresh(struct drm_scan *s)
{
    struct mono now = clock_mono(s->env->clock);
    if (!begin_scan(s, now))
        return;
    scan(s, now);
    AUTO_FREE struct scan_result *fresh = calloc(1, sizeof *fresh);
    bool made = fresh && result_of(s, fresh);
    pthread_mutex_lock(&s->lock);
    struct drm_client *former = made ? s->latest.clients : NULL;
    if (made)
        s->latest = *fresh;
    s->scanning = false;
    pthread_cond_broadcast(&s->finished);
    pthread_mutex_unlock(&s->lock);
    free(former);
}

void drm_scan_stats(struct drm_scan *s, struct drm_scan_stats *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->latest.stats;
    pthread_mutex_unlock(&s->lock);
}

/* ---- From clients to the processes and load of one card ---- */

enum { NAMES = 24 };

/* Load per engine name over all clients of a card. */
struct client_sums {
    size_t count;
    bool pending;
    struct {
        const char *name;
        enum engine_kind kind;
        int64_t permille;
    } engines[NAMES];
};

static bool of_card(const struct drm_client *c, const struct drm_card *card)
{
    return strcmp(c->device, card->pci_address[0] ? card->pci_address : card->name) == 0;
}

static bool draws_or_computes(enum engine_kind kind)
{
    return kind == ENGINE_GRAPHICS || kind == ENGINE_COMPUTE;
}

static void add_to_sums(struct client_sums *sums, const struct client_engine *e, bool frozen)
{
    if (e->permille < 0 || frozen) {
        sums->pending = true;
        return;
    }
    size_t i = 0;
    while (i < sums->count && strcmp(sums->engines[i].name, e->name) != 0)
        i++;
    if (i == NAMES)
        return;
    if (i == sums->count) {
        sums->engines[i].name = e->name;
        sums->engines[i].kind = e->kind;
        sums->engines[i].permille = 0;
        sums->count++;
    }
    sums->engines[i].permille += e->permille;
}

/* The busiest engine of a kind. PENDING until a second read. */
static struct reading busiest(const struct client_sums *sums, bool (*wanted)(enum engine_kind))
{
    struct reading best = reading_absent(sums->pending ? READING_PENDING : READING_UNSUPPORTED);
    for (size_t i = 0; i < sums->count; i++)
        if (wanted(sums->engines[i].kind) && sums->engines[i].permille >= reading_or(best, 0))
            best = reading_ok(MIN_OF(sums->engines[i].permille, (int64_t)1000));
    return best;
}

static bool decodes(enum engine_kind kind)
{
    return kind == ENGINE_DECODER;
}

static bool encodes(enum engine_kind kind)
{
    return kind == ENGINE_ENCODER;
}

/* Adds up several clients of a process. */
static void add_reading(struct reading *sum, struct reading more)
{
    if (more.state == READING_OK)
        *sum = reading_ok(MIN_OF(reading_or(*sum, 0) + more.value, (int64_t)1000));
    else if (sum->state != READING_OK && (sum->state == READING_UNREAD || more.state == READING_PENDING))
        *sum = more;
}

static void add_to_process(struct process *p, const struct drm_client *c, bool shared_memory, bool frozen)
{
    struct client_sums own = {0};
    for (size_t i = 0; i < c->engine_count; i++) {
        const struct client_engine *e = &c->engines[i];
        add_to_sums(&own, e, frozen);
        if (e->busy > 0 && e->kind == ENGINE_COMPUTE)
            p->type |= PROCESS_COMPUTE;
        else if (e->busy > 0 && e->kind != ENGINE_OTHER && e->kind != ENGINE_COPY)
            p->type |= PROCESS_GRAPHICS;
    }
    add_reading(&p->util_permille, busiest(&own, draws_or_computes));
    add_reading(&p->decoder_permille, busiest(&own, decodes));
    add_reading(&p->encoder_permille, busiest(&own, encodes));
    bool has_memory = shared_memory ? c->has_vram || c->has_system : c->has_vram;
    if (has_memory) {
        uint64_t bytes = c->vram_bytes + (shared_memory ? c->system_bytes : 0);
        p->mem_bytes = reading_ok(reading_or(p->mem_bytes, 0) + (int64_t)bytes);
    } else if (p->mem_bytes.state == READING_UNREAD) {
        p->mem_bytes = reading_absent(READING_UNSUPPORTED);
    }
}

/* Index of a pid in the process list, whose wide rows are too slow to search for each client. */
struct places {
    uint32_t *slots; /* index + 1 */
    size_t mask;
};

static bool places_init(struct places *p, size_t clients, const struct gpu *out)
{
    size_t size = 64;
    while (size < 2 * (clients + out->process_count))
        size *= 2;
    *p = (struct places){calloc(size, sizeof *p->slots), size - 1};
    return p->slots != NULL;
}

static struct process *process_of(struct places *p, struct gpu *out, int32_t pid)
{
    size_t at = (uint32_t)pid * 2654435761u >> 7 & p->mask;
    for (; p->slots[at]; at = (at + 1) & p->mask)
        if (out->processes[p->slots[at] - 1].pid == pid)
            return &out->processes[p->slots[at] - 1];
    struct process *new = gpu_add_process(out, pid);
    if (new)
        p->slots[at] = (uint32_t)out->process_count;
    return new;
}

static bool is_silent(const struct scan_result *r, const struct drm_card *card)
{
    for (size_t i = 0; i < r->silent_count; i++)
        if (strcmp(r->silent[i], card->name) == 0)
            return true;
    return false;
}

void drm_scan_fill(struct drm_scan *s, const struct drm_card *card, bool shared_memory, struct gpu *out, struct drm_load *load)
{
    *load = (struct drm_load){0};
    struct client_sums sums = {0};
    struct places places;
    pthread_mutex_lock(&s->lock);
    const struct scan_result *r = &s->latest;
    bool hung = s->scanning && mono_since_ms(clock_mono(s->env->clock), s->scanned) >= SCAN_HUNG_MS;
    int rc = hung ? -ETIMEDOUT : r->rc;
    /* Time doesn't pass on a recorded host: counters that never moved give no rates. */
    bool frozen = env_is_recorded(s->env) && !r->moved;
    bool ready = rc == 0 && places_init(&places, r->client_count, out);
    for (size_t i = 0; ready && i < r->client_count; i++) {
        const struct drm_client *c = &r->clients[i];
        if (!of_card(c, card) || c->read_in == 0)
            continue;
        load->clients++;
        load->has_vram |= c->has_vram;
        load->has_system |= c->has_system;
        load->vram_bytes += c->vram_bytes;
        load->system_bytes += c->system_bytes;
        for (size_t e = 0; e < c->engine_count; e++)
            add_to_sums(&sums, &c->engines[e], frozen);
        struct process *p = process_of(&places, out, c->owner);
        if (p)
            add_to_process(p, c, shared_memory, frozen);
    }
    if (ready)
        free(places.slots);
    load->state = rc == 0 ? READING_OK : reading_state_from_errno(rc);
    load->hidden = r->stats.hidden;
    load->busy_permille = busiest(&sums, draws_or_computes);
    load->decoder_permille = busiest(&sums, decodes);
    load->encoder_permille = busiest(&sums, encodes);
    /* No clients after the first scan means no work, unless the driver doesn't report clients (i915 before 5.19). */
    if (load->state == READING_OK && load->clients == 0 && !is_silent(r, card))
        load->busy_permille = r->number > 1 ? reading_ok(0) : reading_absent(READING_PENDING);
    out->processes_state = load->state;
    out->processes_hidden = load->hidden;
    pthread_mutex_unlock(&s->lock);
}
