/* SPDX-License-Identifier: Apache-2.0
 * The internals of the library's handles. The library keeps the promises of whirr.h; ask/ finds the answers.
 */
#pragma once

#include "ask/answers.h"
#include "ask/cli.h"
#include "ask/session.h"
#include "config/config.h"
#include "host/machine.h"
#include "whirr.h"

struct whirr {
    struct whirr *next; /* list of open handles */
    struct cli cli;
    struct session *session;
    struct machine *machine; /* for whirr_resources(); NULL: not used yet, or a daemon measures */
    struct error error;
    int timer; /* of whirr_watch_fd(); -1: none */
    bool announced;
    char source[512], sysroot[4096], socket[256];
};

struct whirr_sample {
    const struct snapshot *snapshot;
};

/* Every function calls this first. Returns 0 if the handle is open and the arguments are `given` (not NULL), else the code that
 * whirr.h documents, with a message for whirr_error(). */
int handle_use(struct whirr *w, bool given);
/* Stores the message and returns its code. */
int handle_fail(struct whirr *w, const struct error *err);
/* The same, with a message from `what` and the code. */
int handle_fail_at(struct whirr *w, int code, const char *what);
/* Takes a sample, passes it to the function and returns its result. */
int handle_deliver_sample(struct whirr *w, whirr_watch_fn *fn, void *user);
/* Copies the text to the heap. -ENOMEM: the copy or the text itself ran out of memory. */
int handle_text(struct whirr *w, struct buf *text, char **ret);
