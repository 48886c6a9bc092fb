/* SPDX-License-Identifier: Apache-2.0
 * Replaces source/tegra and sysfs_idle_audit.c on systems without Tegra, and without files about what keeps a GPU from idling.
 */
#include "source/sysfs/sysfs_idle_audit.h"
#include "source/tegra/tegra.h"

bool tegra_find(const struct env *env, struct attrs *devfreq)
{
    (void)env, (void)devfreq;
    return false;
}

void tegra_fill(const struct env *env, struct attrs *devfreq, unsigned groups, struct gpu *out)
{
    (void)env, (void)devfreq, (void)groups, (void)out;
}

void idle_facts_read(const struct env *env, const struct snapshot *s, struct idle_facts *ret)
{
    (void)env;
    for (size_t i = 0; i < s->gpu_count; i++)
        ret[i] = (struct idle_facts){0};
}
