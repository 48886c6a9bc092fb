/* SPDX-License-Identifier: Apache-2.0
 * What model servers say.
 */
#include "remote/model_server.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

static const char vllm[] = "# HELP vllm:prompt_tokens_total Number of prefill tokens processed.\n"
                           "# TYPE vllm:prompt_tokens_total counter\n"
                           "vllm:prompt_tokens_total{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} 9000.0\n"
                           "# HELP vllm:generation_tokens_total Number of generation tokens processed.\n"
                           "# TYPE vllm:generation_tokens_total counter\n"
                           "vllm:generation_tokens_total{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} %d\n"
                           "vllm:generation_tokens_total{engine=\"1\",model_name=\"odd } name\"} %d.0\n"
                           "vllm:generation_tokens_created{engine=\"0\"} 1.76e+09\n";

static struct reading say(struct server_answers *s, enum model_server kind, const char *text, int64_t at_ms)
{
    server_answer_metrics(s, kind, str_from(text), (struct mono){at_ms * NS_PER_MS});
    return s->figure[FIGURE(tokens_milli)];
}

static struct reading look_at(struct server_answers *s, struct str slots, struct mono now)
{
    server_answer_slots(s, slots, now);
    return s->figure[FIGURE(tokens_milli)];
}

static void tokens_of_all_engines_are_added_and_divided_by_the_time(void **state)
{
    (void)state;
    struct server_answers s = {0};
    char text[2048];
    snprintf(text, sizeof text, vllm, 1000, 500);
    assert_int_equal(say(&s, SERVER_VLLM, text, 10000).state, READING_PENDING);
    snprintf(text, sizeof text, vllm, 1600, 900);
    struct reading r = say(&s, SERVER_VLLM, text, 15000);
    assert_int_equal(r.state, READING_OK);
    assert_int_equal(r.value, 200000); /* 1000 in 5 s */
    r = say(&s, SERVER_VLLM, text, 20000);
    assert_int_equal(r.value, 0);
    snprintf(text, sizeof text, vllm, 5, 0); /* restarted */
    assert_int_equal(say(&s, SERVER_VLLM, text, 25000).state, READING_PENDING);
}

static void sglang_is_read_by_what_moves_while_a_request_runs(void **state)
{
    (void)state;
    struct server_answers s = {0};
    /* Since its counter moves only at the end of a request, and whirr would show 0 and then a peak. */
    static const char ends[] = "sglang:generation_tokens_total{model_name=\"m\"} 10.0\n";
    assert_int_equal(say(&s, SERVER_SGLANG, ends, 1000).state, READING_UNSUPPORTED);
    assert_int_equal(s.figure[FIGURE(generated_tokens)].value, 10); /* as a count it is right */
    /* The gauge is there before the first token; two replicas, and ranks that repeat theirs. */
    struct reading r = say(&s, SERVER_SGLANG,
                           "sglang:gen_throughput{dp_rank=\"0\",model_name=\"m\",pp_rank=\"0\",tp_rank=\"0\"} 40.5\n"
                           "sglang:gen_throughput{dp_rank=\"0\",model_name=\"m\",pp_rank=\"1\",tp_rank=\"0\"} 40.5\n"
                           "sglang:gen_throughput{dp_rank=\"1\",moe_dp_rank=\"7\",model_name=\"m\",tp_rank=\"1\"} 20.0\n",
                           1000);
    assert_int_equal(r.state, READING_OK);
    assert_int_equal(r.value, 60500);
    static const char live[] = "sglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\",tp_rank=\"0\"} %d.0\n"
                               "sglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\",tp_rank=\"1\"} %d.0\n"
                               "sglang:realtime_tokens_total{mode=\"prefill_compute\",model_name=\"m\",tp_rank=\"0\"} 99999.0\n"
                               "sglang:generation_tokens_total{model_name=\"m\"} 3.0\n";
    char text[2048];
    s = (struct server_answers){0};
    snprintf(text, sizeof text, live, 100, 100);
    assert_int_equal(say(&s, SERVER_SGLANG, text, 1000).state, READING_PENDING);
    snprintf(text, sizeof text, live, 350, 350);
    assert_int_equal(say(&s, SERVER_SGLANG, text, 6000).value, 50000);
    assert_int_equal(s.figure[FIGURE(generated_tokens)].value, 350);
    static const char *const none[] = {"",
                                       "go_goroutines 5\n",
                                       "llamacpp:tokens_predicted_total 142\n",
                                       "vllm:generation_tokens_total\n",
                                       "vllm:generation_tokens_total{\n",
                                       "vllm:generation_tokens_total{a=\"b\"} NaN\n",
                                       "xvllm:generation_tokens_total 5\n",
                                       "sglang:realtime_tokens_total{mode=\"decode\",dp_rank=\"x\"} 5\n"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s = (struct server_answers){0};
        assert_int_equal(say(&s, i < 6 ? SERVER_VLLM : SERVER_SGLANG, none[i], 1000).state, READING_UNSUPPORTED);
    }
}

