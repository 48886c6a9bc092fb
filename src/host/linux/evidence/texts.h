/* SPDX-License-Identifier: Apache-2.0
 * Parsers for the kernel texts behind the evidence: waits of a thread, CPU lists, control groups, mounts. Pure functions of bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* What a thread is doing, by its state and the kernel function it sleeps in. */
enum wait_kind {
    WAIT_UNKNOWN, /* asleep, but the function is hidden */
    WAIT_RUNNING,
    WAIT_DISK,
    WAIT_NETWORK_FS,
    WAIT_FUSE,
    WAIT_PIPE,
    WAIT_SOCKET,
    WAIT_LOCK,
    WAIT_SLEEP,
    WAIT_POLL,
    WAIT_CHILD,
    WAIT_STOPPED,
    WAIT_OTHER,
    WAIT_KINDS
};
/* `wchan`: the text of /proc/PID/wchan. */
enum wait_kind wait_kind(char state, struct str wchan);

/* Kernel lists: "0-3,8,10-11". */
enum { NUMA_CPUS_MAX = 4096, NUMA_NODES_MAX = 64 };
/* Calls `each` for every number below max; false: not a list. */
bool cpu_list_each(struct str list, int64_t max, void (*each)(int64_t number, void *user), void *user);
/* "anon N0=123 N1=456" of cgroup v2, "anon=30 N0=10 N1=20" of v1: the node with the most; -1 none. */
int64_t numa_stat_node(struct str text);

/* The path of a control group. `controller` NULL: cgroup v2. */
bool cgroup_path(struct str cgroup, const char *controller, struct str *ret);
bool cgroup_folder(struct str mountinfo, struct str path, const char *controller, char *to, size_t size);
/* "200000 100000" of cpu.max; 0: no quota. */
int64_t cpu_max_millicores(struct str text);

struct cpu_stat {
    int64_t throttled_us;
};
/* Both versions. False: no throttling counters. */
bool cpu_stat_parse(struct str text, struct cpu_stat *ret);

struct pressure {
    int64_t avg10_permille, total_us;
};
/* The line "some". */
bool pressure_parse(struct str text, struct pressure *ret);

/* "ptxas", "cicc", ...: compiles GPU code, or its host code. */
bool is_compiler(const char *name);

/* The mount of a path, from a process's mountinfo; NULL type: none. The views point into the text. */
struct mount_place {
    struct str point, type;
};
bool mount_of_path(struct str mountinfo, struct str path, struct mount_place *ret);
bool is_network_type(struct str type); /* NFS, SMB, Ceph, Lustre, ... */
