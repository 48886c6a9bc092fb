/* SPDX-License-Identifier: Apache-2.0
 * Windows sockets. Handles have 32 significant bits, so that an int holds one; errors are translated to errno. Here is also what
 * waits for them, and for pipes.
 */
#include "base/os/net.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/os/pipe.h"
#include "base/os/thread.h"
#include "base/str.h"
#include "port/windows/internal.h"
#include "port/windows/local.h"

enum { PARTS_AT_ONCE = 16, LOCAL_WITHIN_MS = 2000 };

static const struct {
    int windows, posix;
} codes[] = {
    {WSAEWOULDBLOCK, EAGAIN},
    {WSAEINTR, EINTR},
    {WSAEINPROGRESS, EINPROGRESS},
    {WSAEALREADY, EALREADY},
    {WSAEADDRINUSE, EADDRINUSE},
    {WSAEACCES, EACCES},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL},
    {WSAECONNREFUSED, ECONNREFUSED},
    {WSAECONNRESET, ECONNRESET},
    {WSAECONNABORTED, ECONNABORTED},
    {WSAENETUNREACH, ENETUNREACH},
    {WSAEHOSTUNREACH, EHOSTUNREACH},
    {WSAETIMEDOUT, ETIMEDOUT},
    {WSAENOBUFS, ENOBUFS},
    {WSAEMFILE, EMFILE},
    {WSAEISCONN, EISCONN},
    {WSAENOTCONN, ENOTCONN},
    {WSAESHUTDOWN, EPIPE},
    {WSAEAFNOSUPPORT, EAFNOSUPPORT},
    {WSAEINVAL, EINVAL},
    {WSAENOTSOCK, EBADF},
    {WSAEFAULT, EFAULT},
};

static int errno_of(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].windows == code)
            return codes[i].posix;
    return code ? EIO : 0;
}

/* Sets errno if the call failed. */
static int told(int result)
{
    if (result < 0)
        errno = errno_of(WSAGetLastError());
    return result;
}

static int start_result;

static void start_once(void)
{
    WSADATA about;
    start_result = -errno_of(WSAStartup(MAKEWORD(2, 2), &about));
}

int net_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
    return start_result;
}

