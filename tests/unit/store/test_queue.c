/* SPDX-License-Identifier: Apache-2.0
 * The queue on disk: order, that a long one costs no more per entry than a short one, and that a snapshot keeps its verdict.
 */
#include "model/finding_code.h"
#include "store/service/internal.h"

#include "sim_history.h"

enum { ENTRIES = 40000, BATCH = 64, LOOKED_AT = 40 };

static void fill(struct queue *q, int64_t run, int64_t count)
{
    struct error err = {0};
    const struct store_event event = {.at = {1000}, .gpu_index = -1, .kind = "test", .severity = "info", .text = "waits"};
    for (int64_t number = 1; number <= count;) {
        struct queue_item items[200];
        size_t n = 0;
        for (; n < ARRAY_LEN(items) && number <= count; n++, number++)
            items[n] = (struct queue_item){.run = run, .number = number, .event = &event};
        assert_int_equal(queue_put(q, items, n, &err), 0);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *times)
{
    qsort(times, LOOKED_AT, sizeof *times, compare);
    return times[LOOKED_AT / 2];
}

static void a_long_queue_drains_as_fast_per_entry_as_a_short_one(void **state)
{
    (void)state;
    char path[128];
    struct error err = {0};
    struct queue *q = NULL;
    snprintf(path, sizeof path, "%s/long.db", store_folder);
    assert_int_equal(queue_open(path, 1LL << 30, &q, &err), 0);
    fill(q, 7, ENTRIES);
    int64_t first[LOOKED_AT], last[LOOKED_AT], done = 0;
    for (int batch = 0; queue_count(q); batch++) {
        struct queued items[BATCH];
        int64_t begin = clock_mono(&clock_system).ns;
        int count = queue_first(q, items, BATCH, &err);
        assert_true(count > 0);
        assert_int_equal(items[0].number, done + 1);
        done += count;
        assert_int_equal(queue_remove(q, 7, items[count - 1].number, &err), 0);
        assert_int_equal(queue_count(q), ENTRIES - done);
        if (batch < LOOKED_AT)
            first[batch] = clock_mono(&clock_system).ns - begin;
        last[batch % LOOKED_AT] = clock_mono(&clock_system).ns - begin;
        for (int i = 0; i < count; i++)
            queued_done(&items[i]);
    }
    assert_int_equal(done, ENTRIES);
    assert_true(median(first) < 5 * median(last));
    queue_close(q);
}

static void only_the_run_that_was_written_goes(void **state)
{
    (void)state;
    char path[128];
    struct error err = {0};
    struct queue *q = NULL;
    snprintf(path, sizeof path, "%s/runs.db", store_folder);
    assert_int_equal(queue_open(path, 1LL << 30, &q, &err), 0);
    fill(q, 7, 10);
    fill(q, 8, 10);
    assert_int_equal(queue_remove(q, 8, 100, &err), 0); /* not at the front: nothing of it can be written yet */
    assert_int_equal(queue_count(q), 20);
    assert_int_equal(queue_remove(q, 7, 4, &err), 0);
    assert_int_equal(queue_count(q), 16);
    assert_int_equal(queue_remove(q, 7, 100, &err), 0);
    assert_int_equal(queue_count(q), 10);
    queue_close(q);
    assert_int_equal(queue_open(path, 1LL << 30, &q, &err), 0);
    assert_int_equal(queue_count(q), 10);
    queue_close(q);
}

static void a_snapshot_that_waits_keeps_its_verdict(void **state)
{
    (void)state;
    char path[128];
    struct error err = {0};
    struct queue *q = NULL;
    struct sim_history h;
    sim_history_open(&h, "gpus=2,scenario=idle");
    struct snapshot *s = sim_history_next(&h);
    s->verdict = verdict_new(2, 2);
    s->verdict->count = 2;
    s->verdict->findings[0] = (struct finding){
        .code = FINDING_ECC, .severity = SEVERITY_CRITICAL, .confidence = 0.95, .gpu_index = 1, .since = {HISTORY_BEGIN.ms - 7000}};
    s->verdict->findings[1] = (struct finding){
        .code = FINDING_DIED_MEMORY_FULL, .severity = SEVERITY_WARNING, .confidence = 0.7, .pid = 4711, .since = HISTORY_BEGIN};
    snprintf(s->verdict->findings[0].headline, FINDING_HEADLINE_SIZE, "GPU 1: memory errors");
    snprintf(path, sizeof path, "%s/verdict.db", store_folder);
    assert_int_equal(queue_open(path, 1LL << 30, &q, &err), 0);
    assert_int_equal(queue_put(q, &(struct queue_item){.run = 7, .number = 1, .snapshot = s}, 1, &err), 0);
    queue_close(q); /* a restart lies between */
    struct queued item;
    assert_int_equal(queue_open(path, 1LL << 30, &q, &err), 0);
    assert_int_equal(queue_first(q, &item, 1, &err), 1);
    assert_non_null(item.snapshot);
    const struct verdict *v = item.snapshot->verdict;
    assert_non_null(v);
    assert_int_equal(v->count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct finding *was = &s->verdict->findings[i], *is = &v->findings[i];
        assert_int_equal(is->code, was->code);
        assert_int_equal(is->severity, was->severity);
        assert_int_equal(is->gpu_index, was->gpu_index);
        assert_int_equal(is->pid, was->pid);
        assert_int_equal(is->since.ms, was->since.ms);
        assert_true(is->confidence == was->confidence);
        assert_string_equal(is->headline, was->headline);
    }
    queued_done(&item);
    queue_close(q);
    snapshot_unref(s);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_long_queue_drains_as_fast_per_entry_as_a_short_one),
        TEST(only_the_run_that_was_written_goes),
        TEST(a_snapshot_that_waits_keeps_its_verdict),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
