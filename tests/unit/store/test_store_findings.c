/* SPDX-License-Identifier: Apache-2.0
 * Which rows the findings of a course of samples leave behind, in a file and, where there is one, in a server.
 */
#include <errno.h>

#include "model/finding_code.h"
#include "own_database.h"
#include "sql.h"
#include "store/db/db.h"
#include "store/query.h"

/* A host with one GPU and a process on it; what was found is set before each sample is written. */
struct course {
    struct store *store;
    const char *url;
    struct snapshot *snapshot;
};

static void course_open(struct course *c, const char *url)
{
    const struct store_options options = {.env = &test_env, .url = url, .host = "box", .limits = store_default_limits};
    struct error err = {0};
    *c = (struct course){.url = url, .snapshot = snapshot_new(1)};
    if (store_open(&options, &c->store, &err) != 0)
        fail_msg("%s", err.text);
    struct snapshot *s = c->snapshot;
    s->taken_at = HISTORY_BEGIN;
    s->interval_s = 5;
    snprintf(s->host.name, sizeof s->host.name, "box");
    struct gpu *gpu = &s->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    gpu->temp_mdegc = reading_ok(80000);
    gpu->power_mw = reading_ok(200000);
    gpu->util_permille = reading_ok(900);
    gpu->processes_state = READING_OK;
    gpu->processes = calloc(1, sizeof *gpu->processes);
    gpu->process_count = 1;
    gpu->processes[0] = (struct process){.pid = 4711, .start_key = 99, .visible = true, .name = "train.py", .user = "alice"};
}

static void course_close(struct course *c)
{
    snapshot_unref(c->snapshot);
    store_close(c->store);
}

/* The daemon ends and is started again. */
static void restart(struct course *c)
{
    const struct store_options options = {.env = &test_env, .url = c->url, .host = "box", .limits = store_default_limits};
    struct error err = {0};
    store_close(c->store);
    if (store_open(&options, &c->store, &err) != 0)
        fail_msg("%s", err.text);
}

static struct finding found(finding_code code, enum severity severity, int32_t pid, const char *headline)
{
    struct finding f = {.code = code, .severity = severity, .confidence = 0.9, .pid = pid};
    snprintf(f.headline, sizeof f.headline, "%s", headline);
    return f;
}

/* One sample, `after_ms` later than the one before, with these findings. */
static void sample(struct course *c, int64_t after_ms, const struct finding *findings, size_t count)
{
    verdict_free(c->snapshot->verdict);
    c->snapshot->verdict = verdict_new(1, count);
    c->snapshot->verdict->count = count;
    for (size_t i = 0; i < count; i++)
        c->snapshot->verdict->findings[i] = findings[i];
    c->snapshot->taken_at.ms += after_ms;
    c->snapshot->taken.ns += after_ms * NS_PER_MS;
    write_one(c->store, c->snapshot);
}

static void samples(struct course *c, int count, const struct finding *f)
{
    for (int i = 0; i < count; i++)
        sample(c, 5000, f, f ? 1 : 0);
}

struct episodes {
    struct store_finding list[64];
    size_t count;
};

static int note(void *user, const struct store_finding *f)
{
    struct episodes *e = user;
    assert_true(e->count < ARRAY_LEN(e->list));
    e->list[e->count++] = *f;
    return 0;
}

static struct episodes *read_all(struct course *c)
{
    static struct episodes all;
    struct error err = {0};
    const struct store_finding_page page = {.until_ms = INT64_MAX, .limit = 1000};
    all.count = 0;
    if (store_findings(c->store, &page, note, &all, &err) != 0)
        fail_msg("%s", err.text);
    return &all;
}

static int64_t since_begin(struct wall at)
{
    return at.ms - HISTORY_BEGIN.ms;
}

/* ---- what each kind of database must do ---- */

static void check_one_row_for_one_stretch(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot (80 °C)");
    struct finding hotter = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot (91 °C)");
    samples(&c, 10, NULL);
    samples(&c, 60, &hot);
    c.snapshot->gpus[0].temp_mdegc = reading_ok(91000);
    samples(&c, 60, &hotter);
    c.snapshot->gpus[0].temp_mdegc = reading_ok(70000);
    c.snapshot->gpus[0].power_mw = reading_ok(100000);
    samples(&c, 60, &hot);
    samples(&c, 20, NULL);
    const struct episodes *all = read_all(&c);
    assert_int_equal(all->count, 1);
    const struct store_finding *f = &all->list[0];
    assert_int_equal(f->code, FINDING_HOT);
    assert_int_equal(f->severity, SEVERITY_WARNING);
    assert_int_equal(since_begin(f->first_seen), 11 * 5000);
    assert_int_equal(since_begin(f->last_seen), 190 * 5000);
    assert_true(f->ended);
    assert_string_equal(f->headline, "GPU 0 is hot (91 °C)");
    assert_int_equal(since_begin(f->worst_at), 71 * 5000);
    assert_int_equal(f->temp_max_mdegc.value, 91000);
    assert_int_equal(f->power_mw.value, (120 * 200000 + 60 * 100000) / 180);
    assert_int_equal(f->util_permille.value, 900);
    assert_int_equal(f->gpu_index, 0);
    assert_string_equal(f->host, "box");
    course_close(&c);
}

