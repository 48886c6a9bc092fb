/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "format/record.h"
#include "test.h"

enum { PATIENCE_MS = 90000 };

static struct env env;

static struct engine *engine_of(const struct env *machine, const char *const *sources, size_t count, int64_t interval_ms,
                                int64_t hung_after_ms)
{
    struct engine_options options = {
        .env = machine, .sources = sources, .source_count = count, .interval_ms = interval_ms, .hung_after_ms = hung_after_ms};
    struct error err = {0};
    struct engine *e = engine_new(&options, &err);
    assert_non_null(e);
    return e;
}

static struct engine *engine(const char *const *sources, size_t count, int64_t interval_ms, int64_t hung_after_ms)
{
    return engine_of(&env, sources, count, interval_ms, hung_after_ms);
}

static void drop(void *s)
{
    snapshot_unref(s);
}

static void one_sample_of_a_simulated_machine(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=3,scenario=training"};
    struct engine *e = engine(sources, 1, 0, 0);
    assert_null(engine_latest(e));
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_non_null(s);
    assert_int_equal(s->gpu_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s->gpus[i].index, i);
        assert_true(s->gpus[i].simulated);
        assert_int_equal(s->gpus[i].temp_mdegc.state, READING_OK);
        assert_int_equal(s->gpus[i].energy_mj.state, READING_UNREAD); /* not asked for */
    }
    assert_int_equal(s->source_count, 1);
    assert_int_equal(s->sources[0].state, SOURCE_OK);
    assert_true(s->host.name[0] != '\0');
    engine_free(e);
}

static void more_groups_are_read_when_asked_for_and_kept_afterwards(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=training"};
    struct engine *e = engine(sources, 1, 0, 0);
    AUTO_SNAPSHOT const struct snapshot *quick = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    AUTO_SNAPSHOT const struct snapshot *full = engine_sample(e, GROUP_ALL, 60000, PATIENCE_MS);
    assert_true(full->sequence > quick->sequence);
    assert_int_equal(full->gpus[0].energy_mj.state, READING_OK);
    AUTO_SNAPSHOT const struct snapshot *again = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
    assert_true(again->sequence > full->sequence);
    assert_int_equal(again->gpus[0].energy_mj.value, full->gpus[0].energy_mj.value);
    AUTO_SNAPSHOT const struct snapshot *shared = engine_sample(e, GROUP_QUICK, 60000, PATIENCE_MS);
    assert_ptr_equal(shared, again); /* young enough: no new sample */
    engine_free(e);
}

static _Atomic int64_t slept_ns;

static struct mono mono_of_system(const struct clock *c)
{
    (void)c;
    return clock_mono(&clock_system);
}

static struct wall wall_of_system(const struct clock *c)
{
    (void)c;
    return clock_wall(&clock_system);
}

static struct mono boot_with_suspends(const struct clock *c)
{
    (void)c;
    return (struct mono){clock_mono(&clock_system).ns + atomic_load(&slept_ns)};
}

/* An engine with a clock that is told what to say, and a listener for its samples. */
struct watched {
    struct engine *engine;
    struct mailbox *box;
    const struct clock *real;
};

static struct watched watch_by(const struct clock *clock)
{
    const char *sources[] = {"sim:gpus=1,scenario=idle"};
    struct watched w = {.real = env.clock, .box = mailbox_new(64, drop)};
    env.clock = clock;
    w.engine = engine(sources, 1, 20, 0);
    assert_int_equal(engine_subscribe(w.engine, w.box), 0);
    return w;
}

static void watch_end(struct watched *w)
{
    engine_free(w->engine);
    mailbox_free(w->box);
    env.clock = w->real;
}