static void requests_and_caches_are_read_where_they_are_told(void **state)
{
    (void)state;
    static const char busy[] = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
                               "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n"
                               "vllm:num_requests_waiting{engine=\"0\"} 9.0\n"
                               "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 9.0\n"
                               "vllm:%s{engine=\"0\"} 0.5\nvllm:%s{engine=\"1\"} 0.975\n"
                               "vllm:num_preemptions_total{engine=\"0\"} %d.0\n";
    char text[2048];
    struct server_answers s = {0};
    snprintf(text, sizeof text, busy, "kv_cache_usage_perc", "kv_cache_usage_perc", 10);
    say(&s, SERVER_VLLM, text, 1000);
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 7);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 9);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].value, 975); /* the fullest */
    assert_int_equal(s.figure[FIGURE(preempted_milli)].state, READING_PENDING);
    snprintf(text, sizeof text, busy, "gpu_cache_usage_perc", "gpu_cache_usage_perc", 20); /* as it was called before 0.9.2 */
    say(&s, SERVER_VLLM, text, 6000);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].value, 975);
    assert_int_equal(s.figure[FIGURE(preempted_milli)].value, 2000);
    s = (struct server_answers){0};
    say(&s, SERVER_SGLANG,
        "sglang:num_running_reqs{tp_rank=\"0\"} 5\nsglang:num_running_reqs{tp_rank=\"1\"} 5\nsglang:num_queue_reqs 0\n"
        "sglang:token_usage 0.25\n",
        1000);
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 5); /* ranks of one replica say the same */
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 0);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].value, 250);
    assert_int_equal(s.figure[FIGURE(preempted_milli)].state, READING_UNSUPPORTED);
    s = (struct server_answers){0};
    say(&s, SERVER_VLLM, "vllm:generation_tokens_total 5\nvllm:kv_cache_usage_perc 97.5\n", 1000); /* not a share: not believed */
    assert_int_equal(s.figure[FIGURE(requests_running)].state, READING_UNSUPPORTED);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].state, READING_UNSUPPORTED);
}

static void prompts_times_and_caches_are_means_between_two_looks(void **state)
{
    (void)state;
    static const char told[] = "vllm:prompt_tokens_total{engine=\"0\"} %d\nvllm:generation_tokens_total{engine=\"0\"} %d\n"
                               "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 5\n"
                               "vllm:time_to_first_token_seconds_sum %f\nvllm:time_to_first_token_seconds_count %d\n"
                               "vllm:inter_token_latency_seconds_sum %f\nvllm:inter_token_latency_seconds_count %d\n"
                               "vllm:prefix_cache_queries_total %d\nvllm:prefix_cache_hits_total %d\n";
    char text[2048];
    struct server_answers s = {0};
    snprintf(text, sizeof text, told, 1000, 10, 2.0, 20, 1.0, 100, 1000, 100);
    say(&s, SERVER_VLLM, text, 1000);
    assert_int_equal(s.figure[FIGURE(prompt_tokens)].value, 1000);
    assert_int_equal(s.figure[FIGURE(first_token_us)].state, READING_PENDING); /* what was before is not now */
    assert_int_equal(s.figure[FIGURE(prefix_permille)].state, READING_PENDING);
    snprintf(text, sizeof text, told, 6000, 60, 4.0, 24, 1.5, 150, 2000, 850);
    say(&s, SERVER_VLLM, text, 6000);
    assert_int_equal(s.figure[FIGURE(prompt_milli)].value, 1000 * 1000);
    assert_int_equal(s.figure[FIGURE(generated_tokens)].value, 60);
    assert_int_equal(s.figure[FIGURE(first_token_us)].value, 500000); /* 2 s, of 4 requests */
    assert_int_equal(s.figure[FIGURE(token_time_us)].value, 10000);
    assert_int_equal(s.figure[FIGURE(prefix_permille)].value, 750);
    assert_int_equal(s.figure[FIGURE(image_jobs)].state, READING_UNSUPPORTED);
    say(&s, SERVER_VLLM, text, 11000); /* no request since: the last ones still say it, for a minute */
    assert_int_equal(s.figure[FIGURE(first_token_us)].value, 500000);
    say(&s, SERVER_VLLM, text, 70000);
    assert_int_equal(s.figure[FIGURE(first_token_us)].state, READING_PENDING);
    s = (struct server_answers){0}; /* as it was called before 0.15, also by a descendant */
    for (int i = 1; i <= 2; i++) {
        snprintf(text, sizeof text,
                 "aphrodite:time_per_output_token_seconds_sum %d\naphrodite:time_per_output_token_seconds_count %d\n", i, 100 * i);
        say(&s, SERVER_APHRODITE, text, 1000 * i);
    }
    assert_int_equal(s.figure[FIGURE(token_time_us)].value, 10000);
}

