/* SPDX-License-Identifier: Apache-2.0
 * The inside of the library's handles. What whirr.h promises is kept here; how answers are found belongs to ask/.
 */
#pragma once

#include "ask/cli.h"
#include "ask/explain.h"
#include "ask/session.h"
#include "config/config.h"
#include "host/machine.h"
#include "whirr.h"

struct whirr {
    struct whirr *next; /* of those that are open */
    struct cli cli;
    struct session *session;
    struct machine *machine; /* of whirr_resources(); NULL: not asked for yet, or a daemon knows */
    struct error error;
    int timer; /* of whirr_watch_fd(); -1: none */
    bool announced;
    char source[512], sysroot[4096], socket[256];
};

struct whirr_sample {
    const struct snapshot *snapshot;
};

/* What every function asks first. 0: the handle is open, and the arguments that it needs are given. Otherwise the code that whirr.h
 * documents, and its sentence for whirr_error(). */
int handle_use(struct whirr *w, bool given);
/* Keeps the sentence, and returns its code. */
int handle_fail(struct whirr *w, const struct error *err);
/* The same for what failed with that code. */
int handle_fail_at(struct whirr *w, int code, const char *what);
/* Takes a sample and gives it to the function, whose result is returned. */
int handle_give_sample(struct whirr *w, whirr_watch_fn *fn, void *user);
/* The whole text, from malloc. -ENOMEM when it could not be written. */
int handle_text(struct whirr *w, struct buf *text, char **ret);
