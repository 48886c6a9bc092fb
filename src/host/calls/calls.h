/* SPDX-License-Identifier: Apache-2.0
 * Systems that offer calls instead of files: Windows, macOS, and whichever comes next. Each fills in one table; this directory
 * derives everything else from it (rates, names, process trees, evidence), and tests bring their own table. unsupported/ has the
 * empty one.
 *
 *   windows/, macos/, unsupported/ ──▶ struct system_calls ──▶ calls/ ──▶ host/machine.h, identity.h, tree.h, listens.h, evidence.h
 *
 * A NULL call is missing on the system: its values are absent as "unsupported". Calls return 0 or a count, or -errno: -ESRCH no
 * such process, -EACCES no permission, -ENOSYS missing in this version of the system. Calls that fill a list write at most `max`
 * entries and return their number. Several threads may call them.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "host/listens.h"
#include "host/machine.h"
#include "model/host_evidence.h"
#include "model/process.h"

enum { CALLS_CORES_MAX = 1024, CALLS_FLOWS_MAX = 128, CALLS_THREADS_MAX = 512, CALLS_LISTENERS_MAX = 1024 };

/* Since boot, in any unit common to all of them. */
struct calls_cpu {
    uint64_t total, busy;
};

/* -1: unknown. */
struct calls_memory {
    int64_t total_bytes, available_bytes, swap_total_bytes, swap_used_bytes;
};

/* A physical network interface or disk: bytes transferred since it appeared. */
struct calls_flow {
    char name[COUNTER_NAME_SIZE];
    uint64_t in_bytes, out_bytes; /* received and sent; read and written */
    int64_t busy_ms;              /* of a disk; -1 unknown */
};

struct calls_process {
    int32_t pid, parent;               /* parent 0: none or unknown */
    int64_t start_key;                 /* identifies the process together with pid; never 0 */
    struct wall started_at;            /* ms 0: unknown */
    int64_t cpu_ns, system_ns;         /* of all threads, and the kernel's part of it; -1 unknown */
    int64_t resident_bytes;            /* -1 unknown */
    int64_t read_bytes, written_bytes; /* from and to disks; -1 unknown */
    char name[PROCESS_NAME_SIZE];      /* without its directory; "" unknown */
};

/* What a thread is doing, as far as the system reveals it. */
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
    int64_t cpu_ns;                /* -1 unknown */
    enum calls_wait wait;          /* at the moment of the call */
    char name[EVIDENCE_NAME_SIZE]; /* "" none */
};

struct calls_listener {
    int32_t pid;
    uint16_t port;
    char address[LISTEN_ADDRESS_SIZE]; /* at which this host's loopback reaches it, as in listens.h; "": not at all */
};

struct system_calls {
    const char *name; /* for people: "Windows" */

    /* ---- the host ---- */
    int (*cpu)(struct calls_cpu *all, struct calls_cpu *cores, size_t max); /* number of online cores */
    int (*memory)(struct calls_memory *ret);
    int (*load)(int64_t *ret_milli); /* one-minute average of runnable tasks */
    int (*networks)(struct calls_flow *list, size_t max);
    int (*disks)(struct calls_flow *list, size_t max);
    int (*on_battery)(bool *ret); /* -ENODEV: no battery */

    /* ---- processes ---- */
    int (*process)(int32_t pid, struct calls_process *ret);
    int (*processes)(struct calls_process *list, size_t max);
    int (*arguments)(int32_t pid, char *text, size_t size); /* each NUL-terminated; returns bytes */
    int (*environment)(int32_t pid, struct buf *ret);       /* the same: "NAME=VALUE" */
    int (*directory)(int32_t pid, char *path, size_t size); /* working directory */
    int (*user)(int32_t pid, char *name, size_t size);
    int (*user_name)(int64_t uid, char *name, size_t size);             /* where users have numbers */
    int (*threads)(int32_t pid, struct calls_thread *list, size_t max); /* main thread first */
    bool (*waits_told)(enum calls_wait wait);                           /* whether threads() distinguishes this wait */
    int (*listeners)(struct calls_listener *list, size_t max);          /* TCP */
};

/* The table of the system this is built for. */
extern const struct system_calls host_calls;

/* The table for this host; under a sysroot, one in which every call is missing. */
const struct system_calls *calls_of(const struct env *env);

/* The call, or -ENOSYS if the system lacks it. */
#define CALL(calls, which, ...) ((calls)->which ? (calls)->which(__VA_ARGS__) : -ENOSYS)
