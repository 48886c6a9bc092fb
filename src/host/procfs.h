/* SPDX-License-Identifier: Apache-2.0
 * The texts of procfs taken apart: /proc/PID/stat, /proc/PID/status, /proc/PID/cmdline. Pure functions of bytes.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum { ARGUMENTS_MAX = 512 };

#define PROC_FLAG_KERNEL_THREAD 0x00200000 /* PF_KTHREAD of the kernel's sched.h */

/* The fields of /proc/PID/stat that identify a process or change with every sample. */
struct proc_stat {
    struct str comm;       /* points into the text; may hold blanks, parentheses and line ends */
    char state;            /* 'R', 'S', 'T' where it is stopped, ... */
    int64_t parent, group; /* pids of the parent and of the process group's leader */
    uint64_t flags;
    int64_t cpu_ticks;   /* user and system */
    int64_t start_ticks; /* since boot */
    int64_t rss_pages;
};
bool proc_stat_parse(struct str text, struct proc_stat *ret);

struct proc_status {
    int64_t uid;          /* effective; -1 unknown */
    int64_t vm_rss_bytes; /* -1 unknown: a kernel thread or a zombie */
    int pid_namespaces;   /* how many PID namespaces below that of the procfs; 0 unknown */
};
void proc_status_parse(struct str text, struct proc_status *ret);

/* Arguments of a command line. Programs that rewrite theirs (setproctitle) leave one text with blanks: it is split at them. */
size_t proc_arguments(struct str cmdline, struct str *args, size_t max);
