/* SPDX-License-Identifier: Apache-2.0
 * A system without calls: every value is absent, with the reason "unsupported", and whirr still watches the GPUs. To port whirr to
 * another system, copy this file, fill in what the system has, and leave the rest; calls/calls.h specifies each call, and
 * tests/unit/host/test_this_host.c verifies it on the system itself. In order of usefulness:
 *
 *   process, arguments, user   whose the processes on a GPU are, and what they do
 *   memory, cpu                the host beside its GPUs
 *   processes                  what a command started by `whirr watch` uses, and the children of a program
 *   threads, waits_told        why a program leaves its GPU waiting
 *   networks, disks            what flows
 *   listeners                  which program answers requests
 *   the others                 where they are known without effort
 */
#include "host/calls/calls.h"

const struct system_calls host_calls = {
    .name = "this system",
};
