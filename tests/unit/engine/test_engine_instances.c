/* SPDX-License-Identifier: Apache-2.0
 * A divided card through the whole engine, on the fake NVML.
 */
#include <stdio.h>

#include "engine/engine.h"
#include "test.h"

enum { PATIENCE_MS = 20000 };

static void processes_of_an_instance_have_names(void **state)
{
    (void)state;
    char library[512], script[] = "/tmp/whirr-fake-XXXXXX";
    const char *dir = getenv("WHIRR_FAKE_NVML_DIR");
    snprintf(library, sizeof library, "%s/libnvidia-ml-fake.so", dir ? dir : ".");
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "gpu A100\n mig 1\n instance 3g.20gb 2 0 20096 1000\n process self compute 900 in 2 0\n") > 0);
    close(fd);
    setenv("WHIRR_FAKE_NVML", script, 1);

    struct env env;
    env_init_system(&env);
    env.nvml_library = library;
    env.visible_devices = NULL;
    const char *sources[] = {"nvml"};
    struct error err = {0};
    struct engine *e = engine_new(&(struct engine_options){.env = &env, .sources = sources, .source_count = 1}, &err);
    assert_non_null(e);
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(e, GROUP_QUICK, 0, PATIENCE_MS);
    assert_int_equal(s->gpu_count, 1);
    assert_int_equal(s->gpus[0].instance_count, 1);
    assert_int_equal(s->gpus[0].instances[0].process_count, 1);
    assert_string_not_equal(s->gpus[0].processes[0].name, "");
    assert_string_equal(s->gpus[0].instances[0].processes[0].name, s->gpus[0].processes[0].name);
    engine_free(e);
    unlink(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(processes_of_an_instance_have_names)};
    return RUN_TESTS(tests);
}
