/* SPDX-License-Identifier: Apache-2.0
 * A check of a GPU as plain data (what its helper measured), and what it means: pure functions of what was measured and seen. Known
 * answers need no threshold; speed is compared with physics, with the GPU's own past and with its siblings, and only where the run
 * allows it; what was not tested is never called healthy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/gpu.h"

enum check_level { CHECK_LEVEL_QUICK, CHECK_LEVEL_STANDARD, CHECK_LEVEL_MEMORY, CHECK_LEVEL_FULL, CHECK_LEVEL_COUNT };

/* Tests, in the order in which they run: what heats first, memory while it is hot. */
#define CHECK_TESTS(TEST)      \
    TEST(LINK, "link")         \
    TEST(FLOATS, "arithmetic") \
    TEST(WHOLE, "integers")    \
    TEST(TENSOR, "tensor")     \
    TEST(MEMORY, "memory")     \
    TEST(STREAM, "bandwidth")  \
    TEST(LATENCY, "latency")
enum check_test {
#define TEST(name, text) CHECK_##name,
    CHECK_TESTS(TEST)
#undef TEST
        CHECK_TEST_COUNT
};

/* What is measured: name in JSON, unit, test that measures it, and whether more is better. */
#define CHECK_VALUES(VALUE)                               \
    VALUE(READ, "read", "GB/s", STREAM)                   \
    VALUE(WRITE, "write", "GB/s", STREAM)                 \
    VALUE(COPY, "copy", "GB/s", STREAM)                   \
    VALUE(FLOATS, "fp32", "TFLOP/s", FLOATS)              \
    VALUE(FLOATS_CLOCK, "fp32_per_clock", "flop", FLOATS) \
    VALUE(WHOLE, "int32", "Top/s", WHOLE)                 \
    VALUE(TENSOR, "tensor_fp16", "TFLOP/s", TENSOR)       \
    VALUE(LINK_TO, "link_to_gpu", "GB/s", LINK)           \
    VALUE(LINK_FROM, "link_from_gpu", "GB/s", LINK)       \
    VALUE(LATENCY, "latency", "ns", LATENCY)              \
    VALUE(STEADY, "steadiness", "", FLOATS)
enum check_value {
#define VALUE(name, ...) CHECK_VALUE_##name,
    CHECK_VALUES(VALUE)
#undef VALUE
        CHECK_VALUE_COUNT
};

/* The GPU as its compute driver describes it; 0 and "": unknown. */
struct check_device {
    char api[16], driver[32], name[GPU_NAME_SIZE], uuid[GPU_UUID_SIZE], pci[GPU_PCI_SIZE];
    int64_t total_bytes, free_bytes, largest_bytes; /* of memory; of one allocation */
    int64_t memory_khz, bus_bits, clock_khz;
    uint32_t processors; /* multiprocessors */
    uint32_t fp32_lanes; /* of each; 0: unknown */
    bool tensor, integrated, instance /* a part of a GPU */, shared /* with programs of others (MPS) */;
};

/* How a run ended. */
#define CHECK_ENDS(END)         \
    END(DONE, "done")           \
    END(STOPPED, "stopped")     \
    END(TOO_HOT, "too_hot")     \
    END(LATE, "late")           \
    END(NO_DRIVER, "no_driver") \
    END(NO_MEMORY, "no_memory") \
    END(IN_USE, "in_use")       \
    END(REFUSED, "refused")     \
    END(SILENT, "silent")       \
    END(LOST, "lost")           \
    END(DIED, "died")
enum check_end {
#define END(name, text) CHECK_##name,
    CHECK_ENDS(END)
#undef END
        CHECK_END_COUNT
};

struct check_test_run {
    enum check_test test;
    bool asked, begun, finished;
    int64_t answers; /* compared; of memory: words */
    int64_t wrong;
    uint32_t lost, set; /* bits that were 0 instead of 1, and the other way around, of all wrong ones */
    int64_t place;      /* of the first: the number of its word, or of its answer and, from bit 32 on, its multiprocessor */
    uint32_t expected, got;
    bool one_processor; /* all came from one */
};

/* Where an expectation comes from, the best first. */
#define CHECK_BASES(BASIS)    \
    BASIS(NONE, "none")       \
    BASIS(PHYSICS, "physics") \
    BASIS(PAST, "own_past")   \
    BASIS(SIBLINGS, "siblings")
