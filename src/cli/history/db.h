/* SPDX-License-Identifier: Apache-2.0
 * `whirr db`: which database is meant, and what is in it.
 */
#pragma once

#include "cli/command.h"
#include "config/config.h"
#include "config/places.h"

struct json_t;

/* The database that --store names; else the one that the daemon writes into; else that of the settings. */
struct db_choice {
    char url[STORE_PLACE_SIZE];
    const char *by; /* "option", "daemon", "settings", "default" */
    /* Of the daemon that was asked; "": none is running. */
    char daemon[PLACE_SIZE];
    char daemon_place[STORE_PLACE_SIZE];
    struct json_t *health; /* what it says of its store; NULL: nothing */
};

/* To act, only the daemon of this user is asked: another's database is never changed unless it was named. */
int db_choose(const struct cli *cli, bool to_act, struct db_choice *ret, struct error *err);
void db_choice_done(struct db_choice *c);
/* "the daemon's at /run/whirr/whirr.sock", "named by --store", ... */
const char *db_choice_words(const struct db_choice *c);

/* Prints it. */
int db_status(struct cli *cli, const struct config *config, const struct db_choice *choice, struct error *err);
