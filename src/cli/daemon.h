/* SPDX-License-Identifier: Apache-2.0
 * The daemon: engine, server and what else runs with them, wired together.
 */
#pragma once

#include "base/env.h"
#include "serve/server.h"

struct daemon_options {
    const struct env *env;
    const char *const *sources;
    size_t source_count;
    struct server_options server; /* engine is filled in here */
};

/* Until SIGTERM or SIGINT. The exit status. */
int daemon_run(const struct daemon_options *options);
