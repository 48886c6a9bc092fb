/* SPDX-License-Identifier: Apache-2.0
 * Names, command lines and ports of model servers.
 */
#include "remote/model_server.h"

#include <string.h>

#include "base/cleanup.h"
#include "host/identity.h"

enum { NCCL_RAS_PORT = 28028 }; /* diagnostics of a training job: a line protocol */

/* Pages not to request: llama.cpp's /metrics, because each request restarts the averaging window for other scrapers;
 * trtllm-serve's /metrics, which each request empties; Automatic1111's /sdapi/v1/progress, which may render a preview. */
static const struct {
    const char *name;
    uint16_t port; /* its default; 0: only if the command line names it */
    const char *option, *page;
} servers[SERVER_COUNT] = {
    [SERVER_VLLM] = {"vllm", 8000, "--port", "metrics"},
    [SERVER_APHRODITE] = {"aphrodite", 2242, "--port", "metrics"},
    [SERVER_LLAMA_CPP] = {"llama.cpp", 8080, "--port", "slots"},
    [SERVER_SGLANG] = {"sglang", 30000, "--port", "metrics"},
    [SERVER_TENSORRT_LLM] = {"tensorrt-llm", 8000, "--port", "prometheus/metrics"},
    [SERVER_LMDEPLOY] = {"lmdeploy", 23333, "--server-port", "metrics"},
    [SERVER_TGI] = {"tgi", 3000, "--port", "metrics"},
    [SERVER_TRITON] = {"triton", 8002, "--metrics-port", "metrics"},
    [SERVER_COMFYUI] = {"comfyui", 8188, "--port", "prompt"},
    [SERVER_NIM] = {"nim", 0, "--port", "v1/metrics"},
    [SERVER_DYNAMO] = {"dynamo", 0, "--http-port", "metrics"},
    [SERVER_MLC] = {"mlc", 8000, "--port", "metrics"},
    [SERVER_XINFERENCE] = {"xinference", 0, "--metrics-exporter-port", "metrics"},
    [SERVER_KOBOLDCPP] = {"koboldcpp", 5001, "--port", "api/extra/perf"},
    [SERVER_AUTOMATIC1111] = {"automatic1111", 7860, "--port", "internal/pending-tasks"},
    [SERVER_OLLAMA] = {"ollama", 0, NULL, NULL},
    [SERVER_LLAMA_SWAP] = {"llama-swap", 0, NULL, NULL},
    [SERVER_LM_STUDIO] = {"lm-studio", 0, NULL, NULL},
    [SERVER_TABBYAPI] = {"tabbyapi", 0, NULL, NULL},
    [SERVER_SPEACHES] = {"speaches", 0, NULL, NULL},
};

/* A star at the end of a known name matches any suffix. */
static bool is_named(struct str name, const char *known)
{
    size_t len = strlen(known);
    if (known[len - 1] != '*')
        return str_is(name, known);
    return name.len >= len - 1 && memcmp(name.at, known, len - 1) == 0;
}

enum model_server model_server_of(const struct process *p)
{
    static const struct {
        const char *title; /* or name; for workers, its prefix */
        enum model_server kind;
    } known[] = {
        {"vllm", SERVER_VLLM},
        {"VLLM::*", SERVER_VLLM},
        {"aphrodite", SERVER_APHRODITE},
        {"Aphrodite::*", SERVER_APHRODITE},
        {"llama-server", SERVER_LLAMA_CPP},
        {"sglang", SERVER_SGLANG},
        {"sglang::*", SERVER_SGLANG},
        {"trtllm-serve", SERVER_TENSORRT_LLM},
        {"lmdeploy", SERVER_LMDEPLOY},
        {"text-generation-server", SERVER_TGI},
        {"tritonserver", SERVER_TRITON},
        {"triton_python_b*", SERVER_TRITON},
        {"ComfyUI", SERVER_COMFYUI},
        {"mlc_llm", SERVER_MLC},
        {"xinference*", SERVER_XINFERENCE},
        {"Model: *", SERVER_XINFERENCE},
        {"koboldcpp*", SERVER_KOBOLDCPP},
        {"stable-diffusion-webui*", SERVER_AUTOMATIC1111},
        {"ollama*", SERVER_OLLAMA},
        {"LM Studio", SERVER_LM_STUDIO},
        {"lm-studio", SERVER_LM_STUDIO},
        {"tabbyAPI", SERVER_TABBYAPI},
        {"speaches", SERVER_SPEACHES},
    };
    struct str title = str_from(process_title(p)), name = str_from(p->name);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (is_named(title, known[i].title) || is_named(name, known[i].title))
            return known[i].kind;
    return SERVER_UNKNOWN;
}

