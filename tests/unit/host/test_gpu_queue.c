/* SPDX-License-Identifier: Apache-2.0
 * Traces of drm's scheduler as kernels print them, and an instance of tracefs in a sysroot.
 */
#include "host/gpu_queue.h"

#include <errno.h>

#include "sysroot.h"
#include "test.h"

/* A game's job waits for one of a miner, which has the ring. */
static const char trace[] = "# tracer: nop\n"
                            "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
                            "    miner x-cs0-700     [001] .....   100.000000: drm_sched_job_queue: dev=0000:03:00.0, fence=9:1, "
                            "ring=gfx_0.0.0, job count:1, hw job count:0, client_id:7\n"
                            "    kworker/u9:2-71     [001] .....   100.000100: drm_sched_job_run: dev=0000:03:00.0, fence=9:1, "
                            "ring=gfx_0.0.0, job count:0, hw job count:1, client_id:7\n"
                            "        game:cs0-4242   [003] .....   100.001000: drm_sched_job_queue: dev=0000:03:00.0, fence=12:5, "
                            "ring=gfx_0.0.0, job count:1, hw job count:1, client_id:9\n"
                            "        game:cs0-4242   [003] .....   100.001000: drm_sched_job_queue: dev=0000:03:00.0, fence=13:1, "
                            "ring=sdma0, job count:1, hw job count:1, client_id:9\n"
                            "    kworker/u9:2-71     [001] .....   100.001100: drm_sched_job_run: dev=0000:03:00.0, fence=12:5, "
                            "ring=gfx_0.0.0, job count:0, hw job count:2, client_id:9\n"
                            "    kworker/u9:2-71     [001] .....   100.001100: drm_sched_job_run: dev=0000:03:00.0, fence=13:1, "
                            "ring=sdma0, job count:0, hw job count:2, client_id:9\n"
                            "CPU:1 [LOST 42 EVENTS]\n"
                            "          <idle>-0      [001] d.h..   100.002000: drm_sched_job_done: fence=13:1 signaled\n"
                            "          <idle>-0      [001] d.h..   100.021000: drm_sched_job_done: fence=9:1 signaled\n"
                            "          <idle>-0      [001] d.h..   100.023000: drm_sched_job_done: fence=12:5 signaled\n"
                            "          <idle>-0      [001] d.h..   100.024000: drm_sched_job_done: fence=77:1 signaled\n";

/* Before Linux 6.16. */
static const char old_trace[] =
    "     Xorg:cs0-900   (    880) [000] .....    5.000000: drm_sched_job: entity=00000000aa, id=1, fence=00000000f1, ring=gfx, "
    "job count:1, hw job count:0\n"
    "    gfx-71    (     71) [000] .....    5.000010: drm_run_job: entity=00000000aa, id=1, fence=00000000f1, ring=gfx, job "
    "count:0, hw job count:1\n"
    "     game-4242   (   4242) [000] .....    5.001000: drm_sched_job: entity=00000000bb, id=2, fence=00000000f2, ring=gfx, job "
    "count:1, hw job count:1\n"
    "    gfx-71    (     71) [000] .....    5.001010: drm_run_job: entity=00000000bb, id=2, fence=00000000f2, ring=gfx, job "
    "count:0, hw job count:2\n"
    "    <idle>-0     (-------) [000] .....    5.004000: drm_sched_process_job: fence=00000000f1 signaled\n"
    "    <idle>-0     (-------) [000] .....    5.005000: drm_sched_process_job: fence=00000000f2 signaled\n";

static void a_job_waits_for_the_one_that_has_its_ring(void **state)
{
    (void)state;
    struct queue_look l;
    assert_int_equal(queue_judge(STR(trace), &l), 0);
    assert_int_equal(l.jobs, 3);
    assert_int_equal(l.lost, 42);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.pairs[0].waiter, 4242);
    assert_int_equal(l.pairs[0].holder, 700);
    assert_string_equal(l.pairs[0].waiter_name, "game:cs0");
    assert_string_equal(l.pairs[0].holder_name, "miner x-cs0");
    assert_string_equal(l.pairs[0].device, "0000:03:00.0");
    assert_string_equal(l.pairs[0].ring, "gfx_0.0.0");
    assert_int_equal(l.pairs[0].waited_ns, 20000000);
    assert_int_equal(queue_judge(STR(old_trace), &l), 0);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.pairs[0].waiter, 4242);
    assert_int_equal(l.pairs[0].holder, 900);
    assert_string_equal(l.pairs[0].device, "");
    assert_int_equal(l.pairs[0].waited_ns, 3000000);
    assert_int_equal(queue_judge(STR(""), &l), 0);
    assert_int_equal(l.jobs + l.count, 0);
}

static void an_instance_of_tracefs_is_used_and_switched_off(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct queue_look l;
    struct error err = {0};
    char text[16];
    assert_int_equal(queue_take(&s.env, 1, &l, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no events of gpu_scheduler"));
    sysroot_write(&s, "/sys/kernel/tracing/events/gpu_scheduler/enable", "0\n");
    sysroot_write(&s, "/sys/kernel/tracing/instances/whirr/events/gpu_scheduler/enable", "0");
    sysroot_write(&s, "/sys/kernel/tracing/instances/whirr/trace", trace);
    assert_int_equal(queue_take(&s.env, 1, &l, &err), 0);
    assert_int_equal(l.count, 1);
    assert_true(file_read(&s.env, "/sys/kernel/tracing/instances/whirr/events/gpu_scheduler/enable", text, sizeof text) > 0);
    assert_int_equal(text[0], '0');
    assert_true(file_read(&s.env, "/sys/kernel/tracing/events/gpu_scheduler/enable", text, sizeof text) > 0);
    assert_int_equal(text[0], '0'); /* of others */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_the_one_that_has_its_ring),
        cmocka_unit_test(an_instance_of_tracefs_is_used_and_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
