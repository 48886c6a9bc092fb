/* SPDX-License-Identifier: Apache-2.0
 * Lists all processes of a system with calls, once per look.
 */
#include "host/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/calls/calls.h"

enum { NS_PER_TICK = 1000 };

void tree_look(struct process_tree *t, const struct env *env, struct tree_use *ret)
{
    *ret = (struct tree_use){0};
    AUTO_FREE struct calls_process *all = calloc(TREE_MAX, sizeof *all);
    AUTO_FREE struct tree_member *list = calloc(TREE_MAX, sizeof *list);
    struct mono now = clock_mono(env->clock);
    int count = all && list ? CALL(calls_of(env), processes, all, TREE_MAX) : -ENOMEM;
    if (count < 0)
        return;
    for (int i = 0; i < count; i++)
        list[i] = (struct tree_member){.pid = all[i].pid,
                                       .parent = all[i].parent,
                                       .start_ticks = all[i].start_key,
                                       .cpu_ticks = MAX_OF(all[i].cpu_ns, (int64_t)0) / NS_PER_TICK,
                                       .read_bytes = all[i].read_bytes,
                                       .write_bytes = all[i].written_bytes};
    tree_mark(list, (size_t)count, t->root);
    tree_take(t, TAKE(list), (size_t)count, now, NS_PER_S / NS_PER_TICK, ret);
}
