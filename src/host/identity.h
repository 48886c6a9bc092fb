/* SPDX-License-Identifier: Apache-2.0
 * Identifies processes: name, user, command line, start, container, CPU and memory, from procfs below the sysroot.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"
#include "model/process.h"

struct identity; /* caches what is known about pids; for a single thread */

struct identity *identity_new(const struct env *env, bool show_secrets);
void identity_free(struct identity *i);

/* Fills in name, user, command (secrets masked unless requested), start, container, model, cpu_permille, host_mem_bytes and
 * visible for a pid. Keeps what a source has set, and skips a process with a start (start_key or started_at: the simulator and
 * replays set their own). Inside a container a pid counts as visible only if its process has a GPU device file open: the driver
 * may mean a process of the host. */
void identity_fill(struct identity *i, struct process *p);

/* Call once per sample, after all identity_fill: drops pids that are gone. */
void identity_sweep(struct identity *i);

/* ---- The container or batch job of a process, from the text of /proc/PID/cgroup. A pure function. ---- */

/* "docker:4f2a9c1b3d7e", "podman:...", "k8s:POD-UID/4f2a9c1b3d7e", "lxc:NAME", "nspawn:NAME", "slurm:JOB", ...; "" if the
 * process runs directly on the host. */
void container_name(struct str cgroup, char *to, size_t size);

/* The key to a container's state files. */
struct container_key {
    const char *runtime; /* "docker", "podman", "containerd", "crio", "container", ...; NULL: no container with an ID */
    char id[65];         /* all 64 digits */
    char pod[40];        /* the pod's UID with dashes; "" outside Kubernetes */
    int64_t uid;         /* owner of its user slice; -1 none */
};
void container_key(struct str cgroup, struct container_key *ret);

/* The job of a process, from the texts of /proc/PID/cgroup and /proc/PID/environ. A pure function. */
struct process_job {
    char id[PROCESS_JOB_SIZE];       /* "": none with a name */
    struct reading rank, world_size; /* set by torchrun, MPI or Slurm */
    bool of_slurm;
    int64_t uid;                  /* owner of the Slurm job, by cgroup; -1 unknown */
    char user[PROCESS_USER_SIZE]; /* the same by environment; "" unknown */
    unsigned char variables;      /* enum process_variable */
};
void process_job(struct str cgroup, struct str environment, struct process_job *ret);
/* "torchrun", "mpirun": the name of a program that launches the processes of a job; NULL: not one. */
const char *job_launcher(const struct str *args, size_t count);

/* Joins the arguments with spaces, unmasked: use mask_arguments() for what others see. */
void command_join(const struct str *args, size_t count, char *to, size_t size);

/* ---- The model in a command line: "llama-server -m /x/qwen3-8b-q4_k_m.gguf" runs qwen3-8b-q4_k_m. A pure function. */

/* "" if the command line names none. */
void model_name(const struct str *args, size_t count, char *to, size_t size);

/* Index of the real program: skips interpreters, their options and wrappers like nice or env, up to the script or module.
 * `count`: none. */
size_t command_program_at(const struct str *args, size_t count);

/* ---- What people call a process: "train.py", not "python3". A pure function. ---- */

/* `directory`: its working directory, for scripts with generic names; may be empty. "" if the process name suffices. */
void command_title(const struct str *args, size_t count, struct str directory, char *to, size_t size);
/* The same from the command line of a recorded process. */
void process_find_title(struct process *p);

/* ---- Single facts about a process, read now ---- */

/* Its raw arguments, each NUL-terminated: bytes or -errno. */
int process_command(const struct env *env, int32_t pid, char *text, size_t size);
/* "NAME=VALUE", each NUL-terminated; kept out of recordings, as it may contain secrets. 0 or more, or -errno. */
int process_environment(const struct env *env, int32_t pid, struct buf *ret);
/* Its living children; returns how many are in the list. */
size_t process_children(const struct env *env, int32_t pid, int32_t *list, size_t max);
/* start_key of struct process; 0: gone or not accessible. */
int64_t process_start(const struct env *env, int32_t pid);

/* ---- Details of one process, as far as the caller has access: lines of "LABEL\tTEXT", with an empty label on continuation
 * lines. ---- */

/* -ESRCH: no such process, or its PID was reused. Other errors: not readable. */
int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out);

/* ---- for the system backends: building the lines ---- */
void details_add(struct buf *out, const char *label, const char *text);
void details_add_command(struct buf *out, const struct str *args, size_t count, bool show_secrets);
/* NUL-terminated variables. */
void details_add_environment(struct buf *out, struct str variables, bool show_secrets);
const char *details_refusal(int64_t error); /* why a line is unknown */

/* ---- User names by number: on Linux from /etc/passwd below the sysroot and, on the real host, from the name service ---- */

struct users;

struct users *users_new(const struct env *env);
void users_free(struct users *u);
/* The name, or the number if it has none. */
void users_name(struct users *u, int64_t uid, char *to, size_t size);
enum { USER_NAME_SIZE = 33 };
/* Asks the system each time: false if the number has no name. */
bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE]);
