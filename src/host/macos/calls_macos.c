/* SPDX-License-Identifier: Apache-2.0
 * The table for macOS, not yet run on a real Mac: CPU time, memory, load and network; processes, whose identity comes from sysctl,
 * open to all users, and whose usage from libproc, only for one's own processes or root. Disks and the battery would need IOKit;
 * listeners would need a scan of all files of all processes.
 */
#include <errno.h>
#include <libproc.h>
#include <mach/mach.h>
#include <mach/mach_host.h>
#include <mach/mach_time.h>
#include <net/if.h>
#include <net/route.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysctl.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "host/macos/facts_macos.h"

/* ---- the host ---- */

static int macos_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max)
{
    natural_t count = 0;
    processor_info_array_t info = NULL;
    mach_msg_type_number_t size = 0;
    mach_port_t host = mach_host_self();
    kern_return_t rc = host_processor_info(host, PROCESSOR_CPU_LOAD_INFO, &count, &info, &size);
    mach_port_deallocate(mach_task_self(), host);
    if (rc != KERN_SUCCESS)
        return -EIO;
    const struct processor_cpu_load_info *load = (const void *)info;
    *all = (struct calls_cpu){0};
    for (natural_t i = 0; i < count; i++) {
        uint64_t total = 0;
        for (int k = 0; k < CPU_STATE_MAX; k++)
            total += load[i].cpu_ticks[k];
        uint64_t busy = total - load[i].cpu_ticks[CPU_STATE_IDLE];
        all->total += total;
        all->busy += busy;
        if (i < max)
            cores[i] = (struct calls_cpu){total, busy};
    }
    vm_deallocate(mach_task_self(), (vm_address_t)info, size * sizeof *info);
    return (int)count;
}

/* Available memory: free pages, and those that a disk also has. */
static int macos_memory(struct calls_memory *ret)
{
    *ret = (struct calls_memory){-1, -1, -1, -1};
    uint64_t total = 0;
    size_t size = sizeof total;
    if (sysctlbyname("hw.memsize", &total, &size, NULL, 0) != 0)
        return -errno;
    ret->total_bytes = (int64_t)total;
    struct vm_statistics64 vm;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    vm_size_t page = 0;
    mach_port_t host = mach_host_self();
    if (host_page_size(host, &page) == KERN_SUCCESS &&
        host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&vm, &count) == KERN_SUCCESS)
        ret->available_bytes = ((int64_t)vm.free_count + vm.inactive_count) * (int64_t)page;
    mach_port_deallocate(mach_task_self(), host);
    struct xsw_usage swap;
    size = sizeof swap;
    if (sysctlbyname("vm.swapusage", &swap, &size, NULL, 0) == 0) {
        ret->swap_total_bytes = (int64_t)swap.xsu_total;
        ret->swap_used_bytes = (int64_t)swap.xsu_used;
    }
    return 0;
}

static int macos_load(int64_t *ret_milli)
{
    double averages[1];
    if (getloadavg(averages, 1) != 1)
        return -EIO;
    *ret_milli = (int64_t)(averages[0] * 1000 + 0.5);
    return 0;
}

static int macos_networks(struct calls_flow *list, size_t max)
{
    int name[] = {CTL_NET, PF_ROUTE, 0, 0, NET_RT_IFLIST2, 0};
    size_t size = 0, count = 0;
    if (sysctl(name, ARRAY_LEN(name), NULL, &size, NULL, 0) != 0)
        return -errno;
    size += size / 8; /* interfaces may appear meanwhile */
    AUTO_FREE char *room = malloc(size);
    if (!room)
        return -ENOMEM;
    if (sysctl(name, ARRAY_LEN(name), room, &size, NULL, 0) != 0)
        return -errno;
    for (size_t at = 0; at + sizeof(struct if_msghdr) <= size && count < max;) {
        struct if_msghdr head;
        struct if_msghdr2 told;
        char interface[IF_NAMESIZE];
        memcpy(&head, room + at, sizeof head);
        if (head.ifm_msglen == 0)
            break;
        if (head.ifm_type == RTM_IFINFO2 && at + sizeof told <= size) {
            memcpy(&told, room + at, sizeof told);
            if (if_indextoname(told.ifm_index, interface) && macos_is_card(interface)) {
                list[count] =
                    (struct calls_flow){.in_bytes = told.ifm_data.ifi_ibytes, .out_bytes = told.ifm_data.ifi_obytes, .busy_ms = -1};
                snprintf(list[count].name, sizeof list[count].name, "%s", interface);
                count++;
            }
        }
        at += head.ifm_msglen;
    }
    return (int)count;
}

