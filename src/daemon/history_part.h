/* SPDX-License-Identifier: Apache-2.0
 * The history as a part of the daemon: from settings to a running service.
 */
#pragma once

#include "config/places.h"
#include "daemon/part.h"

/* Where it is kept, for as long as it is. */
struct history_place {
    char text[STORE_PLACE_SIZE]; /* an absolute path, or a server without its password; "": nowhere */
    int lock;                    /* one daemon a file; -1: none */
};

struct history_part {
    struct store_service *service; /* NULL: the settings want none, or it cannot be had */
    struct history_place place;
    struct history_memory memory; /* where it was before */
    struct damage_look *look;     /* for damage; NULL: none */
};

struct store_limits history_limits(const struct config *config);

/* Between the engine, which fills it, and the server, which waits for its answers. NULL is fine. */
void history_part_end(struct history_part *p);
