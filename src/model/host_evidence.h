/* SPDX-License-Identifier: Apache-2.0
 * What a GPU program was recently doing on its host: threads, children, files, control group. host/evidence reads it for programs
 * that their GPU doesn't limit; zeroed: unknown.
 */
#pragma once

#include <stdint.h>

#include "model/reading.h"

enum evidence {
#define EVIDENCE(field, ...) EVIDENCE_##field,
#include "model/host_evidence.def"
#undef EVIDENCE
    EVIDENCE_COUNT
};

enum { EVIDENCE_NAME_SIZE = 32, EVIDENCE_PATH_SIZE = 128, EVIDENCE_PEER_SIZE = 96, EVIDENCE_TRACE_SIZE = 192 };

struct host_evidence {
    enum reading_state state; /* READING_OK, or why it couldn't be read */
    int64_t looks;            /* number of looks at its threads: 100 % of the shares */
    int64_t over_ms;          /* from the first to the last look; 0: a single one, no rates */
    union {
        struct {
#define EVIDENCE(field, ...) struct reading field;
#include "model/host_evidence.def"
#undef EVIDENCE
        };
        struct reading metric[EVIDENCE_COUNT];
    };
    char busiest_thread[EVIDENCE_NAME_SIZE]; /* "pt_autograd_0"; "" unknown */
    char busiest_child[EVIDENCE_NAME_SIZE];  /* "pt_data_worker"; "" none */
    char compiler[EVIDENCE_NAME_SIZE];       /* "ptxas", "inductor": a child that compiles GPU code; "" none */
    char code[EVIDENCE_NAME_SIZE];           /* "libtorch_cpu": the file, other than Python's, with the most CPU time; "" unknown */
    char peer[EVIDENCE_PEER_SIZE];        /* "10.0.0.7:5432", "127.0.0.1:6379 (redis, PID 812)", "feeder (PID 813)"; "" unknown */
    char mount[EVIDENCE_PATH_SIZE];       /* mount point of the network file system that it waits for; "" unknown */
    char collective[EVIDENCE_TRACE_SIZE]; /* "rank 3 has not come to all_reduce 4711: its last is 4709"; "": no trace, or nothing in
                                             it */
};

struct evidence_meta {
    const char *field, *json_key;
    double json_scale;
    const char *help;
};
extern const struct evidence_meta evidence_table[EVIDENCE_COUNT];
