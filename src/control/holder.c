/* SPDX-License-Identifier: Apache-2.0
 * Maintains changed settings. A suspend or a driver reload loses them: then they are set again; without such a reason, a changed
 * value is another program's.
 */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { SLEPT_MS = 1000 };

static int64_t slept_ms(const struct settings_holder *k)
{
    return mono_since_ms(clock_boot(k->env->clock), clock_mono(k->env->clock));
}

/* After a driver reload, the link to it is a new file. */
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

int holder_lock(struct settings_holder *k, struct error *err)
{
    (void)watchdog_busy(k->watchdog, true);
    int rc = lease_dir_lock(&k->dir, LEASE_LOCK_MS, err);
    if (rc < 0)
        (void)watchdog_busy(k->watchdog, false);
    return rc;
}

void holder_unlock(struct settings_holder *k)
{
    lease_dir_unlock(&k->dir);
    (void)watchdog_busy(k->watchdog, false);
}

/* Cleans up after dead processes, then updates what all users see. */
static int clean_journal(struct settings_holder *k, struct error *err)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    int rc = holder_lock(k, err);
    if (rc < 0)
        return rc;
    rc = lease_set_recover(&k->dir, &k->set, false, err);
    if (rc >= 0)
        rc = lease_dir_list(&k->dir, clock_wall(k->env->clock), &list, err);
    if (rc >= 0)
        lease_dir_show_all(&k->dir, &list);
    holder_unlock(k);
    return rc;
}

int holder_open(struct settings_holder *k, const struct env *env, const char *lease_dir, int watchdog, struct error *err)
{
    *k = HOLDER_CLOSED;
    k->env = env;
    k->watchdog = watchdog;
    int rc = control_open(env, &k->set, err);
    if (rc == 0)
        rc = lease_dir_open_settings(&k->dir, lease_dir, err);
    if (rc == 0)
        (void)lease_set_release_fans(&k->dir, &k->set, false, NULL);
    if (rc == 0)
        rc = clean_journal(k, err);
    if (rc < 0) {
        holder_close(k);
        return rc;
    }
    k->slept_ms = slept_ms(k);
    k->drivers = drivers(k);
    return 0;
}

static bool is_fan(const struct lease_setting *s)
{
    return strcmp(s->what, control_name(CONTROL_FAN)) == 0;
}

static void unwatch_fans(const struct settings_holder *k, const struct lease *l)
{
    for (size_t i = 0; i < l->setting_count; i++)
        if (is_fan(&l->settings[i]))
            watchdog_unwatch(k->watchdog, l->settings[i].gpu);
}

static int watch_fans(const struct settings_holder *k, const struct lease *l, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < l->setting_count && rc == 0; i++)
        if (is_fan(&l->settings[i]))
            rc = watchdog_watch(k->watchdog, l->settings[i].gpu, err);
    return rc;
}

static void drop(struct settings_holder *k, size_t at)
{
    unwatch_fans(k, &k->kept[at]->lease);
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
    struct lease *l = &k->kept[at]->lease;
    struct lease at_first = *l; /* ownership is checked again under the lock */
    (void)watchdog_busy(k->watchdog, true);
    if (lease_set_has_fan(l))
        (void)lease_set_put_back(&k->set, &at_first, NULL); /* fans don't wait for a lock or a disk */
    int rc = holder_lock(k, err);
    if (rc < 0) { /* the journal keeps it until the lock is free; nothing else has to wait */
        (void)lease_set_put_back(&k->set, &at_first, NULL);
        return rc;
    }
    rc = lease_set_end(&k->dir, &k->set, l, words, err);
    holder_unlock(k);
    if (rc == 0)
        drop(k, at);
    return rc;
}

void holder_close(struct settings_holder *k)
{
    for (size_t i = k->count; i-- > 0;)
        if (end_at(k, i, NULL, NULL) < 0) { /* the journal keeps it for the next process, and the watchdog its fan */
            free(k->kept[i]);
            k->kept[i] = k->kept[--k->count];
        }
    lease_dir_close(&k->dir);
    control_close(&k->set);
    if (k->watchdog >= 0)
        close(k->watchdog);
    k->watchdog = -1;
}

/* A wall clock that is set back must not prolong it. */
static void set_due(const struct settings_holder *k, struct kept *x)
{
    int64_t left_ms = x->lease.until.ms - clock_wall(k->env->clock).ms;
    x->due.ns = x->lease.until.ms ? clock_boot(k->env->clock).ns + MIN_OF(left_ms, INT64_MAX / 2 / NS_PER_MS) * NS_PER_MS : 0;
}

/* Whether one of our leases controls this fan. */
static bool fan_is_kept(const struct settings_holder *k, const char *gpu)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct lease *l = &k->kept[i]->lease;
        for (size_t n = 0; n < l->setting_count; n++)
            if (is_fan(&l->settings[n]) && strcmp(l->settings[n].gpu, gpu) == 0)
                return true;
    }
    return false;
}