SOCKET make_socket(int family, int type)
{
    return WSASocketW(family, type, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

/* Accepted sockets are inheritable, whatever the listener is. */
static int adopt(SOCKET made)
{
    unsigned long on = 1;
    if (made == INVALID_SOCKET)
        return told(-1);
    SetHandleInformation((HANDLE)made, HANDLE_FLAG_INHERIT, 0);
    if (ioctlsocket(made, FIONBIO, &on) == 0)
        return (int)made;
    told(-1);
    closesocket(made);
    return -1;
}

int net_socket(int family, int type)
{
    if (net_start() < 0) {
        errno = -start_result;
        return -1;
    }
    return adopt(make_socket(family, type));
}

int net_accept(int listener, struct sockaddr *from, socklen_t *len)
{
    int fd = adopt(accept(listener, from, len));
    if (fd >= 0) /* not every version inherits it from the listener */
        net_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
}

int net_connect(int fd, const struct sockaddr *to, socklen_t len)
{
    int result = told(connect(fd, to, len));
    if (result < 0 && errno == EAGAIN)
        errno = EINPROGRESS;
    return result;
}

int net_bind(int fd, const struct sockaddr *to, socklen_t len)
{
    int result = told(bind(fd, to, len));
    if (result < 0 && errno == EACCES) /* another program uses the address exclusively */
        errno = EADDRINUSE;
    return result;
}

int net_listen(int fd, int backlog)
{
    return told(listen(fd, backlog));
}

ssize_t net_send(int fd, const void *bytes, size_t len)
{
    return told(send(fd, bytes, (int)(len > INT_MAX ? INT_MAX : len), 0));
}

ssize_t net_send_parts(int fd, const struct iovec *parts, size_t count)
{
    WSABUF pieces[PARTS_AT_ONCE];
    DWORD sent = 0, used = 0;
    for (; used < count && used < PARTS_AT_ONCE; used++)
        pieces[used] = (WSABUF){.len = (ULONG)parts[used].iov_len, .buf = parts[used].iov_base};
    return told(WSASend(fd, pieces, used, &sent, 0, NULL, NULL)) < 0 ? -1 : (ssize_t)sent;
}

ssize_t net_recv(int fd, void *to, size_t len)
{
    return told(recv(fd, to, (int)(len > INT_MAX ? INT_MAX : len), 0));
}

int net_set_option(int fd, int level, int name, int value)
{
    return told(setsockopt(fd, level, name, (const char *)&value, sizeof value));
}

/* On Windows, SO_REUSEADDR would let any program take over the address. */
int net_own_address(int fd)
{
    return net_set_option(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
}

int net_failure(int fd)
{
    int error = 0, size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, (char *)&error, &size) < 0 ? errno_of(WSAGetLastError()) : errno_of(error);
}

void net_close(int fd)
{
    closesocket(fd);
}

/* ---- local sockets ---- */

static bool is_ready(int fd, short what)
{
    struct pollfd p = {.fd = (SOCKET)fd, .events = what};
    return poll(&p, 1, LOCAL_WITHIN_MS) > 0;
}

/* Sends our key and checks the answer of the file's daemon. */
static bool introduce(int fd, const struct local_door *door)
{
    char line[LOCAL_WORD_SIZE + 16], heard[LOCAL_WORD_SIZE] = "";
    int len = snprintf(line, sizeof line, "whirr %s\n", door->key);
    if (net_send(fd, line, (size_t)len) != len)
        return false;
    for (size_t got = 0; got < sizeof heard;) {
        ssize_t n = is_ready(fd, POLLIN) ? net_recv(fd, heard + got, sizeof heard - got) : 0;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return memcmp(heard, door->answer, sizeof heard - 1) == 0 && heard[sizeof heard - 1] == '\n';
}

#define LOOPBACK "127.0.0.1:"

/* "127.0.0.1:PORT" can't be a path (no file has a colon there): a port forwarded by ssh, without the key exchange. */
static bool is_port(const char *path, struct local_door *ret)
{
    size_t len = strlen(LOOPBACK);
    int64_t port;
    if (strncmp(path, LOOPBACK, len) != 0 || !str_to_i64(str_from(path + len), &port) || port < 1 || port > UINT16_MAX)
        return false;
    *ret = (struct local_door){.port = (uint16_t)port};
    return true;
}

int net_local_connect(const char *path)
{
    struct local_door door;
    bool plain = is_port(path, &door);
    int rc = plain ? 0 : local_door_read(path, &door);
    if (rc < 0)
        return rc;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(door.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = net_socket(AF_INET, SOCK_STREAM);
    if (fd < 0)
        return -errno;
    net_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    bool there = net_connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ||
                 (errno == EINPROGRESS && is_ready(fd, POLLOUT) && net_failure(fd) == 0);
    if (there && (plain || introduce(fd, &door)))
        return fd;
    net_close(fd);
    return -ECONNREFUSED;
}

/* The key already proved who the peer is (http/listener_local.c). */
bool net_peer_user(int fd, uid_t *user)
{
    (void)fd, (void)user;
    return false;
}

int32_t net_peer_pid(int fd)
{
    (void)fd;
    return 0;
}

/* ---- waiting for sockets ---- */

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

/* ---- waiting for pipes ---- */

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

/* ---- waking a loop: a pair of loopback sockets, created when it first asks, as most mailboxes never need them ---- */

int wake_open(struct wake *w)
{
    *w = (struct wake){.in = -1, .out = -1};
    return 0;
}

void wake_close(struct wake *w)
{
    if (w->in >= 0) {
        closesocket((SOCKET)w->in);
        closesocket((SOCKET)w->out);
    }
}

void wake_set(struct wake *w)
{
    if (w->out >= 0 && !w->set)
        send((SOCKET)w->out, "", 1, 0);
    w->set = true;
}

void wake_clear(struct wake *w)
{
    char ignored;
    if (w->in >= 0 && w->set)
        recv((SOCKET)w->in, &ignored, 1, 0);
    w->set = false;
}

/* `in` accepts only the port of `out`: another process may reach the listener first. */
static bool connect_pair(SOCKET listener, SOCKET *in, SOCKET *out)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, own = {0}, peer = {0};
    int size = sizeof place, own_size = sizeof own, peer_size = sizeof peer;
    *out = make_socket(AF_INET, SOCK_STREAM);
    if (bind(listener, (struct sockaddr *)&place, sizeof place) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&place, &size) || connect(*out, (struct sockaddr *)&place, sizeof place) ||
        getsockname(*out, (struct sockaddr *)&own, &own_size))
        return false;
    *in = accept(listener, (struct sockaddr *)&peer, &peer_size);
    SetHandleInformation((HANDLE)*in, HANDLE_FLAG_INHERIT, 0);
    return *in != INVALID_SOCKET && peer.sin_port == own.sin_port;
}

int wake_fd(struct wake *w)
{
    SOCKET in = INVALID_SOCKET, out = INVALID_SOCKET;
    if (w->in >= 0 || net_start() < 0)
        return w->in;
    SOCKET listener = make_socket(AF_INET, SOCK_STREAM);
    if (connect_pair(listener, &in, &out)) {
        w->in = (int)in;
        w->out = (int)out;
        ioctlsocket(in, FIONBIO, &(u_long){1});
        if (w->set)
            send(out, "", 1, 0);
    } else {
        closesocket(in);
        closesocket(out);
    }
    closesocket(listener);
    return w->in;
}
