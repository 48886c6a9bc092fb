/* SPDX-License-Identifier: Apache-2.0
 * The judgement of a check. Every threshold of it is here, with its reason.
 */
#include "insight/check/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "insight/facts/words.h"

/* ---- names, as in JSON ---- */

const char *check_level_name(enum check_level level)
{
    static const char *const names[] = {"quick", "standard", "memory", "full"};
    return (size_t)level < ARRAY_LEN(names) ? names[level] : "unknown";
}

#define NAME_OF(name, text) text,
#define NAMES_OF(function, type, list)                                      \
    const char *function(type value)                                        \
    {                                                                       \
        static const char *const names[] = {list(NAME_OF)};                 \
        return (size_t)value < ARRAY_LEN(names) ? names[value] : "unknown"; \
    }
NAMES_OF(check_test_name, enum check_test, CHECK_TESTS)
NAMES_OF(check_end_name, enum check_end, CHECK_ENDS)
NAMES_OF(check_verdict_name, enum check_verdict, CHECK_VERDICTS)
NAMES_OF(check_basis_name, enum check_basis, CHECK_BASES)

static const struct {
    const char *name, *unit;
    enum check_test test;
} values[] = {
#define VALUE(id, text, unit_, test_) [CHECK_VALUE_##id] = {text, unit_, CHECK_##test_},
    CHECK_VALUES(VALUE)
#undef VALUE
};

const char *check_value_name(enum check_value value)
{
    return (size_t)value < ARRAY_LEN(values) ? values[value].name : "unknown";
}

const char *check_value_unit(enum check_value value)
{
    return values[value].unit;
}

enum check_test check_value_test(enum check_value value)
{
    return values[value].test;
}

void check_run_init(struct check_run *run, enum check_level level, unsigned tests)
{
    *run = (struct check_run){.level = level, .test_count = CHECK_TEST_COUNT, .value_count = CHECK_VALUE_COUNT};
    for (uint32_t i = 0; i < CHECK_TEST_COUNT; i++)
        run->test[i] = (struct check_test_run){.test = i, .asked = tests >> i & 1};
    for (uint32_t i = 0; i < CHECK_VALUE_COUNT; i++)
        run->value[i].value = i;
}

/* ---- judgement ---- */

/* A run too short or small has no typical speed: 1 s with 2 GiB once called a healthy GPU degraded. */
#define SPEED_FROM_S 4.0
#define SPEED_FROM_BYTES (8 * GIB_BYTES)
/* Memory that must have been seen to call it healthy, in permille of what was to be tested */
enum { COVERED_LEAST = 800 };
/* A GPU is stopped so far below its slowdown temperature, or at 87 °C where it names none. */
enum { HEAT_MARGIN = 5000, HEAT_OTHERWISE = 87000 };
/* Slowdowns in more than this part of the samples, of at least so many */
enum { SLOWED_PERMILLE = 50, SLOWED_SAMPLES = 10 };
enum { REPLAYS_MAX = 30 }; /* a retrained link has a few */
enum { BUSY_PERMILLE = 100, PAST_MAX = 64 };
/* Own past: three runs say 10 %; five that agree within 1 % say 5 % for what no clock changes. Simulated: 0.01 % false alarms. */
enum { PAST_LEAST = 3, PAST_STEADY = 5 };
#define STEADY_WITHIN 0.01

/* How far a value may fall below physics, its past and its siblings. 0: not compared. */
static const struct {
    double physics, past, siblings;
    const char *what;
} limits[CHECK_VALUE_COUNT] = {
    [CHECK_VALUE_READ] = {0.75, 0.95, 0.95, "reads its memory at"},
    [CHECK_VALUE_WRITE] = {0.70, 0.95, 0.95, "writes its memory at"},
    [CHECK_VALUE_COPY] = {0.60, 0.95, 0.95, "copies in its memory at"},
    [CHECK_VALUE_FLOATS] = {0, 0.90, 0.85, "computes at"},
    [CHECK_VALUE_FLOATS_CLOCK] = {0.75, 0.95, 0.95, "computes, a clock and multiprocessor,"},
    [CHECK_VALUE_WHOLE] = {0, 0.90, 0.85, "computes integers at"},
    [CHECK_VALUE_TENSOR] = {0, 0.90, 0.85, "multiplies matrices at"},
    [CHECK_VALUE_LINK_TO] = {0.65, 0.90, 0.85, "is sent data at"},
    [CHECK_VALUE_LINK_FROM] = {0.65, 0.90, 0.85, "sends data at"},
    [CHECK_VALUE_STEADY] = {0.85, 0, 0, "is unsteady: its slow launches had only"},
};

