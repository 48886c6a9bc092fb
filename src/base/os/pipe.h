/* SPDX-License-Identifier: Apache-2.0
 * Waiting for pipes and the standard input. poll() does, where a socket is a descriptor; where it is not, descriptors are asked in
 * another way.
 */
#pragma once

#include <poll.h>

#ifdef _WIN32
int pipe_poll(struct pollfd *pipes, nfds_t count, int timeout_ms); /* for reading alone */
int pipe_input(void);                                              /* the standard input, to be waited for; -1 and errno */
#else
static inline int pipe_input(void)
{
    return 0;
}

static inline int pipe_poll(struct pollfd *pipes, nfds_t count, int timeout_ms)
{
    return poll(pipes, count, timeout_ms);
}
#endif
