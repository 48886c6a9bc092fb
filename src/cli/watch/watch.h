/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr watch`.
 */
#pragma once

#include <sys/resource.h>

#include "cli/command.h"
#include "host/evidence/address_samples.h"
#include "insight/view/course.h"

/* One program from start to end. */
struct watched {
    const char *const *argv;
    size_t argc;
    int status; /* from waitpid() */
    struct wall started_at;
    double seconds, cpu_s;
    int64_t interval_ms;
    struct run_usage usage;
    double price_per_kwh; /* 0: unknown */
    const char *currency;
    bool blind; /* sampling was not possible; see `problem` */
    char problem[512];
    char cpu_time[ADDRESS_WORDS]; /* where it spent its CPU time while its host side limited it; "": it did not */
};

void watch_text(struct buf *out, const struct page *page, const struct watched *w);
void watch_json(struct buf *out, const struct watched *w);