static void a_suspend_of_the_host_is_said_once_and_everything_is_read_again(void **state)
{
    (void)state;
    static const struct clock clock = {.mono = mono_of_system, .wall = wall_of_system, .boot = boot_with_suspends};
    struct watched w = watch_by(&clock);
    const struct snapshot *s = mailbox_take(w.box, PATIENCE_MS);
    assert_int_equal(s->suspended_ms, 0);
    snapshot_unref(s);
    atomic_store(&slept_ns, 3600LL * NS_PER_S);
    size_t said = 0;
    for (int i = 0; i < 20; i++) {
        s = mailbox_take(w.box, PATIENCE_MS);
        assert_non_null(s);
        said += s->suspended_ms != 0;
        if (s->suspended_ms)
            assert_in_range(s->suspended_ms, 3599000, 3601000);
        snapshot_unref(s);
    }
    assert_int_equal(said, 1);
    watch_end(&w);
}

static _Atomic int64_t stalled_ns;
static _Atomic int stalls;

static struct mono mono_with_stalls(const struct clock *c)
{
    (void)c;
    return (struct mono){clock_mono(&clock_system).ns + atomic_load(&stalled_ns)};
}

/* Five seconds go by before it returns, now and then. */
static struct mono boot_with_stalls(const struct clock *c)
{
    struct mono at = mono_with_stalls(c);
    if (atomic_fetch_add(&stalls, 1) % 3 == 1)
        atomic_fetch_add(&stalled_ns, 5LL * NS_PER_S);
    return at;
}

static void a_host_that_is_too_busy_to_look_at_its_clocks_was_not_suspended(void **state)
{
    (void)state;
    static const struct clock clock = {.mono = mono_with_stalls, .wall = wall_of_system, .boot = boot_with_stalls};
    struct watched w = watch_by(&clock);
    for (int i = 0; i < 10; i++) {
        AUTO_SNAPSHOT const struct snapshot *s = mailbox_take(w.box, PATIENCE_MS);
        assert_non_null(s);
        assert_int_equal(s->suspended_ms, 0);
    }
    assert_true(stalls >= 10);
    watch_end(&w);
}

static void periodic_samples_reach_subscribers_and_asked_ones_do_not(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle"};
    struct engine *e = engine(sources, 1, 0, 0);
    struct mailbox *box = mailbox_new(16, drop);
    assert_int_equal(engine_subscribe(e, box), 0);
    AUTO_SNAPSHOT const struct snapshot *asked = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_null(mailbox_take(box, 0));
    engine_set_interval(e, 20);
    AUTO_SNAPSHOT const struct snapshot *first = mailbox_take(box, PATIENCE_MS);
    AUTO_SNAPSHOT const struct snapshot *second = mailbox_take(box, PATIENCE_MS);
    assert_true(asked->sequence < first->sequence && first->sequence < second->sequence);
    assert_int_equal(first->groups, GROUP_ALL);
    engine_free(e);
    mailbox_free(box);
}

static int count_lines(const char *path)
{
    int count = 0;
    FILE *f = fopen(path, "r");
    for (int c = 0; f && (c = fgetc(f)) != EOF;)
        count += c == '\n';
    if (f)
        fclose(f);
    return count;
}

static void a_program_is_not_run_for_requests(void **state)
{
    (void)state;
    if (!on_linux())
        SKIP("the program is a script");
    char program[512], folder[64], log[80];
    snprintf(program, sizeof program, "%s/tests/fakes/nvidia-smi", getenv("WHIRR_SOURCE_ROOT"));
    make_folder_here(folder);
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_SMI_LOG", log, 1);
    struct env real = env;
    env.nvidia_smi = program;
    const char *sources[] = {"nvidia-smi"};
    struct engine *e = engine(sources, 1, 600000, 60000);
    struct mailbox *samples = mailbox_new(4, drop);
    assert_int_equal(engine_subscribe(e, samples), 0);
    AUTO_SNAPSHOT const struct snapshot *first = mailbox_take(samples, PATIENCE_MS);
    assert_non_null(first);
    assert_int_equal(first->gpu_count, 2);
    int runs = count_lines(log);
    assert_true(runs > 0);
    AUTO_SNAPSHOT const struct snapshot *second = engine_sample(e, GROUP_ALL, -1, PATIENCE_MS);
    assert_int_equal(second->sequence, first->sequence);
    assert_int_equal(count_lines(log), runs);
    engine_free(e);
    mailbox_free(samples);
    env = real;
    unsetenv("FAKE_SMI_LOG");
}