static void other_servers_have_names_of_their_own(void **state)
{
    (void)state;
    struct server_answers s = {0};
    say(&s, SERVER_TENSORRT_LLM,
        "trtllm_num_requests_running{model_name=\"m\"} 3\ntrtllm_num_requests_waiting 1\ntrtllm_kv_cache_utilization 0.5\n"
        "trtllm_generation_tokens_total 900\ntrtllm_prompt_tokens_total 50\ntrtllm_kv_cache_hit_rate 0.25\n",
        1000);
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 3);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].value, 500);
    assert_int_equal(s.figure[FIGURE(prefix_permille)].value, 250);
    assert_int_equal(s.figure[FIGURE(generated_tokens)].value, 900);
    assert_int_equal(s.figure[FIGURE(prompt_tokens)].value, 50);
    assert_int_equal(s.figure[FIGURE(tokens_milli)].state, READING_UNSUPPORTED);
    s = (struct server_answers){0};
    say(&s, SERVER_TRITON,
        "nv_inference_pending_request_count{model=\"a\"} 2\nnv_inference_pending_request_count{model=\"b\"} 5\n"
        "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"a\"} 900\n"
        "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"a\"} 0.75\n",
        1000);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 7);
    assert_int_equal(s.figure[FIGURE(kv_cache_permille)].value, 750);
    s = (struct server_answers){0};
    say(&s, SERVER_TGI, "tgi_queue_size 4\ntgi_batch_current_size 8\ntgi_request_generated_tokens_sum 77\n", 1000);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 4);
    assert_int_equal(s.figure[FIGURE(generated_tokens)].value, 77);
    assert_true(server_answer_json(&s, SERVER_COMFYUI, STR("{\"exec_info\": {\"queue_remaining\": 3}}")));
    assert_int_equal(s.figure[FIGURE(image_jobs)].value, 3);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].state, READING_UNSUPPORTED);
    static const char *const none[] = {"", "[]", "{\"exec_info\": 5}", "{\"exec_info\": {\"queue_remaining\": \"3\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(server_answer_json(&s, SERVER_COMFYUI, str_from(none[i])));
    assert_true(server_answer_json(&s, SERVER_COMFYUI, STR("{\"exec_info\": {\"queue_remaining\": -9223372036854775807}}")));
    assert_int_equal(s.figure[FIGURE(image_jobs)].state, READING_IMPLAUSIBLE);
    assert_true(
        server_answer_json(&s, SERVER_KOBOLDCPP, STR("{\"queue\": -1, \"idle\": -9223372036854775808, \"total_gens\": [7]}")));
    assert_int_equal(s.figure[FIGURE(requests_waiting)].state, READING_IMPLAUSIBLE);
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 0);
    assert_true(server_answer_json(&s, SERVER_KOBOLDCPP, STR("{\"idle\": 0}")));
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 1);
    assert_false(server_answer_json(&s, SERVER_KOBOLDCPP, STR("{\"queue\": \"2\", \"idle\": true}")));
    assert_false(server_answer_json(&s, SERVER_AUTOMATIC1111, STR("{\"size\": 1e400}")));
    s = (struct server_answers){0};
    say(&s, SERVER_DYNAMO, "dynamo_frontend_inflight_requests 2\ndynamo_frontend_queued_requests 5\n", 1000); /* read apart */
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 0);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 5);
}

