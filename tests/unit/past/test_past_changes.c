/* SPDX-License-Identifier: Apache-2.0
 * What changed is remembered over restarts, in either database: one event for each change, and what came with it.
 */
#include <string.h>

#include "base/units.h"
#include "past/past_usual.h"
#include "store/internal.h"
#include "store/own_database.h"
#include "store/sim_history.h"

/* An idle GPU with this driver that draws so much, for so many samples. */
static void write_idle(struct store *s, struct sim_history *h, const char *driver, const char *kernel, int64_t watts,
                       int64_t limit_w, int samples)
{
    for (int i = 0; i < samples; i++) {
        struct snapshot *now = sim_history_next(h);
        struct gpu *gpu = &now->gpus[0];
        gpu_set_property(gpu, PROPERTY_driver_version, driver);
        snprintf(now->host.kernel, sizeof now->host.kernel, "%s", kernel);
        gpu->util_permille = reading_ok(0);
        gpu->power_mw = reading_ok(watts * 1000);
        gpu->power_limit_mw = gpu->power_limit_requested_mw = reading_ok(limit_w * 1000);
        write_one(s, now);
        snapshot_unref(now);
    }
}

struct events {
    int count;
    char text[4][160], data[4][160];
    struct wall at[4];
};

static int take_event(void *user, const struct store_event_row *e)
{
    struct events *all = user;
    if (all->count < 4) {
        snprintf(all->text[all->count], 160, "%s", e->text);
        snprintf(all->data[all->count], 160, "%s", e->data ? e->data : "");
        all->at[all->count] = e->at;
    }
    all->count++;
    return 0;
}

static void remembers(struct store *(*open)(void))
{
    struct error err = {0};
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle,model=rtx4090");
    h.interval_ms = 30000;
    struct store *s = open();
    write_idle(s, &h, "575.57.08", "6.8.0-48-generic", 22, 350, 60);
    store_close(s);
    clock_manual_advance_ms(&h.clock, 300 * MS_PER_S); /* a boot */
    struct wall changed = h.clock.today;
    s = open();
    write_idle(s, &h, "580.95.05", "6.8.0-49-generic", 51, 350, 60);
    store_close(s);
    s = open(); /* the same again is no change */
    struct wall limited = h.clock.today;
    write_idle(s, &h, "580.95.05", "", 51, 250, 10);

    struct events events = {0};
    const struct store_event_page page = {.host = "box", .kind = "change", .until_ms = INT64_MAX >> 21, .limit = 100};
    assert_int_equal(store_events(s, &page, take_event, &events, &err), 0);
    assert_int_equal(events.count, 3);
    assert_string_equal(events.text[0], "GPU 0: the driver went from 575.57.08 to 580.95.05");
    assert_string_equal(events.data[0], "{\"what\":\"driver\",\"before\":\"575.57.08\",\"after\":\"580.95.05\"}");
    assert_int_equal(events.at[0].ms, changed.ms);
    assert_string_equal(events.text[1], "GPU 0: the kernel went from 6.8.0-48-generic to 6.8.0-49-generic");
    assert_int_equal(events.at[1].ms, changed.ms);
    assert_string_equal(events.text[2], "GPU 0: its power limit went from 350 W to 250 W");
    assert_int_equal(events.at[2].ms, limited.ms);

    struct changes changes;
    assert_int_equal(past_changes(s, "box", h.clock.today, &changes, &err), 0);
    assert_int_equal(changes.count, 3);
    const struct gpu_change *driver = &changes.list[0];
    assert_int_equal(driver->code, CHANGE_DRIVER);
    assert_int_equal(driver->since.ms, changed.ms);
    assert_string_equal(driver->before, "575.57.08");
    assert_int_equal(driver->idle_before_mw.value, 22000);
    assert_int_equal(driver->idle_since_mw.value, 51000);
    /* The minutes before the driver are not those before the limit. */
    assert_int_equal(changes.list[2].code, CHANGE_POWER_LIMIT);
    assert_int_equal(changes.list[2].idle_before_mw.value, 51000);

    assert_int_equal(past_changes_within(s, "box", 0, (struct wall){changed.ms + 1}, h.clock.today, &changes, &err), 0);
    assert_int_equal(changes.count, 1);
    assert_int_equal(past_changes(s, "box", (struct wall){changed.ms - 1}, &changes, &err), 0);
    assert_int_equal(changes.count, 0);
    store_close(s);
    sim_history_close(&h);
}

static struct store *open_file(void)
{
    return open_store("changes.db");
}

static struct store *open_server(void)
{
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {
        .env = &test_env, .url = own_database("whirr_changes"), .host = "", .limits = store_default_limits};
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

static void sqlite_remembers_what_changed_and_what_came_with_it(void **state)
{
    (void)state;
    remembers(open_file);
}

static void postgres_remembers_the_same(void **state)
{
    (void)state;
    if (!own_database("whirr_changes"))
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    remembers(open_server);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {TEST(sqlite_remembers_what_changed_and_what_came_with_it),
                                       TEST(postgres_remembers_the_same)};
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
