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

static void the_others_have_counters_of_their_own(void **state)
{
    (void)state;
    struct server_speed s = {0};
    say(&s, "llamacpp:prompt_tokens_total 900\nllamacpp:tokens_predicted_total 100\nllamacpp:predicted_tokens_seconds 80.5\n",
        1000);
    assert_int_equal(say(&s, "llamacpp:tokens_predicted_total 142\n", 2000).value, 42000);
    s = (struct server_speed){0};
    say(&s, "sglang:gen_throughput{model_name=\"m\"} 0.0\nsglang:generation_tokens_total{model_name=\"m\"} 10.0\n", 1000);
    assert_int_equal(say(&s, "sglang:generation_tokens_total{model_name=\"m\"} 1.5e1\n", 2000).value, 5000);
    static const char *const none[] = {"",
                                       "go_goroutines 5\n",
                                       "vllm:generation_tokens_total\n",
                                       "vllm:generation_tokens_total{\n",
                                       "vllm:generation_tokens_total{a=\"b\"} NaN\n",
                                       "xvllm:generation_tokens_total 5\n"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        s = (struct server_speed){0};
        assert_int_equal(say(&s, none[i], 1000).state, READING_UNSUPPORTED);
    }
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

static void only_ports_that_the_process_itself_holds_are_its_own(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    uint16_t ports[8];
    sysroot_init(&s);
    sysroot_link(&s, "/proc/self/ns/net", "net:[4026531840]");
    sysroot_link(&s, "/proc/77/ns/net", "net:[4026531840]");
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
        "   3: 0100007F:1F93 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n");
    assert_int_equal(process_listens(&s.env, 77, ports, 8), 1); /* not another's, not on a network card, not a connection */
    assert_int_equal(ports[0], 8080);
    sysroot_write(&s, "/proc/77/net/tcp6",
                  TCP_HEAD "   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 "
                           "00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n");
    assert_int_equal(process_listens(&s.env, 77, ports, 8), 2);
    assert_int_equal(ports[1], 8000);
    /* In a network of its own the number means another server here. */
    sysroot_remove(&s, "/proc/77/ns/net");
    sysroot_link(&s, "/proc/77/ns/net", "net:[4026532001]");
    assert_int_equal(process_listens(&s.env, 77, ports, 8), 0);
    assert_int_equal(process_listens(&s.env, 78, ports, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tokens_of_all_engines_are_added_and_divided_by_the_time),
        TEST(the_others_have_counters_of_their_own),
        TEST(slots_of_llama_cpp_tell_what_they_decoded),
        TEST(only_ports_that_the_process_itself_holds_are_its_own),
    };
    return RUN_TESTS(tests);
}
