/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "sim_truth.h"
#include "test.h"

#include "sim_snapshot.h"

static void pass_s(struct sim_machine *m, double seconds)
{
    clock_manual_advance_ms(&m->clock, (int64_t)(seconds * 1000));
}

/* The GPU now; owns nothing that is needed after the test. */
static struct gpu look(struct sim_machine *m, size_t gpu)
{
    struct gpu g = {0};
    sim_source.sample(m->source, gpu, GROUP_ALL, &g);
    return g;
}

static int64_t value(struct reading r)
{
    assert_int_equal(r.state, READING_OK);
    return r.value;
}

/* Heat, fan, clocks */

static void heat_follows_power_with_a_time_constant(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,model=h100,gpus=1,start=0");
    int64_t before = 0, temps[8];
    for (size_t i = 0; i < 8; i++) {
        pass_s(&m, 40);
        struct gpu g = look(&m, 0);
        temps[i] = value(g.temp_mdegc);
        assert_true(temps[i] >= before);
        before = temps[i];
        gpu_done(&g);
    }
    /* Each stretch closes a part of the gap: fast at first, nearly nothing at the end. */
    assert_true(temps[1] - temps[0] >= 8000);
    assert_true(temps[7] - temps[6] <= 1000);
    assert_in_range(temps[7], 62000, 80000);
    sim_machine_stop(&m);
}

