/* SPDX-License-Identifier: Apache-2.0
 * The parts of the table for macOS.
 */
#pragma once

#include "host/calls/calls.h"

int macos_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max);
int macos_memory(struct calls_memory *ret);
int macos_load(int64_t *ret_milli);
int macos_networks(struct calls_flow *list, size_t max);
int macos_process(int32_t pid, struct calls_process *ret);
int macos_processes(struct calls_process *list, size_t max);
int macos_command(int32_t pid, char *text, size_t size);
int macos_environment(int32_t pid, struct buf *ret);
int macos_directory(int32_t pid, char *path, size_t size);
int macos_user(int32_t pid, char *name, size_t size);
int macos_user_name(int64_t uid, char *name, size_t size);
int macos_threads(int32_t pid, struct calls_thread *list, size_t max);
