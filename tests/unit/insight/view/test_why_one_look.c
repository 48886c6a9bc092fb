/* SPDX-License-Identifier: Apache-2.0
 * One look against a second of watching, where the driver keeps the last seconds itself: in how many cases `why` gives the same
 * cause and process for each GPU. Cases are the scenarios (tests/golden/why, why-blind) and each moment of the recordings of a real
 * GPU (tests/golden/forecast). The score and each difference are printed; only the score can fail.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/replay/reader.h"
#include "test.h"
#include "why_expect.h"

enum {
    LEAST_PERMILLE = 950,
    /* What the driver of an H200 keeps (source/nvml/nvml_fields.c). */
    STEP_MS = 500,
    KEPT_MS = 14000,
    KEPT_POWER_MS = 2400,
    WATCHED_MS = 1050, /* at least a second, as ask/answers.c watches */
    LOOKS = 4,
    SAMPLES_MAX = 4096,
};

static size_t cases, same, same_later, watched_anyway;

/* Rates of counters: a first look has none. */
static void take_rates_away(struct snapshot *s)
{
    static const enum metric of_gpu[] = {
        METRIC_graphics_active_permille, METRIC_sm_active_permille,   METRIC_sm_occupancy_permille, METRIC_integer_active_permille,
        METRIC_tensor_active_permille,   METRIC_dram_active_permille, METRIC_fp64_active_permille,  METRIC_fp32_active_permille,
        METRIC_fp16_active_permille,     METRIC_pcie_tx_bytes_per_s,  METRIC_pcie_rx_bytes_per_s,   METRIC_nvlink_rx_bytes_per_s,
        METRIC_nvlink_tx_bytes_per_s,
    };
    static const enum host_metric of_host[] = {
        HOST_METRIC_cpu_permille,          HOST_METRIC_cpu_core_max_permille,  HOST_METRIC_cpu_iowait_permille,
        HOST_METRIC_cpu_steal_permille,    HOST_METRIC_cpu_power_mw,           HOST_METRIC_swap_in_pages_per_s,
        HOST_METRIC_swap_out_pages_per_s,  HOST_METRIC_net_rx_bytes_per_s,     HOST_METRIC_net_tx_bytes_per_s,
        HOST_METRIC_disk_read_bytes_per_s, HOST_METRIC_disk_write_bytes_per_s, HOST_METRIC_disk_busy_permille,
    };
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < ARRAY_LEN(of_gpu); i++)
            if (s->gpus[g].metric[of_gpu[i]].state == READING_OK)
                s->gpus[g].metric[of_gpu[i]] = (struct reading){SCENARIO_NONSENSE, READING_PENDING};
    for (size_t i = 0; i < ARRAY_LEN(of_host); i++)
        if (s->host.metric[of_host[i]].state == READING_OK)
            s->host.metric[of_host[i]] = (struct reading){SCENARIO_NONSENSE, READING_PENDING};
}

static void keep_moment(struct gpu *gpu, struct wall now, struct wall at, struct reading util, struct reading power)
{
    if (gpu->before_count == KEPT_MS / STEP_MS)
        return;
    if (!gpu->before)
        gpu->before = calloc(KEPT_MS / STEP_MS, sizeof *gpu->before);
    gpu->before[gpu->before_count++] = (struct gpu_moment){
        .at = at, .util_permille = util, .power_mw = now.ms - at.ms <= KEPT_POWER_MS ? power : reading_absent(READING_UNREAD)};
}

/* Of the first cause that names one. */
static int32_t pid_of(const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].pid)
            return part->causes[i].pid;
    return 0;
}

static bool agree(const struct why_part *a, const struct why_part *b)
{
    bool first = a->cause_count ? b->cause_count && a->causes[0].code == b->causes[0].code : !b->cause_count;
    return first && pid_of(a) == pid_of(b);
}

/* An empty name: nothing is printed. */
static bool compare(const struct why *one, const struct why *watched, const char *name)
{
    assert_true(one && watched);
    assert_int_equal(one->gpu_count, watched->gpu_count);
    bool all = agree(&one->machine, &watched->machine);
    for (size_t i = 0; i < one->gpu_count; i++)
        all &= agree(&one->gpus[i], &watched->gpus[i]);
    if (!all && name[0])
        print_message("  %s\n    one look: %s\n    watched:  %s\n", name, one->answer, watched->answer);
    return all;
}

