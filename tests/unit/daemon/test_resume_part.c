/* SPDX-License-Identifier: Apache-2.0
 * A resume of the host, from the clocks to the event in the history: a boot clock that goes on while the monotonic one stands
 * still, kernel files whose settings are others afterwards, the engine, the part of the daemon, the database.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/part.h"
#include "source/tree.h"
#include "store/query.h"
#include "store/sim_history.h"
#include "test.h"

enum { PATIENCE_MS = 30000, INTERVAL_MS = 20 };

/* Time passes only where the test says so: no sample is taken between two changes. */
static _Atomic int64_t passed_ns, slept_ns;

static struct mono mono_of_test(const struct clock *c)
{
    (void)c;
    return (struct mono){1000 * NS_PER_S + atomic_load(&passed_ns)};
}

static struct mono boot_of_test(const struct clock *c)
{
    return (struct mono){mono_of_test(c).ns + atomic_load(&slept_ns)};
}

static struct wall wall_of_test(const struct clock *c)
{
    return (struct wall){1800000000000 + boot_of_test(c).ns / NS_PER_MS};
}

static const struct clock test_clock = {.mono = mono_of_test, .wall = wall_of_test, .boot = boot_of_test};

struct laptop {
    struct tree tree;
    struct engine *engine;
    struct mailbox *box;
    struct part_host parts;
    void *part;
    char url[128];
};

static void drop(void *s)
{
    snapshot_unref(s);
}

/* The sample that comes after so much time, shown to the part. */
static const struct snapshot *sample_after(struct laptop *h, int64_t ms)
{
    atomic_fetch_add(&passed_ns, ms * NS_PER_MS);
    const struct snapshot *s = mailbox_take(h->box, PATIENCE_MS);
    assert_non_null(s);
    assert_int_equal(s->gpu_count, 1);
    mailbox_put(store_service_inbox(h->parts.store), (void *)snapshot_ref(s));
    resume_part_ops.sampled(h->part, s);
    return s;
}

static void settings(struct laptop *h, const char *power_cap, const char *fan_mode)
{
    tree_device(&h->tree, "card0", "hwmon/hwmon5/power1_cap", power_cap);
    tree_device(&h->tree, "card0", "hwmon/hwmon5/pwm1_enable", fan_mode);
}

static void host_open(struct laptop *h, const char *file)
{
    struct error err = {0};
    static const char *const sources[] = {"amdgpu"};
    atomic_store(&slept_ns, 0);
    tree_machine(&h->tree, "rx6900xt-rdna2");
    h->tree.env.clock = &test_clock;
    settings(h, "200000000\n", "1\n");
    snprintf(h->url, sizeof h->url, "%s", store_url(file));
    const struct store_service_options store = {
        .clock = &test_clock, .store = {.env = &test_env, .url = h->url, .host = "box", .limits = store_default_limits}};
    h->parts.store = store_service_new(&store, &err);
    const struct engine_options options = {.env = &h->tree.env, .sources = sources, .source_count = 1, .interval_ms = INTERVAL_MS};
    h->engine = engine_new(&options, &err);
    h->box = mailbox_new(64, drop);
    h->part = resume_part_ops.open(&h->parts, &err);
    assert_true(h->parts.store && h->engine && h->box && h->part);
    assert_int_equal(engine_subscribe(h->engine, h->box), 0);
    snapshot_unref(sample_after(h, 0));
}

struct found {
    int count;
    char text[512];
};

static int take(void *user, const struct store_event_row *event)
{
    struct found *f = user;
    f->count++;
    snprintf(f->text, sizeof f->text, "%s %s %d: %s", event->kind, event->severity, event->gpu_index, event->text);
    return 0;
}

/* Closes everything; then all is written. */
static void host_done(struct laptop *h, struct found *ret)
{
    struct error err = {0};
    struct store *s = NULL;
    resume_part_ops.close(h->part);
    engine_free(h->engine);
    mailbox_free(h->box);
    store_service_free(h->parts.store, PATIENCE_MS);
    assert_int_equal(store_open_read_only(&test_env, h->url, &s, &err), 0);
    const struct store_event_page page = {.host = "box", .kind = "resume", .until_ms = INT64_MAX, .limit = 10};
    assert_int_equal(store_events(s, &page, take, ret, &err), 0);
    store_close(s);
    tree_done(&h->tree);
}

