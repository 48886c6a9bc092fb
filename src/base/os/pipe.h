/* SPDX-License-Identifier: Apache-2.0
 * Waiting for pipes and stdin. This is poll() where sockets are descriptors; elsewhere descriptors need another way.
 */
#pragma once

#include <poll.h>

#ifdef _WIN32
int pipe_poll(struct pollfd *pipes, nfds_t count, int timeout_ms); /* supports only reading */
int pipe_input(void);                                              /* a pollable descriptor for stdin; -1 and errno */
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
