/* SPDX-License-Identifier: Apache-2.0
 * GameMode's count of clients, over the session bus. libsystemd is loaded late; without it or without a bus there is no signal.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "guard/keeper.h"

#define CALL_TIMEOUT_US 300000
enum { LOOKS_BETWEEN_TRIES = 12 }; /* a minute at the usual interval */

/* Our own declarations of the few functions that are used. */
struct gamemode {
    void *bus;         /* NULL: not connected */
    unsigned bus_less; /* looks without a bus */
    int (*open_user)(void **bus);
    void *(*flush_close_unref)(void *bus);
    int (*set_timeout)(void *bus, uint64_t usec);
    int (*call)(void *bus, const char *to, const char *path, const char *interface, const char *member, void *error, void **reply,
                const char *types, ...);
    int (*get_property)(void *bus, const char *to, const char *path, const char *interface, const char *member, void *error,
                        char type, void *ret);
    int (*read)(void *message, const char *types, ...);
    void *(*unref)(void *message);
};

static bool resolve(struct gamemode *g, void *library)
{
    const struct library_symbol symbols[] = {{"sd_bus_open_user", &g->open_user},
                                             {"sd_bus_flush_close_unref", &g->flush_close_unref},
                                             {"sd_bus_set_method_call_timeout", &g->set_timeout},
                                             {"sd_bus_call_method", &g->call},
                                             {"sd_bus_get_property_trivial", &g->get_property},
                                             {"sd_bus_message_read", &g->read},
                                             {"sd_bus_message_unref", &g->unref}};
    return library_symbols(library, symbols, ARRAY_LEN(symbols), NULL) == 0;
}

/* A guard may start before the session's bus does, and outlive it. */
static void connect_bus(struct gamemode *g)
{
    if (g->open_user(&g->bus) < 0)
        g->bus = NULL;
    else
        g->set_timeout(g->bus, CALL_TIMEOUT_US);
}

struct gamemode *gamemode_open(const struct env *env)
{
    struct gamemode *g = calloc(1, sizeof *g);
    void *library = g && !env_is_recorded(env) ? env->load_library(env, "libsystemd.so.0", NULL) : NULL;
    if (library && resolve(g, library)) {
        connect_bus(g);
        return g;
    }
    free(g);
    return NULL;
}

void gamemode_close(struct gamemode *g)
{
    if (g && g->bus)
        g->flush_close_unref(g->bus);
    free(g);
}

bool gamemode_active(struct gamemode *g)
{
    if (!g)
        return false;
    if (!g->bus && ++g->bus_less % LOOKS_BETWEEN_TRIES == 0)
        connect_bus(g);
    if (!g->bus)
        return false;
    /* Asking GameMode itself would start it where it does not run. */
    void *reply = NULL;
    int owned = 0, clients = 0;
    int rc = g->call(g->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", NULL, &reply,
                     "s", "com.feralinteractive.GameMode");
    if (rc < 0) {
        g->bus = g->flush_close_unref(g->bus); /* the session ended */
        return false;
    }
    g->read(reply, "b", &owned);
    g->unref(reply);
    return owned &&
           g->get_property(g->bus, "com.feralinteractive.GameMode", "/com/feralinteractive/GameMode",
                           "com.feralinteractive.GameMode", "ClientCount", NULL, 'i', &clients) >= 0 &&
           clients > 0;
}
