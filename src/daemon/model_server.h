/* SPDX-License-Identifier: Apache-2.0
 * Where a model server may be asked for its speed, and what its answers say. Pure functions of text.
 *
 * A question can do harm: foreign bytes on a port of a worker (TCPStore, NCCL) have ended jobs, and some pages wake a model, load
 * it or empty a counter. So only the port that the command line of the server itself names is asked, and only pages without side
 * effects.
 */
#pragma once

#include "base/clock.h"
#include "base/str.h"
#include "model/process.h"
#include "model/reading.h"

enum model_server { SERVER_UNKNOWN, SERVER_VLLM, SERVER_LLAMA_CPP, SERVER_SGLANG };

/* Which server a process on a GPU belongs to, by its name or title. */
enum model_server model_server_of(const struct process *p);

/* The process with this command line is the front of such a server, which answers HTTP without TLS: its port. False for workers,
 * for other programs, and for a llama-server that unloads its model when idle: each look at its slots would wake it or keep it
 * awake. */
bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port);

enum { SLOTS_MAX = 64, RANKS_MAX = 256 };

/* What it has to do, as its last answer says; absent where that does not say it. */
struct server_load {
    struct reading running, waiting; /* requests */
    struct reading kv_permille;      /* how full the cache is; of several, the fullest */
    struct reading preempted_milli;  /* requests that it interrupts a second, in 1/1000 */
};

/* A counter as it was seen last. */
struct server_counter {
    bool seen;
    double value;
    struct mono at;
};

/* What was seen last; zeroed before the first. */
struct server_speed {
    struct server_counter tokens, preempted;
    struct server_load load;
    struct {
        int64_t task, decoded;
    } slots[SLOTS_MAX]; /* of llama.cpp */
};

/* Tokens that it generated a second since the last text, in 1/1000; PENDING for the first, UNSUPPORTED where the text has none that
 * move while a request runs. Counters that move only when it ends would be 0 and then a peak that never was. */
struct reading model_server_speed(struct server_speed *s, struct str metrics, struct mono now);
/* What llama.cpp's /props says: READING_OK where its slots may be looked at, ASLEEP, or UNSUPPORTED for a router of models. */
enum reading_state model_server_awake(struct str props);
/* The speed from llama.cpp's /slots: what each slot has decoded of its task. The end of a task between two looks is missed, so
 * that it is a little less than it was. */
struct reading model_server_slots(struct server_speed *s, struct str slots, struct mono now);
