/* SPDX-License-Identifier: Apache-2.0
 * How a server of others is asked: headers, a token, a tenant, whom to trust and who we are. A copy of settings that may be
 * reloaded meanwhile.
 */
#pragma once

#include "base/error.h"
#include "config/config.h"
#include "net/http.h"

/* Of the settings; texts are "" where nothing is set. */
struct http_peer_settings {
    const char *section; /* for messages: "fleet", "push.central" */
    const char *token, *tenant, *ca, *certificate, *key;
    const struct config_map *headers;
};

enum { PEER_HEADERS_MAX = 24, PEER_HEADER_MAX = 4095 };
struct http_peer {
    char *ca, *certificate, *key; /* files; NULL: not set */
    char *headers[PEER_HEADERS_MAX + 1];
    size_t header_count;
};

/* NULL and a sentence: too long, out of memory, or a file that can't be read. */
struct http_peer *http_peer_new(const struct http_peer_settings *settings, struct error *err);
void http_peer_free(struct http_peer *p); /* NULL is fine */
/* Whom to trust and who we are; headers are the caller's to put into its list. */
void http_peer_apply(const struct http_peer *p, struct http_request *request);
