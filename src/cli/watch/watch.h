/* SPDX-License-Identifier: Apache-2.0
 * The parts of `whirr watch`.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/command.h"
#include "format/json/json.h"
#include "host/evidence/address_samples.h"
#include "host/frames/looks.h"
#include "insight/view/program_phases.h"

/* Looks at the lines of a program, in a thread of its own. */
struct watch_lines {
    pthread_t thread;
    bool running, known;
    bool wanted; /* --lines */
    _Atomic bool over;
    const struct env *env;
    int32_t pid;
    int rc;
    struct error err; /* why nothing is known */
    struct looks looks;
    struct program_lines lines;
};
void watch_lines_begin(struct watch_lines *w, const struct env *env, int32_t pid);
void watch_lines_end(struct watch_lines *w);
void watch_lines_done(struct watch_lines *w);
void watch_lines_tree(struct buf *out, const struct page *page, const struct watch_lines *w);
int watch_lines_folded(const struct watch_lines *w, const char *file); /* returns the exit status */

/* watch --pid: returns the exit status. */
int watch_running(struct cli *cli, const char *asked);
/* watch --queues: the same. */
int watch_queues(struct cli *cli);
/* Writes the report to the file of --output, or else there; returns the exit status. */
int watch_write(struct cli *cli, const struct buf *report, FILE *otherwise);
