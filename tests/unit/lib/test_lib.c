/* SPDX-License-Identifier: Apache-2.0
 * libwhirr as a program sees it: linked with the library and whirr.h, and nothing else of the project.
 */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "whirr.h"

/* Programs that were built yesterday have these layouts in them: fields are only added at the end. */
_Static_assert(offsetof(struct whirr_options, source) == sizeof(size_t), "ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(struct whirr_options) == 40, "ABI");
_Static_assert(sizeof(void *) != 8 || offsetof(struct whirr_resources, gpu_name) == 56, "ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(struct whirr_resources) == 256, "ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(struct whirr_guard_events) == 24, "ABI");

static struct whirr *open_sim(const char *scenario)
{
    char source[64];
    snprintf(source, sizeof source, "sim:scenario=%s,gpus=2", scenario);
    struct whirr_options options = {.size = sizeof options, .source = source};
    struct whirr *w = NULL;
    assert_int_equal(whirr_open(&options, &w), 0);
    return w;
}

static void gpus_are_enumerated_with_words_and_numbers(void **state)
{
    (void)state;
    struct whirr *w = open_sim("training");
    struct whirr_sample *s;
    double value = -7;
    assert_int_equal(whirr_sample(w, &s), 0);
    assert_int_equal(whirr_gpu_count(s), 2);
    assert_true(whirr_sample_time_ms(s) > 0);
    assert_string_equal(whirr_gpu_text(s, 0, "state"), "ok");
    assert_non_null(whirr_gpu_text(s, 1, "name"));
    assert_null(whirr_gpu_text(s, 2, "name"));
    assert_null(whirr_gpu_text(s, 0, "nothing"));
    assert_int_equal(whirr_gpu_value(s, 0, "memory_total_mb", &value), 0);
    assert_true(value > 1024);
    assert_int_equal(whirr_gpu_value(s, 0, "nothing", &value), -ENOENT);
    assert_int_equal(whirr_gpu_value(s, 2, "power_watts", &value), -ENODEV);
    assert_null(whirr_gpu_absent(s, 0, "memory_total_mb"));
    assert_true(whirr_process_count(s, 0) > 0);
    assert_true(whirr_process_pid(s, 0, 0) > 0);
    assert_non_null(whirr_process_text(s, 0, 0, "name"));
    assert_int_equal(whirr_process_value(s, 0, 0, "memory_mb", &value), 0);
    assert_true(value > 16);
    assert_int_equal(whirr_process_value(s, 0, 0, "nothing", &value), -ENOENT);
    assert_int_equal(whirr_process_value(s, 0, 999, "memory_mb", &value), -ESRCH);
    char *json;
    assert_int_equal(whirr_sample_json(s, &json), 0);
    assert_non_null(strstr(json, "\"gpus\""));
    whirr_free(json);
    whirr_sample_free(s);
    whirr_close(w);
}

static void what_is_absent_has_a_reason_and_no_number(void **state)
{
    (void)state;
    struct whirr *w = open_sim("gpu-lost");
    struct whirr_sample *s;
    double value = -7;
    assert_int_equal(whirr_sample(w, &s), 0);
    assert_string_equal(whirr_gpu_text(s, 0, "state"), "lost");
    assert_non_null(whirr_gpu_text(s, 0, "error_message"));
    assert_non_null(whirr_gpu_absent(s, 0, "power_watts"));
    assert_int_equal(whirr_gpu_value(s, 0, "power_watts", &value), -ENODATA);
    assert_true(value == -7);
    whirr_sample_free(s);
    whirr_close(w);
}

static void resources_are_those_of_the_contract(void **state)
{
    (void)state;
    struct whirr *w = open_sim("training");
    struct whirr_resources r = {.size = sizeof r};
    assert_int_equal(whirr_resources(w, &r), 0);
    assert_int_equal(r.gpu_available, 1);
    assert_int_equal(r.gpu_count, 2);
    assert_string_equal(r.gpu_source, "sim");
    assert_true(r.gpu_total_vram_gb > 1 && r.gpu_free_vram_gb <= r.gpu_total_vram_gb);
    assert_true(r.gpu_vram_gb == r.gpu_free_vram_gb);
    assert_true(r.memory_total_gb > 0);
    struct whirr_resources unset = {0};
    assert_int_equal(whirr_resources(w, &unset), -EINVAL);
    assert_non_null(strstr(whirr_error(w), "size"));
    whirr_close(w);
}

static void a_caller_of_an_older_header_gets_what_it_knows(void **state)
{
    (void)state;
    struct whirr *w = open_sim("training");
    struct {
        struct whirr_resources r;
        char behind[16];
    } room;
    memset(&room, 0x5a, sizeof room);
    room.r.size = offsetof(struct whirr_resources, gpu_source);
    assert_int_equal(whirr_resources(w, &room.r), 0);
    assert_int_equal(room.r.gpu_count, 2);
    assert_int_equal((unsigned char)room.r.gpu_source[0], 0x5a);
    whirr_close(w);
}

static void why_answers_in_a_sentence_and_in_json(void **state)
{
    (void)state;
    struct whirr *w = open_sim("training");
    char *text = NULL;
    assert_int_equal(whirr_why(w, &text), 0);
    assert_non_null(strstr(text, "GPU"));
    whirr_free(text);
    assert_int_equal(whirr_why_json(w, &text), 0);
    assert_non_null(strstr(text, "\"causes\""));
    whirr_free(text);
    whirr_close(w);
}

static void fit_says_yes_no_and_what_is_wrong(void **state)
{
    (void)state;
    struct whirr *w = open_sim("idle");
    char *json = NULL;
    assert_int_equal(whirr_fit(w, "1GiB", &json), 1);
    assert_non_null(strstr(json, "fits"));
    whirr_free(json);
    assert_int_equal(whirr_fit(w, "9TiB", NULL), 0);
    assert_true(whirr_fit(w, "/nonexistent/model.gguf", NULL) < 0);
    assert_non_null(strstr(whirr_error(w), "/nonexistent/model.gguf"));
    whirr_close(w);
}

static int count_down(void *user, const struct whirr_sample *s)
{
    int *left = user;
    assert_int_equal(whirr_gpu_count(s), 2);
    return --*left == 0 ? 42 : 0;
}

static void watching_works_here_and_in_a_loop_of_the_caller(void **state)
{
    (void)state;
    struct whirr *w = open_sim("training");
    int left = 3;
    assert_int_equal(whirr_watch(w, 10, count_down, &left), 42);
    assert_int_equal(whirr_watch(w, 0, count_down, &left), -EINVAL);
    assert_true(whirr_watch_dispatch(w, count_down, &left) < 0);
    int timer = whirr_watch_fd(w, 20);
    if (timer == -ENOSYS) { /* not on every system */
        assert_non_null(strstr(whirr_error(w), "whirr_watch()"));
        whirr_close(w);
        SKIP("no descriptor is a timer on this system");
    }
    assert_true(timer >= 0);
    struct pollfd due = {.fd = timer, .events = POLLIN};
    left = 3;
    int rc = 0;
    while (rc == 0) {
        assert_int_equal(poll(&due, 1, 5000), 1);
        rc = whirr_watch_dispatch(w, count_down, &left);
    }
    assert_int_equal(rc, 42);
    assert_int_equal(whirr_watch_fd(w, 0), 0);
    assert_int_equal(whirr_watch_dispatch(w, count_down, &left), -EBADF);
    whirr_close(w);
}

static void what_cannot_be_opened_is_said(void **state)
{
    (void)state;
    struct whirr_options options = {.size = sizeof options, .source = "nonsense"};
    struct whirr *w = (void *)1;
    assert_true(whirr_open(&options, &w) < 0);
    assert_ptr_equal(w, (void *)1);
    assert_non_null(strstr(whirr_error(NULL), "nonsense"));
    struct whirr_options unset = {0};
    assert_int_equal(whirr_open(&unset, &w), -EINVAL);
    whirr_close(NULL);
    whirr_sample_free(NULL);
    whirr_guard_free(NULL);
    whirr_free(NULL);
}

/* ---- giving way ---- */

struct server {
    int evicted, returned, refuse;
    char reason[256];
};

static int on_evict(void *user, const char *reason)
{
    struct server *s = user;
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    s->evicted++;
    return s->refuse;
}

static int on_return(void *user)
{
    ((struct server *)user)->returned++;
    return 0;
}

static const struct whirr_guard_events events = {.size = sizeof events, .should_evict = on_evict, .may_return = on_return};

static void a_game_that_starts_is_given_way(void **state)
{
    (void)state;
    struct whirr_options options = {.size = sizeof options, .source = "sim:scenario=game-start,speed=20,gpus=1"};
    struct whirr *w = NULL;
    struct whirr_guard *g;
    struct server server = {0};
    assert_int_equal(whirr_open(&options, &w), 0);
    const int gpu = 0;
    assert_int_equal(whirr_guard_new(w, &gpu, 1, &events, &server, &g), 0);
    for (int i = 0; i < 200 && !server.evicted; i++) {
        int again_ms = whirr_guard_step(g);
        assert_true(again_ms > 0);
        poll(NULL, 0, 50);
    }
    assert_int_equal(server.evicted, 1);
    assert_non_null(strstr(server.reason, "GPU 0"));
    assert_int_equal(whirr_guard_is_out(g), 1);
    assert_int_equal(server.returned, 0);
    whirr_guard_free(g);
    whirr_close(w);
}

static void a_quiet_gpu_is_kept(void **state)
{
    (void)state;
    struct whirr *w = open_sim("idle");
    struct whirr_guard *g;
    struct server server = {0};
    assert_int_equal(whirr_guard_new(w, NULL, 0, &events, &server, &g), 0);
    for (int i = 0; i < 5; i++)
        assert_true(whirr_guard_step(g) > 0);
    assert_int_equal(server.evicted, 0);
    assert_int_equal(whirr_guard_is_out(g), 0);
    whirr_guard_free(g);
    const struct whirr_guard_events half = {.size = sizeof half, .should_evict = on_evict};
    assert_int_equal(whirr_guard_new(w, NULL, 0, &half, NULL, &g), -EINVAL);
    whirr_close(w);
}

static void without_a_guard_there_is_room(void **state)
{
    (void)state;
    struct whirr *w = open_sim("idle");
    assert_int_equal(whirr_room_ask(w, 0), 1);
    assert_int_equal(whirr_room_done(w), 0);
    whirr_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_enumerated_with_words_and_numbers),
        cmocka_unit_test(what_is_absent_has_a_reason_and_no_number),
        cmocka_unit_test(resources_are_those_of_the_contract),
        cmocka_unit_test(a_caller_of_an_older_header_gets_what_it_knows),
        cmocka_unit_test(why_answers_in_a_sentence_and_in_json),
        cmocka_unit_test(fit_says_yes_no_and_what_is_wrong),
        cmocka_unit_test(watching_works_here_and_in_a_loop_of_the_caller),
        cmocka_unit_test(what_cannot_be_opened_is_said),
        cmocka_unit_test(a_game_that_starts_is_given_way),
        cmocka_unit_test(a_quiet_gpu_is_kept),
        cmocka_unit_test(without_a_guard_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
