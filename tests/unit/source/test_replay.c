/* SPDX-License-Identifier: Apache-2.0 */
#include "model/finding_code.h"
#include "source/source.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "format/record.h"
#include "source/replay/reader.h"
#include "test.h"

#include "same_snapshot.h"
#include "sim_snapshot.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/whirr-replay-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/recording", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* One sample a second. */
enum { RECORDED = 90 };
static struct snapshot *recorded[RECORDED];

static void record_later(const char *params, int64_t later_ms)
{
    struct sim_machine m;
    struct error err = {0};
    sim_machine_start(&m, params);
    clock_manual_advance_ms(&m.clock, later_ms);
    struct recorder *r = recorder_open(path, &err);
    assert_non_null(r);
    for (size_t i = 0; i < RECORDED; i++) {
        recorded[i] = sim_machine_sample(&m, GROUP_ALL);
        if (recorded[i]->gpus[0].process_count > 1) { /* one of which only the number was known */
            struct process *p = &recorded[i]->gpus[0].processes[1];
            *p = (struct process){.pid = p->pid, .type = p->type, .instance = -1};
        }
        assert_int_equal(recorder_add(r, recorded[i], &err), 0);
        clock_manual_advance_ms(&m.clock, 1000);
    }
    recorder_close(r, NULL);
    sim_machine_stop(&m);
}

static void record(const char *params)
{
    record_later(params, 0);
}

static void forget_recorded(void)
{
    for (size_t i = 0; i < RECORDED; i++)
        snapshot_unref(recorded[i]);
}

struct player {
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct gpu_id ids[GPU_MAX];
    int count;
};

static int64_t played_from_ms = 1900000000000;

static void play(struct player *p, const char *options)
{
    char params[200];
    struct error err = {0};
    clock_manual_init(&p->clock, (struct wall){played_from_ms});
    p->env = (struct env){.sysroot = "", .clock = &p->clock.clock};
    snprintf(params, sizeof params, "%s%s", path, options);
    if (replay_source.open(&p->env, params, &p->source, &err) < 0)
        fail_msg("%s", err.text);
    p->count = replay_source.list(p->source, p->ids, GPU_MAX);
}

/* The number of the recorded sample that is shown now, by its energy counter. */
static struct gpu shown(struct player *p, size_t gpu)
{
    struct gpu g = {0};
    struct error err = {0};
    assert_int_equal(replay_source.refresh(p->source, GROUP_ALL, &err), 0);
    replay_source.sample(p->source, gpu, GROUP_ALL, &g);
    return g;
}

static void assert_shows(struct player *p, size_t which)
{
    struct gpu g = shown(p, 1);
    assert_same_reading(g.power_instant_mw, recorded[which]->gpus[1].power_instant_mw, "power");
    assert_same_reading(g.energy_mj, recorded[which]->gpus[1].energy_mj, "energy");
    assert_int_equal(g.state, recorded[which]->gpus[1].state);
    gpu_done(&g);
}

static void shows_at_each_moment_what_was_read_then(void **state)
{
    (void)state;
    record("scenario=gpu-lost,start=30");
    struct player p;
    play(&p, "");
    for (size_t i = 0; i < RECORDED; i++) {
        assert_shows(&p, i);
        clock_manual_advance_ms(&p.clock, 400);
        assert_shows(&p, i);
        clock_manual_advance_ms(&p.clock, 600);
    }
    replay_source.close(p.source);
    forget_recorded();
}

static void holds_the_last_sample_and_says_so(void **state)
{
    (void)state;
    record("scenario=training");
    struct player p;
    play(&p, "");
    AUTO_BUF struct buf before = BUF(4096), after = BUF(4096);
    replay_source.describe(p.source, &before);
    assert_null(strstr(before.at, "at the end"));
    assert_non_null(strstr(before.at, "recorded from sim (ok)"));
    clock_manual_advance_ms(&p.clock, 1000 * 1000);
    assert_shows(&p, RECORDED - 1);
    replay_source.describe(p.source, &after);
    assert_non_null(strstr(after.at, "at the end: holds the last sample"));
    replay_source.close(p.source);
    forget_recorded();
}

static void speed_at_and_loop_move_along_the_recording(void **state)
{
    (void)state;
    record("scenario=training");
    struct player p;
    play(&p, ",speed=10,at=20");
    assert_shows(&p, 20);
    clock_manual_advance_ms(&p.clock, 3000);
    assert_shows(&p, 50);
    replay_source.close(p.source);

    play(&p, ",loop");
    clock_manual_advance_ms(&p.clock, (RECORDED + 7) * 1000);
    assert_shows(&p, 7);
    clock_manual_advance_ms(&p.clock, 1000LL * RECORDED * 100000); /* no sample for long: rounds without one are not played */
    assert_shows(&p, 7);
    replay_source.close(p.source);

    play(&p, ",at=100000");
    assert_shows(&p, RECORDED - 1);
    replay_source.close(p.source);
    forget_recorded();
}

