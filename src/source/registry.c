/* SPDX-License-Identifier: Apache-2.0
 * The ordered list of sources. A new vendor is one line here.
 */
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "source/replay/replay.h"
#include "source/sim/sim.h"
#include "source/source.h"

const struct source_ops *const source_registry[] = {
    &nvml_source, &nvidia_smi_source, &tegra_source,    &amdgpu_source, &intel_source,
    &drm_source,  &accel_source,      &rocm_smi_source, &sim_source,    &replay_source,
};
const size_t source_registry_count = ARRAY_LEN(source_registry);

size_t sources_configured(const struct config *c, const char **list, size_t max)
{
    const struct config_list *named = &c->sampling.sources;
    bool automatic = named->count == 0 || (named->count == 1 && strcmp(named->items[0], "auto") == 0);
    size_t count = 0;
    for (size_t i = 0; !automatic && i < named->count && count < max; i++)
        list[count++] = named->items[i];
    for (size_t i = 0; automatic && !c->worker.enable_nvml && i < source_registry_count && count < max; i++)
        if (source_registry[i]->automatic && !source_registry[i]->names_driver)
            list[count++] = source_registry[i]->name;
    return count;
}

const struct source_ops *source_find(struct str name)
{
    for (size_t i = 0; i < source_registry_count; i++)
        if (str_is(name, source_registry[i]->name))
            return source_registry[i];
    return NULL;
}

const struct source_ops *source_of_spec(const char *spec, const char **ret_params)
{
    const char *colon = strchr(spec, ':');
    if (ret_params)
        *ret_params = colon ? colon + 1 : "";
    return source_find((struct str){spec, colon ? (size_t)(colon - spec) : strlen(spec)});
}
