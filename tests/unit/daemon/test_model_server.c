/* SPDX-License-Identifier: Apache-2.0
 * What model servers say in /metrics, and on which ports they listen.
 */
#include "daemon/model_server.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "host/listens.h"
#include "sysroot.h"

static const char vllm[] = "# HELP vllm:prompt_tokens_total Number of prefill tokens processed.\n"
                           "# TYPE vllm:prompt_tokens_total counter\n"
                           "vllm:prompt_tokens_total{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} 9000.0\n"
                           "# HELP vllm:generation_tokens_total Number of generation tokens processed.\n"
                           "# TYPE vllm:generation_tokens_total counter\n"
                           "vllm:generation_tokens_total{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} %d\n"
                           "vllm:generation_tokens_total{engine=\"1\",model_name=\"odd } name\"} %d.0\n"
                           "vllm:generation_tokens_created{engine=\"0\"} 1.76e+09\n";

static struct reading say(struct server_speed *s, const char *text, int64_t at_ms)
{
    return model_server_speed(s, str_from(text), (struct mono){at_ms * NS_PER_MS});
}

static void tokens_of_all_engines_are_added_and_divided_by_the_time(void **state)
{
    (void)state;
    struct server_speed s = {0};
    char text[2048];
    snprintf(text, sizeof text, vllm, 1000, 500);
    assert_int_equal(say(&s, text, 10000).state, READING_PENDING);
    snprintf(text, sizeof text, vllm, 1600, 900);
    struct reading r = say(&s, text, 15000);
    assert_int_equal(r.state, READING_OK);
    assert_int_equal(r.value, 200000); /* 1000 in 5 s */
    r = say(&s, text, 20000);
    assert_int_equal(r.value, 0);
    snprintf(text, sizeof text, vllm, 5, 0); /* restarted */
    assert_int_equal(say(&s, text, 25000).state, READING_PENDING);
}