static void check_a_sample_without_it_is_no_end(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding loud = found(FINDING_LOUD, SEVERITY_WARNING, 0, "GPU 0 is loud");
    for (int i = 0; i < 30; i++) {
        samples(&c, 3, &loud);
        samples(&c, 4, NULL); /* 25 seconds between two that had it */
    }
    assert_int_equal(read_all(&c)->count, 1);
    samples(&c, 20, NULL);
    samples(&c, 3, &loud);
    assert_int_equal(read_all(&c)->count, 2); /* a hundred seconds later it is another one */
    course_close(&c);
}

static void check_processes_are_told_apart(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding work = found(FINDING_COMPUTE_LOAD, SEVERITY_INFO, 4711, "GPU 0: train.py is computing");
    samples(&c, 12, &work);
    c.snapshot->gpus[0].processes[0].pid = 4712;
    c.snapshot->gpus[0].processes[0].start_key = 100;
    snprintf(c.snapshot->gpus[0].processes[0].name, PROCESS_NAME_SIZE, "eval.py");
    work.pid = 4712;
    samples(&c, 12, &work);
    const struct episodes *all = read_all(&c);
    assert_int_equal(all->count, 2);
    assert_string_equal(all->list[0].process, "train.py");
    assert_string_equal(all->list[0].user, "alice");
    assert_int_equal(since_begin(all->list[0].last_seen), 12 * 5000);
    assert_string_equal(all->list[1].process, "eval.py");
    assert_int_equal(all->list[1].pid, 4712);
    /* What is found about one that has just ended still has its name. */
    c.snapshot->gpus[0].process_count = 0;
    struct finding over = found(FINDING_HOT, SEVERITY_WARNING, 4712, "GPU 0: eval.py has ended");
    sample(&c, 5000, &over, 1);
    all = read_all(&c);
    assert_int_equal(all->count, 3);
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].code == FINDING_HOT)
            assert_string_equal(all->list[i].process, "eval.py");
    course_close(&c);
}

static void check_a_restart_goes_on_or_ends(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot"),
                   loud = found(FINDING_LOUD, SEVERITY_WARNING, 0, "GPU 0 is loud"), both[] = {hot, loud};
    for (int i = 0; i < 12; i++)
        sample(&c, 5000, both, 2);
    restart(&c);
    sample(&c, 100000, &hot, 1); /* longer than a gap may be while the daemon runs */
    samples(&c, 60, &hot);
    const struct episodes *all = read_all(&c);
    assert_int_equal(all->count, 2);
    const struct store_finding *over = all->list[0].code == FINDING_LOUD ? &all->list[0] : &all->list[1];
    const struct store_finding *there = over == &all->list[0] ? &all->list[1] : &all->list[0];
    assert_true(over->ended);
    assert_false(there->ended);
    assert_int_equal(since_begin(there->first_seen), 5000);
    /* Its end is the last sample that the row knew of. */
    assert_true(since_begin(over->last_seen) > 45000 && since_begin(over->last_seen) <= 60000);
    /* A host that was off for an hour begins anew. */
    restart(&c);
    sample(&c, 3600000, &hot, 1);
    all = read_all(&c);
    assert_int_equal(all->count, 3);
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].code == FINDING_HOT)
            assert_int_equal(all->list[i].ended, since_begin(all->list[i].first_seen) == 5000);
    course_close(&c);
}

