/* SPDX-License-Identifier: Apache-2.0
 * A method to get a worker's memory off the GPU and back. One vtable; the guard tries a worker's methods in order. All functions
 * may block up to their time limit; they run on the worker's own thread.
 */
#pragma once

#include <jansson.h>

#include "base/env.h"
#include "base/error.h"
#include "guard/claim.h"
#include "guard/policy.h"
#include "model/snapshot.h"

/* Records what the guard is about to do, synced before it acts, so that the next start knows after a crash. One small file per
 * worker, replaced atomically at each step: it always has one complete entry. */

enum {
    JOURNAL_ITEMS_MAX = 32,
    JOURNAL_ITEM_SIZE = 256,
    JOURNAL_EXTRA_SIZE = 512,
    JOURNAL_METHODS_MAX = 8,
    JOURNAL_NAME_SIZE = 64,
    JOURNAL_GPUS_MAX = 16
};

/* Something that was loaded, and how to reload it. */
struct journal_item {
    char id[JOURNAL_ITEM_SIZE];
    char name[JOURNAL_ITEM_SIZE];   /* the name to load it by; "": the id */
    char extra[JOURNAL_EXTRA_SIZE]; /* its settings, a JSON object; "": none */
};

struct journal_entry {
    enum guard_state state;
    char step[32];                                      /* within the state: "lock", "checkpoint", "unload", ... */
    char acted[JOURNAL_METHODS_MAX][JOURNAL_NAME_SIZE]; /* methods that acted, in order: undone in reverse */
    size_t acted_count;
    struct journal_item items[JOURNAL_ITEMS_MAX]; /* models to reload */
    size_t item_count;
    struct claim_identity pids[CLAIM_WORKER_PIDS]; /* the worker's processes at that time */
    size_t pid_count;
    struct claim_identity leader; /* of a worker started by whirr: found again instead of started twice */
    struct {
        int gpu; /* index in this run of the program; -1: not listed */
        int64_t bytes;
        char uuid[GPU_UUID_SIZE]; /* identifies it across runs; "" unknown */
    } gpus[JOURNAL_GPUS_MAX];     /* the GPUs it was on */
    size_t gpu_count;
    int64_t bytes;                  /* memory the worker held on all of them */
    struct claim_identity claimant; /* the process it drained for; pid 0: no particular one */
    bool held;                      /* by a person */
    bool idle;                      /* because no client asked for it */
};

struct journal {
    char path[512]; /* "": keeps nothing (a dry run) */
};

/* DIR/NAME.journal; creates DIR (0700). Replaces odd characters in the name. */
int journal_open(struct journal *j, const char *dir, const char *name, struct error *err);
/* Synced to disk when it returns 0. */
int journal_write(const struct journal *j, const struct journal_entry *entry, struct error *err);
/* -ENOENT: nothing was in progress. -EBADMSG: damaged, moved aside. Others: unreadable now, unchanged. */
int journal_read(const struct journal *j, struct journal_entry *entry, struct error *err);

enum { METHOD_TEXT_SIZE = 256 };

/* How to reach a worker, from its [guard.worker.NAME] table. */
struct method_settings {
    char url[METHOD_TEXT_SIZE];       /* of its server */
    char token[METHOD_TEXT_SIZE];     /* sent as Bearer if set */
    char unit[METHOD_TEXT_SIZE];      /* systemd unit */
    const char *const *evict_command; /* method "command": program and arguments, NULL-terminated; NULL: none */
    const char *const *resume_command;
    const char *const *status_command;
    int evict_signal, resume_signal; /* method "signal" */
    int64_t evict_timeout_ms, resume_timeout_ms;
};

struct child;

struct method_context {
    const struct env *env;
    const struct method_settings *settings;
    const struct claim_worker *worker; /* its current processes */
    const struct snapshot *snapshot;   /* may be NULL after a restart */
    struct journal *journal;
    struct journal_entry *entry; /* methods add what they must remember, and write it before each step */
    struct child *child;         /* for method "process": the child started by whirr; NULL: none */
    const _Atomic bool *ending;  /* the guard is ending: start nothing new, abort requests; NULL: never */
    const _Atomic bool *abandon; /* it has waited long enough: abandon what is in progress; NULL: never */
};

