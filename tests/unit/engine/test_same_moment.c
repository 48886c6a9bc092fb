/* SPDX-License-Identifier: Apache-2.0
 * A GPU and its processes are shown as of one moment, also where the processes were read in an earlier sample: as while a game
 * runs.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "source/sim/sim.h"
#include "test.h"

enum { PATIENCE_MS = 90000, LOOKS = 60, STEP_S = 3, NEAR = 120, SHARE_MAX = 1000 };

/* The clock of the host, moved on between two looks. */
static _Atomic int64_t passed_s;

static struct mono mono_of_test(const struct clock *c)
{
    (void)c;
    return (struct mono){clock_mono(&clock_system).ns + atomic_load(&passed_s) * NS_PER_S};
}

static struct wall wall_of_test(const struct clock *c)
{
    (void)c;
    return (struct wall){clock_wall(&clock_system).ms + atomic_load(&passed_s) * MS_PER_S};
}

/* Drivers round each share, those of a program that is just starting are of a moment before, and a GPU at its limit is given to all
 * that want it. */
static void check_gpu(const char *scenario, int look, const struct gpu *gpu)
{
    int64_t load, power, shares = 0, watts = 0, share, its;
    bool known = gpu->processes_state == READING_OK && !gpu->processes_hidden && !gpu->instance_count;
    if (gpu->state != GPU_OK || !reading_get(gpu->util_permille, &load) || !reading_get(gpu->power_mw, &power))
        return;
    for (size_t i = 0; i < gpu->process_count; i++) {
        bool has = reading_get(gpu->processes[i].util_permille, &share);
        known &= has;
        shares += has ? share : 0;
        watts += reading_get(gpu->processes[i].power_mw, &its) ? its : 0;
    }
    int64_t near = NEAR + 10 * (int64_t)gpu->process_count;
    bool too_much = MIN_OF(shares, (int64_t)SHARE_MAX) > load + near || watts > power;
    bool too_little = known && (shares < load - near || (load >= 500 && gpu->process_count && watts * 3 < power));
    if (too_much || too_little)
        fail_msg("%s, look %d, GPU %d: %lld permille and %lld mW, its processes %lld and %lld", scenario, look, gpu->index,
                 (long long)load, (long long)power, (long long)shares, (long long)watts);
}

/* Three minutes of each: seconds pass between two looks, of which every sixth reads the processes. */
static void run_scenario(struct env *env, const char *name)
{
    char source[96];
    snprintf(source, sizeof source, "sim:scenario=%.40s", name);
    const char *sources[] = {source};
    struct engine_options options = {.env = env, .sources = sources, .source_count = 1, .interval_ms = 0};
    struct error err = {0};
    struct engine *e = engine_new(&options, &err);
    assert_non_null(e);
    for (int look = 0; look < LOOKS; look++) {
        AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, look % 6 ? GROUP_FAST : GROUP_QUICK, -1, PATIENCE_MS);
        assert_non_null(s);
        atomic_fetch_add(&passed_s, STEP_S);
        for (size_t i = 0; i < s->gpu_count; i++)
            check_gpu(name, look, &s->gpus[i]);
    }
    engine_free(e);
}

static void processes_add_up_to_their_gpu_at_every_moment(void **state)
{
    (void)state;
    struct env env;
    static const struct clock clock = {.mono = mono_of_test, .wall = wall_of_test};
    env_init_system(&env);
    env.clock = &clock;
    const struct sim_scenario *scenarios;
    size_t count = sim_scenarios(&scenarios);
    assert_true(count > 10);
    for (size_t i = 0; i < count; i++)
        if (!scenarios[i].reading_count && !scenarios[i].hides) /* those contradict themselves, on purpose */
            run_scenario(&env, scenarios[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(processes_add_up_to_their_gpu_at_every_moment),
    };
    return RUN_TESTS(tests);
}
