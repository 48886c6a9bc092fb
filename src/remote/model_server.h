/* SPDX-License-Identifier: Apache-2.0
 * Which processes belong to a model server, and where it can be queried. Pure functions of text.
 *
 * Queries can do harm: foreign bytes on a worker's port (TCPStore, NCCL) have ended jobs, and some pages wake a model, load it or
 * reset a counter. So query only the port in the server's own command line, and only pages without side effects.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/str.h"
#include "config/config.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/reading.h"

/* In the order of SERVING_KINDS (config/config.h). */
enum model_server {
    SERVER_UNKNOWN,
    SERVER_VLLM,
    SERVER_APHRODITE, /* a descendant of vLLM, with the same names */
    SERVER_LLAMA_CPP, /* also below Ollama and llama-swap */
    SERVER_SGLANG,
    SERVER_TENSORRT_LLM,
    SERVER_LMDEPLOY,
    SERVER_TGI,
    SERVER_TRITON,
    SERVER_COMFYUI,
    SERVER_NIM, /* from here to Dynamo: run in containers, so settings must say where */
    SERVER_DYNAMO,
    SERVER_MLC,
    SERVER_XINFERENCE,
    SERVER_KOBOLDCPP,
    SERVER_AUTOMATIC1111, /* also Forge */
    SERVER_OLLAMA,        /* from here on: no data on requests and tokens */
    SERVER_LLAMA_SWAP,
    SERVER_LM_STUDIO,
    SERVER_TABBYAPI,
    SERVER_SPEACHES,
    SERVER_COUNT
};

/* Which server a process on a GPU belongs to, by its name or title. */
enum model_server model_server_of(const struct process *p);

/* Its name in settings; "": unknown. */
const char *model_server_name(enum model_server kind);

/* The page to request, without the first slash; NULL: it has no data on requests and tokens. */
const char *model_server_page(enum model_server kind);

/* The port of the process with this command line, if it is a server's front end that serves HTTP without TLS. False for workers,
 * other programs, and a llama-server that unloads its model when idle: each query of its slots would wake it or keep it awake. */
bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port);

/* Whether it unloads its model when idle, by the command line of any of its processes. */
bool model_server_may_sleep(enum model_server kind, const struct str *args, size_t count);

/* A child listens instead of the process whose command line names the port. */
static inline bool model_server_listens_below(enum model_server kind)
{
    return kind == SERVER_TGI;
}

/* The process on the GPU itself answers: don't search its parents, whose command lines may look the same. */
static inline bool model_server_is_alone(enum model_server kind)
{
    return kind == SERVER_COMFYUI || kind == SERVER_KOBOLDCPP || kind == SERVER_AUTOMATIC1111;
}

/* ---- Rules from [serving.NAME]: the place, kind and name of servers, and which ones to leave alone. Pure functions of settings
 * and processes ---- */

enum { RULE_HOST_SIZE = 256, RULE_KEY_SIZE = 1024, RULE_FILE_SIZE = 512 };

struct serving_rule {
    char name[PROCESS_TITLE_SIZE];
    enum model_server kind;                    /* UNKNOWN: derive it from the process */
    char process[PROCESS_CONTAINER_NAME_SIZE]; /* "": whichever listens on the port */
    char host[RULE_HOST_SIZE];                 /* "127.0.0.1", "[::1]", "gpu.example.org" */
    uint16_t port;                             /* 0: no URL */
    bool tls, loopback;
    bool plain; /* an address that needs no libcurl */
    bool ignore;
    char key[RULE_KEY_SIZE], key_file[RULE_FILE_SIZE];
};

struct serving_rules {
    size_t count;
    struct serving_rule list[];
};

/* NULL: out of memory. Release with free(). */
struct serving_rules *serving_rules_new(const struct config *config);

/* The first rule that names the process or its container, or NULL. */
const struct serving_rule *serving_rule_of_process(const struct serving_rules *rules, const struct process *p);
/* The first rule about all servers of a kind. */
const struct serving_rule *serving_rule_of_kind(const struct serving_rules *rules, enum model_server kind);
/* The next rule from `at` on that applies to whichever process listens on its port, or NULL. */
const struct serving_rule *serving_rule_of_port(const struct serving_rules *rules, size_t *at);
/* Whether to leave a loopback port alone. */
bool serving_rules_ignore(const struct serving_rules *rules, uint16_t port);

/* ---- One page of a server, directly on loopback and at numeric addresses, through libcurl elsewhere and with TLS
 * ---- */

/* Returns the status and appends the page to `body`, or -errno. `rule` may be NULL; its key is sent along. `address` reaches it
 * on this host's loopback; "": use the rule's URL. -EACCES and a message: the key is unreadable, and no request was sent. */
int fetch_page(const struct env *env, const struct serving_rule *rule, const char *address, uint16_t port, const char *page,
               const _Atomic bool *cancel, struct buf *body, struct error *err);

/* Model servers' answers (server_answer.c), as figures of a process. Pure functions of text.
 *
 *   Prometheus text ─▶ samples with known names ─▶ quantities, summed over all engines ─▶ figures
 *   JSON of llama.cpp, ComfyUI, ... ──────────────────────────────────────────────────▶
 *
 * Rates and means span the time since the previous answer, whose values are kept. A figure that the answer lacks is UNSUPPORTED;
 * one that needs a second answer, or a request, is PENDING. */

enum {
    SLOTS_MAX = 64,
    RANKS_MAX = 256,
    FIGURES_FROM = PROCESS_METRIC_tokens_milli,
    FIGURES = PROCESS_METRIC_COUNT - FIGURES_FROM,
};
#define FIGURE(field) (PROCESS_METRIC_##field - FIGURES_FROM)

/* The last value of a counter. */
struct server_counter {
    bool seen;
    double value;
    struct mono at;
};

/* The last sum and count, and the mean in between two answers. */
struct server_mean {
    bool seen;
    double sum, count;
    struct reading value;
    struct mono at;
};

/* Zero-initialize before the first answer. */
struct server_answers {
    struct reading figure[FIGURES];           /* of the last answer */
    struct serving_sum served[SERVING_TIMES]; /* of the last answer, too */
    struct server_counter generated, prompt, preempted;
    struct server_mean first_token, token_time, prefix;
    struct {
        int64_t task, decoded;
    } slots[SLOTS_MAX]; /* of llama.cpp */
};

/* False if it contains nothing known. */
bool server_answer_metrics(struct server_answers *a, enum model_server kind, struct str metrics, struct mono now);
/* llama.cpp's /slots: the tokens that each slot has decoded for its task. Misses tasks that end between two queries, so the rate
 * is slightly low; a total would be wrong, so there is none. */
bool server_answer_slots(struct server_answers *a, struct str slots, struct mono now);
/* For servers that answer with JSON: ComfyUI, KoboldCpp, Automatic1111. */
bool server_answer_json(struct server_answers *a, enum model_server kind, struct str text);
bool server_answers_json(enum model_server kind);
/* Interprets llama.cpp's /props: READING_OK if its slots may be queried, ASLEEP, or UNSUPPORTED for a router of models. */
enum reading_state server_answer_awake(struct str props);
