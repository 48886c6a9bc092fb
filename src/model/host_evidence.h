/* SPDX-License-Identifier: Apache-2.0
 * What a program on a GPU was doing on its host over the last looks: threads, children, files, control group. Read by host/evidence
 * for programs that their GPU does not limit; zeroed: nothing is known.
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

enum { EVIDENCE_NAME_SIZE = 32, EVIDENCE_PATH_SIZE = 128, EVIDENCE_PEER_SIZE = 96 };

struct host_evidence {
    enum reading_state state; /* READING_OK: read; else why it could not be read */
    int64_t looks;            /* at its threads: so many make up the shares */
    int64_t over_ms;          /* the time between the first and the last of them; 0: one look, without rates */
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
    char compiler[EVIDENCE_NAME_SIZE];       /* "ptxas", "inductor": a child that makes code for GPUs; "" none */
    char code[EVIDENCE_NAME_SIZE];           /* "libtorch_cpu": the file, other than Python, whose code runs longest; "" unknown */
    char peer[EVIDENCE_PEER_SIZE];  /* "10.0.0.7:5432", "127.0.0.1:6379 (redis, PID 812)", "feeder (PID 813)"; "" unknown */
    char mount[EVIDENCE_PATH_SIZE]; /* where the network file system that it waits for is mounted; "" unknown */
};

struct evidence_meta {
    const char *field, *json_key;
    double json_scale;
    const char *help;
};
extern const struct evidence_meta evidence_table[EVIDENCE_COUNT];
