/* SPDX-License-Identifier: Apache-2.0
 * Waiting for sockets.
 */
#include <errno.h>
#include <poll.h>

#include "base/os/windows/internal.h"

/* Entries below zero are left out, as POSIX has it: WSAPoll takes them for broken. */
int poll(struct pollfd *sockets, nfds_t count, int timeout_ms)
{
    enum { MOST = 64 };
    struct pollfd asked[MOST];
    nfds_t place[MOST], used = 0;
    for (nfds_t i = 0; i < count && used < MOST; i++) {
        sockets[i].revents = 0;
        if ((int)sockets[i].fd < 0)
            continue;
        asked[used] = sockets[i];
        place[used++] = i;
    }
    if (used == 0) {
        Sleep(timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
        return 0;
    }
    int ready = WSAPoll(asked, used, timeout_ms);
    for (nfds_t i = 0; ready > 0 && i < used; i++)
        sockets[place[i]].revents = asked[i].revents;
    return ready < 0 ? (errno = EIO, -1) : ready;
}