/* A number that was free there may be a process here. */
static void processes_of_a_recording_are_not_looked_up_here(void **state)
{
    (void)state;
    char path[] = "/tmp/whirr-test-recording-XXXXXX", source[64];
    close(mkstemp(path));
    unlink(path);
    struct snapshot *s = snapshot_new(1);
    s->taken_at = (struct wall){1800000000000};
    s->groups = GROUP_ALL;
    strcpy(s->gpus[0].id.name, "card");
    s->gpus[0].processes_state = READING_OK;
    struct process *p = gpu_add_process(&s->gpus[0], getpid());
    p->type = PROCESS_COMPUTE;
    p->visible = false;
    struct error err = {0};
    struct recorder *r = recorder_open(path, &err);
    assert_non_null(r);
    assert_int_equal(recorder_add(r, s, &err), 0);
    assert_int_equal(recorder_close(r, &err), 0);
    snapshot_unref(s);

    snprintf(source, sizeof source, "replay:%s", path);
    const char *sources[] = {source};
    struct engine *e = engine(sources, 1, 0, 0);
    AUTO_SNAPSHOT const struct snapshot *played = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_int_equal(played->gpu_count, 1);
    assert_int_equal(played->gpus[0].process_count, 1);
    assert_false(played->gpus[0].processes[0].visible);
    assert_string_equal(played->gpus[0].processes[0].command, "");
    engine_free(e);
    unlink(path);
}

static void a_hung_source_is_given_up_and_the_others_go_on(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle,fault=hang", "sim:gpus=2,scenario=idle,seed=9"};
    struct engine *e = engine(sources, 2, 0, 300);
    AUTO_SNAPSHOT const struct snapshot *s = NULL;
    do { /* a busy machine may take longer than that to ask the other one, too */
        snapshot_unref(s);
        s = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
        assert_non_null(s);
        assert_int_equal(s->sources[0].state, SOURCE_HUNG);
    } while (s->sources[1].state == SOURCE_HUNG);
    assert_true(s->sources[0].message[0] != '\0');
    assert_int_equal(s->sources[1].state, SOURCE_OK);
    assert_int_equal(s->gpu_count, 2);
    engine_free(e); /* does not wait for the thread that hangs */
}

static _Atomic int64_t ahead_ns;

static struct mono mono_ahead(const struct clock *c)
{
    (void)c;
    return (struct mono){clock_mono(&clock_system).ns + atomic_load(&ahead_ns)};
}

static const struct clock clock_ahead = {.mono = mono_ahead, .wall = wall_of_system, .boot = mono_ahead};

/* One of its own: threads that hang in an earlier test still look at theirs. */
static const struct env *env_ahead(void)
{
    static struct env ahead;
    if (!ahead.clock) {
        env_init_system(&ahead);
        ahead.clock = &clock_ahead;
    }
    return &ahead;
}

static void how_long_a_source_has_hung_is_told_as_it_is(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle,fault=hang"};
    struct engine *e = engine_of(env_ahead(), sources, 1, 0, 300);
    static const char *const told[] = {"has not answered for ", "has not answered for 1m", "has not answered for 3m"};
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
        assert_non_null(s);
        assert_ptr_equal(strstr(s->sources[0].message, told[i]), s->sources[0].message);
        assert_int_equal(s->sources[0].errors_total, 1);
        atomic_fetch_add(&ahead_ns, (i ? 120 : 60) * (int64_t)NS_PER_S);
    }
    engine_free(e);
}

