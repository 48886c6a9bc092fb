/* SPDX-License-Identifier: Apache-2.0
 * MQTT 3.1.1 (https://docs.oasis-open.org/mqtt/mqtt/v3.1.1) over a libcurl connection.
 */
#include "net/mqtt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/curl.h"

enum {
    PACKET_CONNECT = 0x10,
    PACKET_CONNACK = 0x20,
    PACKET_PUBLISH_QOS1 = 0x32,
    PACKET_PUBACK = 0x40,
    PACKET_PINGREQ = 0xc0,
    PACKET_PINGRESP = 0xd0,
    PACKET_DISCONNECT = 0xe0,
    FLAG_CLEAN = 0x02,
    FLAG_WILL_QOS1_RETAIN = 0x04 | 0x08 | 0x20,
    FLAG_PASSWORD = 0x40,
    FLAG_USER = 0x80,
    PACKET_MAX = 4 << 20,
    ANSWER_MAX = 256, /* without subscriptions, answers have 4 bytes */
    CANCEL_POLL_MS = 500,
};

struct mqtt {
    CURL *curl;
    curl_socket_t socket;
    int64_t timeout_ms;
    const _Atomic bool *cancel;
    uint16_t next_id;
};

/* ---- bytes ---- */

/* Waits until the socket is readable or writable, checking for cancellation now and then. */
static int wait_for(struct mqtt *m, short events, struct mono deadline, struct error *err)
{
    for (;;) {
        int64_t left = mono_since_ms(deadline, clock_mono(&clock_system));
        if (m->cancel && *m->cancel)
            return error_set(err, -ECANCELED, "given up");
        if (left <= 0)
            return error_set(err, -ETIMEDOUT, "the broker did not answer within %lld ms", (long long)m->timeout_ms);
        struct pollfd fd = {.fd = m->socket, .events = events};
        int ready = poll(&fd, 1, (int)MIN_OF(left, (int64_t)CANCEL_POLL_MS));
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return error_set(err, -errno, "cannot wait for the broker: %s", strerror(errno));
    }
}

static struct mono deadline_of(const struct mqtt *m)
{
    return (struct mono){clock_mono(&clock_system).ns + m->timeout_ms * NS_PER_MS};
}

static int send_all(struct mqtt *m, struct str bytes, struct error *err)
{
    struct mono deadline = deadline_of(m);
    while (bytes.len) {
        size_t sent = 0;
        CURLcode code = curl.easy_send(m->curl, bytes.at, bytes.len, &sent);
        if (code == CURLE_AGAIN) {
            int rc = wait_for(m, POLLOUT, deadline, err);
            if (rc < 0)
                return rc;
            continue;
        }
        if (code != CURLE_OK)
            return error_set(err, -EPIPE, "the broker closed the connection");
        bytes = (struct str){bytes.at + sent, bytes.len - sent};
    }
    return 0;
}

static int receive(struct mqtt *m, uint8_t *to, size_t len, struct mono deadline, struct error *err)
{
    while (len) {
        size_t got = 0;
        CURLcode code = curl.easy_recv(m->curl, to, len, &got);
        if (code == CURLE_AGAIN) {
            int rc = wait_for(m, POLLIN, deadline, err);
            if (rc < 0)
                return rc;
            continue;
        }
        if (code != CURLE_OK || got == 0)
            return error_set(err, -EPIPE, "the broker closed the connection");
        to += got;
        len -= got;
    }
    return 0;
}

/* One packet: its first byte, and its body. */
static int receive_packet(struct mqtt *m, uint8_t *kind, uint8_t body[ANSWER_MAX], size_t *len, struct error *err)
{
    struct mono deadline = deadline_of(m);
    uint8_t byte = 0x80;
    int rc = receive(m, kind, 1, deadline, err);
    *len = 0;
    for (unsigned shift = 0; rc == 0 && (byte & 0x80); shift += 7) {
        if (shift > 21)
            return error_set(err, -EPROTO, "what answers is not an MQTT broker");
        rc = receive(m, &byte, 1, deadline, err);
        *len |= (size_t)(byte & 0x7f) << shift;
    }
    if (rc == 0 && *len > ANSWER_MAX)
        return error_set(err, -EPROTO, "what answers is not an MQTT broker");
    return rc < 0 ? rc : receive(m, body, *len, deadline, err);
}

