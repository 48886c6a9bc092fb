/* SPDX-License-Identifier: Apache-2.0
 * When the engine reads the host: once for each sample, while its sources answer.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "engine/engine.h"
#include "sysroot.h"

enum { PATIENCE_MS = 90000, HUNG_AFTER_MS = 30000 };

static struct sysroot machine;
static atomic_int samples, host_reads;

static void count_reads(const struct env *env, enum env_read kind, const char *path, struct str bytes)
{
    (void)env, (void)kind, (void)bytes;
    host_reads += strcmp(path, "/proc/loadavg") == 0;
}

/* A program that does not answer until the host was read for this sample. A later read finds another load. */
static int answer_after_the_host(const struct env *env, const struct launch *launch, struct error *err)
{
    if (!EVENTUALLY(host_reads >= samples))
        return error_set(err, -ETIMEDOUT, "the host was not read");
    sysroot_write(&machine, "/proc/loadavg", "99.00 0.50 0.25 2/345 6789\n");
    return launch_program(env, launch, err);
}

static void the_host_is_read_once_for_each_sample_while_the_sources_answer(void **state)
{
    (void)state;
    char program[512], load[64];
    const char *sources[] = {"nvidia-smi"};
    struct error err = {0};
    sysroot_init(&machine);
    snprintf(program, sizeof program, "%s/tests/fakes/nvidia-smi", getenv("WHIRR_SOURCE_ROOT"));
    machine.env.clock = &clock_system;
    machine.env.nvidia_smi = program;
    machine.env.visible_devices = NULL;
    machine.env.launch = answer_after_the_host;
    machine.env.on_read = count_reads;
    struct engine *e = engine_new(
        &(struct engine_options){.env = &machine.env, .sources = sources, .source_count = 1, .hung_after_ms = HUNG_AFTER_MS}, &err);
    assert_non_null(e);
    for (int i = 1; i <= 3; i++) {
        snprintf(load, sizeof load, "%d.00 0.50 0.25 2/345 6789\n", i);
        sysroot_write(&machine, "/proc/loadavg", load);
        samples = i;
        AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, -1, PATIENCE_MS);
        assert_non_null(s);
        assert_int_equal(s->sources[0].state, SOURCE_OK);
        assert_int_equal(s->gpu_count, 2);
        assert_int_equal(s->host.load1_milli.value, 1000 * i);
        assert_int_equal(host_reads, i);
    }
    engine_free(e);
    sysroot_done(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(the_host_is_read_once_for_each_sample_while_the_sources_answer)};
    return RUN_TESTS(tests);
}
