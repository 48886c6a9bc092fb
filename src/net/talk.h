/* SPDX-License-Identifier: Apache-2.0
 * A conversation with a server, mostly on this host's loopback: bytes in both directions within a time limit, aborted when the
 * program ends. For frequent queries: loads no library.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"

struct talk {
    int fd;
    struct mono until;
    const _Atomic bool *cancel; /* may be NULL */
};

/* address: "127.0.0.1" or another numeric IPv4 address, or "[::1]". -errno; call talk_close in any case. */
int talk_open(struct talk *t, const char *address, uint16_t port, int64_t within_ms, const _Atomic bool *cancel);
void talk_close(struct talk *t);
int talk_say(const struct talk *t, const char *text);
/* Number of bytes received, 0 at the end, or -errno. */
ssize_t talk_hear(const struct talk *t, char *to, size_t size);

/* GET /path, with one extra header ("Name: value") or NULL: returns the status and appends the body; or -errno: -EFBIG if longer
 * than body->max, -EPROTO if not HTTP. */
int talk_get(const char *address, uint16_t port, const char *path, const char *header, int64_t within_ms,
             const _Atomic bool *cancel, struct buf *body);
