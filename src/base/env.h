/* SPDX-License-Identifier: Apache-2.0
 * The outside world as a value: where /sys, /proc and /etc are, which libraries and programs to load, what time it is, how to run
 * a program. Everything that touches the host takes a `const struct env *`, so that every test can bring its own host.
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

/* A program run for its output. The deadline kills it and its children. */
struct launch {
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH unless it contains a slash */
    int64_t timeout_ms;
    struct buf *out;            /* receives stdout; may be NULL */
    struct buf *err;            /* receives stderr; may be NULL */
    struct str in;              /* stdin; empty: /dev/null */
    const _Atomic bool *cancel; /* when set, the program is killed within about 100 ms and the result is -ECANCELED; may be NULL */
    bool spared;                /* leave the program running when cancelled */
};

/* Kinds of reads below the sysroot. */
enum env_read { READ_FILE, READ_LINK, READ_FOLDER, READ_EXISTS };

/* Every simulated machine whose settings were changed. */
#define SIMULATED_ALL "*"

struct env {
    const char *sysroot;       /* "" for this host, or a directory that holds sys/, proc/, etc/ */
    const char *nvml_library;  /* file name or path */
    const char *nvapi_library; /* NULL: not to be asked (sampling.nvidia_api) */
    const char *cuda_library;
    const char *nvidia_smi;        /* program name or path */
    const char *rocm_smi;          /* program name or path; NULL: the first of rocm-smi and amd-smi that exists */
    const char *visible_devices;   /* NVIDIA_VISIBLE_DEVICES, NULL when unset */
    bool in_job;                   /* inside a scheduler's job, which decides which GPUs we may open */
    const char *node_name;         /* NODE_NAME, the Kubernetes node as a DaemonSet passes it; NULL when unset */
    bool own_pids;                 /* the driver reports PIDs of our own /proc, even inside a container */
    bool one_look;                 /* the program exits after one sample: prefer a fast start to low memory use */
    const struct outside *outside; /* runs a few programs for a confined process; NULL: none */
    const char *simulated;         /* settings are those of this simulated machine ("sim:scenario=idle"), or of SIMULATED_ALL;
                                    * NULL: of this host */
    const char *self_program;      /* path of this program, to start itself as a helper */
    const struct clock *clock;
    /* Runs the program to its end. Returns its exit status (0 to 255), 128 + signal, or -errno (-ETIMEDOUT when killed). */
    int (*launch)(const struct env *, const struct launch *, struct error *);
    void *(*load_library)(const struct env *, const char *name, struct error *);
    /* Open a device file, and issue one ioctl on it: a descriptor or 0, or -errno. NULL: devices are unavailable. */
    int (*device_open)(const struct env *, const char *path);
    int (*device_ask)(const struct env *, int fd, unsigned long request, void *argument);
    /* Reports every read below the sysroot, with the bytes of a file or the target of a link. May be NULL. Called from any
     * thread. */
    void (*on_read)(const struct env *, enum env_read kind, const char *path, struct str bytes);
    void *user; /* context for the functions above, if they need one */
};

/* A variable that names code or a path; NULL if unset or untrusted. A process marked AT_SECURE (setuid, file capabilities,
 * domain change) may have privileges its caller lacks, but the caller chose its environment: such variables are ignored then. */
const char *env_variable(const char *name);
/* Sets the configured host name, once: a daemon that renamed itself while running would appear as two hosts. */
void env_give_host_name(const char *name);
const char *env_given_host_name(void); /* "": none */
/* The name of this host everywhere: the configured one, else NODE_NAME (a pod's own name changes), else the system's. "":
 * unknown. */
void env_host_name(char *name, size_t size);
/* All variables, NULL-terminated, filtered by the same rule. */
const char *const *env_variables(void);
/* How this program gained privileges its caller lacks: "setuid", "setgid", "file capabilities"; NULL: it has none. */
const char *env_gained(void);

/* This host, with WHIRR_NVML_LIBRARY, WHIRR_CUDA_LIBRARY, WHIRR_NVIDIA_SMI, WHIRR_ROCM_SMI, WHIRR_OWN_PIDS and
 * NVIDIA_VISIBLE_DEVICES from the environment. */
void env_init_system(struct env *env);
/* As sampling.nvidia_api says; the library is WHIRR_NVAPI_LIBRARY, or NVIDIA's. */
void env_use_nvapi(struct env *env, bool use);
/* Loads a library of the host; NULL with the reason on failure. Never unloads it: some start threads and register exit handlers. */
void *library_load(const char *name, struct error *err);
const char *library_path(void *library); /* path of the loaded file; "": unknown */
/* The descriptor that a service manager opened for this process under this name (systemd's OpenFile=), or -1. It stays open and
 * is not inherited by child processes. */
int env_handed_over(const char *name);

/* A symbol to load, and the pointer to set. */
struct library_symbol {
    const char *name;
    void *to;      /* address of a function or data pointer */
    bool optional; /* leave NULL if the library lacks it */
};
/* 0, or -ENOSYS naming the missing symbol: "the one found has no NAME". */
int library_symbols(void *library, const struct library_symbol *symbols, size_t count, struct error *err);

static inline bool env_is_recorded(const struct env *env)
{
    return env->sysroot[0] != '\0';
}

/* ---- Running a program for its output, with a firm deadline ---- */

int launch_program(const struct env *env, const struct launch *launch, struct error *err);
