/* SPDX-License-Identifier: Apache-2.0
 * Samples this host's processes, through the daemon where it has more permissions than this command.
 */
#include "ask/cpu_time.h"

#include <stdio.h>

#include "format/json/json.h"

enum { USES_CPU_PERMILLE = 30 };

static bool is_listed(const struct process *const *list, size_t count, const struct process *p)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->pid == p->pid)
            return true;
    return false;
}

size_t cpu_time_processes(const struct snapshot *now, int only, const struct process *ret[CPU_TIME_PROCESSES])
{
    size_t count = 0;
    for (size_t g = 0; g < now->gpu_count; g++) {
        const struct gpu *gpu = &now->gpus[g];
        if (gpu->simulated || (only != ALL_GPUS && only != (int)g))
            continue;
        for (size_t i = 0; i < gpu->process_count && count < CPU_TIME_PROCESSES; i++) {
            const struct process *p = &gpu->processes[i];
            if (p->visible && reading_or(p->cpu_permille, 0) >= USES_CPU_PERMILLE && !is_listed(ret, count, p))
                ret[count++] = p;
        }
    }
    return count;
}

void cpu_time_words(struct cli *cli, struct session *session, const struct process *p, int64_t ms, char words[ADDRESS_WORDS])
{
    struct address_samples here = {.state = READING_DENIED};
    AUTO_BUF struct buf answer = BUF(64 * 1024);
    char target[64];
    words[0] = '\0';
    if (!cli->host) {
        address_samples_take(&cli->env, p->pid, ms, true, &here);
        address_samples_words(&here, words);
    }
    if (here.state == READING_OK || !session_asks_daemon(session))
        return;
    snprintf(target, sizeof target, "/api/why/cpu?pid=%d", (int)p->pid);
    if (session_get(session, target, &answer) == 200)
        json_cpu_samples_words(buf_view(&answer), words);
}
