/* SPDX-License-Identifier: Apache-2.0
 * Checks of a target process, from procfs and cgroupfs below the sysroot.
 */
#include "guard/target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/words.h"
#include "host/procfs.h"

/* Beyond the bytes themselves: page tables, and room for everybody else to go on. */
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

bool target_started(const struct env *env, int32_t pid, int64_t *ticks)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    struct proc_stat stat;
    if (len <= 0 || !proc_stat_parse((struct str){text, (size_t)len}, &stat))
        return false;
    *ticks = stat.start_ticks;
    return true;
}

int target_check(const struct env *env, struct claim_identity who, struct error *err)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/status", who.pid);
    struct str tgid, state = {0};
    int64_t leader;
    if (file_read_head(env, path, text, sizeof text) <= 0 || !find_line(text, "Tgid:", &tgid) || !str_to_i64(tgid, &leader))
        return error_set(err, -ESRCH, "process %d is gone", who.pid);
    if (leader != who.pid)
        return error_set(err, -EINVAL, "%d is a thread of process %lld, not a process", who.pid, (long long)leader);
    int64_t ticks;
    if (!target_started(env, who.pid, &ticks) || (who.start_key && ticks != who.start_key))
        return error_set(err, -ESRCH, "process %d is gone, and its number belongs to another one now", who.pid);
    if (find_line(text, "State:", &state) && state.len && (state.at[0] == 'T' || state.at[0] == 't'))
        return error_set(err, -EBUSY, "process %d is stopped; the driver's calls would hang. Let it continue first (kill -CONT %d)",
                         who.pid, who.pid);
    if (state.len && (state.at[0] == 'Z' || state.at[0] == 'X'))
        return error_set(err, -ESRCH, "process %d has ended", who.pid);
    return 0;
}

/* The descriptor is opened first: a process that passes the check afterwards is the one it refers to. */
int target_signal(const struct env *env, struct claim_identity who, int number, struct error *err)
{
    AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, who.pid, 0);
    if (fd < 0 && errno != ENOSYS)
        return error_set(err, -errno, errno == ESRCH ? "process %d is gone" : "cannot signal process %d", who.pid);
    int rc = target_check(env, who, err);
    if (rc < 0)
        return rc;
    if ((fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) : kill(who.pid, number)) < 0) /* before Linux 5.3 */
        return error_set(err, -errno, "cannot signal process %d: %s", who.pid, strerror(errno));
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

/* The group and all groups above it may have a limit. */
static int cgroup_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err)
{
    char path[PATH_SIZE], text[4096], group[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    struct str value;
    if (file_read_head(env, path, text, sizeof text) <= 0 || !find_line(text, "0::", &value))
        return 0; /* no cgroup v2: no limit that we know of */
    str_copy(group, sizeof group, value);
    for (;;) {
        int64_t most, now;
        snprintf(path, sizeof path, "/sys/fs/cgroup%.300s/memory.max", group);
        bool limited = file_read_i64(env, path, &most) == 0; /* "max" is no number: no limit */
        snprintf(path, sizeof path, "/sys/fs/cgroup%.300s/memory.current", group);
        if (limited && file_read_i64(env, path, &now) == 0 && most - now < bytes)
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

bool target_alive(const struct env *env, struct claim_identity who)
{
    int rc = who.pid > 0 ? target_check(env, who, NULL) : -ESRCH;
    return rc == 0 || rc == -EBUSY;
}
