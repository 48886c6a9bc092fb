/* SPDX-License-Identifier: Apache-2.0 */
#include "model/job.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "test.h"

static struct process *add(struct snapshot *s, size_t gpu, int32_t pid)
{
    struct process *p = gpu_add_process(&s->gpus[gpu], pid);
    assert_non_null(p);
    p->type = PROCESS_COMPUTE;
    p->instance = -1;
    p->visible = true;
    return p;
}
#define SET(field, text) str_copy(field, sizeof(field), str_from(text))

static struct snapshot *machine(size_t gpus)
{
    struct snapshot *s = snapshot_new(gpus);
    assert_non_null(s);
    for (size_t i = 0; i < gpus; i++)
        s->gpus[i].index = (int)i;
    return s;
}

static void processes_of_one_launcher_are_a_job_from_two_on(void **state)
{
    (void)state;
    struct snapshot *s = machine(3);
    AUTO_SNAPSHOT const struct snapshot *owned = s;
    (void)owned;
    SET(add(s, 0, 11)->launcher, "torchrun:10");
    SET(add(s, 1, 21)->launcher, "python3:20");
    SET(add(s, 2, 21)->launcher, "python3:20"); /* the same process on another GPU */
    jobs_assign(s);
    assert_string_equal(s->gpus[0].processes[0].job, "");
    assert_string_equal(s->gpus[1].processes[0].job, "");
    SET(add(s, 2, 12)->launcher, "torchrun:10");
    jobs_assign(s);
    assert_string_equal(s->gpus[0].processes[0].job, "torchrun:10");
    assert_string_equal(s->gpus[2].processes[1].job, "torchrun:10");
    AUTO_JOBS struct jobs jobs;
    assert_int_equal(jobs_find(&jobs, s), 0);
    assert_int_equal(jobs.count, 1);
    assert_int_equal(jobs.list[0].processes, 2);
    assert_string_equal(jobs.list[0].id, s->gpus[2].processes[1].job);
    assert_string_equal(s->gpus[1].processes[0].job, "");
}

/* A name of its own stays, and a container that draws is a desktop's. */
static void a_job_with_a_name_and_a_window_are_left_alone(void **state)
{
    (void)state;
    struct snapshot *s = machine(1);
    AUTO_SNAPSHOT const struct snapshot *owned = s;
    (void)owned;
    for (int32_t pid = 1; pid <= 2; pid++) {
        struct process *p = add(s, 0, pid);
        SET(p->launcher, "torchrun:10");
        SET(p->job, "4711");
        p = add(s, 0, pid + 10);
        SET(p->container, "docker:4f2a9c1b3d7e");
        p->type = PROCESS_GRAPHICS;
    }
    jobs_assign(s);
    AUTO_JOBS struct jobs jobs;
    assert_int_equal(jobs_find(&jobs, s), 0);
    assert_int_equal(jobs.count, 1);
    assert_string_equal(jobs.list[0].id, "4711");
    assert_string_equal(s->gpus[0].processes[1].job, "");
}

static void members_come_by_rank_and_one_that_names_others_is_enough(void **state)
{
    (void)state;
    struct snapshot *s = machine(3);
    AUTO_SNAPSHOT const struct snapshot *owned = s;
    (void)owned;
    for (size_t i = 0; i < 2; i++) {
        struct process *p = add(s, i, 100 + (int32_t)i);
        SET(p->job, "4711");
        p->rank = reading_ok(1 - (int64_t)i);
        p->world_size = reading_ok(16);
    }
    struct process *alone = add(s, 2, 200);
    SET(alone->job, "4712");
    AUTO_JOBS struct jobs jobs;
    assert_int_equal(jobs_find(&jobs, s), 0);
    assert_int_equal(jobs.count, 1); /* one process of a batch job is only that process */
    assert_int_equal(jobs.list[0].count, 2);
    assert_int_equal(jobs.list[0].world_size.value, 16);
    assert_int_equal(jobs.list[0].members[0].process->pid, 101);
    jobs_done(&jobs);
    alone->world_size = reading_ok(2);
    assert_int_equal(jobs_find(&jobs, s), 0);
    assert_string_equal(jobs.list[1].id, "4712");
}

static void pods_and_containers_are_jobs_sandboxes_and_systems_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *container, *name, *job;
    } places[] = {
        {"k8s:0a1b/4f2a", "ml/train-0/main", "ml/train-0"},
        {"docker:4f2a9c1b3d7e", "train-llama", "train-llama"},
        {"docker:4f2a9c1b3d7e", "", "docker:4f2a9c1b3d7e"},
        {"flatpak:org.blender.Blender", "", NULL},
        {"snap:firefox", "", NULL},
        {"lxc:101", "101", NULL},
        {"machine:vm1", "", NULL},
        {"", "", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct snapshot *s = machine(1);
        AUTO_SNAPSHOT const struct snapshot *owned = s;
        (void)owned;
        for (int32_t pid = 1; pid <= 2; pid++) {
            struct process *p = add(s, 0, pid);
            SET(p->container, places[i].container);
            SET(p->container_name, places[i].name);
        }
        AUTO_JOBS struct jobs jobs;
        assert_int_equal(jobs_find(&jobs, s), 0);
        assert_int_equal(jobs.count, places[i].job ? 1 : 0);
        if (places[i].job)
            assert_string_equal(jobs.list[0].id, places[i].job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(processes_of_one_launcher_are_a_job_from_two_on),
        TEST(a_job_with_a_name_and_a_window_are_left_alone),
        TEST(members_come_by_rank_and_one_that_names_others_is_enough),
        TEST(pods_and_containers_are_jobs_sandboxes_and_systems_are_not),
    };
    return RUN_TESTS(tests);
}
