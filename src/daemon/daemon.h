/* SPDX-License-Identifier: Apache-2.0
 * The daemon: engine, server and what else runs with them, wired together.
 */
#pragma once

#include <stdint.h>

#include "base/env.h"
#include "config/config.h"

struct part_ops;

struct daemon_options {
    const struct env *env;
    struct config *config; /* taken over */
    /* Reads the configuration again on SIGHUP, in the same way as at the start. Problems are for the log. */
    int (*load)(void *user, struct config **ret, struct config_problems *problems);
    void *user;
    const struct part_ops *const *more; /* further parts, after its own */
    size_t more_count;
    const char *const *sources; /* of --source; none: those of the configuration */
    size_t source_count;
};

/* Until SIGTERM or SIGINT. The exit status. */
int daemon_run(const struct daemon_options *options);

/* ---- Giving up what a daemon does not need. ---- */

/* For a process that has capabilities (started by root): keeps those for reading other users' processes, counters and the kernel
 * log, files, and low ports; gives up the rest. Before any thread is started: each thread has its own. Returns how many were given
 * up, or -errno. Programs that it runs are not bound by it. */
int privileges_drop(void);

/* ---- What a service tells systemd: sd_notify without its library. ---- */

/* "READY=1", "STATUS=...", "WATCHDOG=1", "STOPPING=1"; several lines at once are fine. Does nothing outside of systemd. */
void sd_notify_send(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));
/* "RELOADING=1" with the time that Type=notify-reload wants. */
void sd_notify_reloading(void);
/* How often the watchdog wants to hear from us, in ms: half its limit. 0: there is none. */
int64_t sd_notify_watchdog_ms(void);
