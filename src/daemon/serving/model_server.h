/* SPDX-License-Identifier: Apache-2.0
 * Which processes belong to a model server, and where it may be asked. Pure functions of text.
 *
 * A question can do harm: foreign bytes on a port of a worker (TCPStore, NCCL) have ended jobs, and some pages wake a model, load
 * it or empty a counter. So only the port that the command line of the server itself names is asked, and only pages without side
 * effects.
 */
#pragma once

#include "base/str.h"
#include "model/process.h"

/* In the order of SERVING_KINDS (config/config.h). */
enum model_server {
    SERVER_UNKNOWN,
    SERVER_VLLM,
    SERVER_APHRODITE, /* a descendant of vLLM, with its names */
    SERVER_LLAMA_CPP, /* also below Ollama and llama-swap */
    SERVER_SGLANG,
    SERVER_TENSORRT_LLM,
    SERVER_LMDEPLOY,
    SERVER_TGI,
    SERVER_TRITON,
    SERVER_COMFYUI,
    SERVER_NIM, /* from here to Dynamo: in containers, so that their settings say where they are */
    SERVER_DYNAMO,
    SERVER_MLC,
    SERVER_XINFERENCE,
    SERVER_KOBOLDCPP,
    SERVER_AUTOMATIC1111, /* Forge, too */
    SERVER_OLLAMA,        /* from here on: say nothing of requests and tokens */
    SERVER_LLAMA_SWAP,
    SERVER_LM_STUDIO,
    SERVER_TABBYAPI,
    SERVER_SPEACHES,
    SERVER_COUNT
};

/* Which server a process on a GPU belongs to, by its name or title. */
enum model_server model_server_of(const struct process *p);

/* As settings call it; "" unknown. */
const char *model_server_name(enum model_server kind);

/* What it is asked for, without the first slash; NULL: it says nothing of requests and tokens. */
const char *model_server_page(enum model_server kind);

/* The process with this command line is the front of such a server, which answers HTTP without TLS: its port. False for workers,
 * for other programs, and for a llama-server that unloads its model when idle: each look at its slots would wake it or keep it
 * awake. */
bool model_server_port(enum model_server kind, const struct str *args, size_t count, uint16_t *port);

/* The same as of the slots, of the command line of any of its processes. */
bool model_server_may_sleep(enum model_server kind, const struct str *args, size_t count);

/* Not the process with the port in its command line listens there, but a child of it. */
static inline bool model_server_listens_below(enum model_server kind)
{
    return kind == SERVER_TGI;
}

/* The process on the GPU itself answers: no parent is looked at, whose command line might look the same. */
static inline bool model_server_is_alone(enum model_server kind)
{
    return kind == SERVER_COMFYUI || kind == SERVER_KOBOLDCPP || kind == SERVER_AUTOMATIC1111;
}
