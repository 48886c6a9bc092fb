/* SPDX-License-Identifier: Apache-2.0
 * Several handles at once: in one thread, in many, beside a source that hangs; recordings, a driver, and what is no input at all.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "whirr.h"

enum { THREADS = 6, ROUNDS = 3 };

static struct whirr *open_source(const char *source)
{
    struct whirr_options options = {.size = sizeof options, .source = source};
    struct whirr *w = NULL;
    if (whirr_open(&options, &w))
        fail_msg("%s", whirr_error(NULL));
    return w;
}

static size_t gpus_of(struct whirr *w)
{
    struct whirr_sample *s;
    if (whirr_sample(w, &s))
        fail_msg("%s", whirr_error(w));
    size_t count = whirr_gpu_count(s);
    whirr_sample_free(s);
    return count;
}

static void handles_know_nothing_of_each_other(void **state)
{
    (void)state;
    struct whirr *two = open_source("sim:scenario=training,gpus=2"), *three = open_source("sim:scenario=idle,gpus=3");
    char *json;
    assert_int_equal(gpus_of(two), 2);
    assert_int_equal(gpus_of(three), 3);
    assert_true(whirr_fit(two, "nonsense", &json) < 0);
    assert_string_equal(whirr_error(three), "");
    assert_string_not_equal(whirr_error(two), "");
    whirr_close(two);
    assert_int_equal(gpus_of(three), 3);
    whirr_close(three);
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    int number;
    bool good;
};

static bool one_round(const struct worker *me)
{
    char source[64], wrong[32];
    struct whirr *w = NULL, *none = NULL;
    struct whirr_sample *s;
    char *text;
    snprintf(source, sizeof source, "sim:scenario=training,gpus=%d", me->number + 1);
    snprintf(wrong, sizeof wrong, "nonsense%d", me->number);
    struct whirr_options good = {.size = sizeof good, .source = source}, bad = {.size = sizeof bad, .source = wrong};
    if (whirr_open(&good, &w) || whirr_sample(w, &s))
        return false;
    bool right = whirr_gpu_count(s) == (size_t)me->number + 1 && whirr_why(w, &text) == 0 && strstr(text, "GPU");
    whirr_free(text);
    whirr_sample_free(s);
    right = right && whirr_open(&bad, &none) < 0 && strstr(whirr_error(NULL), wrong); /* this thread's own */
    whirr_close(w);
    return right;
}

static void *work(void *given)
{
    struct worker *me = given;
    me->good = true;
    for (int i = 0; i < ROUNDS; i++)
        me->good &= one_round(me);
    return NULL;
}

static void every_thread_may_have_its_own(void **state)
{
    (void)state;
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_true(workers[i].good);
}

static void *sample_elsewhere(void *given)
{
    return (void *)(uintptr_t)gpus_of(given);
}

static void a_handle_may_go_from_thread_to_thread(void **state)
{
    (void)state;
    struct whirr *w = open_source("sim:gpus=2");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        void *count;
        assert_int_equal(pthread_create(&thread, NULL, sample_elsewhere, w), 0);
        assert_int_equal(pthread_join(thread, &count), 0);
        assert_int_equal((uintptr_t)count, 2);
        assert_int_equal(gpus_of(w), 2);
    }
    whirr_close(w);
}

/* ---- what hangs ---- */

static void *sample_what_hangs(void *given)
{
    bool *ended = given;
    struct whirr *w = open_source("sim:fault=hang");
    size_t count = gpus_of(w);
    whirr_close(w);
    __atomic_store_n(ended, true, __ATOMIC_SEQ_CST);
    return (void *)(uintptr_t)count;
}

static void a_source_that_hangs_is_given_up_and_holds_up_nobody(void **state)
{
    (void)state;
    bool ended = false;
    pthread_t thread;
    void *count;
    assert_int_equal(pthread_create(&thread, NULL, sample_what_hangs, &ended), 0);
    struct whirr *w = open_source("sim:gpus=2");
    int samples = 0;
    while (samples < 10 || !__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) {
        assert_int_equal(gpus_of(w), 2);
        samples++;
        be_slow(20);
    }
    assert_int_equal(pthread_join(thread, &count), 0);
    assert_int_equal((uintptr_t)count, 0);
    assert_true(samples > 20); /* in the seconds that it was waited for */
    whirr_close(w);
}

/* ---- other sources ---- */

