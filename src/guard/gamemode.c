/* SPDX-License-Identifier: Apache-2.0
 * Asks GameMode over the session bus.
 */
#include "guard/gamemode.h"

#include <stdlib.h>

#include "net/session_bus.h"

#define CALL_TIMEOUT_US 300000
enum { LOOKS_BETWEEN_TRIES = 12 }; /* a minute at the default interval */

struct gamemode {
    struct session_bus bus;
    unsigned bus_less; /* looks without a bus */
};

struct gamemode *gamemode_open(const struct env *env)
{
    struct gamemode *g = calloc(1, sizeof *g);
    if (g && !env_is_recorded(env) && session_bus_load(&g->bus, env)) {
        session_bus_connect(&g->bus, CALL_TIMEOUT_US);
        return g;
    }
    free(g);
    return NULL;
}

void gamemode_close(struct gamemode *g)
{
    if (g)
        session_bus_disconnect(&g->bus);
    free(g);
}

bool gamemode_active(struct gamemode *g)
{
    if (!g)
        return false;
    struct session_bus *b = &g->bus;
    /* A guard may start before the session bus, and outlive it. */
    if (!b->connection && ++g->bus_less % LOOKS_BETWEEN_TRIES == 0)
        session_bus_connect(b, CALL_TIMEOUT_US);
    if (!b->connection)
        return false;
    /* Calling GameMode itself would start it. */
    void *reply = NULL;
    int owned = 0, clients = 0;
    int rc = b->call(b->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", NULL,
                     &reply, "s", "com.feralinteractive.GameMode");
    if (rc < 0) {
        session_bus_disconnect(b); /* the session ended */
        return false;
    }
    b->read(reply, "b", &owned);
    b->unref(reply);
    return owned &&
           b->get_property(b->connection, "com.feralinteractive.GameMode", "/com/feralinteractive/GameMode",
                           "com.feralinteractive.GameMode", "ClientCount", NULL, 'i', &clients) >= 0 &&
           clients > 0;
}