/* After a refusal: keep watching fans of other leases, and one that couldn't be restored. */
static void unwatch_refused(const struct settings_holder *k, struct lease *l)
{
    if (l->id[0] && lease_set_put_back(&k->set, l, NULL) < 0)
        return;
    for (size_t i = 0; i < l->setting_count; i++)
        if (is_fan(&l->settings[i]) && !fan_is_kept(k, l->settings[i].gpu))
            watchdog_unwatch(k->watchdog, l->settings[i].gpu);
}

int holder_begin(struct settings_holder *k, struct lease *l, bool bound, struct error *err)
{
    if (k->count == HOLDER_LEASES_MAX)
        return error_set(err, -EBUSY, "more than %d leases of settings", HOLDER_LEASES_MAX);
    struct kept *new = calloc(1, sizeof *new);
    int rc = new ? holder_lock(k, err) : error_set(err, -ENOMEM, "out of memory");
    bool locked = rc == 0;
    if (rc == 0 && bound) {
        l->pid = getpid();
        l->start_key = lease_process_start(l->pid);
    }
    if (rc == 0)
        rc = watch_fans(k, l, err);
    if (rc == 0)
        rc = lease_set_begin(&k->dir, &k->set, l, err);
    if (locked)
        holder_unlock(k);
    if (rc < 0 || !bound) {
        if (rc < 0 && locked)
            unwatch_refused(k, l);
        free(new);
        return rc;
    }
    new->lease = *l;
    set_due(k, new);
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
    int rc = l ? holder_lock(k, err) : error_set(err, -ENOENT, "lease %s has ended", id);
    if (rc < 0)
        return rc;
    struct wall before = l->until;
    l->until = until;
    rc = lease_dir_put(&k->dir, l, err);
    if (rc < 0)
        l->until = before;
    else
        set_due(k, k->kept[find(k, id)]);
    holder_unlock(k);
    return rc;
}

/* Handles what the watchdog did since the last look. Without it, or without a journal, no fan stays fixed. */
static void look_at_watchdog(struct settings_holder *k, bool journal)
{
    char gpu[GPU_UUID_SIZE], why[WATCH_WHY_SIZE];
    int rc;
    bool there = watchdog_busy(k->watchdog, true);
    while ((rc = watchdog_given(k->watchdog, gpu, why)) == 1)
        for (size_t i = 0; i < k->count; i++)
            if (lease_set_has_fan(&k->kept[i]->lease) && lease_gpu_at(&k->kept[i]->lease, gpu) >= 0)
                memcpy(k->kept[i]->given, why, sizeof why);
    for (size_t i = 0; i < k->count; i++) {
        struct kept *x = k->kept[i];
        if (lease_set_has_fan(&x->lease) && !x->given[0] && (!there || rc < 0 || !journal))
            snprintf(x->given, sizeof x->given, "%s: its fan is automatic again",
                     journal ? "the process that watches it has ended" : "the journal cannot be written");
    }
}

/* NULL: it continues. */
static const char *reason_to_end(struct settings_holder *k, struct kept *x, const struct lease_list *list)
{
    const struct lease *l = &x->lease;
    if (l->until.ms && (l->until.ms <= clock_wall(k->env->clock).ms || x->due.ns <= clock_boot(k->env->clock).ns))
        return "its time is over";
    if (x->given[0])
        return x->given;
    enum lease_set_state is = lease_set_look(&k->set, l, x->upset);
    x->upset = is == SETTINGS_UNREACHABLE;
    if (is == SETTINGS_TAKEN)
        return "another program has changed it since, and its value was left";
    return !list || lease_list_find(list, l->id) ? NULL : "it was ended";
}

void holder_look(struct settings_holder *k, void (*ended)(void *user, const struct lease *l, const char *why), void *user)
{
    AUTO_LEASE_LIST struct lease_list list = {0};
    (void)watchdog_busy(k->watchdog, true);
    int64_t slept = slept_ms(k);
    uint64_t loaded = drivers(k);
    bool upset = slept > k->slept_ms + SLEPT_MS || loaded != k->drivers;
    bool listed = lease_dir_list(&k->dir, clock_wall(k->env->clock), &list, NULL) == 0;
    k->slept_ms = slept;
    k->drivers = loaded;
    look_at_watchdog(k, listed && faccessat(k->dir.fd, ".", W_OK, AT_EACCESS) == 0);
    for (size_t i = k->count; i-- > 0;) {
        struct kept *x = k->kept[i];
        char why[SETTINGS_WORDS];
        x->upset |= upset;
        const char *reason = reason_to_end(k, x, listed ? &list : NULL);
        if (!reason)
            continue;
        struct lease over = x->lease;
        snprintf(why, sizeof why, "%s", reason);
        if (end_at(k, i, NULL, NULL) < 0)
            continue; /* retried at the next look */
        ended(user, &over, why);
    }
    (void)watchdog_busy(k->watchdog, false);
}

int holder_watchdog(const struct env *env, const char *lease_dir)
{
    const char *words[6];
    size_t count = 0;
    if (env->sysroot[0]) {
        words[count++] = "--sysroot";
        words[count++] = env->sysroot;
    }
    if (env->simulated) {
        words[count++] = "--source";
        words[count++] = env->simulated;
    }
    words[count++] = "lease-recover";
    words[count] = NULL;
    return watchdog_start(env->self_program, words, lease_dir);
}
