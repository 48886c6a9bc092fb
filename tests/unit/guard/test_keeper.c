/* SPDX-License-Identifier: Apache-2.0
 * Whole guards with their threads: the machine is a sysroot, the driver is played by the launcher, samples are made by hand.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "../config/config_fixture.h"
#include "../sysroot.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "guard/guard.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"

enum { WORKERS = 2, FIRST = 100, CLAIMANT = 300, STORY_SIZE = 4096 };

struct machine {
    struct sysroot root;
    struct guard *guard;
    _Atomic int state[WORKERS];                            /* as the driver has it: 0 running, 1 locked, 2 checkpointed */
    _Atomic bool claimed, unreadable, slow, seen, failing; /* slow: a call ends some time after it was seen */
    _Atomic bool stuck;                                    /* the driver locks no process */
    int gpu;                                               /* on which all of this happens */
    _Atomic bool in_call;
    _Atomic int restoring, most_restoring;
    pthread_mutex_t lock;
    char story[STORY_SIZE]; /* "100:draining 100:evicting ..." */
    _Atomic int looks;      /* at the cards, by all guards together */
};

static void add_process(struct sysroot *s, int pid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (p) S 1 1 1 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 %d 0 10 0\n", pid, pid * 10);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    snprintf(text, sizeof text, "Name:\tp\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\n", pid, pid);
    sysroot_write(s, path, text);
}

static void hold(struct gpu *gpu, int pid, int64_t bytes)
{
    struct process *p = gpu_add_process(gpu, pid);
    p->type = PROCESS_COMPUTE;
    p->instance = -1;
    p->start_key = pid * 10;
    p->mem_bytes = reading_ok(bytes);
}

static const struct snapshot *sample(void *user, int64_t max_age_ms)
{
    (void)max_age_ms;
    struct machine *m = user;
    m->looks++;
    if (m->unreadable)
        return NULL;
    struct snapshot *s = snapshot_new((size_t)m->gpu + 1);
    struct gpu *gpu = &s->gpus[m->gpu];
    for (int i = 0; i <= m->gpu; i++) {
        s->gpus[i].index = i;
        s->gpus[i].processes_state = READING_OK;
        s->gpus[i].mem_used_bytes = reading_ok(0);
        s->gpus[i].mem_free_bytes = reading_ok(24 * GIB_BYTES);
    }
    int64_t used = 0;
    for (int i = 0; i < WORKERS; i++) {
        if (m->state[i] == 2)
            continue;
        hold(gpu, FIRST + i, 8 * GIB_BYTES);
        used += 8 * GIB_BYTES;
    }
    if (m->claimed) {
        hold(gpu, CLAIMANT, 4 * GIB_BYTES);
        used += 4 * GIB_BYTES;
    }
    gpu->mem_used_bytes = reading_ok(used);
    gpu->mem_free_bytes = reading_ok(24 * GIB_BYTES - used);
    gpu->temp_mdegc = reading_ok(40000);
    s->verdict = m->failing ? verdict_new(1, 1) : NULL;
    if (s->verdict)
        s->verdict->findings[s->verdict->count++] = (struct finding){.code = FINDING_ECC, .severity = SEVERITY_CRITICAL};
    return s;
}

static int play(const struct env *env, const struct launch *launch, struct error *err)
{
    (void)err;
    struct machine *m = env->user;
    _Atomic int *state = &m->state[atoi(launch->argv[3]) - FIRST];
    const char *call = launch->argv[2];
    if (strcmp(call, "state") == 0) {
        buf_printf(launch->out, "ok %d", *state);
        return 0;
    }
    if (m->stuck && strcmp(call, "lock") == 0)
        return -EIO;
    bool restores = strcmp(call, "restore") == 0;
    if (restores) {
        int now = ++m->restoring;
        if (now > m->most_restoring)
            m->most_restoring = now;
    }
    m->in_call = true;
    if (m->slow)
        EVENTUALLY(m->seen);
    if (m->slow || restores)
        be_slow(m->slow ? 300 : 20);
    m->restoring -= restores;
    *state = strcmp(call, "checkpoint") == 0 ? 2 : strcmp(call, "unlock") == 0 ? 0 : 1;
    buf_text(launch->out, "ok 0");
    return 0;
}

