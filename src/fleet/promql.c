/* SPDX-License-Identifier: Apache-2.0
 * Queries a PromQL database over HTTP, and parses its answers in place. For a large fleet these are tens of megabytes; a tree of
 * all values would cost four times as much as the query.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "fleet/fleet.h"
#include "fleet/promql.h"
#include "net/http_client.h"
#include "net/peer.h"

/* ---- asking ---- */

enum { URL_SIZE = 16384 };

/* The database's message about a failed query. */
static void error_message(struct str answer, char *text, size_t size)
{
    AUTO_JSON json_t *root = json_loadb(answer.at, answer.len, 0, NULL);
    const char *error = json_string_value(json_object_get(root, "error"));
    str_copy_clean(text, size, error ? str_from(error) : str_trim((struct str){answer.at, MIN_OF(answer.len, (size_t)120)}));
}

static void cleanup_peer(struct http_peer **peer)
{
    http_peer_free(*peer);
}
#define AUTO_PEER CLEANUP(cleanup_peer)

/* Sends secrets only to the configured database, not to one named on the command line. */
static int peer_of(const struct fleet_place *place, struct http_peer **ret, struct error *err)
{
    static const struct config_map no_headers;
    struct http_peer_settings s = {
        .section = "fleet", .token = "", .tenant = "", .ca = "", .certificate = "", .key = "", .headers = &no_headers};
    const struct config_fleet *c = place->settings;
    if (c && strcmp(c->url, place->url) == 0)
        s = (struct http_peer_settings){.section = "fleet",
                                        .token = c->token,
                                        .tenant = c->tenant,
                                        .ca = c->ca,
                                        .certificate = c->certificate,
                                        .key = c->key,
                                        .headers = &c->headers};
    *ret = http_peer_new(&s, err);
    return *ret ? 0 : -EINVAL;
}

int fleet_get(const struct fleet_place *place, const char *path, struct buf *answer, struct error *err)
{
    AUTO_BUF struct buf url = BUF(URL_SIZE);
    struct str base = str_from(place->url);
    char why[160];
    while (base.len && base.at[base.len - 1] == '/')
        base.len--;
    buf_str(&url, base);
    buf_printf(&url, "/api/v1/%s", path);
    if (url.failed)
        return error_set(err, -EINVAL, "the address of the fleet is too long");
    AUTO_PEER struct http_peer *peer = NULL;
    int rc = peer_of(place, &peer, err);
    if (rc < 0)
        return rc;
    struct http_request request = {.method = "GET",
                                   .url = url.at,
                                   .headers = (const char *const *)peer->headers,
                                   .timeout_ms = place->timeout_ms,
                                   .secret_url = true,
                                   .cancel = place->cancel};
    http_peer_apply(peer, &request);
    int status = http_call(place->env, &request, answer, err);
    if (status < 0) {
        error_prefix(err,
                     "the fleet's database does not answer (Prometheus or VictoriaMetrics; is it running, and is the URL right?)");
        return status;
    }
    if (status == 200)
        return 0;
    if (status == 404)
        return error_set(err, -EIO, "the fleet's database answered 404; is this the URL of Prometheus or VictoriaMetrics?");
    error_message(buf_view(answer), why, sizeof why);
    return error_set(err, -EIO, "the fleet's database answered %d%s%s", status, why[0] ? ": " : "", why);
}

int fleet_ask(const struct fleet_place *place, const char *question, const char *when, struct buf *answer, struct error *err)
{
    AUTO_BUF struct buf path = BUF(URL_SIZE);
    buf_text(&path, "query?query=");
    buf_percent(&path, question);
    if (when)
        buf_printf(&path, "&time=%s", when);
    /* VictoriaMetrics hides the last 30 seconds by default, and with them new hosts, older versions also if they may use what they
     * know from before; other databases ignore this. */
    buf_text(&path, "&latency_offset=1s&nocache=1");
    return path.failed ? error_set(err, -EINVAL, "the address of the fleet is too long") : fleet_get(place, path.at, answer, err);
}

int fleet_misunderstood(int rc, struct error *err)
{
    if (rc == -EBADMSG)
        return error_set(err, rc, "this is no answer of a database that understands PromQL; is the URL right?");
    return rc < 0 ? error_set(err, rc, "out of memory") : 0;
}

/* ---- the answer: rows of labels and values ---- */

enum { DEEPEST = 32 };

