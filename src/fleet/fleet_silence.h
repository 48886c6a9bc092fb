/* SPDX-License-Identifier: Apache-2.0
 * Hosts of a PromQL database by the sums they export, which is enough for a table of hosts, and those that were up and are gone:
 * those that push have no `up`, and a scraped one has no name once it is down. A host is its machine, where that is known: one with
 * another name, or another one under its name, was the same host unless both were there at once.
 */
#pragma once

#include "fleet/fleet.h"
#include "fleet/promql.h"

struct seen_host {
    char host[HOST_NAME_SIZE], instance[HOST_NAME_SIZE], machine[FLEET_MACHINE_SIZE];
    bool unnamed; /* it has no label `host` */
};
struct seen_list {
    struct seen_host *list;
    size_t count, capacity;
};
struct fleet_silence {
    struct seen_list here, stale; /* hosts that a database shows; those of them that are overdue */
    struct seen_list seen, down;  /* within a week; targets that are down */
};
void silence_done(struct fleet_silence *s);

enum { SILENCE_DAYS = 7 };
/* Falls back to the target's address if `host` is not set. */
const char *silence_host_of(const struct vector_row *row);
/* By which a host is reached. */
uint32_t silence_route(const char *instance);
int seen_add(struct seen_list *l, const struct vector_row *row); /* 0 or -ENOMEM */
/* First step after the last row: drops data of hosts that fell silent, which the database still shows. 0 or -ENOMEM. */
int silence_drop(struct fleet_silence *s, struct fleet *f);
/* Second step: turns silent hosts into notes, and queries since when, and what they said last. 0 or -ENOMEM. */
int silence_find(const struct fleet_place *place, struct fleet_silence *s, struct fleet *f);

int sums_take(struct fleet *f,
              const struct vector_row
                  *row); /* After the last row. -EAGAIN: a host exports none, or two hosts share a name; query all GPUs. */
int sums_settle(struct fleet *f, const struct fleet_silence *s);
