/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

/* Programs that are not run: each keeps what it was given. "hang" waits until it is given up, "refuse" fails. */
enum { HEARD_MAX = 64 };
static struct {
    pthread_mutex_t lock;
    struct {
        char who[32];
        char text[2048];
    } list[HEARD_MAX];
    size_t count;
    atomic_int hanging;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int pretend(const struct env *env, const struct launch *launch, struct error *err)
{
    (void)env;
    if (strcmp(launch->argv[0], "hang") == 0) {
        atomic_fetch_add(&heard.hanging, 1);
        while (!*launch->cancel)
            poll(NULL, 0, 5);
        return error_set(err, -ECANCELED, "given up");
    }
    if (strcmp(launch->argv[0], "refuse") == 0)
        return 1;
    pthread_mutex_lock(&heard.lock);
    if (heard.count < HEARD_MAX) {
        str_copy(heard.list[heard.count].who, sizeof heard.list[0].who, str_from(launch->argv[0]));
        str_copy(heard.list[heard.count++].text, sizeof heard.list[0].text, launch->in);
    }
    pthread_mutex_unlock(&heard.lock);
    return 0;
}

static size_t times(const char *who, const char *words)
{
    size_t count = 0;
    pthread_mutex_lock(&heard.lock);
    for (size_t i = 0; i < heard.count; i++)
        count += strcmp(heard.list[i].who, who) == 0 && strstr(heard.list[i].text, words);
    pthread_mutex_unlock(&heard.lock);
    return count;
}

/* ---- a configuration without a file ---- */

static struct config_notify tables[4];
static const char *commands[4][1];
static struct config config;
static struct env env;

static void configure(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        commands[i][0] = names[i];
        tables[i] = (struct config_notify){.entry = {.name = names[i]},
                                           .type = CONFIG_NOTIFY_COMMAND,
                                           .url = "",
                                           .template = "",
                                           .token = "",
                                           .from = "",
                                           .user = "",
                                           .password = "",
                                           .tls_ca = "",
                                           .topic = "",
                                           .discovery = "",
                                           .command = {commands[i], 1},
                                           .resolved = true,
                                           .timeout_ms = 60000};
    }
    config = (struct config){.notify = tables, .notify_count = count};
}

static struct notifier_service *start(const char *folder)
{
    struct error err = {0};
    env_init_system(&env);
    env.launch = pretend;
    heard.count = 0;
    atomic_store(&heard.hanging, 0);
    struct notifier_service *s =
        notifier_service_new(&(struct notifier_options){.env = &env, .config = &config, .folder = folder}, &err);
    assert_non_null(s);
    return s;
}

static void tell(struct notifier_service *s, const char *alert, enum notice_status status, const char *const *whom, size_t count)
{
    struct alert_notice n = {.status = status, .gpu_index = -1, .started_at = {1000}};
    snprintf(n.alert, sizeof n.alert, "%s", alert);
    snprintf(n.fingerprint, sizeof n.fingerprint, "%s", alert);
    for (size_t i = 0; i < count; i++)
        notice_add_notifier(&n, whom[i]);
    notifier_service_put(s, &n);
}

static void eventually(size_t wanted, const char *who, const char *words)
{
    (void)EVENTUALLY(times(who, words) >= wanted);
    assert_int_equal(times(who, words), wanted);
}

static void only_those_who_are_named_hear_of_it(void **state)
{
    (void)state;
    configure((const char *const[]){"a", "b"}, 2);
    struct notifier_service *s = start(NULL);
    tell(s, "one", NOTICE_FIRING, (const char *const[]){"a", "a", "nobody"}, 3);
    tell(s, "two", NOTICE_FIRING, (const char *const[]){"b"}, 1);
    eventually(1, "a", "\"one\"");
    eventually(1, "b", "\"two\"");
    assert_int_equal(times("a", "\"two\"") + times("b", "\"one\""), 0);
    notifier_service_free(s);
}