static void a_source_that_hangs_while_it_describes_itself_is_left_out(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle,fault=hang@0:100000", "sim:gpus=2,scenario=idle,seed=9"};
    struct engine *e = engine_of(env_ahead(), sources, 2, 0, 300);
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_int_equal(s->sources[0].state, SOURCE_OK);
    assert_int_equal(s->sources[1].state, SOURCE_OK);
    atomic_fetch_add(&ahead_ns, 200000 * (int64_t)NS_PER_S);
    for (int i = 0; i < 2; i++) { /* the second time it is known to hang */
        AUTO_BUF struct buf text = BUF(1 << 16);
        engine_describe(e, &text, PATIENCE_MS);
        assert_non_null(text.at);
        assert_non_null(strstr(text.at, "simulated machine: 2 GPUs"));
        assert_null(strstr(text.at, "simulated machine: 1 GPUs"));
    }
    engine_free(e);
}

/* Long enough for its source to be set aside, which asks it no more for a while. */
static void the_only_gpu_stays_lost_with_its_reason(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle,fault=lost@0"};
    struct engine *e = engine(sources, 1, 0, 0);
    bool aside = false;
    size_t lost = 0, back = 0;
    for (int i = 0; i < 20; i++) {
        AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
        assert_int_equal(s->gpus[0].state, GPU_LOST);
        assert_string_equal(s->gpus[0].error_message, "GPU is lost");
        aside |= s->sources[0].state == SOURCE_SET_ASIDE;
        for (size_t k = 0; k < s->event_count; k++) {
            lost += s->events[k].kind == EVENT_GPU_LOST;
            back += s->events[k].kind == EVENT_GPU_BACK;
        }
    }
    assert_true(aside);
    assert_int_equal(lost, 1);
    assert_int_equal(back, 0);
    engine_free(e);
}

static int64_t now_ms(void)
{
    return clock_mono(&clock_system).ns / NS_PER_MS;
}

/* In its first call already, long before it would be given up. */
static void a_driver_call_that_hangs_does_not_delay_the_end(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle,fault=hang", "sim:gpus=2,scenario=idle,seed=9"};
    struct engine *e = engine(sources, 2, 0, 60000);
    struct mailbox *never = mailbox_new(1, NULL);
    engine_request(e, GROUP_QUICK, 0, never);
    int64_t begin = now_ms();
    engine_end_waits(e);
    assert_null(mailbox_take(never, PATIENCE_MS)); /* woken without an answer */
    assert_true(mailbox_closed(never));
    assert_null(engine_sample(e, GROUP_QUICK, 0, 60000));
    assert_int_equal(engine_release(e, 1000, 60000), -ETIMEDOUT);
    engine_free(e);
    assert_true(now_ms() - begin < 50000); /* what hangs would be waited for for a minute */
    mailbox_free(never);
}

static void a_lost_gpu_keeps_its_index_and_the_others_theirs(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=3,scenario=idle,fault=lost@0"};
    struct engine *e = engine(sources, 1, 0, 0);
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_int_equal(s->gpu_count, 3);
    assert_int_equal(s->gpus[0].state, GPU_LOST);
    assert_true(s->gpus[0].error_message[0] != '\0');
    assert_int_equal(s->gpus[0].temp_mdegc.state, READING_FAILED);
    assert_int_equal(s->gpus[1].state, GPU_OK);
    assert_int_equal(s->gpus[2].index, 2);
    assert_int_equal(s->sources[0].state, SOURCE_OK);
    assert_true(s->sources[0].errors_total > 0);
    engine_free(e);
}

static void released_sources_are_closed_and_come_back(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=1,scenario=idle"};
    struct engine *e = engine(sources, 1, 0, 0);
    snapshot_unref(engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS));
    assert_int_equal(engine_release(e, 3600000, PATIENCE_MS), 0);
    AUTO_SNAPSHOT const struct snapshot *away = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
    assert_int_equal(away->sources[0].state, SOURCE_RELEASED);
    assert_int_equal(away->gpu_count, 1);
    assert_int_equal(away->gpus[0].state, GPU_ERROR);
    assert_int_equal(engine_release(e, 0, PATIENCE_MS), 0);
    AUTO_SNAPSHOT const struct snapshot *back = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
    assert_int_equal(back->sources[0].state, SOURCE_OK);
    assert_int_equal(back->gpus[0].state, GPU_OK);
    assert_string_equal(back->gpus[0].id.uuid, away->gpus[0].id.uuid);
    engine_free(e);
}

