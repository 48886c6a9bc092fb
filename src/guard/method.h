/* SPDX-License-Identifier: Apache-2.0
 * A method to get a worker's memory off the GPU and back. One vtable; the guard tries the methods of a worker in order.
 * All functions may block up to their time limit; they run on the worker's own thread.
 */
#pragma once

#include "guard/journal.h"
#include "model/snapshot.h"

enum { METHOD_TEXT_SIZE = 256 };

/* How a worker is reached, from its [guard.worker.NAME] table. */
struct method_settings {
    char url[METHOD_TEXT_SIZE];       /* of its server */
    char token[METHOD_TEXT_SIZE];     /* sent as Bearer when set */
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
    const struct claim_worker *worker; /* who it is now */
    const struct snapshot *snapshot;   /* may be NULL after a restart */
    struct journal *journal;
    struct journal_entry *entry; /* the methods add what they must remember, and write it before each step */
    struct child *child;         /* of the method "process": the child that whirr started; NULL: none */
    const _Atomic bool *ending;  /* the guard is to end: nothing new is begun, requests are broken off; NULL: never */
    const _Atomic bool *abandon; /* it has waited long enough: what is under way is left alone; NULL: never */
};

enum method_found { METHOD_FOUND_UNKNOWN, METHOD_FOUND_RUNNING, METHOD_FOUND_EVICTED };

struct method;

struct method_ops {
    const char *name; /* NULL: rows of a table share it */
    const char *what; /* one line for the documentation */
    /* Is work in flight? 1, 0, or -errno when it cannot be told. NULL: the method itself waits, or there is no way to know. */
    int (*busy)(const struct method *method, struct method_context *c, struct error *err);
    int (*evict)(const struct method *method, struct method_context *c, struct error *err);
    int (*resume)(const struct method *method, struct method_context *c, struct error *err);
    /* After a restart: in which state is the worker? */
    enum method_found (*find)(const struct method *method, struct method_context *c, struct error *err);
};

/* A method as a worker uses it. */
struct method {
    const char *name;
    const struct method_ops *ops;
    const struct server_row *row; /* of the HTTP methods; NULL otherwise */
};

/* A request to a server; path NULL or "": none. In path and body "{id}" stands for an item of the list, "{name}" and "{extra}" for
 * what loads it again. */
struct server_request {
    const char *method, *path, *body; /* method NULL or "": POST */
};

/* How a server gives memory back over HTTP: a row of servers.def, or one that a user described. What is left out is NULL or "". */
struct server_row {
    const char *name;
    const char *what;                 /* one line for the documentation */
    struct server_request list;       /* what is loaded */
    const char *items, *id, *only;    /* path to the items in its answer, key of an item's id, filter */
    const char *name_key, *extra_key; /* by which name an item is loaded again, and with which settings; "^": of the object that
                                         holds the list */
    struct server_request busy;       /* shows work in flight; none: the server itself waits, or there is no way to know */
    const char *busy_key;
    const char *busy_only; /* filter of the items that may be asked: a look at others would wake or load them; none: `only` */
    const char *busy_at;   /* key of an item's own URL on this host, asked instead of the server */
    struct server_request before; /* once before unloading */
    struct server_request unload;
    struct server_request reload; /* none: the next request of a client loads again */
    struct server_request after;  /* once after reloading */
    struct server_request asleep; /* shows that it has been unloaded */
    const char *asleep_key;
    bool dies_when_busy; /* never unloaded while work is in flight, however long that takes, and never loaded while it holds its
                            memory */
    int64_t settle_ms;   /* how long after its yes the memory may still be held; 0: 5000 */
};

const struct server_row *server_row_find(const char *name);
const struct server_row *server_row_at(size_t i); /* NULL behind the last */

extern const struct method_ops method_checkpoint, method_command, method_http, method_process, method_signal;

/* -EINVAL with the known names. */
int method_resolve(const char *name, struct method *ret, struct error *err);

int method_busy(const struct method *method, struct method_context *c, struct error *err); /* 1, 0, -errno */
int method_evict(const struct method *method, struct method_context *c, struct error *err);
int method_resume(const struct method *method, struct method_context *c, struct error *err);
enum method_found method_find_state(const struct method *method, struct method_context *c, struct error *err);

/* Is the guard to end? */
bool method_is_ending(const struct method_context *c);
/* Writes the entry with this step before it is done. */
int method_note(struct method_context *c, const char *step, struct error *err);

/* Memory that must be free before a process that held `bytes` is restored. A restore that lacks memory can never be repeated. */
int64_t checkpoint_restore_bytes(int64_t bytes);

/* A worker that whirr started. */
struct child {
    const char *const *argv;
    int32_t pid; /* 0: does not run */
    int64_t start_key;
    int64_t stop_timeout_ms; /* between asking it to end and killing it; 0: 10000 */
    bool adopted;            /* started by an earlier guard: found again, but not a child of this one */
};

/* Starts it in a process group of its own, with this program's terminal and environment. */
int child_start(const struct env *env, struct child *child, struct error *err);
/* Asks the group to end, then kills what is left. */
int child_stop(const struct env *env, struct child *child, struct error *err);
/* Has it ended by itself? Its exit status goes to *status (may be NULL). */
bool child_ended(const struct env *env, struct child *child, int *status);
