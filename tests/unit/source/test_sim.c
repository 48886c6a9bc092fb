/* SPDX-License-Identifier: Apache-2.0 */
#include "source/sim/sim.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "test.h"

#include "sim_snapshot.h"

static void pass_s(struct sim_machine *m, double seconds)
{
    clock_manual_advance_ms(&m->clock, (int64_t)(seconds * 1000));
}

static struct gpu look_at(struct sim_machine *m, size_t gpu, unsigned groups)
{
    struct gpu g = {0};
    struct error err = {0};
    assert_int_equal(sim_source.refresh(m->source, groups, &err), 0);
    sim_source.sample(m->source, gpu, groups, &g);
    return g;
}

static int64_t value(struct reading r)
{
    assert_int_equal(r.state, READING_OK);
    return r.value;
}

static void assert_same_gpu(const struct gpu *a, const struct gpu *b)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (a->metric[i].state != b->metric[i].state || a->metric[i].value != b->metric[i].value)
            fail_msg("%s differs: %lld and %lld", metric_table[i].field, (long long)a->metric[i].value,
                     (long long)b->metric[i].value);
    }
    assert_int_equal(a->process_count, b->process_count);
    for (size_t i = 0; i < a->process_count; i++) {
        struct process x = a->processes[i], y = b->processes[i];
        assert_true(!x.host == !y.host);
        if (x.host)
            assert_memory_equal(x.host, y.host, sizeof *x.host);
        x.host = y.host = NULL;
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void the_same_moment_reads_the_same_however_often_one_looked(void **state)
{
    (void)state;
    const struct sim_scenario *all;
    size_t count = sim_scenarios(&all);
    for (size_t i = 0; i < count; i++) {
        char params[64];
        snprintf(params, sizeof params, "scenario=%s,gpus=3,seed=7", all[i].name);
        struct sim_machine often, once;
        sim_machine_start(&often, params);
        sim_machine_start(&once, params);
        for (int n = 0; n < 40; n++) {
            pass_s(&often, 0.731);
            for (size_t gpu = 0; gpu < 3; gpu++) {
                struct gpu g = look_at(&often, gpu, GROUP_QUICK);
                gpu_done(&g);
            }
        }
        pass_s(&once, 40 * 0.731);
        for (size_t gpu = 0; gpu < 3; gpu++) {
            struct gpu a = look_at(&often, gpu, GROUP_ALL), b = look_at(&once, gpu, GROUP_ALL);
            assert_same_gpu(&a, &b);
            gpu_done(&a);
            gpu_done(&b);
        }
        sim_machine_stop(&often);
        sim_machine_stop(&once);
    }
}

static void every_scenario_gives_readings_that_a_card_could_give(void **state)
{
    (void)state;
    const struct sim_scenario *all;
    size_t count = sim_scenarios(&all);
    assert_true(count >= 20);
    for (size_t i = 0; i < count; i++) {
        char params[64];
        snprintf(params, sizeof params, "scenario=%s,gpus=12,vendor=mixed", all[i].name);
        struct sim_machine m;
        sim_machine_start(&m, params);
        for (int n = 0; n < 10; n++) {
            pass_s(&m, 7.3);
            for (size_t gpu = 0; gpu < 12; gpu++) {
                struct gpu g = look_at(&m, gpu, GROUP_ALL);
                assert_true(g.simulated);
                assert_string_equal(g.source, "sim");
                if (g.state != GPU_OK) {
                    assert_int_not_equal(g.power_mw.state, READING_OK);
                    gpu_done(&g);
                    continue;
                }
                int64_t total = value(g.mem_total_bytes);
                assert_int_equal(value(g.mem_used_bytes) + value(g.mem_free_bytes) + reading_or(g.mem_reserved_bytes, 0), total);
                assert_true(value(g.mem_used_bytes) >= 0 && value(g.mem_free_bytes) >= 0);
                assert_in_range(value(g.temp_mdegc), 20000, 105000);
                assert_true(value(g.power_mw) > 3000 && value(g.power_mw) <= value(g.power_limit_mw) * 103 / 100);
                for (size_t k = 0; k < METRIC_COUNT; k++)
                    assert_int_not_equal(g.metric[k].state, READING_UNREAD);
                int64_t used = 0;
                for (size_t k = 0; k < g.process_count; k++) {
                    used += value(g.processes[k].mem_bytes);
                    assert_true(g.processes[k].name[0] && g.processes[k].user[0] && g.processes[k].visible);
                    assert_true(g.processes[k].pid > 4194304);
                }
                assert_true(used <= value(g.mem_used_bytes));
                gpu_done(&g);
            }
        }
        sim_machine_stop(&m);
    }
}

static void only_the_groups_asked_for_are_read(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training");
    struct gpu g = look_at(&m, 0, GROUP_FAST);
    assert_int_equal(g.power_mw.state, READING_OK);
    assert_int_equal(g.ecc_corrected.state, READING_UNREAD);
    assert_int_equal(g.power_limit_max_mw.state, READING_UNREAD);
    assert_int_equal(g.property[PROPERTY_driver].state, READING_UNREAD);
    assert_int_equal(g.processes_state, READING_UNREAD);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void cards_keep_silent_about_what_the_real_ones_do_not_tell(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,model=h100");
    struct gpu g = look_at(&m, 0, GROUP_ALL);
    assert_int_equal(g.fan_permille.state, READING_UNSUPPORTED);
    assert_int_equal(g.tensor_active_permille.state, READING_OK);
    gpu_done(&g);
    sim_machine_stop(&m);
    sim_machine_start(&m, "scenario=training,model=rx7900xtx");
    g = look_at(&m, 0, GROUP_ALL);
    assert_int_equal(g.encoder_permille.state, READING_UNSUPPORTED);
    assert_int_equal(g.pstate.state, READING_UNSUPPORTED);
    assert_true(value(g.temp_hotspot_mdegc) > value(g.temp_mdegc));
    gpu_done(&g);
    sim_machine_stop(&m);
    sim_machine_start(&m, "scenario=training,vendor=intel");
    g = look_at(&m, 0, GROUP_ALL);
    assert_int_equal(g.fan_permille.state, READING_UNSUPPORTED);
    assert_true(value(g.fan_rpm) > 0);
    assert_int_equal(g.clock_memory_khz.state, READING_UNSUPPORTED);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void wrong_parameters_are_refused_with_the_nearest_right_one(void **state)
{
    (void)state;
    static const struct {
        const char *params, *says;
    } cases[] = {
        {"scenario=trainnig", "did you mean 'training'"},
        {"gpu=4", "did you mean 'gpus'"},
        {"gpus=0", "from 1 to 256"},
        {"gpus=257", "from 1 to 256"},
        {"gpus=2.5", "whole number"},
        {"vendor=nvida", "did you mean 'nvidia'"},
        {"model=h110", "did you mean 'h100'"},
        {"fault=lots", "did you mean 'lost'"},
        {"speed=fast", "must be a number"},
        {"fault=lost@9", "there are 4"},
        {"fault=lost:x", "must be a number"},
        {"seed=-1", "whole number"},
        {"zzz=1", "known: gpus, scenario"},
        {"fault=", "fault"},
        {"start=-1", "from 0"},
    };
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){0});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct source *s = NULL;
        assert_int_equal(sim_source.open(&env, cases[i].params, &s, &err), -EINVAL);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' says: %s", cases[i].params, err.text);
    }
}