/* The number of a process that ended goes to another one, while the daemon runs or while it does not. */
static void check_a_number_in_other_hands_is_another_process(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding work = found(FINDING_COMPUTE_LOAD, SEVERITY_INFO, 4711, "GPU 0: train.py is computing");
    struct process *p = &c.snapshot->gpus[0].processes[0];
    samples(&c, 12, &work);
    p->start_key = 100;
    snprintf(p->name, sizeof p->name, "eval.py");
    samples(&c, 12, &work);
    restart(&c);
    samples(&c, 2, &work); /* the same process as before the restart */
    assert_int_equal(read_all(&c)->count, 2);
    restart(&c);
    p->start_key = 101;
    snprintf(p->name, sizeof p->name, "test.py");
    samples(&c, 12, &work);
    const struct episodes *all = read_all(&c);
    assert_int_equal(all->count, 3);
    assert_string_equal(all->list[0].process, "train.py");
    assert_true(all->list[0].ended);
    assert_int_equal(since_begin(all->list[0].last_seen), 12 * 5000);
    assert_string_equal(all->list[1].process, "eval.py");
    assert_int_equal(since_begin(all->list[1].first_seen), 13 * 5000);
    assert_true(since_begin(all->list[1].last_seen) <= 26 * 5000);
    assert_string_equal(all->list[2].process, "test.py");
    assert_int_equal(since_begin(all->list[2].first_seen), 27 * 5000);
    course_close(&c);
}

/* What was found is there with its times by either clock, and nothing ends before it began or stays open for hours. */
static void check_a_clock_set_back_loses_nothing(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot");
    samples(&c, 720, &hot);        /* an hour */
    sample(&c, -10000, &hot, 1);   /* a correction of the clock is no end */
    sample(&c, -1800000, &hot, 1); /* half an hour back: within the first episode */
    samples(&c, 12, &hot);
    sample(&c, -2 * 3600000, &hot, 1); /* and before all of it */
    samples(&c, 12, &hot);
    restart(&c);
    sample(&c, -3600000, &hot, 1);
    samples(&c, 20, NULL);
    const struct episodes *all = read_all(&c);
    assert_int_equal(all->count, 4);
    for (size_t i = 0; i < all->count; i++) {
        assert_true(all->list[i].last_seen.ms >= all->list[i].first_seen.ms);
        assert_true(all->list[i].since.ms <= all->list[i].first_seen.ms);
        assert_true(all->list[i].ended);
    }
    assert_int_equal(since_begin(all->list[0].first_seen), 5000);
    assert_int_equal(since_begin(all->list[0].last_seen), 720 * 5000);
    assert_int_equal(all->list[1].last_seen.ms - all->list[1].first_seen.ms, 12 * 5000);
    course_close(&c);
}

static void check_severity_is_the_worst_and_the_present_one(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding mild = found(FINDING_HEAT_LIMIT, SEVERITY_WARNING, 0, "GPU 0 is near its limit");
    struct finding grave = found(FINDING_HEAT_LIMIT, SEVERITY_CRITICAL, 0, "GPU 0 is throttling");
    samples(&c, 5, &mild);
    samples(&c, 1, &grave);
    samples(&c, 5, &mild);
    const struct store_finding *f = &read_all(&c)->list[0];
    assert_int_equal(f->severity, SEVERITY_CRITICAL);
    assert_int_equal(f->severity_now, SEVERITY_WARNING);
    assert_string_equal(f->headline, "GPU 0 is throttling");
    course_close(&c);
}

/* The row of a long episode is touched once a minute, but what gets worse is there at once. */
static void check_a_change_is_written_at_once(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding mild = found(FINDING_HEAT_LIMIT, SEVERITY_WARNING, 0, "GPU 0 is near its limit");
    struct finding grave = found(FINDING_HEAT_LIMIT, SEVERITY_CRITICAL, 0, "GPU 0 is throttling");
    samples(&c, 120, &mild);
    samples(&c, 1, &grave);
    assert_int_equal(read_all(&c)->list[0].severity_now, SEVERITY_CRITICAL);
    samples(&c, 1, &mild);
    assert_int_equal(read_all(&c)->list[0].severity_now, SEVERITY_WARNING);
    course_close(&c);
}

/* A reading that wavers around a limit for a day leaves no row for each time. */
static void check_rows_are_bounded(const char *url)
{
    struct course c;
    course_open(&c, url);
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot");
    for (int i = 0; i < 600; i++) {
        sample(&c, 20000, &hot, 1);
        sample(&c, 20000, NULL, 0);
        sample(&c, 20000, NULL, 0); /* 40 seconds without: over */
    }
    struct error err = {0};
    static struct episodes all;
    const struct store_finding_page page = {.until_ms = INT64_MAX, .limit = 64};
    all.count = 0;
    c.snapshot->interval_s = 5;
    assert_int_equal(store_findings(c.store, &page, note, &all, &err), 0);
    assert_true(all.count < 64);
    course_close(&c);
}

