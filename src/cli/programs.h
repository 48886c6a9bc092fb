/* SPDX-License-Identifier: Apache-2.0
 * Programs of this host by what people call them, whether they are on a GPU or not, and the model servers among them.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"

struct program_found {
    int32_t pid;
    char name[64];
};
/* Programs of this host with this PID, or whose script, module, game or file is called so, in any case. Returns how many. */
size_t programs_called(const struct env *env, const char *asked, struct program_found *ret, size_t max);

/* "ollama,vllm=http://127.0.0.1:9000": model servers that run, by their command lines. Probes no port: another program may answer
 * there. */
void programs_find_servers(const struct env *env, struct buf *found);
/* The default URL of this guard method's server; NULL: not offered. */
const char *programs_server_url(struct str method);
