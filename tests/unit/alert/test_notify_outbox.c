/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/notify/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"

static struct outbox box;
static struct outbox_batch batch;
static struct mono now;
static struct wall today;

static int begin(void **state)
{
    (void)state;
    box = (struct outbox){.rules = {.send_resolved = true, .group_max = 100}};
    now = (struct mono){1000 * NS_PER_S};
    today = (struct wall){1000000000};
    return 0;
}

static int finish(void **state)
{
    (void)state;
    outbox_done(&box);
    return 0;
}

static void pass(int64_t ms)
{
    now.ns += ms * NS_PER_MS;
    today.ms += ms;
}

static struct alert_notice notice(const char *name, enum notice_status status, int64_t started)
{
    struct alert_notice n = {.status = status, .gpu_index = 0, .started_at = {started}};
    snprintf(n.alert, sizeof n.alert, "%s", name);
    snprintf(n.fingerprint, sizeof n.fingerprint, "%s", name);
    snprintf(n.severity, sizeof n.severity, "warning");
    if (status == NOTICE_RESOLVED)
        n.ended_at = (struct wall){started + 1000};
    return n;
}

static bool put(const char *name, enum notice_status status, int64_t started)
{
    struct alert_notice n = notice(name, status, started);
    return outbox_put(&box, &n, now, today);
}

static bool fire(const char *name)
{
    return put(name, NOTICE_FIRING, 5);
}

static bool resolve(const char *name)
{
    return put(name, NOTICE_RESOLVED, 5);
}

static bool take(void)
{
    return outbox_take(&box, now, today, &batch);
}

static int64_t settle(enum outbox_result result)
{
    return outbox_settle(&box, &batch, result, 0, now, today);
}

static void send_all(void)
{
    while (take())
        settle(OUTBOX_SENT);
}

static void each_notice_is_a_message_of_its_own_and_in_order(void **state)
{
    (void)state;
    fire("a");
    fire("b");
    assert_true(take());
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.list[0]->alert, "a");
    settle(OUTBOX_SENT);
    assert_true(take());
    assert_string_equal(batch.list[0]->alert, "b");
    settle(OUTBOX_SENT);
    assert_false(take());
    assert_int_equal(outbox_due(&box, now, today).ns, INT64_MAX);
}

static void the_end_is_told_only_to_those_who_heard_of_the_beginning(void **state)
{
    (void)state;
    assert_false(resolve("silenced"));
    fire("a");
    send_all();
    assert_true(resolve("a"));
    send_all();
    assert_false(resolve("a")); /* it is over already */
}

static void an_end_whose_beginning_was_given_up_is_not_told(void **state)
{
    (void)state;
    fire("a");
    assert_true(resolve("a")); /* its beginning still waits */
    for (int i = 0; i < OUTBOX_REFUSALS_MAX; i++) {
        pass(OUTBOX_PAUSE_MAX_MS * 2);
        assert_true(take());
        assert_int_equal(batch.list[0]->status, NOTICE_FIRING);
        settle(OUTBOX_REFUSED);
    }
    pass(OUTBOX_PAUSE_MAX_MS * 2);
    assert_false(take());
    assert_int_equal(box.count, 0);
    assert_int_equal(box.given_up, 1);
}

static void what_is_told_again_after_a_restart_of_the_rules_is_known(void **state)
{
    (void)state;
    assert_true(fire("a"));
    assert_false(fire("a")); /* still waits */
    send_all();
    assert_false(fire("a"));                  /* was heard */
    assert_true(put("a", NOTICE_FIRING, 99)); /* a new beginning is news */
}

static void without_resolved_the_end_is_not_sent(void **state)
{
    (void)state;
    box.rules.send_resolved = false;
    fire("a");
    send_all();
    assert_false(resolve("a"));
    assert_int_equal(box.sent_count, 0);
    assert_true(fire("a")); /* and the next beginning is told */
}

static void those_that_begin_within_group_wait_are_told_together(void **state)
{
    (void)state;
    box.rules.group = true;
    box.rules.group_wait_ms = 5000;
    fire("a");
    pass(3000);
    struct alert_notice worst = notice("b", NOTICE_FIRING, 5);
    snprintf(worst.severity, sizeof worst.severity, "critical");
    outbox_put(&box, &worst, now, today);
    assert_false(take());
    pass(1999);
    assert_false(take());
    pass(1);
    assert_true(take());
    assert_int_equal(batch.count, 2);
    assert_string_equal(batch.list[0]->alert, "b"); /* the worst leads */
    settle(OUTBOX_SENT);
    assert_int_equal(box.count, 0);
    assert_int_equal(box.sent_count, 2);
}