enum method_found { METHOD_FOUND_UNKNOWN, METHOD_FOUND_RUNNING, METHOD_FOUND_EVICTED };

struct method;

struct method_ops {
    const char *name; /* NULL: shared by rows of a table */
    /* Is work in flight? 1, 0, or -errno if unknown. NULL: the method itself waits, or it can't be known. */
    int (*busy)(const struct method *method, struct method_context *c, struct error *err);
    int (*evict)(const struct method *method, struct method_context *c, struct error *err);
    int (*resume)(const struct method *method, struct method_context *c, struct error *err);
    /* After a restart: the worker's state. */
    enum method_found (*find)(const struct method *method, struct method_context *c, struct error *err);
};

/* A worker's instance of a method. */
struct method {
    const char *name;
    const struct method_ops *ops;
    const struct server_row *row; /* for HTTP methods; NULL otherwise */
};

/* A request to a server; path NULL or "": none. In path and body, "{id}" is an item of the list, "{name}" and "{extra}" are what
 * reloads it. */
struct server_request {
    const char *method, *path, *body; /* method NULL or "": POST */
};

/* How a server frees memory over HTTP: a row of servers.def, or one described by a user. Omitted fields are NULL or "". */
struct server_row {
    const char *name;
    struct server_request list;       /* lists loaded items */
    const char *items, *id, *only;    /* path to the items in its answer, key of an item's ID, filter */
    const char *name_key, *extra_key; /* keys of the name and settings to reload an item with; "^": of the object that contains
                                       * the list */
    struct server_request busy;       /* shows work in flight; none: the server itself waits, or it can't be known */
    const char *busy_key;
    const char *busy_only; /* filter of the items that may be queried, as querying others would wake or load them; none: `only` */
    const char *busy_at;   /* key of an item's own URL on this host, queried instead of the server */
    struct server_request before; /* once before unloading */
    struct server_request unload;
    struct server_request reload; /* none: a client's next request reloads */
    struct server_request after;  /* once after reloading */
    struct server_request asleep; /* shows whether it is unloaded */
    const char *asleep_key;
    bool dies_when_busy; /* never unload it while work is in flight, however long that takes, and never load it while it holds
                          * its memory */
    int64_t settle_ms;   /* how long after agreeing it may still hold the memory; 0: 5000 */
};

const struct server_row *server_row_find(const char *name);
const struct server_row *server_row_at(size_t i); /* NULL after the last */

extern const struct method_ops method_checkpoint, method_command, method_http, method_process, method_signal;

/* -EINVAL listing the known names. */
int method_resolve(const char *name, struct method *ret, struct error *err);

int method_busy(const struct method *method, struct method_context *c, struct error *err); /* 1, 0, -errno */
int method_evict(const struct method *method, struct method_context *c, struct error *err);
int method_resume(const struct method *method, struct method_context *c, struct error *err);
enum method_found method_find_state(const struct method *method, struct method_context *c, struct error *err);

/* Is the guard to end? */
bool method_is_ending(const struct method_context *c);
/* Writes the entry with this step before the step is done. */
int method_note(struct method_context *c, const char *step, struct error *err);

/* Free memory required to restore a process that held `bytes`. A restore without enough memory can never be repeated. */
int64_t checkpoint_restore_bytes(int64_t bytes);

/* A worker started by whirr. */
struct child {
    const char *const *argv;
    int32_t pid; /* 0: not running */
    int64_t start_key;
    int64_t stop_timeout_ms; /* from asking it to end until killing it; 0: 10000 */
    bool adopted;            /* started by an earlier guard: found again, but not our child */
};

/* Starts it in its own process group, with this program's terminal and environment. */
int child_start(const struct env *env, struct child *child, struct error *err);
/* Asks the group to end, then kills the rest. */
int child_stop(const struct env *env, struct child *child, struct error *err);
/* Whether it ended on its own. *status (may be NULL) gets its exit status. */
bool child_ended(const struct env *env, struct child *child, int *status);
