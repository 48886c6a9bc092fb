/* SPDX-License-Identifier: Apache-2.0
 * Sends one query to a PromQL database over HTTP.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "fleet/fleet.h"
#include "net/http_client.h"
#include "net/peer.h"

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
