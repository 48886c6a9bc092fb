/* SPDX-License-Identifier: Apache-2.0
 * What the files of this host say about a process, beside procfs's own: state files of container runtimes, manifests of Ollama,
 * device files, users.
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/reading.h"

/* The container's own name: from its runtime's state files, below the sysroot, or the cgroup (`container` as container_name() wrote
 * it). "train-llama", "NAMESPACE/POD/CONTAINER", "101", "123" of a Slurm job. READING_OK, or why it is not known. */
enum reading_state container_label(const struct env *env, struct str cgroup, const char *container, char *to, size_t size);

/* The name that Ollama has for the model in a blob of its own directory ("llama3.1:8b"), which the command line of a runner gives.
 * "" when it gives none, or no manifest that can be read has it. */
void ollama_model_name(const struct env *env, int32_t pid, const struct str *args, size_t count, char *to, size_t size);

/* ---- Whether the numbers in our /proc are those of the host. Drivers may report host PIDs into a container; the same number there
 * can be another process. */

/* True: /proc shows the host's own processes, so a PID from a driver can be looked up as it is. */
bool procfs_is_of_host(const struct env *env);

/* 1 when the process holds a GPU's device file open, as far as we may see: the proof that a PID which a driver reported is
 * this very process of our PID namespace. Negative: that could not be looked at now. */
int process_holds_gpu(const struct env *env, int32_t pid);
bool is_gpu_file(const char *path);

/* ---- Users ---- */

/* The name of `uid` in the text of a passwd file. */
bool passwd_find(struct str passwd, int64_t uid, struct str *name);
