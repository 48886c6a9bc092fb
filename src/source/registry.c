/* SPDX-License-Identifier: Apache-2.0
 * The ordered list of sources. A new vendor is one line here.
 */
#include "base/cleanup.h"
#include "source/source.h"

const struct source_ops *const source_registry[] = {
    &nvml_source, &nvidia_smi_source, &tegra_source,    &amdgpu_source, &intel_source,
    &drm_source,  &accel_source,      &rocm_smi_source, &sim_source,    &replay_source,
};
const size_t source_registry_count = ARRAY_LEN(source_registry);
