/* SPDX-License-Identifier: Apache-2.0
 * A way to get a worker's memory off the GPU and back. One vtable; the guard tries the ways of a worker in order.
 * All functions may block up to their time limit; they run on the worker's own thread.
 */
#pragma once

#include "guard/journal.h"
#include "model/snapshot.h"

enum { WAY_TEXT_SIZE = 256 };

/* How a worker is reached, from its [guard.worker.NAME] table. */
struct way_settings {
    char url[WAY_TEXT_SIZE];               /* of its server */
    char token[WAY_TEXT_SIZE];             /* sent as Bearer when set */
    char unit[WAY_TEXT_SIZE];              /* systemd unit */
    char evict_command[WAY_TEXT_SIZE * 4]; /* way "command" */
    char resume_command[WAY_TEXT_SIZE * 4];
    int evict_signal, resume_signal; /* way "signal" */
    int64_t evict_timeout_ms, resume_timeout_ms;
    bool user_units; /* systemctl --user */
};

struct way_context {
    const struct env *env;
    const struct way_settings *settings;
    const struct claim_worker *worker; /* who it is now */
    const struct snapshot *snapshot;   /* may be NULL after a restart */
    struct journal *journal;
    struct journal_entry *entry; /* the ways add what they must remember, and write it before each step */
    void *process;               /* of the way "process": the child that whirr started */
};

enum way_found { WAY_FOUND_UNKNOWN, WAY_FOUND_RUNNING, WAY_FOUND_EVICTED };

struct way_ops {
    const char *name;
    const char *what; /* one line for the documentation */
    /* Is work in flight? 1, 0, or -errno when it cannot be told. NULL: the way itself waits, or nobody can tell. */
    int (*busy)(struct way_context *c, struct error *err);
    int (*evict)(struct way_context *c, struct error *err);
    int (*resume)(struct way_context *c, struct error *err);
    /* After a restart: in which state is the worker? */
    enum way_found (*find)(struct way_context *c, struct error *err);
};

const struct way_ops *way_find(const char *name);
size_t way_count(void);
const struct way_ops *way_at(size_t i);

/* Writes the entry with this step before it is done. */
int way_note(struct way_context *c, const char *step, struct error *err);