const char *model_server_name(enum model_server kind)
{
    return servers[kind].name ? servers[kind].name : "";
}

const char *model_server_page(enum model_server kind)
{
    return servers[kind].page;
}

static struct str base_of(struct str path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    return slash ? (struct str){slash + 1, path.len - (size_t)(slash + 1 - path.at)} : path;
}

/* The last value of "--option VALUE" or "--option=VALUE"; dashes and underscores are equivalent. */
static bool find_option(const struct str *args, size_t count, const char *option, struct str *value)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        struct str rest = args[i], name;
        if (!str_starts(rest, "--") || !str_cut(&rest, '=', &name) || name.len != strlen(option))
            continue;
        bool same = true;
        for (size_t k = 0; k < name.len; k++)
            same &= (name.at[k] == '_' ? '-' : name.at[k]) == option[k];
        if (!same)
            continue;
        found = true;
        *value = name.len < args[i].len ? rest : i + 1 < count ? args[i + 1] : (struct str){0};
    }
    return found;
}

/* The program that serves requests, not a worker or another command. */
static bool is_front(enum model_server kind, const struct str *args, size_t count)
{
    static const struct {
        enum model_server kind;
        const char *program, *command; /* as in is_named(); NULL: any */
    } fronts[] = {
        {SERVER_VLLM, "vllm", "serve"},
        {SERVER_VLLM, "vllm.entrypoints.cli.main", "serve"},
        {SERVER_VLLM, "vllm.entrypoints.openai.api_server", NULL},
        {SERVER_VLLM, "vllm.entrypoints.api_server", NULL},
        {SERVER_APHRODITE, "aphrodite", "run"},
        {SERVER_APHRODITE, "aphrodite.endpoints.openai.api_server", NULL},
        {SERVER_LLAMA_CPP, "llama-server", NULL},
        {SERVER_SGLANG, "sglang.launch_server", NULL},
        {SERVER_SGLANG, "sglang", "serve"},
        {SERVER_TENSORRT_LLM, "trtllm-serve", NULL},
        {SERVER_LMDEPLOY, "lmdeploy", "serve"},
        {SERVER_TGI, "text-generation-launcher", NULL},
        {SERVER_TRITON, "tritonserver", NULL},
        {SERVER_COMFYUI, "main.py", NULL},
        {SERVER_MLC, "mlc_llm", "serve"},
        {SERVER_XINFERENCE, "xinference-local", NULL},
        {SERVER_XINFERENCE, "xinference-worker", NULL},
        {SERVER_KOBOLDCPP, "koboldcpp*", NULL},
        {SERVER_AUTOMATIC1111, "launch.py", NULL},
        {SERVER_AUTOMATIC1111, "webui.py", NULL},
    };
    size_t at = command_program_at(args, count);
    if (at >= count)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (fronts[i].kind == kind && is_named(base_of(args[at]), fronts[i].program) &&
            (!fronts[i].command || (at + 1 < count && str_is(args[at + 1], fronts[i].command))))
            return true;
    return kind == SERVER_VLLM && str_ends(args[at], "vllm/entrypoints/openai/api_server.py");
}

bool model_server_may_sleep(enum model_server kind, const struct str *args, size_t count)
{
    struct str text;
    int64_t seconds;
    return kind == SERVER_LLAMA_CPP && find_option(args, count, "--sleep-idle-seconds", &text) &&
           (!str_to_i64(text, &seconds) || seconds >= 0); /* negative: never */
}

bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port)
{
    static const char *const elsewhere[] = {"--uds", "--headless", "--ssl-keyfile", "--ssl-key-file", "--ssl", "--tls-keyfile"};
    struct str text;
    int64_t number = servers[kind].port;
    if (!servers[kind].page || !is_front(kind, args, count) || model_server_may_sleep(kind, args, count))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
        if (find_option(args, count, elsewhere[i], &text))
            return false;
    if (find_option(args, count, servers[kind].option, &text) && !str_to_i64(text, &number))
        return false;
    *port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX && number != NCCL_RAS_PORT;
}
