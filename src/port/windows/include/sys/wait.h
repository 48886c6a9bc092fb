/* SPDX-License-Identifier: Apache-2.0
 * How a program ended.
 */
#pragma once

#include <sys/types.h>

enum { WNOHANG = 1 };
#define WIFEXITED(status) (((status)&0x7f) == 0)
#define WEXITSTATUS(status) (((status) >> 8) & 0xff)
#define WIFSIGNALED(status) (!WIFEXITED(status))
#define WTERMSIG(status) ((status)&0x7f)

pid_t waitpid(pid_t pid, int *status, int flags);
