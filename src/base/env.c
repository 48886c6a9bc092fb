/* SPDX-License-Identifier: Apache-2.0
 * The real outside world. The only place that calls getenv(); system-specific parts are in base/os.
 */
#include "base/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/library.h"
#include "base/os/place.h"

/* ---- environment variables and the host name ---- */

const char *env_variable(const char *name)
{
    return place_is_trusted() ? getenv(name) : NULL;
}

static char given_name[128]; /* set from the configuration before any thread starts */

void env_give_host_name(const char *name)
{
    static bool given;
    if (!given)
        str_copy_clean(given_name, sizeof given_name, str_from(name));
    given = true;
}

const char *env_given_host_name(void)
{
    return given_name;
}

void env_host_name(char *name, size_t size)
{
    const char *node = given_name[0] ? given_name : getenv("NODE_NAME");
    name[0] = '\0';
    if (node && node[0])
        str_copy_clean(name, size, str_from(node));
    else if (gethostname(name, size - 1) < 0)
        name[0] = '\0';
    name[size - 1] = '\0';
}

const char *const *env_variables(void)
{
    static const char *const none[] = {NULL};
    return place_is_trusted() ? (const char *const *)environ : none;
}

static const char *env_or(const char *name, const char *fallback)
{
    const char *value = env_variable(name);
    return value && value[0] ? value : fallback;
}

int library_symbols(void *library, const struct library_symbol *symbols, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = library_symbol(library, symbols[i].name);
        if (!symbol && !symbols[i].optional)
            return error_set(err, -ENOSYS, "the one found has no %s", symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol); /* ISO C doesn't convert void * to a function pointer */
    }
    return 0;
}

static void *load_library(const struct env *env, const char *name, struct error *err)
{
    (void)env;
    return library_load(name, err);
}

void env_init_system(struct env *env)
{
    *env = (struct env){
        .sysroot = "",
        .nvidia_smi = env_or("WHIRR_NVIDIA_SMI", "nvidia-smi"),
        .rocm_smi = env_or("WHIRR_ROCM_SMI", NULL),
        .visible_devices = getenv("NVIDIA_VISIBLE_DEVICES"),
        .in_job = getenv("SLURM_JOB_ID") != NULL,
        .node_name = getenv("NODE_NAME"),
        .own_pids = env_variable("WHIRR_OWN_PIDS") != NULL,
        .clock = &clock_system,
        .launch = launch_program,
        .load_library = load_library,
    };
    place_fill(env);
    env->nvml_library = env_or("WHIRR_NVML_LIBRARY", env->nvml_library);
    env->cuda_library = env_or("WHIRR_CUDA_LIBRARY", env->cuda_library);
    env->self_program = env_or("WHIRR_SELF", env->self_program);
}

void env_use_nvapi(struct env *env, bool use)
{
    env->nvapi_library = use ? env_or("WHIRR_NVAPI_LIBRARY", "libnvidia-api.so.1") : NULL;
}
