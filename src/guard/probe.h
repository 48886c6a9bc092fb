/* SPDX-License-Identifier: Apache-2.0
 * One round trip of a worker through a method, at a moment that a person chose: off the GPU, verified, and back.
 */
#pragma once

#include "guard/guard.h"

struct probe_result {
    const char *method;
    int32_t pid;
    int64_t bytes;      /* held before */
    int64_t left_bytes; /* held after the eviction; -1 unknown */
    int64_t evict_ms, verify_ms, resume_ms;
    bool freed, resumed;
};

/* Tries the spec's methods in order until one works. -errno with a sentence if none did; the result shows how far it came. Keeps
 * a real journal: a guard of that worker would resume it. */
int guard_probe(const struct guard_options *options, struct guard_spec *spec, struct probe_result *ret, struct error *err);
