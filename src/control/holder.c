/* SPDX-License-Identifier: Apache-2.0
 * Looks after what was set. A host that slept and a driver that was loaded anew have lost it: then it is set again; without such a
 * reason a changed value is another program's.
 */
#include "control/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { SLEPT_MS = 1000, UNREAD_LOOKS_MAX = 3 };

static int64_t slept_ms(const struct settings_holder *k)
{
    return mono_since_ms(clock_boot(k->env->clock), clock_mono(k->env->clock));
}

/* The link to its driver is another file after the driver was loaded again. */
static uint64_t drivers(const struct settings_holder *k)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < k->set.gpu_count; i++) {
        char path[PATH_SIZE];
        struct stat info;
        if (env_path(k->env, path, "/sys/bus/pci/devices/%s/driver", k->set.gpus[i].id.pci_address) == 0 && lstat(path, &info) == 0)
            sum = sum * 31 + info.st_ino;
    }
    return sum;
}

static int open_journal(struct settings_holder *k, const char *lease_dir, struct error *err)
{
    int rc = lease_dir_open_settings(&k->dir, lease_dir, err);
    return rc < 0 ? rc : lease_dir_lock(&k->dir, LEASE_LOCK_MS, err);
}

int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, struct error *err)
{
    *k = (struct settings_holder){.env = env, .dir = LEASE_DIR_CLOSED};
    int rc = control_open(env, &k->set, err);
    if (rc == 0)
        rc = open_journal(k, lease_dir, err);
    if (rc == 0) {
        rc = lease_set_recover(&k->dir, &k->set, false, err);
        lease_dir_unlock(&k->dir);
    }
    if (rc < 0) {
        holder_close(k);
        return rc;
    }
    k->slept_ms = slept_ms(k);
    k->drivers = drivers(k);
    return 0;
}

static void drop(struct settings_holder *k, size_t at)
{
    free(k->kept[at]);
    k->kept[at] = k->kept[--k->count];
}

static int find(const struct settings_holder *k, const char *id)
{
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->kept[i]->lease.id, id) == 0)
            return (int)i;
    return -ENOENT;
}

struct lease *holder_find(struct settings_holder *k, const char *id)
{
    int at = find(k, id);
    return at < 0 ? NULL : &k->kept[at]->lease;
}

static int end_at(struct settings_holder *k, size_t at, char *words, struct error *err)
{
    int rc = lease_dir_lock(&k->dir, LEASE_LOCK_MS, err);
    if (rc < 0)
        return rc;
    rc = lease_set_end(&k->dir, &k->set, &k->kept[at]->lease, words, err);
    lease_dir_unlock(&k->dir);
    if (rc == 0)
        drop(k, at);
    return rc;
}

void holder_close(struct settings_holder *k)
{
    for (size_t i = k->count; i-- > 0;)
        if (end_at(k, i, NULL, NULL) < 0)
            drop(k, i); /* the journal keeps it for the next process */
    lease_dir_close(&k->dir);
    control_close(&k->set);
}

int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err)
{
    if (k->count == HOLDER_LEASES_MAX)
        return error_set(err, -EBUSY, "more than %d leases of settings", HOLDER_LEASES_MAX);
    struct kept *new = calloc(1, sizeof *new);
    int rc = new ? lease_dir_lock(&k->dir, LEASE_LOCK_MS, err) : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && bound) {
        l->pid = getpid();
        l->start_key = lease_process_start(l->pid);
    }
    if (rc == 0)
        rc = lease_set_begin(&k->dir, &k->set, l, err);
    lease_dir_unlock(&k->dir);
    if (rc < 0 || !bound) {
        free(new);
        return rc;
    }
    new->lease = *l;
    k->kept[k->count++] = new;
    return 0;
}

int holder_end(struct settings_holder *k, const char *id, char *words, struct error *err)
{
    int at = find(k, id);
    return at < 0 ? error_set(err, -ENOENT, "there is no lease %s of settings here", id) : end_at(k, (size_t)at, words, err);
}

