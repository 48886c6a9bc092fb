/* SPDX-License-Identifier: Apache-2.0
 * The client side of the daemon's socket.
 */
#include "ask/client.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/tunnel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/net.h"
#include "config/places.h"
#include "net/http_client.h"
#include "net/http_message.h"
#include "source/replay/reader.h"

enum { INPUT_MAX = 256 * 1024, RECEIVED_MAX = 64 * 1024, ANSWER_MAX = 64 << 20, PIECE_TIMEOUT_MS = 60000 };

struct client {
    int fd;
    char path[NET_LOCAL_SIZE];
    /* Another host: */
    const struct env *env;
    struct host_place host; /* name "": this host */
    bool by_network;        /* over HTTP(S); otherwise through the socket at `path` */
    struct tunnel *tunnel;
};

bool client_is_remote(const struct client *c)
{
    return c->host.name[0] != '\0';
}

bool client_daemon(const struct client *c, uid_t *user, int32_t *pid)
{
    *pid = client_is_remote(c) ? 0 : net_peer_pid(c->fd);
    return !client_is_remote(c) && net_peer_user(c->fd, user);
}

/* ---- connecting ---- */

static int make_client(int fd, const char *path, struct client **ret, struct error *err)
{
    struct client *c = calloc(1, sizeof *c);
    if (!c) {
        net_close(fd);
        return error_set(err, -ENOMEM, "out of memory");
    }
    c->fd = fd;
    str_copy(c->path, sizeof c->path, str_from(path));
    *ret = c;
    return 0;
}

int client_open(const char *configured, struct client **ret, struct error *err)
{
    char path[PLACE_SIZE];
    for (int n = 0; place_of_daemon(configured, n, path); n++) {
        int fd = net_local_connect(path);
        if (fd >= 0)
            return make_client(fd, path, ret, err);
    }
    return error_set(err, -ENOENT, "no daemon is running (start one with `whirr serve`)");
}

/* Reports that no daemon listens at this user's socket. */
static int no_daemon_to_act(const char *configured, const char *path, struct error *err)
{
    char system[PLACE_SIZE];
    bool elsewhere = strcmp(configured, "auto") == 0 && place_system_socket(system) && strcmp(path, system) != 0;
    AUTO_NET_CLOSE int other = elsewhere ? net_local_connect(system) : -1;
    const char *where = path[0] ? path : "a place of yours (XDG_RUNTIME_DIR is not set)";
    if (other >= 0)
        return error_set(err, -EPERM,
                         "no daemon is running at %s; the system's daemon was left alone\nTo act on that one, add --socket %s",
                         where, system);
    return error_set(err, -ENOENT, "no daemon is running at %s\nTo start one: whirr serve, or as a service: whirr setup", where);
}

int client_open_to_act(const char *configured, struct client **ret, struct error *err)
{
    char path[PLACE_SIZE] = "";
    if (strcmp(configured, "none") == 0)
        return error_set(err, -ENOENT, "cannot reach a daemon: server.socket is \"none\"");
    if (!place_to_act(configured, path))
        return no_daemon_to_act(configured, "", err);
    int fd = net_local_connect(path);
    if (fd >= 0)
        return make_client(fd, path, ret, err);
    if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR)
        return no_daemon_to_act(configured, path, err);
    return error_set(err, fd, "cannot reach the daemon at %s: %s", path, strerror(-fd));
}

const char *client_place(const struct client *c)
{
    return client_is_remote(c) ? c->host.name : c->path;
}

/* The daemon's name in messages: "the daemon at /run/whirr/whirr.sock", "gpu2". */
static const char *who(const struct client *c, char text[160])
{
    snprintf(text, 160, client_is_remote(c) ? "%s" : "the daemon at %s", client_place(c));
    return text;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        net_close(c->fd);
    tunnel_close(c->tunnel);
    free(c);
}

/* ---- one exchange over a socket ---- */