/* ---- packets ---- */

static void put_number(struct buf *out, size_t number)
{
    buf_char(out, (char)(number >> 8 & 0xff));
    buf_char(out, (char)(number & 0xff));
}

static void put_text(struct buf *out, struct str text)
{
    text.len = MIN_OF(text.len, (size_t)0xffff);
    put_number(out, text.len);
    buf_str(out, text);
}

static void put_packet(struct buf *out, int kind, struct str body)
{
    size_t left = body.len;
    buf_char(out, (char)kind);
    do {
        size_t byte = left & 0x7f;
        left >>= 7;
        buf_char(out, (char)(byte | (left ? 0x80 : 0)));
    } while (left);
    buf_str(out, body);
}

static int greet(struct mqtt *m, const struct mqtt_options *o, struct error *err)
{
    static const char *const refusals[] = {"",
                                           "it does not speak MQTT 3.1.1",
                                           "it refuses the name of this client",
                                           "it is not available at the moment",
                                           "wrong user or password: check them",
                                           "not permitted: check user and password"};
    AUTO_BUF struct buf body = BUF(64 * 1024), packet = BUF(64 * 1024 + 8);
    int flags = FLAG_CLEAN | (o->will_topic ? FLAG_WILL_QOS1_RETAIN : 0) | (o->user[0] ? FLAG_USER : 0) |
                (o->user[0] && o->password[0] ? FLAG_PASSWORD : 0);
    put_text(&body, STR("MQTT"));
    buf_char(&body, 4); /* 3.1.1 */
    buf_char(&body, (char)flags);
    put_number(&body, MQTT_KEEP_ALIVE_S);
    put_text(&body, str_from(o->client_id));
    if (o->will_topic) {
        put_text(&body, str_from(o->will_topic));
        put_text(&body, str_from(o->will));
    }
    if (flags & FLAG_USER)
        put_text(&body, str_from(o->user));
    if (flags & FLAG_PASSWORD)
        put_text(&body, str_from(o->password));
    put_packet(&packet, PACKET_CONNECT, buf_view(&body));
    uint8_t kind = 0, answer[ANSWER_MAX] = {0};
    size_t len = 0;
    int rc = send_all(m, buf_view(&packet), err);
    if (rc == 0)
        rc = receive_packet(m, &kind, answer, &len, err);
    if (rc < 0)
        return rc;
    if (kind != PACKET_CONNACK || len != 2)
        return error_set(err, -EPROTO, "what answers is not an MQTT broker");
    if (answer[1])
        return error_set(err, answer[1] >= 4 ? -EACCES : -ECONNREFUSED, "the broker refuses the connection: %s",
                         answer[1] < ARRAY_LEN(refusals) ? refusals[answer[1]] : "for a reason of its own");
    return 0;
}

/* libcurl connects to an HTTP address and leaves the rest to us. */
static int address(const char *url, char http[512], struct error *err)
{
    bool tls = strncmp(url, "mqtts://", 8) == 0;
    if (!tls && strncmp(url, "mqtt://", 7) != 0)
        return error_set(err, -EINVAL, "its url must begin with mqtt:// or mqtts://");
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, "/?#");
    const char *last = memrchr(host, ']', len), *colon = memchr(last ? last : host, ':', len - (size_t)(last ? last - host : 0));
    int size = snprintf(http, 512, "%s://%.*s%s/", tls ? "https" : "http", (int)MIN_OF(len, (size_t)400), host,
                        colon ? ""
                        : tls ? ":8883"
                              : ":1883");
    return len == 0 || size < 0 || size >= 512 ? error_set(err, -EINVAL, "its url has no host") : 0;
}

