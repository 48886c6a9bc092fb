/* SPDX-License-Identifier: Apache-2.0
 * macOS: privileges beyond the caller's, and the path of this program.
 */
#include "base/os/place.h"

#include <limits.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <unistd.h>

bool place_is_trusted(void)
{
    return !issetugid();
}

const char *env_gained(void)
{
    return getuid() != geteuid() ? "setuid" : getgid() != getegid() ? "setgid" : NULL;
}

int env_handed_over(const char *name)
{
    (void)name;
    return -1;
}

void place_fill(struct env *env)
{
    static char self[PATH_MAX];
    uint32_t size = sizeof self;
    if (_NSGetExecutablePath(self, &size) != 0)
        self[0] = '\0';
    env->nvml_library = "libnvidia-ml.dylib"; /* no Mac has it; tests provide their own */
    env->cuda_library = "libcuda.dylib";
    env->self_program = self;
}
