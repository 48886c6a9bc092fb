/* SPDX-License-Identifier: Apache-2.0
 * How to talk to another server: headers, token, tenant, trusted certificates and our own. A copy of settings that may be reloaded
 * meanwhile.
 */
#pragma once

#include "base/error.h"
#include "config/config.h"
#include "net/http_client.h"

/* From the configuration; texts are "" if unset. */
struct http_peer_settings {
    const char *section; /* for messages: "fleet", "push.central" */
    const char *token, *tenant, *ca, *certificate, *key;
    const struct config_map *headers;
};

enum { PEER_HEADERS_MAX = 24, PEER_HEADER_MAX = 4095 };
struct http_peer {
    char *ca, *certificate, *key; /* files; NULL: unset */
    char *headers[PEER_HEADERS_MAX + 1];
    size_t header_count;
};

/* NULL with a sentence: too long, out of memory, or an unreadable file. */
struct http_peer *http_peer_new(const struct http_peer_settings *settings, struct error *err);
void http_peer_free(struct http_peer *p); /* accepts NULL */
/* Sets the certificates; the caller adds the headers to its own list. */
void http_peer_apply(const struct http_peer *p, struct http_request *request);