static void of_one_alert_in_a_group_only_the_newest_word_is_told(void **state)
{
    (void)state;
    box.rules.group = true;
    box.rules.group_wait_ms = 1000;
    fire("a");
    resolve("a");
    fire("b");
    pass(1000);
    assert_true(take());
    assert_int_equal(batch.count, 2);
    assert_int_equal(batch.taken, 3);
    assert_string_equal(batch.list[0]->alert, "b"); /* what fires leads */
    assert_int_equal(batch.list[1]->status, NOTICE_RESOLVED);
    settle(OUTBOX_SENT);
    assert_int_equal(box.sent_count, 1);
}

static void messages_keep_their_least_distance(void **state)
{
    (void)state;
    box.rules.group = true;
    box.rules.min_interval_ms = 60000;
    fire("a");
    assert_true(take()); /* the first one at once */
    settle(OUTBOX_SENT);
    fire("b");
    fire("c");
    assert_false(take());
    pass(59999);
    assert_false(take());
    pass(1);
    assert_true(take());
    assert_int_equal(batch.count, 2);
}

static void pauses_grow_and_have_an_end(void **state)
{
    (void)state;
    fire("a");
    int64_t before = 0;
    for (int i = 0; i < 12; i++) {
        assert_true(take());
        int64_t pause = settle(OUTBOX_FAILED);
        assert_true(pause >= before && pause <= OUTBOX_PAUSE_MAX_MS * 5 / 4);
        assert_false(take());
        pass(pause);
        before = pause;
    }
    assert_true(before >= OUTBOX_PAUSE_MAX_MS * 3 / 4);
    assert_true(take()); /* as long as it takes */
    settle(OUTBOX_SENT);
    assert_int_equal(box.retry.failures, 0);
}

static void jitter_spreads_the_pauses(void **state)
{
    (void)state;
    int64_t least = INT64_MAX, most = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        box.retry.seed = seed * 0x9E3779B97F4A7C15ULL;
        fire("a");
        take();
        int64_t pause = settle(OUTBOX_FAILED);
        least = MIN_OF(least, pause);
        most = MAX_OF(most, pause);
        pass(pause);
        take();
        settle(OUTBOX_SENT);
        resolve("a");
        take();
        settle(OUTBOX_SENT);
    }
    assert_in_range(least, 751, 800);
    assert_in_range(most, 950, 1000);
}

static void the_pause_that_a_target_asks_for_is_kept_within_reason(void **state)
{
    (void)state;
    fire("a");
    take();
    assert_int_equal(outbox_settle(&box, &batch, OUTBOX_FAILED, 90000, now, today), 90000);
    pass(89999);
    assert_false(take());
    pass(1);
    assert_true(take());
    assert_int_equal(outbox_settle(&box, &batch, OUTBOX_FAILED, 10 * OUTBOX_RETRY_AFTER_MAX_MS, now, today),
                     OUTBOX_RETRY_AFTER_MAX_MS);
}

static void what_is_too_old_is_given_up(void **state)
{
    (void)state;
    fire("a");
    pass(OUTBOX_AGE_MAX_MS + 1);
    fire("b");
    assert_true(take());
    settle(OUTBOX_FAILED);
    assert_int_equal(box.count, 1);
    assert_int_equal(box.given_up, 1);
    assert_string_equal(box.items[0]->notice.alert, "b");
}

static void a_full_queue_gives_its_oldest_up(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < NOTIFIER_QUEUE_MAX + 3; i++) {
        snprintf(name, sizeof name, "n%d", i);
        fire(name);
    }
    assert_int_equal(box.count, NOTIFIER_QUEUE_MAX);
    assert_int_equal(box.given_up, 3);
    assert_string_equal(box.items[0]->notice.alert, "n3");
}

static void what_was_heard_is_bounded(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < OUTBOX_SENT_MAX + 5; i++) {
        snprintf(name, sizeof name, "n%d", i);
        fire(name);
        send_all();
    }
    assert_int_equal(box.sent_count, OUTBOX_SENT_MAX);
    assert_string_equal(box.sent[0]->notice.alert, "n5");
}

static void what_fires_is_repeated_to_who_wants_it(void **state)
{
    (void)state;
    box.rules.repeat_ms = 60000;
    box.rules.group = true;
    fire("a");
    fire("b");
    send_all();
    assert_false(take());
    pass(60000);
    assert_true(take());
    assert_true(batch.repeat);
    assert_int_equal(batch.count, 2);
    settle(OUTBOX_SENT);
    assert_false(take());
    resolve("a");
    assert_true(take());
    assert_false(batch.repeat);
    settle(OUTBOX_SENT);
    pass(60000);
    assert_true(take());
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.list[0]->alert, "b");
}