static void a_fan_rises_with_the_heat(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,model=rtx4090,gpus=1,start=0");
    struct gpu g = look(&m, 0);
    assert_int_equal(value(g.fan_permille), 0); /* cool: it stands still */
    assert_int_equal(value(g.fan_rpm), 0);
    gpu_done(&g);
    pass_s(&m, 300);
    g = look(&m, 0);
    assert_in_range(value(g.fan_permille), 450, 900);
    assert_in_range(value(g.fan_rpm), 1400, 3000);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void a_fan_does_not_hunt_after_every_change_of_load(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=inference,model=rtx3060,gpus=1");
    int fan_turns = 0, heat_turns = 0;
    int64_t fan_way = 0, heat_way = 0, fan_before = -1, heat_before = 0;
    for (int i = 0; i < 600; i++) {
        pass_s(&m, 1);
        struct gpu g = look(&m, 0);
        int64_t fan = value(g.fan_target_permille), heat = value(g.temp_mdegc);
        if (fan_before >= 0 && fan != fan_before) {
            fan_turns += fan_way == (fan < fan_before ? 1 : -1);
            fan_way = fan < fan_before ? -1 : 1;
        }
        if (fan_before >= 0 && heat != heat_before) {
            heat_turns += heat_way == (heat < heat_before ? 1 : -1);
            heat_way = heat < heat_before ? -1 : 1;
        }
        fan_before = fan;
        heat_before = heat;
        gpu_done(&g);
    }
    print_message("turns: heat %d, fan %d\n", heat_turns, fan_turns);
    assert_true(heat_turns > 20 && fan_turns <= heat_turns / 3);
    sim_machine_stop(&m);
}

static void heat_lowers_the_clocks_until_it_is_bearable(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=overheat,start=110");
    struct gpu cool = look(&m, 0);
    pass_s(&m, 300);
    struct gpu hot = look(&m, 0);
    assert_false(value(cool.throttle_bits) & THROTTLE_HOT);
    assert_true(value(hot.throttle_bits) & THROTTLE_HOT);
    assert_true(value(hot.clock_graphics_khz) < value(cool.clock_graphics_khz) * 9 / 10);
    assert_true(value(hot.temp_mdegc) >= value(hot.temp_limit_mdegc) - 3000);
    assert_true(value(hot.temp_mdegc) < value(hot.temp_shutdown_mdegc));
    assert_true(value(hot.throttle_thermal_us) > 0);
    gpu_done(&cool);
    gpu_done(&hot);
    sim_machine_stop(&m);
}

static void a_power_limit_lowers_the_clocks(void **state)
{
    (void)state;
    struct sim_machine free, capped;
    sim_machine_start(&free, "scenario=bad-link");
    sim_machine_start(&capped, "scenario=power-cap");
    struct gpu a = look(&free, 0), b = look(&capped, 0);
    assert_true(value(b.throttle_bits) & THROTTLE_POWER_CAP);
    assert_true(value(b.power_mw) <= value(b.power_limit_mw));
    assert_true(value(b.power_limit_mw) < value(b.power_limit_default_mw));
    assert_true(value(b.clock_graphics_khz) < value(a.clock_graphics_khz));
    assert_true(value(b.temp_mdegc) < value(a.temp_mdegc));
    assert_int_equal(value(a.pcie_width), 4);
    assert_int_equal(value(a.pcie_width_max), 16);
    gpu_done(&a);
    gpu_done(&b);
    sim_machine_stop(&free);
    sim_machine_stop(&capped);
}

static void a_stopped_fan_is_told_to_turn_and_does_not(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=fan-stopped");
    struct gpu g = look(&m, 0);
    assert_int_equal(value(g.fan_permille), 0);
    assert_true(value(g.fan_target_permille) > 500);
    assert_true(value(g.temp_mdegc) > 85000);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void bad_airflow_heats_an_idle_card(void **state)
{
    (void)state;
    struct sim_machine normal, bad;
    sim_machine_start(&normal, "scenario=idle");
    sim_machine_start(&bad, "scenario=hot-idle");
    struct gpu a = look(&normal, 0), b = look(&bad, 0);
    assert_int_equal(value(b.util_permille), 0);
    assert_true(value(b.temp_mdegc) > value(a.temp_mdegc) + 15000);
    assert_true(value(b.fan_permille) > 300 && value(a.fan_permille) == 0);
    gpu_done(&a);
    gpu_done(&b);
    sim_machine_stop(&normal);
    sim_machine_stop(&bad);
}

static void energy_is_the_power_over_the_time_that_passed(void **state)
{
    (void)state;
    static const char *const speeds[] = {"scenario=training,gpus=1", "scenario=training,gpus=1,speed=20"};
    for (size_t i = 0; i < 2; i++) {
        struct sim_machine m;
        sim_machine_start(&m, speeds[i]);
        struct gpu g = look(&m, 0);
        int64_t start = value(g.energy_mj), integral = 0, last = 0;
        gpu_done(&g);
        for (int k = 0; k < 40; k++) {
            g = look(&m, 0);
            integral += value(g.power_mw) / 2;
            assert_true(k == 0 || value(g.energy_mj) > last); /* it moves with every look, not once a second */
            last = value(g.energy_mj);
            gpu_done(&g);
            pass_s(&m, 0.5);
        }
        g = look(&m, 0);
        int64_t counted = value(g.energy_mj) - start;
        assert_in_range(counted, integral * 97 / 100, integral * 103 / 100);
        gpu_done(&g);
        sim_machine_stop(&m);
    }
}

static void a_held_context_keeps_the_clocks_up_and_a_parked_one_does_not(void **state)
{
    (void)state;
    struct sim_machine held, parked;
    sim_machine_start(&held, "scenario=held-context,gpus=2");
    sim_machine_start(&parked, "scenario=game-start,gpus=2");
    struct gpu a = look(&held, 1), b = look(&parked, 1);
    assert_int_equal(value(a.util_permille), 0);
    assert_true(value(a.clock_graphics_khz) > 2000000);
    assert_true(value(b.clock_graphics_khz) < 500000);
    assert_true(value(a.power_mw) > value(b.power_mw) + 15000);
    gpu_done(&a);
    gpu_done(&b);
    sim_machine_stop(&held);
    sim_machine_stop(&parked);
}

/* Scenarios */

static const struct process *find_process(const struct gpu *g, const char *name)
{
    for (size_t i = 0; i < g->process_count; i++)
        if (strcmp(g->processes[i].name, name) == 0)
            return &g->processes[i];
    return NULL;
}

static void the_game_starts_after_ten_seconds(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=game-start");
    pass_s(&m, 9.9);
    struct gpu before = look(&m, 0);
    assert_null(find_process(&before, "Starfall.exe"));
    int64_t opened_ms = 1800000000000;
    pass_s(&m, 20);
    struct gpu after = look(&m, 0);
    const struct process *game = find_process(&after, "Starfall.exe");
    assert_non_null(game);
    assert_int_equal(game->started_at.ms, opened_ms + 10000);
    assert_true(value(game->util_permille) > 700);
    assert_true(value(after.mem_used_bytes) > value(before.mem_used_bytes) + (8LL << 30));
    assert_true(value(after.util_permille) > 700 && value(before.util_permille) < 200);
    gpu_done(&before);
    gpu_done(&after);
    sim_machine_stop(&m);
}

static void a_leak_fills_the_card_and_then_starts_again_as_another_process(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=vram-leak,start=0,seed=5");
    int64_t peak = 0, total = 0;
    int32_t first = 0, second = 0;
    for (int i = 0; i < 2400; i++) {
        struct gpu g = look(&m, 0);
        const struct process *p = find_process(&g, "python3");
        if (p && !first)
            first = p->pid;
        if (p && p->pid != first)
            second = p->pid;
        if (!second && value(g.mem_used_bytes) > peak)
            peak = value(g.mem_used_bytes);
        total = value(g.mem_total_bytes) - value(g.mem_reserved_bytes);
        gpu_done(&g);
        pass_s(&m, 1);
    }
    assert_true(peak > total * 99 / 100 && peak <= total);
    assert_true(first && second && first != second);
    sim_machine_stop(&m);
}

static void seeds_give_different_courses(void **state)
{
    (void)state;
    struct sim_machine a, b;
    sim_machine_start(&a, "scenario=vram-leak,seed=1,start=500");
    sim_machine_start(&b, "scenario=vram-leak,seed=2,start=500");
    struct gpu x = look(&a, 0), y = look(&b, 0);
    assert_int_not_equal(value(x.mem_used_bytes), value(y.mem_used_bytes));
    assert_string_not_equal(x.id.uuid, y.id.uuid);
    gpu_done(&x);
    gpu_done(&y);
    sim_machine_stop(&a);
    sim_machine_stop(&b);
}

static void speed_makes_more_happen_in_the_same_time(void **state)
{
    (void)state;
    struct sim_machine slow, fast;
    sim_machine_start(&slow, "scenario=vram-leak,start=100");
    sim_machine_start(&fast, "scenario=vram-leak,start=100,speed=60");
    pass_s(&slow, 300);
    pass_s(&fast, 5);
    struct gpu a = look(&slow, 0), b = look(&fast, 0);
    assert_int_equal(value(a.mem_used_bytes), value(b.mem_used_bytes));
    assert_int_equal(value(a.temp_mdegc), value(b.temp_mdegc));
    gpu_done(&a);
    gpu_done(&b);
    sim_machine_stop(&slow);
    sim_machine_stop(&fast);
}

static void mig_puts_processes_into_instances(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=mig");
    struct gpu g = look(&m, 0);
    assert_int_equal(value(g.mig_enabled), 1);
    assert_int_equal(g.instance_count, 4);
    assert_string_equal(g.instances[0].profile, "3g.40gb");
    assert_int_equal(g.util_permille.state, READING_UNSUPPORTED);
    int64_t used = 0;
    for (size_t i = 0; i < g.instance_count; i++) {
        assert_true(g.instances[i].simulated);
        assert_int_equal(strncmp(g.instances[i].id.uuid, "MIG-", 4), 0);
        used += value(g.instances[i].mem_used_bytes);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(g.instances[i].id.uuid, g.instances[k].id.uuid);
    }
    assert_int_equal(used, value(g.mem_used_bytes));
    assert_int_equal(g.process_count, 3);
    for (size_t i = 0; i < g.process_count; i++) {
        assert_in_range(g.processes[i].instance, 0, 3);
        assert_int_equal(g.processes[i].util_permille.state, READING_UNSUPPORTED);
    }
    gpu_done(&g);
    sim_machine_stop(&m);
}

/* Faults on command */

static enum gpu_state state_of(struct sim_machine *m, size_t gpu)
{
    struct gpu g = look(m, gpu);
    enum gpu_state s = g.state;
    gpu_done(&g);
    return s;
}

static void a_lost_gpu_stays_listed_and_comes_back(void **state)
{
    (void)state;
    struct sim_machine m;
    struct gpu_id ids[4];
    sim_machine_start(&m, "scenario=idle,gpus=3,fault=lost@1:10-20");
    assert_int_equal(state_of(&m, 1), GPU_OK);
    pass_s(&m, 10);
    struct gpu g = look(&m, 1);
    assert_int_equal(g.state, GPU_LOST);
    assert_string_equal(g.error_message, "GPU is lost");
    assert_int_equal(g.temp_mdegc.state, READING_FAILED);
    assert_true(g.id.uuid[0]);
    assert_int_equal(state_of(&m, 0), GPU_OK);
    assert_int_equal(state_of(&m, 2), GPU_OK);
    assert_int_equal(sim_source.list(m.source, ids, 4), 3);
    pass_s(&m, 10);
    assert_int_equal(state_of(&m, 1), GPU_OK);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void errors_hit_one_card_or_the_whole_source(void **state)
{
    (void)state;
    struct sim_machine m;
    struct error err = {0};
    sim_machine_start(&m, "scenario=idle,gpus=2,fault=error@1");
    assert_int_equal(sim_source.refresh(m.source, GROUP_ALL, &err), 0);
    assert_int_equal(state_of(&m, 0), GPU_OK);
    assert_int_equal(state_of(&m, 1), GPU_ERROR);
    sim_machine_stop(&m);
    sim_machine_start(&m, "scenario=idle,gpus=2,fault=error:5-8");
    assert_int_equal(sim_source.refresh(m.source, GROUP_ALL, &err), 0);
    pass_s(&m, 6);
    assert_int_equal(sim_source.refresh(m.source, GROUP_ALL, &err), -EIO);
    assert_non_null(strstr(err.text, "simulated"));
    pass_s(&m, 6);
    assert_int_equal(sim_source.refresh(m.source, GROUP_ALL, &err), 0);
    sim_machine_stop(&m);
}

static void denied_hides_processes_and_says_how_many(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=training,gpus=1,fault=denied");
    struct gpu g = look(&m, 0);
    assert_int_equal(g.processes_state, READING_DENIED);
    assert_int_equal(g.process_count, 0);
    assert_int_equal(g.processes_hidden, 1);
    assert_int_equal(g.sm_active_permille.state, READING_DENIED);
    assert_int_equal(g.temp_mdegc.state, READING_OK);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void xids_and_memory_errors_are_told_once(void **state)
{
    (void)state;
    struct sim_machine m;
    struct event events[8];
    sim_machine_start(&m, "scenario=idle,gpus=2,model=h100,fault=xid79@1:5,fault=ecc:8");
    assert_int_equal(sim_source.events(m.source, events, 8), 0);
    struct gpu g = look(&m, 1);
    assert_int_equal(g.xid_last.state, READING_PENDING);
    gpu_done(&g);
    pass_s(&m, 6);
    assert_int_equal(sim_source.events(m.source, events, 8), 1);
    assert_int_equal(events[0].kind, EVENT_DRIVER_FAULT);
    assert_int_equal(events[0].code, 79);
    assert_int_equal(events[0].gpu_index, 1);
    assert_int_equal(events[0].at.ms, 1800000000000 + 5000);
    assert_int_equal(sim_source.events(m.source, events, 8), 0);
    pass_s(&m, 30);
    assert_int_equal(sim_source.events(m.source, events, 8), 1);
    assert_int_equal(events[0].kind, EVENT_ECC);
    g = look(&m, 1);
    assert_int_equal(value(g.xid_last), 79);
    assert_int_equal(value(g.ecc_uncorrected), 0);
    gpu_done(&g);
    g = look(&m, 0);
    assert_int_equal(value(g.ecc_uncorrected), 1);
    assert_true(value(g.ecc_corrected) > 0 && value(g.remapped_rows_pending) == 1);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void a_slow_driver_takes_its_time(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=idle,fault=slow0.05");
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(state_of(&m, 0), GPU_OK);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >= 50000000);
    sim_machine_stop(&m);
}

static void sleeping_cards_are_absent_for_that_reason(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=asleep");
    struct gpu g = look(&m, 0);
    assert_int_equal(g.state, GPU_ASLEEP);
    assert_int_equal(g.power_mw.state, READING_ASLEEP);
    assert_int_equal(g.processes_state, READING_ASLEEP);
    pass_s(&m, 250);
    assert_int_equal(state_of(&m, 0), GPU_OK);
    gpu_done(&g);
    sim_machine_stop(&m);
}

/* The answer key */

static struct sim_truth truth_in(struct sim_machine *m, size_t gpu, double seconds)
{
    struct sim_truth t;
    struct wall at = {clock_wall(m->env.clock).ms + (int64_t)(seconds * 1000)};
    assert_int_equal(sim_truth(m->source, gpu, at, &t), 0);
    return t;
}

static void the_truth_names_who_loads_the_card_at_any_time(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "scenario=night");
    struct sim_truth t = truth_in(&m, 1, 3 * 3600);
    assert_string_equal(t.cause, "training");
    assert_string_equal(t.user, "alice");
    assert_true(t.pid > 0 && t.cause_util > 0.5);
    assert_string_equal(truth_in(&m, 2, 3600).cause, "rendering");
    assert_string_equal(truth_in(&m, 2, 4 * 3600).cause, "fine-tuning");
    assert_string_equal(truth_in(&m, 0, 6 * 3600).cause, "miner");
    assert_string_equal(truth_in(&m, 2, 60).cause, "idle");
    t = truth_in(&m, 2, 2 * 3600 + 11 * 60);
    assert_string_equal(t.ended, "rendering");
    assert_true(t.ended_ago_s > 50 && t.ended_ago_s < 70);
    assert_true(truth_in(&m, 3, 4.5 * 3600).trouble & SIM_WARM_ROOM);
    /* Asking about the future changed nothing. */
    struct gpu g = look(&m, 1);
    assert_int_equal(g.process_count, 0);
    gpu_done(&g);
    sim_machine_stop(&m);
}

static void the_truth_agrees_with_the_readings(void **state)
{
    (void)state;
    const struct sim_scenario *all;
    size_t count = sim_scenarios(&all);
    for (size_t i = 0; i < count; i++) {
        struct sim_machine m;
        char params[64];
        if (all[i].reading_count || all[i].hides)
            continue; /* they contradict what the GPU does, on purpose */
        snprintf(params, sizeof params, "scenario=%s", all[i].name);
        sim_machine_start(&m, params);
        for (int k = 0; k < 20; k++) {
            struct sim_truth t = truth_in(&m, 0, 0);
            struct gpu g = look(&m, 0);
            if (g.state == GPU_OK && t.pid)
                assert_non_null(gpu_find_process(&g, t.pid));
            assert_int_equal(!!(t.trouble & SIM_LOST), g.state == GPU_LOST);
            assert_int_equal(!!(t.trouble & SIM_ASLEEP), g.state == GPU_ASLEEP);
            if (g.state == GPU_OK)
                assert_int_equal((int64_t)t.temp_c, value(g.temp_mdegc) / 1000);
            gpu_done(&g);
            pass_s(&m, 13.7);
        }
        sim_machine_stop(&m);
    }
}

static void the_truth_knows_when_memory_is_full_and_heat_slows(void **state)
{
    (void)state;
    struct sim_machine m;
    double seconds;
    sim_machine_start(&m, "scenario=vram-leak,start=60");
    assert_int_equal(sim_truth_vram_full(m.source, 0, clock_wall(m.env.clock), 7200, &seconds), 0);
    pass_s(&m, seconds - 30);
    struct gpu before = look(&m, 0);
    pass_s(&m, 31);
    struct gpu full = look(&m, 0);
    int64_t all = value(full.mem_total_bytes) - value(full.mem_reserved_bytes);
    assert_true(value(before.mem_used_bytes) < all * 995 / 1000);
    assert_true(value(full.mem_used_bytes) >= all * 99 / 100);
    assert_int_equal(sim_truth_throttle(m.source, 0, clock_wall(m.env.clock), 600, &seconds), -ENOENT);
    gpu_done(&before);
    gpu_done(&full);
    sim_machine_stop(&m);

    sim_machine_start(&m, "scenario=overheat,start=0");
    assert_int_equal(sim_truth_throttle(m.source, 0, clock_wall(m.env.clock), 3600, &seconds), 0);
    assert_true(seconds > 120 && seconds < 400);
    sim_machine_stop(&m);
}

static void the_truth_refuses_what_it_cannot_know(void **state)
{
    (void)state;
    struct sim_machine m;
    struct sim_truth t;
    sim_machine_start(&m, "scenario=idle,start=10");
    struct wall now = clock_wall(m.env.clock);
    assert_int_equal(sim_truth(m.source, 1, now, &t), -EINVAL);
    assert_int_equal(sim_truth(NULL, 0, now, &t), -EINVAL);
    assert_int_equal(sim_truth(m.source, 0, (struct wall){now.ms - 11000}, &t), -ERANGE);
    assert_int_equal(sim_truth(m.source, 0, (struct wall){now.ms - 9000}, &t), 0);
    sim_machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(heat_follows_power_with_a_time_constant),
        TEST(a_fan_rises_with_the_heat),
        TEST(a_fan_does_not_hunt_after_every_change_of_load),
        TEST(heat_lowers_the_clocks_until_it_is_bearable),
        TEST(a_power_limit_lowers_the_clocks),
        TEST(a_stopped_fan_is_told_to_turn_and_does_not),
        TEST(bad_airflow_heats_an_idle_card),
        TEST(energy_is_the_power_over_the_time_that_passed),
        TEST(a_held_context_keeps_the_clocks_up_and_a_parked_one_does_not),
        TEST(the_game_starts_after_ten_seconds),
        TEST(a_leak_fills_the_card_and_then_starts_again_as_another_process),
        TEST(seeds_give_different_courses),
        TEST(speed_makes_more_happen_in_the_same_time),
        TEST(mig_puts_processes_into_instances),
        TEST(a_lost_gpu_stays_listed_and_comes_back),
        TEST(errors_hit_one_card_or_the_whole_source),
        TEST(denied_hides_processes_and_says_how_many),
        TEST(xids_and_memory_errors_are_told_once),
        TEST(a_slow_driver_takes_its_time),
        TEST(sleeping_cards_are_absent_for_that_reason),
        TEST(the_truth_names_who_loads_the_card_at_any_time),
        TEST(the_truth_agrees_with_the_readings),
        TEST(the_truth_knows_when_memory_is_full_and_heat_slows),
        TEST(the_truth_refuses_what_it_cannot_know),
    };
    return RUN_TESTS(tests);
}
