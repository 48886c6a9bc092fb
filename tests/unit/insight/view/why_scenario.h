/* SPDX-License-Identifier: Apache-2.0
 * Reads a scenario file (tests/golden/why/README.md) and builds the machine that it describes, whole or with lines taken away.
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "model/recent.h"
#include "model/snapshot.h"

enum {
    SCENARIO_LINES = 1024,
    SCENARIO_BLOCKS = 12,
    SCENARIO_EXPECTATIONS = 24,
    SCENARIO_PATH = 192,
    SCENARIO_COURSES = 32,
    SCENARIO_LOGS = 8
};

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

/* What a story (tests/golden/verdict) tells of the minutes before: `was` and `log` lines. */
struct scenario_course {
    size_t gpu;  /* its position */
    int32_t pid; /* of the process that it is about; 0: the GPU */
    int64_t from_ms, to_ms, step_ms;
    struct str facts;
};
struct scenario_log {
    int64_t ago_ms;
    struct str text;
};

struct scenario_machine {
    struct snapshot *now;
    size_t course_count, log_count;
    struct scenario_course courses[SCENARIO_COURSES];
    struct scenario_log logs[SCENARIO_LOGS];
    bool quick;
    bool has_past;
    struct recent past;
    struct baselines *usual; /* NULL: no line says so */
};

/* What an absent reading carries: no output may ever show it. */
enum { SCENARIO_NONSENSE = 987654321 };

/* Both print what is wrong to stderr and return false. */
bool scenario_read(struct scenario *s, const char *path);
bool scenario_parse(struct scenario *s, char *text, const char *name); /* takes `text`, which is malloc'ed */
/* "98", "72>61" at `share` of the way, or "92~0~0" one after the other */
bool scenario_course_value(struct str text, double share, size_t turn, double *ret);
bool scenario_build(const struct scenario *s, struct str without, struct scenario_machine *ret);
void scenario_machine_done(struct scenario_machine *m);
void scenario_done(struct scenario *s);
