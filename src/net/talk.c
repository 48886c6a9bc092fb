/* SPDX-License-Identifier: Apache-2.0
 * Loopback sockets, and HTTP over them.
 */
#include "net/talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/net.h"
#include "net/http_message.h"

enum { SLICE_MS = 100, PIECE = 64 * 1024, STATUS_FINAL = 200 };

/* 0 with the remaining milliseconds in *left. */
static int talk_time(const struct talk *t, int64_t *left)
{
    *left = -mono_since_ms(clock_mono(&clock_system), t->until);
    if (t->cancel && atomic_load(t->cancel))
        return -ECANCELED;
    return *left > 0 ? 0 : -ETIMEDOUT;
}

/* 0: ready. Waits in slices, so that a daemon can end promptly. */
static int talk_wait(const struct talk *t, short events)
{
    for (;;) {
        int64_t left;
        int rc = talk_time(t, &left);
        struct pollfd p = {.fd = t->fd, .events = events};
        if (rc < 0)
            return rc;
        rc = poll(&p, 1, (int)MIN_OF(left, (int64_t)SLICE_MS));
        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return -errno;
    }
}

int talk_open(struct talk *t, const char *address, uint16_t port, int64_t within_ms, const _Atomic bool *cancel)
{
    struct mono now = clock_mono(&clock_system);
    *t = (struct talk){.fd = -1, .until = {now.ns + within_ms * NS_PER_MS}, .cancel = cancel};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    bool is_six = address[0] == '[';
    if (!is_six && inet_pton(AF_INET, address, &four.sin_addr) != 1)
        return -EINVAL;
    t->fd = net_socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM);
    if (t->fd < 0)
        return -errno;
    const struct sockaddr *to = is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;
    if (net_connect(t->fd, to, is_six ? sizeof six : sizeof four) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return -errno;
    int rc = talk_wait(t, POLLOUT);
    return rc ? rc : -net_failure(t->fd);
}

void talk_close(struct talk *t)
{
    if (t->fd >= 0)
        net_close(t->fd);
    t->fd = -1;
}

/* After a call returned `n`: 0 to call again once the socket is ready, or -errno. */
static int talk_again(const struct talk *t, ssize_t n, short events)
{
    int64_t left;
    if (n >= 0 || errno == EINTR)
        return talk_time(t, &left);
    return errno == EAGAIN ? talk_wait(t, events) : -errno;
}

int talk_say(const struct talk *t, const char *line)
{
    for (size_t sent = 0, len = strlen(line); sent < len;) {
        ssize_t n = net_send(t->fd, line + sent, len - sent);
        sent += n > 0 ? (size_t)n : 0;
        int rc = sent < len ? talk_again(t, n, POLLOUT) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Reads first and waits only if needed: most of an answer arrives at once. */
ssize_t talk_hear(const struct talk *t, char *to, size_t size)
{
    int64_t left;
    int rc = talk_time(t, &left);
    while (rc == 0) {
        ssize_t n = net_recv(t->fd, to, size);
        if (n >= 0)
            return n;
        rc = talk_again(t, n, POLLIN);
    }
    return rc;
}

/* ---- HTTP ---- */

/* A partially received answer. */
struct heard_answer {
    struct buf head; /* if it arrived in pieces, with the bytes after it */
    int status;      /* 0: incomplete head */
    struct http_body framed;
    struct buf *body;
};

/* 1: complete, 0: more to come, or -errno. */
static int answer_take(struct heard_answer *a, struct str input)
{
    struct str piece;
    int rc;
    if (!a->status) {
        struct http_message m;
        bool begun = a->head.len > 0; /* otherwise it mostly is in one piece, which need not be copied */
        if (begun)
            buf_str(&a->head, input);
        struct str head = begun ? buf_view(&a->head) : input;
        ssize_t len = a->head.failed ? -1 : http_parse_response(head, &m);
        if (len == 0 && !begun)
            buf_str(&a->head, input);
        if (len <= 0)
            return len < 0 || a->head.failed ? -EPROTO : 0;
        if (m.status < STATUS_FINAL)
            return -EPROTO;
        a->status = m.status;
        http_body_of_response(&a->framed, &m, false);
        input = (struct str){head.at + len, head.len - (size_t)len};
    }
    while ((rc = http_body_next(&a->framed, &input, &piece)) == 1)
        buf_str(a->body, piece);
    return rc < 0 ? -EPROTO : a->body->failed ? -EFBIG : a->framed.done;
}

static int answer_hear(struct heard_answer *a, const struct talk *t)
{
    char piece[PIECE];
    for (;;) {
        ssize_t n = talk_hear(t, piece, sizeof piece);
        if (n <= 0)
            return n < 0 ? (int)n : a->status && a->framed.framing == HTTP_UNTIL_CLOSE ? a->status : -ECONNRESET;
        int rc = answer_take(a, (struct str){piece, (size_t)n});
        if (rc)
            return rc < 0 ? rc : a->status;
    }
}

int talk_get(const char *address, uint16_t port, const char *path, const char *header, int64_t within_ms,
             const _Atomic bool *cancel, struct buf *body)
{
    char question[2048];
    struct talk t;
    struct heard_answer answer = {.head = BUF(HTTP_PASSED_HEAD_MAX + PIECE), .body = body};
    int len = snprintf(question, sizeof question,
                       "GET /%s HTTP/1.1\r\nHost: %s:%u\r\nUser-Agent: whirr/" WHIRR_VERSION
                       "\r\nAccept: */*\r\nConnection: close\r\n%s%s\r\n",
                       path, address, port, header ? header : "", header ? "\r\n" : "");
    if (len < 0 || (size_t)len >= sizeof question)
        return -ENAMETOOLONG;
    int rc = talk_open(&t, address, port, within_ms, cancel);
    rc = rc < 0 ? rc : talk_say(&t, question);
    rc = rc < 0 ? rc : answer_hear(&answer, &t);
    talk_close(&t);
    buf_done(&answer.head);
    return rc;
}
