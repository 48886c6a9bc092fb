/* SPDX-License-Identifier: Apache-2.0
 * Collects the doctor's facts: PCI bus, device files, capabilities, namespaces, containers. Read-only, below the sysroot.
 */
#include "doctor/doctor.h"

#include <ctype.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "source/driver_places.h"
#include "source/sysfs/bus.h"

enum { CAP_SYS_PTRACE_BIT = 19 };

/* One line of a small file, trimmed; "" if there is none. */
static void read_line(const struct env *env, char *text, size_t size, const char *path)
{
    char raw[256];
    ssize_t len = file_read_head(env, path, raw, sizeof raw);
    str_copy_clean(text, size, len > 0 ? str_trim((struct str){raw, (size_t)len}) : STR(""));
}

static void read_kernel(const struct env *env, struct doctor_facts *f)
{
    struct utsname name;
    read_line(env, f->kernel, sizeof f->kernel, "/proc/sys/kernel/osrelease");
    f->wsl = str_contains(str_from(f->kernel), "icrosoft");
    if (!env_is_recorded(env) && uname(&name) == 0)
        str_copy(f->machine, sizeof f->machine, str_from(name.machine));
    read_line(env, f->nvidia_module, sizeof f->nvidia_module, "/sys/module/nvidia/version");
}

/* ---- the PCI bus ---- */

static bool is_accelerator(const struct snapshot *s, const char *address)
{
    for (size_t i = 0; i < s->accelerator_count; i++)
        if (strcmp(s->accelerators[i].id.pci_address, address) == 0)
            return true;
    return false;
}

static int shown_as(const struct snapshot *s, const char *address)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (strcmp(s->gpus[i].id.pci_address, address) == 0 && snapshot_source_started(s, &s->gpus[i]))
            return s->gpus[i].index;
    return -1;
}

static void read_bus(const struct env *env, const struct snapshot *s, struct doctor_facts *f)
{
    struct bus_gpu gpus[DOCTOR_CARDS_MAX];
    int count = bus_gpus(env, gpus, ARRAY_LEN(gpus));
    f->bus_error = count < 0 ? -count : 0;
    for (int i = 0; i < count; i++)
        if (!is_accelerator(s, gpus[i].pci_address))
            f->cards[f->card_count++] = (struct doctor_card){gpus[i], shown_as(s, gpus[i].pci_address)};
}

/* ---- device files ---- */

static bool in_group(gid_t group)
{
    gid_t groups[256];
    int count = getgroups(ARRAY_LEN(groups), groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return getegid() == group;
}

static void add_node(struct doctor_facts *f, const char *path)
{
    struct stat info;
    if (f->node_count == DOCTOR_NODES_MAX || stat(path, &info) < 0 || !S_ISCHR(info.st_mode))
        return;
    struct doctor_node *node = &f->nodes[f->node_count++];
    str_copy(node->path, sizeof node->path, str_from(path));
    node->mode = info.st_mode & 07777;
    node->usable = access(path, R_OK | W_OK) == 0;
    node->member = in_group(info.st_gid);
    struct group *group = node->usable ? NULL : getgrgid(info.st_gid);
    str_copy_clean(node->group, sizeof node->group, str_from(group ? group->gr_name : ""));
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct doctor_node *)a)->path, ((const struct doctor_node *)b)->path);
}

static void read_nodes(const struct env *env, struct doctor_facts *f)
{
    /* A recorded host's device files do not exist here. */
    if (env_is_recorded(env))
        return;
    static const char *const folders[][2] = {{"/dev", "nvidia"}, {"/dev/dri", "renderD"}, {"/dev", "kfd"}};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_DIR DIR *folder = dir_open(env, folders[i][0]);
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            char path[PATH_SIZE];
            if (!str_starts(str_from(entry->d_name), folders[i][1]))
                continue;
            snprintf(path, sizeof path, "%s/%s", folders[i][0], entry->d_name);
            add_node(f, path);
        }
    }
    qsort(f->nodes, f->node_count, sizeof f->nodes[0], by_path);
}

/* ---- permissions ---- */

