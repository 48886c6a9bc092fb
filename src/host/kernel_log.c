/* SPDX-License-Identifier: Apache-2.0
 * The words for the state of a kernel log. Reads none.
 */
#include "host/kernel_log.h"

const char *kernel_log_state_name(enum kernel_log_state state)
{
    static const char *const names[] = {"read", "denied", "absent"};
    return names[state];
}
