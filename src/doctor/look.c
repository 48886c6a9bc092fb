/* SPDX-License-Identifier: Apache-2.0
 * Collects the doctor's facts: PCI bus, device files, capabilities, namespaces. Read-only, below the sysroot.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "doctor/doctor.h"
#include "source/sysfs/bus.h"
#include "source/sysfs/sysfs_places.h"

enum { CAP_SYS_PTRACE_BIT = 19 };

/* One line of a small file, trimmed; "" if there is none. */
static void look_read_line(const struct env *env, char *text, size_t size, const char *path)
{
    char raw[256];
    ssize_t len = file_read_head(env, path, raw, sizeof raw);
    str_copy_clean(text, size, len > 0 ? str_trim((struct str){raw, (size_t)len}) : STR(""));
}

static void look_at_kernel(const struct env *env, struct doctor_facts *f)
{
    struct utsname name;
    look_read_line(env, f->kernel, sizeof f->kernel, "/proc/sys/kernel/osrelease");
    f->wsl = str_contains(str_from(f->kernel), "icrosoft");
    if (!env_is_recorded(env) && uname(&name) == 0)
        str_copy(f->machine, sizeof f->machine, str_from(name.machine));
    look_read_line(env, f->nvidia_module, sizeof f->nvidia_module, "/sys/module/nvidia/version");
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

static void look_at_bus(const struct env *env, const struct snapshot *s, struct doctor_facts *f)
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

static void look_at_nodes(const struct env *env, struct doctor_facts *f)
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

static void look_at_rights(const struct env *env, struct doctor_facts *f)
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

static void look_at_proc(const struct env *env, struct doctor_facts *f)
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

static void look_at_container(const struct env *env, struct doctor_facts *f)
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

void doctor_look(const struct env *env, const struct snapshot *s, struct doctor_facts *facts)
{
    *facts = (struct doctor_facts){0};
    look_at_kernel(env, facts);
    look_at_bus(env, s, facts);
    look_at_nodes(env, facts);
    look_at_rights(env, facts);
    look_at_proc(env, facts);
    look_at_container(env, facts);
    look_at_containers(env, facts);
    AUTO_BUF struct buf places = BUF(4096);
    places_list(env, &places);
    str_copy(facts->places, sizeof facts->places, buf_view(&places));
}
