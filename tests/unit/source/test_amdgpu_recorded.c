/* SPDX-License-Identifier: Apache-2.0
 * Recorded AMD machines against golden files. Each golden line was checked by hand against the recorded files.
 */
#include <ctype.h>

#include "base/cleanup.h"
#include "source/source.h"
#include "test.h"
#include "tree.h"

static const char *const machines[] = {
    "laptop-rx7600s",  "laptop-rx7700s",   "r9-280-tahiti-amdgpu", "rx6600-navi23",       "rx6600xt-navi23",   "rx7800xt-navi32",
    "strixpoint-890m", "container-host",   "hd7870-si-radeon",     "laptop-rx6700m-0rpm", "mi210-kfd",         "mi300x-kfd-cpx",
    "mi300x-metrics",  "phoenix-apu-780m", "r7-240-si-amdgpu",     "rx5500xt-rdna1",      "rx5700xt-rdna1",    "rx580-polaris",
    "rx6900xt-rdna2",  "rx7900xtx-rdna3",  "rx9070-rdna4",         "rx9070xt-rdna4",      "steamdeck-vangogh", "strix-halo-apu",
    "vega10-procfs",   "vega56-gfx9",
};

static void reads_every_machine_as_its_files_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char golden[PATH_SIZE];
        tree_machine(&t, machines[i]);
        AUTO_FREE char *text = source_write(&amdgpu_source, &t.env);
        snprintf(golden, sizeof golden, "amdgpu-%s.txt", machines[i]);
        assert_golden(golden, text);
        tree_done(&t);
    }
}

/* Numbers of chips: those of the machines are made up. */
static void without_numbers(char *text)
{
    for (char *at = text; (at = strstr(at, "amd-"));) {
        at += 4;
        for (; isxdigit((unsigned char)*at); at++)
            *at = '0';
    }
}

static void reads_a_machine_as_the_tree_it_was_made_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree from, made;
        char name[PATH_SIZE];
        snprintf(name, sizeof name, "amd/%s", machines[i]);
        if (!tree_recorded(&from, name))
            continue;
        tree_machine(&made, machines[i]);
        AUTO_FREE char *before = source_write(&amdgpu_source, &from.env), *after = source_write(&amdgpu_source, &made.env);
        without_numbers(before);
        without_numbers(after);
        assert_string_equal(after, before);
        tree_done(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(reads_every_machine_as_its_files_say),
                                       TEST(reads_a_machine_as_the_tree_it_was_made_from)};
    return RUN_TESTS(tests);
}
