/* SPDX-License-Identifier: Apache-2.0
 * Checks a target process through procfs and cgroupfs below the sysroot.
 */
#include "guard/guard_target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/words.h"
#include "host/procfs.h"

/* Beyond the bytes themselves: page tables, and memory for all other programs. */
#define ROOM_MARGIN_BYTES (512LL * 1024 * 1024)

static bool find_line(const char *text, const char *key, struct str *value)
{
    struct str rest = str_from(text), line;
    while (str_cut(&rest, '\n', &line)) {
        if (str_starts(line, key)) {
            *value = str_trim((struct str){line.at + strlen(key), line.len - strlen(key)});
            return true;
        }
    }
    return false;
}

int target_started(const struct env *env, int32_t pid, int64_t *ticks)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    struct proc_stat stat;
    if (len < 0)
        return is_gone(len) ? -ESRCH : (int)len;
    if (!proc_stat_parse((struct str){text, (size_t)len}, &stat))
        return -EBADMSG;
    *ticks = stat.start_ticks;
    return 0;
}

static int cannot_look(struct error *err, int32_t pid, int rc)
{
    if (is_gone(rc))
        return error_set(err, -ESRCH, "process %d is gone", pid);
    return error_set(err, rc, "cannot read process %d: %s", pid, strerror(-rc));
}

int target_check(const struct env *env, struct claim_identity who, struct error *err)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/status", who.pid);
    struct str tgid, state = {0};
    int64_t leader;
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len < 0)
        return cannot_look(err, who.pid, (int)len);
    if (!find_line(text, "Tgid:", &tgid) || !str_to_i64(tgid, &leader))
        return cannot_look(err, who.pid, -EBADMSG);
    if (leader != who.pid)
        return error_set(err, -EINVAL, "%d is a thread of process %lld, not a process", who.pid, (long long)leader);
    int64_t ticks;
    int rc = target_started(env, who.pid, &ticks);
    if (rc < 0)
        return cannot_look(err, who.pid, rc);
    if (who.start_key && ticks != who.start_key)
        return error_set(err, -ESRCH, "process %d is gone, and its number belongs to another one now", who.pid);
    if (find_line(text, "State:", &state) && state.len && (state.at[0] == 'T' || state.at[0] == 't'))
        return error_set(err, -EBUSY, "process %d is stopped; the driver's calls would hang. Let it continue first (kill -CONT %d)",
                         who.pid, who.pid);
    if (state.len && (state.at[0] == 'Z' || state.at[0] == 'X'))
        return error_set(err, -ESRCH, "process %d has ended", who.pid);
    return 0;
}

/* Open the pidfd first: a process that passes the check afterwards is the one it refers to. */
int target_signal(const struct env *env, struct claim_identity who, int number, struct error *err)
{
    AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, who.pid, 0);
    if (fd < 0 && errno != ENOSYS)
        return cannot_look(err, who.pid, -errno);
    int rc = target_check(env, who, err);
    if (rc < 0)
        return rc;
    if ((fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) : kill(who.pid, number)) < 0) /* before Linux 5.3 */
        return error_set(err, -errno, "cannot signal process %d: %s", who.pid, strerror(errno));
    return 0;
}

int target_renice(const struct env *env, struct claim_identity who, int by, int *ret_before, int *ret_after, struct error *err)
{
    int rc = target_check(env, who, err);
    if (rc < 0)
        return rc;
    errno = 0;
    *ret_before = getpriority(PRIO_PROCESS, (id_t)who.pid);
    if (errno || setpriority(PRIO_PROCESS, (id_t)who.pid, *ret_before + by) < 0)
        return error_set(err, -errno, "cannot change the nice value of process %d: %s", who.pid, strerror(errno));
    *ret_after = getpriority(PRIO_PROCESS, (id_t)who.pid);
    return 0;
}

static int too_small(struct error *err, const char *what, int64_t room, int64_t bytes)
{
    char left[WORDS_SIZE], needed[WORDS_SIZE];
    return error_set(err, -ENOMEM, "%s has room for %s more, but %s of GPU memory would move there", what,
                     words_bytes(MAX_OF(room, 0), left), words_bytes(bytes, needed));
}

static int machine_room(const struct env *env, int64_t bytes, struct error *err)
{
    char text[4096];
    struct str value, number;
    int64_t kib;
    if (file_read_head(env, "/proc/meminfo", text, sizeof text) <= 0 || !find_line(text, "MemAvailable:", &value) ||
        !str_word(&value, &number) || !str_to_i64(number, &kib))
        return error_set(err, -EIO, "cannot tell how much host memory is available");
    int64_t room = kib * 1024 - ROOM_MARGIN_BYTES;
    return room >= bytes ? 0 : too_small(err, "the host", room, bytes);
}

/* The group and all its ancestors may have limits. */
static int cgroup_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err)
{
    char path[PATH_SIZE], text[4096], group[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    struct str value;
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len < 0 && !is_gone(len))
        return cannot_look(err, pid, (int)len);
    if (len <= 0 || !find_line(text, "0::", &value))
        return 0; /* no cgroup v2: no known limit */
    str_copy(group, sizeof group, value);
    for (;;) {
        int64_t most, now = 0;
        snprintf(path, sizeof path, "/sys/fs/cgroup%.300s/memory.max", group);
        int rc = file_read_i64(env, path, &most);
        bool limited = rc == 0;
        snprintf(path, sizeof path, "/sys/fs/cgroup%.300s/memory.current", group);
        if (limited)
            rc = file_read_i64(env, path, &now);
        if (rc < 0 && rc != -EINVAL && !is_gone(rc)) /* "max" isn't a number: no limit */
            return error_set(err, rc, "cannot read the limit of the process's control group: %s", strerror(-rc));
        if (limited && rc == 0 && most - now < bytes)
            return too_small(err, "the process's control group", most - now, bytes);
        char *slash = strrchr(group, '/');
        if (!slash || slash == group)
            return 0;
        *slash = '\0';
    }
}

int target_host_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err)
{
    int rc = machine_room(env, bytes, err);
    return rc < 0 ? rc : cgroup_room(env, pid, bytes, err);
}

enum worker_presence target_presence(const struct env *env, struct claim_identity who)
{
    return presence_from_check(who.pid > 0 ? target_check(env, who, NULL) : -ESRCH);
}

enum worker_presence presence_from_check(int checked)
{
    switch (checked) {
    case 0:
    case -EBUSY: return WORKER_ALIVE;
    case -ESRCH:
    case -EINVAL: return WORKER_GONE; /* the PID now is a thread of another process */
    default: return WORKER_UNKNOWN;
    }
}
