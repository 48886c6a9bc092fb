/* SPDX-License-Identifier: Apache-2.0
 * Listening sockets.
 */
#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/net.h"
#include "base/str.h"
#include "http/tls/tls.h"
#include "net/http_message.h"

enum { ACCEPT_AT_ONCE = 64, RESERVED_MAX = 64 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, union address *ret, socklen_t *ret_len, struct error *err)
{
    char host[64];
    struct str_place place;
    *ret = (union address){0};
    if (!str_to_listen(str_from(text), &place) || place.host.len >= sizeof host)
        return error_set(err, -EINVAL, "'%s' is not ADDRESS:PORT (such as 127.0.0.1:9447 or [::1]:9447)", text);
    str_copy(host, sizeof host, place.host);
    if (place.bracketed) {
        ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)place.port)};
        *ret_len = sizeof ret->v6;
        if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1)
            return 0;
    } else {
        ret->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)place.port)};
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
    socklen_t len = 0;
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
    socklen_t len = 0;
    int result = parse_address(address, &a, &len, err);
    if (result)
        return result;
    AUTO_NET_CLOSE int fd = net_socket(a.any.sa_family, SOCK_STREAM);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket for %s: %s", address, strerror(errno));
    net_own_address(fd);
    if (a.any.sa_family == AF_INET6) /* ":PORT" listens on every address of both families */
        net_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    /* Accepted sockets inherit it. Without it, answers in two writes wait for the client's delayed ACK. */
    net_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (net_bind(fd, &a.any, len) || net_listen(fd, LISTENER_BACKLOG)) {
        int error = errno;
        return error_set(err, -error, "cannot listen on %s: %s%s", address, strerror(error),
                         error == EADDRINUSE ? " (is another whirr running? choose another port with --listen)" : "");
    }
    *ret = (struct listener){.fd = fd, .is_loopback = is_loopback(&a)};
    fd = -1;
    name_tcp(ret);
    return 0;
}

/* ---- admission ---- */

struct peer_info {
    struct in6_addr address; /* all zero on a Unix socket */
    struct peer_id id;
    uid_t uid; /* at the other end of a Unix socket */
    bool trusted, local;
};

static struct peer_info peer_info_of(const struct listener *l, int fd, const union address *from)
{
    struct peer_info v = {0};
    if (l->is_unix) {
        v.uid = (uid_t)-1;
        /* With a greeting, admit everyone: the peer proves its identity then. */
        v.trusted = l->greet || (net_peer_user(fd, &v.uid) && (v.uid == 0 || v.uid == geteuid()));
        v.id = peer_id_of_user(v.uid);
        return v;
    }
    if (from->any.sa_family == AF_INET6) {
        v.address = from->v6.sin6_addr;
    } else {
        v.address.s6_addr[10] = v.address.s6_addr[11] = 0xff;
        memcpy(&v.address.s6_addr[12], &from->v4.sin_addr, 4);
    }
    v.local = IN6_IS_ADDR_LOOPBACK(&v.address) || (IN6_IS_ADDR_V4MAPPED(&v.address) && v.address.s6_addr[12] == 127);
    v.id = peer_id_of_address(&v.address);
    return v;
}

/* Some places are reserved for the owner, who uses the Unix socket and must get in when everything else is full. Of the rest,
 * one address may take a quarter; loopback, which includes all local clients and a proxy in front of us, three quarters. */
static struct peer *find_place(struct listener *l, const struct peer_info *v)
{
    size_t most = l->connections_max, kept = most > 1 ? MAX_OF(MIN_OF(most / 8, (size_t)RESERVED_MAX), (size_t)1) : 0;
    size_t share = MAX_OF(v->local ? most - most / 4 : most / 4, (size_t)1);
    const struct peer *known = peers_find(&l->loop->peers, &v->id);
    if (l->loop->conn_count >= (v->trusted ? most : most - kept) || (!v->trusted && known && known->connections >= share))
        return NULL;
    struct peer *place = peers_enter(&l->loop->peers, &v->id);
    if (place)
        place->connections++;
    return place;
}

static void reject(struct listener *l, int fd)
{
    AUTO_BUF struct buf body = BUF(256), answer = BUF(512);
    char unread[4096];
    http_error_body(&body, "too_many_connections", "All places are taken.");
    buf_printf(&answer,
               "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
               "Connection: close\r\nContent-Length: %zu\r\n\r\n",
               body.len);
    buf_str(&answer, buf_view(&body));
    l->loop->rejected++;
    /* No client could read it over TLS. */
    if (!l->tls)
        net_send(fd, buf_view(&answer).at, answer.len);
    /* With unread input the kernel would reset the connection, and the answer would be lost. */
    shutdown(fd, SHUT_WR);
    while (net_recv(fd, unread, sizeof unread) > 0)
        ;
    net_close(fd);
}

static void accept_client(struct listener *l, int fd, const union address *from)
{
    struct peer_info v = peer_info_of(l, fd, from);
    struct peer *place = find_place(l, &v);
    if (!place) {
        reject(l, fd);
        return;
    }
    struct tls_session *session = NULL;
    if (l->tls && !(session = tls_session_new(l->tls, fd))) {
        place->connections--;
        peers_leave(&l->loop->peers, place);
        net_close(fd);
        return;
    }
    struct conn *c = conn_new(l->loop, fd, l, place, session);
    if (!c)
        return;
    c->peer = v.address;
    c->peer_uid = v.uid;
    c->peer_trusted = v.trusted;
    (l->greet ? l->greet : l->arrived)(l, c);
}

static void on_acceptable(void *arg)
{
    struct listener *l = arg;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        union address from = {0};
        socklen_t len = sizeof from;
        int fd = net_accept(l->fd, l->is_unix ? NULL : &from.any, l->is_unix ? NULL : &len);
        if (fd < 0) {
            /* Out of descriptors, or another lasting error: the waiting client keeps the listener readable, so pause instead of
             * spinning. */
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
                watch_off(l->acceptable);
                watch_on(l->again, 200);
            }
            return;
        }
        accept_client(l, fd, &from);
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
        listener_remove_local(l);
    net_close(l->fd);
    l->fd = -1;
}
