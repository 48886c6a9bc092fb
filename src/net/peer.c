/* SPDX-License-Identifier: Apache-2.0 */
#include "net/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A failing request would say less than half of this. */
static int check_file(const struct http_peer_settings *s, const char *key, const char *path, struct error *err)
{
    if (!path[0])
        return 0;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? error_set(err, -errno, "%s.%s: cannot read '%s': %s", s->section, key, path, strerror(errno)) : 0;
}

static int check(const struct http_peer_settings *s, struct error *err)
{
    if (!s->certificate[0] != !s->key[0])
        return error_set(err, -EINVAL, "%s.certificate and %s.key belong together, only one is set", s->section, s->section);
    int rc = check_file(s, "ca", s->ca, err);
    rc = rc ? rc : check_file(s, "certificate", s->certificate, err);
    return rc ? rc : check_file(s, "key", s->key, err);
}

static int add_header(struct http_peer *p, const struct http_peer_settings *s, const char *name, const char *before,
                      const char *value, struct error *err)
{
    if (!value[0])
        return 0;
    if (p->header_count == PEER_HEADERS_MAX || strlen(name) + strlen(before) + strlen(value) + 2 > PEER_HEADER_MAX)
        return error_set(err, -E2BIG, "%s has more than %d headers, or one of more than %d bytes", s->section, PEER_HEADERS_MAX,
                         PEER_HEADER_MAX);
    if (asprintf(&p->headers[p->header_count], "%s: %s%s", name, before, value) < 0) {
        p->headers[p->header_count] = NULL;
        return error_set(err, -ENOMEM, "out of memory");
    }
    p->header_count++;
    return 0;
}

static int peer_copy(const char *text, char **ret, struct error *err)
{
    *ret = text[0] ? strdup(text) : NULL;
    return text[0] && !*ret ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int fill(struct http_peer *p, const struct http_peer_settings *s, struct error *err)
{
    int rc = add_header(p, s, "Authorization", "Bearer ", s->token, err);
    rc = rc ? rc : add_header(p, s, "X-Scope-OrgID", "", s->tenant, err); /* for Mimir, Cortex and Thanos receivers */
    for (size_t i = 0; rc == 0 && i < s->headers->count; i++)
        rc = add_header(p, s, s->headers->pairs[i].key, "", s->headers->pairs[i].value, err);
    rc = rc ? rc : peer_copy(s->ca, &p->ca, err);
    rc = rc ? rc : peer_copy(s->certificate, &p->certificate, err);
    return rc ? rc : peer_copy(s->key, &p->key, err);
}

struct http_peer *http_peer_new(const struct http_peer_settings *settings, struct error *err)
{
    if (check(settings, err) < 0)
        return NULL;
    struct http_peer *p = calloc(1, sizeof *p);
    if (!p)
        error_set(err, -ENOMEM, "out of memory");
    if (p && fill(p, settings, err) == 0)
        return p;
    http_peer_free(p);
    return NULL;
}

void http_peer_free(struct http_peer *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->header_count; i++)
        free(p->headers[i]);
    free(p->ca);
    free(p->certificate);
    free(p->key);
    free(p);
}

void http_peer_apply(const struct http_peer *p, struct http_request *request)
{
    request->ca_file = p->ca;
    request->certificate_file = p->certificate;
    request->key_file = p->key;
}
