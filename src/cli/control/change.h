/* SPDX-License-Identifier: Apache-2.0
 * Shared by `quiet`, `limit`, `clocks`, `fan` and `tune`: turns arguments into GPU settings, shows them (--dry-run) or applies
 * them, reversibly.
 */
#pragma once

#include <signal.h>

#include "cli/cli_show.h"
#include "lease/control_request.h"

/* Plans `text` for one kind of setting of the GPU of --gpu (or the only one); NULL: quiet, for all GPUs or that of --gpu.
 * EXIT_FINE, or prints what is wrong. */
int change_plan(struct cli *cli, enum control_kind kind, const char *text, struct change_list *ret);

#define CHANGE_NEEDS_ROOT                                                                                         \
    "changing settings of GPUs needs root\n"                                                                      \
    "Run it with sudo, or let members of a group do it: [control] allow = true, and sudo systemctl enable --now " \
    "whirr-control.socket"

/* Finds out whether settings are those of a simulated machine, and which (--source). */
int change_simulated(struct cli *cli, const struct snapshot *s, struct error *err);
const char *change_dir(const struct cli *cli); /* the journal: lease.dir, or that of simulated GPUs */

/* Ends a lease of settings, through the helper or in this process. Returns the exit status. */
int change_end(struct cli *cli, const char *id);

/* ---- hold.c: changes that this process keeps ---- */

/* Keeps them while the command runs, until `until` or, without either, until Ctrl-C. */
int hold_here(struct cli *cli, struct lease *plan, const struct change_list *l, const char *const *command, int64_t confirm_ms);
/* The same through the helper's connection. */
int hold_there(struct cli *cli, int fd, const struct lease *l, const char *const *command);
/* Prompts on the terminal whether to keep the change. */
bool hold_confirmed(int64_t within_ms);
/* Blocks signals that would end this process before it restores the settings; it waits for them instead. */
void hold_signals(sigset_t *set, sigset_t *before);
/* Starts the command with this signal mask and `out` as its output (-1: ours). 0, or an errno after printing a message. */
int hold_start(const char *const *command, const sigset_t *mask, int out, pid_t *ret);

/* ---- whirr tune: performance of a GPU at several power limits under one load, measured by tune_measure.c ---- */

enum { TUNE_POINTS_MAX = 32 };

/* Measures of work, from best to worst. */
enum tune_work {
    TUNE_RATE,   /* the number that the program prints */
    TUNE_TOKENS, /* tokens per second of a model server */
    TUNE_SM,     /* share of active multiprocessors times their clock */
    TUNE_LOAD,   /* share of busy time times the clock */
    TUNE_WORKS
};

struct tune_point {
    int64_t limit_mw;
    double work, watts; /* means */
    struct reading clock_khz;
    bool hot; /* throttled by heat, not by the limit */
};

struct tune_result {
    int gpu_index;
    char gpu[GPU_UUID_SIZE];
    enum tune_work kind;
    const char *rate; /* TUNE_RATE: the text beside the number */
    size_t planned, count;
    struct tune_point points[TUNE_POINTS_MAX]; /* from the highest to the lowest limit */
    double again;                              /* the first limit measured again at the end; 0: not measured */
};

struct tune_plan {
    struct cli *cli;
    const struct request_setting *setting; /* the limit's GPU */
    bool denied;                           /* this process lacks permission: use the helper */
    const char *server;                    /* what is already running; NULL: run a command */
    const char *rate;                      /* the text beside the number that the command prints; NULL: don't read it */
    int64_t warmup_ms, settle_ms, measure_ms;
    size_t count;
    int64_t limits[TUNE_POINTS_MAX];
};

/* Measures all limits, then stops the program and restores the old limit. */
int tune_measure(const struct tune_plan *plan, const char *const *command, struct tune_result *ret, struct error *err);
