/* SPDX-License-Identifier: Apache-2.0
 * What was read of a process on its host goes into the snapshot with the node of its GPU.
 */
#include "engine/host_look.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "test.h"

#include "sysroot.h"

static void a_process_that_waits_knows_the_node_of_its_gpu(void **state)
{
    (void)state;
    struct sysroot machine;
    sysroot_init(&machine);
    machine.env.clock = &clock_system;
    sysroot_write(&machine, "/sys/bus/pci/devices/0000:41:00.0/numa_node", "1\n");
    struct host_look *h = host_look_new(&machine.env);
    struct snapshot *s = snapshot_new(2);
    assert_true(h && s);
    for (int i = 0; i < 2; i++) {
        struct process *p = gpu_add_process(&s->gpus[i], 42 + i);
        p->start_key = 7;
        s->gpus[i].util_permille = reading_ok(i == 0 ? 100 : 990);
        s->gpus[i].processes_state = READING_OK;
        str_copy(s->gpus[i].id.pci_address, sizeof s->gpus[i].id.pci_address, STR("0000:41:00.0"));
    }
    const bool here[] = {true, true};
    for (int i = 0; i < 100 && !s->gpus[0].processes[0].host; i++) /* an answer may come with a later round */
        host_look_add(h, s, here, true);
    assert_non_null(s->gpus[0].processes[0].host);
    assert_int_equal(reading_or(s->gpus[0].processes[0].host->gpu_node, -1), 1);
    assert_null(s->gpus[1].processes[0].host); /* its GPU is full: nothing is read of it */
    host_look_free(h, 5000);
    snapshot_unref(s);
    sysroot_done(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_process_that_waits_knows_the_node_of_its_gpu)};
    return RUN_TESTS(tests);
}
