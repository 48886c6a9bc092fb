/* SPDX-License-Identifier: Apache-2.0
 * `whirr db`: which database it uses, and what is in it.
 */
#pragma once

#include "cli/command.h"
#include "config/config.h"
#include "config/places.h"

struct json_t;

/* The database of --store, else the one that the daemon writes to, else that of the settings. */
struct db_choice {
    char url[STORE_PLACE_SIZE];
    const char *by; /* "option", "daemon", "settings", "default" */
    /* The daemon that answered; "": none is running. */
    char daemon[PLACE_SIZE];
    char daemon_place[STORE_PLACE_SIZE];
    struct json_t *health; /* the daemon's report on its database; NULL: none */
};

/* "given with --store", "where the daemon writes", "store.url", "the default". */
const char *db_choice_words(const struct db_choice *c);

/* Prints the contents of the database. */
int db_status(struct cli *cli, const struct config *config, const struct db_choice *choice, struct error *err);
