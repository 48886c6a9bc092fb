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

/* `to_act`: to change the database, asks only this user's own daemon: another user's database must be named to be changed. */
int db_choose(const struct cli *cli, bool to_act, struct db_choice *ret, struct error *err);
void db_choice_done(struct db_choice *c);
/* "given with --store", "where the daemon writes", "store.url", "the default". */
const char *db_choice_words(const struct db_choice *c);

/* The context of a subcommand. */
struct db_job {
    struct cli *cli;
    const struct config *config;
    struct db_choice choice;
    const char *url;
    char place[STORE_PLACE_SIZE]; /* the URL without its password, for display */
};

extern const struct answer db_head_answer; /* of a struct db_job: `place` */

/* Prints an error and how to solve it. */
int db_failed(const struct db_job *job, int rc, const struct error *err);

int db_copy(struct db_job *job);
int db_backup(struct db_job *job);
int db_restore(struct db_job *job);

/* Prints the contents of the database. */
int db_status(struct cli *cli, const struct config *config, const struct db_choice *choice, struct error *err);
