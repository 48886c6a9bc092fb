/* SPDX-License-Identifier: Apache-2.0
 * Programs on a GPU that is leased to another, without a lease of their own. Leases are a promise among users: it is said, and
 * nothing is done about it.
 */
#include <string.h>

#include "insight/area/area.h"
#include "model/finding_code.h"

/* Less is what a desktop or a look at the GPU takes. */
enum { USES_PERMILLE = 50 };
#define USES_BYTES (256LL << 20)

static bool ignores_lease(const struct gpu *gpu, const struct process *p)
{
    bool uses = reading_or(p->mem_bytes, 0) >= USES_BYTES || reading_or(p->util_permille, 0) >= USES_PERMILLE;
    return uses && p->without_lease && strcmp(p->user, gpu->lease.user) != 0 && !process_draws_desktop(p->name);
}

static void detect_lease(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    char who[PROCESS_WORDS];
    for (size_t i = 0; gpu->lease.id[0] && i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (!ignores_lease(gpu, p))
            continue;
        collect(c, gpu, FINDING_LEASE_IGNORED, SEVERITY_NOTICE, 0.95, p->pid, " is %s %s, and %s uses it without a lease",
                gpu->lease.reserved ? "reserved for" : "leased to", gpu->lease.holder, process_words(p, EXACT_NAME, who));
        return;
    }
}

const struct area area_lease = {.find = detect_lease};
