/* SPDX-License-Identifier: Apache-2.0
 * The table of sessions.
 */
#include "http/site.h"

#include <string.h>
#include <sys/random.h>

bool sessions_open(struct sessions *s, const uint8_t token[SHA256_SIZE], int64_t now_ms, char id[SESSION_ID_SIZE])
{
    uint8_t random[(SESSION_ID_SIZE - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    struct session_slot *place = &s->slots[0];
    for (int i = 1; i < SESSIONS_MAX; i++)
        if (s->slots[i].until_ms < place->until_ms)
            place = &s->slots[i];
    hex_encode(random, sizeof random, id);
    sha256(str_from(id), place->id);
    memcpy(place->token, token, SHA256_SIZE);
    place->until_ms = now_ms + SESSION_SECONDS * 1000LL;
    return true;
}

static struct session_slot *http_sessions_find(const struct sessions *s, const uint8_t id[SHA256_SIZE])
{
    const struct session_slot *found = NULL;
    for (int i = 0; i < SESSIONS_MAX; i++) /* check all of them: constant time */
        if (digest_equal(id, s->slots[i].id, SHA256_SIZE))
            found = &s->slots[i];
    return (struct session_slot *)found;
}

const uint8_t *sessions_find(const struct sessions *s, const uint8_t id[SHA256_SIZE], int64_t now_ms)
{
    const struct session_slot *slot = http_sessions_find(s, id);
    return slot && slot->until_ms > now_ms ? slot->token : NULL;
}

void sessions_close(struct sessions *s, const uint8_t id[SHA256_SIZE])
{
    struct session_slot *slot = http_sessions_find(s, id);
    if (slot)
        *slot = (struct session_slot){0};
}
