/* SPDX-License-Identifier: Apache-2.0
 * The store's readers under questions that never end: those are cut off, and others are answered meanwhile.
 */
#include <errno.h>
#include <stdatomic.h>

#include "sim_history.h"
#include "store/internal.h"
#include "store/service/service.h"

/* Either counts for ever, or is over at once. */
struct asked {
    struct store_question question;
    bool endless;
    _Atomic int begun;
    _Atomic int answers;
    _Atomic int rc;
};

static int read_it(struct store_question *question, struct store *s, struct error *err)
{
    struct asked *a = (struct asked *)question;
    int64_t count;
    a->begun++;
    return db_query_i64(s->db,
                        a->endless ? "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c"
                                   : "SELECT COUNT(*) FROM samples",
                        0, &count, err);
}

static void answered(struct store_question *question, int rc, const struct error *err)
{
    struct asked *a = (struct asked *)question;
    (void)err;
    a->rc = rc;
    a->answers++;
}

static struct asked question(uint64_t client, bool endless)
{
    return (struct asked){.question = {.read = read_it, .answered = answered, .client = client}, .endless = endless};
}

static struct store_service *start(const char *name)
{
    static char url[PATH_MAX];
    struct error err = {0};
    snprintf(url, sizeof url, "sqlite:%s/%s", store_folder, name);
    struct store_service *v =
        store_service_new(&(struct store_service_options){.clock = &clock_system,
                                                          .store = {.env = &test_env, .url = url, .limits = store_default_limits}},
                          &err);
    assert_non_null(v);
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    mailbox_put(store_service_inbox(v), sim_history_next(&h));
    struct store_status status;
    assert_true(EVENTUALLY((store_service_status(v, &status), status.written == 1)));
    sim_history_close(&h);
    return v;
}

static void others_are_answered_beside_questions_that_never_end(void **state)
{
    (void)state;
    struct store_service *v = start("beside.db");
    enum { MANY = 24 };
    static struct asked endless[MANY];
    for (size_t i = 0; i < MANY; i++) {
        endless[i] = question(1 + i % 3, true);
        assert_int_equal(store_service_ask(v, &endless[i].question), 0);
    }
    for (int i = 0; i < 3; i++) {
        struct asked ordinary = question(100, false);
        struct mono begin = clock_mono(&clock_system);
        assert_int_equal(store_service_ask(v, &ordinary.question), 0);
        assert_true(EVENTUALLY(ordinary.answers == 1));
        assert_int_equal(ordinary.rc, 0);
        assert_true(mono_since_ms(clock_mono(&clock_system), begin) < 3000);
    }
    /* The end does not wait for them. */
    struct mono begin = clock_mono(&clock_system);
    store_service_free(v, 30000);
    assert_true(mono_since_ms(clock_mono(&clock_system), begin) < 3000);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(endless[i].answers, 1);
        assert_int_equal(endless[i].rc, -ECANCELED);
    }
}

static void a_question_that_is_withdrawn_ends_at_once(void **state)
{
    (void)state;
    struct store_service *v = start("withdrawn.db");
    enum { MANY = QUESTIONS_OF_ONE };
    static struct asked endless[MANY];
    for (size_t i = 0; i < MANY; i++) {
        endless[i] = question(5, true);
        assert_int_equal(store_service_ask(v, &endless[i].question), 0);
    }
    struct asked more = question(5, false);
    assert_int_equal(store_service_ask(v, &more.question), -EDQUOT);
    assert_true(EVENTUALLY(endless[MANY - 1].begun > 0));
    for (size_t i = 0; i < MANY; i++)
        endless[i].question.canceled = true;
    for (size_t i = 0; i < MANY; i++) {
        assert_true(EVENTUALLY(endless[i].answers == 1));
        assert_int_equal(endless[i].rc, -ECANCELED);
    }
    assert_int_equal(store_service_ask(v, &more.question), 0);
    assert_true(EVENTUALLY(more.answers == 1 && more.rc == 0));
    store_service_free(v, 30000);
}

static void a_reader_with_a_deadline_is_cut_off(void **state)
{
    (void)state;
    struct store *s = open_store("deadline.db"), *reader = NULL;
    struct error err = {0};
    char url[PATH_MAX];
    snprintf(url, sizeof url, "sqlite:%s/deadline.db", store_folder);
    assert_int_equal(store_open_read_only(&test_env, url, &reader, &err), 0);
    store_set_cancel(reader, NULL, (struct mono){clock_mono(&clock_system).ns + 50 * NS_PER_MS});
    struct asked a = question(1, true);
    assert_int_equal(read_it(&a.question, reader, &err), -ETIME);
    store_set_cancel(reader, NULL, (struct mono){0});
    a.endless = false;
    assert_int_equal(read_it(&a.question, reader, &err), 0);
    store_close(reader);
    store_close(s);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(others_are_answered_beside_questions_that_never_end),
        TEST(a_question_that_is_withdrawn_ends_at_once),
        TEST(a_reader_with_a_deadline_is_cut_off),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
