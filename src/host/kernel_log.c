/* SPDX-License-Identifier: Apache-2.0
 * Names of kernel log states. Reads nothing.
 */
#include "host/kernel_log.h"

const char *kernel_log_state_name(enum kernel_log_state state)
{
    static const char *const names[] = {"read", "denied", "absent"};
    return names[state];
}
