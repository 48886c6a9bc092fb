/* SPDX-License-Identifier: Apache-2.0
 * Systems that take back unused memory by themselves.
 */
#include "base/os/memory.h"

void memory_give_back(struct memory *m, const struct env *env, struct mono now)
{
    (void)m, (void)env, (void)now;
}

size_t memory_drop_files(const struct env *env)
{
    (void)env;
    return 0;
}
