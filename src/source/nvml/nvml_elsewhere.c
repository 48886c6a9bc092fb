/* SPDX-License-Identifier: Apache-2.0
 * Replaces source/tegra on systems without Tegra.
 */
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