static void what_is_missing_at_a_roll_call_is_over(void **state)
{
    (void)state;
    fire("a");
    fire("b");
    fire("c");
    send_all();
    fire("waits");
    outbox_roll_begin(&box);
    assert_false(fire("b"));
    assert_false(fire("waits"));
    outbox_roll_end(&box, now, today);
    assert_int_equal(box.count, 3);
    send_all();
    assert_int_equal(box.sent_count, 2); /* b, and what waited */
    outbox_roll_begin(&box);
    outbox_roll_end(&box, now, today);
    box.rules.send_resolved = false;
    outbox_roll_end(&box, now, today);
    assert_int_equal(box.count, 2); /* told once */
}

/* ---- over a restart ---- */

static void restart(void)
{
    AUTO_BUF struct buf text = BUF(OUTBOX_FILE_MAX);
    struct error err = {0};
    struct outbox_rules rules = box.rules;
    outbox_write(&box, "ops", &text);
    assert_false(text.failed);
    outbox_done(&box);
    box.rules = rules;
    now = (struct mono){7 * NS_PER_S}; /* the machine was booted */
    assert_int_equal(outbox_read(&box, buf_view(&text), now, today, &err), 0);
}

static void queue_and_memory_survive_a_restart(void **state)
{
    (void)state;
    struct alert_notice full = notice("heard", NOTICE_FIRING, 1700000000123);
    full.has_value = true;
    full.value = 87.25;
    snprintf(full.summary, sizeof full.summary, "\"quoted\" \\ und Umlaute: äöü");
    snprintf(full.host, sizeof full.host, "node7");
    notice_add_label(&full, "team", "ml");
    outbox_put(&box, &full, now, today);
    send_all();
    fire("waits");
    restart();
    assert_int_equal(box.count, 1);
    assert_int_equal(box.sent_count, 1);
    const struct alert_notice *n = &box.sent[0]->notice;
    assert_string_equal(n->summary, full.summary);
    assert_string_equal(n->labels[0].value, "ml");
    assert_true(n->has_value && n->value == 87.25 && n->started_at.ms == full.started_at.ms && n->gpu_index == 0);
    assert_true(take()); /* at once */
    assert_string_equal(batch.list[0]->alert, "waits");
    settle(OUTBOX_SENT);
    assert_true(put("heard", NOTICE_RESOLVED, 1700000000123));
}

static void the_distance_between_messages_survives_a_restart(void **state)
{
    (void)state;
    box.rules.group = true;
    box.rules.min_interval_ms = 60000;
    fire("a");
    send_all();
    fire("b");
    pass(10000);
    restart();
    assert_false(take());
    pass(49999);
    assert_false(take());
    pass(1);
    assert_true(take());
}

static void what_waited_for_more_than_a_day_is_not_told_after_a_restart(void **state)
{
    (void)state;
    fire("old");
    pass(OUTBOX_AGE_MAX_MS);
    fire("young");
    pass(1);
    restart();
    assert_int_equal(box.count, 1);
    assert_string_equal(box.items[0]->notice.alert, "young");
}

static void damaged_files_are_refused_and_leave_nothing_behind(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "{",
                                 "[]",
                                 "{\"version\": 2, \"queue\": [], \"heard\": []}",
                                 "{\"version\": 1, \"queue\": [], \"heard\": 5}",
                                 "{\"version\": 1, \"queue\": [{\"notice\": {}}], \"heard\": []}",
                                 "{\"version\": 1, \"queue\": [], \"heard\": [{\"status\": \"firing\", \"alert\": \"a\", "
                                 "\"fingerprint\": \"f\"}, null]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct error err = {0};
        assert_int_equal(outbox_read(&box, str_from(texts[i]), now, today, &err), -EINVAL);
        assert_int_equal(box.count + box.sent_count, 0);
        assert_true(fire("a"));
        outbox_done(&box);
        box.rules.send_resolved = true;
    }
}

static struct quiet hours(bool digest, const char *text)
{
    struct quiet q;
    setenv("TZ", "UTC", 1);
    assert_int_equal(quiet_parse(&(struct config_list){&text, 1}, digest, &q, NULL), 0);
    return q;
}

static bool fire_as(const char *name, const char *severity)
{
    struct alert_notice n = notice(name, NOTICE_FIRING, 5);
    snprintf(n.severity, sizeof n.severity, "%s", severity);
    return outbox_put(&box, &n, now, today);
}

