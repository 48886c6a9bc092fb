/* SPDX-License-Identifier: Apache-2.0
 * Sockets and their options; waiting requests; the tables of browser sessions and of wrong tokens.
 */
#include "http/site.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "http/access.h"
#include "http/http.h"
#include "http/tls/tls.h"

/* ---- sessions ---- */

bool sessions_open(struct sessions *s, const uint8_t token[SHA256_SIZE], int64_t now_ms, char id[SESSION_ID_SIZE])
{
    uint8_t random[(SESSION_ID_SIZE - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    struct session_slot *place = &s->slots[0];
    for (int i = 1; i < SESSIONS_MAX; i++)
        if (s->slots[i].until_ms < place->until_ms)
            place = &s->slots[i];
    hex_encode(random, sizeof random, id);
    sha256(str_from(id), place->id);
    memcpy(place->token, token, SHA256_SIZE);
    place->until_ms = now_ms + SESSION_SECONDS * 1000LL;
    return true;
}

static struct session_slot *find_session(const struct sessions *s, const uint8_t id[SHA256_SIZE])
{
    const struct session_slot *found = NULL;
    for (int i = 0; i < SESSIONS_MAX; i++) /* check all of them: constant time */
        if (digest_equal(id, s->slots[i].id, SHA256_SIZE))
            found = &s->slots[i];
    return (struct session_slot *)found;
}

const uint8_t *sessions_find(const struct sessions *s, const uint8_t id[SHA256_SIZE], int64_t now_ms)
{
    const struct session_slot *slot = find_session(s, id);
    return slot && slot->until_ms > now_ms ? slot->token : NULL;
}

void sessions_close(struct sessions *s, const uint8_t id[SHA256_SIZE])
{
    struct session_slot *slot = find_session(s, id);
    if (slot)
        *slot = (struct session_slot){0};
}

/* ---- wrong tokens: a full table evicts the slot that would expire first ---- */

static bool is_current(const struct limiter_slot *slot, int64_t now_ms)
{
    return slot->failures && now_ms - slot->since_ms < LIMITER_WINDOW_MS;
}

int64_t limiter_wait_ms(const struct limiter *l, const struct peer_id *who, int64_t now_ms)
{
    for (int i = 0; i < LIMITER_SLOTS; i++) {
        const struct limiter_slot *slot = &l->slots[i];
        if (is_current(slot, now_ms) && memcmp(&slot->who, who, sizeof *who) == 0)
            return slot->failures >= LIMITER_FAILURES ? slot->since_ms + LIMITER_WINDOW_MS - now_ms : 0;
    }
    return 0;
}

void limiter_failed(struct limiter *l, const struct peer_id *who, int64_t now_ms)
{
    struct limiter_slot *place = &l->slots[0];
    for (int i = 0; i < LIMITER_SLOTS; i++) {
        struct limiter_slot *slot = &l->slots[i];
        if (is_current(slot, now_ms) && memcmp(&slot->who, who, sizeof *who) == 0) {
            slot->failures++;
            return;
        }
        if (!is_current(slot, now_ms))
            place = slot;
        else if (is_current(place, now_ms) && slot->since_ms < place->since_ms)
            place = slot;
    }
    *place = (struct limiter_slot){.who = *who, .since_ms = now_ms, .failures = 1};
}

enum { CONNECTIONS_MAX = 16384, SPARE_DESCRIPTORS = 256 };

/* ---- waiting requests ---- */

void site_wait(struct exchange *x, int64_t wait_ms)
{
    struct site *s = x->site;
    struct http_client *h = x->conn->state;
    exchange_park(x);
    h->waiting = true;
    h->prev_waiter = NULL;
    h->next_waiter = s->waiters;
    if (s->waiters)
        http_client_of(s->waiters)->prev_waiter = x->conn;
    s->waiters = x->conn;
    h->wait_until_ms = loop_now_ms() + wait_ms;
    if (!watch_is_on(s->waiters_timer))
        watch_on(s->waiters_timer, wait_ms);
}

void site_wake(struct site *s)
{
    watch_off(s->waiters_timer);
    while (s->waiters)
        http_unpark(s->waiters); /* leaves the list */
}

static void on_waiters_timer(void *arg)
{
    struct site *s = arg;
    int64_t now = loop_now_ms(), next = INT64_MAX;
    for (struct conn *c = s->waiters, *following; c; c = following) {
        const struct http_client *h = http_client_of(c);
        following = h->next_waiter;
        if (h->wait_until_ms <= now)
            http_unpark(c);
        else
            next = MIN_OF(next, h->wait_until_ms - now);
    }
    if (next != INT64_MAX)
        watch_on(s->waiters_timer, next);
}

/* ---- sockets ---- */

static void on_arrived(struct listener *l, struct conn *c)
{
    http_begin(l->owner, c);
}

/* Starts the listener just opened after the last. */
static int start_listener(struct site *s, struct error *err)
{
    struct listener *l = &s->listeners[s->listener_count++];
    l->owner = s;
    l->arrived = on_arrived;
    l->connections_max = s->options.connections_max;
    l->tls = l->is_unix ? NULL : s->tls;
    return listener_start(l, &s->loop, err);
}

int site_listen(struct site *s, struct error *err)
{
    const struct site_options *o = &s->options;
    int result = 0;
    for (size_t i = 0; i < o->listen_count && !result; i++) {
        if (listen_address_is_loopback(o->listen[i]) == 0 && !o->insecure && s->tokens.count == 0)
            return error_set(err, -EPERM,
                             "%s can be reached by others: make a token first (whirr token new), or allow everyone with --insecure",
                             o->listen[i]);
        result = listener_open_tcp(o->listen[i], &s->listeners[s->listener_count], err);
        if (!result)
            result = start_listener(s, err);
    }
    if (result || !o->socket_path)
        return result;
    /* Every local user may ask for what every user may see; routes that act check who is at the other end. */
    result = listener_open_unix(o->socket_path, 0666, &s->listeners[s->listener_count], err);
    return result ? result : start_listener(s, err);
}

/* 10,000 clients need 10,000 descriptors; a shell's soft limit is 1,024. */
static void raise_descriptor_limit(struct site_options *o)
{
    size_t want = o->connections_max + SPARE_DESCRIPTORS, have = descriptors_raise(want);
    if (have && have < want)
        o->connections_max = have > 2 * SPARE_DESCRIPTORS ? have - SPARE_DESCRIPTORS : have / 2;
}

/* Certificate and key may be in one file. */
static struct tls_files tls_files(const struct site_options *o)
{
    return (struct tls_files){
        .certificate = o->tls_certificate, .key = o->tls_key ? o->tls_key : o->tls_certificate, .client_ca = o->tls_client_ca};
}

/* ---- life ---- */

static void on_token_changed(void *user, const struct access_token *t, const char *how)
{
    struct site *s = user;
    if (s->ops->token_changed)
        s->ops->token_changed(s->server, t, how);
}

void site_refresh_tokens(struct site *s)
{
    token_file_refresh(&s->tokens, on_token_changed, s);
}

static void on_tenures_tick(void *arg)
{
    tenures_check(arg);
}

int site_init(struct site *s, const struct site_options *options, const struct site_ops *ops, struct server *server,
              struct error *err)
{
    const struct tls_files files = tls_files(options);
    *s = (struct site){.options = *options, .ops = ops, .server = server};
    if (!s->options.connections_max)
        s->options.connections_max = CONNECTIONS_MAX;
    raise_descriptor_limit(&s->options);
    gethostname(s->own_name, sizeof s->own_name - 1);
    signal(SIGPIPE, SIG_IGN);
    int result = loop_init(&s->loop, err);
    if (!result && (!(s->waiters_timer = watch_timer(s->loop.base, on_waiters_timer, s)) ||
                    !(s->tenures_ticker = watch_ticker(s->loop.base, on_tenures_tick, s))))
        result = error_set(err, -ENOMEM, "out of memory");
    if (!result)
        result = token_file_load(&s->tokens, options->token_file, err);
    if (!result && options->tls_certificate)
        result = tls_new(&files, &s->tls, err);
    return result;
}

static void close_listeners(struct site *s)
{
    for (size_t i = 0; i < s->listener_count; i++)
        listener_close(&s->listeners[i]);
}

void site_stop(struct site *s)
{
    s->stopping = true;
    close_listeners(s);
    site_wake(s); /* with what is available */
    for (struct conn *c = s->loop.conns; c; c = c->next)
        if (c->protocol == &http_protocol && !http_client_of(c)->partial && !c->resuming && !c->kept_len)
            conn_finish(c, false);
}

void site_close_connections(struct site *s)
{
    close_listeners(s);
    for (struct conn *c = s->loop.conns; c; c = c->next)
        conn_close(c);
    if (s->loop.base)
        loop_free_closed(&s->loop);
}

void site_done(struct site *s)
{
    site_close_connections(s);
    watch_free(s->waiters_timer);
    watch_free(s->tenures_ticker);
    loop_done(&s->loop);
    tls_free(s->tls);
}

int site_reload(struct site *s, const struct site_options *options, struct error *err)
{
    /* Sockets stay unchanged: the caller compares and reports what needs a restart. */
    s->options.require_token = options->require_token;
    s->options.allowed_host_count = options->allowed_host_count;
    memcpy(s->options.allowed_hosts, options->allowed_hosts, sizeof s->options.allowed_hosts);
    s->options.cors_origin_count = options->cors_origin_count;
    memcpy(s->options.cors_origins, options->cors_origins, sizeof s->options.cors_origins);
    s->options.proxies = options->proxies;
    s->options.proxy_user = options->proxy_user;
    s->options.proxy_groups = options->proxy_groups;
    s->options.rule_count = options->rule_count;
    memcpy(s->options.rules, options->rules, sizeof s->options.rules);
    site_refresh_tokens(s);
    tenures_check(s);
    const struct tls_files files = tls_files(options);
    return s->tls && options->tls_certificate ? tls_reload(s->tls, &files, err) : 0;
}
