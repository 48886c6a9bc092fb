/* SPDX-License-Identifier: Apache-2.0
 * The table for Windows. It has no load average, and a program's environment and directory are only in its own memory, which is
 * not read.
 */
#include "host/windows/native.h"

/* A disk wait other than a page fault looks like a wait for any object. */
static bool windows_waits_told(enum calls_wait wait)
{
    return wait == CALLS_WAIT_LOCK || wait == CALLS_WAIT_SLEEP || wait == CALLS_WAIT_STOPPED || wait == CALLS_WAIT_OTHER;
}

const struct system_calls host_calls = {
    .name = "Windows",
    .cpu = windows_cpu,
    .memory = windows_memory,
    .networks = windows_networks,
    .disks = windows_disks,
    .on_battery = windows_on_battery,
    .process = windows_process,
    .processes = windows_processes,
    .arguments = windows_command,
    .user = windows_user,
    .user_name = windows_user_name,
    .threads = windows_threads,
    .waits_told = windows_waits_told,
    .listeners = windows_listeners,
};