int holder_prolong(struct settings_holder *k, const char *id, struct wall until, struct error *err)
{
    struct lease *l = holder_find(k, id);
    int rc = l ? lease_dir_lock(&k->dir, LEASE_LOCK_MS, err) : error_set(err, -ENOENT, "lease %s has ended", id);
    if (rc < 0)
        return rc;
    struct wall before = l->until;
    l->until = until;
    rc = lease_dir_put(&k->dir, l, err);
    if (rc < 0)
        l->until = before;
    lease_dir_unlock(&k->dir);
    return rc;
}

/* A fixed speed only while it is cool, and while that can be seen. */
static bool fan_hot(struct settings_holder *k, struct kept *x, char *why)
{
    for (size_t i = 0; i < x->lease.setting_count; i++) {
        const struct control_gpu *gpu = control_find(&k->set, x->lease.settings[i].gpu);
        struct error err = {0};
        if (strcmp(x->lease.settings[i].what, control_name(CONTROL_FAN)) != 0)
            continue;
        bool safe = gpu && control_fan_safe(gpu, &err);
        x->unread_looks = safe || err.code == -EOVERFLOW ? 0 : x->unread_looks + 1;
        if (safe || (err.code != -EOVERFLOW && x->unread_looks < UNREAD_LOOKS_MAX))
            continue;
        snprintf(why, SETTINGS_WORDS, "%.180s: its fan is automatic again", gpu ? err.text : "the GPU is gone");
        return true;
    }
    return false;
}

/* NULL: it goes on. */
static const char *reason_to_end(struct settings_holder *k, struct kept *x, const struct lease_list *list, char why[SETTINGS_WORDS])
{
    const struct lease *l = &x->lease;
    if (l->until.ms && l->until.ms <= clock_wall(k->env->clock).ms)
        return "its time is over";
    if (fan_hot(k, x, why))
        return why;
    enum lease_set_state is = lease_set_look(&k->set, l, x->upset);
    x->upset = is == SETTINGS_UNREACHABLE;
    if (is == SETTINGS_TAKEN)
        return "another program has changed it since, and its value was left";
    return !list || lease_list_find(list, l->id) ? NULL : "it was ended";
}

void holder_look(struct settings_holder *k, void (*ended)(void *user, const struct lease *l, const char *why), void *user)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    int64_t slept = slept_ms(k);
    uint64_t loaded = drivers(k);
    bool upset = slept > k->slept_ms + SLEPT_MS || loaded != k->drivers;
    bool listed = lease_dir_list(&k->dir, clock_wall(k->env->clock), &list, NULL) == 0;
    k->slept_ms = slept;
    k->drivers = loaded;
    for (size_t i = k->count; i-- > 0;) {
        struct kept *x = k->kept[i];
        char why[SETTINGS_WORDS];
        x->upset |= upset;
        const char *reason = reason_to_end(k, x, listed ? &list : NULL, why);
        if (!reason)
            continue;
        struct lease over = x->lease;
        if (end_at(k, i, NULL, NULL) < 0)
            continue; /* again at the next look */
        ended(user, &over, reason);
    }
}

/* In the process of its own. Not even a driver's library is left as the other one had it: the program starts anew. */
static void __attribute__((noreturn)) watch(const char *program, const char *lease_dir, int end)
{
    char byte;
    setsid(); /* what ends the whole terminal does not end this one, and a reader of our output need not wait for it */
    for (int number = SIGHUP; number <= SIGTERM; number++)
        signal(number, SIG_IGN);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && nothing >= 0; fd++)
        dup2(nothing, fd);
    dup2(end, 3);
    descriptors_close_from(4);
    while (read(3, &byte, 1) < 0 && errno == EINTR)
        continue;
    signal(SIGCHLD, SIG_DFL);
    setenv("WHIRR_LEASE_DIR", lease_dir, 1);
    execl(program, "whirr", "lease-recover", (char *)NULL);
    _exit(EXIT_FAILED);
}

int holder_watch_over(const char *program, const char *lease_dir)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        watch(program, lease_dir, ends[0]);
    }
    close(ends[0]);
    if (child < 0)
        close(ends[1]);
    return child < 0 ? -errno : 0; /* the other end stays open until this process is gone */
}
