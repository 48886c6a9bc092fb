/* SPDX-License-Identifier: Apache-2.0
 * Which processes belong to a model server, and where it can be queried. Pure functions of text.
 *
 * Queries can do harm: foreign bytes on a worker's port (TCPStore, NCCL) have ended jobs, and some pages wake a model, load it or
 * reset a counter. So query only the port in the server's own command line, and only pages without side effects.
 */
#pragma once

#include "base/str.h"
#include "model/process.h"

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
