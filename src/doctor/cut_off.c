/* SPDX-License-Identifier: Apache-2.0
 * Containers that lose their GPUs: runtimes allow NVIDIA's devices behind systemd's back, and systemd sets its own list again when
 * it reads its units anew (`systemctl daemon-reload`). Opens of a device then fail with EPERM, in programs that start later.
 *
 * Of cgroup v1 the list itself can be read. Of v2 it is a program in the kernel; what systemd would set stands in its units.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "doctor/doctor.h"
#include "host/identity.h"
#include "source/sysfs/bus.h"

enum { PIDS_MAX = 65536, UNIT_SIZE = 65536 };

static bool reads_and_writes(struct str permissions)
{
    return str_contains(permissions, "r") && str_contains(permissions, "w");
}

/* Lines "c 195:0 rw", "a *:* rwm"; 195 is NVIDIA's number. */
static bool list_allows(struct str list)
{
    struct str line, kind, numbers, permissions;
    while (str_cut(&list, '\n', &line))
        if (str_word(&line, &kind) && str_word(&line, &numbers) && str_word(&line, &permissions) && !str_is(kind, "b") &&
            (str_starts(numbers, "195:") || str_is(numbers, "*:*")) && reads_and_writes(permissions))
            return true;
    return false;
}

struct systemd_unit {
    bool known, strict, allowed;
};

static void read_unit(const struct env *env, const char *path, struct systemd_unit *u)
{
    static const char *const devices[] = {"/dev/nvidia", "/dev/char/195:", "char-nvidia", "char-*"};
    AUTO_BUF struct buf text = BUF(UNIT_SIZE);
    if (file_read_all(env, path, &text) < 0)
        return;
    u->known = true;
    struct str rest = buf_view(&text), line, device, permissions;
    while (str_cut(&rest, '\n', &line)) {
        if (str_starts(line, "DevicePolicy="))
            u->strict = str_is(line, "DevicePolicy=strict") || str_is(line, "DevicePolicy=closed");
        if (!str_starts(line, "DeviceAllow="))
            continue;
        line = (struct str){line.at + 12, line.len - 12};
        if (!str_word(&line, &device)) { /* an empty one forgets those before it */
            u->allowed = false;
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(devices); i++)
            u->allowed |= str_starts(device, devices[i]) && (!str_word(&line, &permissions) || reads_and_writes(permissions));
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Reads a transient unit and its later overrides in the order in which systemd applies them. */
static struct systemd_unit unit_of(const struct env *env, struct str name)
{
    enum { FILES = 32 };
    struct systemd_unit u = {0};
    char path[PATH_SIZE], files[FILES][64];
    size_t count = 0;
    snprintf(path, sizeof path, "/run/systemd/transient/" STR_FMT, STR_ARG(name));
    read_unit(env, path, &u);
    snprintf(path, sizeof path, "/run/systemd/transient/" STR_FMT ".d", STR_ARG(name));
    AUTO_DIR DIR *folder = dir_open(env, path);
    for (struct dirent *entry; folder && count < FILES && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof files[0])
            strcpy(files[count++], entry->d_name);
    qsort(files, count, sizeof files[0], by_name);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "/run/systemd/transient/" STR_FMT ".d/%s", STR_ARG(name), files[i]);
        read_unit(env, path, &u);
    }
    return u;
}

/* 1: it has lost them; 0: it will; -1: no, or it can't be known. */
static int is_cut_off(const struct env *env, struct str cgroup)
{
    struct str line, number, controllers, path = {0};
    while (str_cut(&cgroup, '\n', &line)) {
        if (!str_cut(&line, ':', &number) || !str_cut(&line, ':', &controllers))
            continue;
        if (str_is(controllers, "devices")) {
            char file[PATH_SIZE];
            AUTO_BUF struct buf list = BUF(UNIT_SIZE);
            snprintf(file, sizeof file, "/sys/fs/cgroup/devices" STR_FMT "/devices.list", STR_ARG(line));
            return file_read_all(env, file, &list) >= 0 && !list_allows(buf_view(&list)) ? 1 : -1;
        }
        if (controllers.len == 0)
            path = line;
    }
    struct str part, scope = {0};
    while (str_cut(&path, '/', &part))
        if (str_ends(part, ".scope"))
            scope = part;
    struct systemd_unit u = scope.len ? unit_of(env, scope) : (struct systemd_unit){0};
    return u.known && u.strict && !u.allowed ? 0 : -1;
}

static void look_at_one(const struct env *env, const char *pid, struct doctor_facts *f)
{
    char path[PATH_SIZE], name[64];
    AUTO_BUF struct buf cgroup = BUF(UNIT_SIZE);
    snprintf(path, sizeof path, "/proc/%s/cgroup", pid);
    if (file_read_all(env, path, &cgroup) < 0)
        return;
    container_name(buf_view(&cgroup), name, sizeof name);
    for (size_t i = 0; i < f->cut_off_count; i++)
        if (strcmp(f->cut_off[i].container, name) == 0)
            return;
    /* The right to look through its root shows which devices it was given. */
    snprintf(path, sizeof path, "/proc/%s/root/dev/nvidiactl", pid);
    int lost = name[0] && file_exists(env, path) ? is_cut_off(env, buf_view(&cgroup)) : -1;
    if (lost < 0)
        return;
    struct doctor_cut_off *found = &f->cut_off[f->cut_off_count++];
    str_copy_clean(found->container, sizeof found->container, str_from(name));
    found->already = lost == 1;
}

void look_at_containers(const struct env *env, struct doctor_facts *f)
{
    f->cut_off_here = bus_is_cut_off(env, "/dev/nvidiactl");
    if (!f->nvidia_module[0] || f->container[0])
        return;
    AUTO_DIR DIR *folder = dir_open(env, "/proc");
    struct dirent *entry;
    for (size_t seen = 0; folder && seen < PIDS_MAX && f->cut_off_count < DOCTOR_CUT_OFF_MAX && (entry = readdir(folder)); seen++)
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_one(env, entry->d_name, f);
}