enum { ASKERS = 12 };

static void *release_and_describe(void *argument)
{
    struct engine *e = argument;
    AUTO_BUF struct buf text = BUF(1 << 20);
    intptr_t failed = engine_release(e, 3600000, PATIENCE_MS) != 0;
    engine_release(e, 0, PATIENCE_MS);
    snapshot_unref(engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS));
    engine_describe(e, &text, PATIENCE_MS);
    return (void *)failed;
}

static void simultaneous_requests_for_a_release_all_get_an_answer(void **state)
{
    (void)state;
    const char *sources[] = {"sim:gpus=2,scenario=idle", "sim:gpus=1,scenario=idle,seed=9"};
    struct engine *e = engine(sources, 2, 5, 0);
    pthread_t askers[ASKERS];
    snapshot_unref(engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS));
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, release_and_describe, e), 0);
    for (int i = 0; i < ASKERS; i++) {
        void *failed;
        pthread_join(askers[i], &failed);
        assert_null(failed);
    }
    engine_free(e);
}

static void without_any_gpu_there_is_an_empty_snapshot_with_reasons(void **state)
{
    (void)state;
    struct env bare = env;
    bare.nvml_library = "libnvidia-ml-not-here.so";
    bare.nvidia_smi = "/nonexistent/nvidia-smi";
    bare.sysroot = "/nonexistent";
    struct engine_options options = {.env = &bare};
    struct error err = {0};
    struct engine *e = engine_new(&options, &err);
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_non_null(s);
    assert_int_equal(s->gpu_count, 0);
    for (size_t i = 0; i < s->source_count; i++) {
        assert_int_equal(s->sources[i].state, SOURCE_OFF);
        assert_true(s->sources[i].message[0] != '\0');
    }
    engine_free(e);
}

static void an_unknown_source_is_refused_with_the_nearest_name(void **state)
{
    (void)state;
    const char *sources[] = {"smi"};
    struct engine_options options = {.env = &env, .sources = sources, .source_count = 1};
    struct error err = {0};
    assert_null(engine_new(&options, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_non_null(strstr(err.text, "did you mean 'sim'"));
}

int main(void)
{
    env_init_system(&env);
    const struct CMUnitTest tests[] = {
        TEST(one_sample_of_a_simulated_machine),
        TEST(more_groups_are_read_when_asked_for_and_kept_afterwards),
        TEST(a_suspend_of_the_host_is_said_once_and_everything_is_read_again),
        TEST(a_host_that_is_too_busy_to_look_at_its_clocks_was_not_suspended),
        TEST(periodic_samples_reach_subscribers_and_asked_ones_do_not),
        TEST(a_program_is_not_run_for_requests),
        TEST(processes_of_a_recording_are_not_looked_up_here),
        TEST(a_hung_source_is_given_up_and_the_others_go_on),
        TEST(a_driver_call_that_hangs_does_not_delay_the_end),
        TEST(how_long_a_source_has_hung_is_told_as_it_is),
        TEST(a_source_that_hangs_while_it_describes_itself_is_left_out),
        TEST(a_lost_gpu_keeps_its_index_and_the_others_theirs),
        TEST(the_only_gpu_stays_lost_with_its_reason),
        TEST(released_sources_are_closed_and_come_back),
        TEST(simultaneous_requests_for_a_release_all_get_an_answer),
        TEST(without_any_gpu_there_is_an_empty_snapshot_with_reasons),
        TEST(an_unknown_source_is_refused_with_the_nearest_name),
    };
    return RUN_TESTS(tests);
}
