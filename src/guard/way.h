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
    char url[WAY_TEXT_SIZE];          /* of its server */
    char token[WAY_TEXT_SIZE];        /* sent as Bearer when set */
    char unit[WAY_TEXT_SIZE];         /* systemd unit */
    const char *const *evict_command; /* way "command": program and arguments, NULL-terminated; NULL: none */
    const char *const *resume_command;
    const char *const *status_command;
    int evict_signal, resume_signal; /* way "signal" */
    int64_t evict_timeout_ms, resume_timeout_ms;
};

struct child;

struct way_context {
    const struct env *env;
    const struct way_settings *settings;
    const struct claim_worker *worker; /* who it is now */
    const struct snapshot *snapshot;   /* may be NULL after a restart */
    struct journal *journal;
    struct journal_entry *entry; /* the ways add what they must remember, and write it before each step */
    struct child *child;         /* of the way "process": the child that whirr started; NULL: none */
    const _Atomic bool *ending;  /* the guard is to end: nothing new is begun, requests are broken off; NULL: never */
    const _Atomic bool *abandon; /* it has waited long enough: what is under way is left alone; NULL: never */
};

enum way_found { WAY_FOUND_UNKNOWN, WAY_FOUND_RUNNING, WAY_FOUND_EVICTED };

struct way;

struct way_ops {
    const char *name; /* NULL: rows of a table share it */
    const char *what; /* one line for the documentation */
    /* Is work in flight? 1, 0, or -errno when it cannot be told. NULL: the way itself waits, or nobody can tell. */
    int (*busy)(const struct way *way, struct way_context *c, struct error *err);
    int (*evict)(const struct way *way, struct way_context *c, struct error *err);
    int (*resume)(const struct way *way, struct way_context *c, struct error *err);
    /* After a restart: in which state is the worker? */
    enum way_found (*find)(const struct way *way, struct way_context *c, struct error *err);
};

/* A way as a worker uses it. */
struct way {
    const char *name;
    const struct way_ops *ops;
    const struct http_way *row; /* of the HTTP ways; NULL otherwise */
};

/* -EINVAL with the known names. */
int way_resolve(const char *name, struct way *ret, struct error *err);
/* All names, for help and configuration checks. NULL behind the last. */
const char *way_name_at(size_t i, const char **what);

int way_busy(const struct way *way, struct way_context *c, struct error *err); /* 1, 0, -errno */
int way_evict(const struct way *way, struct way_context *c, struct error *err);
int way_resume(const struct way *way, struct way_context *c, struct error *err);
enum way_found way_find_state(const struct way *way, struct way_context *c, struct error *err);

/* Is the guard to end? */
bool way_is_ending(const struct way_context *c);
/* Writes the entry with this step before it is done. */
int way_note(struct way_context *c, const char *step, struct error *err);