enum check_basis {
#define BASIS(name, text) CHECK_BASIS_##name,
    CHECK_BASES(BASIS)
#undef BASIS
        CHECK_BASIS_COUNT
};

struct check_measure {
    enum check_value value;
    double measured; /* 0: not measured */
    double spread;   /* its slowest launches beside its fastest: 1 is steady */
    double expected; /* 0: nothing to compare with */
    enum check_basis basis;
    int basis_runs; /* of the own past */
    bool low;       /* below what it has to reach */
};

/* What came of it. */
#define CHECK_VERDICTS(VERDICT)   \
    VERDICT(HEALTHY, "healthy")   \
    VERDICT(DEGRADED, "degraded") \
    VERDICT(FAILING, "failing")   \
    VERDICT(NOT_JUDGED, "not_judged")
enum check_verdict {
#define VERDICT(name, text) CHECK_IS_##name,
    CHECK_VERDICTS(VERDICT)
#undef VERDICT
        CHECK_VERDICT_COUNT
};

enum { CHECK_REASON = 192 };

struct check_run {
    struct wall at;
    int gpu_index;
    char gpu_uuid[GPU_UUID_SIZE], gpu_pci[GPU_PCI_SIZE], gpu_name[GPU_NAME_SIZE], serial[GPU_TEXT_SIZE], vbios[GPU_TEXT_SIZE];
    char driver[64], version[32]; /* of the GPU, of whirr */
    char host[64];
    enum check_level level;
    uint32_t seed;
    struct check_device device;
    enum check_end end;
    char reason[CHECK_REASON]; /* of an end that is not CHECK_DONE: words of the driver, or ours */
    bool forced, disturbed, power_limited;
    double asked_s, took_s;
    int64_t wanted_bytes, covered_bytes, verified_bytes; /* memory: to be tested, seen whole at least once, all together */
    struct check_test_run test[CHECK_TEST_COUNT];
    struct check_measure value[CHECK_VALUE_COUNT];
    uint32_t test_count, value_count; /* both arrays are whole: for lists */
    double longest_ms;                /* group of launches */
    /* Seen from outside */
    struct reading temp_max_mdegc, power_max_mw, fan_max_permille;
    struct reading clock_khz; /* during the arithmetic: the mean */
    int64_t clock_sum_khz;
    int clock_samples;
    struct reading link_generation, link_width, link_generation_max, link_width_max; /* the first two under load */
    struct reading ecc, rows, replays, xids;                                         /* more than before */
    int samples, hot_samples, slowed_samples, capped_samples;
    /* Judged */
    enum check_verdict verdict;
    char words[CHECK_WORDS];  /* one sentence without the name of the GPU */
    char advice[CHECK_WORDS]; /* "": none */
};

void check_run_init(struct check_run *run, enum check_level level, unsigned tests);

const char *check_level_name(enum check_level level);
const char *check_test_name(enum check_test test);
const char *check_end_name(enum check_end end);
const char *check_verdict_name(enum check_verdict verdict);
const char *check_value_name(enum check_value value);
const char *check_value_unit(enum check_value value);
const char *check_basis_name(enum check_basis basis);
enum check_test check_value_test(enum check_value value);

/* ---- what it means ---- */

/* A look at the GPU during the run: `at_work` while its arithmetic is timed. True: too hot to go on. */
bool check_observe(struct check_run *run, const struct gpu *gpu, bool at_work);
/* What counters show more than before. */
void check_compare_counters(struct check_run *run, const struct gpu *before, const struct gpu *after);

/* Judges: fills in expectations, verdict, words and advice. `past`: earlier runs of the same GPU, the newest last; `siblings`: runs
 * of the same model beside it. */
void check_judge(struct check_run *run, const struct check_run *past, size_t past_count, const struct check_run *const *siblings,
                 size_t sibling_count);
/* Tests to be repeated before a low value counts: compared with past or siblings, it may have been a disturbance. */
unsigned check_suspects(const struct check_run *run);
/* Why this GPU must not be tested now, in words; false: it may be. */
bool check_refuses(const struct gpu *gpu, char words[CHECK_WORDS]);

bool check_disturbs(const struct process *p); /* computes, and is no desktop */

/* "115 million" */
const char *words_many(int64_t count, char out[32]);
/* What a value is and means: "4,496 GB/s, 93% of physics"; false: not measured. */
bool check_value_words(const struct check_run *run, enum check_value value, char *out, size_t size);
