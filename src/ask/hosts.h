/* SPDX-License-Identifier: Apache-2.0
 * Other hosts: the target of --host, either an address or the name of a [hosts.NAME] table.
 *
 *   gpu2, gpu2:9447, https://gpu2     HTTPS with the daemon's own certificate and token (loopback: plain HTTP)
 *   http://gpu2                       without TLS, as requested
 *   ssh://[USER@]gpu2[:PORT][/SOCKET] through a new tunnel
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"

enum { HOST_PORT = 9447, HOSTS_MAX = 64 };

enum host_transport { HOST_BY_HTTP, HOST_BY_HTTPS, HOST_BY_SSH };

struct host_place {
    char name[128]; /* as typed; used in messages and headings */
    enum host_transport by;
    char user[64];      /* ssh: "": its default */
    char address[256];  /* a name or IP address, without brackets */
    int port;           /* ssh: 0: its default */
    char socket[108];   /* ssh: the remote daemon's socket; "": the usual places */
    const char *token;  /* "": none; these two belong to the configuration */
    const char *ca;     /* "": the system's certificates */
    int64_t timeout_ms; /* for one answer */
    bool configured;    /* from a [hosts.NAME] table */
};

/* -EINVAL: not an address; -EPERM: others can read the token. */
int host_place_read(const char *given, const struct config *config, struct host_place *ret, struct error *err);
/* "https://gpu2:9447", "ssh://gpu2" */
void host_place_text(const struct host_place *place, char *text, size_t size);
