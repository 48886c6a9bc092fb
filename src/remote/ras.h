/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of a job report about each other: NCCL answers questions about its communicators on a local socket (RAS, since
 * 2.24; as JSON since 2.28.7; RCCL likewise). Any process of a job answers for all of them, on all hosts. Read only: asks for the
 * status and sets nothing that outlives the connection.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { RAS_PORT = 28028, RAS_MISSING_MAX = 32, RAS_HOST_SIZE = 64, RAS_ANSWER_MAX = 8 << 20 };

/* A rank that didn't answer a query of its communicator. */
struct ras_rank {
    int64_t rank;
    char host[RAS_HOST_SIZE]; /* "" unknown */
    bool dead;                /* unreachable for a minute: the others gave up on it */
};

struct ras_report {
    size_t communicators;
    size_t missing_count; /* missing_total also counts those beyond RAS_MISSING_MAX */
    struct ras_rank missing[RAS_MISSING_MAX];
    int64_t missing_total;
};

/* A pure function. -EINVAL: not such an answer. */
int ras_parse(struct str json, struct ras_report *ret);

/* Asks at an address of this host, "127.0.0.1" or "[::1]". Aborts when `cancel` becomes true. -ENOTSUP: it answers, but not in
 * JSON. */
int ras_ask(const char *address, uint16_t port, int64_t timeout_ms, const _Atomic bool *cancel, struct ras_report *ret,
            struct error *err);

/* The port of NCCL_RAS_ADDR, "localhost:28028"; false: none. */
bool ras_port(struct str address, uint16_t *ret);
