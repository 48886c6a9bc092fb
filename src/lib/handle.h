/* SPDX-License-Identifier: Apache-2.0
 * The internals of the library's handles. Keeps the promises of whirr.h; ask/ finds the answers.
 */
#pragma once

#include "ask/cli.h"
#include "ask/explain.h"
#include "ask/session.h"
#include "config/config.h"
#include "host/machine.h"
#include "whirr.h"

struct whirr {
    struct whirr *next; /* list of open handles */
    struct cli cli;
    struct session *session;
    struct machine *machine; /* of whirr_resources(); NULL: not requested yet, or a daemon knows */
    struct error error;
    int timer; /* of whirr_watch_fd(); -1: none */
    bool announced;
    char source[512], sysroot[4096], socket[256];
};

struct whirr_sample {
    const struct snapshot *snapshot;
};

/* Every function calls this first. 0 if the handle is open and its arguments are `given`. Otherwise the code that whirr.h
 * documents, with a message for whirr_error(). */
int handle_use(struct whirr *w, bool given);
/* Stores the message and returns its code. */
int handle_fail(struct whirr *w, const struct error *err);
/* The same for an operation that failed with `code`. */
int handle_fail_at(struct whirr *w, int code, const char *what);
/* Takes a sample, passes it to the function and returns its result. */
int handle_give_sample(struct whirr *w, whirr_watch_fn *fn, void *user);
/* Returns the whole text, from malloc. -ENOMEM if it could not be written. */
int handle_text(struct whirr *w, struct buf *text, char **ret);
