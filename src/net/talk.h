/* SPDX-License-Identifier: Apache-2.0
 * A conversation with a server, mostly on this host's loopback: bytes to it and from it, all of it within a time, and given up when
 * the program ends. For those who ask often: no library is loaded.
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

/* address: "127.0.0.1" or another of IPv4 in numbers, "[::1]". -errno; to be closed in any case. */
int talk_open(struct talk *t, const char *address, uint16_t port, int64_t within_ms, const _Atomic bool *cancel);
void talk_close(struct talk *t);
int talk_say(const struct talk *t, const char *text);
/* How many bytes came, 0 at the end, or -errno. */
ssize_t talk_hear(const struct talk *t, char *to, size_t size);

/* GET /path, with one more header ("Name: value") or NULL: the status, with the body behind what `body` has; or -errno: -EFBIG
 * where it is longer than that may be, -EPROTO where it is not HTTP. */
int talk_get(const char *address, uint16_t port, const char *path, const char *header, int64_t within_ms,
             const _Atomic bool *cancel, struct buf *body);
