/* SPDX-License-Identifier: Apache-2.0
 * Waiting for sockets, and for pipes.
 */
#include "base/os/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <pthread.h>

#include "port/windows/internal.h"

/* Skips negative entries as POSIX does: WSAPoll fails on them. */
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

/* ---- pipes ---- */

/* A closed pipe is ready, too: the next read returns end of file. */
static bool has_bytes(int fd)
{
    DWORD there = 0;
    return !PeekNamedPipe((HANDLE)_get_osfhandle(fd), NULL, 0, NULL, &there, NULL) || there > 0;
}

static HANDLE input_to;

static void *pass_input(void *from)
{
    char piece[65536];
    DWORD got = 0, put;
    while (ReadFile(from, piece, sizeof piece, &got, NULL) && got && WriteFile(input_to, piece, got, &put, NULL))
        continue;
    CloseHandle(input_to);
    return NULL;
}

/* Stdin may be a console, a file, a socket, or on Wine a pipe that can't be peeked: a thread copies it into our own pipe. */
int pipe_input(void)
{
    HANDLE ours;
    pthread_t thread;
    if (!CreatePipe(&ours, &input_to, NULL, 65536))
        return fail_with(GetLastError());
    if (pthread_create(&thread, NULL, pass_input, GetStdHandle(STD_INPUT_HANDLE)) != 0) {
        errno = EAGAIN;
        return -1;
    }
    pthread_detach(thread);
    return _open_osfhandle((intptr_t)ours, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
}

/* Pipe handles aren't waitable: poll with backoff. */
int pipe_poll(struct pollfd *pipes, nfds_t count, int timeout_ms)
{
    enum { SELDOM_MS = 32 };
    ULONGLONG until = GetTickCount64() + (ULONGLONG)(timeout_ms > 0 ? timeout_ms : 0);
    unsigned signals = signals_handled();
    for (DWORD pause = 1;; pause = pause < SELDOM_MS ? 2 * pause : SELDOM_MS) {
        int ready = 0;
        for (nfds_t i = 0; i < count; i++) {
            bool asked = (int)pipes[i].fd >= 0 && has_bytes((int)pipes[i].fd);
            pipes[i].revents = asked ? POLLIN : 0;
            ready += asked;
        }
        ULONGLONG now = GetTickCount64();
        if (ready || (timeout_ms >= 0 && now >= until))
            return ready;
        if (signals != signals_handled()) {
            errno = EINTR;
            return -1;
        }
        Sleep(timeout_ms >= 0 && until - now < pause ? (DWORD)(until - now) : pause);
    }
}
