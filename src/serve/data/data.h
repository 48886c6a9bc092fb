/* SPDX-License-Identifier: Apache-2.0
 * The server's data: the newest snapshot, and the bodies made from it. Each body is made at most once per snapshot, on first
 * request, and shared by all requests.
 *
 *   engine ──periodic──▶ latest, on_periodic() ──▶ broadcast
 *          ──fresh─────▶ latest, on_fresh()    ──▶ waiting requests
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/engine.h"
#include "format/prometheus/prometheus.h"
#include "http/blob.h"
#include "http/loop.h"
#include "insight/view/idle_audit.h"

struct why;

enum body_kind {
    BODY_DEVICES,
    BODY_DRIVER,
    BODY_SUMMARY,
    BODY_METRICS,
    BODY_STATS,
    BODY_RESOURCES,
    BODY_PROCESSES,
    BODY_WHY,
    BODY_PROMETHEUS,
    BODY_OPENMETRICS,
    BODY_PAGE,
    BODY_DASHBOARD,
    BODY_SNAPSHOT, /* for commands on this host */
    BODY_COUNT,
};

struct server_parts;

/* How long a request waits for a fresh sample before it gets the latest. */
enum { FRESH_WAIT_MS = 500 };

#define DATA_STARTING "whirr is starting: the first sample has not arrived yet."

struct data {
    struct engine *engine;
    struct mailbox *periodic_box, *fresh_box;
    struct watch *periodic_watch, *fresh_watch;
    const struct snapshot *latest;       /* the newest of all, behind every response; empty before the first sample */
    const struct snapshot *periodic;     /* the newest periodic one; NULL before the first */
    const struct idle_facts *idle_facts; /* the GPUs' surroundings; borrowed; NULL: not examined */
    size_t idle_facts_count;
    const struct effects *effects; /* measured steps; borrowed; NULL: none */
    struct why *why;               /* about `latest`; created on first use */
    struct blob *bodies[BODY_COUNT];
    struct mono series_written; /* when the Prometheus series were written */
    bool asked;                 /* a fresh sample is on its way */
    bool has_sample;
    bool fleet;                               /* the dashboard links to all hosts */
    const char *dashboard;                    /* version of its files; NULL: this build has none */
    const struct server_parts *parts;         /* their series are part of the metrics; NULL: none */
    const struct prometheus_options *metrics; /* options of the metrics; NULL: the defaults */
    void *owner;
    void (*on_periodic)(void *owner);                 /* data->periodic is new */
    void (*on_fresh)(void *owner);                    /* data->latest may be new */
    void (*add_series)(void *owner, struct buf *out); /* the server's own series for Prometheus; NULL: none */
};

int data_init(struct data *d, struct loop *loop, struct engine *engine, struct error *err);
void data_done(struct data *d);

/* Whether `latest` has the groups and is fresh enough; otherwise requests a sample, and on_fresh() follows. */
bool data_is_fresh(struct data *d, unsigned groups, int64_t max_age_ms);
/* Always takes a new sample: something has changed. */
void data_refresh(struct data *d);
int64_t data_age_ms(const struct data *d);

/* Discards the explanation, and all bodies with it: the judge has learned something new. */
void data_forget_why(struct data *d);
/* Surroundings of the GPUs, in the order of a snapshot of `count`; borrowed until the next call. */
void data_set_effects(struct data *d, const struct effects *effects);
void data_set_idle_facts(struct data *d, const struct idle_facts *idle_facts, size_t count);

/* Borrowed; NULL only if out of memory. */
struct blob *data_body(struct data *d, enum body_kind kind);
/* The explanation of `latest`; NULL if out of memory. Borrowed. */
const struct why *data_why(struct data *d);
