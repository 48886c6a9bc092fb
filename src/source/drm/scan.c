/* SPDX-License-Identifier: Apache-2.0
 * The shared scan: when to scan, which descriptors to read, and who owns a client.
 */
#include "source/drm/scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "source/drm/procs.h"

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
