/* SPDX-License-Identifier: Apache-2.0
 * The table of addresses.
 */
#include "http/peers.h"

#include <stdlib.h>
#include <string.h>

struct peer_id peer_id_of_address(const struct in6_addr *address)
{
    struct peer_id id = {0};
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        id.bytes[0] = 4;
        memcpy(id.bytes + 1, &address->s6_addr[12], 4);
    } else {
        id.bytes[0] = 6;
        memcpy(id.bytes + 1, address->s6_addr, 8);
    }
    return id;
}

struct peer_id peer_id_of_user(uid_t user)
{
    struct peer_id id = {{'u'}};
    memcpy(id.bytes + 1, &user, sizeof user);
    return id;
}

uint64_t peer_number(const struct peer_id *id)
{
    uint64_t number = 0;
    memcpy(&number, id->bytes + 1, sizeof number);
    number ^= (uint64_t)id->bytes[0] << 56 ^ UINT64_C(1) << 63;
    return number ? number : 1;
}

static size_t peers_bucket_of(const struct peer_id *id)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < PEER_ID_SIZE; i++)
        hash = (hash ^ id->bytes[i]) * 16777619u;
    return hash % PEER_BUCKETS;
}

const struct peer *peers_find(const struct peers *p, const struct peer_id *id)
{
    for (const struct peer *peer = p->buckets[peers_bucket_of(id)]; peer; peer = peer->next)
        if (memcmp(&peer->id, id, sizeof *id) == 0)
            return peer;
    return NULL;
}

struct peer *peers_enter(struct peers *p, const struct peer_id *id)
{
    struct peer *peer = (struct peer *)peers_find(p, id);
    if (!peer) {
        peer = calloc(1, sizeof *peer);
        if (!peer)
            return NULL;
        peer->id = *id;
        peer->next = p->buckets[peers_bucket_of(id)];
        p->buckets[peers_bucket_of(id)] = peer;
    }
    peer->uses++;
    return peer;
}

void peers_leave(struct peers *p, struct peer *peer)
{
    if (--peer->uses)
        return;
    struct peer **at = &p->buckets[peers_bucket_of(&peer->id)];
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
}