/* An hour of sleep, and the samples until the settings are compared. */
static void sleep_and_wake(struct laptop *h)
{
    atomic_fetch_add(&slept_ns, 3600 * NS_PER_S);
    AUTO_SNAPSHOT const struct snapshot *first = sample_after(h, INTERVAL_MS);
    assert_int_equal(first->suspended_ms, 3600000);
    AUTO_SNAPSHOT const struct snapshot *settled = sample_after(h, 16000);
    assert_int_equal(settled->suspended_ms, 0);
}

static void what_the_driver_forgot_becomes_an_event_of_the_history(void **state)
{
    (void)state;
    struct laptop h = {0};
    struct found found = {0};
    host_open(&h, "forgot.db");
    settings(&h, "289000000\n", "2\n");
    sleep_and_wake(&h);
    host_done(&h, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.text, "resume warning 0: GPU 0 has other settings since the host resumed: power limit 289 W "
                                    "(before 200 W), fan control automatic (before manual)");
}

static void settings_that_stayed_or_came_back_are_no_event(void **state)
{
    (void)state;
    struct laptop h = {0};
    struct found found = {0};
    host_open(&h, "kept.db");
    sleep_and_wake(&h);
    settings(&h, "289000000\n", "2\n");
    atomic_fetch_add(&slept_ns, 3600 * NS_PER_S);
    snapshot_unref(sample_after(&h, INTERVAL_MS));
    settings(&h, "200000000\n", "1\n"); /* a program sets them again within seconds */
    snapshot_unref(sample_after(&h, 16000));
    host_done(&h, &found);
    assert_int_equal(found.count, 0);
}

static void other_settings_without_a_suspend_are_no_event(void **state)
{
    (void)state;
    struct laptop h = {0};
    struct found found = {0};
    host_open(&h, "awake.db");
    settings(&h, "289000000\n", "2\n");
    snapshot_unref(sample_after(&h, 16000));
    AUTO_SNAPSHOT const struct snapshot *last = sample_after(&h, 16000);
    assert_int_equal(last->gpus[0].power_limit_mw.value, 289000);
    host_done(&h, &found);
    assert_int_equal(found.count, 0);
}

/* A sample of GPUs with a limit; `count` of the two were found. */
static const struct snapshot *look_at(int64_t at_s, size_t count, int64_t limit_mw, int64_t suspended_ms)
{
    struct snapshot *s = snapshot_new(2);
    assert_non_null(s);
    for (int i = 0; i < 2; i++)
        s->gpus[i].index = i, s->gpus[i].power_limit_mw = reading_ok(i ? limit_mw : 200000);
    s->gpu_count = count;
    s->taken.ns = at_s * NS_PER_S;
    s->suspended_ms = suspended_ms;
    return s;
}

static void gpus_that_are_gone_or_new_are_not_compared(void **state)
{
    (void)state;
    for (size_t had = 1; had <= 2; had++) {
        struct laptop h = {0};
        struct found found = {0};
        host_open(&h, had == 1 ? "new.db" : "gone.db");
        AUTO_SNAPSHOT const struct snapshot *before = look_at(1, had, 250000, 0);
        AUTO_SNAPSHOT const struct snapshot *awake = look_at(2, 3 - had, 289000, 3600000);
        AUTO_SNAPSHOT const struct snapshot *settled = look_at(20, 3 - had, 289000, 0);
        resume_part_ops.sampled(h.part, before);
        resume_part_ops.sampled(h.part, awake);
        resume_part_ops.sampled(h.part, settled);
        host_done(&h, &found);
        assert_int_equal(found.count, 0);
    }
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(what_the_driver_forgot_becomes_an_event_of_the_history),
        TEST(settings_that_stayed_or_came_back_are_no_event),
        TEST(other_settings_without_a_suspend_are_no_event),
        TEST(gpus_that_are_gone_or_new_are_not_compared),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
