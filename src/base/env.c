/* SPDX-License-Identifier: Apache-2.0
 * The real outside world. The only place that knows getenv(), dlopen() and dlsym().
 */
#include "base/env.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- whose environment it is ---- */

static bool is_trusted(void)
{
    return getauxval(AT_SECURE) == 0;
}

const char *env_variable(const char *name)
{
    return is_trusted() ? getenv(name) : NULL;
}

static char given_name[128]; /* by the settings, before any thread */

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
    return is_trusted() ? (const char *const *)environ : none;
}

/* Capabilities that were not inherited by way of the ambient set: a file gave them. */
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
    /* A change of the security module's domain sets AT_SECURE, too, and gives nothing. */
    return !is_trusted() && getuid() != 0 && has_file_capabilities() ? "file capabilities" : NULL;
}

static const char *env_or(const char *name, const char *fallback)
{
    const char *value = env_variable(name);
    return value && value[0] ? value : fallback;
}

void *library_load(const char *name, struct error *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *said = dlerror();
        error_set(err, -ENOENT, "%s", said ? said : "dlopen failed");
    }
    return library;
}

const char *library_path(void *library)
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

int library_symbols(void *library, const struct library_symbol *symbols, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol && !symbols[i].optional)
            return error_set(err, -ENOSYS, "the one found has no %s", symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol); /* ISO C does not turn void * into a function */
    }
    return 0;
}

int env_handed_over(const char *name)
{
    enum { FIRST = 3 };
    const char *names = getenv("LISTEN_FDNAMES");
    int64_t pid, count;
    if (!names || !str_to_i64(str_from(env_or("LISTEN_PID", "")), &pid) || pid != getpid() ||
        !str_to_i64(str_from(env_or("LISTEN_FDS", "")), &count))
        return -1;
    struct str rest = str_from(names), one;
    for (int fd = FIRST; fd < FIRST + count && str_cut(&rest, ':', &one); fd++)
        if (str_is(one, name))
            return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
    return -1;
}

static void *load_library(const struct env *env, const char *name, struct error *err)
{
    (void)env;
    return library_load(name, err);
}

/* A recorded machine has files, but no devices. */
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

void env_init_system(struct env *env)
{
    *env = (struct env){
        .sysroot = "",
        .nvml_library = env_or("WHIRR_NVML_LIBRARY", "libnvidia-ml.so.1"),
        .cuda_library = env_or("WHIRR_CUDA_LIBRARY", "libcuda.so.1"),
        .nvidia_smi = env_or("WHIRR_NVIDIA_SMI", "nvidia-smi"),
        .rocm_smi = env_or("WHIRR_ROCM_SMI", NULL),
        .visible_devices = getenv("NVIDIA_VISIBLE_DEVICES"),
        .node_name = getenv("NODE_NAME"),
        .own_pids = env_variable("WHIRR_OWN_PIDS") != NULL,
        .self_program = env_or("WHIRR_SELF", "/proc/self/exe"),
        .clock = &clock_system,
        .launch = launch_program,
        .load_library = load_library,
        .device_open = device_open,
        .device_ask = device_ask,
    };
}