static void on_event(void *user, const struct guard_event *event)
{
    struct machine *m = user;
    pthread_mutex_lock(&m->lock);
    size_t len = strlen(m->story);
    if (event->kind == GUARD_EVENT_STATE && event->state != event->before)
        snprintf(m->story + len, STORY_SIZE - len, "%s%s:%s", len ? " " : "", event->worker, guard_state_name(event->state));
    pthread_mutex_unlock(&m->lock);
}

static struct guard_spec *spec_of(int pid, const char *more)
{
    char text[1024];
    snprintf(text, sizeof text,
             "[worker]\nprocess_check_interval_secs = 0.1\nclear_for = \"20ms\"\nminimum_pause = \"0s\"\ngamemode = false\n%s"
             "[guard.worker.%d]\nmethods = [\"checkpoint\"]\nmatch = { pid = %d }\n",
             more, pid, pid);
    struct config *c = loaded(text);
    struct guard_spec *spec = calloc(1, sizeof *spec);
    struct error err = {0};
    assert_int_equal(spec_from_config(c, 0, spec, &err), 0);
    config_free(c);
    spec->limits.second_look_ms = 10;
    return spec;
}

static void begin(struct machine *m, int workers, const char *more)
{
    static char folder[128];
    snprintf(folder, sizeof folder, "%s/guard", m->root.path);
    m->guard = guard_new(
        &(struct guard_options){.env = &m->root.env, .state_dir = folder, .sample = sample, .event = on_event, .user = m}, NULL);
    for (int i = 0; i < workers; i++)
        assert_int_equal(guard_add(m->guard, spec_of(FIRST + i, more), NULL, NULL), 0);
}

static void start_on(struct machine *m, int gpu, int workers, const char *more)
{
    *m = (struct machine){.lock = PTHREAD_MUTEX_INITIALIZER, .gpu = gpu};
    sysroot_init(&m->root);
    m->root.env.clock = &clock_system;
    m->root.env.launch = play;
    m->root.env.user = m;
    m->root.env.self_program = "whirr";
    sysroot_write(&m->root, "/proc/meminfo", "MemAvailable:    104857600 kB\n");
    for (int i = 0; i < WORKERS; i++)
        add_process(&m->root, FIRST + i);
    add_process(&m->root, CLAIMANT);
    begin(m, workers, more);
}

static void start(struct machine *m, int workers, const char *more)
{
    start_on(m, 0, workers, more);
}

static void stop(struct machine *m)
{
    guard_free(m->guard);
    sysroot_done(&m->root);
}

static bool all_are(struct machine *m, enum guard_state state)
{
    struct guard_status list[WORKERS];
    size_t count = guard_list(m->guard, list, WORKERS);
    for (size_t i = 0; i < count; i++)
        if (list[i].state != state)
            return false;
    return true;
}

static void wait_for(struct machine *m, enum guard_state state)
{
    assert_true(EVENTUALLY(all_are(m, state)));
}

/* Time for what must not happen: the guards have looked at the cards so many times more, and have thought about all but the last.
 */
static void wait_looks(struct machine *m, int count)
{
    int enough = m->looks + count;
    assert_true(EVENTUALLY(m->looks >= enough));
}

static void a_worker_goes_through_every_state_and_back(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.claimed = true;
    wait_for(&m, GUARD_PAUSED);
    assert_int_equal(m.state[0], 2);
    m.claimed = false;
    wait_for(&m, GUARD_RUNNING);
    assert_int_equal(m.state[0], 0);
    guard_free(TAKE(m.guard));
    assert_string_equal(m.story, "100:draining 100:evicting 100:verifying 100:paused 100:reserving 100:resuming 100:running");
    stop(&m);
}

