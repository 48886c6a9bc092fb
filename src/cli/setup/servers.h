/* SPDX-License-Identifier: Apache-2.0
 * Model servers that setup offers to guard, and which of them run on this host.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/str.h"

/* Where the server of this guard method usually answers; NULL: no such method is offered. */
const char *setup_server_url(struct str method);

/* "ollama,vllm=http://127.0.0.1:9000": those that run, by their command lines. Nothing is asked: what answers on a usual port may
 * be something else. */
void setup_find_servers(const struct env *env, struct buf *found);
