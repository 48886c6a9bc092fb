/* SPDX-License-Identifier: Apache-2.0
 * Model servers that setup offers to guard, and which of them are running on this host.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"

/* The default URL of this guard method's server; NULL: not offered. */
const char *setup_server_url(struct str method);

/* "ollama,vllm=http://127.0.0.1:9000": running servers, by their command lines. Probes no port: another program may answer
 * there. */
void setup_find_servers(const struct env *env, struct buf *found);