static void a_night_between_two_sessions_is_not_waited_for(void **state)
{
    (void)state;
    record("scenario=idle,gpus=2");
    forget_recorded();
    record_later("scenario=idle,gpus=2", 8 * 3600 * 1000);
    struct player p;
    play(&p, "");
    clock_manual_advance_ms(&p.clock, (RECORDED - 1 + 60) * 1000);
    assert_shows(&p, 0);
    clock_manual_advance_ms(&p.clock, 5000);
    assert_shows(&p, 5);
    replay_source.close(p.source);
    forget_recorded();
}

static void cards_keep_their_order_source_and_label(void **state)
{
    (void)state;
    record("scenario=mixed,gpus=5");
    struct player p;
    play(&p, "");
    assert_int_equal(p.count, 5);
    for (size_t i = 0; i < 5; i++) {
        struct gpu g = shown(&p, i);
        assert_string_equal(p.ids[i].pci_address, recorded[0]->gpus[i].id.pci_address);
        assert_string_equal(g.id.name, recorded[0]->gpus[i].id.name);
        assert_string_equal(g.source, "sim");
        assert_true(g.simulated);
        gpu_done(&g);
    }
    assert_false(replay_source.simulated);
    struct driver_info driver = {0};
    replay_source.driver(p.source, &driver);
    assert_string_equal(driver.driver_version, recorded[0]->driver.driver_version);
    replay_source.close(p.source);
    forget_recorded();
}

static void processes_are_as_old_as_they_were_and_not_looked_for_here(void **state)
{
    (void)state;
    record("scenario=mixed");
    struct player p;
    play(&p, "");
    clock_manual_advance_ms(&p.clock, 5000);
    struct gpu g = shown(&p, 0);
    const struct gpu *then = &recorded[5]->gpus[0];
    assert_true(g.process_count == then->process_count && g.process_count > 0);
    assert_false(g.processes[1].visible);
    assert_int_equal(g.processes[1].started_at.ms, 0);
    for (size_t i = 0; i < g.process_count; i++) {
        assert_int_not_equal(g.processes[i].start_key, 0); /* else it would be looked for on this machine */
        if (i == 1)
            continue;
        int64_t age_then = recorded[5]->taken_at.ms - then->processes[i].started_at.ms;
        assert_int_equal(played_from_ms + 5000 - g.processes[i].started_at.ms, age_then);
    }
    gpu_done(&g);
    replay_source.close(p.source);
    forget_recorded();
}

static void events_come_once_at_the_time_of_playing(void **state)
{
    (void)state;
    record("scenario=idle,gpus=2,model=h100,fault=xid31@1:10,fault=xid79@0:12");
    struct player p;
    struct event events[EVENTS_MAX];
    play(&p, "");
    assert_int_equal(replay_source.events(p.source, events, EVENTS_MAX), 0);
    clock_manual_advance_ms(&p.clock, 20000);
    replay_source.refresh(p.source, GROUP_ALL, NULL);
    assert_int_equal(replay_source.events(p.source, events, EVENTS_MAX), 2);
    assert_int_equal(events[0].kind, EVENT_DRIVER_FAULT);
    assert_int_equal(events[0].code, 31);
    assert_int_equal(events[0].gpu_index, 1);
    assert_int_equal(events[0].at.ms, played_from_ms + 10000);
    assert_int_equal(events[1].code, 79);
    assert_int_equal(replay_source.events(p.source, events, EVENTS_MAX), 0);
    replay_source.close(p.source);
    forget_recorded();
}

static void a_changed_set_of_cards_is_noticed(void **state)
{
    (void)state;
    record("scenario=idle,gpus=2");
    forget_recorded();
    record("scenario=idle,gpus=3"); /* goes on in the same file, after a step back of the clock */
    struct player p;
    play(&p, "");
    assert_int_equal(p.count, 2);
    clock_manual_advance_ms(&p.clock, 30000);
    assert_false(replay_source.changed(p.source));
    clock_manual_advance_ms(&p.clock, 80000);
    assert_true(replay_source.changed(p.source));
    assert_int_equal(replay_source.list(p.source, p.ids, GPU_MAX), 3);
    assert_false(replay_source.changed(p.source));
    replay_source.close(p.source);
    forget_recorded();
}