static void nvidia_cards_come_first_and_addresses_rise(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "gpus=256,vendor=mixed");
    static struct gpu_id ids[GPU_MAX];
    assert_int_equal(sim_source.list(m.source, ids, GPU_MAX), 256);
    for (size_t i = 1; i < 256; i++) {
        assert_true(strcmp(ids[i - 1].pci_address, ids[i].pci_address) < 0);
        if (strcmp(ids[i].vendor, "nvidia") == 0)
            assert_string_equal(ids[i - 1].vendor, "nvidia");
        assert_false(gpu_same(&ids[i - 1], &ids[i]));
    }
    assert_int_equal(sim_source.list(m.source, ids, 5), 5);
    sim_machine_stop(&m);
}

static struct process serving_process(struct sim_machine *m)
{
    AUTO_SNAPSHOT const struct snapshot *s = sim_machine_sample(m, GROUP_ALL);
    assert_int_equal(s->gpus[0].process_count, 1);
    return s->gpus[0].processes[0];
}

static void what_a_model_server_counts_is_what_it_generates(void **state)
{
    (void)state;
    struct sim_machine m;
    enum { SECONDS = 120 };
    double generated = 0, prompt = 0;
    sim_machine_start(&m, "scenario=serving");
    const struct process before = serving_process(&m);
    for (int s = 0; s < SECONDS; s++) {
        const struct process p = serving_process(&m);
        generated += (double)p.tokens_milli.value / 1000;
        prompt += (double)p.prompt_milli.value / 1000;
        assert_in_range(p.requests_running.value, 10, 14);
        pass_s(&m, 1);
    }
    const struct process after = serving_process(&m);
    double counted = (double)(after.generated_tokens.value - before.generated_tokens.value);
    assert_true(fabs(counted - generated) < 0.01 * generated);
    assert_true(fabs((double)(after.prompt_tokens.value - before.prompt_tokens.value) - prompt) < 0.01 * prompt);
    assert_true(fabs(counted / SECONDS - 900) < 100);
    sim_machine_stop(&m);
    /* Without a request there is no time of one; one that is silent says nothing at all. */
    sim_machine_start(&m, "scenario=unused-model");
    assert_int_equal(serving_process(&m).first_token_us.state, READING_PENDING);
    assert_int_equal(serving_process(&m).requests_running.value, 0);
    sim_machine_stop(&m);
    sim_machine_start(&m, "scenario=silent-server");
    assert_int_equal(serving_process(&m).requests_running.state, READING_FAILED);
    sim_machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_moment_reads_the_same_however_often_one_looked),
        TEST(every_scenario_gives_readings_that_a_card_could_give),
        TEST(only_the_groups_asked_for_are_read),
        TEST(cards_keep_silent_about_what_the_real_ones_do_not_tell),
        TEST(wrong_parameters_are_refused_with_the_nearest_right_one),
        TEST(what_a_model_server_counts_is_what_it_generates),
        TEST(nvidia_cards_come_first_and_addresses_rise),
    };
    return RUN_TESTS(tests);
}