/* 1000000000 ms is 1970-01-12, 13:46:40 UTC. */
static void quiet_hours_hold_all_but_the_urgent_and_lose_nothing(void **state)
{
    (void)state;
    struct wall until;
    box.rules.quiet = hours(false, "13:00-15:00");
    fire("a");
    fire_as("b", "info");
    fire_as("c", "critical");
    assert_true(take());
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.list[0]->alert, "c"); /* past those that came before it */
    settle(OUTBOX_SENT);
    assert_false(take());
    assert_int_equal(outbox_held(&box, today, &until), 2);
    assert_int_equal(until.ms, 1000000000 - 2800000 + 2 * 3600000); /* 15:00 */
    assert_true(outbox_due(&box, now, today).ns <= now.ns + 60 * NS_PER_S);
    resolve("a");
    assert_false(take()); /* an end is never sent first */
    pass(until.ms - today.ms);
    assert_true(take());
    assert_int_equal(batch.taken, 3);
    assert_int_equal(batch.count, 2); /* of a only the newest word */
    settle(OUTBOX_FAILED);
    assert_int_equal(box.count, 3);
    pass(60000);
    assert_true(take());
    settle(OUTBOX_SENT);
    assert_int_equal(box.count, 0);
    assert_int_equal(outbox_held(&box, today, &until), 0);
}

static void a_weekend_of_quiet_is_not_too_old(void **state)
{
    (void)state;
    box.rules.quiet = hours(false, "mon-wed 00:00-24:00"); /* it is Monday */
    fire("a");
    pass((int64_t)3 * 86400000);
    assert_true(take());
    settle(OUTBOX_FAILED); /* its day of attempts begins now */
    assert_int_equal(box.count, 1);
    pass(OUTBOX_AGE_MAX_MS + 1000);
    assert_true(take());
    settle(OUTBOX_FAILED);
    assert_int_equal(box.count, 0);
}

static void a_digest_tells_what_happened_at_its_time(void **state)
{
    (void)state;
    box.rules.digest = hours(true, "18:00");
    fire("a");
    fire_as("c", "critical");
    assert_true(take());
    assert_string_equal(batch.list[0]->alert, "c");
    settle(OUTBOX_SENT);
    pass(3600000);
    fire("b");
    assert_false(take());
    pass((int64_t)4 * 3600000);
    assert_true(take());
    assert_int_equal(batch.count, 2);
    settle(OUTBOX_SENT);
    fire("d"); /* after it: the next one */
    assert_false(take());
    pass(86400000);
    assert_true(take());
}

#define OUTBOX_TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)

static void what_got_worse_is_told_again_and_once(void **state)
{
    (void)state;
    struct alert_notice worse = notice("hot", NOTICE_FIRING, 5);
    snprintf(worse.severity, sizeof worse.severity, "critical");
    assert_true(fire("hot"));
    send_all();
    assert_false(fire("hot"));
    assert_true(outbox_put(&box, &worse, now, today));
    send_all();
    assert_false(outbox_put(&box, &worse, now, today));
    assert_false(fire("hot")); /* less severe than what was told */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTBOX_TEST(what_got_worse_is_told_again_and_once),
        OUTBOX_TEST(each_notice_is_a_message_of_its_own_and_in_order),
        OUTBOX_TEST(the_end_is_told_only_to_those_who_heard_of_the_beginning),
        OUTBOX_TEST(an_end_whose_beginning_was_given_up_is_not_told),
        OUTBOX_TEST(what_is_told_again_after_a_restart_of_the_rules_is_known),
        OUTBOX_TEST(without_resolved_the_end_is_not_sent),
        OUTBOX_TEST(those_that_begin_within_group_wait_are_told_together),
        OUTBOX_TEST(of_one_alert_in_a_group_only_the_newest_word_is_told),
        OUTBOX_TEST(messages_keep_their_least_distance),
        OUTBOX_TEST(pauses_grow_and_have_an_end),
        OUTBOX_TEST(jitter_spreads_the_pauses),
        OUTBOX_TEST(the_pause_that_a_target_asks_for_is_kept_within_reason),
        OUTBOX_TEST(what_is_too_old_is_given_up),
        OUTBOX_TEST(a_full_queue_gives_its_oldest_up),
        OUTBOX_TEST(what_was_heard_is_bounded),
        OUTBOX_TEST(what_fires_is_repeated_to_who_wants_it),
        OUTBOX_TEST(what_is_missing_at_a_roll_call_is_over),
        OUTBOX_TEST(what_waited_for_more_than_a_day_is_not_told_after_a_restart),
        OUTBOX_TEST(queue_and_memory_survive_a_restart),
        OUTBOX_TEST(the_distance_between_messages_survives_a_restart),
        OUTBOX_TEST(damaged_files_are_refused_and_leave_nothing_behind),
        OUTBOX_TEST(quiet_hours_hold_all_but_the_urgent_and_lose_nothing),
        OUTBOX_TEST(a_weekend_of_quiet_is_not_too_old),
        OUTBOX_TEST(a_digest_tells_what_happened_at_its_time),
    };
    return RUN_TESTS(tests);
}
