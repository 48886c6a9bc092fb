/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/live/live.h"

#include <stdio.h>

#include "serve/live/batch.h"
#include "test.h"

struct listener_fake {
    struct subscriber subscriber;
    bool busy;
    char got[512]; /* what it was sent since it was last looked at */
};

static void take(struct subscriber *s, struct blob *bytes)
{
    struct listener_fake *f = (struct listener_fake *)s;
    /* Packets, not frames: LANGUAGE_SIO_POLL keeps the text readable. */
    snprintf(f->got + strlen(f->got), sizeof f->got - strlen(f->got), "%.*s|", (int)bytes->len, bytes->at);
}

static size_t queued(const struct subscriber *s)
{
    return ((const struct listener_fake *)s)->busy;
}

static const struct subscriber_ops ops = {take, queued};
static struct loop loop;
static struct hub hub;

static int set_up(void **state)
{
    (void)state;
    return loop_init(&loop, NULL) || hub_init(&hub, &loop);
}

static int tear_down(void **state)
{
    (void)state;
    hub_done(&hub);
    loop_done(&loop);
    return 0;
}

static void join(struct listener_fake *f, unsigned topics)
{
    *f = (struct listener_fake){.subscriber = {.ops = &ops, .language = LANGUAGE_SIO_POLL, .topics = topics}};
    hub_join(&hub, &f->subscriber);
}

static void publish(int number)
{
    struct batch *b = batch_new(hub.batch ? hub.batch->number + 1 : 1);
    struct json_writer j = batch_begin(b, TOPIC_STATUS_UPDATE);
    jw_int(&j, number);
    batch_end(b);
    j = batch_begin(b, TOPIC_STATS);
    jw_int(&j, number + 100);
    batch_end(b);
    hub_publish(&hub, b);
}

static void expect(struct listener_fake *f, const char *want)
{
    assert_string_equal(f->got, want);
    f->got[0] = '\0';
}

static void every_client_gets_its_topics_in_order(void **state)
{
    (void)state;
    struct listener_fake all, stats, none;
    join(&all, TOPICS_ALL);
    join(&stats, 1 << TOPIC_STATS);
    join(&none, TOPICS_ALWAYS);
    publish(1);
    expect(&all, "42[\"gpu_status_update\",1]\x1e"
                 "42[\"gpu_stats\",101]|");
    expect(&stats, "42[\"gpu_stats\",101]|");
    expect(&none, "");
    hub_announce(&hub, TOPIC_ALERT, STR("{}"));
    expect(&all, "42[\"alert\",{}]|");
    expect(&stats, "");
    hub_leave(&all.subscriber);
    publish(2);
    expect(&all, "");
    expect(&stats, "42[\"gpu_stats\",102]|");
    hub_leave(&stats.subscriber);
    hub_leave(&none.subscriber);
    assert_int_equal(hub.count, 0);
}

static void a_slow_client_skips_to_the_newest_and_is_told(void **state)
{
    (void)state;
    struct listener_fake slow, quick;
    join(&slow, 1 << TOPIC_STATS);
    join(&quick, 1 << TOPIC_STATS);
    publish(1);
    expect(&slow, "42[\"gpu_stats\",101]|");
    expect(&quick, "42[\"gpu_stats\",101]|");
    slow.busy = true;
    publish(2);
    publish(3);
    publish(4);
    expect(&slow, "");
    expect(&quick, "42[\"gpu_stats\",102]|42[\"gpu_stats\",103]|42[\"gpu_stats\",104]|");
    slow.busy = false;
    hub_drained(&slow.subscriber);
    expect(&slow, "42[\"missed\",{\"samples\":2}]|42[\"gpu_stats\",104]|");
    publish(5);
    expect(&slow, "42[\"gpu_stats\",105]|");
    /* Only the newest was skipped: it comes late, but nothing is lost. */
    slow.busy = true;
    publish(6);
    slow.busy = false;
    hub_drained(&slow.subscriber);
    expect(&slow, "42[\"gpu_stats\",106]|");
    hub_drained(&slow.subscriber);
    expect(&slow, "");
    hub_leave(&slow.subscriber);
    hub_leave(&quick.subscriber);
}

