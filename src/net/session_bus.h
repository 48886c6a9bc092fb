/* SPDX-License-Identifier: Apache-2.0
 * The desktop session's D-Bus through libsystemd's sd-bus, loaded lazily.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

/* sd_bus_error of sd-bus.h: part of the ABI. */
struct bus_error {
    const char *name, *message;
    int need_free;
};

/* Our own declarations of the few functions we use. */
struct session_bus {
    void *connection; /* NULL: not connected */
    int (*open_user)(void **bus);
    void *(*flush_close_unref)(void *bus);
    int (*set_timeout)(void *bus, uint64_t usec);
    int (*call)(void *bus, const char *to, const char *path, const char *interface, const char *member, struct bus_error *error,
                void **reply, const char *types, ...);
    int (*get_property)(void *bus, const char *to, const char *path, const char *interface, const char *member,
                        struct bus_error *error, char type, void *ret);
    int (*match_signal)(void *bus, void **slot, const char *sender, const char *path, const char *interface, const char *member,
                        int (*callback)(void *, void *, struct bus_error *), void *user);
    int (*process)(void *bus, void **message);
    int (*get_fd)(void *bus);
    int (*read)(void *message, const char *types, ...);
    int (*enter)(void *message, char type, const char *contents);
    void *(*unref)(void *message);
    void *(*slot_unref)(void *slot);
    void (*error_free)(struct bus_error *error);
};

/* False: no libsystemd, or one without these functions. */
bool session_bus_load(struct session_bus *b, const struct env *env);
/* False: no user session is reachable. */
bool session_bus_connect(struct session_bus *b, uint64_t call_timeout_us);
void session_bus_disconnect(struct session_bus *b);