static void skip_space(char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool take(char **at, char c)
{
    skip_space(at);
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool hex4(const char *text, uint32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF", *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return false;
        uint32_t value = (uint32_t)(digit - digits);
        *ret = *ret << 4 | (value < 16 ? value : value - 6);
    }
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return to;
}

/* Decodes the escape after a backslash. Drops an unpaired surrogate. */
static bool unescape(char **from, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint32_t c, low;
    const char *letter = **from ? strchr(letters, **from) : NULL;
    if (letter) {
        *(*to)++ = meant[letter - letters];
        ++*from;
        return true;
    }
    if (**from != 'u' || !hex4(*from + 1, &c))
        return false;
    *from += 5;
    if (c >= 0xd800 && c < 0xdc00 && (*from)[0] == '\\' && (*from)[1] == 'u' && hex4(*from + 2, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *from += 6;
    }
    *to = put_utf8(*to, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool take_string(char **at, const char **ret)
{
    if (!take(at, '"'))
        return false;
    char *from = *at, *to = from;
    *ret = to;
    for (;;) {
        size_t plain = strcspn(from, "\"\\");
        if (to != from)
            memmove(to, from, plain);
        from += plain;
        to += plain;
        if (*from == '"')
            break;
        if (*from++ != '\\' || !unescape(&from, &to))
            return false;
    }
    *at = from + 1;
    *to = '\0';
    return true;
}

static bool skip_value(char **at, int depth);

typedef bool member_fn(char **at, const char *name, void *user, int depth);

static bool skip_member(char **at, const char *name, void *user, int depth)
{
    (void)name, (void)user;
    return skip_value(at, depth);
}

/* An object, member by member. */
static bool take_object(char **at, member_fn *each, void *user, int depth)
{
    const char *name;
    if (depth > DEEPEST || !take(at, '{'))
        return false;
    if (take(at, '}'))
        return true;
    do {
        if (!take_string(at, &name) || !take(at, ':') || !each(at, name, user, depth + 1))
            return false;
    } while (take(at, ','));
    return take(at, '}');
}

static bool take_array(char **at, member_fn *each, void *user, int depth)
{
    if (depth > DEEPEST || !take(at, '['))
        return false;
    if (take(at, ']'))
        return true;
    do {
        if (!each(at, NULL, user, depth + 1))
            return false;
    } while (take(at, ','));
    return take(at, ']');
}

static bool skip_value(char **at, int depth)
{
    const char *text;
    skip_space(at);
    switch (**at) {
    case '"': return take_string(at, &text);
    case '{': return take_object(at, skip_member, NULL, depth);
    case '[': return take_array(at, skip_member, NULL, depth);
    default: break;
    }
    size_t len = strcspn(*at, ",]} \t\r\n"); /* a number, true, false, null */
    *at += len;
    return len > 0;
}

struct reading_rows {
    vector_row_fn *each;
    void *user;
    int rc;
    const char *list; /* name of the member with the rows, */
    member_fn *one;   /* and the function that parses one */
    bool found;       /* the list was found */
    struct vector_row row;
    const char *value; /* of the row; NULL: none */
};

static bool on_label(char **at, const char *name, void *user, int depth)
{
    struct vector_row *row = user;
    const char *value;
    (void)depth;
    if (!take_string(at, &value))
        return false;
    if (row->label_count < VECTOR_LABELS) {
        row->labels[row->label_count].name = name;
        row->labels[row->label_count++].value = value;
    }
    return true;
}

/* A timestamp and a text. */
static bool take_value(char **at, struct reading_rows *r, int depth)
{
    if (!take(at, '['))
        return false;
    skip_space(at);
    r->row.at.at = *at;
    if (!skip_value(at, depth + 1))
        return false;
    r->row.at.len = (size_t)(*at - r->row.at.at);
    return take(at, ',') && take_string(at, &r->value) && take(at, ']');
}

static bool on_row_member(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    if (strcmp(name, "metric") == 0)
        return take_object(at, on_label, &r->row, depth);
    if (strcmp(name, "value") == 0)
        return take_value(at, r, depth);
    return skip_value(at, depth);
}

static bool on_row(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    (void)name;
    r->row.label_count = 0;
    r->value = NULL;
    if (!take_object(at, on_row_member, r, depth))
        return false;
    if (r->value && str_to_double(str_from(r->value), &r->row.value))
        r->rc = r->each(r->user, &r->row);
    return r->rc == 0;
}

static bool on_list(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    if (strcmp(name, r->list) != 0)
        return skip_value(at, depth);
    r->found = true;
    return take_array(at, r->one, r, depth);
}

static bool on_data(char **at, const char *name, void *user, int depth)
{
    return strcmp(name, "data") == 0 ? take_object(at, on_list, user, depth) : skip_value(at, depth);
}

static bool on_series(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    (void)name;
    r->row.label_count = 0;
    if (!take_object(at, on_label, &r->row, depth))
        return false;
    r->rc = r->each(r->user, &r->row);
    return r->rc == 0;
}

static int read_rows(struct buf *answer, member_fn *member, struct reading_rows *r)
{
    char *at = answer->at;
    bool whole = at && take_object(&at, member, r, 0);
    if (r->rc)
        return r->rc;
    if (whole)
        skip_space(&at);
    return whole && r->found && !*at ? 0 : -EBADMSG;
}

int vector_read(struct buf *answer, vector_row_fn *each, void *user)
{
    return read_rows(answer, on_data, &(struct reading_rows){.each = each, .user = user, .list = "result", .one = on_row});
}

int vector_read_series(struct buf *answer, vector_row_fn *each, void *user)
{
    return read_rows(answer, on_list, &(struct reading_rows){.each = each, .user = user, .list = "data", .one = on_series});
}

const char *vector_label(const struct vector_row *row, const char *name)
{
    for (size_t i = 0; i < row->label_count; i++)
        if (strcmp(row->labels[i].name, name) == 0)
            return row->labels[i].value;
    return "";
}

const char *vector_host(const struct vector_row *row)
{
    const char *host = vector_label(row, "host");
    return host[0] ? host : vector_label(row, "instance");
}

uint32_t instance_route(const char *instance)
{
    return (uint32_t)fleet_hash(instance, "", "");
}
