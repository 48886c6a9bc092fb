/* SPDX-License-Identifier: Apache-2.0
 * The ordered list of sources. A new vendor is one line here.
 */
#include "base/cleanup.h"
#include "source/replay/replay.h"
#include "source/sim/sim.h"
#include "source/source.h"

const struct source_ops *const source_registry[] = {
    &nvml_source, &nvidia_smi_source, &amdgpu_source, &intel_source, &drm_source, &rocm_smi_source, &sim_source, &replay_source,
};
const size_t source_registry_count = ARRAY_LEN(source_registry);

const struct source_ops *source_find(struct str name)
{
    for (size_t i = 0; i < source_registry_count; i++)
        if (str_is(name, source_registry[i]->name))
            return source_registry[i];
    return NULL;
}