static void a_worker_is_guarded_on_a_gpu_of_any_number(void **state)
{
    (void)state;
    struct machine m;
    start_on(&m, 65, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.claimed = true;
    wait_for(&m, GUARD_PAUSED);
    stop(&m);
}

static void a_worker_does_not_come_back_to_a_gpu_that_is_failing(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.claimed = true;
    wait_for(&m, GUARD_PAUSED);
    m.failing = true;
    m.claimed = false;
    wait_for(&m, GUARD_RESERVING);
    wait_looks(&m, 4);
    assert_true(all_are(&m, GUARD_RESERVING));
    assert_int_equal(m.state[0], 2);
    m.failing = false;
    wait_for(&m, GUARD_RUNNING);
    stop(&m);
}

/* Settings that pause on errors are no permission: the worker was away for another reason. */
static void only_a_person_brings_it_back_to_a_gpu_that_is_failing(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "pause_on_errors = true\n");
    wait_for(&m, GUARD_RUNNING);
    m.claimed = true;
    wait_for(&m, GUARD_PAUSED);
    m.failing = true;
    m.claimed = false;
    wait_for(&m, GUARD_RESERVING);
    wait_looks(&m, 4);
    assert_true(all_are(&m, GUARD_RESERVING));
    guard_take_command(m.guard, NULL, COMMAND_RESUME);
    wait_for(&m, GUARD_RUNNING);
    assert_int_equal(m.state[0], 0);
    stop(&m);
}

static void two_workers_never_restore_at_the_same_time(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 2, "");
    wait_for(&m, GUARD_RUNNING);
    for (int round = 0; round < 3; round++) {
        m.claimed = true;
        wait_for(&m, GUARD_PAUSED);
        m.claimed = false;
        wait_for(&m, GUARD_RUNNING);
    }
    assert_int_equal(m.most_restoring, 1);
    stop(&m);
}

static void a_worker_that_loads_later_is_no_claim_on_the_others(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 0, "");
    m.state[1] = 2; /* holds nothing yet */
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(guard_add(m.guard, spec_of(FIRST + i, ""), NULL, NULL), 0);
    wait_looks(&m, 3 * WORKERS);
    m.state[1] = 0;
    wait_looks(&m, 5 * WORKERS);
    assert_int_equal(m.state[0], 0);
    guard_free(TAKE(m.guard));
    assert_null(strstr(m.story, "100:draining"));
    stop(&m);
}

static void without_samples_nothing_is_done(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.unreadable = true;
    wait_looks(&m, 2);
    m.claimed = true;
    wait_looks(&m, 2);
    struct guard_status now;
    guard_list(m.guard, &now, 1);
    assert_true(now.claim == CLAIM_UNKNOWN && now.state == GUARD_RUNNING && m.state[0] == 0);
    m.unreadable = false;
    wait_for(&m, GUARD_PAUSED);
    stop(&m);
}

static void people_programs_and_settings_from_many_threads(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 2, "");
    wait_for(&m, GUARD_RUNNING);
    for (int i = 0; i < 100; i++) {
        struct guard_status list[WORKERS];
        int64_t others[1];
        uint64_t evictions;
        guard_take_command(m.guard, i % 2 ? "100" : NULL, (enum guard_command)(i % 5));
        guard_announce(m.guard, CLAIMANT);
        guard_list(m.guard, list, WORKERS);
        AUTO_SNAPSHOT const struct snapshot *s = sample(&m, 0);
        struct capacity_hold holds[WORKERS];
        guard_counts(m.guard, s, &evictions, others);
        assert_true(guard_holds(m.guard, s, holds, WORKERS) <= WORKERS);
        guard_tell_events(m.guard, &(struct event){.kind = EVENT_DRIVER_FAULT, .code = 79, .at = {i + 1}}, 1);
        guard_unannounce(m.guard, CLAIMANT);
        if (i % 10 == 0) {
            assert_true(guard_change(m.guard, spec_of(FIRST, i % 20 ? "" : "claim = \"any\"\n")));
            wait_looks(&m, 1);
        }
    }
    guard_take_command(m.guard, NULL, COMMAND_RESUME);
    wait_for(&m, GUARD_RUNNING);
    assert_int_equal(guard_take_command(m.guard, "unknown", COMMAND_HOLD), -ENOENT);
    stop(&m);
}