const char *words_many(int64_t count, char out[32])
{
    if (count >= 1000000000)
        snprintf(out, 32, "%.1f billion", (double)count / 1e9);
    else if (count >= 1000000)
        snprintf(out, 32, "%.0f million", (double)count / 1e6);
    else
        snprintf(out, 32, "%lld", (long long)count);
    return out;
}

/* ---- seen from outside ---- */

static void keep_most(struct reading *most, struct reading seen)
{
    int64_t value, before;
    if (reading_get(seen, &value) && (!reading_get(*most, &before) || value > before))
        *most = seen;
}

bool check_observe(struct check_run *run, const struct gpu *gpu, bool at_work)
{
    int64_t bits = reading_or(gpu->throttle_bits, 0), temp, limit;
    run->samples++;
    run->hot_samples += (bits & THROTTLE_HOT) != 0;
    run->slowed_samples += (bits & (THROTTLE_HW_SLOWDOWN | THROTTLE_POWER_BRAKE)) != 0;
    run->capped_samples += (bits & THROTTLE_POWER_CAP) != 0;
    keep_most(&run->temp_max_mdegc, gpu->temp_mdegc);
    keep_most(&run->power_max_mw, gpu->power_mw);
    keep_most(&run->fan_max_permille, gpu->fan_permille);
    keep_most(&run->link_generation, gpu->pcie_generation);
    keep_most(&run->link_width, gpu->pcie_width);
    run->link_generation_max = gpu->pcie_generation_max;
    run->link_width_max = gpu->pcie_width_max;
    int64_t clock;
    if (at_work && (reading_get(gpu->clock_sm_khz, &clock) || reading_get(gpu->clock_graphics_khz, &clock))) {
        run->clock_sum_khz += clock;
        run->clock_samples++;
        run->clock_khz = (struct reading){run->clock_sum_khz / run->clock_samples, READING_OK};
    }
    if (reading_get(gpu->temp_memory_mdegc, &temp) && reading_get(gpu->temp_memory_limit_mdegc, &limit) &&
        temp >= limit - HEAT_MARGIN)
        return true;
    limit = reading_or(gpu->temp_limit_mdegc, HEAT_OTHERWISE + HEAT_MARGIN) - HEAT_MARGIN;
    return reading_get(gpu->temp_mdegc, &temp) && temp >= limit;
}

static struct reading more(struct reading before, struct reading after)
{
    int64_t from, to;
    if (!reading_get(before, &from) || !reading_get(after, &to))
        return (struct reading){0, after.state == READING_OK ? before.state : after.state};
    return (struct reading){MAX_OF(to - from, (int64_t)0), READING_OK};
}

void check_compare_counters(struct check_run *run, const struct gpu *before, const struct gpu *after)
{
    run->ecc = more(before->ecc_uncorrected, after->ecc_uncorrected);
    run->rows = more(before->remapped_rows_uncorrected, after->remapped_rows_uncorrected);
    run->replays = more(before->pcie_replays, after->pcie_replays);
    int64_t limit, stock;
    run->power_limited = reading_get(after->power_limit_mw, &limit) && reading_get(after->power_limit_default_mw, &stock) &&
                         limit < stock - stock / 50;
}

bool check_disturbs(const struct process *p)
{
    return p->type != PROCESS_GRAPHICS && p->name[0] && strcmp(p->name, "whirr") != 0 && !process_draws_desktop(p->name);
}

bool check_refuses(const struct gpu *gpu, char words[CHECK_WORDS])
{
    int64_t util;
    const struct process *top = gpu_top_process(gpu);
    if (gpu->simulated)
        snprintf(words, CHECK_WORDS, "it is simulated: there is nothing to test");
    else if (gpu->state == GPU_ASLEEP)
        snprintf(words, CHECK_WORDS, "it is asleep; to wake it for the check: --wake");
    else if (gpu->state != GPU_OK)
        snprintf(words, CHECK_WORDS, "it can't be read: %.160s", gpu->error_message);
    else if (gpu->lease.id[0])
        snprintf(words, CHECK_WORDS, "it is %s %s; to test what is free: --force",
                 gpu->lease.reserved ? "reserved for" : "leased to", gpu->lease.holder);
    else {
        for (size_t i = 0; i < gpu->process_count; i++) {
            const struct process *p = &gpu->processes[i];
            if (check_disturbs(p)) {
                snprintf(words, CHECK_WORDS, "%s (pid %d) is using it; to test what is free: --force", p->name, p->pid);
                return true;
            }
        }
        if (!reading_get(gpu->util_permille, &util) || util <= BUSY_PERMILLE)
            return false;
        snprintf(words, CHECK_WORDS, "it is %lld%% busy%s%s; to test what is free: --force", words_whole(util, 10),
                 top ? " with " : "", top ? top->name : "");
    }
    return true;
}

