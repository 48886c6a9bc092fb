/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of this directory: the reader, and its per-process state between looks.
 *
 *   evidence.c  the reader, its budget, its open files, the main thread, the window of the last looks;
 *               whose evidence will be asked for
 *   threads.c, children.c, peer.c, cgroup.c, numa.c, files.c, traces.c  parts of the evidence: X_look() reads, X_write() tells
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "host/collective.h"
#include "host/evidence/address_samples.h"
#include "host/evidence/watched.h"
#include "host/linux/evidence/texts.h"
#include "host/listens.h"
#include "host/procfs.h"

enum {
    THREADS_MAX = 256,  /* per process; further ones are ignored */
    CHILDREN_MAX = 256, /* per process; further ones are ignored */
    LOOKS_MAX = 8,
    CGROUP_PRESSURES = 3,
};

/* ---- state between looks ---- */

struct thread_count {
    int32_t tid;
    int64_t run_ns, used_ns; /* total, and since the previous look (the first time: total) */
};

struct thread_memory {
    struct mono at;
    struct thread_count list[THREADS_MAX]; /* sorted by tid */
    size_t count;
    bool is_whole;               /* the list is complete */
    size_t next_parent;          /* the thread whose children are listed next */
    struct reading busiest, all; /* permille of a core */
    struct reading busy;         /* how many use at least half a core */
    char busiest_name[EVIDENCE_NAME_SIZE];
};

enum { CODE_THREADS = 4 };
struct code_memory {
    struct address_sampler *sampler; /* NULL: not sampled */
    bool is_refused;
    int32_t tids[CODE_THREADS];
    size_t count;
    struct reading shares[ADDRESS_GROUPS]; /* permille of the CPU time */
    char object[EVIDENCE_NAME_SIZE];
    struct mono maps_at;
    int64_t maps_again_ms;
    struct reading model_bytes;
};

struct peer_memory {
    struct mono at, found_at, cpu_at; /* when its file was read; when the other end was searched for */
    int64_t again_ms;                 /* until the next search */
    int64_t fd;                       /* the file it waits on; -1: not a single one */
    bool at_lock;
    int32_t pid; /* at the other end; 0 unknown */
    int64_t start_ticks, cpu_ticks;
    struct reading cpu;
    bool sleeps; /* in a select or poll without files */
    char text[EVIDENCE_PEER_SIZE];
};

struct child_process {
    int32_t pid, parent;
    int64_t start_ticks;
    int64_t cpu_ns, read_bytes, write_bytes;
    bool io_known;
    enum wait_kind kind;
    char name[EVIDENCE_NAME_SIZE];
};

struct child_memory {
    struct mono at, io_at;
    bool is_known;  /* the kernel lists children */
    bool by_thread; /* cpu_ns is the main thread's, in nanoseconds; if not, the process's in ticks */
    struct child_process list[CHILDREN_MAX];
    size_t count;
    bool is_whole; /* the list is complete */
    struct reading cpu, busiest, read_bytes, write_bytes;
    int32_t busiest_pid, asked_pid; /* asked: whose command line was last read */
    bool asked_compiles;
    char busiest_name[EVIDENCE_NAME_SIZE], compiler[EVIDENCE_NAME_SIZE];
};

struct cgroup_memory {
    bool is_known, is_root, throttled_known, pressure_known[CGROUP_PRESSURES];
    struct mono learned, at;
    char folder[PATH_SIZE];        /* of cgroup v2; "" none */
    char quota_folder[PATH_SIZE];  /* the group with the tightest quota; "" none */
    char memory_folder[PATH_SIZE]; /* the group that counts memory; "": none */
    int64_t quota_millicores;      /* 0: none */
    int64_t throttled_us, pressure_us[CGROUP_PRESSURES];
    struct reading throttled, pressure[CGROUP_PRESSURES]; /* cpu, io, memory */
};

struct numa_memory {
    struct mono at;
    struct reading cpu_node, memory_node;
};

struct file_memory {
    struct mono mount_at, listens_at;
    bool is_network;
    struct reading listens, swap_bytes, rss_bytes;
    char mount[EVIDENCE_PATH_SIZE];
};

enum { TRACE_PATH_SIZE = 192 };
struct trace_memory {
    struct mono at;
    bool is_known;                                               /* its environment was read */
    char flight[2][TRACE_PATH_SIZE], inspector[TRACE_PATH_SIZE]; /* "": none; the recorder's default was another one once */
    int64_t rank, world;                                         /* world below 2: no job */
    struct collective_told told;
};

/* The main thread at one moment, with counters of its whole process. */
struct main_look {
    struct mono at;
    enum wait_kind kind;
    bool sched_known;
    struct proc_schedstat sched;
    struct proc_stat stat; /* without its name */
    int io_rc;             /* 0: the next two are valid */
    int64_t read_bytes, write_bytes;
};

