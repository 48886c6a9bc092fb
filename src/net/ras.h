/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of a job say of each other: NCCL answers questions about its communicators on a local socket (RAS, since 2.24; as
 * JSON since 2.28.7; RCCL the same). Any process of a job answers for all of them, on all hosts. Read only: what is asked for is
 * the status, nothing is set that outlives the connection.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { RAS_PORT = 28028, RAS_MISSING_MAX = 32, RAS_HOST_SIZE = 64, RAS_ANSWER_MAX = 8 << 20 };

/* A rank that did not answer when its communicator was asked. */
struct ras_rank {
    int64_t rank;
    char host[RAS_HOST_SIZE]; /* "" unknown */
    bool dead;                /* unreachable for a minute: the others have given it up */
};

struct ras_report {
    size_t communicators;
    size_t missing_count; /* those beyond RAS_MISSING_MAX are only counted in missing_total */
    struct ras_rank missing[RAS_MISSING_MAX];
    int64_t missing_total;
};

/* A pure function. -EINVAL: it is no such answer. */
int ras_parse(struct str json, struct ras_report *ret);

/* Asks at an address of this host, "127.0.0.1" or "[::1]". `cancel` becomes true: given up. -ENOTSUP: it answers, but not as JSON.
 */
int ras_ask(const char *address, uint16_t port, int64_t timeout_ms, const _Atomic bool *cancel, struct ras_report *ret,
            struct error *err);

/* "localhost:28028" of NCCL_RAS_ADDR: the port alone; false: there is none. */
bool ras_port(struct str address, uint16_t *ret);
