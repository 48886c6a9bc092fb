/* SPDX-License-Identifier: Apache-2.0
 * Serves embedded files: compressed, as they are stored, or unpacked for the few clients that need it.
 */
#include "serve/api/assets.h"

#include <stdint.h>
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

static const char web[] = "/web/";
enum { WEB = sizeof web - 1 };

const char *asset_version(void)
{
    static char version[ASSET_VERSION_SIZE];
    if (!version[0]) {
        uint32_t hash = 2166136261; /* FNV-1a over the files' own hashes */
        for (size_t i = 0; i < asset_count; i++)
            for (const char *c = assets[i].etag; strncmp(assets[i].path, web, WEB) == 0 && *c; c++)
                hash = (hash ^ (unsigned char)*c) * 16777619;
        snprintf(version, sizeof version, "%08x", hash);
    }
    return version;
}

/* Behind "/web/VERSION/", for this version; NULL: there is no such part. */
static const char *versioned_name(const char *path)
{
    const size_t len = ASSET_VERSION_SIZE - 1;
    return strncmp(path, web, WEB) == 0 && strncmp(path + WEB, asset_version(), len) == 0 && path[WEB + len] == '/'
               ? path + WEB + len + 1
               : NULL;
}

const struct asset *asset_find(const char *path)
{
    const char *name = versioned_name(path);
    for (size_t i = 0; i < asset_count; i++) {
        const char *own = assets[i].path;
        if (name ? strncmp(own, web, WEB) == 0 && strcmp(own + WEB, name) == 0 : strcmp(own, path) == 0)
            return &assets[i];
    }
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
    /* What is named by its content never changes. */
    struct reply r = {.type = a->type,
                      .policy = policy,
                      .cache = versioned_name(x->request->path) ? "private, max-age=31536000, immutable" : NULL};
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
