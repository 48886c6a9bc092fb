/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past, and answers that are the same in one piece and in slices.
 */
#include "past/history_answer.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "store/sim_history.h"

enum { MINUTES = 2500 };

static struct store *store;
static struct sim_history machine;

/* "metric=power&since=-1h" as parameters. */
static bool parameter(void *user, const char *key, char *value, size_t size)
{
    struct str rest = str_from(user), pair, name;
    while (str_cut(&rest, '&', &pair))
        if (str_cut(&pair, '=', &name) && str_is(name, key)) {
            str_copy(value, size, pair);
            return true;
        }
    return false;
}

static int read_question(struct history_question *q, enum history_kind kind, const char *text, struct error *err)
{
    return history_question_read(q, kind, parameter, (void *)text, machine.clock.today, MOMENT_UTC, err);
}

static struct history_question *question(enum history_kind kind, const char *text)
{
    static struct history_question q;
    struct error err = {0};
    if (read_question(&q, kind, text, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return &q;
}

/* All slices together; each is of a bounded size. */
static size_t download(enum history_kind kind, const char *text, struct buf *whole)
{
    struct history_stream *stream = history_stream_new(question(kind, text));
    struct error err = {0};
    size_t slices = 0;
    int more = 1;
    while (more == 1) {
        AUTO_BUF struct buf slice = BUF(16 << 20);
        more = history_stream_next(stream, store, &slice, &err);
        if (more < 0)
            fail_msg("%s: %s", text, err.text);
        assert_true(slice.len < 3 * HISTORY_SLICE);
        buf_str(whole, buf_view(&slice));
        slices++;
    }
    history_stream_free(stream);
    return slices;
}

static json_t *ask(enum history_kind kind, const char *text)
{
    AUTO_BUF struct buf out = BUF(64 << 20);
    struct error err = {0};
    if (history_answer(store, question(kind, text), &out, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    json_t *doc = json_loadb(out.at, out.len, 0, NULL);
    assert_non_null(doc);
    return doc;
}

static void wrong_questions_name_the_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"metric=powr_watts", "did you mean 'power_watts'?"},
        {"metric=host.cpu_pecent", "did you mean 'host.cpu_percent'?"},
        {"metric=zzzzzzzzzzzzzz", "whirr help metrics"},
        {"metric=temp&process=python3", "not known"},
        {"since=soon", "since must be"},
        {"until=x", "until must be"},
        {"since=-1h&until=-2h", "since must be before until"},
        {"step=0", "step must be"},
        {"step=raw", "step=raw is for downloads"},
        {"step=raw&format=csv&process=x", "step must be at least 1m"},
        {"format=xml", "format must be"},
        {"points=1", "points must be"},
        {"limit=0", "limit must be"},
        {"cursor=%", "cursor must be"},
        {"sort=size", "sort must be"},
        {"sort=energy&cursor=5", "cursor needs"},
        {"pid=0", "pid must be"},
        {"life=x", "life must be"},
        {"metric=all", "metric=all is for downloads"},
        {"metric=power,host.cpu_percent&format=csv", "either of GPUs or of hosts"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct history_question q;
        struct error err = {0};
        assert_int_equal(read_question(&q, HISTORY_SERIES, cases[i].text, &err), -EINVAL);
        if (!strstr(err.text, cases[i].part))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
    AUTO_BUF struct buf many = BUF(4096);
    buf_text(&many, "metric=power");
    for (int i = 0; i < QUESTION_METRICS_MAX; i++)
        buf_text(&many, ",power");
    struct history_question q;
    struct error err = {0};
    assert_int_equal(read_question(&q, HISTORY_SERIES, many.at, &err), -EINVAL);
}

static void short_names_numbers_and_steps_are_understood(void **state)
{
    (void)state;
    const struct history_question *q = question(HISTORY_SERIES, "metric=util,vram,cpu,host.load&step=90s&process=");
    assert_string_equal(q->metrics[0].name, "utilization_percent");
    assert_string_equal(q->metrics[1].name, "memory_used_mb");
    assert_int_equal(q->metrics[2].of, OF_HOST);
    assert_string_equal(q->metrics[3].name, "load_average_1m");
    assert_int_equal(q->step_ms, 120000); /* whole minutes */
    q = question(HISTORY_SERIES, "process=4711");
    assert_int_equal(q->pid, 4711);
    assert_int_equal(q->metrics[0].of, OF_PROCESS);
    assert_string_equal(metric_unit("pcie_rx_bytes_per_second"), "B/s");
    assert_string_equal(metric_unit("pcie_width"), "");
}

/* Counts lines, and checks that the first cell goes up; with each GPU from the beginning where they come one after the other. */
static size_t count_rows(const struct buf *text, size_t subjects)
{
    struct str rest = buf_view(text), line, time, last = {"", 0};
    size_t count = 0, began = 1;
    assert_true(str_cut(&rest, '\n', &line));
    assert_true(str_starts(line, "time,host,"));
    for (; str_cut(&rest, '\n', &line); count++) {
        assert_true(str_cut(&line, ',', &time));
        int order = last.len ? memcmp(time.at, last.at, time.len) : 1;
        began += order < 0;
        assert_true(order > 0 || (order == 0 ? subjects == 0 : began <= subjects));
        last = time;
    }
    return count;
}

static void slices_make_up_the_whole_once(void **state)
{
    (void)state;
    AUTO_BUF struct buf raw = BUF(64 << 20), minutes = BUF(64 << 20), host = BUF(64 << 20), hours = BUF(64 << 20);
    assert_true(download(HISTORY_SERIES, "since=all&format=csv&step=raw&metric=all", &raw) > 3);
    assert_int_equal(count_rows(&raw, 0), 2 * MINUTES);
    assert_true(download(HISTORY_SERIES, "since=all&format=csv&step=1m&metric=all", &minutes) > 3);
    assert_int_equal(count_rows(&minutes, 2), 2 * MINUTES);
    download(HISTORY_SERIES, "since=all&format=csv&step=raw&metric=host.all", &host);
    assert_int_equal(count_rows(&host, 1), MINUTES);
    download(HISTORY_SERIES, "since=all&format=csv&step=1h&gpu=1&metric=power", &hours);
    assert_int_equal(count_rows(&hours, 1), (MINUTES + 59) / 60);
}

static void a_download_and_the_document_say_the_same(void **state)
{
    (void)state;
    AUTO_BUF struct buf lines = BUF(64 << 20);
    download(HISTORY_SERIES, "since=all&format=jsonl&step=10m&gpu=0&metric=power,temp", &lines);
    json_t *doc = ask(HISTORY_SERIES, "since=all&step=10m&gpu=0&metric=power,temp");
    const json_t *series = json_array_get(json_object_get(doc, "series"), 0), *metrics = json_object_get(series, "metrics");
    struct str rest = buf_view(&lines), line;
    size_t count = 0;
    for (; str_cut(&rest, '\n', &line); count++) {
        json_t *row = json_loadb(line.at, line.len, 0, NULL);
        for (size_t m = 0; m < 2; m++) {
            const json_t *metric = json_array_get(metrics, m);
            const char *name = json_string_value(json_object_get(metric, "name"));
            assert_true(json_equal(json_object_get(row, name), json_array_get(json_object_get(metric, "mean"), count)));
        }
        json_decref(row);
    }
    assert_int_equal(count, json_array_size(json_object_get(series, "times")));
    assert_int_equal(count, MINUTES / 10);
    json_decref(doc);
}

static void any_step_gives_at_most_so_many_points(void **state)
{
    (void)state;
    static const char *const texts[] = {"since=all&metric=power", "since=all&metric=power&step=1s",
                                        "since=-2h&metric=power&points=10", "since=all&metric=power&points=2"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *doc = ask(HISTORY_SERIES, texts[i]);
        size_t most = strstr(texts[i], "points=10") ? 11 : strstr(texts[i], "points=2") ? 3 : QUESTION_POINTS_MAX;
        assert_int_equal(json_array_size(json_object_get(doc, "series")), 2);
        size_t points = json_array_size(json_object_get(json_array_get(json_object_get(doc, "series"), 0), "times"));
        assert_true(points >= 1 && points <= most);
        json_decref(doc);
    }
}

static void an_unknown_gpu_process_or_host_is_said(void **state)
{
    (void)state;
    static const char *const texts[] = {"gpu=7", "gpu=0,GPU-nope", "process=nobody", "life=99999", "host=elsewhere"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_BUF struct buf out = BUF(1 << 20);
        struct error err = {0};
        assert_int_equal(history_answer(store, question(HISTORY_SERIES, texts[i]), &out, &err), -ENODEV);
        assert_true(err.text[0] != '\0');
    }
    static const enum history_kind kinds[] = {HISTORY_PROCESSES, HISTORY_EVENTS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_BUF struct buf out = BUF(1 << 20);
        struct error err = {0};
        assert_int_equal(history_answer(store, question(kinds[i], "gpu=7"), &out, &err), -ENODEV);
    }
}

static void processes_have_what_they_held_and_used(void **state)
{
    (void)state;
    json_t *doc = ask(HISTORY_PROCESSES, "since=all&gpu=0");
    const json_t *run = json_array_get(json_object_get(doc, "processes"), 0);
    assert_non_null(run);
    char text[256];
    snprintf(text, sizeof text, "since=all&step=1h&life=%lld&metric=memory_mb,energy_joules,power_watts",
             (long long)json_integer_value(json_object_get(run, "life")));
    json_t *over_time = ask(HISTORY_SERIES, text);
    const json_t *metrics = json_object_get(json_array_get(json_object_get(over_time, "series"), 0), "metrics");
    const json_t *energy = json_object_get(json_array_get(metrics, 1), "mean");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(energy); i++)
        sum += json_number_value(json_array_get(energy, i));
    double told = json_number_value(json_object_get(run, "energy_joules"));
    assert_true(told > 0 && fabs(sum - told) < told * 1e-6 + 0.01);
    /* It drew 80 W all the time, also in the hour that is not over. */
    const json_t *power = json_object_get(json_array_get(metrics, 2), "mean");
    for (size_t i = 1; i < json_array_size(power); i++)
        assert_true(fabs(json_number_value(json_array_get(power, i)) - 80) < 2);
    assert_true(json_number_value(json_array_get(json_object_get(json_array_get(metrics, 0), "max"), 0)) <=
                json_number_value(json_object_get(run, "memory_peak_mb")) + 0.001);
    json_decref(over_time);
    json_decref(doc);
}

int main(void)
{
    make_store_folder();
    sim_history_open(&machine, "gpus=2,scenario=training");
    machine.interval_ms = 60000;
    store = open_store("history.db");
    for (int i = 0; i < MINUTES / 50; i++) {
        const struct snapshot *batch[50];
        struct error err = {0};
        for (int k = 0; k < 50; k++) {
            struct snapshot *next = sim_history_next(&machine);
            for (size_t g = 0; g < next->gpu_count; g++)
                next->gpus[g].processes[0].power_mw = reading_ok(80000);
            batch[k] = next;
        }
        assert_int_equal(store_write(store, batch, 50, NULL, 0, &err), 0);
        for (int k = 0; k < 50; k++)
            snapshot_unref(batch[k]);
    }
    const struct CMUnitTest tests[] = {
        TEST(wrong_questions_name_the_parameter),     TEST(short_names_numbers_and_steps_are_understood),
        TEST(slices_make_up_the_whole_once),          TEST(a_download_and_the_document_say_the_same),
        TEST(any_step_gives_at_most_so_many_points),  TEST(an_unknown_gpu_process_or_host_is_said),
        TEST(processes_have_what_they_held_and_used),
    };
    int failed = RUN_TESTS(tests);
    store_close(store);
    sim_history_close(&machine);
    remove_store_folder();
    return failed;
}
