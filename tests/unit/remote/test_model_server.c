/* SPDX-License-Identifier: Apache-2.0
 * Which processes are model servers, and on which ports they listen.
 */
#include "remote/model_server.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "host/listens.h"
#include "sysroot.h"

static enum model_server kind_of(const char *name, const char *title)
{
    struct process p = {0};
    str_copy(p.name, sizeof p.name, str_from(name));
    str_copy(p.title, sizeof p.title, str_from(title));
    return model_server_of(&p);
}

static void servers_are_known_by_their_name_or_title(void **state)
{
    (void)state;
    assert_int_equal(kind_of("VLLM::EngineCore", ""), SERVER_VLLM);
    assert_int_equal(kind_of("python3", "vllm"), SERVER_VLLM);
    assert_int_equal(kind_of("python3", "sglang"), SERVER_SGLANG);
    assert_int_equal(kind_of("python3", "trtllm-serve"), SERVER_TENSORRT_LLM);
    assert_int_equal(kind_of("python3", "lmdeploy"), SERVER_LMDEPLOY);
    assert_int_equal(kind_of("python3", "text-generation-server"), SERVER_TGI);
    assert_int_equal(kind_of("tritonserver", ""), SERVER_TRITON);
    assert_int_equal(kind_of("triton_python_backend_stub", ""), SERVER_TRITON);
    assert_int_equal(kind_of("python3", "ComfyUI"), SERVER_COMFYUI);
    assert_int_equal(kind_of("llama-server", ""), SERVER_LLAMA_CPP);
    assert_int_equal(kind_of("koboldcpp-linux-x64", ""), SERVER_KOBOLDCPP);
    assert_int_equal(kind_of("python3", "koboldcpp.py"), SERVER_KOBOLDCPP);
    assert_int_equal(kind_of("python3", "stable-diffusion-webui-forge"), SERVER_AUTOMATIC1111);
    assert_int_equal(kind_of("Model: qwen3-8b", ""), SERVER_XINFERENCE);
    assert_int_equal(kind_of("python3", "mlc_llm"), SERVER_MLC);
    assert_int_equal(kind_of("ollama", ""), SERVER_OLLAMA);
    assert_null(model_server_page(kind_of("python3", "tabbyAPI")));
    assert_int_equal(kind_of("python3", "train.py"), SERVER_UNKNOWN);
    assert_int_equal(kind_of("", ""), SERVER_UNKNOWN);
}