/* ---- processes ---- */

enum { US_PER_MS = 1000, PASSWD_SIZE = 4096, ARGUMENTS_SIZE_LEAST = 4096 };

static int64_t nanoseconds(uint64_t time)
{
    mach_timebase_info_data_t base = {0};
    mach_timebase_info(&base);
    return macos_ns(time, base.numer, base.denom);
}

/* ---- identity ---- */

static void take(const struct kinfo_proc *k, struct calls_process *ret)
{
    int64_t us = (int64_t)k->kp_proc.p_starttime.tv_sec * 1000000 + k->kp_proc.p_starttime.tv_usec;
    *ret = (struct calls_process){.pid = k->kp_proc.p_pid,
                                  .parent = k->kp_eproc.e_ppid,
                                  .start_key = us ? us : 1,
                                  .started_at = {us / US_PER_MS},
                                  .cpu_ns = -1,
                                  .system_ns = -1,
                                  .resident_bytes = -1,
                                  .read_bytes = -1,
                                  .written_bytes = -1};
    char path[PROC_PIDPATHINFO_MAXSIZE];
    const char *slash = proc_pidpath(ret->pid, path, sizeof path) > 0 ? strrchr(path, '/') : NULL;
    str_copy_clean(ret->name, sizeof ret->name, str_from(slash ? slash + 1 : k->kp_proc.p_comm)); /* p_comm is truncated to 16 */
}

static void add_use(struct calls_process *p)
{
    struct rusage_info_v2 use;
    if (proc_pid_rusage(p->pid, RUSAGE_INFO_V2, (rusage_info_t *)&use) != 0)
        return;
    p->system_ns = nanoseconds(use.ri_system_time);
    p->cpu_ns = p->system_ns + nanoseconds(use.ri_user_time);
    p->resident_bytes = (int64_t)use.ri_resident_size;
    p->read_bytes = (int64_t)use.ri_diskio_bytesread;
    p->written_bytes = (int64_t)use.ri_diskio_byteswritten;
}

static int read_one(int32_t pid, struct kinfo_proc *ret)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
    size_t size = sizeof *ret;
    if (sysctl(name, ARRAY_LEN(name), ret, &size, NULL, 0) != 0)
        return -errno;
    return size < sizeof *ret || ret->kp_proc.p_pid != pid || ret->kp_proc.p_stat == SZOMB ? -ESRCH : 0;
}

static int macos_process(int32_t pid, struct calls_process *ret)
{
    struct kinfo_proc k;
    int rc = read_one(pid, &k);
    if (rc < 0)
        return rc;
    take(&k, ret);
    add_use(ret);
    return 0;
}

static int macos_processes(struct calls_process *list, size_t max)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_ALL, 0};
    size_t size = 0, count = 0;
    if (sysctl(name, ARRAY_LEN(name), NULL, &size, NULL, 0) != 0)
        return -errno;
    size += size / 8; /* processes may start meanwhile */
    AUTO_FREE struct kinfo_proc *all = malloc(size);
    if (!all)
        return -ENOMEM;
    if (sysctl(name, ARRAY_LEN(name), all, &size, NULL, 0) != 0)
        return -errno;
    for (size_t i = 0; i < size / sizeof *all && count < max; i++) {
        if (all[i].kp_proc.p_stat == SZOMB)
            continue;
        take(&all[i], &list[count]);
        add_use(&list[count++]);
    }
    return (int)count;
}

static int macos_user_name(int64_t uid, char *name, size_t size)
{
    struct passwd entry, *found = NULL;
    char room[PASSWD_SIZE];
    if (getpwuid_r((uid_t)uid, &entry, room, sizeof room, &found) != 0 || !found)
        return -ENOENT;
    str_copy_clean(name, size, str_from(found->pw_name));
    return 0;
}

