/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/method.h"

#include <errno.h>
#include <stdio.h>

#include "../sysroot.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "guard/cuda.h"

/* A worker (pid 100) with 8 GiB on GPU 0, and a driver that is played by the launcher: "lock", "checkpoint", ... are written down,
 * each answered as `answers` says ("lock driver 304" or "lock timeout"; without: well). */
struct rig {
    struct sysroot root;
    struct snapshot *s;
    struct claim_worker w;
    struct journal journal;
    struct journal_entry entry;
    struct method_settings settings;
    struct method_context c;
    char calls[256];
    const char *answers;
    int driver_state;
    int64_t longest_ms;
    _Atomic bool ending;
    const char *ends_at; /* the guard is told to end during this call */
    struct rig *beside;  /* is to be evicted while this one is inside its checkpoint; only looks whether it may begin */
    struct error beside_err;
};

static int evict(struct rig *r, struct error *err)
{
    return method_checkpoint.evict(NULL, &r->c, err);
}

static int play(const struct env *env, const struct launch *launch, struct error *err)
{
    struct rig *r = env->user;
    const char *call = launch->argv[2];
    char wanted[32], text[64] = "ok 0";
    assert_string_equal(launch->argv[1], "cuda-helper");
    assert_string_equal(launch->argv[3], "100");
    if (strcmp(call, "state") != 0) {
        assert_int_equal(strncmp(r->entry.step, call, strlen(call)), 0); /* written before it is done */
        snprintf(r->calls + strlen(r->calls), sizeof r->calls - strlen(r->calls), "%s%s", r->calls[0] ? " " : "", call);
    }
    r->longest_ms = MAX_OF(r->longest_ms, launch->timeout_ms);
    if (r->ends_at && strcmp(call, r->ends_at) == 0)
        r->ending = true;
    if (r->beside && strcmp(call, "checkpoint") == 0) {
        r->beside->ending = true; /* so that it does not wait */
        assert_int_equal(evict(r->beside, &r->beside_err), -ECANCELED);
        r->beside->ending = false;
    }
    snprintf(wanted, sizeof wanted, "%s ", call);
    const char *answer = r->answers ? strstr(r->answers, wanted) : NULL;
    if (answer && strncmp(answer + strlen(wanted), "timeout", 7) == 0)
        return error_set(err, -ETIMEDOUT, "killed");
    if (answer)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(answer + strlen(wanted), ";"), answer + strlen(wanted));
    else if (strcmp(call, "state") == 0)
        snprintf(text, sizeof text, "ok %d", r->driver_state);
    else
        r->driver_state = strcmp(call, "lock") == 0         ? CUDA_PROCESS_LOCKED
                          : strcmp(call, "checkpoint") == 0 ? CUDA_PROCESS_CHECKPOINTED
                          : strcmp(call, "restore") == 0    ? CUDA_PROCESS_LOCKED
                                                            : CUDA_PROCESS_RUNNING;
    buf_text(launch->out, text);
    return 0;
}

static struct process *add(struct rig *r, int gpu, int pid, enum process_type type)
{
    struct process *p = gpu_add_process(&r->s->gpus[gpu], pid);
    p->type = type;
    p->instance = -1;
    p->start_key = 500;
    p->mem_bytes = reading_ok(8 * GIB_BYTES);
    return p;
}

static void set_up(struct rig *r)
{
    *r = (struct rig){.settings = {.evict_timeout_ms = 60000, .resume_timeout_ms = 60000}};
    sysroot_init(&r->root);
    r->root.env.launch = play;
    r->root.env.user = r;
    r->root.env.self_program = "whirr";
    sysroot_write(&r->root, "/proc/100/stat", "100 (w) S 1 1 1 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 500 0 10 0\n");
    sysroot_write(&r->root, "/proc/100/status", "Name:\tw\nState:\tS (sleeping)\nTgid:\t100\nPid:\t100\n");
    sysroot_write(&r->root, "/proc/meminfo", "MemAvailable:    104857600 kB\n");
    r->s = snapshot_new(2);
    for (int i = 0; i < 2; i++) {
        r->s->gpus[i].index = i;
        r->s->gpus[i].processes_state = READING_OK;
    }
    add(r, 0, 100, PROCESS_COMPUTE);
    r->w.pids[r->w.pid_count++] = (struct claim_identity){100, 500};
    r->c = (struct method_context){.env = &r->root.env,
                                   .settings = &r->settings,
                                   .worker = &r->w,
                                   .snapshot = r->s,
                                   .journal = &r->journal,
                                   .entry = &r->entry,
                                   .ending = &r->ending};
}