static void sglang_is_read_by_what_moves_while_a_request_runs(void **state)
{
    (void)state;
    struct server_speed s = {0};
    /* Since its counter moves only at the end of a request, and whirr would show 0 and then a peak. */
    static const char ends[] = "sglang:generation_tokens_total{model_name=\"m\"} 10.0\n";
    assert_int_equal(say(&s, ends, 1000).state, READING_UNSUPPORTED);
    /* The gauge is there before the first token; two replicas, and ranks that repeat theirs. */
    struct reading r = say(&s,
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
    s = (struct server_speed){0};
    snprintf(text, sizeof text, live, 100, 100);
    assert_int_equal(say(&s, text, 1000).state, READING_PENDING);
    snprintf(text, sizeof text, live, 350, 350);
    assert_int_equal(say(&s, text, 6000).value, 50000);
    static const char *const none[] = {"",
                                       "go_goroutines 5\n",
                                       "llamacpp:tokens_predicted_total 142\n",
                                       "vllm:generation_tokens_total\n",
                                       "vllm:generation_tokens_total{\n",
                                       "vllm:generation_tokens_total{a=\"b\"} NaN\n",
                                       "xvllm:generation_tokens_total 5\n",
                                       "sglang:realtime_tokens_total{mode=\"decode\",dp_rank=\"x\"} 5\n"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s = (struct server_speed){0};
        assert_int_equal(say(&s, none[i], 1000).state, READING_UNSUPPORTED);
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
    struct server_speed s = {0};
    snprintf(text, sizeof text, busy, "kv_cache_usage_perc", "kv_cache_usage_perc", 10);
    say(&s, text, 1000);
    assert_int_equal(s.load.running.value, 7);
    assert_int_equal(s.load.waiting.value, 9);
    assert_int_equal(s.load.kv_permille.value, 975); /* the fullest */
    assert_int_equal(s.load.preempted_milli.state, READING_PENDING);
    snprintf(text, sizeof text, busy, "gpu_cache_usage_perc", "gpu_cache_usage_perc", 20); /* as it was called before 0.9.2 */
    say(&s, text, 6000);
    assert_int_equal(s.load.kv_permille.value, 975);
    assert_int_equal(s.load.preempted_milli.value, 2000);
    s = (struct server_speed){0};
    say(&s,
        "sglang:num_running_reqs{tp_rank=\"0\"} 5\nsglang:num_running_reqs{tp_rank=\"1\"} 5\nsglang:num_queue_reqs 0\n"
        "sglang:token_usage 0.25\n",
        1000);
    assert_int_equal(s.load.running.value, 5); /* ranks of one replica say the same */
    assert_int_equal(s.load.waiting.value, 0);
    assert_int_equal(s.load.kv_permille.value, 250);
    assert_int_equal(s.load.preempted_milli.state, READING_UNSUPPORTED);
    s = (struct server_speed){0};
    say(&s, "vllm:generation_tokens_total 5\nvllm:kv_cache_usage_perc 97.5\n", 1000); /* not a share: not believed */
    assert_int_equal(s.load.running.state, READING_UNSUPPORTED);
    assert_int_equal(s.load.kv_permille.state, READING_UNSUPPORTED);
}

static uint16_t port_of(enum model_server kind, const char *line)
{
    struct str args[64], rest = str_from(line);
    size_t count = 0;
    uint16_t port = 0;
    while (count < ARRAY_LEN(args) && str_word(&rest, &args[count]))
        count++;
    return model_server_port(kind, args, count, &port) ? port : 0;
}

static void only_the_front_of_a_server_names_a_port(void **state)
{
    (void)state;
    static const struct {
        enum model_server kind;
        const char *line;
        int port;
    } cases[] = {
        {SERVER_VLLM, "vllm serve Qwen/Qwen3-8B", 8000},
        {SERVER_VLLM, "/usr/bin/python3 /usr/local/bin/vllm serve m --port 8001", 8001},
        {SERVER_VLLM, "python3 -m vllm.entrypoints.openai.api_server --model m --port=9000", 9000},
        {SERVER_VLLM, "python3 -m vllm.entrypoints.openai.api_server --port 9000 --port 9001", 9001},
        {SERVER_VLLM, "python3 -m vllm.entrypoints.cli.main serve m", 8000},
        {SERVER_VLLM, "vllm serve m --uds /run/vllm.sock", 0},
        {SERVER_VLLM, "vllm serve m --headless", 0},
        {SERVER_VLLM, "vllm serve m --ssl-keyfile k.pem --ssl-certfile c.pem", 0},
        {SERVER_VLLM, "vllm serve m --port x", 0},
        {SERVER_VLLM, "vllm serve m --port 70000", 0},
        {SERVER_VLLM, "vllm bench serve --port 8000", 0},
        {SERVER_VLLM, "VLLM::Worker_TP0", 0},
        {SERVER_VLLM, "VLLM::EngineCore_DP0 --port 8000", 0},
        {SERVER_VLLM, "python3 -c from_multiprocessing.spawn --port 8000", 0},
        {SERVER_VLLM, "torchrun --master-port 8000 train.py", 0},
        {SERVER_VLLM, "llama-server --port 8000", 0},
        {SERVER_VLLM, "vllm serve m --port 28028", 0}, /* NCCL's */
        {SERVER_SGLANG, "python3 -m sglang.launch_server --model-path m", 30000},
        {SERVER_SGLANG, "python -m sglang.launch_server --model-path m --port 31000 --enable-metrics", 31000},
        {SERVER_SGLANG, "sglang serve --model-path m", 30000},
        {SERVER_SGLANG, "sglang::scheduler_TP0", 0},
        {SERVER_LLAMA_CPP, "/opt/llama.cpp/llama-server -m x.gguf", 8080},
        {SERVER_LLAMA_CPP, "llama-server -m x.gguf --port 5801", 5801},
        {SERVER_LLAMA_CPP, "llama-server -m x.gguf --sleep-idle-seconds 300", 0},
        {SERVER_LLAMA_CPP, "llama-server -m x.gguf --sleep-idle-seconds -1", 8080},
        {SERVER_LLAMA_CPP, "llama-swap --listen :8080", 0},
        {SERVER_UNKNOWN, "trtllm-serve m --port 8000", 0},
        {SERVER_VLLM, "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (port_of(cases[i].kind, cases[i].line) != cases[i].port)
            fail_msg("%s: %d", cases[i].line, port_of(cases[i].kind, cases[i].line));
}

static void a_sleeping_model_and_a_router_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(model_server_awake(STR("{\"total_slots\":4,\"is_sleeping\":false}")), READING_OK);
    assert_int_equal(model_server_awake(STR("{\"total_slots\":4}")), READING_OK); /* before there was such a mode */
    assert_int_equal(model_server_awake(STR("{\"total_slots\":4,\"is_sleeping\":true}")), READING_ASLEEP);
    assert_int_equal(model_server_awake(STR("{\"role\":\"router\",\"model_path\":\"none\"}")), READING_UNSUPPORTED);
    assert_int_equal(model_server_awake(STR("nonsense")), READING_UNSUPPORTED);
}

static void slots_of_llama_cpp_tell_what_they_decoded(void **state)
{
    (void)state;
    struct server_speed s = {0};
    struct mono at[] = {
        {1000 * (int64_t)NS_PER_MS}, {3000 * (int64_t)NS_PER_MS}, {5000 * (int64_t)NS_PER_MS}, {7000 * (int64_t)NS_PER_MS}};
    struct str idle = STR("[{\"id\":0,\"n_ctx\":4096,\"is_processing\":false},{\"id\":1,\"n_ctx\":4096,\"is_processing\":false}]");
    assert_int_equal(model_server_slots(&s, idle, at[0]).state, READING_PENDING);
    struct str first = STR("[{\"id\":0,\"id_task\":7,\"n_ctx\":4096,\"is_processing\":true,\"next_token\":{\"n_decoded\":60}},"
                           "{\"id\":1,\"n_ctx\":4096,\"is_processing\":false}]");
    assert_int_equal(model_server_slots(&s, first, at[1]).value, 30000); /* 60 in 2 s */
    /* One goes on, one begins; next_token as a list, as newer ones have it. */
    struct str second = STR("[{\"id\":0,\"id_task\":7,\"n_ctx\":4096,\"next_token\":[{\"n_decoded\":100}]},"
                            "{\"id\":1,\"id_task\":9,\"n_ctx\":4096,\"next_token\":[{\"n_decoded\":20}]}]");
    assert_int_equal(model_server_slots(&s, second, at[2]).value, 30000);
    assert_int_equal(model_server_slots(&s, second, at[3]).value, 0);
    static const char *const none[] = {"", "{}", "[]", "[1]", "{\"error\":{\"code\":501}}", "[{\"id\":0}]"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s = (struct server_speed){0};
        assert_int_equal(model_server_slots(&s, str_from(none[i]), at[0]).state, READING_UNSUPPORTED);
    }
}

#define TCP_HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

#define STAT_TEXT(state) "77 (vllm) " state " 1 77 77 0 -1 4194304 1 0 0 0 5 5 0 0 20 0 9 0 1000 1000000 500 18446744073709551615\n"

static void only_ports_that_the_process_itself_holds_are_its_own(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    char at[LISTEN_ADDRESS_SIZE];
    sysroot_init(&s);
    sysroot_link(&s, "/proc/self/ns/net", "net:[4026531840]");
    sysroot_link(&s, "/proc/77/ns/net", "net:[4026531840]");
    sysroot_write(&s, "/proc/77/stat", STAT_TEXT("S"));
    sysroot_link(&s, "/proc/77/fd/3", "socket:[31337]");
    sysroot_link(&s, "/proc/77/fd/4", "socket:[31338]");
    sysroot_link(&s, "/proc/77/fd/5", "socket:[31339]");
    sysroot_link(&s, "/proc/77/fd/6", "/dev/nvidia0");
    sysroot_write(
        &s, "/proc/77/net/tcp",
        TCP_HEAD
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 100 0 0 10 0\n"
        "   1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 99999 1 0 100 0 0 10 0\n"
        "   2: 0B01A8C0:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31338 1 0 100 0 0 10 0\n"
        "   3: 0100007F:1F93 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n"
        "   4: 0200007F:1F94 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n");
    assert_true(process_listens(&s.env, 77, 8080, at));
    assert_string_equal(at, "127.0.0.1");
    assert_false(process_listens(&s.env, 77, 8081, at)); /* another process's */
    assert_false(process_listens(&s.env, 77, 8082, at)); /* on a network card */
    assert_false(process_listens(&s.env, 77, 8083, at)); /* a connection */
    assert_true(process_listens(&s.env, 77, 8084, at));
    assert_string_equal(at, "127.0.0.2"); /* 127.0.0.1 with this port may be another process's */
    sysroot_write(&s, "/proc/77/net/tcp6",
                  TCP_HEAD "   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 "
                           "00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n");
    assert_true(process_listens(&s.env, 77, 8000, at));
    assert_string_equal(at, "[::1]");
    /* What is sent to a stopped process waits in front of it. */
    sysroot_write(&s, "/proc/77/stat", STAT_TEXT("T"));
    assert_false(process_listens(&s.env, 77, 8000, at));
    sysroot_write(&s, "/proc/77/stat", STAT_TEXT("R"));
    assert_true(process_listens(&s.env, 77, 8000, at));
    /* In a network of its own the number means another server here. */
    sysroot_remove(&s, "/proc/77/ns/net");
    sysroot_link(&s, "/proc/77/ns/net", "net:[4026532001]");
    assert_false(process_listens(&s.env, 77, 8000, at));
    assert_false(process_listens(&s.env, 78, 8000, at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tokens_of_all_engines_are_added_and_divided_by_the_time),
        TEST(sglang_is_read_by_what_moves_while_a_request_runs),
        TEST(requests_and_caches_are_read_where_they_are_told),
        TEST(only_the_front_of_a_server_names_a_port),
        TEST(a_sleeping_model_and_a_router_are_left_alone),
        TEST(slots_of_llama_cpp_tell_what_they_decoded),
        TEST(only_ports_that_the_process_itself_holds_are_its_own),
    };
    return RUN_TESTS(tests);
}
