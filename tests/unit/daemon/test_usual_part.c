/* SPDX-License-Identifier: Apache-2.0
 * What is usual for the GPUs as a part of the daemon, beside a history that has just begun.
 */
#include "base/cleanup.h"
#include "daemon/part.h"
#include "insight/baseline/baseline.h"
#include "store/service/service.h"
#include "store/sim_history.h"

/* The time of the sample stands still: a caller that asks a second time would never come to an end. */
static void a_new_history_has_nothing_to_teach_and_is_not_asked_again(void **state)
{
    (void)state;
    struct error err;
    struct sim_history h;
    sim_history_open(&h, "gpus=1");
    make_store_folder();
    const struct store_service_options options = {
        .clock = &h.clock.clock,
        .store = {.env = &test_env, .url = store_url("new.db"), .host = "", .limits = store_default_limits}};
    struct store_service *store = store_service_new(&options, &err);
    assert_non_null(store);
    struct store_status status;
    assert_true(EVENTUALLY((store_service_status(store, &status), status.state == STORE_OK)));

    const struct part_host host = {.env = &test_env, .store = store};
    const struct snapshot *s = sim_history_next(&h);
    void *part = usual_part_ops.open(&host, &err);
    assert_non_null(part);
    assert_int_equal(usual_part_ops.start(part, &host), 0);
    assert_true(EVENTUALLY((usual_part_ops.sampled(part, s), usual_part_latest(part) != NULL)));
    assert_int_equal(usual_part_latest(part)->count, 0);

    usual_part_ops.close(part);
    snapshot_unref(s);
    store_service_free(store, 10000);
    sim_history_close(&h);
    remove_store_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_new_history_has_nothing_to_teach_and_is_not_asked_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