static void take_down(struct rig *r)
{
    snapshot_unref(r->s);
    sysroot_done(&r->root);
}

static void it_locks_and_checkpoints_and_comes_back(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    assert_int_equal(evict(&r, &err), 0);
    assert_string_equal(r.calls, "lock checkpoint");
    assert_true(r.entry.pid_count == 1 && r.entry.pids[0].pid == 100 && r.entry.bytes == 8 * GIB_BYTES);
    assert_int_equal(method_checkpoint.find(NULL, &r.c, &err), METHOD_FOUND_EVICTED);
    assert_int_equal(method_checkpoint.resume(NULL, &r.c, &err), 0);
    assert_string_equal(r.calls, "lock checkpoint restore unlock");
    assert_int_equal(method_checkpoint.find(NULL, &r.c, &err), METHOD_FOUND_RUNNING);
    assert_int_equal(method_checkpoint.resume(NULL, &r.c, &err), 0); /* nothing to do */
    assert_string_equal(r.calls, "lock checkpoint restore unlock");
    take_down(&r);
}

static void the_time_limit_grows_with_the_memory(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    r.s->gpus[0].processes[0].mem_bytes = reading_ok(40 * GIB_BYTES);
    assert_int_equal(evict(&r, &err), 0);
    assert_true(r.longest_ms > 400000); /* a tenth of the speed that was measured */
    take_down(&r);
}

static void what_would_not_survive_is_refused_before_any_call(void **state)
{
    (void)state;
    static const char *const words[] = {"draws graphics", "MIG",         "MIG",  "MPS",          "several processes",
                                        "is stopped",     "another one", "room", "no process of"};
    for (int i = 0; i < (int)ARRAY_LEN(words); i++) {
        struct rig r;
        struct error err = {0};
        set_up(&r);
        struct process *p = &r.s->gpus[0].processes[0];
        switch (i) {
        case 0: p->type = PROCESS_COMPUTE | PROCESS_GRAPHICS; break;
        case 1: p->instance = 0; break;
        case 2: r.s->gpus[0].instance_count = 1; break;
        case 3: snprintf(add(&r, 1, 300, PROCESS_COMPUTE)->name, PROCESS_NAME_SIZE, "nvidia-cuda-mps"); break;
        case 4:
            add(&r, 1, 101, PROCESS_COMPUTE);
            r.w.pids[r.w.pid_count++] = (struct claim_identity){101, 500};
            break;
        case 5: sysroot_write(&r.root, "/proc/100/status", "State:\tT (stopped)\nTgid:\t100\n"); break;
        case 6: p->start_key = 7; break;
        case 7: sysroot_write(&r.root, "/proc/meminfo", "MemAvailable:    1048576 kB\n"); break;
        case 8: r.w.pid_count = 0; break;
        }
        assert_true(evict(&r, &err) < 0);
        assert_non_null(strstr(err.text, words[i]));
        assert_string_equal(r.calls, "");
        assert_string_equal(r.entry.step, "");
        r.s->gpus[0].instance_count = 0;
        take_down(&r);
    }
}

static void a_worker_on_two_gpus_is_one_process(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    add(&r, 1, 100, PROCESS_COMPUTE);
    assert_int_equal(evict(&r, &err), 0);
    assert_true(r.entry.bytes == 16 * GIB_BYTES);
    take_down(&r);
}