static int wait_for(int fd, short events, struct mono until)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (;;) {
        int64_t left_ms = mono_since_ms(until, clock_mono(&clock_system));
        if (left_ms <= 0)
            return -ETIMEDOUT;
        int n = poll(&p, 1, (int)MIN_OF(left_ms, (int64_t)60000));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

static int send_all(int fd, struct str bytes, struct mono until)
{
    while (bytes.len) {
        ssize_t n = net_send(fd, bytes.at, bytes.len);
        if (n < 0 && errno == EAGAIN) {
            int result = wait_for(fd, POLLOUT, until);
            if (result)
                return result;
            continue;
        }
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            bytes = (struct str){bytes.at + n, bytes.len - (size_t)n};
    }
    return 0;
}

/* Appends received bytes; returns their number, 0 at the end. */
static ssize_t receive(int fd, struct buf *to, struct mono until)
{
    /* Read directly into the buffer: a large array on the stack would touch all of its pages (-fstack-clash-protection). */
    if (!buf_reserve(to, RECEIVED_MAX))
        return -E2BIG;
    for (;;) {
        ssize_t n = net_recv(fd, to->at + to->len, RECEIVED_MAX);
        if (n >= 0) {
            to->len += (size_t)n;
            to->at[to->len] = '\0';
            return n;
        }
        if (errno == EAGAIN) {
            int result = wait_for(fd, POLLIN, until);
            if (result)
                return result;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

/* Receives the body piece by piece, or in `refusal` if the status is not 200. */
struct sink {
    client_piece_fn *each;
    void *user;
    struct buf *refusal;
    int64_t piece_ms; /* limits the pause between pieces instead of the whole; 0: no limit */
};

static int add_piece(void *user, struct str piece)
{
    struct buf *answer = user;
    buf_str(answer, piece);
    return answer->failed ? -E2BIG : 0;
}

static int take_pieces(struct http_body *body, struct str rest, int status, const struct sink *sink)
{
    struct str piece;
    int got, result;
    while ((got = http_body_next(body, &rest, &piece)) > 0) {
        result = status == 200 ? sink->each(sink->user, piece) : add_piece(sink->refusal, piece);
        if (result < 0)
            return result;
    }
    return got < 0 ? -EPROTO : 0;
}

/* Sends one request and reads the answer. Returns its status, or -errno. */
static int exchange(struct client *c, struct str request, const struct sink *sink, struct mono until)
{
    AUTO_BUF struct buf input = BUF(INPUT_MAX);
    struct http_message m;
    struct http_body body;
    int result = send_all(c->fd, request, until);
    ssize_t head = 0;
    while (result == 0 && head == 0) {
        ssize_t n = receive(c->fd, &input, until);
        if (n <= 0)
            return n < 0 ? (int)n : -ECONNRESET;
        head = http_parse_response(buf_view(&input), &m);
    }
    if (result < 0 || head < 0)
        return result < 0 ? result : -EPROTO;
    http_body_of_response(&body, &m, false);
    result = take_pieces(&body, (struct str){input.at + head, input.len - (size_t)head}, m.status, sink);
    while (result == 0 && !body.done) {
        if (sink->piece_ms)
            until = (struct mono){clock_mono(&clock_system).ns + sink->piece_ms * (int64_t)NS_PER_MS};
        input.len = 0;
        ssize_t n = receive(c->fd, &input, until);
        if (n == 0 && body.framing == HTTP_UNTIL_CLOSE)
            break;
        result = n > 0 ? take_pieces(&body, buf_view(&input), m.status, sink) : n < 0 ? (int)n : -ECONNRESET;
    }
    if (result == 0 && !m.keep_alive) {
        net_close(c->fd);
        c->fd = -1;
    }
    return result < 0 ? result : m.status;
}

/* ---- another host, over the network ---- */

/* Names the setting for its token and certificate. */
static const char *table_of(const struct client *c, char text[400])
{
    char address[300];
    host_place_text(&c->host, address, sizeof address);
    if (c->host.configured)
        snprintf(text, 400, "in [hosts.%s]", c->host.name);
    else
        snprintf(text, 400, "in a table [hosts.NAME] with address = \"%s\"", address);
    return text;
}

/* Adds advice to an error message of libcurl if the cause is a common one. */
static const char *advice(const struct client *c, const char *said, char text[480])
{
    char table[400];
    text[0] = '\0';
    /* The last two come from Windows; the very last has other causes, too. */
    bool plain =
        strstr(said, "wrong version number") || strstr(said, "unexpected TLS packet") || strstr(said, "SEC_E_INVALID_TOKEN");
    bool perhaps = plain || strstr(said, "failed to receive handshake");
    if (c->host.by == HOST_BY_HTTPS && perhaps)
        snprintf(text, 480, "\nIt %s use TLS there. To ask without: --host http://%s:%d, or ssh://%s",
                 plain ? "doesn't" : "may not", c->host.address, c->host.port, c->host.address);
    else if (strstr(said, "certificate") && (strstr(said, "host name") || strstr(said, "hostname")))
        snprintf(text, 480, "\nIts certificate is for other names: use one of them as the address %s", table_of(c, table));
    else if (strstr(said, "certificate") || strstr(said, "SSL") || strstr(said, "CERT_TRUST"))
        snprintf(text, 480, "\nTo trust its own certificate, copy it here and set ca %s", table_of(c, table));
    return text;
}

static int call_network(struct client *c, struct http_request *r, const char *target, struct buf *answer, struct error *err)
{
    char base[400], url[8192 + 400], token[512];
    struct error why = {0};
    host_place_text(&c->host, base, sizeof base);
    int length = snprintf(url, sizeof url, "%s%s", base, target);
    int token_length = snprintf(token, sizeof token, "Authorization: Bearer %s", c->host.token);
    if (length >= (int)sizeof url || token_length >= (int)sizeof token)
        return error_set(err, -E2BIG, "the request to %s is too large", c->host.name);
    const char *const headers[] = {c->host.token[0] ? token : NULL, NULL};
    r->url = url;
    r->headers = headers;
    r->ca_file = c->host.ca[0] ? c->host.ca : NULL;
    r->secret_url = true; /* the message already names the host */
    r->connect_timeout_ms = c->host.timeout_ms;
    int status = http_call(c->env, r, answer, &why);
    if (status >= 0)
        return status;
    char more[480];
    return error_set(err, status, "%s: %s%s", c->host.name, why.text, advice(c, why.text, more));
}

/* Errors that precede routing are about this client, not about its query. */
static int check_welcome(struct client *c, int status, struct buf *answer, size_t before, struct error *err)
{
    char message[300], table[400];
    if (!client_is_remote(c) || (status != 401 && status != 421 && status != 429))
        return status;
    client_error_text((struct str){answer->at + before, answer->len - before}, message, sizeof message);
    if (status == 421)
        return error_set(err, -EACCES, "%s refused: it is not known by that name; add it to server.allowed_hosts there",
                         c->host.name);
    if (status == 429)
        return error_set(err, -EACCES, "%s refused: %s", c->host.name, message);
    return error_set(err, -EACCES, "%s %s\nMake one there with `whirr token new` and set it as token %s", c->host.name,
                     c->host.token[0] ? "does not know this token" : "needs a token", table_of(c, table));
}

static int request_by_network(struct client *c, const char *method, const char *target, const char *body, struct buf *answer,
                              int64_t timeout_ms, struct error *err)
{
    struct http_request r = {.method = method, .body = body, .timeout_ms = timeout_ms};
    return call_network(c, &r, target, answer, err);
}

/* ---- one request ---- */

static int request_by_socket(struct client *c, const char *method, const char *target, const char *body, struct buf *answer,
                             int64_t timeout_ms, struct error *err)
{
    struct mono until = {clock_mono(&clock_system).ns + timeout_ms * NS_PER_MS};
    AUTO_BUF struct buf request = BUF(1 << 20);
    buf_printf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: whirr/" WHIRR_VERSION "\r\n", method, target);
    if (body)
        buf_printf(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    else
        buf_text(&request, "\r\n");
    if (request.failed)
        return error_set(err, -E2BIG, "the request is too large");
    const struct sink sink = {.each = add_piece, .user = answer, .refusal = answer};
    size_t before = answer->len;
    int result = c->fd < 0 ? -ECONNRESET : exchange(c, buf_view(&request), &sink, until);
    if (result == -ECONNRESET || result == -EPIPE) {
        /* The daemon closed the connection or was restarted: retry once on a new one. */
        if (c->fd >= 0)
            net_close(c->fd);
        c->fd = net_local_connect(c->path);
        answer->len = before;
        result = c->fd < 0 ? c->fd : exchange(c, buf_view(&request), &sink, until);
    }
    if (result >= 0)
        return result;
    if (c->fd >= 0)
        net_close(c->fd);
    c->fd = -1;
    char name[160];
    const char *said = c->tunnel ? tunnel_said(c->tunnel) : "";
    return error_set(err, result, "%s did not answer: %s%s%s", who(c, name), strerror(-result), said[0] ? "; ssh said: " : "",
                     said);
}

int client_request(struct client *c, const char *method, const char *target, const char *body, struct buf *answer,
                   int64_t timeout_ms, struct error *err)
{
    size_t before = answer->len;
    if (client_is_remote(c)) /* the configured limit, or the caller's if longer */
        timeout_ms = timeout_ms > CLIENT_WITHIN_MS ? MAX_OF(timeout_ms, c->host.timeout_ms) : c->host.timeout_ms;
    int status = (c->by_network ? request_by_network : request_by_socket)(c, method, target, body, answer, timeout_ms, err);
    return check_welcome(c, status, answer, before, err);
}

/* ---- another host ---- */

/* ssh creates the socket file before it listens, so early attempts are refused. */
static int connect_to_tunnel(const struct client *c)
{
    struct mono until = {clock_mono(&clock_system).ns + c->host.timeout_ms * NS_PER_MS};
    for (;;) {
        int fd = net_local_connect(c->path);
        if (fd != -ECONNREFUSED || mono_since_ms(until, clock_mono(&clock_system)) <= 0)
            return fd;
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
    }
}

/* Finds the end of the tunnel where a daemon answers. */
static int find_behind_tunnel(struct client *c, struct error *err)
{
    struct error last = {0};
    for (int n = 0; tunnel_socket(c->tunnel, n); n++) {
        AUTO_BUF struct buf answer = BUF(1 << 20);
        str_copy(c->path, sizeof c->path, str_from(tunnel_socket(c->tunnel, n)));
        c->fd = connect_to_tunnel(c);
        int status = request_by_socket(c, "GET", "/api/health", NULL, &answer, c->host.timeout_ms, &last);
        if (status > 0)
            return 0;
        if (status == -ETIMEDOUT)
            return error_set(err, status, "%s", last.text);
    }
    const char *first = tunnel_target(c->tunnel, 0), *second = tunnel_target(c->tunnel, 1), *said = tunnel_said(c->tunnel);
    return error_set(err, -ECONNREFUSED, "%s: no daemon answers at %s%s%s%s%s", c->host.name, first, second ? " or " : "",
                     second ? second : "", said[0] ? "; ssh said: " : "", said);
}

int client_open_host(const struct env *env, const struct host_place *place, bool may_ask, struct client **ret, struct error *err)
{
    struct client *c = NULL;
    int rc = make_client(-1, "", &c, err);
    if (rc < 0)
        return rc;
    c->env = env;
    c->host = *place;
    c->by_network = place->by != HOST_BY_SSH;
    if (!c->by_network && tunnel_open(place, may_ask, &c->tunnel, err) < 0)
        rc = error_prefix(err, "%s", place->name);
    else if (!c->by_network)
        rc = find_behind_tunnel(c, err);
    if (rc == 0)
        *ret = c;
    else
        client_close(c);
    return rc;
}

/* ---- answers of any length ---- */

int client_download(struct client *c, const char *target, client_piece_fn *each, void *user, struct buf *refusal, struct error *err)
{
    char name[160];
    if (c->by_network) {
        struct http_request r = {.method = "GET", .each = each, .each_user = user, .timeout_ms = PIECE_TIMEOUT_MS};
        return check_welcome(c, call_network(c, &r, target, refusal, err), refusal, 0, err);
    }
    AUTO_BUF struct buf request = BUF(1 << 16);
    buf_printf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: whirr/" WHIRR_VERSION "\r\n\r\n", target);
    if (request.failed)
        return error_set(err, -E2BIG, "the request is too large");
    const struct sink sink = {.each = each, .user = user, .refusal = refusal, .piece_ms = PIECE_TIMEOUT_MS};
    struct mono until = {clock_mono(&clock_system).ns + PIECE_TIMEOUT_MS * (int64_t)NS_PER_MS};
    int result = c->fd < 0 ? -ECONNRESET : exchange(c, buf_view(&request), &sink, until);
    if (c->fd >= 0)
        net_close(c->fd);
    c->fd = -1;
    return result >= 0 ? result : error_set(err, result, "%s broke off its answer: %s", who(c, name), strerror(-result));
}

void client_error_text(struct str answer, char *text, size_t size)
{
    AUTO_JSON json_t *json = json_loadb(answer.at, answer.len, 0, NULL);
    const char *message = json_string_value(json_object_get(json_object_get(json, "error"), "message"));
    str_copy(text, size, message ? str_from(message) : str_trim(answer));
}

int client_snapshot(struct client *c, unsigned groups, int64_t max_age_ms, const struct snapshot **ret, struct error *err)
{
    char target[96], name[160];
    snprintf(target, sizeof target, "/api/snapshot?groups=%u&max_age_ms=%lld", groups, (long long)max_age_ms);
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    int status = client_request(c, "GET", target, NULL, &answer, CLIENT_WITHIN_MS, err);
    if (status < 0)
        return status;
    if (status == 503)
        return error_set(err, -EAGAIN, "%s is starting: its first sample has not arrived yet", who(c, name));
    if (status != 200)
        return error_set(err, -EPROTO, "%s is a different version, without snapshots", who(c, name));
    struct replay_reader *reader;
    int result = replay_reader_open_memory(buf_view(&answer).at, answer.len, &reader, err);
    if (result)
        return error_prefix(err, "%s is a different version", who(c, name));
    result = replay_reader_next(reader, ret, err);
    replay_reader_close(reader);
    if (result == 1)
        return 0;
    return error_set(err, -EPROTO, "cannot read the snapshot that %s sent", who(c, name));
}
