/* SPDX-License-Identifier: Apache-2.0
 * Model servers: their names, command lines and ports, what [serving.NAME] says about them, and one page of theirs.
 */
#include "remote/model_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "net/http_client.h"
#include "net/talk.h"

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

/* ---- rules from [serving.NAME], and the processes that they are about ---- */

static void read_url(struct serving_rule *rule, const char *url)
{
    struct str_place place;
    struct in_addr four;
    if (!url[0] || !str_to_url_place(url, &place))
        return;
    rule->port = (uint16_t)place.port;
    rule->tls = str_starts(str_from(url), "https://");
    rule->loopback = str_is_loopback(place.host);
    snprintf(rule->host, sizeof rule->host, place.bracketed ? "[" STR_FMT "]" : STR_FMT, STR_ARG(place.host));
    bool six = place.bracketed, is_four = inet_pton(AF_INET, rule->host, &four) == 1;
    if (rule->loopback && !six && !is_four) /* a host name */
        str_copy(rule->host, sizeof rule->host, STR("127.0.0.1"));
    rule->plain = !rule->tls && (rule->loopback || is_four);
}

static void read_rule(struct serving_rule *rule, const struct config_serving *s)
{
    *rule = (struct serving_rule){.kind = (enum model_server)s->kind, .ignore = s->ignore};
    str_copy(rule->name, sizeof rule->name, str_from(s->entry.name));
    str_copy(rule->process, sizeof rule->process, str_from(s->process));
    str_copy(rule->key, sizeof rule->key, str_from(s->key));
    str_copy(rule->key_file, sizeof rule->key_file, str_from(s->key_file));
    read_url(rule, s->url);
}

struct serving_rules *serving_rules_new(const struct config *config)
{
    struct serving_rules *rules = calloc(1, sizeof *rules + config->serving_count * sizeof rules->list[0]);
    for (size_t i = 0; rules && i < config->serving_count; i++)
        read_rule(&rules->list[rules->count++], &config->serving[i]);
    return rules;
}

/* "NAMESPACE/POD/CONTAINER" also matches by its last part. */
static bool is_container(const char *container, const char *wanted)
{
    const char *slash = strrchr(container, '/');
    return strcmp(container, wanted) == 0 || (slash && strcmp(slash + 1, wanted) == 0);
}

const struct serving_rule *serving_rule_of_process(const struct serving_rules *rules, const struct process *p)
{
    for (size_t i = 0; i < rules->count; i++) {
        const char *wanted = rules->list[i].process;
        if (wanted[0] && (strcmp(p->name, wanted) == 0 || strcmp(p->title, wanted) == 0 ||
                          is_container(p->container_name, wanted) || strcmp(p->container, wanted) == 0))
            return &rules->list[i];
    }
    return NULL;
}

const struct serving_rule *serving_rule_of_kind(const struct serving_rules *rules, enum model_server kind)
{
    for (size_t i = 0; i < rules->count; i++)
        if (kind != SERVER_UNKNOWN && rules->list[i].kind == kind && !rules->list[i].port && !rules->list[i].process[0])
            return &rules->list[i];
    return NULL;
}

const struct serving_rule *serving_rule_of_port(const struct serving_rules *rules, size_t *at)
{
    while (*at < rules->count) {
        const struct serving_rule *rule = &rules->list[(*at)++];
        if (rule->port && rule->loopback && !rule->process[0])
            return rule;
    }
    return NULL;
}

bool serving_rules_ignore(const struct serving_rules *rules, uint16_t port)
{
    const struct serving_rule *rule;
    for (size_t at = 0; (rule = serving_rule_of_port(rules, &at));)
        if (rule->ignore && rule->port == port)
            return true;
    return false;
}

/* ---- one page of a server, with its key ---- */

enum { ASK_WITHIN_MS = 1000, HEADER_SIZE = RULE_KEY_SIZE + 32 };

/* Builds "Authorization: Bearer KEY"; "": no key. */
static int read_key(const struct env *env, const struct serving_rule *rule, char header[HEADER_SIZE], struct error *err)
{
    char text[RULE_KEY_SIZE];
    struct str key = str_from(rule->key);
    header[0] = '\0';
    if (rule->key_file[0]) {
        ssize_t len = file_read(env, rule->key_file, text, sizeof text);
        if (len < 0)
            return error_set(err, -EACCES, "cannot read '%s': %s", rule->key_file, strerror((int)-len));
        key = str_trim((struct str){text, (size_t)len});
        for (size_t i = 0; i < key.len; i++)
            if (key.at[i] < '!' || key.at[i] > '~')
                return error_set(err, -EACCES, "'%s' does not hold a key alone", rule->key_file);
    }
    if (key.len)
        snprintf(header, HEADER_SIZE, "Authorization: Bearer " STR_FMT, STR_ARG(key));
    return 0;
}

int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err)
{
    char header[HEADER_SIZE] = "", url[RULE_HOST_SIZE + 96];
    int rc = rule ? read_key(env, rule, header, err) : 0;
    if (rc < 0)
        return rc;
    const char *sent = header[0] ? header : NULL;
    if (!rule || !rule->port || rule->plain)
        return talk_get(address[0] ? address : rule->host, port, page, sent, ASK_WITHIN_MS, cancel, body);
    snprintf(url, sizeof url, "%s://%s:%u/%s", rule->tls ? "https" : "http", rule->host, rule->port, page);
    return http_call(env,
                     &(struct http_request){.method = "GET",
                                            .url = url,
                                            .headers = (const char *const[]){sent, NULL},
                                            .connect_timeout_ms = ASK_WITHIN_MS,
                                            .timeout_ms = ASK_WITHIN_MS,
                                            .cancel = cancel},
                     body, err);
}