static void the_drivers_refusals_are_said_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *words;
        int expected;
    } cases[] = {
        {"lock driver 304", "CAP_SYS_PTRACE", -EPERM},
        {"lock driver 801", "not supported", -EOPNOTSUPP},
        {"lock driver 4711", "driver error 4711", -EIO},
        {"lock missing libcuda.so.1", "driver 570 or later", -ENOSYS},
        {"lock timeout", "did not end within", -ETIMEDOUT},
        {"lock ", "did not answer", -EIO},
        {"lock what", "unexpected", -EIO},
        {"state ok 3", "an earlier checkpoint", -EIO},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        struct error err = {0};
        set_up(&r);
        r.answers = cases[i].answer;
        assert_int_equal(evict(&r, &err), cases[i].expected);
        assert_non_null(strstr(err.text, cases[i].words));
        assert_null(strstr(r.calls, "checkpoint"));
        take_down(&r);
    }
}

static void a_checkpoint_that_fails_is_unlocked(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    r.answers = "checkpoint driver 2";
    assert_int_equal(evict(&r, &err), -ENOMEM);
    assert_string_equal(r.calls, "lock checkpoint unlock");
    assert_int_equal(r.driver_state, CUDA_PROCESS_RUNNING);
    take_down(&r);
}

static void one_that_was_left_locked_is_not_locked_again(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    r.driver_state = CUDA_PROCESS_LOCKED;
    assert_int_equal(evict(&r, &err), 0);
    assert_string_equal(r.calls, "checkpoint");
    r.driver_state = CUDA_PROCESS_LOCKED; /* killed between restore and unlock */
    r.calls[0] = '\0';
    assert_int_equal(method_checkpoint.resume(NULL, &r.c, &err), 0);
    assert_string_equal(r.calls, "unlock");
    take_down(&r);
}

static void told_to_end_it_does_not_begin_the_checkpoint(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    r.ends_at = "lock";
    assert_int_equal(evict(&r, &err), -ECANCELED);
    assert_null(strstr(r.calls, "checkpoint"));
    assert_int_equal(r.driver_state, CUDA_PROCESS_RUNNING);
    take_down(&r);
}

/* What the first takes of the host's memory cannot be seen while it is under way. */
static void two_begin_side_by_side_only_where_both_fit_into_host_memory(void **state)
{
    (void)state;
    static const struct {
        const char *meminfo, *begun;
    } hosts[] = {{"MemAvailable:    20971520 kB\n", "lock unlock"}, {"MemAvailable:    12582912 kB\n", ""}};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct rig first, second;
        struct error err = {0};
        set_up(&first);
        set_up(&second);
        sysroot_write(&first.root, "/proc/meminfo", hosts[i].meminfo);
        sysroot_write(&second.root, "/proc/meminfo", hosts[i].meminfo);
        first.beside = &second;
        assert_int_equal(evict(&first, &err), 0);
        assert_string_equal(second.calls, hosts[i].begun);
        second.calls[0] = '\0';
        assert_int_equal(evict(&second, &err), 0); /* the first has ended */
        assert_string_equal(second.calls, "lock checkpoint");
        take_down(&first);
        take_down(&second);
    }
}

static void a_worker_that_is_gone_is_not_restored(void **state)
{
    (void)state;
    struct rig r;
    struct error err = {0};
    set_up(&r);
    assert_int_equal(method_checkpoint.resume(NULL, &r.c, &err), -ESRCH); /* it is not known which one */
    assert_int_equal(evict(&r, &err), 0);
    sysroot_remove(&r.root, "/proc/100");
    assert_int_equal(method_checkpoint.resume(NULL, &r.c, &err), -ESRCH);
    assert_int_equal(method_checkpoint.find(NULL, &r.c, &err), METHOD_FOUND_UNKNOWN);
    assert_string_equal(r.calls, "lock checkpoint");
    take_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_locks_and_checkpoints_and_comes_back),
        TEST(the_time_limit_grows_with_the_memory),
        TEST(what_would_not_survive_is_refused_before_any_call),
        TEST(a_worker_on_two_gpus_is_one_process),
        TEST(the_drivers_refusals_are_said_in_words),
        TEST(a_checkpoint_that_fails_is_unlocked),
        TEST(one_that_was_left_locked_is_not_locked_again),
        TEST(told_to_end_it_does_not_begin_the_checkpoint),
        TEST(two_begin_side_by_side_only_where_both_fit_into_host_memory),
        TEST(a_worker_that_is_gone_is_not_restored),
    };
    return RUN_TESTS(tests);
}
