/* SPDX-License-Identifier: Apache-2.0
 * Pipes that child processes don't inherit, and environ, which macOS libraries must obtain through a function.
 */
#pragma once

#include <crt_externs.h>
#include_next <unistd.h>

int pipe2(int ends[2], int flags); /* O_CLOEXEC, O_NONBLOCK */
#define environ (*_NSGetEnviron())