/* ---- speed ---- */

static double physics_of(const struct check_run *run, enum check_value value)
{
    static const double lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563}; /* GB/s of a lane, by generation */
    const struct check_device *d = &run->device;
    int64_t generation, width;
    switch (value) {
    case CHECK_VALUE_READ:
    case CHECK_VALUE_WRITE:
    case CHECK_VALUE_COPY: return 2.0 * (double)d->memory_khz * 1e3 * (double)d->bus_bits / 8 / 1e9;
    case CHECK_VALUE_FLOATS_CLOCK: return 2.0 * d->fp32_lanes;
    case CHECK_VALUE_LINK_TO:
    case CHECK_VALUE_LINK_FROM:
        if (d->integrated || !reading_get(run->link_generation_max, &generation) || !reading_get(run->link_width_max, &width) ||
            generation <= 0 || (size_t)generation >= ARRAY_LEN(lane))
            return 0;
        return lane[generation] * (double)width;
    case CHECK_VALUE_STEADY: return 1;
    default: return 0;
    }
}

static bool may_judge_speed(const struct check_run *run)
{
    return run->took_s >= SPEED_FROM_S * 0.9 && run->asked_s >= SPEED_FROM_S && !run->disturbed && !run->power_limited &&
           !run->device.instance && !run->device.shared &&
           (run->covered_bytes >= SPEED_FROM_BYTES || run->covered_bytes >= run->device.total_bytes / 4);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct norm {
    size_t count;
    double at[PAST_MAX], median, deviation;
};

static void sum_up(struct norm *s)
{
    double sum = 0, square = 0;
    if (!s->count)
        return;
    qsort(s->at, s->count, sizeof *s->at, by_size);
    s->median = s->count % 2 ? s->at[s->count / 2] : (s->at[s->count / 2 - 1] + s->at[s->count / 2]) / 2;
    for (size_t i = 0; i < s->count; i++)
        sum += s->at[i];
    for (size_t i = 0; i < s->count; i++)
        square += (s->at[i] - sum / (double)s->count) * (s->at[i] - sum / (double)s->count);
    s->deviation = s->count > 1 && s->median > 0 ? sqrt(square / (double)(s->count - 1)) / s->median : 1;
}

/* Never a run that was disturbed, or judged worse than healthy: it would be the new normal. */
static bool is_normal(const struct check_run *past)
{
    return past->verdict == CHECK_IS_HEALTHY && !past->disturbed && !past->power_limited && may_judge_speed(past);
}

static bool same_driver(const struct check_run *a, const struct check_run *b)
{
    size_t len = strcspn(a->driver, ".");
    return len == strcspn(b->driver, ".") && strncmp(a->driver, b->driver, len) == 0;
}

static void compare_past(struct check_run *run, struct check_measure *m, const struct check_run *past, size_t count)
{
    struct norm s = {0};
    for (size_t i = count; i-- > 0 && s.count < PAST_MAX;)
        if (is_normal(&past[i]) && same_driver(run, &past[i]) && past[i].value[m->value].measured > 0)
            s.at[s.count++] = past[i].value[m->value].measured;
    if (s.count < PAST_LEAST || limits[m->value].past <= 0)
        return;
    sum_up(&s);
    double floor =
        s.count >= PAST_STEADY && s.deviation <= STEADY_WITHIN ? limits[m->value].past : MIN_OF(limits[m->value].past, 0.9);
    m->expected = s.median;
    m->basis = CHECK_BASIS_PAST;
    m->basis_runs = (int)s.count;
    m->low = m->measured < s.median * floor;
}

/* One of two that differ: which one is right? Three can tell. */
static void compare_siblings(struct check_measure *m, const struct check_run *const *siblings, size_t count)
{
    struct norm s = {0};
    for (size_t i = 0; i < count && s.count < PAST_MAX; i++)
        if (siblings[i]->value[m->value].measured > 0 && may_judge_speed(siblings[i]))
            s.at[s.count++] = siblings[i]->value[m->value].measured;
    if (s.count < 2 || limits[m->value].siblings <= 0)
        return;
    sum_up(&s);
    if (m->measured >= s.median * limits[m->value].siblings)
        return;
    m->expected = s.median;
    m->basis = CHECK_BASIS_SIBLINGS;
    m->low = true;
}

/* Physics, its own past, its siblings: the first that it falls short of is told; else the past, which knows this GPU best. */
static void compare_values(struct check_run *run, const struct check_run *past, size_t past_count,
                           const struct check_run *const *siblings, size_t sibling_count)
{
    int64_t clock;
    struct check_measure *per_clock = &run->value[CHECK_VALUE_FLOATS_CLOCK];
    if (reading_get(run->clock_khz, &clock) && clock > 0 && run->device.processors)
        per_clock->measured =
            run->value[CHECK_VALUE_FLOATS].measured * 1e12 / ((double)clock * 1e3 * (double)run->device.processors);
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++) {
        struct check_measure *m = &run->value[i];
        double physics = physics_of(run, m->value);
        m->low = false;
        m->basis = CHECK_BASIS_NONE;
        m->expected = 0;
        if (m->measured <= 0)
            continue;
        if (physics > 0) {
            m->expected = physics;
            m->basis = CHECK_BASIS_PHYSICS;
            m->low = m->measured < physics * limits[i].physics;
        }
        if (!m->low)
            compare_past(run, m, past, past_count);
        if (!m->low)
            compare_siblings(m, siblings, sibling_count);
        m->low = m->low && may_judge_speed(run);
    }
}

