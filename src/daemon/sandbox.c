/* SPDX-License-Identifier: Apache-2.0
 * Uses the system calls directly: Landlock has no library, the filter is a list of numbers, and capabilities are two calls.
 *
 * The filter lists refused calls, not allowed ones: the daemon loads driver libraries, whose calls may change with any version.
 * ptrace(2) and process_vm_readv(2) stay allowed because the driver's checkpoints may need them.
 */
#include "daemon/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "config/places.h"

/* ---- Landlock ---- */

/* The numbers are the same on every architecture; glibc knows the names since 2.34. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* Linux 5.6 */
#endif
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* Linux 5.19 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* Linux 6.2 */
#endif

static uint64_t write_rights(int version)
{
    uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                      LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (version >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return rights;
}

/* The directory, or its nearest existing parent: it may be created later. */
static int open_place(const char *place)
{
    char path[PLACE_SIZE];
    if (place[0] != '/' || strlen(place) >= sizeof path)
        return -EINVAL;
    str_copy(path, sizeof path, str_from(place));
    for (;;) {
        int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
            return fd >= 0 ? fd : -errno;
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return -ENOENT; /* never the root directory */
        *slash = '\0';
    }
}

static int allow(int rules, const char *place, uint64_t rights)
{
    struct stat info;
    AUTO_CLOSE int fd = open_place(place);
    if (fd < 0 || fstat(fd, &info) < 0)
        return fd == -ENOENT ? 0 : fd < 0 ? fd : -errno;
    if (!S_ISDIR(info.st_mode))
        rights &= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
    struct landlock_path_beneath_attr below = {.allowed_access = rights, .parent_fd = fd};
    return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0 ? -errno : 0;
}

int sandbox_writes(const char *const *places, size_t count)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 0)
        return -errno;
    const struct landlock_ruleset_attr handled = {.handled_access_fs = write_rights(version)};
    AUTO_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0)
        return -errno;
    for (size_t i = 0; i < count; i++) {
        int rc = allow(rules, places[i], handled.handled_access_fs);
        if (rc < 0)
            return rc;
    }
    /* Drivers need device files opened for writing; nothing is created there. */
    static const char *const opened[] = {"/dev", "/proc/self"};
    for (size_t i = 0; i < ARRAY_LEN(opened); i++) {
        int rc = allow(rules, opened[i], LANDLOCK_ACCESS_FS_WRITE_FILE);
        if (rc < 0)
            return rc;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, rules, 0) < 0)
        return -errno;
    return version;
}

/* ---- seccomp ---- */

#if defined __x86_64__
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_ARCH
/* Calls that neither whirr nor a database, TLS or driver library makes: system administration, namespaces, and frequent targets
 * of kernel exploits. */
static const unsigned refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mount,
    SYS_move_mount,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_personality,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_vm_writev,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_ioperm,
    SYS_iopl,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS__sysctl,
#endif
};

enum { CALLS = ARRAY_LEN(refused), PROGRAM_MAX = CALLS + 24 };

#define NEW_WORLDS (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

int sandbox_calls(void)
{
    struct sock_filter program[PROGRAM_MAX];
    unsigned short n = 0;
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_filter load_number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter load_first = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
#define ADD(...) program[n++] = (struct sock_filter)__VA_ARGS__
    /* The numbers mean other calls on another architecture. */
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0));
    program[n++] = refuse;
    program[n++] = load_number;
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
    program[n++] = refuse;
    for (size_t i = 0; i < CALLS; i++)
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(CALLS - i), 0)); /* to the refusal after the list */
    ADD(BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    program[n++] = refuse;
    /* The flags of clone3 are behind a pointer: return ENOSYS, and libraries fall back to clone. */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    program[n++] = load_first;
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_WORLDS, 0, 6));
    program[n++] = refuse;
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4));
    program[n++] = load_first;
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_PACKET, 1, 0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_ALG, 0, 1));
    program[n++] = refuse;
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    const struct sock_fprog filter = {.len = n, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return -errno;
    return 0;
}
#else
int sandbox_calls(void)
{
    return -ENOSYS;
}
#endif

/* ---- the daemon ---- */

/* Called for each command in the configuration; false stops. */
typedef bool command_fn(void *user, const char *section, const char *name, const struct config_list *command);

static bool each_command(const struct config *c, command_fn *visit, void *user)
{
    for (size_t i = 0; i < c->notify_count; i++)
        if (c->notify[i].type == CONFIG_NOTIFY_COMMAND && c->notify[i].command.count &&
            !visit(user, "notify", c->notify[i].entry.name, &c->notify[i].command))
            return false;
    for (size_t i = 0; i < c->hook_count; i++)
        if (c->hook[i].run.count && !visit(user, "hook", c->hook[i].entry.name, &c->hook[i].run))
            return false;
    for (size_t i = 0; i < c->guard_worker_count; i++) {
        const struct config_guard_worker *w = &c->guard_worker[i];
        const struct config_list *lists[] = {&w->evict_command, &w->resume_command, &w->status_command};
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            if (lists[k]->count && !visit(user, "guard.worker", w->entry.name, lists[k]))
                return false;
    }
    return true;
}

