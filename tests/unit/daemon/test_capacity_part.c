/* SPDX-License-Identifier: Apache-2.0
 * Capacity as a part of the daemon, while settings are read again and the history is asked in another thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/part.h"
#include "store/service/service.h"
#include "store/sim_history.h"

enum { STORED = 60, RELOADS = 300 };

/* As the daemon does: each reload has a configuration of its own, and the one before it goes at once. */
static struct config *settings_new(bool tracking)
{
    struct config *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->worker.capacity_tracking = tracking;
    c->store.host = strdup("box");
    return c;
}

static void settings_free(struct config *c)
{
    free((char *)c->store.host);
    free(c);
}

static void reload(void *part, struct config **config, bool tracking)
{
    struct config *next = settings_new(tracking);
    capacity_part_ops.reload(part, next);
    settings_free(*config);
    *config = next;
}

/* More than the minute that was seen since tracking was turned on. */
static bool knows_the_past(void *part, const struct snapshot *s)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    const struct part_request request = {.latest = s};
    capacity_part_ops.sampled(part, s);
    assert_int_equal(capacity_part_ops.routes[0].answer(part, &request, &out), 200);
    const char *watched = strstr(out.at, "\"watched_seconds\":");
    assert_non_null(watched);
    return strtol(watched + strlen("\"watched_seconds\":"), NULL, 10) > 120;
}

static void settings_may_change_while_the_history_is_asked(void **state)
{
    (void)state;
    struct error err = {0};
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=training");
    /* All of them first: the store's threads look at the clock that goes on with each. */
    static const struct snapshot *samples[STORED + RELOADS + 1];
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        h.interval_ms = i + 2 < ARRAY_LEN(samples) ? 5000 : 60000; /* the part asks again by the time of the samples */
        samples[i] = sim_history_next(&h);
    }
    const struct snapshot *last = samples[STORED + RELOADS];
    const struct store_service_options options = {
        .clock = &h.clock.clock,
        .store = {.env = &test_env, .url = store_url("capacity.db"), .host = "box", .limits = store_default_limits}};
    struct store_service *store = store_service_new(&options, &err);
    assert_non_null(store);
    struct store_status status;
    for (size_t i = 0; i < STORED; i++)
        mailbox_put(store_service_inbox(store), (void *)snapshot_ref(samples[i]));
    assert_true(EVENTUALLY((store_service_status(store, &status), status.written == STORED)));

    struct config *config = settings_new(true);
    const struct part_host host = {.env = &test_env, .config = config, .store = store};
    void *part = capacity_part_ops.open(&host, &err);
    assert_non_null(part);
    for (size_t i = 0; i < RELOADS; i++) { /* turned off, it forgets; turned on, it asks again */
        capacity_part_ops.sampled(part, samples[STORED + i]);
        reload(part, &config, i % 3 != 0);
    }
    reload(part, &config, true);
    assert_true(EVENTUALLY(knows_the_past(part, last)));
    reload(part, &config, false); /* closed with a question under way */
    capacity_part_ops.sampled(part, last);
    reload(part, &config, true);
    capacity_part_ops.sampled(part, last);
    capacity_part_ops.close(part);
    settings_free(config);
    store_service_free(store, 10000);
    for (size_t i = 0; i < ARRAY_LEN(samples); i++)
        snapshot_unref(samples[i]);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {TEST(settings_may_change_while_the_history_is_asked)};
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
