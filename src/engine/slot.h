/* SPDX-License-Identifier: Apache-2.0
 * A chosen source as the coordinator sees it: its worker, state, failures, and last result.
 */
#pragma once

#include "engine/breaker.h"
#include "engine/worker.h"

struct slot {
    const struct source_ops *ops;
    char params[640];
    bool by_name; /* requested with --source, not just as a fallback */
    struct worker *worker;
    struct source_status status;
    struct breaker breaker;
    bool busy;
    bool describing; /* its current job */
    bool open;
    struct mono asked;
    struct result *result; /* for the round in progress; NULL: none */
    struct driver_info driver;
    struct host host; /* of a source that describes its own */
    unsigned known;
    bool presence_known; /* of the cards, when it was last suspended or checked */
    uint64_t presence;
};

/* "NAME[:PARAMETERS]" each; none: the automatic ones. Returns their number, or -EINVAL with a sentence. */
int slots_choose(struct slot *slots, size_t max, const char *const *names, size_t count, struct error *err);

/* Whether it may be asked now. A fallback waits until its primary is known not to work. */
bool slot_wanted(const struct slot *slots, size_t count, size_t which, struct mono now);

/* While the source is suspended, checks whether cards came or went: then it may be asked at once. */
void slot_look(struct slot *s, const struct env *env, struct mono now);

/* Applies the worker's result: state, counters, driver; keeps the result. */
void slot_answered(struct slot *s, struct result *r, struct mono now);
/* On the first timeout and again with each sample, so that the reported time is current. */
void slot_hung(struct slot *s, struct mono now);