/* All commands, each NULL-terminated. */
struct command_list {
    const char *const **list;
    size_t count, capacity;
};

static const char **argv_of(const struct config_list *command)
{
    const char **argv = calloc(command->count + 1, sizeof *argv);
    for (size_t i = 0; argv && i < command->count; i++)
        argv[i] = command->items[i];
    return argv;
}

static bool add_command(void *user, const char *section, const char *name, const struct config_list *command)
{
    (void)section, (void)name;
    struct command_list *c = user;
    const char **argv = ROOM_FOR_ONE(c->list, c->count, c->capacity, 8) ? argv_of(command) : NULL;
    if (argv)
        c->list[c->count++] = argv;
    return argv;
}

/* They live until the program ends. */
static int start_helper(const struct config *config, struct outside *outside)
{
    static struct command_list commands;
    if (!each_command(config, add_command, &commands))
        return -ENOMEM;
    return commands.count ? outside_start(outside, (const char *const *const *)commands.list, commands.count) : 0;
}

struct program_search {
    const struct outside *outside;
    char *name;
    size_t size;
};

static bool is_known(void *user, const char *section, const char *name, const struct config_list *command)
{
    const struct program_search *s = user;
    AUTO_FREE const char **argv = argv_of(command);
    if (!argv || (s->outside->channel >= 0 && outside_find(s->outside, argv) >= 0))
        return true;
    snprintf(s->name, s->size, "%s.%s", section, name);
    return false;
}

bool sandbox_finds_new_program(const struct config *config, const struct outside *outside, char *name, size_t size)
{
    struct program_search s = {outside, name, size};
    return !each_command(config, is_known, &s);
}

static void parent_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash && slash != path)
        *slash = '\0';
}

static int sandbox_places(const struct config *c)
{
    static char state[PLACE_SIZE], runtime[PLACE_SIZE], socket[PLACE_SIZE], store[STORE_PLACE_SIZE];
    const char *places[8] = {"/tmp", "/var/tmp"}; /* SQLite's temporary files */
    size_t count = 2;
    struct error err = {0};
    if (place_state(state, &err) == 0)
        places[count++] = state;
    if (place_runtime(runtime, &err) == 0)
        places[count++] = runtime;
    if (place_socket(c->server.socket, socket)) {
        parent_of(socket);
        places[count++] = socket;
    }
    if (store_place(c->store.url, store, &err) == 0 && strncmp(store, "sqlite:", 7) == 0) {
        parent_of(store);
        places[count++] = store + 7;
    }
    return sandbox_writes(places, count);
}

void sandbox_daemon(const struct config *config, struct outside *outside, struct sandbox *ret)
{
    *ret = (struct sandbox){0};
    *outside = (struct outside){.channel = -1};
    if (!config->server.confine) {
        str_copy(ret->reason, sizeof ret->reason, str_from("server.confine is off"));
        return;
    }
    int rc = start_helper(config, outside);
    if (rc < 0) {
        snprintf(ret->reason, sizeof ret->reason, "no helper for programs: %s", strerror(-rc));
        return;
    }
    /* Landlock denies access to processes outside of the sandbox: ptrace's rules apply to /proc/PID/fd, fdinfo, ns and cwd,
     * which are needed to find GPU processes. */
    int version = config->server.confine_writes ? sandbox_places(config) : 0, calls = sandbox_calls();
    ret->landlock = version > 0 ? version : 0;
    ret->seccomp = calls == 0;
    if (version < 0)
        snprintf(ret->reason, sizeof ret->reason, "Landlock: %s", strerror(-version));
    else if (calls < 0)
        snprintf(ret->reason, sizeof ret->reason, "seccomp: %s", strerror(-calls));
}

/* ---- capabilities ---- */

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

static const int kept_capabilities[] = {
    CAP_SYS_PTRACE, /* other users' processes and their file descriptors */
    CAP_PERFMON,    /* the addresses at which they run */
    CAP_SYSLOG,     /* driver errors in the kernel log */
    CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH,  /* state, configuration and keys of any owner */
    CAP_KILL,             /* guarded workers of other users */
    CAP_NET_BIND_SERVICE, /* --listen on a port below 1024 */
};

int privileges_drop(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data))
        return -errno;
    uint64_t keep = 0;
    for (size_t i = 0; i < ARRAY_LEN(kept_capabilities); i++)
        keep |= UINT64_C(1) << kept_capabilities[i];
    int given_up = 0;
    for (int word = 0; word < _LINUX_CAPABILITY_U32S_3; word++) {
        uint32_t mask = (uint32_t)(keep >> (32 * word));
        given_up += __builtin_popcount(data[word].permitted & ~mask);
        data[word].permitted &= mask;
        data[word].effective &= mask;
        data[word].inheritable &= mask;
    }
    if (given_up && syscall(SYS_capset, &header, data))
        return -errno;
    return given_up;
}
