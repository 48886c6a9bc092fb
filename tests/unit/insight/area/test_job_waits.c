/* SPDX-License-Identifier: Apache-2.0 */
#include "insight/area/ranks.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "test.h"

enum { RANKS = 8, LATE = 3 };

static void set_load(struct gpu *gpu, int64_t util, int64_t sm, int64_t power_w)
{
    gpu->util_permille = gpu->graphics_active_permille = reading_ok(util);
    gpu->sm_active_permille = reading_ok(sm);
    gpu->dram_active_permille = reading_ok(0);
    gpu->power_mw = reading_ok(power_w * 1000);
    gpu->power_limit_mw = reading_ok(700000);
    gpu->pcie_width = reading_ok(16);
}

/* Eight ranks of one job that wait, but for the one on GPU 3. */
static struct snapshot *job(int64_t world)
{
    struct snapshot *s = snapshot_new(RANKS);
    assert_non_null(s);
    for (int i = 0; i < RANKS; i++) {
        struct gpu *gpu = &s->gpus[i];
        gpu->index = i;
        struct process *p = gpu_add_process(gpu, 100 + i);
        p->type = PROCESS_COMPUTE;
        p->instance = -1;
        p->visible = true;
        p->rank = reading_ok(i);
        p->world_size = reading_ok(world);
        str_copy(p->job, sizeof p->job, STR("4711"));
        str_copy(p->name, sizeof p->name, STR("python3"));
        if (i == LATE)
            set_load(gpu, 100, 80, 150);
        else
            set_load(gpu, 1000, 8, 122);
    }
    return s;
}

static enum late late_of(const struct snapshot *s)
{
    AUTO_JOB_WAITS struct job_waits w;
    assert_int_equal(job_waits_find(&w, s), 0);
    assert_int_equal(w.count, 1);
    assert_int_equal(w.list[0].waiting, RANKS - 1);
    assert_int_equal(w.list[0].late->gpu->index, LATE);
    assert_ptr_equal(job_waits_of(&w, &s->gpus[LATE], true), &w.list[0]);
    assert_null(job_waits_of(&w, &s->gpus[LATE], false));
    assert_ptr_equal(job_waits_of(&w, &s->gpus[0], false), &w.list[0]);
    return w.list[0].why;
}

static void the_reason_that_shows_best_is_named(void **state)
{
    (void)state;
    struct snapshot *s = job(RANKS);
    struct gpu *gpu = &s->gpus[LATE];
    struct process *p = &gpu->processes[0];
    assert_int_equal(late_of(s), LATE_UNKNOWN);
    gpu->util_permille = reading_ok(0);
    assert_int_equal(late_of(s), LATE_IDLE);
    set_load(gpu, 990, 800, 600);
    assert_int_equal(late_of(s), LATE_COMPUTES);
    struct process *other = gpu_add_process(gpu, 7);
    other->util_permille = reading_ok(400);
    p = &gpu->processes[0];
    assert_int_equal(late_of(s), LATE_SHARED);
    gpu->pcie_width = reading_ok(4);
    assert_int_equal(late_of(s), LATE_LINK);
    gpu->throttle_bits = reading_ok(THROTTLE_POWER_BRAKE);
    assert_int_equal(late_of(s), LATE_SLOWED);
    p->limit = (struct process_limit){.code = LIMIT_DISK, .share_permille = 900};
    assert_int_equal(late_of(s), LATE_LIMIT);
    assert_non_null(process_evidence(p));
    p->host->stopped = reading_ok(1);
    assert_int_equal(late_of(s), LATE_STOPPED);
    gpu->state = GPU_LOST;
    assert_int_equal(late_of(s), LATE_GPU);
    snapshot_unref(s);
}

static size_t waits(const struct snapshot *s)
{
    AUTO_JOB_WAITS struct job_waits w;
    assert_int_equal(job_waits_find(&w, s), 0);
    return w.count;
}

/* Half of a job at work is not late, a copy is no collective, and what another program keeps busy is not the rank's. */
static void only_ranks_that_wait_make_another_one_late(void **state)
{
    (void)state;
    struct snapshot *s = job(RANKS);
    assert_int_equal(waits(s), 1);
    for (int i = 4; i < RANKS; i++)
        set_load(&s->gpus[i], 900, 600, 500);
    assert_int_equal(waits(s), 0);
    snapshot_unref(s);
    s = job(RANKS);
    for (int i = 0; i < RANKS; i++)
        s->gpus[i].graphics_active_permille = reading_ok(0); /* copies */
    assert_int_equal(waits(s), 0);
    snapshot_unref(s);
    s = job(RANKS);
    for (int i = 0; i < RANKS; i++)
        gpu_add_process(&s->gpus[i], 900)->util_permille = reading_ok(500);
    assert_int_equal(waits(s), 0);
    for (int i = 0; i < RANKS; i++) /* as judged over seconds */
        s->gpus[i].processes[0].limit = (struct process_limit){.code = LIMIT_KERNEL_WAIT, .share_permille = i == LATE ? 100 : 900};
    assert_int_equal(waits(s), 1);
    snapshot_unref(s);
}