static void a_folder_with_a_recording_inside_will_do(void **state)
{
    (void)state;
    record("scenario=idle,gpus=2");
    char inside[160], outer[160];
    snprintf(outer, sizeof outer, "%s/whirr", folder);
    snprintf(inside, sizeof inside, "%s/recording", outer);
    assert_int_equal(mkdir(outer, 0700), 0);
    assert_int_equal(rename(path, inside), 0);
    struct error err = {0};
    struct replay_reader *r;
    assert_int_equal(replay_reader_open(folder, &r, &err), 0);
    replay_reader_close(r);
    unlink(inside);
    rmdir(outer);
    forget_recorded();
}

static void the_engine_shows_the_recorded_machine(void **state)
{
    (void)state;
    record("scenario=mixed,gpus=3");
    struct env env;
    struct error err = {0};
    char source[160];
    env_init_system(&env);
    snprintf(source, sizeof source, "replay:%s,at=5", path);
    const char *sources[] = {source};
    struct engine_options options = {.env = &env, .sources = sources, .source_count = 1};
    struct engine *e = engine_new(&options, &err);
    assert_non_null(e);
    const struct snapshot *s = engine_sample(e, GROUP_ALL, 0, 5000);
    assert_non_null(s);
    assert_string_equal(s->host.name, "sim-host");
    assert_string_equal(s->sources[0].name, "replay");
    assert_int_equal(s->gpu_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(s->gpus[i].source, "sim");
        assert_true(s->gpus[i].simulated);
        assert_string_equal(s->gpus[i].id.name, recorded[5]->gpus[i].id.name);
        assert_int_equal(s->gpus[i].process_count, recorded[5]->gpus[i].process_count);
    }
    snapshot_unref(s);
    engine_free(e);

    sources[0] = "replay:/nowhere/recording";
    assert_null(engine_new(&options, &err));
    assert_non_null(strstr(err.text, "cannot open the recording"));
    sources[0] = "sim:scenario=trainin";
    assert_null(engine_new(&options, &err));
    assert_non_null(strstr(err.text, "did you mean 'training'"));
    forget_recorded();
}

/* What a recording holds before the moment that is looked at is in the judgement, as if it had been watched. */
static void the_engine_judges_a_moment_by_what_came_before(void **state)
{
    (void)state;
    static const struct {
        int at;
        finding_code code;
    } moments[] = {{2, FINDING_CANNOT_KNOW}, {80, FINDING_AIRFLOW}};
    record("scenario=hot-idle");
    struct env env;
    struct error err = {0};
    char source[160];
    env_init_system(&env);
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        snprintf(source, sizeof source, "replay:%s,at=%d", path, moments[i].at);
        const char *sources[] = {source};
        struct engine *e = engine_new(&(struct engine_options){.env = &env, .sources = sources, .source_count = 1}, &err);
        assert_non_null(e);
        AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_ALL, 0, 5000);
        assert_non_null(s);
        assert_string_equal(finding_code_name(verdict_main(s->verdict)->code), finding_code_name(moments[i].code));
        engine_free(e);
    }
    forget_recorded();
}

static void wrong_parameters_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *params, *says;
    } cases[] = {{"", "replay:FILE"},
                 {"/nowhere/recording", "cannot open"},
                 {"/nowhere,speed=0", "must be a number"},
                 {"/nowhere,sped=2", "unknown option 'sped=2'"},
                 {"/nowhere,at=-1", "must be a number"},
                 {",loop", "missing"}};
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){0});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct source *s = NULL;
        assert_true(replay_source.open(&env, cases[i].params, &s, &err) < 0);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' says: %s", cases[i].params, err.text);
    }
}

static void a_recording_without_a_sample_says_so(void **state)
{
    (void)state;
    struct error err = {0};
    recorder_close(recorder_open(path, &err), NULL);
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){0});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    struct source *s = NULL;
    assert_int_equal(replay_source.open(&env, path, &s, &err), -ENODATA);
    assert_non_null(strstr(err.text, "no sample"));
}

#define REPLAY_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPLAY_TEST(shows_at_each_moment_what_was_read_then),
        REPLAY_TEST(holds_the_last_sample_and_says_so),
        REPLAY_TEST(speed_at_and_loop_move_along_the_recording),
        REPLAY_TEST(a_night_between_two_sessions_is_not_waited_for),
        REPLAY_TEST(cards_keep_their_order_source_and_label),
        REPLAY_TEST(processes_are_as_old_as_they_were_and_not_looked_for_here),
        REPLAY_TEST(events_come_once_at_the_time_of_playing),
        REPLAY_TEST(a_changed_set_of_cards_is_noticed),
        REPLAY_TEST(a_folder_with_a_recording_inside_will_do),
        REPLAY_TEST(the_engine_shows_the_recorded_machine),
        REPLAY_TEST(the_engine_judges_a_moment_by_what_came_before),
        REPLAY_TEST(wrong_parameters_are_refused),
        REPLAY_TEST(a_recording_without_a_sample_says_so),
    };
    return RUN_TESTS(tests);
}