static void a_recording_is_read(void **state)
{
    (void)state;
    char source[1024];
    snprintf(source, sizeof source, "replay:%s/tests/golden/forecast/leak.whirr", getenv("WHIRR_SOURCE_ROOT"));
    struct whirr *w = open_source(source);
    struct whirr_sample *s;
    double value;
    assert_int_equal(whirr_sample(w, &s), 0);
    assert_int_equal(whirr_gpu_count(s), 1);
    assert_int_equal(whirr_gpu_value(s, 0, "memory_total_mb", &value), 0);
    assert_true(value > 0);
    whirr_sample_free(s);
    whirr_close(w);
}

/* Also: variables that are set while the program runs are seen by the next handle. */
static void a_driver_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *library;
        size_t gpus;
    } drivers[] = {{"/libnvidia-ml-fake.so", 2}, {"/nothing.so", 0}, {"/libnvidia-ml-fake-390.so", 2}};
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        char library[1024];
        snprintf(library, sizeof library, "%s%s", getenv("WHIRR_FAKE_NVML_DIR"), drivers[i].library);
        setenv("WHIRR_NVML_LIBRARY", library, 1);
        struct whirr *w = open_source("nvml");
        struct whirr_sample *s;
        assert_int_equal(whirr_sample(w, &s), 0);
        assert_int_equal(whirr_gpu_count(s), drivers[i].gpus);
        if (drivers[i].gpus)
            assert_string_equal(whirr_gpu_text(s, 0, "name"), "NVIDIA GeForce RTX 4090");
        whirr_sample_free(s);
        whirr_close(w);
    }
    unsetenv("WHIRR_NVML_LIBRARY");
}

/* ---- no input at all ---- */

static void refuse(const char *source)
{
    struct whirr_options options = {.size = sizeof options, .source = source};
    struct whirr *w = NULL;
    struct whirr_sample *s = NULL;
    int rc = whirr_open(&options, &w);
    if (rc == 0 && (rc = whirr_sample(w, &s)) == 0) { /* it may be found only when it is read */
        assert_int_equal(whirr_gpu_count(s), 0);
        whirr_sample_free(s);
    } else {
        assert_true(rc < 0);
        assert_string_not_equal(whirr_error(w), "");
    }
    whirr_close(w);
}

static void nonsense_is_refused_with_a_sentence(void **state)
{
    (void)state;
    char folder[64], path[128], source[160], *lengthy = malloc(5000);
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/recording", folder);
    snprintf(source, sizeof source, "replay:%s", path);
    refuse(source);
    static const char *const contents[] = {"", "no recording\n", "{\"whirr\"", "\xff\xfe\0\0"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fwrite(contents[i], 1, i == 3 ? 4 : strlen(contents[i]), f);
        fclose(f);
        refuse(source);
    }
    memset(lengthy, 'x', 4999);
    lengthy[4999] = '\0';
    refuse(lengthy);
    refuse("sim:gpus=-1");
    refuse("sim:scenario=\xff\xfe");
    refuse("");
    free(lengthy);
}

static void names_and_places_that_are_not_there_are_said(void **state)
{
    (void)state;
    struct whirr *w = open_source("sim:gpus=1");
    struct whirr_sample *s;
    double value = -7;
    assert_int_equal(whirr_sample(w, &s), 0);
    assert_int_equal(whirr_gpu_value(s, SIZE_MAX, "power_watts", &value), -ENODEV);
    assert_int_equal(whirr_gpu_value(s, 0, "", &value), -ENOENT);
    assert_null(whirr_gpu_text(s, SIZE_MAX, "name"));
    assert_int_equal(whirr_process_count(s, SIZE_MAX), 0);
    assert_int_equal(whirr_process_pid(s, 0, SIZE_MAX), 0);
    assert_true(value == -7);
    assert_true(whirr_fit(w, "", NULL) < 0);
    whirr_sample_free(s);
    whirr_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(handles_know_nothing_of_each_other),
        TEST(every_thread_may_have_its_own),
        TEST(a_handle_may_go_from_thread_to_thread),
        TEST(a_source_that_hangs_is_given_up_and_holds_up_nobody),
        TEST(a_recording_is_read),
        TEST(a_driver_is_read),
        TEST(nonsense_is_refused_with_a_sentence),
        TEST(names_and_places_that_are_not_there_are_said),
    };
    return RUN_TESTS(tests);
}