static void one_that_hangs_delays_neither_the_others_nor_the_end(void **state)
{
    (void)state;
    const char *const both[] = {"hang", "a"};
    configure(both, 2);
    struct notifier_service *s = start(NULL);
    struct mono before = clock_mono(&clock_system);
    tell(s, "one", NOTICE_FIRING, both, 2);
    tell(s, "one", NOTICE_RESOLVED, both, 2);
    eventually(1, "a", "resolved");
    while (!atomic_load(&heard.hanging))
        poll(NULL, 0, 5);
    struct notifier_stats stats[4];
    /* It is counted when the program has ended, a moment after it was told. */
    assert_true(EVENTUALLY((notifier_service_stats(s, stats, 4), stats[1].sent_total == 2)));
    assert_int_equal(notifier_service_stats(s, stats, 4), 2);
    assert_int_equal(stats[0].state, NOTIFIER_SENDING);
    notifier_service_free(s);
    assert_true(mono_since_ms(clock_mono(&clock_system), before) < 30000);
}

static void what_was_under_way_at_the_end_is_told_after_a_restart(void **state)
{
    (void)state;
    char folder[] = "/tmp/whirr-notify-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    configure((const char *const[]){"hang"}, 1);
    struct notifier_service *s = start(folder);
    tell(s, "one", NOTICE_FIRING, (const char *const[]){"hang"}, 1);
    while (!atomic_load(&heard.hanging))
        poll(NULL, 0, 5);
    tell(s, "two", NOTICE_FIRING, (const char *const[]){"hang"}, 1); /* still in the mail when the end comes */
    notifier_service_free(s);
    commands[0][0] = "a"; /* the same notifier, with a program that works */
    s = start(folder);
    eventually(1, "a", "\"one\"");
    eventually(1, "a", "\"two\"");
    notifier_service_free(s);
    snprintf(path, sizeof path, "%s/hang.json", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_reload_takes_notifiers_out_changes_and_adds_them(void **state)
{
    (void)state;
    struct error err = {0};
    configure((const char *const[]){"hang", "a"}, 2);
    struct notifier_service *s = start(NULL);
    tell(s, "one", NOTICE_FIRING, (const char *const[]){"hang", "a"}, 2);
    eventually(1, "a", "\"one\"");
    configure((const char *const[]){"a", "b"}, 2);
    commands[0][0] = "c"; /* "a" now runs another program */
    assert_int_equal(notifier_service_reload(s, &config, &err), 0);
    struct notifier_stats stats[4];
    assert_int_equal(notifier_service_stats(s, stats, 4), 2);
    tell(s, "one", NOTICE_RESOLVED, (const char *const[]){"hang", "a"}, 2);
    tell(s, "two", NOTICE_FIRING, (const char *const[]){"b"}, 1);
    eventually(1, "c", "resolved"); /* it heard of the beginning before */
    eventually(1, "b", "\"two\"");
    notifier_service_free(s);
}

static void what_is_refused_is_counted_and_stays_for_later(void **state)
{
    (void)state;
    configure((const char *const[]){"refuse"}, 1);
    struct notifier_service *s = start(NULL);
    struct notifier_stats stats = {0};
    tell(s, "one", NOTICE_FIRING, (const char *const[]){"refuse"}, 1);
    assert_true(EVENTUALLY((notifier_service_stats(s, &stats, 1), stats.state == NOTIFIER_RETRYING)));
    assert_int_equal(stats.queued, 1);
    assert_int_equal(stats.errors_total, 1);
    assert_true(stats.next_try_at.ms > 0);
    assert_string_equal(stats.last_error, "it ended with 1");
    notifier_service_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_those_who_are_named_hear_of_it),
        TEST(one_that_hangs_delays_neither_the_others_nor_the_end),
        TEST(what_was_under_way_at_the_end_is_told_after_a_restart),
        TEST(a_reload_takes_notifiers_out_changes_and_adds_them),
        TEST(what_is_refused_is_counted_and_stays_for_later),
    };
    return RUN_TESTS(tests);
}
