/* SPDX-License-Identifier: Apache-2.0
 * What a model server says of its speed in its own metrics. Pure functions of text.
 */
#pragma once

#include "base/clock.h"
#include "base/str.h"
#include "model/process.h"
#include "model/reading.h"

enum model_server { SERVER_UNKNOWN, SERVER_VLLM, SERVER_LLAMA_CPP, SERVER_SGLANG };

/* Which server a process on a GPU belongs to, by its name or title. */
enum model_server model_server_of(const struct process *p);

enum { SLOTS_MAX = 64 };

/* What was seen last; zeroed before the first. */
struct server_speed {
    bool seen;
    double tokens;
    struct mono at;
    struct {
        int64_t task, decoded;
    } slots[SLOTS_MAX]; /* of llama.cpp */
};

/* Tokens that it generated a second since the last text, in 1/1000; PENDING for the first, UNSUPPORTED where the text has none. */
struct reading model_server_speed(struct server_speed *s, struct str metrics, struct mono now);
/* The same from llama.cpp's /slots, which it has without --metrics: what each slot has decoded of its task. The end of a task
 * between two looks is missed, so that it is a little less than it was. */
struct reading model_server_slots(struct server_speed *s, struct str slots, struct mono now);
