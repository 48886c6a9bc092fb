/* SPDX-License-Identifier: Apache-2.0
 * The history as a part of the daemon: turns settings into a running service.
 */
#pragma once

#include "config/places.h"
#include "daemon/part.h"

/* The place of the history, while it is in use. */
struct history_place {
    char text[STORE_PLACE_SIZE]; /* an absolute path, or a server without its password; "": none */
    int lock;                    /* one daemon per file; -1: none */
};

struct history_part {
    struct store_service *service; /* NULL: disabled, or not available */
    struct history_place place;
    struct history_memory memory; /* previous places */
    struct damage_look *look;     /* damage check; NULL: none */
};

struct store_limits history_limits(const struct config *config);

/* Call between stopping the engine, which fills it, and the server, which waits for its answers. NULL is fine. */
void history_part_end(struct history_part *p);