/* Nor does a hundred processes that each are something for a moment. */
static void check_an_hour_has_room_for_so_many(const char *url)
{
    struct course c;
    course_open(&c, url);
    for (int i = 0; i < 100; i++) {
        struct finding held = found(FINDING_VRAM_HELD, SEVERITY_INFO, 1000 + i, "a process holds memory");
        sample(&c, 20000, &held, 1);
    }
    struct error err = {0};
    static struct episodes all;
    const struct store_finding_page page = {.until_ms = INT64_MAX, .limit = 64};
    all.count = 0;
    assert_int_equal(store_findings(c.store, &page, note, &all, &err), 0);
    assert_int_equal(all.count, 60); /* 30 for the host, 30 for its GPU */
    course_close(&c);
}

#define BOTH(name)                                                  \
    static void name##_in_a_file(void **state)                      \
    {                                                               \
        (void)state;                                                \
        char url[200];                                              \
        snprintf(url, sizeof url, "%s", store_url(#name ".db"));    \
        check_##name(url);                                          \
    }                                                               \
    static void name##_in_a_server(void **state)                    \
    {                                                               \
        (void)state;                                                \
        if (!own_database("whirr_findings"))                        \
            SKIP("no PostgreSQL (tools/with-postgres starts one)"); \
        check_##name(empty_server());                               \
    }

/* The tables of the test before are gone. */
static const char *empty_server(void)
{
    const char *url = own_database("whirr_findings");
    struct db *db = NULL;
    struct error err = {0};
    assert_int_equal(db_open_postgres(&test_env, url, false, &db, &err), 0);
    assert_int_equal(db_exec(db, "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public", &err), 0);
    db_close(db);
    return url;
}

BOTH(one_row_for_one_stretch)
BOTH(a_sample_without_it_is_no_end)
BOTH(processes_are_told_apart)
BOTH(a_restart_goes_on_or_ends)
BOTH(a_number_in_other_hands_is_another_process)
BOTH(a_clock_set_back_loses_nothing)
BOTH(severity_is_the_worst_and_the_present_one)
BOTH(rows_are_bounded)
BOTH(a_change_is_written_at_once)
BOTH(an_hour_has_room_for_so_many)

static void old_episodes_go_as_events_do(void **state)
{
    (void)state;
    struct course c;
    course_open(&c, store_url("old.db"));
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 0, "GPU 0 is hot");
    samples(&c, 5, &hot);
    samples(&c, 20, NULL);
    assert_int_equal(read_all(&c)->count, 1);
    struct store_limits limits = store_default_limits;
    limits.event_ms = 3600000;
    store_set_limits(c.store, &limits);
    struct error err = {0};
    for (int64_t at = 0; at < 3 * 3600000; at += 60000)
        while (clean_step(c.store, (struct wall){c.snapshot->taken_at.ms + at}, &err) == 1)
            ;
    assert_int_equal(read_all(&c)->count, 0);
    course_close(&c);
}

static void people_read_them_in_a_view(void **state)
{
    (void)state;
    struct course c;
    char text[64];
    course_open(&c, store_url("view.db"));
    struct finding hot = found(FINDING_HOT, SEVERITY_WARNING, 4711, "GPU 0 is hot");
    samples(&c, 30, &hot);
    sql_text("view.db", "SELECT severity || ' ' || code || ' ' || process || ' ' || power_watts FROM finding_log", text,
             sizeof text);
    assert_string_equal(text, "warning hot train.py 200.0");
    course_close(&c);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(one_row_for_one_stretch_in_a_file),
        TEST(one_row_for_one_stretch_in_a_server),
        TEST(a_sample_without_it_is_no_end_in_a_file),
        TEST(a_sample_without_it_is_no_end_in_a_server),
        TEST(processes_are_told_apart_in_a_file),
        TEST(processes_are_told_apart_in_a_server),
        TEST(a_restart_goes_on_or_ends_in_a_file),
        TEST(a_restart_goes_on_or_ends_in_a_server),
        TEST(a_number_in_other_hands_is_another_process_in_a_file),
        TEST(a_number_in_other_hands_is_another_process_in_a_server),
        TEST(a_clock_set_back_loses_nothing_in_a_file),
        TEST(a_clock_set_back_loses_nothing_in_a_server),
        TEST(severity_is_the_worst_and_the_present_one_in_a_file),
        TEST(severity_is_the_worst_and_the_present_one_in_a_server),
        TEST(rows_are_bounded_in_a_file),
        TEST(rows_are_bounded_in_a_server),
        TEST(a_change_is_written_at_once_in_a_file),
        TEST(a_change_is_written_at_once_in_a_server),
        TEST(an_hour_has_room_for_so_many_in_a_file),
        TEST(an_hour_has_room_for_so_many_in_a_server),
        TEST(old_episodes_go_as_events_do),
        TEST(people_read_them_in_a_view),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