static void a_client_with_an_interval_gets_fewer(void **state)
{
    (void)state;
    struct listener_fake f;
    hub.sample_interval_ms = 1;
    join(&f, 1 << TOPIC_STATS);
    f.subscriber.interval_ms = 3600000;
    f.subscriber.due_ms = loop_now_ms();
    publish(1);
    publish(2);
    publish(3);
    expect(&f, "42[\"gpu_stats\",101]|");
    assert_int_equal(f.subscriber.missed, 0);
    hub_leave(&f.subscriber);
}

static void a_rise_of_usage_is_told_once(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(1);
    struct high_usage watch = {0};
    static const int permille[] = {500, 501, 900, -1, 900, 500, 510};
    static const int alerts[] = {0, 1, 0, 0, 0, 0, 1};
    for (size_t i = 0; i < sizeof alerts / sizeof alerts[0]; i++) {
        s->gpus[0].util_permille = permille[i] < 0 ? reading_absent(READING_FAILED) : reading_ok(permille[i]);
        struct batch *b = batch_new(i + 1);
        compose_sample(b, s, NULL, &watch, 50);
        int count = 0;
        for (size_t m = 0; m < b->count; m++)
            count += b->messages[m].topic == TOPIC_HIGH_USAGE;
        assert_int_equal(count, alerts[i]);
        batch_unref(b);
    }
    snapshot_unref(s);
}

static void the_alert_names_the_five_busiest_processes(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(1);
    s->gpus[0].util_permille = reading_ok(990);
    static const int shares[] = {10, 700, 30, -1, 500, 20, 40};
    for (int i = 0; i < 7; i++) {
        struct process *p = gpu_add_process(&s->gpus[0], 100 + i);
        p->type = PROCESS_COMPUTE;
        p->util_permille = shares[i] < 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok(shares[i]);
    }
    struct high_usage watch = {0};
    struct batch *b = batch_new(1);
    compose_sample(b, s, NULL, &watch, 50);
    struct str data = {b->text.at + b->messages[2].at, b->messages[2].len};
    assert_int_equal(b->messages[2].topic, TOPIC_HIGH_USAGE);
    static const char *const order[] = {"\"pid\":101", "\"pid\":104", "\"pid\":106", "\"pid\":102", "\"pid\":105"};
    const char *at = data.at;
    for (int i = 0; i < 5; i++) {
        at = memmem(at, (size_t)(data.at + data.len - at), order[i], strlen(order[i]));
        assert_non_null(at);
    }
    assert_false(str_contains(data, "\"pid\":100"));
    assert_false(str_contains(data, "\"pid\":103"));
    batch_unref(b);
    snapshot_unref(s);
}

static void socket_io_packets_are_read(void **state)
{
    (void)state;
    struct sio_packet p;
    assert_true(sio_parse(STR("0"), &p));
    assert_int_equal(p.type, SIO_CONNECT);
    assert_true(str_is(p.space, "/"));
    assert_int_equal(p.data.len, 0);
    assert_true(sio_parse(STR("2/admin,17[\"a\",1]"), &p));
    assert_int_equal(p.type, SIO_EVENT);
    assert_true(str_is(p.space, "/admin"));
    assert_true(p.has_id && p.id == 17);
    assert_true(str_is(p.data, "[\"a\",1]"));
    assert_true(sio_parse(STR("0/admin"), &p));
    assert_true(str_is(p.space, "/admin"));
    assert_false(sio_parse(STR(""), &p));
    assert_false(sio_parse(STR("7"), &p));
    assert_false(sio_parse(STR("299999999999999999999[]"), &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_client_gets_its_topics_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_client_skips_to_the_newest_and_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_with_an_interval_gets_fewer, set_up, tear_down),
        TEST(a_rise_of_usage_is_told_once),
        TEST(the_alert_names_the_five_busiest_processes),
        TEST(socket_io_packets_are_read),
    };
    return RUN_TESTS(tests);
}