unsigned check_suspects(const struct check_run *run)
{
    unsigned tests = 0;
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++)
        if (run->value[i].low)
            tests |= 1u << check_value_test(run->value[i].value);
    return tests;
}

/* ---- the verdict ---- */

static int64_t answers_of(const struct check_run *run)
{
    int64_t sum = 0;
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++)
        sum += i == CHECK_MEMORY || i == CHECK_LINK ? 0 : run->test[i].answers;
    return sum;
}

static void verdict(struct check_run *run, enum check_verdict verdict, const char *advice)
{
    run->verdict = verdict;
    snprintf(run->advice, sizeof run->advice, "%s", advice ? advice : "");
}

static size_t bits_of(uint32_t word)
{
    return (size_t)__builtin_popcount(word);
}

static const char *words_bits(const struct check_test_run *t, char out[96])
{
    size_t lost = bits_of(t->lost), set = bits_of(t->set);
    if (lost + set == 1)
        snprintf(out, 96, "bit %d %s%s", __builtin_ctz(t->lost | t->set), t->wrong > 1 ? "always " : "was ",
                 lost ? "0 instead of 1" : "1 instead of 0");
    else
        snprintf(out, 96, "%zu bit%s lost, %zu set", lost, lost == 1 ? "" : "s", set);
    return out;
}

#define ADVICE_MEMORY                                                                                                              \
    "Do not trust results of this GPU: take work off it, undo any memory overclock, and have it replaced if a second check finds " \
    "the same."
#define ADVICE_CHIP                                                                                                                \
    "Do not trust results of this GPU: take work off it, undo any overclock or undervolt, and have it replaced if a second check " \
    "finds the same."
#define ADVICE_RISER "Power off the host and reseat the GPU and its riser; try another slot, then another riser."
#define ADVICE_WAY "See why while it works: whirr why"

