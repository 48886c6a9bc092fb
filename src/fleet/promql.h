/* SPDX-License-Identifier: Apache-2.0
 * The fleet in a PromQL database: rows of its answers, the sums that hosts export, and hosts that fell silent.
 */
#pragma once

#include "base/buf.h"
#include "fleet/fleet.h"

/* ---- an answer about one moment: rows of labels and a value ---- */

enum { VECTOR_LABELS = 64 }; /* more in a row are ignored */

struct vector_row {
    struct {
        const char *name, *value;
    } labels[VECTOR_LABELS];
    size_t label_count;
    double value;
    struct str at; /* its time, as text */
};

/* Returns 0 to continue; anything else stops, and vector_read returns it. */
typedef int vector_row_fn(void *user, const struct vector_row *row);

/* Parses in place, which consumes the answer. Skips rows whose value is NaN. 0, or -EBADMSG if it is malformed, possibly after
 * some rows. */
int vector_read(struct buf *answer, vector_row_fn *each, void *user);

/* The same for an answer of /api/v1/series: rows without a value. */
int vector_read_series(struct buf *answer, vector_row_fn *each, void *user);

/* "": no such label. */
const char *vector_label(const struct vector_row *row, const char *name);

/* The host that a row is about: its target's address if it has no label `host`. */
const char *vector_host(const struct vector_row *row);
/* Identifies the way by which a host is reached. */
uint32_t instance_route(const char *instance);

/* ---- hosts that were up and are gone (fleet_silence.c): those that push have no `up`, and a scraped one has no name once it is
 * down. A host is its machine, where that is known: one with another name, or another one under its name, was the same host unless
 * both were there at once. ---- */

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
int seen_add(struct seen_list *l, const struct vector_row *row); /* 0 or -ENOMEM */
/* First step after the last row: drops data of hosts that fell silent, which the database still shows. 0 or -ENOMEM. */
int silence_drop(struct fleet_silence *s, struct fleet *f);
/* Second step: turns silent hosts into notes, and queries since when, and what they said last. 0 or -ENOMEM. */
int silence_find(const struct fleet_place *place, struct fleet_silence *s, struct fleet *f);

/* ---- the sums that hosts export, which are enough for a table of hosts ---- */

int sums_take(struct fleet *f, const struct vector_row *row); /* 0 or -ENOMEM */
/* After the last row. -EAGAIN: a host exports none, or two hosts share a name; query all GPUs. */
int sums_settle(struct fleet *f, const struct fleet_silence *s);