static void report(const char *what)
{
    print_message("one look is as good as a second of watching in %zu of %zu %s (at least %.0f%%)\n", same, cases, what,
                  LEAST_PERMILLE / 10.0);
    assert_true(same * 1000 >= cases * LEAST_PERMILLE);
}

/* ---- Scenarios ---- */

/* What the scenario says about that time; as now where it says nothing. */
static struct recent_point then(const struct scenario_machine *m, size_t g, int64_t ago_ms)
{
    enum { HOLDS_MS = 10000 };
    const struct gpu *gpu = &m->now->gpus[g];
    const struct recent_gpu *past = &m->past.gpus[g];
    int64_t at = m->now->taken_at.ms - ago_ms;
    struct recent_point found = {.util_permille = gpu->util_permille, .power_mw = gpu->power_mw};
    for (size_t i = 0; i < past->count; i++)
        if (past->points[i].at.ms <= at && past->points[i].at.ms > at - HOLDS_MS) {
            if (past->points[i].util_permille.state == READING_OK)
                found.util_permille = past->points[i].util_permille;
            if (past->points[i].power_mw.state == READING_OK)
                found.power_mw = past->points[i].power_mw;
        }
    found.at.ms = at;
    return found;
}

static void keep_seconds(const struct scenario_machine *m)
{
    for (size_t g = 0; g < m->now->gpu_count; g++)
        for (int64_t ago = KEPT_MS - STEP_MS / 2; ago > 0; ago -= STEP_MS) {
            struct recent_point p = then(m, g, ago);
            if (m->now->gpus[g].state == GPU_OK)
                keep_moment(&m->now->gpus[g], m->now->taken_at, p.at, p.util_permille, p.power_mw);
        }
}

/* Looks until now: `looks` of them, the last one now. */
static void look(const struct scenario_machine *m, int looks, struct recent *past)
{
    struct wall now = m->now->taken_at;
    recent_begin(past, m->now);
    for (int i = looks - 1; i >= 0; i--) {
        int64_t ago = (int64_t)i * WATCHED_MS / (LOOKS - 1);
        for (size_t g = 0; g < m->now->gpu_count && i; g++) {
            struct gpu *gpu = &m->now->gpus[g];
            struct reading util = gpu->util_permille, power = gpu->power_mw;
            struct recent_point p = then(m, g, ago);
            gpu->util_permille = p.util_permille;
            gpu->power_mw = p.power_mw;
            m->now->taken_at.ms = now.ms - ago;
            recent_add(past, NULL, m->now);
            m->now->taken_at = now;
            gpu->util_permille = util;
            gpu->power_mw = power;
        }
    }
    recent_add(past, NULL, m->now);
}

/* A GPU without a past is watched for a second anyway, and so is a warm CPU (ask/answers.c). */
static bool one_look_is_all(const struct snapshot *now)
{
    int64_t cpu;
    if (reading_get(now->host.cpu_temp_mdegc, &cpu) && cpu >= 75000)
        return false;
    for (size_t g = 0; g < now->gpu_count; g++)
        if (now->gpus[g].id.vendor[0] && strcmp(now->gpus[g].id.vendor, "nvidia") != 0)
            return false;
    return now->gpu_count > 0;
}

static struct why *explain(const struct scenario *s, int looks)
{
    struct scenario_machine m;
    struct recent past = {0};
    assert_true(scenario_build(s, (struct str){0}, &m));
    keep_seconds(&m);
    look(&m, looks, &past);
    if (looks == 1)
        take_rates_away(m.now);
    struct why *why = why_explain_usual(m.now, &past, m.usual);
    recent_done(&past);
    scenario_machine_done(&m);
    return why;
}

static void compare_scenario(const char *path)
{
    struct scenario s;
    struct scenario_machine m;
    assert_true(scenario_read(&s, path));
    assert_true(scenario_build(&s, (struct str){0}, &m));
    if (one_look_is_all(m.now)) {
        struct why *one = explain(&s, 1), *watched = explain(&s, LOOKS);
        same += compare(one, watched, strrchr(path, '/') + 1);
        cases++;
        why_free(one);
        why_free(watched);
    } else {
        watched_anyway++;
    }
    scenario_machine_done(&m);
    scenario_done(&s);
}

static void each_file(const char *pattern, void (*one)(const char *path), size_t least)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char path[512];
    glob_t files;
    snprintf(path, sizeof path, "%s/tests/golden/%s", root ? root : ".", pattern);
    assert_int_equal(glob(path, 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= least);
    for (size_t i = 0; i < files.gl_pathc; i++)
        one(files.gl_pathv[i]);
    globfree(&files);
}

