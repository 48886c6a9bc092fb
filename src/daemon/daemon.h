/* SPDX-License-Identifier: Apache-2.0
 * The daemon: connects the engine, the server and everything that runs with them.
 */
#pragma once

#include <stdint.h>

#include "base/env.h"
#include "config/config.h"

struct part_ops;

struct daemon_options {
    const struct env *env;
    struct config *config; /* takes ownership */
    /* Reloads the configuration on SIGHUP, the same way as at the start. Problems go to the log. */
    int (*load)(void *user, struct config **ret, struct config_problems *problems);
    void *user;
    const struct part_ops *const *more; /* further parts, after the built-in ones */
    size_t more_count;
    const char *const *sources; /* from --source; none: use the configuration */
    size_t source_count;
};

/* Runs until SIGTERM or SIGINT. Returns the exit status. */
int daemon_run(const struct daemon_options *options);

/* ---- Messages to systemd: sd_notify without its library. ---- */

/* "READY=1", "STATUS=...", "WATCHDOG=1", "STOPPING=1"; may contain several lines. Does nothing outside of systemd. */
void sd_notify_send(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
/* "RELOADING=1" with the timestamp that Type=notify-reload requires. */
void sd_notify_reloading(void);
/* How often to notify the watchdog, in ms: half its timeout. 0: there is none. */
int64_t sd_notify_watchdog_ms(void);
