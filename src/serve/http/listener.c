/* SPDX-License-Identifier: Apache-2.0
 * Listening sockets.
 */
#include "serve/http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "serve/http/tls.h"

enum { BACKLOG = 4096, ACCEPT_AT_ONCE = 64 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, union address *ret, socklen_t *ret_len, struct error *err)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    uint64_t port;
    *ret = (union address){0};
    size_t host_len = colon ? (size_t)(colon - text) : 0;
    if (!colon || host_len >= sizeof host || !str_to_u64(str_from(colon + 1), &port) || port > 65535)
        return error_set(err, -EINVAL, "'%s' is not ADDRESS:PORT (such as 127.0.0.1:9447 or [::1]:9447)", text);
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    if (host[0] == '[' && host[host_len - 1] == ']') {
        host[host_len - 1] = '\0';
        ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        *ret_len = sizeof ret->v6;
        if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1)
            return 0;
    } else if (host_len == 0 || strcmp(host, "*") == 0) {
        ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        *ret_len = sizeof ret->v6;
        return 0;
    } else {
        ret->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        *ret_len = sizeof ret->v4;
        if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &ret->v4.sin_addr) == 1)
            return 0;
    }
    return error_set(err, -EINVAL, "'%s' is not a numeric address (or localhost) to listen on", text);
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

int listen_address_is_loopback(const char *text)
{
    union address address;
    socklen_t len;
    if (parse_address(text, &address, &len, NULL))
        return -1;
    return is_loopback(&address);
}

static void name_tcp(struct listener *l)
{
    union address a = {0};
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(l->fd, &a.any, &len))
        return;
    if (a.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host);
        l->port = ntohs(a.v4.sin_port);
        snprintf(l->name, sizeof l->name, "%s:%u", host, l->port);
    } else {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host);
        l->port = ntohs(a.v6.sin6_port);
        snprintf(l->name, sizeof l->name, "[%s]:%u", host, l->port);
    }
}

int listener_open_tcp(const char *address, struct listener *ret, struct error *err)
{
    union address a;
    socklen_t len;
    int result = parse_address(address, &a, &len, err);
    if (result)
        return result;
    AUTO_CLOSE int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket for %s: %s", address, strerror(errno));
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a.any.sa_family == AF_INET6) /* ":PORT" means every address, of both families */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    /* Accepted sockets inherit it. Without, answers of two writes wait for the client's delayed acknowledgement. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, &a.any, len) || listen(fd, BACKLOG)) {
        int error = errno;
        return error_set(err, -error, "cannot listen on %s: %s%s", address, strerror(error),
                         error == EADDRINUSE ? " (is another whirr running? choose another port with --listen)" : "");
    }
    *ret = (struct listener){.fd = fd, .is_loopback = is_loopback(&a)};
    fd = -1;
    name_tcp(ret);
    return 0;
}

static bool somebody_answers(const struct sockaddr_un *address)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN);
}

int listener_open_unix(const char *path, unsigned mode, struct listener *ret, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, -ENAMETOOLONG, "the socket path '%s' is longer than %zu bytes", path, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a Unix socket: %s", strerror(errno));
    struct stat st;
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return error_set(err, -EEXIST, "'%s' exists and is not a socket; it is left alone", path);
        if (somebody_answers(&address))
            return error_set(err, -EADDRINUSE, "another daemon answers on '%s'", path);
        unlink(path);
    }
    mode_t before = umask(0777 & ~mode);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(before);
    if (bound || listen(fd, BACKLOG))
        return error_set(err, -(bound ? error : errno), "cannot listen on '%s': %s", path, strerror(bound ? error : errno));
    *ret = (struct listener){.fd = fd, .is_unix = true, .is_loopback = true};
    fd = -1;
    str_copy(ret->name, sizeof ret->name, str_from(path));
    return 0;
}

static void note_peer(struct conn *c, const union address *from)
{
    if (c->listener->is_unix) {
        struct ucred who;
        socklen_t len = sizeof who;
        if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
            c->peer_trusted = who.uid == 0 || who.uid == geteuid();
    } else if (from->any.sa_family == AF_INET6) {
        c->peer = from->v6.sin6_addr;
    } else {
        c->peer.s6_addr[10] = c->peer.s6_addr[11] = 0xff;
        memcpy(&c->peer.s6_addr[12], &from->v4.sin_addr, 4);
    }
}

static void turn_away(int fd)
{
    static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
                               "Connection: close\r\nContent-Length: 78\r\n\r\n"
                               "{\"error\": {\"code\": \"too_many_connections\", \"message\": \"All places are taken.\"}}\n";
    send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void on_acceptable(void *arg)
{
    struct listener *l = arg;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        union address from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(l->fd, l->is_unix ? NULL : &from.any, l->is_unix ? NULL : &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            /* Out of descriptors: the waiting client keeps the listener readable; look again in a moment instead of spinning. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                watch_off(l->acceptable);
                watch_on(l->again, 200);
            }
            return;
        }
        if (l->loop->conn_count >= l->connections_max) {
            turn_away(fd);
            continue;
        }
        struct tls_session *session = NULL;
        if (l->tls && !(session = tls_session_new(l->tls, fd))) {
            close(fd);
            continue;
        }
        struct conn *c = conn_new(l->loop, fd, l, session);
        if (!c)
            continue;
        note_peer(c, &from);
        l->arrived(l, c);
    }
}

static void on_again(void *arg)
{
    struct listener *l = arg;
    watch_on(l->acceptable, WATCH_NO_TIMEOUT);
}

int listener_start(struct listener *l, struct loop *loop, struct error *err)
{
    l->loop = loop;
    l->acceptable = watch_readable(loop->base, l->fd, on_acceptable, l);
    l->again = watch_timer(loop->base, on_again, l);
    if (!l->acceptable || !l->again || !watch_on(l->acceptable, WATCH_NO_TIMEOUT))
        return error_set(err, -ENOMEM, "cannot watch the listening socket");
    return 0;
}

void listener_close(struct listener *l)
{
    if (l->fd < 0)
        return;
    watch_free(TAKE(l->acceptable));
    watch_free(TAKE(l->again));
    if (l->is_unix)
        unlink(l->name);
    close(l->fd);
    l->fd = -1;
}
