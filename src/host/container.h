/* SPDX-License-Identifier: Apache-2.0
 * Which container or batch job a process belongs to, from the text of /proc/PID/cgroup. A pure function.
 */
#pragma once

#include "base/str.h"

/* "docker:4f2a9c1b3d7e", "podman:...", "k8s:POD-UID/4f2a9c1b3d7e", "lxc:NAME", "nspawn:NAME", "slurm:JOB", ...; "" when the process
 * runs on the host itself. */
void container_name(struct str cgroup, char *to, size_t size);
