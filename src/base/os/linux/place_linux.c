/* SPDX-License-Identifier: Apache-2.0
 * Linux: AT_SECURE, capabilities, descriptors of a service manager, device files.
 */
#include "base/os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool place_is_trusted(void)
{
    return getauxval(AT_SECURE) == 0;
}

/* Permitted capabilities outside the ambient set came from the file. */
static bool has_file_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data))
        return true;
    for (unsigned cap = 0; cap < 32 * _LINUX_CAPABILITY_U32S_3; cap++)
        if ((data[cap / 32].permitted & (1U << cap % 32)) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) != 1)
            return true;
    return false;
}

const char *env_gained(void)
{
    if (getuid() != geteuid())
        return "setuid";
    if (getgid() != getegid())
        return "setgid";
    /* A domain change by a security module also sets AT_SECURE, but grants nothing. */
    return !place_is_trusted() && getuid() != 0 && has_file_capabilities() ? "file capabilities" : NULL;
}

static bool read_variable(const char *name, int64_t *ret)
{
    const char *value = env_variable(name);
    return value && str_to_i64(str_from(value), ret);
}

int env_handed_over(const char *name)
{
    enum { FIRST = 3 };
    const char *names = getenv("LISTEN_FDNAMES");
    int64_t pid, count;
    if (!names || !read_variable("LISTEN_PID", &pid) || pid != getpid() || !read_variable("LISTEN_FDS", &count))
        return -1;
    struct str rest = str_from(names), one;
    for (int fd = FIRST; fd < FIRST + count && str_cut(&rest, ':', &one); fd++)
        if (str_is(one, name))
            return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
    return -1;
}

/* A recorded host has files, but no devices. */
static int device_open(const struct env *env, const char *path)
{
    if (env_is_recorded(env))
        return -ENODEV;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 ? fd : -errno;
}

static int device_ask(const struct env *env, int fd, unsigned long request, void *argument)
{
    (void)env;
    return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

void place_fill(struct env *env)
{
    env->nvml_library = "libnvidia-ml.so.1";
    env->cuda_library = "libcuda.so.1";
    env->self_program = "/proc/self/exe";
    env->device_open = device_open;
    env->device_ask = device_ask;
}