static void read_rights(const struct env *env, struct doctor_facts *f)
{
    AUTO_BUF struct buf status = BUF(65536);
    f->root = geteuid() == 0;
    if (env_is_recorded(env) || file_read_all(env, "/proc/self/status", &status) < 0)
        return;
    struct str rest = buf_view(&status), line;
    while (str_cut(&rest, '\n', &line)) {
        if (!str_starts(line, "CapEff:"))
            continue;
        char hex[32] = "0x";
        uint64_t bits;
        str_copy(hex + 2, sizeof hex - 2, str_trim((struct str){line.at + 7, line.len - 7}));
        if (str_to_u64(str_from(hex), &bits))
            f->cap_ptrace = bits & (1ULL << CAP_SYS_PTRACE_BIT);
    }
}

/* "proc /proc proc rw,nosuid,hidepid=2 0 0"; newer kernels print a word instead of the number. */
static int hidepid_of(struct str options)
{
    struct str option;
    while (str_cut(&options, ',', &option)) {
        if (!str_starts(option, "hidepid="))
            continue;
        struct str value = {option.at + 8, option.len - 8};
        if (str_is(value, "off") || str_is(value, "0"))
            return 0;
        return str_is(value, "noaccess") || str_is(value, "1") ? 1 : 2;
    }
    return 0;
}

static void read_proc(const struct env *env, struct doctor_facts *f)
{
    AUTO_BUF struct buf mounts = BUF(4 * 1024 * 1024);
    if (file_read_all(env, "/proc/self/mounts", &mounts) < 0 && file_read_all(env, "/proc/mounts", &mounts) < 0)
        return;
    struct str rest = buf_view(&mounts), line;
    while (str_cut(&rest, '\n', &line)) {
        struct str what, where, kind, options;
        if (str_word(&line, &what) && str_word(&line, &where) && str_word(&line, &kind) && str_word(&line, &options) &&
            str_is(where, "/proc") && str_is(kind, "proc"))
            f->hidepid = hidepid_of(options);
    }
}

static void read_container(const struct env *env, struct doctor_facts *f)
{
    char text[64];
    str_copy(f->container, sizeof f->container, str_from(bus_container(env)));
    /* A host's initial PID namespace has a fixed number; any other belongs to a container. */
    ssize_t len = file_read_link(env, "/proc/self/ns/pid", text, sizeof text);
    f->own_pid_namespace = len > 0 && strcmp(text, "pid:[4026531836]") != 0;
    /* Empty means none. */
    const char *visible = env->visible_devices;
    if (visible)
        str_copy_clean(f->visible_devices, sizeof f->visible_devices,
                       str_trim(str_from(visible)).len ? str_from(visible) : STR("none"));
}

/* ---- containers that lose their GPUs ---- */

/* Runtimes allow NVIDIA's devices behind systemd's back, and systemd sets its own list again when it reads its units anew
 * (`systemctl daemon-reload`). Opens of a device then fail with EPERM, in programs that start later. Of cgroup v1 the list itself
 * can be read. Of v2 it is a program in the kernel; what systemd would set stands in its units. */

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

static void check_container(const struct env *env, const char *pid, struct doctor_facts *f)
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

static void find_cut_off(const struct env *env, struct doctor_facts *f)
{
    f->cut_off_here = bus_is_cut_off(env, "/dev/nvidiactl");
    if (!f->nvidia_module[0] || f->container[0])
        return;
    AUTO_DIR DIR *folder = dir_open(env, "/proc");
    struct dirent *entry;
    for (size_t seen = 0; folder && seen < PIDS_MAX && f->cut_off_count < DOCTOR_CUT_OFF_MAX && (entry = readdir(folder)); seen++)
        if (isdigit((unsigned char)entry->d_name[0]))
            check_container(env, entry->d_name, f);
}

void doctor_read(const struct env *env, const struct snapshot *s, struct doctor_facts *facts)
{
    *facts = (struct doctor_facts){0};
    read_kernel(env, facts);
    read_bus(env, s, facts);
    read_nodes(env, facts);
    read_rights(env, facts);
    read_proc(env, facts);
    read_container(env, facts);
    find_cut_off(env, facts);
    AUTO_BUF struct buf places = BUF(4096);
    places_list(env, &places);
    str_copy(facts->places, sizeof facts->places, buf_view(&places));
}
