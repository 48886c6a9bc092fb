/* SPDX-License-Identifier: Apache-2.0
 * Finds sources by name, and those that the settings ask for.
 */
#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "source/source.h"

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

int source_check(const struct source_ops *ops, const char *params, struct error *err)
{
    if (ops->check)
        return ops->check(params, err);
    return ops->ignores_parameters || !params[0] ? 0 : error_set(err, -EINVAL, "the %s source takes no parameters", ops->name);
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
