/* SPDX-License-Identifier: Apache-2.0
 * The GPU inside a Tegra chip (Jetson), from kernel files: NVML doesn't exist for old ones and reports little for newer ones.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

/* The GPU's devfreq; false: not a Tegra with nvgpu. */
bool tegra_find(const struct env *env, struct attrs *devfreq);
/* Fills missing readings. `devfreq` is NULL if the kernel has none for the GPU (Thor). */
void tegra_fill(const struct env *env, struct attrs *devfreq, unsigned groups, struct gpu *out);

/* "# R35 (release), REVISION: 4.1, ..." -> "L4T 35.4.1"; false: something else. */
bool tegra_release_parse(struct str text, char out[GPU_TEXT_SIZE]);
/* A line of nvmap's client list, "user NAME PID 1234K"; false for all others. */
bool tegra_client_parse(struct str line, int32_t *ret_pid, int64_t *ret_bytes);
