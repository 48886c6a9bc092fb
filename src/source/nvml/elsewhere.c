/* SPDX-License-Identifier: Apache-2.0
 * Where no GPU is part of a Tegra: in the place of source/tegra.
 */
#include "source/tegra/read.h"

bool tegra_find(const struct env *env, struct attrs *devfreq)
{
    (void)env, (void)devfreq;
    return false;
}

void tegra_fill(const struct env *env, struct attrs *devfreq, unsigned groups, struct gpu *out)
{
    (void)env, (void)devfreq, (void)groups, (void)out;
}
