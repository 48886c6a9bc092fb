/* SPDX-License-Identifier: Apache-2.0
 * A small HTTP server on a Unix socket, one request at a time, for this user and root only.
 */
#include "cli/guard/guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/net.h"
#include "base/os/shared.h"
#include "base/os/thread.h"
#include "config/places.h"
#include "daemon/guard_part.h"
#include "net/http_message.h"

enum { ANSWER_MAX = 1 << 20, CLIENT_MS = 2000, PAUSE_MS = 200 };

struct guard_socket {
    struct guard_api door;
    int fd;
    struct wake stop;
    pthread_t thread;
    struct sockaddr_un address;
};

static bool may_ask(int fd)
{
    uid_t user;
    return net_peer_user(fd, &user) && (user == 0 || user == geteuid());
}

/* 0: the request is incomplete; otherwise its length, or the negative status to answer with. */
static ssize_t read_request(struct buf *in, struct http_message *request, struct str *body)
{
    ssize_t head = http_parse_request(buf_view(in), request);
    if (head <= 0 || !http_has_body(request))
        return head;
    ssize_t used = http_parse_body(request, in->at + head, in->len - (size_t)head, body);
    return used > 0 ? head + used : used;
}

static void send_answer(int fd, int status, const struct buf *body)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX + 1024);
    buf_printf(&out, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
               http_status_text(status), body->len);
    buf_add(&out, body->at, body->len);
    struct str left = buf_view(&out);
    while (left.len) {
        ssize_t n = send(fd, left.at, left.len, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the client went away */
        left = (struct str){left.at + n, left.len - (size_t)n};
    }
}

static void serve_one(struct guard_socket *s, int fd)
{
    AUTO_BUF struct buf in = BUF(HTTP_INPUT_MAX), out = BUF(ANSWER_MAX);
    struct mono until = {clock_mono(&clock_system).ns + (int64_t)CLIENT_MS * NS_PER_MS};
    const struct timeval limit = {.tv_sec = CLIENT_MS / MS_PER_S};
    struct http_message request;
    struct str body = {0};
    ssize_t there;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* don't wait for a client that doesn't read */
    do {
        char piece[4096];
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = mono_since_ms(until, clock_mono(&clock_system));
        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return;
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n <= 0)
            return;
        buf_add(&in, piece, (size_t)n);
        if (in.failed)
            return;
    } while ((there = read_request(&in, &request, &body)) == 0);
    int status = (int)-there;
    if (there < 0)
        http_error_body(&out, "bad_request", "This is not a well-formed HTTP/1.1 request.");
    else
        status = guard_routes_answer(&s->door,
                                     request.method == HTTP_POST  ? "POST"
                                     : request.method == HTTP_GET ? "GET"
                                                                  : "",
                                     str_from(request.path), body, &out);
    send_answer(fd, status, &out);
}

static void *guard_socket_run(void *argument)
{
    struct guard_socket *s = argument;
    for (;;) {
        struct pollfd p[2] = {{s->fd, POLLIN, 0}, {wake_fd(&s->stop), POLLIN, 0}};
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (p[1].revents)
            return NULL;
        if (!p[0].revents)
            continue;
        AUTO_CLOSE int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) /* out of descriptors: the waiting client would keep poll() busy */
            poll(&p[1], 1, PAUSE_MS);
        else if (may_ask(fd))
            serve_one(s, fd);
    }
}

static int listen_at(struct guard_socket *s, struct error *err)
{
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    /* A socket that answers belongs to another guard. One that doesn't was left by a guard that was killed. */
    if (connect(s->fd, (struct sockaddr *)&s->address, sizeof s->address) == 0)
        return error_set(err, -EADDRINUSE, "a guard with that name is already running; choose another with --name");
    close(s->fd);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(s->address.sun_path);
    int rc = shared_socket_bind(s->fd, s->address.sun_path, 0600);
    if (rc == 0 && listen(s->fd, 16) < 0)
        rc = -errno;
    return rc < 0 ? error_set(err, rc, "cannot listen at '%s': %s", s->address.sun_path, strerror(-rc)) : 0;
}

static void socket_free(struct guard_socket *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->stop.in >= 0)
        wake_close(&s->stop);
    free(s);
}

int guard_socket_open(struct guard *g, const char *name, struct guard_socket **ret, struct error *err)
{
    char folder[PLACE_SIZE];
    struct guard_socket *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    *s = (struct guard_socket){.door = {g}, .fd = -1, .stop = {-1, -1, false}, .address = {.sun_family = AF_UNIX}};
    int rc = place_runtime(folder, err);
    if (rc == 0 && snprintf(s->address.sun_path, sizeof s->address.sun_path, "%s/guard-%s.sock", folder, name) >=
                       (int)sizeof s->address.sun_path)
        rc = error_set(err, -ENAMETOOLONG, "the path of the guard's socket is too long; choose a shorter --name");
    if (rc == 0)
        rc = listen_at(s, err);
    if (rc == 0 && wake_open(&s->stop) < 0)
        rc = error_set(err, -errno, "out of descriptors");
    if (rc == 0 && pthread_create(&s->thread, NULL, guard_socket_run, s) != 0)
        rc = error_set(err, -EAGAIN, "cannot start a thread");
    if (rc == 0) {
        *ret = s;
        return 0;
    }
    socket_free(s);
    return rc;
}

void guard_socket_close(struct guard_socket *s)
{
    if (!s)
        return;
    wake_set(&s->stop);
    pthread_join(s->thread, NULL);
    unlink(s->address.sun_path);
    socket_free(s);
}
