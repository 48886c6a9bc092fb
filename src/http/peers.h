/* SPDX-License-Identifier: Apache-2.0
 * Peers by address: how many connections and Socket.IO sessions each has, so that none can take all places. An address is an IPv4
 * address, an IPv6 /64 network (a host with one of its addresses has them all), or a user on a Unix socket.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_BUCKETS = 1024, PEER_ID_SIZE = 9 };

struct peer_id {
    uint8_t bytes[PEER_ID_SIZE]; /* the kind, and the identifying bytes */
};

struct eio_session;

struct peer {
    struct peer *next; /* in its hash bucket */
    struct peer_id id;
    size_t uses; /* connections plus sessions; dropped at 0 */
    size_t connections;
    size_t downloads;
    size_t polling;                                      /* Socket.IO sessions without a connection */
    struct eio_session *oldest_session, *newest_session; /* their list */
};

struct peers {
    struct peer *buckets[PEER_BUCKETS];
};

struct peer_id peer_id_of_address(const struct in6_addr *address); /* IPv4 as mapped */
struct peer_id peer_id_of_user(uid_t user);

/* Unique per peer, never 0. */
uint64_t peer_number(const struct peer_id *id);

/* Counts one more use; NULL: out of memory. */
struct peer *peers_enter(struct peers *p, const struct peer_id *id);
void peers_leave(struct peers *p, struct peer *peer);
/* NULL: no connection from that address. */
const struct peer *peers_find(const struct peers *p, const struct peer_id *id);