static void one_look_explains_the_scenarios(void **state)
{
    (void)state;
    cases = same = watched_anyway = 0;
    each_file("why/*.scenario", compare_scenario, 100);
    each_file("why-blind/*.scenario", compare_scenario, 171);
    print_message("%zu scenarios are watched for a second in any case\n", watched_anyway);
    report("scenarios");
}

/* ---- Recordings ---- */

static size_t read_all(const char *path, struct snapshot *samples[SAMPLES_MAX])
{
    struct replay_reader *r;
    struct error err = {0};
    const struct snapshot *s;
    size_t count = 0;
    if (replay_reader_open(path, &r, &err) < 0)
        fail_msg("%s", err.text);
    while (count < SAMPLES_MAX && replay_reader_next(r, &s, &err) == 1)
        samples[count++] = (struct snapshot *)s;
    replay_reader_close(r);
    return count;
}

static void keep_recorded(struct snapshot *const *samples, size_t k, struct snapshot *now)
{
    for (size_t i = 0; i < k; i++)
        for (size_t g = 0; g < now->gpu_count && g < samples[i]->gpu_count; g++)
            if (now->taken_at.ms - samples[i]->taken_at.ms < KEPT_MS)
                keep_moment(&now->gpus[g], now->taken_at, samples[i]->taken_at, samples[i]->gpus[g].util_permille,
                            samples[i]->gpus[g].power_mw);
}

static void gpus_forget(struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++) {
        free(s->gpus[g].before);
        s->gpus[g].before = NULL;
        s->gpus[g].before_count = 0;
    }
}

/* Looks from sample `from` to sample `to`; answers about the last. */
static struct why *explain_recorded(struct snapshot *const *samples, size_t from, size_t to, struct snapshot *const *firsts)
{
    struct recent past = {0};
    keep_recorded(samples, from, firsts[from]);
    recent_begin(&past, firsts[from]);
    recent_add(&past, NULL, firsts[from]);
    for (size_t i = from + 1; i <= to; i++)
        recent_add(&past, samples[i - 1], samples[i]);
    struct why *why = why_explain(from == to ? firsts[from] : samples[to], &past);
    gpus_forget(firsts[from]);
    recent_done(&past);
    return why;
}

static bool compare_recorded(struct snapshot *const *samples, struct snapshot *const *firsts, size_t one_at, size_t from, size_t to,
                             const char *name)
{
    char text[256] = "";
    struct why *one = explain_recorded(samples, one_at, one_at, firsts), *watched = explain_recorded(samples, from, to, firsts);
    if (name)
        snprintf(text, sizeof text, "%s, sample %zu", name, one_at);
    bool all = compare(one, watched, text);
    why_free(one);
    why_free(watched);
    return all;
}

static void compare_recording(const char *path)
{
    static struct snapshot *samples[SAMPLES_MAX], *firsts[SAMPLES_MAX];
    size_t count = read_all(path, samples), from = 0;
    assert_int_equal(read_all(path, firsts), count);
    for (size_t k = 0; k < count; k++)
        take_rates_away(firsts[k]);
    for (size_t k = 0; k < count; k++) {
        while (samples[k]->taken_at.ms - samples[from + 1 < k ? from + 1 : from]->taken_at.ms >= WATCHED_MS - 50)
            from++;
        if (samples[k]->taken_at.ms - samples[from]->taken_at.ms < WATCHED_MS - 50)
            continue;
        bool all = compare_recorded(samples, firsts, k, from, k, strrchr(path, '/') + 1);
        cases++;
        same += all;
        same_later += compare_recorded(samples, firsts, from, from, k, NULL);
    }
    for (size_t k = 0; k < count; k++) {
        snapshot_unref(samples[k]);
        snapshot_unref(firsts[k]);
    }
}

static void one_look_explains_the_recorded_moments(void **state)
{
    (void)state;
    cases = same = same_later = 0;
    each_file("forecast/*.whirr", compare_recording, 5);
    assert_true(cases > 500);
    print_message("a second later, when work may have begun or ended meanwhile, the answer is still the same in %zu\n", same_later);
    report("recorded moments");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(one_look_explains_the_scenarios), TEST(one_look_explains_the_recorded_moments)};
    return _cmocka_run_group_tests("why_one_look", tests, ARRAY_LEN(tests), NULL, NULL);
}
