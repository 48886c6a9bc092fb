/* SPDX-License-Identifier: Apache-2.0
 * Views that somebody else made of our tables, in PostgreSQL. They hold on to a table, whatever it is called: when another one
 * takes its place, they are made again, with the same text, owner, rights and options.
 */
#pragma once

#include "base/buf.h"
#include "store/db/db.h"

/* Texts, each behind the name of its view, each ending with a 0. */
struct others {
    struct buf texts;
};

/* Before tables change. -EEXIST: there is one that can't be made again; err says which, and what to do. */
int others_note(struct db *db, struct others *ret, struct error *err);
/* When the new tables are there. -EEXIST as above. */
int others_restore(struct db *db, const struct others *others, struct error *err);
void others_done(struct others *others);
