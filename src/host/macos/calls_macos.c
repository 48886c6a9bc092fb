/* SPDX-License-Identifier: Apache-2.0
 * The table for macOS, not yet run on a real Mac. Disks and the battery would need IOKit; listeners would need a scan of all files
 * of all processes.
 */
#include "host/macos/internal.h"

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
