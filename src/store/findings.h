/* SPDX-License-Identifier: Apache-2.0
 * Past findings.
 */
#pragma once

#include "model/finding.h"
#include "store/query.h"

/* An episode of a finding: from the first sample that had it to the last. Sums and means cover only its samples. */
struct store_finding {
    int64_t id, gpu_id, process_id; /* 0: about the host, about no process */
    char host[HOST_NAME_SIZE];
    int gpu_index; /* -1: about the host */
    int32_t pid;   /* 0: about no process */
    finding_code code;
    enum severity severity, severity_now; /* at its worst; in its last sample */
    double confidence;                    /* at its worst */
    struct wall since;                    /* as the finding states: may predate the history */
    struct wall first_seen, last_seen, worst_at;
    bool ended; /* false: the newest sample, or one just before it, had the finding */
    char headline[FINDING_HEADLINE_SIZE];
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_NAME_SIZE];
    int64_t samples;
    struct reading util_permille, power_mw, temp_max_mdegc; /* mean, mean, highest */
};

struct store_finding_page {
    const char *host; /* NULL: all */
    int64_t gpu_id;   /* 0: all, including those of no GPU */
    int64_t since_ms, until_ms;
    enum severity least;
    int64_t cursor; /* episodes after this one; 0: from the first */
    size_t limit;
};

typedef int store_finding_fn(void *user, const struct store_finding *finding);
/* Episodes that overlap the time range, in the order of their beginnings. Skips codes of a later version. */
int store_findings(struct store *s, const struct store_finding_page *page, store_finding_fn *each, void *user, struct error *err);