static bool find_wrong(struct check_run *run)
{
    char many[32], all[32], bits[96], covered[WORDS_SIZE];
    const struct check_test_run *memory = &run->test[CHECK_MEMORY], *link = &run->test[CHECK_LINK];
    struct text s = TEXT(run->words);
    if (memory->wrong) {
        text_append(&s, "its memory returned %s wrong word%s of %s (%s), the first at word 0x%llx of %s",
                    words_many(memory->wrong, many), memory->wrong == 1 ? "" : "s", words_many(memory->answers, all),
                    words_bits(memory, bits), (unsigned long long)memory->place, words_bytes(run->covered_bytes, covered));
        verdict(run, CHECK_IS_FAILING, ADVICE_MEMORY);
        return true;
    }
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++) {
        const struct check_test_run *t = &run->test[i];
        static const char *const what[] = {
            [CHECK_FLOATS] = "its arithmetic", [CHECK_WHOLE] = "its integer arithmetic", [CHECK_TENSOR] = "its tensor cores"};
        if (!t->wrong || i >= ARRAY_LEN(what) || !what[i])
            continue;
        text_append(&s, "%s gave %s wrong answer%s of %s", what[i], words_many(t->wrong, many), t->wrong == 1 ? "" : "s",
                    words_many(t->answers, all));
        if (t->one_processor)
            text_append(&s, ", all from multiprocessor %lld", (long long)(t->place >> 32));
        verdict(run, CHECK_IS_FAILING, ADVICE_CHIP);
        return true;
    }
    if (!link->wrong)
        return false;
    text_append(&s, "its PCIe link changed %s of %s words (%s)", words_many(link->wrong, many), words_many(link->answers, all),
                words_bits(link, bits));
    verdict(run, CHECK_IS_FAILING, ADVICE_RISER);
    return true;
}

static bool find_broken(struct check_run *run)
{
    struct text s = TEXT(run->words);
    int64_t ecc = reading_or(run->ecc, 0), rows = reading_or(run->rows, 0);
    if (run->end == CHECK_SILENT || run->end == CHECK_LOST) {
        text_append(&s, "it %s during the check: %.150s", run->end == CHECK_LOST ? "failed" : "stopped answering", run->reason);
        verdict(run, CHECK_IS_FAILING, "Check the kernel log (sudo dmesg), then reset the GPU or reboot the host and check again.");
        return true;
    }
    if (ecc <= 0 && rows <= 0)
        return false;
    text_append(&s, "%lld %s during the check", (long long)(ecc > 0 ? ecc : rows),
                ecc > 0 ? "memory errors could not be corrected" : "rows of its memory were found bad");
    verdict(run, CHECK_IS_FAILING, ADVICE_MEMORY);
    return true;
}

bool check_value_words(const struct check_run *run, enum check_value value, char *out, size_t size)
{
    const struct check_measure *m = &run->value[value];
    struct text s = {.at = out, .size = size};
    out[0] = '\0';
    if (m->measured <= 0)
        return false;
    if (value == CHECK_VALUE_STEADY)
        return text_append(&s, "%.0f%% of the speed of the fast ones", m->measured * 100);
    text_append(&s,
                m->measured >= 100  ? "%.0f %s"
                : m->measured >= 10 ? "%.1f %s"
                                    : "%.3g %s",
                m->measured, check_value_unit(value));
    if (m->expected > 0 && m->basis == CHECK_BASIS_PHYSICS)
        text_append(&s, ", %.0f%% of what is possible", m->measured / m->expected * 100);
    else if (m->expected > 0 && m->basis == CHECK_BASIS_PAST)
        text_append(&s, ", %+.1f%% beside %d earlier runs", (m->measured / m->expected - 1) * 100, m->basis_runs);
    else if (m->expected > 0)
        text_append(&s, ", %+.0f%% beside its siblings", (m->measured / m->expected - 1) * 100);
    return true;
}

static bool is_often(const struct check_run *run, int samples)
{
    return run->samples >= SLOWED_SAMPLES && samples * 1000 > run->samples * SLOWED_PERMILLE;
}

