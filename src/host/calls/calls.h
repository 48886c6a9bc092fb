/* SPDX-License-Identifier: Apache-2.0
 * What a system tells by calls instead of files: Windows, macOS, and whichever comes next. Such a system fills in one table; what
 * is made of it (rates, names, families of processes, evidence) is in this directory, and is tested with a table of the test's own.
 * unsupported/ has the table in which nothing is filled in.
 *
 *   windows/, macos/, unsupported/ ──▶ struct system_calls ──▶ calls/ ──▶ host/machine.h, identity.h, tree.h, listens.h, evidence.h
 *
 * A call that is NULL is one that the system does not have: its values are absent as "unsupported". Calls answer 0 or a count, or
 * -errno: -ESRCH there is no such process, -EACCES it may not be looked at, -ENOSYS this version of the system does not have it.
 * Those that fill a list write at most `max` and say how many. They may be called from several threads.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "host/counters.h"
#include "host/listens.h"
#include "model/host_evidence.h"
#include "model/process.h"

enum { CALLS_CORES_MAX = 1024, CALLS_FLOWS_MAX = 128, CALLS_THREADS_MAX = 512, CALLS_LISTENERS_MAX = 1024 };

/* Since the machine was started, in any unit that all of them share. */
struct calls_cpu {
    uint64_t total, busy;
};

/* -1: not known. */
struct calls_memory {
    int64_t total_bytes, available_bytes, swap_total_bytes, swap_used_bytes;
};

/* A network interface or a disk that is hardware: bytes that went through it since it was there. */
struct calls_flow {
    char name[COUNTER_NAME_SIZE];
    uint64_t in_bytes, out_bytes; /* received and sent; read and written */
    int64_t busy_ms;              /* of a disk; -1 not known */
};

struct calls_process {
    int32_t pid, parent;               /* parent 0: none, or not known */
    int64_t start_key;                 /* with the pid its identity; not 0 */
    struct wall started_at;            /* ms 0: not known */
    int64_t cpu_ns, system_ns;         /* of all threads, and the kernel's part of it; -1 not known */
    int64_t resident_bytes;            /* -1 not known */
    int64_t read_bytes, written_bytes; /* from and to disks; -1 not known */
    char name[PROCESS_NAME_SIZE];      /* without its folder; "" not known */
};

/* What a thread does, as far as a system tells. */
enum calls_wait {
    CALLS_WAIT_UNKNOWN,
    CALLS_WAIT_RUNNING,
    CALLS_WAIT_DISK,
    CALLS_WAIT_LOCK,
    CALLS_WAIT_SLEEP,
    CALLS_WAIT_STOPPED,
    CALLS_WAIT_OTHER
};

struct calls_thread {
    int64_t id;
    int64_t cpu_ns;                /* -1 not known */
    enum calls_wait wait;          /* what it was seen doing */
    char name[EVIDENCE_NAME_SIZE]; /* "" none */
};

struct calls_listener {
    int32_t pid;
    uint16_t port;
    char address[LISTEN_ADDRESS_SIZE]; /* by which this host's loopback reaches it, as in listens.h; "" it does not */
};

struct system_calls {
    const char *name; /* for people: "Windows" */

    /* ---- the machine ---- */
    int (*cpu)(struct calls_cpu *all, struct calls_cpu *cores, size_t max); /* how many cores are on */
    int (*memory)(struct calls_memory *ret);
    int (*load)(int64_t *ret_milli); /* average of the last minute: tasks that run or could */
    int (*networks)(struct calls_flow *list, size_t max);
    int (*disks)(struct calls_flow *list, size_t max);
    int (*on_battery)(bool *ret); /* -ENODEV: it has none */

    /* ---- processes ---- */
    int (*process)(int32_t pid, struct calls_process *ret);
    int (*processes)(struct calls_process *list, size_t max);
    int (*arguments)(int32_t pid, char *text, size_t size); /* each ends in '\0'; how many bytes */
    int (*environment)(int32_t pid, struct buf *ret);       /* the same: "NAME=VALUE" */
    int (*directory)(int32_t pid, char *path, size_t size); /* where it runs */
    int (*user)(int32_t pid, char *name, size_t size);
    int (*user_name)(int64_t uid, char *name, size_t size);             /* of systems that number their users */
    int (*threads)(int32_t pid, struct calls_thread *list, size_t max); /* the main one first */
    bool (*waits_told)(enum calls_wait wait);                           /* threads() can tell that one from others */
    int (*listeners)(struct calls_listener *list, size_t max);          /* TCP */
};

/* The one of the system that this is built for. */
extern const struct system_calls host_calls;

/* The table for this machine: below a sysroot it is another one, of which no call says anything. */
const struct system_calls *calls_of(const struct env *env);

/* The call, or -ENOSYS where the system does not have it. */
#define CALL(calls, which, ...) ((calls)->which ? (calls)->which(__VA_ARGS__) : -ENOSYS)
