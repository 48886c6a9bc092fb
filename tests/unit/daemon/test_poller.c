/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/poller.h"

#include "base/cleanup.h"
#include "base/mailbox.h"
#include "test.h"

enum { PATIENCE_MS = 60000, NEVER_MS = 3600000 };

/* A part that counts its looks, shows the number of the last one as the temperature of each GPU, and reports each look. */
struct counting {
    struct poller poller;
    struct mailbox *looks; /* each one, as a number behind a pointer */
    int64_t again_ms;
    int64_t own, shown;
    bool seen_wanted; /* at the last look */
};

static struct env env;
static int64_t numbers[64];

static void ignore(void *item)
{
    (void)item;
}

static int64_t look(void *part)
{
    struct counting *c = part;
    c->own++;
    pthread_mutex_lock(&c->poller.lock);
    c->shown = c->own;
    c->seen_wanted = c->poller.wanted;
    pthread_mutex_unlock(&c->poller.lock);
    mailbox_put(c->looks, &numbers[c->own % 64]);
    return c->again_ms;
}

static void annotate(void *part, struct snapshot *s)
{
    const struct counting *c = part;
    for (size_t i = 0; i < s->gpu_count; i++)
        s->gpus[i].temp_mdegc = reading_ok(c->shown);
}

static bool wanted(const struct config *config)
{
    return config->sampling.kubernetes;
}

static const struct poller_ops counts = {"nothing is counted", wanted, look, annotate};
static struct config on = {.sampling = {.kubernetes = true}}, off;

static struct counting *begin(int64_t again_ms)
{
    const char *sources[] = {"sim:gpus=1,scenario=training"};
    const struct engine_options options = {.env = &env, .sources = sources, .source_count = 1};
    struct error err = {0};
    struct engine *engine = engine_new(&options, &err);
    assert_non_null(engine);
    const struct part_host host = {.env = &env, .engine = engine, .config = &on};
    struct counting *c = poller_open(&counts, sizeof *c, &host);
    assert_non_null(c);
    c->again_ms = again_ms;
    c->looks = mailbox_new(64, ignore);
    assert_non_null(c->looks);
    poller_start(c, &host);
    return c;
}

static void end(struct counting *c)
{
    struct engine *engine = c->poller.engine;
    poller_stop(c);
    mailbox_free(c->looks);
    poller_close(c);
    engine_free(engine);
}

static void await_look(struct counting *c)
{
    assert_non_null(mailbox_take(c->looks, PATIENCE_MS));
}

static int64_t sampled(struct counting *c)
{
    AUTO_SNAPSHOT const struct snapshot *s = engine_sample(c->poller.engine, GROUP_QUICK, -1, PATIENCE_MS);
    assert_non_null(s);
    assert_int_equal(s->gpu_count, 1);
    return s->gpus[0].temp_mdegc.value;
}

static void it_looks_again_after_the_time_that_a_look_asks_for(void **state)
{
    (void)state;
    struct counting *c = begin(1);
    for (int i = 0; i < 5; i++) {
        await_look(c);
        assert_true(sampled(c) > 0); /* meanwhile it goes on looking */
    }
    poller_stop(c);
    assert_true(c->own >= 5);
    end(c);
}

static void what_it_shows_is_in_each_snapshot_until_it_is_stopped(void **state)
{
    (void)state;
    struct counting *c = begin(NEVER_MS);
    await_look(c);
    assert_int_equal(sampled(c), 1);
    poller_stop(c);
    c->shown = 77;
    assert_int_not_equal(sampled(c), 77);
    end(c);
}

static void another_setting_is_a_look_at_once_and_the_same_one_is_none(void **state)
{
    (void)state;
    struct counting *c = begin(NEVER_MS);
    await_look(c);
    poller_reload(c, &on);
    poller_reload(c, &off);
    await_look(c);
    poller_stop(c);
    assert_int_equal(c->own, 2);
    assert_false(c->seen_wanted);
    end(c);
}

static void stopping_does_not_wait_for_the_next_look(void **state)
{
    (void)state;
    struct counting *c = begin(NEVER_MS);
    poller_stop(c); /* hangs otherwise */
    assert_true(c->own <= 1);
    end(c);
}

static void one_that_was_never_started_is_closed(void **state)
{
    (void)state;
    const struct part_host host = {.env = &env, .config = &off};
    poller_close(poller_open(&counts, sizeof(struct counting), &host));
    poller_close(NULL);
}

int main(void)
{
    env_init_system(&env);
    const struct CMUnitTest tests[] = {
        TEST(it_looks_again_after_the_time_that_a_look_asks_for),
        TEST(what_it_shows_is_in_each_snapshot_until_it_is_stopped),
        TEST(another_setting_is_a_look_at_once_and_the_same_one_is_none),
        TEST(stopping_does_not_wait_for_the_next_look),
        TEST(one_that_was_never_started_is_closed),
    };
    return RUN_TESTS(tests);
}
