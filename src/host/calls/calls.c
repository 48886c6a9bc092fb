/* SPDX-License-Identifier: Apache-2.0
 * Picks the table of system calls for a host.
 */
#include "host/calls/calls.h"

const struct system_calls *calls_of(const struct env *env)
{
    static const struct system_calls none = {.name = "a recorded machine"};
    return env_is_recorded(env) ? &none : &host_calls;
}
