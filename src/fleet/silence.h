/* SPDX-License-Identifier: Apache-2.0
 * Which hosts were there and are not, from a database that answers PromQL: pushed ones have no `up`, and a scraped one has no name
 * once it is down.
 */
#pragma once

#include "fleet/fleet.h"
#include "fleet/vector.h"

struct seen_host {
    char host[HOST_NAME_SIZE], instance[HOST_NAME_SIZE];
    bool unnamed; /* it has no label `host` */
};
struct seen_list {
    struct seen_host *list;
    size_t count, capacity;
};
struct fleet_silence {
    struct seen_list here, stale; /* those that a database shows; of these, those that should have said more by now */
    struct seen_list seen, down;  /* within a week; targets that do not answer */
};
void silence_done(struct fleet_silence *s);

enum { SILENCE_DAYS = 7 };
/* Where `host` is not set, the target's address has to do. */
const char *silence_host_of(const struct vector_row *row);
int seen_add(struct seen_list *l, const struct vector_row *row); /* 0 or -ENOMEM */
/* After the last row, first: what a database still shows of hosts that have fallen silent is not of now. 0 or -ENOMEM. */
int silence_drop(struct fleet_silence *s, struct fleet *f);
/* Then: those that are silent become notes, and the database is asked since when. 0 or -ENOMEM. */
int silence_find(const struct fleet_place *place, struct fleet_silence *s, struct fleet *f);
