/* SPDX-License-Identifier: Apache-2.0
 * Parses the texts of procfs: /proc/PID/stat, status, schedstat, io, cmdline. Pure functions of bytes.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum { ARGUMENTS_MAX = 512 };

#define PROC_FLAG_KERNEL_THREAD 0x00200000 /* PF_KTHREAD of the kernel's sched.h */

/* The fields of /proc/PID/stat that identify a process or change with every sample. */
struct proc_stat {
    struct str comm;       /* points into the text; may contain blanks, parentheses and newlines */
    char state;            /* 'R', 'S', 'T' when stopped, ... */
    int64_t parent, group; /* PIDs of the parent and the process group leader */
    uint64_t flags;
    int64_t minor_faults, major_faults;
    int64_t cpu_ticks;    /* user and system */
    int64_t system_ticks; /* the kernel's part of it */
    int64_t start_ticks;  /* since boot */
    uint64_t vsize_bytes; /* its address space */
    int64_t rss_pages;
    int64_t processor; /* CPU it last ran on; -1 unknown */
};
bool proc_stat_parse(struct str text, struct proc_stat *ret);

struct proc_status {
    int64_t uid;                            /* effective; -1 unknown */
    int64_t vm_rss_bytes;                   /* -1 unknown: a kernel thread or a zombie */
    int64_t vm_swap_bytes;                  /* -1 unknown: a kernel thread or a zombie */
    int64_t rss_file_bytes;                 /* file pages; -1 also before Linux 4.5 */
    struct str cpus_allowed, nodes_allowed; /* "0-3,8"; point into the text */
};
void proc_status_parse(struct str text, struct proc_status *ret);

/* For one thread; /proc/PID/schedstat is the main thread's. */
struct proc_schedstat {
    int64_t run_ns;    /* on a CPU */
    int64_t queued_ns; /* runnable, but without a CPU */
};
bool proc_schedstat_parse(struct str text, struct proc_schedstat *ret);

/* Disk I/O. Values missing in the text stay unchanged. */
void proc_io_parse(struct str text, int64_t *read_bytes, int64_t *write_bytes);

/* NUL-terminated arguments. */
size_t arguments_of(struct str cmdline, struct str *args, size_t max);
/* The same for Linux. Programs that rewrite their arguments (setproctitle) leave one text with blanks: split it at them. */
size_t proc_arguments(struct str cmdline, struct str *args, size_t max);
