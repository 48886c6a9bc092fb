/* SPDX-License-Identifier: Apache-2.0
 * Files of a process in procfs, and facts about it from others: state files of container runtimes, Ollama manifests, device files,
 * users.
 */
#pragma once

#include "base/env.h"
#include "base/file.h"
#include "base/str.h"
#include "model/reading.h"

/* For reading what belongs to a process alone, such as its paths and connections: keeps it out of recordings. */
static inline struct env unrecorded(const struct env *env)
{
    struct env quiet = *env;
    quiet.on_read = NULL;
    return quiet;
}

/* A file, a link or a folder below /proc/PID, as base/file.h reads them. */
ssize_t proc_read(const struct env *env, int32_t pid, const char *file, char *text, size_t size);
/* What proc_read() has read; empty if nothing. */
struct str proc_text(const struct env *env, int32_t pid, const char *file, char *text, size_t size);
int proc_read_all(const struct env *env, int32_t pid, const char *file, struct buf *out);
ssize_t proc_link(const struct env *env, int32_t pid, const char *link, char *target, size_t size);
/* The target of an open file. */
ssize_t proc_fd(const struct env *env, int32_t pid, const char *fd, char *target, size_t size);
DIR *proc_dir(const struct env *env, int32_t pid, const char *folder);

/* ---- container_names.c ---- */

/* The container's own name, from its runtime's state files below the sysroot, or the cgroup (`container` from container_name()).
 * "train-llama", "NAMESPACE/POD/CONTAINER", "101", "123" of a Slurm job. READING_OK, or why it is unknown. */
enum reading_state container_label(const struct env *env, struct str cgroup, const char *container, char *to, size_t size);

/* ---- ollama_names.c ---- */

/* Ollama's name ("llama3.1:8b") for the model blob in a runner's command line. "" if it names none, or no readable manifest has
 * it. */
void ollama_model_name(const struct env *env, int32_t pid, const struct str *args, size_t count, char *to, size_t size);

/* ---- Whether our /proc shows the host's PIDs. Drivers may report host PIDs to a container, where the same number can be
 * another process. */

/* 1 if the process has a GPU's device file open, as far as we can see: proof that a PID from a driver means this process of our
 * PID namespace. Negative: unreadable now. */
int process_holds_gpu(const struct env *env, int32_t pid);
bool is_gpu_file(const char *path);

/* ---- Users ---- */

/* The name of `uid` in the text of a passwd file. */
bool passwd_find(struct str passwd, int64_t uid, struct str *name);
