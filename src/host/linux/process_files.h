/* SPDX-License-Identifier: Apache-2.0
 * Facts about a process from files outside procfs: state files of container runtimes, Ollama manifests, device files, users.
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/reading.h"

/* The container's own name, from its runtime's state files below the sysroot, or the cgroup (`container` from container_name()).
 * "train-llama", "NAMESPACE/POD/CONTAINER", "101", "123" of a Slurm job. READING_OK, or why it is unknown. */
enum reading_state container_label(const struct env *env, struct str cgroup, const char *container, char *to, size_t size);

/* Ollama's name ("llama3.1:8b") for the model blob in a runner's command line. "" if it names none, or no readable manifest has
 * it. */
void ollama_model_name(const struct env *env, int32_t pid, const struct str *args, size_t count, char *to, size_t size);

/* ---- Whether our /proc shows the host's PIDs. Drivers may report host PIDs to a container, where the same number can be
 * another process. */

/* True: /proc shows the host's processes, so a driver's PID can be looked up directly. */
bool procfs_is_of_host(const struct env *env);

/* 1 if the process has a GPU's device file open, as far as we can see: proof that a PID from a driver means this process of our
 * PID namespace. Negative: unreadable now. */
int process_holds_gpu(const struct env *env, int32_t pid);
bool is_gpu_file(const char *path);

/* ---- Users ---- */

/* The name of `uid` in the text of a passwd file. */
bool passwd_find(struct str passwd, int64_t uid, struct str *name);