static void an_event_of_a_shared_sample_pauses_where_it_should(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "pause_on_errors = true\n");
    wait_for(&m, GUARD_RUNNING);
    wait_looks(&m, 2);
    guard_tell_events(m.guard, &(struct event){.kind = EVENT_DRIVER_FAULT, .code = 79, .gpu_index = 0, .at = {1000}}, 1);
    wait_for(&m, GUARD_PAUSED);
    guard_take_command(m.guard, NULL, COMMAND_RESUME);
    wait_for(&m, GUARD_RUNNING);
    guard_tell_events(m.guard, &(struct event){.kind = EVENT_DRIVER_FAULT, .code = 79, .gpu_index = 0, .at = {1000}},
                      1); /* the same again */
    wait_looks(&m, 4);
    assert_true(all_are(&m, GUARD_RUNNING));
    stop(&m);
}

/* Whether memory of the worker counts as room that can be made; it holds some. */
static bool can_make_room(struct machine *m)
{
    AUTO_SNAPSHOT const struct snapshot *s = sample(m, 0);
    struct capacity_hold holds[WORKERS];
    assert_int_equal(guard_holds(m->guard, s, holds, WORKERS), 1);
    assert_string_equal(holds[0].worker, "100");
    assert_int_equal(holds[0].bytes, 8 * GIB_BYTES);
    return holds[0].evictable;
}

static bool cannot_make_room(struct machine *m)
{
    return !can_make_room(m);
}

static void memory_counts_as_room_only_if_the_worker_can_be_evicted(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    assert_true(can_make_room(&m));
    m.stuck = m.claimed = true;
    assert_true(EVENTUALLY(cannot_make_room(&m))); /* it was tried in vain */
    stop(&m);

    start(&m, 1, "dry_run = true\n");
    wait_for(&m, GUARD_RUNNING);
    assert_false(can_make_room(&m));
    stop(&m);
}

static bool no_worker(void *user, const char *name)
{
    (void)user;
    (void)name;
    return false;
}

static void a_worker_that_is_let_go_gets_its_memory_back(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    guard_take_command(m.guard, "100", COMMAND_HOLD);
    wait_for(&m, GUARD_PAUSED);
    guard_keep_only(m.guard, no_worker, NULL);
    struct guard_status list[1];
    assert_int_equal(guard_list(m.guard, list, 1), 0);
    stop(&m); /* waits for it */
    assert_int_equal(m.state[0], 0);
}

static bool says_that_the_journal_is_unreadable(struct machine *m)
{
    struct guard_status list[WORKERS];
    return guard_list(m->guard, list, WORKERS) && strstr(list[0].problem, "until its journal can be read");
}

static bool is_held(struct machine *m)
{
    struct guard_status list[WORKERS];
    return guard_list(m->guard, list, WORKERS) && list[0].state == GUARD_PAUSED && list[0].held;
}