static const struct {
    int64_t world;
    int missing; /* GPU whose process is gone; -1 none */
    const char *words;
} cases[] = {
    {RANKS, LATE, "GPUs 0-2 and 4-7 are waiting for rank 3 of python3 (job 4711), which has ended"},
    {RANKS, 0, "GPUs 1-7 are waiting for rank 0 of python3 (job 4711), which has ended"},
    {RANKS, 1, "GPUs 0 and 2-7 are waiting for rank 1 of python3 (job 4711), which has ended"},
    {RANKS, 7, "GPUs 0-6 are waiting for rank 7 of python3 (job 4711), which has ended"},
    {16, 7, "GPUs 0-6 are waiting for a rank of python3 (job 4711) on another host, or for the network"},
    {RANKS, -1, "GPUs 0-7 are waiting for each other: no rank of python3 (job 4711) is computing"},
};

static void a_rank_that_has_ended_is_missed_by_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct snapshot *s = job(cases[i].world);
        char words[JOB_WORDS];
        set_load(&s->gpus[LATE], 1000, 8, 122);
        if (cases[i].missing >= 0)
            s->gpus[cases[i].missing].process_count = 0;
        AUTO_JOB_WAITS struct job_waits w;
        assert_int_equal(job_waits_find(&w, s), 0);
        assert_int_equal(w.count, 1);
        assert_null(w.list[0].late);
        assert_string_equal(job_wait_words(&w.list[0], false, words), cases[i].words);
        snapshot_unref(s);
    }
}

static void a_rank_that_does_not_answer_is_the_one(void **state)
{
    (void)state;
    char words[JOB_WORDS];
    struct snapshot *s = job(16);
    set_load(&s->gpus[LATE], 1000, 8, 122);
    s->gpus[0].processes[0].silent_rank = reading_ok(12); /* on another host */
    AUTO_JOB_WAITS struct job_waits w;
    assert_int_equal(job_waits_find(&w, s), 0);
    assert_string_equal(job_wait_words(&w.list[0], false, words),
                        "GPUs 0-7 are waiting for rank 12 of python3 (job 4711), which does not answer the others");
    job_waits_done(&w);
    set_load(&s->gpus[LATE], 0, 0, 118);
    s->gpus[0].processes[0].silent_rank = reading_ok(LATE);
    assert_int_equal(job_waits_find(&w, s), 0);
    assert_int_equal(w.list[0].why, LATE_SILENT);
    assert_int_equal(w.list[0].late->gpu->index, LATE);
    job_waits_done(&w);

    /* What the job's traces say counts as much, until a rank gives no answer. */
    s->gpus[0].processes[0].silent_rank = reading_absent(READING_UNREAD);
    assert_non_null(process_evidence(&s->gpus[1].processes[0]));
    s->gpus[1].processes[0].host->late_rank = reading_ok(LATE);
    assert_int_equal(job_waits_find(&w, s), 0);
    assert_int_equal(w.list[0].why, LATE_BEHIND);
    assert_int_equal(w.list[0].late->gpu->index, LATE);
    job_waits_done(&w);
    set_load(&s->gpus[LATE], 1000, 8, 122);
    s->gpus[1].processes[0].host->late_rank = reading_ok(12);
    assert_int_equal(job_waits_find(&w, s), 0);
    assert_string_equal(job_wait_words(&w.list[0], false, words),
                        "GPUs 0-7 are waiting for rank 12 of python3 (job 4711), which has not come to their collective");
    snapshot_unref(s);
}

static void those_that_wait_are_marked(void **state)
{
    (void)state;
    struct snapshot *s = job(RANKS);
    for (int i = 0; i < RANKS - 1; i++)
        s->gpus[i].processes[0].limit =
            (struct process_limit){.code = i == LATE ? LIMIT_DISK : LIMIT_KERNEL_WAIT, .share_permille = 900};
    AUTO_JOB_WAITS struct job_waits w;
    assert_int_equal(job_waits_find(&w, s), 0);
    job_waits_mark(&w, s);
    assert_int_equal(s->gpus[0].processes[0].limit.code, LIMIT_STRAGGLER_WAIT);
    assert_int_equal(s->gpus[LATE].processes[0].limit.code, LIMIT_DISK);
    assert_int_equal(s->gpus[RANKS - 1].processes[0].limit.code, LIMIT_UNJUDGED);
    snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_reason_that_shows_best_is_named),
        TEST(only_ranks_that_wait_make_another_one_late),
        TEST(a_rank_that_has_ended_is_missed_by_the_others),
        TEST(a_rank_that_does_not_answer_is_the_one),
        TEST(those_that_wait_are_marked),
    };
    return RUN_TESTS(tests);
}
