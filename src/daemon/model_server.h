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

/* What was seen last; zeroed before the first. */
struct server_speed {
    bool seen;
    double tokens;
    struct mono at;
};

/* Tokens that it generated a second since the last text, in 1/1000; PENDING for the first, UNSUPPORTED where the text has none. */
struct reading model_server_speed(struct server_speed *s, struct str metrics, struct mono now);