static void a_journal_that_cannot_be_read_now_is_waited_for(void **state)
{
    (void)state;
    struct machine m;
    char journal[160], aside[176];
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    guard_take_command(m.guard, "100", COMMAND_HOLD);
    assert_true(EVENTUALLY(is_held(&m)));
    snprintf(journal, sizeof journal, "%s/guard/100.journal", m.root.path);
    snprintf(aside, sizeof aside, "%s.aside", journal);
    guard_free(TAKE(m.guard)); /* and leaves it off the GPU, as a command wanted */
    assert_int_equal(m.state[0], 2);
    assert_int_equal(rename(journal, aside), 0);
    assert_int_equal(symlink("100.journal", journal), 0); /* to itself: it is there, and cannot be opened */
    begin(&m, WORKERS, "");
    assert_true(EVENTUALLY(says_that_the_journal_is_unreadable(&m)));
    wait_looks(&m, 5); /* those of the other worker */
    assert_int_equal(m.state[0], 2);
    guard_take_command(m.guard, "100", COMMAND_RESUME); /* heard now, done when it can be */
    wait_looks(&m, 5);
    assert_int_equal(rename(aside, journal), 0);
    wait_for(&m, GUARD_RUNNING);
    assert_int_equal(m.state[0], 0);
    stop(&m);
}

static void a_wish_is_not_lost_among_events(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.slow = m.claimed = true;
    wait_for(&m, GUARD_EVICTING); /* and the keeper is in a call of the driver */
    guard_take_command(m.guard, NULL, COMMAND_HOLD);
    for (int i = 0; i < 200; i++)
        guard_tell_events(m.guard, &(struct event){.kind = EVENT_DRIVER_FAULT, .code = 31, .gpu_index = 0, .at = {i + 1}}, 1);
    m.claimed = false;
    m.seen = true;
    assert_true(EVENTUALLY(is_held(&m)));
    stop(&m);
}

/* Let go and wanted again while the driver still moves its memory: its old keeper ends first, then there is one keeper. */
static void a_worker_that_is_wanted_again_while_it_is_let_go_has_one_keeper(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.slow = m.claimed = true;
    assert_true(EVENTUALLY(m.in_call));
    guard_keep_only(m.guard, no_worker, NULL);
    assert_int_equal(guard_add(m.guard, spec_of(FIRST, ""), NULL, NULL), 0);
    int looks = m.looks;
    be_slow(300); /* a second keeper would look meanwhile */
    assert_int_equal(m.looks, looks);
    m.claimed = false;
    m.seen = true;
    wait_for(&m, GUARD_RUNNING);
    struct guard_status list[WORKERS];
    assert_int_equal(guard_list(m.guard, list, WORKERS), 1);
    assert_int_equal(m.state[0], 0);
    stop(&m);
}

static void told_to_end_in_a_slow_call_it_ends_with_the_call(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1, "");
    wait_for(&m, GUARD_RUNNING);
    m.slow = m.claimed = true;
    wait_for(&m, GUARD_EVICTING);
    m.seen = true;
    stop(&m);
    assert_true(m.state[0] == 0 || m.state[0] == 2); /* never left locked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_journal_that_cannot_be_read_now_is_waited_for),
        TEST(a_worker_goes_through_every_state_and_back),
        TEST(a_worker_is_guarded_on_a_gpu_of_any_number),
        TEST(a_worker_does_not_come_back_to_a_gpu_that_is_failing),
        TEST(only_a_person_brings_it_back_to_a_gpu_that_is_failing),
        TEST(two_workers_never_restore_at_the_same_time),
        TEST(a_worker_that_loads_later_is_no_claim_on_the_others),
        TEST(without_samples_nothing_is_done),
        TEST(people_programs_and_settings_from_many_threads),
        TEST(an_event_of_a_shared_sample_pauses_where_it_should),
        TEST(a_worker_that_is_let_go_gets_its_memory_back),
        TEST(memory_counts_as_room_only_if_the_worker_can_be_evicted),
        TEST(told_to_end_in_a_slow_call_it_ends_with_the_call),
        TEST(a_wish_is_not_lost_among_events),
        TEST(a_worker_that_is_wanted_again_while_it_is_let_go_has_one_keeper),
    };
    return RUN_TESTS(tests);
}
