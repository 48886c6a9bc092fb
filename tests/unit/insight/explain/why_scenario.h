/* SPDX-License-Identifier: Apache-2.0
 * Reads a scenario file (tests/golden/why/README.md) and builds the machine that it describes, whole or with lines taken away.
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "model/recent.h"
#include "model/snapshot.h"

enum { SCENARIO_LINES = 256, SCENARIO_BLOCKS = 12, SCENARIO_EXPECTATIONS = 24, SCENARIO_PATH = 192 };

struct scenario_block {
    struct str without; /* "A, B"; empty for `expect` */
    size_t count;
    struct str lines[SCENARIO_EXPECTATIONS];
};

struct scenario {
    char *text;
    struct str title;
    enum { SCENARIO_EXPLAINED, SCENARIO_CALM, SCENARIO_UNKNOWN } kind;
    size_t setup_count;
    struct str setup[SCENARIO_LINES];
    size_t block_count; /* the first is `expect` */
    struct scenario_block blocks[SCENARIO_BLOCKS];
};

struct scenario_machine {
    struct snapshot *now;
    bool has_past;
    struct recent past;
    struct baselines *usual; /* NULL: no line says so */
};

/* What an absent reading carries: no output may ever show it. */
enum { SCENARIO_NONSENSE = 987654321 };

/* Both print what is wrong to stderr and return false. */
bool scenario_read(struct scenario *s, const char *path);
bool scenario_build(const struct scenario *s, struct str without, struct scenario_machine *ret);
void scenario_machine_done(struct scenario_machine *m);
void scenario_done(struct scenario *s);
