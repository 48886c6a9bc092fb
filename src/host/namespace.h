/* SPDX-License-Identifier: Apache-2.0
 * Whether the numbers in our /proc are those of the host. Drivers may report host PIDs into a container; the same number there
 * can be somebody else.
 */
#pragma once

#include "base/env.h"

/* True: /proc shows the host's own processes, so a PID from a driver can be looked up as it is. */
bool procfs_is_of_host(const struct env *env);

/* True when the process holds a GPU's device file open, as far as we may see: the proof that a PID which a driver reported is
 * this very process of our PID namespace. */
bool process_holds_gpu(const struct env *env, int32_t pid);
