/* SPDX-License-Identifier: Apache-2.0
 * One chosen source as the coordinator sees it: its worker, its state, its failures, and its last result.
 */
#pragma once

#include "engine/breaker.h"
#include "engine/worker.h"

struct slot {
    const struct source_ops *ops;
    char params[640];
    bool by_name; /* asked for with --source: not only a fallback */
    struct worker *worker;
    struct source_status status;
    struct breaker breaker;
    bool busy;
    bool describing; /* what it is busy with */
    bool open;
    struct mono asked;
    struct result *result; /* of the round that is being collected; NULL: none */
    struct driver_info driver;
    struct host host; /* of a source that has its own */
    unsigned known;
    bool presence_known; /* of the cards, when it was last set aside or looked at */
    uint64_t presence;
};

/* "NAME[:PARAMETERS]" each; none given: the automatic ones. Returns how many, or -EINVAL with a sentence. */
int slots_choose(struct slot *slots, size_t max, const char *const *names, size_t count, struct error *err);

/* May it be asked now? A fallback waits until the source that it stands in for is known not to work. */
bool slot_wanted(const struct slot *slots, size_t count, size_t which, struct mono now);

/* Looks, while the source is set aside, whether cards came or went: then it may be asked at once. */
void slot_look(struct slot *s, const struct env *env, struct mono now);

/* Takes over what the worker said: state, counters, driver; keeps the result. */
void slot_answered(struct slot *s, struct result *r, struct mono now);
/* At first, and again with each sample: how long it has hung is told as it is. */
void slot_hung(struct slot *s, struct mono now);
