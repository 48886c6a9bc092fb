/* SPDX-License-Identifier: Apache-2.0
 * The daemon: engine, server and what else runs with them, wired together.
 */
#pragma once

#include "base/env.h"
#include "config/config.h"

struct daemon_options {
    const struct env *env;
    struct config *config; /* taken over */
    /* Reads the configuration again on SIGHUP, in the same way as at the start. Problems are for the log. */
    int (*load)(void *user, struct config **ret, struct config_problems *problems);
    void *user;
    const char *const *sources; /* of --source; none: those of the configuration */
    size_t source_count;
};

/* Until SIGTERM or SIGINT. The exit status. */
int daemon_run(const struct daemon_options *options);
