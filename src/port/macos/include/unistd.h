/* SPDX-License-Identifier: Apache-2.0
 * Pipes that programs started from here do not inherit, and the environment, which libraries of macOS ask for by a function.
 */
#pragma once

#include <crt_externs.h>
#include_next <unistd.h>

int pipe2(int ends[2], int flags); /* O_CLOEXEC, O_NONBLOCK */
#define environ (*_NSGetEnviron())