static void lines_of_one_name_are_passed_over_and_the_next_ones_read(void **state)
{
    (void)state;
    struct server_answers s = {0};
    say(&s, SERVER_VLLM,
        "# HELP vllm:num x\nvllm:num{a=\"1\"} 1\nvllm:num{a=\"2\"} 2\nvllm:num_requests_running{e=\"0\"} 3\nvllm:num 4\n"
        "vllm:num_requests_running{e=\"1\"} 5\nvllm:num_requests_runningx 9\nvllm:num_requests_waiting 6\nvllm:num_requests_wait\n"
        "vllm:\nvllm:num_requests_running",
        1000);
    assert_int_equal(s.figure[FIGURE(requests_running)].value, 8);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].value, 6);
}

static void nothing_that_a_server_says_is_more_than_can_be(void **state)
{
    (void)state;
    struct server_answers s = {0};
    say(&s, SERVER_VLLM, "vllm:generation_tokens_total 1\nvllm:num_requests_running 1e14\nvllm:num_requests_waiting 1e300\n", 1000);
    assert_int_equal(s.figure[FIGURE(requests_running)].state, READING_IMPLAUSIBLE);
    assert_int_equal(s.figure[FIGURE(requests_waiting)].state, READING_UNSUPPORTED);
    assert_int_equal(say(&s, SERVER_VLLM, "vllm:generation_tokens_total 9e14\n", 1001).state, READING_PENDING);
    assert_int_equal(say(&s, SERVER_VLLM, "vllm:generation_tokens_total -5\n", 2000).state, READING_UNSUPPORTED);
}

static void a_sleeping_model_and_a_router_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(server_answer_awake(STR("{\"total_slots\":4,\"is_sleeping\":false}")), READING_OK);
    assert_int_equal(server_answer_awake(STR("{\"total_slots\":4}")), READING_OK); /* before there was such a mode */
    assert_int_equal(server_answer_awake(STR("{\"total_slots\":4,\"is_sleeping\":true}")), READING_ASLEEP);
    assert_int_equal(server_answer_awake(STR("{\"role\":\"router\",\"model_path\":\"none\"}")), READING_UNSUPPORTED);
    assert_int_equal(server_answer_awake(STR("nonsense")), READING_UNSUPPORTED);
}

static void slots_of_llama_cpp_tell_what_they_decoded(void **state)
{
    (void)state;
    struct server_answers s = {0};
    struct mono at[] = {
        {1000 * (int64_t)NS_PER_MS}, {3000 * (int64_t)NS_PER_MS}, {5000 * (int64_t)NS_PER_MS}, {7000 * (int64_t)NS_PER_MS}};
    struct str idle = STR("[{\"id\":0,\"n_ctx\":4096,\"is_processing\":false},{\"id\":1,\"n_ctx\":4096,\"is_processing\":false}]");
    assert_int_equal(look_at(&s, idle, at[0]).state, READING_PENDING);
    struct str first = STR("[{\"id\":0,\"id_task\":7,\"n_ctx\":4096,\"is_processing\":true,\"next_token\":{\"n_decoded\":60}},"
                           "{\"id\":1,\"n_ctx\":4096,\"is_processing\":false}]");
    assert_int_equal(look_at(&s, first, at[1]).value, 30000); /* 60 in 2 s */
    /* One goes on, one begins; next_token as a list, as newer ones have it. */
    struct str second = STR("[{\"id\":0,\"id_task\":7,\"n_ctx\":4096,\"next_token\":[{\"n_decoded\":100}]},"
                            "{\"id\":1,\"id_task\":9,\"n_ctx\":4096,\"next_token\":[{\"n_decoded\":20}]}]");
    assert_int_equal(look_at(&s, second, at[2]).value, 30000);
    assert_int_equal(look_at(&s, second, at[3]).value, 0);
    static const char *const none[] = {"", "{}", "[]", "[1]", "{\"error\":{\"code\":501}}", "[{\"id\":0}]"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s = (struct server_answers){0};
        assert_int_equal(look_at(&s, str_from(none[i]), at[0]).state, READING_UNSUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tokens_of_all_engines_are_added_and_divided_by_the_time),
        TEST(sglang_is_read_by_what_moves_while_a_request_runs),
        TEST(requests_and_caches_are_read_where_they_are_told),
        TEST(prompts_times_and_caches_are_means_between_two_looks),
        TEST(other_servers_have_names_of_their_own),
        TEST(lines_of_one_name_are_passed_over_and_the_next_ones_read),
        TEST(nothing_that_a_server_says_is_more_than_can_be),
        TEST(a_sleeping_model_and_a_router_are_left_alone),
        TEST(slots_of_llama_cpp_tell_what_they_decoded),
    };
    return RUN_TESTS(tests);
}
