/* SPDX-License-Identifier: Apache-2.0
 * Recorded AMD machines against golden files. Each golden line was checked by hand against the recorded files.
 */
#include "base/cleanup.h"
#include "source/amdgpu/amdgpu.h"
#include "test.h"
#include "tree.h"

static const char *const trees[] = {
    "hd7870-si-radeon", "mi210-kfd",      "mi300x-kfd-cpx", "phoenix-apu-780m", "r7-240-si-amdgpu",
    "rx5500xt-rdna1",   "rx5700xt-rdna1", "rx580-polaris",  "rx6900xt-rdna2",   "rx7900xtx-rdna3",
    "rx9070-rdna4",     "rx9070xt-rdna4", "vega10-procfs",  "vega56-gfx9",
};

static void reads_every_recorded_card_as_its_files_say(void **state)
{
    (void)state;
    size_t compared = 0;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        struct tree t;
        char name[PATH_SIZE];
        snprintf(name, sizeof name, "amd/%s", trees[i]);
        if (!tree_recorded(&t, name))
            continue;
        AUTO_FREE char *text = source_write(&amdgpu_source, &t.env);
        snprintf(name, sizeof name, "amdgpu-%s.txt", trees[i]);
        assert_golden(name, text);
        compared++;
    }
    if (compared == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(reads_every_recorded_card_as_its_files_say)};
    return RUN_TESTS(tests);
}