static int macos_user(int32_t pid, char *name, size_t size)
{
    struct kinfo_proc k;
    int rc = read_one(pid, &k);
    return rc < 0 ? rc : macos_user_name(k.kp_eproc.e_ucred.cr_uid, name, size);
}

/* ---- command line ---- */

static int read_start(int32_t pid, char **room, struct str *arguments, struct str *environment)
{
    int most_of[] = {CTL_KERN, KERN_ARGMAX}, name[] = {CTL_KERN, KERN_PROCARGS2, pid}, most = 0;
    size_t size = sizeof most;
    if (sysctl(most_of, ARRAY_LEN(most_of), &most, &size, NULL, 0) != 0 || most < ARGUMENTS_SIZE_LEAST)
        return -EIO;
    size = (size_t)most;
    *room = malloc(size);
    if (!*room)
        return -ENOMEM;
    if (sysctl(name, ARRAY_LEN(name), *room, &size, NULL, 0) != 0) /* EINVAL for another user's process */
        return errno == EINVAL ? -EACCES : -errno;
    return macos_arguments((struct str){*room, size}, arguments, environment) ? 0 : -EIO;
}

static int macos_command(int32_t pid, char *text, size_t size)
{
    AUTO_FREE char *room = NULL;
    struct str arguments, environment;
    int rc = read_start(pid, &room, &arguments, &environment);
    if (rc < 0)
        return rc;
    size_t len = MIN_OF(arguments.len, size);
    memcpy(text, arguments.at, len);
    return (int)len;
}

static int macos_environment(int32_t pid, struct buf *ret)
{
    AUTO_FREE char *room = NULL;
    struct str arguments, environment;
    int rc = read_start(pid, &room, &arguments, &environment);
    if (rc < 0)
        return rc;
    buf_str(ret, environment);
    return ret->failed ? -ENOMEM : 0;
}

static int macos_directory(int32_t pid, char *path, size_t size)
{
    struct proc_vnodepathinfo info;
    if (proc_pidinfo(pid, PROC_PIDVNODEPATHINFO, 0, &info, sizeof info) != (int)sizeof info)
        return errno == ESRCH ? -ESRCH : -EACCES;
    str_copy(path, size, str_from(info.pvi_cdir.vip_path));
    return 0;
}

/* The first in the list is the oldest. */
static int macos_threads(int32_t pid, struct calls_thread *list, size_t max)
{
    uint64_t handles[CALLS_THREADS_MAX];
    int size = proc_pidinfo(pid, PROC_PIDLISTTHREADS, 0, handles, sizeof handles);
    if (size <= 0)
        return errno == ESRCH ? -ESRCH : -EACCES;
    size_t count = 0;
    for (size_t i = 0; i < (size_t)size / sizeof handles[0] && count < max; i++) {
        struct proc_threadinfo t;
        if (proc_pidinfo(pid, PROC_PIDTHREADINFO, handles[i], &t, sizeof t) != (int)sizeof t)
            continue; /* it has ended */
        list[count] = (struct calls_thread){.id = (int64_t)handles[i],
                                            .cpu_ns = (int64_t)(t.pth_user_time + t.pth_system_time),
                                            .wait = macos_wait(t.pth_run_state)};
        str_copy_clean(list[count].name, sizeof list[count].name, str_from(t.pth_name));
        count++;
    }
    return count ? (int)count : -ESRCH;
}

/* ---- the table ---- */

static bool macos_waits_told(enum calls_wait wait)
{
    return wait == CALLS_WAIT_STOPPED || wait == CALLS_WAIT_OTHER;
}

const struct system_calls host_calls = {
    .name = "macOS",
    .cpu = macos_cpu,
    .memory = macos_memory,
    .load = macos_load,
    .networks = macos_networks,
    .process = macos_process,
    .processes = macos_processes,
    .arguments = macos_command,
    .environment = macos_environment,
    .directory = macos_directory,
    .user = macos_user,
    .user_name = macos_user_name,
    .threads = macos_threads,
    .waits_told = macos_waits_told,
};