static int connect_broker(struct mqtt *m, const struct mqtt_options *o, struct error *err)
{
    char url[512], said[CURL_ERROR_SIZE] = "";
    int rc = address(o->url, url, err);
    if (rc < 0)
        return rc;
    CURL *c = m->curl;
    curl.easy_setopt(c, CURLOPT_URL, url);
    curl.easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    curl.easy_setopt(c, CURLOPT_SSL_ENABLE_ALPN, 0L);
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(c, CURLOPT_PROXY, "");
    curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)o->timeout_ms);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    if (o->tls_ca)
        curl.easy_setopt(c, CURLOPT_CAINFO, o->tls_ca);
    curl_set_cancel(c, o->cancel);
    CURLcode code = curl.easy_perform(c);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, NULL);
    if (code == CURLE_OK)
        code = curl.easy_getinfo(c, CURLINFO_ACTIVESOCKET, &m->socket);
    char why[CURL_WHY_SIZE];
    if (code != CURLE_OK)
        return error_set(err, curl_errno(code), "%s", curl_why(c, code, said, why));
    return 0;
}

int mqtt_open(const struct env *env, const struct mqtt_options *options, struct mqtt **ret, struct error *err)
{
    struct mqtt *m = calloc(1, sizeof *m);
    if (!m)
        return error_set(err, -ENOMEM, "out of memory");
    *m = (struct mqtt){.socket = CURL_SOCKET_BAD, .timeout_ms = options->timeout_ms, .cancel = options->cancel};
    int rc = curl_open(env, &m->curl, err);
    if (rc < 0) {
        free(m);
        return rc;
    }
    rc = connect_broker(m, options, err);
    if (rc == 0)
        rc = greet(m, options, err);
    if (rc == 0) {
        *ret = m;
        return 0;
    }
    curl.easy_cleanup(m->curl);
    free(m);
    return rc;
}

int mqtt_publish(struct mqtt *m, const struct mqtt_message *list, size_t count, struct error *err)
{
    AUTO_BUF struct buf packets = BUF(PACKET_MAX);
    count = MIN_OF(count, (size_t)MQTT_MESSAGES_MAX);
    for (size_t i = 0; i < count; i++) {
        AUTO_BUF struct buf body = BUF(PACKET_MAX);
        m->next_id = (uint16_t)(m->next_id == 0xffff ? 1 : m->next_id + 1); /* 0 is not allowed */
        put_text(&body, str_from(list[i].topic));
        put_number(&body, m->next_id);
        buf_str(&body, list[i].payload);
        put_packet(&packets, PACKET_PUBLISH_QOS1 | (list[i].retain ? 1 : 0), buf_view(&body));
        packets.failed |= body.failed;
        packets.no_memory |= body.no_memory;
    }
    int rc = buf_check(&packets, err, "the message is longer than %d bytes", PACKET_MAX);
    if (rc == 0)
        rc = send_all(m, buf_view(&packets), err);
    for (size_t acknowledged = 0; rc == 0 && acknowledged < count;) {
        uint8_t kind = 0, answer[ANSWER_MAX];
        size_t len = 0;
        rc = receive_packet(m, &kind, answer, &len, err);
        acknowledged += rc == 0 && kind == PACKET_PUBACK;
    }
    return rc;
}

int mqtt_ping(struct mqtt *m, struct error *err)
{
    static const char ping[] = {(char)PACKET_PINGREQ, 0};
    int rc = send_all(m, (struct str){ping, sizeof ping}, err);
    for (uint8_t kind = 0, answer[ANSWER_MAX]; rc == 0 && kind != PACKET_PINGRESP;) {
        size_t len = 0;
        rc = receive_packet(m, &kind, answer, &len, err);
    }
    return rc;
}

void mqtt_close(struct mqtt *m, bool goodbye)
{
    static const char packet[] = {(char)PACKET_DISCONNECT, 0};
    size_t sent = 0;
    if (!m)
        return;
    if (goodbye)
        curl.easy_send(m->curl, packet, sizeof packet, &sent);
    curl.easy_cleanup(m->curl);
    free(m);
}
