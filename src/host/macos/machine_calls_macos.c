/* SPDX-License-Identifier: Apache-2.0
 * CPU time, memory, load and network of a Mac.
 */
#include <errno.h>
#include <mach/mach.h>
#include <mach/mach_host.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysctl.h>

#include "base/cleanup.h"
#include "host/macos/facts_macos.h"
#include "host/macos/internal.h"

int macos_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max)
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
int macos_memory(struct calls_memory *ret)
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

int macos_load(int64_t *ret_milli)
{
    double averages[1];
    if (getloadavg(averages, 1) != 1)
        return -EIO;
    *ret_milli = (int64_t)(averages[0] * 1000 + 0.5);
    return 0;
}

int macos_networks(struct calls_flow *list, size_t max)
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
