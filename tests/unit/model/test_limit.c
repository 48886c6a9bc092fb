/* SPDX-License-Identifier: Apache-2.0
 * Names of limits, and a process that owns what was read of it on its host.
 */
#include "model/limit.h"

#include <string.h>

#include "model/gpu.h"
#include "test.h"

static void every_limit_has_a_name_that_leads_back(void **state)
{
    (void)state;
    assert_null(limit_name(LIMIT_UNJUDGED));
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++) {
        enum limit back = LIMIT_UNJUDGED;
        assert_true(limit_from_name(limit_name((enum limit)l), &back));
        assert_int_equal(back, l);
        assert_true(limit_words((enum limit)l)[0] && limit_doing((enum limit)l)[0]);
    }
    enum limit none;
    assert_false(limit_from_name("luck", &none));
    assert_int_equal(limit_side(LIMIT_DISK), LIMIT_SIDE_HOST);
    assert_string_equal(limit_side_name(LIMIT_SIDE_GPU), "gpu");
}

static void a_copy_of_a_gpu_has_its_own_evidence(void **state)
{
    (void)state;
    struct gpu from = {0}, to;
    struct process *p = gpu_add_process(&from, 7);
    assert_non_null(process_evidence(p));
    p->host->looks = 3;
    assert_int_equal(gpu_copy(&to, &from), 0);
    assert_ptr_not_equal(to.processes[0].host, from.processes[0].host);
    gpu_done(&from);
    assert_int_equal(to.processes[0].host->looks, 3);
    gpu_cut_processes(&to, 0);
    gpu_done(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_limit_has_a_name_that_leads_back), TEST(a_copy_of_a_gpu_has_its_own_evidence)};
    return RUN_TESTS(tests);
}