static void settings_call_them_in_their_order(void **state)
{
    (void)state;
    struct str rest = STR(SERVING_KINDS), word;
    assert_true(str_cut(&rest, '|', &word) && str_is(word, "auto"));
    for (int kind = SERVER_UNKNOWN + 1; kind < SERVER_COUNT; kind++)
        if (!str_cut(&rest, '|', &word) || !str_is(word, model_server_name((enum model_server)kind)))
            fail_msg("%s", model_server_name((enum model_server)kind));
    assert_int_equal(rest.len, 0);
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
        {SERVER_TENSORRT_LLM, "/usr/bin/python3 /usr/local/bin/trtllm-serve m --port 8003", 8003},
        {SERVER_LMDEPLOY, "lmdeploy serve api_server m --server-port 23334", 23334},
        {SERVER_LMDEPLOY, "lmdeploy serve api_server m --ssl", 0},
        {SERVER_LMDEPLOY, "lmdeploy chat m", 0},
        {SERVER_TGI, "text-generation-launcher --model-id m --port 8080", 8080},
        {SERVER_TGI, "text-generation-server serve m --uds-path /tmp/x", 0},
        {SERVER_TRITON, "tritonserver --model-repository=/m --http-port 8000", 8002}, /* of its three ports, that of the metrics */
        {SERVER_TRITON, "tritonserver --model-repository=/m --metrics-port=9002", 9002},
        {SERVER_APHRODITE, "aphrodite run m", 2242},
        {SERVER_COMFYUI, "python3 /opt/ComfyUI/main.py --listen --port 8189", 8189},
        {SERVER_COMFYUI, "python3 main.py --tls-keyfile k.pem", 0},
        {SERVER_MLC, "python3 -m mlc_llm serve HF://m --port 8005", 8005},
        {SERVER_MLC, "mlc_llm chat m", 0},
        {SERVER_XINFERENCE, "xinference-local --port 9997", 0}, /* its counters are on a port of their own */
        {SERVER_XINFERENCE, "/usr/bin/python3 /usr/bin/xinference-local --port 9997 --metrics-exporter-port 9998", 9998},
        {SERVER_KOBOLDCPP, "./koboldcpp-linux-x64 m.gguf", 5001},
        {SERVER_KOBOLDCPP, "python3 koboldcpp.py --model m.gguf --port 5002", 5002},
        {SERVER_KOBOLDCPP, "koboldcpp m.gguf --ssl cert.pem key.pem", 0},
        {SERVER_AUTOMATIC1111, "python3 -u launch.py --api", 7860},
        {SERVER_NIM, "vllm serve m --port 8000", 0}, /* by its settings alone */
        {SERVER_OLLAMA, "ollama serve", 0},
        {SERVER_VLLM, "", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (port_of(cases[i].kind, cases[i].line) != cases[i].port)
            fail_msg("%s: %d", cases[i].line, port_of(cases[i].kind, cases[i].line));
}

#define TCP_HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

#define STAT_TEXT(state) "77 (vllm) " state " 1 77 77 0 -1 4194304 1 0 0 0 5 5 0 0 20 0 9 0 1000 1000000 500 18446744073709551615\n"

static void only_ports_that_the_process_itself_holds_are_its_own(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct listening at, first;
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
    assert_true(process_listens(&s.env, 77, 8080, &at));
    assert_string_equal(at.address, "127.0.0.1");
    assert_true(process_still_listens(&s.env, 77, &at));
    first = at;
    assert_false(process_listens(&s.env, 77, 8081, &at)); /* another process's */
    assert_false(process_listens(&s.env, 77, 8082, &at)); /* on a network card */
    assert_false(process_listens(&s.env, 77, 8083, &at)); /* a connection */
    assert_true(process_listens(&s.env, 77, 8084, &at));
    assert_string_equal(at.address, "127.0.0.2"); /* 127.0.0.1 with this port may be another process's */
    sysroot_write(&s, "/proc/77/net/tcp6",
                  TCP_HEAD "   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 "
                           "00:00000000 00000000  1000        0 31339 1 0 100 0 0 10 0\n");
    assert_true(process_listens(&s.env, 77, 8000, &at));
    assert_string_equal(at.address, "[::1]");
    /* What is sent to a stopped process waits in front of it. */
    sysroot_write(&s, "/proc/77/stat", STAT_TEXT("T"));
    assert_false(process_listens(&s.env, 77, 8000, &at));
    assert_false(process_still_listens(&s.env, 77, &first));
    sysroot_write(&s, "/proc/77/stat", STAT_TEXT("R"));
    assert_true(process_still_listens(&s.env, 77, &first));
    sysroot_remove(&s, "/proc/77/fd/3"); /* the file is another socket now, which may be anything */
    sysroot_link(&s, "/proc/77/fd/3", "socket:[99999]");
    assert_false(process_still_listens(&s.env, 77, &first));
    assert_true(process_listens(&s.env, 77, 8000, &at));
    /* In a network of its own the number means another server here. */
    sysroot_remove(&s, "/proc/77/ns/net");
    sysroot_link(&s, "/proc/77/ns/net", "net:[4026532001]");
    assert_false(process_listens(&s.env, 77, 8000, &at));
    assert_false(process_listens(&s.env, 78, 8000, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(servers_are_known_by_their_name_or_title),
        TEST(settings_call_them_in_their_order),
        TEST(only_the_front_of_a_server_names_a_port),
        TEST(only_ports_that_the_process_itself_holds_are_its_own),
    };
    return RUN_TESTS(tests);
}
