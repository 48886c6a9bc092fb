/* SPDX-License-Identifier: Apache-2.0
 * Who a process is: name, user, command line, start, container, CPU and memory, read from procfs below the sysroot.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"
#include "model/process.h"

struct identity; /* cache of what was learned about pids; used from one thread */

struct identity *identity_new(const struct env *env, bool show_secrets);
void identity_free(struct identity *i);

/* Fills name, user, command (secrets masked unless asked), start, container, model, cpu_permille, host_mem_bytes and visible of a
 * process of which the pid is known. What a source has filled already stays, and a process with a start (start_key or started_at:
 * the simulator and replays know their own) is left alone. Inside a container a pid counts as visible only if the process of
 * that number holds a GPU's device file: the driver may mean a process of the host. */
void identity_fill(struct identity *i, struct process *p);

/* Call once a sample, after all identity_fill: forgets pids that are gone. */
void identity_sweep(struct identity *i);

/* ---- Which container or batch job a process belongs to, from the text of /proc/PID/cgroup. A pure function. ---- */

/* "docker:4f2a9c1b3d7e", "podman:...", "k8s:POD-UID/4f2a9c1b3d7e", "lxc:NAME", "nspawn:NAME", "slurm:JOB", ...; "" when the process
 * runs on the host itself. */
void container_name(struct str cgroup, char *to, size_t size);

/* What a container's state files are found by. */
struct container_key {
    const char *runtime; /* "docker", "podman", "containerd", "crio", "container", ...; NULL: no container with an id */
    char id[65];         /* all 64 digits */
    char pod[40];        /* the pod's UID with dashes; "" outside Kubernetes */
    int64_t uid;         /* whose user slice it runs in; -1 none */
};
void container_key(struct str cgroup, struct container_key *ret);

/* The job that a process belongs to, from the texts of /proc/PID/cgroup and /proc/PID/environ. A pure function. */
struct process_job {
    char id[PROCESS_JOB_SIZE];       /* "": none that has a name of its own */
    struct reading rank, world_size; /* as torchrun, MPI or Slurm said when it was started */
    bool of_slurm;
    int64_t uid;                  /* whose Slurm job it is, by the cgroup; -1 not known */
    char user[PROCESS_USER_SIZE]; /* ..., by the environment; "" not known */
};
void process_job(struct str cgroup, struct str environment, struct process_job *ret);
/* "torchrun", "mpirun": the command line of a program that starts the processes of a job; NULL: it is none. */
const char *job_launcher(const struct str *args, size_t count);

/* The arguments with blanks between them, as they are: mask_arguments() for the eyes of others. */
void command_join(const struct str *args, size_t count, char *to, size_t size);

/* ---- The model that a command line names: "llama-server -m /x/qwen3-8b-q4_k_m.gguf" runs qwen3-8b-q4_k_m. A pure function. */

/* "" when the command line names none. */
void model_name(const struct str *args, size_t count, char *to, size_t size);

/* Where the real program begins: behind interpreters, their options and programs like nice or env; at the script or the module.
 * `count` when there is none. */
size_t command_program_at(const struct str *args, size_t count);

/* ---- What people call a process: "train.py" and not "python3". A pure function. ---- */

/* `directory`: where it runs, for scripts whose own name says nothing; may be empty. "" when its name says it already. */
void command_title(const struct str *args, size_t count, struct str directory, char *to, size_t size);
/* The same from the command line of a process that is known from a record alone. */
void process_find_title(struct process *p);

/* ---- One fact of a process, read now. ---- */

/* Its arguments as they are, each with a '\0' behind it: how many bytes, or -errno. */
int process_command(const struct env *env, int32_t pid, char *text, size_t size);
/* "NAME=VALUE", each with a '\0' behind it; secrets among them are not for a recording of this host. 0 or more, or -errno. */
int process_environment(const struct env *env, int32_t pid, struct buf *ret);
/* The processes that it has started and that live: how many of them are in the list. */
size_t process_children(const struct env *env, int32_t pid, int32_t *list, size_t max);
/* The start_key of struct process; 0: it is gone, or may not be looked at. */
int64_t process_start(const struct env *env, int32_t pid);

/* ---- One process from close by, as far as the caller may look: lines of "LABEL\tTEXT", the label empty where a line goes on.
 * ---- */

/* -ESRCH: there is no such process here, or its number belongs to another one now. Any other error: it could not be looked at. */
int process_details(const struct env *env, int32_t pid, int64_t start_key, bool show_secrets, struct buf *out);

/* For the systems alone: the lines of it. */
void details_add(struct buf *out, const char *label, const char *text);
void details_add_command(struct buf *out, const struct str *args, size_t count, bool show_secrets);
/* Variables that end in '\0'. */
void details_add_environment(struct buf *out, struct str variables, bool show_secrets);
const char *details_refusal(int64_t error); /* why a line is not known */

/* ---- Names of users by number: of Linux from /etc/passwd below the sysroot and, on the real machine, from the name service. */

struct users;

struct users *users_new(const struct env *env);
void users_free(struct users *u);
/* The name, or the number where there is none. */
void users_name(struct users *u, int64_t uid, char *to, size_t size);
enum { USER_NAME_SIZE = 33 };
/* What the system says, each time it is asked: false where it has no name for that number. */
bool users_look_up(const struct env *env, int64_t uid, char name[USER_NAME_SIZE]);
