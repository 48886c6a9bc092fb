/* SPDX-License-Identifier: Apache-2.0
 * Names, command lines and ports of model servers.
 */
#include "daemon/serving/model_server.h"

#include <string.h>

#include "base/cleanup.h"
#include "host/identity.h"

enum { NCCL_RAS_PORT = 28028 }; /* of a training job's own diagnosis: a line protocol */

/* Not asked: llama.cpp's /metrics, since each look restarts the window over which it averages for other scrapers, and
 * trtllm-serve's /metrics, which is emptied by each look. */
static const struct {
    uint16_t port; /* its usual one */
    const char *option, *page;
} servers[SERVER_COUNT] = {
    [SERVER_VLLM] = {8000, "--port", "metrics"},
    [SERVER_APHRODITE] = {2242, "--port", "metrics"},
    [SERVER_LLAMA_CPP] = {8080, "--port", "slots"},
    [SERVER_SGLANG] = {30000, "--port", "metrics"},
    [SERVER_TENSORRT_LLM] = {8000, "--port", "prometheus/metrics"},
    [SERVER_LMDEPLOY] = {23333, "--server-port", "metrics"},
    [SERVER_TGI] = {3000, "--port", "metrics"},
    [SERVER_TRITON] = {8002, "--metrics-port", "metrics"},
    [SERVER_COMFYUI] = {8188, "--port", "prompt"},
};

enum model_server model_server_of(const struct process *p)
{
    static const struct {
        const char *title, *worker; /* what it is called, and how the names of its workers begin */
        enum model_server kind;
    } known[] = {
        {"vllm", "VLLM::", SERVER_VLLM},
        {"aphrodite", "Aphrodite::", SERVER_APHRODITE},
        {"llama-server", NULL, SERVER_LLAMA_CPP},
        {"sglang", "sglang::", SERVER_SGLANG},
        {"trtllm-serve", NULL, SERVER_TENSORRT_LLM},
        {"lmdeploy", NULL, SERVER_LMDEPLOY},
        {"text-generation-server", NULL, SERVER_TGI},
        {"tritonserver", "triton_python_b", SERVER_TRITON},
        {"ComfyUI", NULL, SERVER_COMFYUI},
    };
    const char *title = process_title(p);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(title, known[i].title) == 0 || strcmp(p->name, known[i].title) == 0 ||
            (known[i].worker && str_starts(str_from(p->name), known[i].worker)))
            return known[i].kind;
    return SERVER_UNKNOWN;
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

/* The value of "--option VALUE" or "--option=VALUE", the last one given; dashes and underscores are the same. */
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

/* The program that answers, and not one of its workers or other commands. */
static bool is_front(enum model_server kind, const struct str *args, size_t count)
{
    static const struct {
        enum model_server kind;
        const char *program, *command; /* NULL: any */
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
    };
    size_t at = command_program_at(args, count);
    if (at >= count)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (fronts[i].kind == kind && str_is(base_of(args[at]), fronts[i].program) &&
            (!fronts[i].command || (at + 1 < count && str_is(args[at + 1], fronts[i].command))))
            return true;
    return kind == SERVER_VLLM && str_ends(args[at], "vllm/entrypoints/openai/api_server.py");
}

static bool sleeps_when_idle(const struct str *args, size_t count)
{
    struct str text;
    int64_t seconds;
    return find_option(args, count, "--sleep-idle-seconds", &text) && (!str_to_i64(text, &seconds) || seconds >= 0); /* -1: never */
}

bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port)
{
    static const char *const elsewhere[] = {"--uds", "--headless", "--ssl-keyfile", "--ssl-key-file", "--ssl", "--tls-keyfile"};
    struct str text;
    int64_t number = servers[kind].port;
    if (number == 0 || !is_front(kind, args, count) || sleeps_when_idle(args, count))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
        if (find_option(args, count, elsewhere[i], &text))
            return false;
    if (find_option(args, count, servers[kind].option, &text) && !str_to_i64(text, &number))
        return false;
    *port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX && number != NCCL_RAS_PORT;
}
