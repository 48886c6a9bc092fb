/* SPDX-License-Identifier: Apache-2.0
 * A pair of loopback sockets, created when an event loop first asks: most mailboxes never need them.
 */
#include "base/os/wake.h"

#include <string.h>

#include "port/windows/internal.h"

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
    WSADATA about;
    SOCKET in = INVALID_SOCKET, out = INVALID_SOCKET;
    if (w->in >= 0 || WSAStartup(MAKEWORD(2, 2), &about))
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
