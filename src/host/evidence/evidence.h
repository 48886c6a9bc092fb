/* SPDX-License-Identifier: Apache-2.0
 * What a program on a GPU does on its host: what its threads wait for, what its children do, what its control group lets it have.
 * Read from procfs, sysfs and cgroupfs below the sysroot; nothing is traced, attached to or stopped, and every round has a fixed
 * number of files that may be read.
 *
 *   evidence_begin(all programs on GPUs)  ──▶  evidence_look(one of them) ...  ──▶  the next round
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/host_evidence.h"

/* A process by its number and its start: the number alone may be another one's by now. */
struct evidence_target {
    int32_t pid;
    int64_t start_key;
};

enum { EVIDENCE_TARGETS_MAX = 256 };

struct evidence_reader; /* remembers counters between looks; used from one thread */

struct evidence_reader *evidence_new(const struct env *env); /* NULL: out of memory */
void evidence_free(struct evidence_reader *r);

struct evidence_round {
    const struct evidence_target *all; /* the programs that have a GPU: none of them counts as another's child */
    size_t count;
    size_t looked_at; /* so many of them, which share the round's files */
    bool quick;       /* looks are milliseconds apart, because an answer is waited for */
    int64_t gap_ms;   /* since the round before: what was not looked at for several of them is forgotten */
};
void evidence_begin(struct evidence_reader *r, const struct evidence_round *round);
/* What was seen of a process since the look before, and over the last few. */
void evidence_look(struct evidence_reader *r, const struct evidence_target *target, struct host_evidence *ret);
/* Which processes have a GPU, before its driver has answered: those that hold its device file, as far as that can be seen. Looked
 * for among the largest address spaces, as each has that maps a GPU. Returns how many. */
size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max);

/* ---- The parts of it, and the pure functions that take kernel texts apart. Not for others. ---- */

/* What a thread does, by its state and the kernel function that it sleeps in. */
enum wait_kind {
    WAIT_UNKNOWN, /* it sleeps, and the function may not be seen */
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

/* Lists as the kernel writes them: "0-3,8,10-11". */
enum { NUMA_CPUS_MAX = 4096, NUMA_NODES_MAX = 64 };
/* Calls for each number below max; false: the text is no list. */
bool cpu_list_each(struct str list, int64_t max, void (*each)(int64_t number, void *user), void *user);
/* "anon N0=123 N1=456" of cgroup v2, "anon=30 N0=10 N1=20" of v1: the node with most of it; -1 none. */
int64_t numa_stat_node(struct str text);

/* Where the files of a control group are. `controller` NULL: of cgroup v2. */
bool cgroup_path(struct str cgroup, const char *controller, struct str *ret);
bool cgroup_folder(struct str mountinfo, struct str path, const char *controller, char *to, size_t size);
/* "200000 100000" of cpu.max; 0: no quota. */
int64_t cpu_max_millicores(struct str text);

struct cpu_stat {
    int64_t throttled_us;
};
/* Of both versions. False: it counts no throttling. */
bool cpu_stat_parse(struct str text, struct cpu_stat *ret);

struct pressure {
    int64_t avg10_permille, total_us;
};
/* The line "some". */
bool pressure_parse(struct str text, struct pressure *ret);

/* "ptxas", "cicc", ...: makes code for GPUs, or for the program that launches it. */
bool is_compiler(const char *name);

/* Which mount of a process's mountinfo a path is on; NULL type: none. The views point into the text. */
struct mount_place {
    struct str point, type;
};
bool mount_of_path(struct str mountinfo, struct str path, struct mount_place *ret);
bool is_network_type(struct str type); /* NFS, SMB, Ceph, Lustre, ... */
