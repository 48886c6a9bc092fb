/* SPDX-License-Identifier: Apache-2.0
 * Serves embedded files: compressed, as they are stored, or unpacked for the few clients that need it.
 */
#include "serve/api/assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/exchange.h"
#include "http/negotiate.h"
#include "serve/api/core.h"
#include "serve/data/page.h"

/* The API page loads its own scripts and styles, draws icons from data: URLs, and queries this server. 'unsafe-inline': its library
 * writes style attributes into the HTML of Markdown tables. */
static const char docs_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const struct asset *asset_find(const char *path)
{
    for (size_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}

/* Blobs over the program's own bytes, created on first use: pending responses refer to them. */
static struct blob *stored_blob(const struct asset *a)
{
    static struct blob *blobs; /* two per asset: plain and gzip */
    if (!blobs && !(blobs = calloc(2 * asset_count, sizeof *blobs)))
        return NULL;
    struct blob *plain = &blobs[2 * (a - assets)], *packed = plain + 1;
    if (!plain->at) {
        *plain = *packed = (struct blob){.at = a->at, .len = a->len, .refs = 1, .is_static = true, .gzip_tried = true};
        snprintf(plain->etag, sizeof plain->etag, "%s", a->etag);
        snprintf(packed->etag, sizeof packed->etag, "%s-gz", a->etag);
        if (a->packed)
            plain->gzip = packed;
    }
    return plain;
}

static void reply_asset(struct exchange *x, const struct asset *a, const char *policy)
{
    struct reply r = {.type = a->type, .policy = policy};
    AUTO_BLOB struct blob *unpacked = NULL;
    if (!a->packed || accepts_gzip(http_field(x->request, "accept-encoding"))) {
        r.body = stored_blob(a);
    } else {
        AUTO_BUF struct buf out = BUF(a->plain_len);
        if (!gzip_expand((struct str){a->at, a->len}, &out) || !(unpacked = blob_take(&out)))
            return;
        snprintf(unpacked->etag, sizeof unpacked->etag, "%s", a->etag);
        r.body = unpacked;
    }
    if (r.body)
        exchange_reply(x, &r);
}

void get_asset(struct exchange *x)
{
    const struct asset *a = asset_find(x->request->path);
    if (a)
        reply_asset(x, a, NULL);
}

void get_docs(struct exchange *x)
{
    const struct asset *a = asset_find("/docs/index.html");
    if (a) {
        reply_asset(x, a, docs_policy);
        return;
    }
    /* A build without npm has the description, but not the page. */
    static const char page[] =
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>whirr: API</title>"
        "<link rel=\"stylesheet\" href=\"/style.css\"></head><body><header><h1>whirr</h1></header><main><p>This program was "
        "built without the interactive page. The API is described in <a href=\"/openapi.json\">/openapi.json</a>.</p>"
        "</main></body></html>\n";
    AUTO_BLOB struct blob *body = blob_copy(STR(page));
    if (body)
        exchange_reply(x, &(struct reply){.type = "text/html; charset=utf-8", .body = body, .policy = page_policy});
}

void get_openapi(struct exchange *x)
{
    struct server *s = x->server;
    if (!s->openapi) {
        AUTO_BUF struct buf out = BUF(4 << 20);
        openapi_write(&out);
        s->openapi = blob_take(&out);
    }
    if (s->openapi)
        exchange_reply(x, &(struct reply){.type = "application/json", .body = s->openapi});
}
