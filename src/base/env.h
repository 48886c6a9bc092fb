/* SPDX-License-Identifier: Apache-2.0
 * The outside world as a value: where /sys, /proc and /etc are, which libraries and programs to load, what time it is, how to
 * run a program. Everything that touches the machine takes a `const struct env *`, so every test can bring its own machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"

struct env;

/* A program that is run for its output. It is killed, with its children, when the deadline passes. */
struct launch {
    const char *const *argv; /* argv[0] is looked up in PATH unless it has a slash; NULL-terminated */
    int64_t timeout_ms;
    struct buf *out;            /* what it wrote to stdout; may be NULL */
    struct buf *err;            /* and to stderr; may be NULL */
    struct str in;              /* what it reads from stdin; nothing: it reads from /dev/null */
    const _Atomic bool *cancel; /* becomes true: it is killed within about 100 ms and the result is -ECANCELED; may be NULL */
    bool spared;                /* when cancelled it is left running instead of killed */
};

/* What was read below the sysroot. */
enum env_read { READ_FILE, READ_LINK, READ_FOLDER, READ_EXISTS };

struct env {
    const char *sysroot;      /* "" for the real machine, else a directory that holds sys/, proc/, etc/ */
    const char *nvml_library; /* file name or path */
    const char *cuda_library;
    const char *nvidia_smi;        /* program name or path */
    const char *rocm_smi;          /* the same; NULL: rocm-smi, then amd-smi, whichever is there */
    const char *visible_devices;   /* NVIDIA_VISIBLE_DEVICES, NULL when unset */
    const char *node_name;         /* NODE_NAME: the Kubernetes node, as a DaemonSet passes it on; NULL when unset */
    bool own_pids;                 /* the driver's PIDs are those of our own /proc, also where that is a container's */
    bool one_look;                 /* the program ends after one sample: a fast start is worth more than little memory */
    const struct outside *outside; /* runs some programs for a process that is confined; NULL: none */
    const char *self_program;      /* this program, to start itself as a helper */
    const struct clock *clock;
    /* Runs the program to its end. Returns its exit status (0 to 255), 128 + signal, or -errno (-ETIMEDOUT when killed). */
    int (*launch)(const struct env *, const struct launch *, struct error *);
    void *(*load_library)(const struct env *, const char *name, struct error *);
    /* Opens a device file to query it, and asks one query of it (ioctl): a descriptor or 0, or -errno. NULL: no device can be
     * asked. */
    int (*device_open)(const struct env *, const char *path);
    int (*device_ask)(const struct env *, int fd, unsigned long request, void *argument);
    /* Is told of everything that was read below the sysroot by its path, with the bytes of a file or the target of a link.
     * NULL: no callback. Called from any thread. */
    void (*on_read)(const struct env *, enum env_read kind, const char *path, struct str bytes);
    void *user; /* for the functions above, where they are not the system's own */
};

/* A variable that names code or a path; NULL: not set, or not to be believed. Where the kernel marks a program as one that may have
 * privileges its caller lacks (AT_SECURE: setuid, file capabilities, another domain), its environment is the caller's to choose,
 * and no such variable is. */
const char *env_variable(const char *name);
/* The name that the settings give this host, once: a daemon that changed its name while it runs would be two hosts. */
void env_give_host_name(const char *name);
const char *env_given_host_name(void); /* "" none */
/* What this host is called everywhere: as the settings say, in a pod the node (NODE_NAME), not the pod, whose name changes. ""
 * unknown. */
void env_host_name(char *name, size_t size);
/* All variables, NULL-terminated, under the same rule. */
const char *const *env_variables(void);
/* By what this program got privileges that its caller lacks: "setuid", "setgid", "file capabilities"; NULL: it did not. */
const char *env_gained(void);

/* The real machine, with WHIRR_NVML_LIBRARY, WHIRR_CUDA_LIBRARY, WHIRR_NVIDIA_SMI, WHIRR_ROCM_SMI, WHIRR_OWN_PIDS and
 * NVIDIA_VISIBLE_DEVICES taken from the environment. */
void env_init_system(struct env *env);
/* The host's own library, or NULL with the reason. Never unloaded: some start threads and register exit handlers. */
void *library_load(const char *name, struct error *err);
const char *library_path(void *library); /* of the file that was loaded; "" unknown */
/* The descriptor that a service manager opened for this process under that name (OpenFile= of systemd), or -1. It stays open, and
 * is not passed on to other programs. */
int env_handed_over(const char *name);

/* What is used of a library, and the pointer that is to point at it. */
struct library_symbol {
    const char *name;
    void *to;      /* the address of a pointer to a function or to data */
    bool optional; /* NULL where the library has none of this name */
};
/* 0, or -ENOSYS and which one is missing: "the one found has no NAME". */
int library_symbols(void *library, const struct library_symbol *symbols, size_t count, struct error *err);

static inline bool env_is_recorded(const struct env *env)
{
    return env->sysroot[0] != '\0';
}

/* ---- Running a program for its output, with a deadline that holds. ---- */

int launch_program(const struct env *env, const struct launch *launch, struct error *err);