static bool find_slow(struct check_run *run)
{
    struct text s = TEXT(run->words);
    int64_t now, most, replays = reading_or(run->replays, 0), xids = reading_or(run->xids, 0);
    char value[96];
    if (run->end == CHECK_TOO_HOT) {
        text_append(&s, "it became too hot: stopped at %lld °C", words_whole(reading_or(run->temp_max_mdegc, 0), 1000));
        verdict(run, CHECK_IS_DEGRADED, "Check airflow: dust on fans and filters, a blocked intake, room temperature.");
        return true;
    }
    for (size_t i = 0; i < 2 && run->end == CHECK_DONE && !run->device.instance; i++) {
        struct reading is = i ? run->link_generation : run->link_width, can = i ? run->link_generation_max : run->link_width_max;
        if (!reading_get(is, &now) || !reading_get(can, &most) || now >= most || now <= 0 || !run->test[CHECK_LINK].finished)
            continue;
        text_append(&s, i ? "its PCIe link is generation %lld of %lld under load" : "its PCIe link has %lld of %lld lanes",
                    (long long)now, (long long)most);
        verdict(run, CHECK_IS_DEGRADED, ADVICE_RISER);
        return true;
    }
    /* One that is unsteady is slow as well. */
    for (size_t n = 0; n < CHECK_VALUE_COUNT; n++) {
        size_t i = (n + CHECK_VALUE_STEADY) % CHECK_VALUE_COUNT;
        if (!run->value[i].low)
            continue;
        check_value_words(run, i, value, sizeof value);
        text_append(&s, "it %s %s", limits[i].what, value);
        verdict(run, CHECK_IS_DEGRADED, i == CHECK_VALUE_LINK_TO || i == CHECK_VALUE_LINK_FROM ? ADVICE_RISER : ADVICE_WAY);
        return true;
    }
    if (is_often(run, run->hot_samples))
        text_append(&s, "it was throttling for heat in %d of %d samples", run->hot_samples, run->samples);
    else if (is_often(run, run->slowed_samples))
        text_append(&s, "its board or the power supply throttled it in %d of %d samples", run->slowed_samples, run->samples);
    else if (replays > REPLAYS_MAX)
        text_append(&s, "its PCIe link sent %lld packets again", (long long)replays);
    else if (xids > 0)
        text_append(&s, "its driver reported %lld error%s (XID) during the check", (long long)xids, xids == 1 ? "" : "s");
    else
        return false;
    verdict(run, CHECK_IS_DEGRADED, replays > REPLAYS_MAX ? ADVICE_RISER : ADVICE_WAY);
    return true;
}

/* What is missing for a verdict. */
static bool find_gap(struct check_run *run)
{
    struct text s = TEXT(run->words);
    char covered[WORDS_SIZE], wanted[WORDS_SIZE];
    verdict(run, CHECK_IS_NOT_JUDGED, "");
    if (run->end != CHECK_DONE) {
        static const char *const ends[CHECK_END_COUNT] = {[CHECK_STOPPED] = "stopped on request",
                                                          [CHECK_LATE] = "not done by its deadline",
                                                          [CHECK_DIED] = "the compute driver crashed"};
        text_append(&s, "%s%s%.180s", ends[run->end] ? ends[run->end] : "", ends[run->end] && run->reason[0] ? ": " : "",
                    run->reason);
        return true;
    }
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++) {
        const struct check_test_run *t = &run->test[i];
        bool impossible = (i == CHECK_TENSOR && !run->device.tensor);
        if (t->asked && !t->finished && !impossible)
            return text_append(&s, "the %s test was not done", check_test_name(i));
    }
    if (!run->test[CHECK_MEMORY].asked)
        return false;
    if (run->covered_bytes * 1000 >= run->wanted_bytes * COVERED_LEAST && run->covered_bytes > 0)
        return false;
    text_append(&s, "only %s of %s of free memory could be tested", words_bytes(run->covered_bytes, covered),
                words_bytes(run->wanted_bytes, wanted));
    return true;
}

static void say_healthy(struct check_run *run)
{
    struct text s = TEXT(run->words);
    char many[32], covered[WORDS_SIZE], total[WORDS_SIZE], value[96];
    int64_t answers = answers_of(run);
    verdict(run, CHECK_IS_HEALTHY, "");
    text_append(&s, "no error found");
    if (answers)
        text_append(&s, " in %s answers", words_many(answers, many));
    if (run->covered_bytes)
        text_append(&s, "%s %s of %s of memory", answers ? " and" : " in", words_bytes(run->covered_bytes, covered),
                    words_bytes(run->device.total_bytes, total));
    if (may_judge_speed(run) && check_value_words(run, CHECK_VALUE_READ, value, sizeof value))
        text_append(&s, "; %s", value);
    else if (run->device.instance)
        text_append(&s, "; this instance only, speed not judged");
    else
        text_append(&s, "; speed not judged (%s)",
                    run->disturbed       ? "others used it"
                    : run->power_limited ? "its power limit is lowered"
                    : run->device.shared ? "it is shared"
                                         : "too short or too little memory");
}

void check_judge(struct check_run *run, const struct check_run *past, size_t past_count, const struct check_run *const *siblings,
                 size_t sibling_count)
{
    run->words[0] = '\0';
    compare_values(run, past, past_count, siblings, sibling_count);
    if (!find_wrong(run) && !find_broken(run) && !find_slow(run) && !find_gap(run))
        say_healthy(run);
}