/* Files read every round stay open: one system call each instead of three. */
enum kept_file { KEPT_STAT, KEPT_SCHEDSTAT, KEPT_WCHAN, KEPT_IO, KEPT_CHILDREN, KEPT_FILES };

struct evidence_memory {
    struct watched_process watched; /* first */
    int directory;                  /* /proc/PID, immune to PID reuse; negative: not open */
    bool keeps;                     /* files stay open between looks */
    int kept[KEPT_FILES];           /* negative: not open */
    char name[EVIDENCE_NAME_SIZE];
    struct mono full_at;
    int fulls;
    struct main_look looks[LOOKS_MAX]; /* newest last */
    size_t look_count;
    struct thread_memory threads;
    struct code_memory code;
    struct child_memory children;
    struct peer_memory peer;
    struct cgroup_memory cgroup;
    struct numa_memory numa;
    struct file_memory files;
    struct trace_memory traces;
};

struct numa_nodes {
    struct mono at;
    bool is_known;
    size_t count;
    int8_t node_of[NUMA_CPUS_MAX]; /* -1 unknown */
};

struct evidence_reader {
    const struct env *env;
    int proc; /* /proc; negative: missing */
    struct mono now;
    bool quick;
    int64_t ticks_per_s;
    size_t to_look;                                    /* processes left in this round */
    int files_left;                                    /* budget of the round */
    int share_left;                                    /* budget of the current process */
    struct evidence_target gpus[EVIDENCE_TARGETS_MAX]; /* sorted by pid */
    size_t gpu_count;
    struct buf mounts; /* our own mountinfo */
    struct mono mounts_at;
    struct numa_nodes nodes;
    struct listeners listeners;
    struct watch_list watched;
    size_t keeping;  /* number of processes with open files */
    size_t sampling; /* number of processes whose code is sampled */
    /* Ranks of a job share their files: read once for all of them. */
    struct {
        char path[TRACE_PATH_SIZE];
        int64_t stamp;
        struct collective_told told;
    } traces;
};

static inline bool budget_take(struct evidence_reader *r)
{
    return r->share_left > 0 && r->share_left--;
}

/* Reads a file of a process below its open directory; -EAGAIN: the round's budget is used up. */
static inline ssize_t budget_read(struct evidence_reader *r, int process, const char *name, char *text, size_t size)
{
    return budget_take(r) ? file_read_at(process, name, text, size) : -EAGAIN;
}

/* The same for a file that stays open. */
ssize_t kept_read(struct evidence_reader *r, struct evidence_memory *w, enum kept_file file, char *text, size_t size);

static inline bool is_gpu_process(const struct evidence_reader *r, int32_t pid)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].pid == pid)
            return true;
    return false;
}

/* Permille of one core. */
static inline int64_t core_permille(int64_t used_ns, int64_t elapsed_ns)
{
    return elapsed_ns > 0 && used_ns > 0 ? (int64_t)((double)used_ns * 1000 / (double)elapsed_ns + 0.5) : 0;
}

/* ---- the parts; `process` is the process's directory ---- */

void threads_look(struct evidence_reader *r, struct thread_memory *m, int process);
/* Shortcut if the main thread is the busiest: its share of a core, and that of all threads. */
void threads_by_main(struct thread_memory *m, const char *name, int64_t main_permille, int64_t all_permille);
void threads_write(const struct thread_memory *m, struct host_evidence *ret);
/* The threads whose children are listed in this look, besides the main thread. */
size_t threads_parents(struct thread_memory *m, int32_t *tids, size_t max);

/* For a process that keeps a CPU busy, or may. */
void code_look(struct evidence_reader *r, struct evidence_memory *w, bool full);
void code_write(const struct code_memory *m, struct host_evidence *ret);
void code_done(struct evidence_reader *r, struct code_memory *m);

/* For a process whose main thread waits. */
void peer_look(struct evidence_reader *r, struct evidence_memory *w, size_t first);
void peer_write(const struct evidence_memory *w, struct host_evidence *ret);

/* `full`: also children of other threads, and the I/O of all. */
void children_look(struct evidence_reader *r, struct evidence_memory *w, bool full);
void children_write(const struct child_memory *m, struct host_evidence *ret);

void cgroup_look(struct evidence_reader *r, struct cgroup_memory *m, int process);
void cgroup_write(const struct cgroup_memory *m, struct host_evidence *ret);

void numa_look(struct evidence_reader *r, struct evidence_memory *w, const struct proc_status *status);
void numa_write(const struct numa_memory *m, struct host_evidence *ret);

/* `busy`: one of its threads keeps a core busy; `waits`: its main thread waits for files. */
void files_look(struct evidence_reader *r, struct evidence_memory *w, bool busy, bool waits);
void files_write(const struct file_memory *m, struct host_evidence *ret);

/* Of a rank of a job: what the job itself wrote about its collectives, where its environment says. */
void traces_look(struct evidence_reader *r, struct evidence_memory *w);
void traces_write(const struct trace_memory *m, struct host_evidence *ret);
