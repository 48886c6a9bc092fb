/* SPDX-License-Identifier: Apache-2.0
 * The history: every snapshot in a database, summed up to minutes and hours, cleaned up, and read back. This is the store itself,
 * used by one thread at a time; store/service/service.h runs it in threads of its own.
 *
 *   snapshot ─▶ samples ──(a minute is over)──▶ minutes ──(an hour is over)──▶ hours        each level has its own retention
 *          └──▶ processes, process_minutes, energy, facts, events
 *
 * Each call of store_write is one transaction: all or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "model/snapshot.h"
#include "store/series.h"

struct store;

struct store_limits {
    int64_t raw_ms, minute_ms, hour_ms, process_ms, event_ms;
    int64_t max_bytes; /* 0: none */
};

extern const struct store_limits store_default_limits;

struct store_options {
    const struct env *env;
    const char *url;  /* "sqlite:PATH" or "postgresql://..." */
    const char *host; /* "": use the name in the snapshots */
    /* The name under which the same host wrote before; NULL, "": it had none. A host that is new here has the history of that one,
     * which is renamed. */
    const char *was;
    bool one_host;       /* a host whose name changes meanwhile is renamed, too */
    const char *machine; /* identifies the host in a server, whatever its name; NULL, "": unknown */
    struct store_limits limits;
};

/* Opens the database, and creates or migrates the tables. A damaged file is -EUCLEAN: see store_move_aside. */
int store_open(const struct store_options *options, struct store **ret, struct error *err);
/* For queries only: creates, changes and cleans nothing. -ENOENT if there is no history yet. */
int store_open_read_only(const struct env *env, const char *url, struct store **ret, struct error *err);
/* The name under which a server keeps a host: its own; while another machine writes under that, "NAME (ID 1a2b3c4d)". What was
 * written before belongs to the machine that asks first. */
int store_name_host(struct store *s, const char *name, const char *machine, char ret[HOST_NAME_SIZE], struct error *err);
/* Updates a reader with what the writer has added: columns, horizons. */
int store_refresh(struct store *s, struct error *err);
void store_close(struct store *s); /* NULL is allowed */
/* Interrupts reads when `cancel` becomes true (NULL: never): -ECANCELED, and when `until` has passed (ns 0: never): -ETIME. A
 * server is asked to cancel; if it doesn't within about a second, the connection is dropped. */
void store_set_cancel(struct store *s, const _Atomic bool *cancel, struct mono until);
void store_set_limits(struct store *s, const struct store_limits *limits);

/* Renames a damaged SQLite file (with its -wal and -shm) to PATH.damaged-TIME, so that a new one can be created. */
int store_move_aside(const char *url, struct wall now, char *moved_to, size_t size, struct error *err);

/* An entry for the events table. */
struct store_event {
    struct wall at;
    int gpu_index;        /* -1: none; refers to the last snapshot */
    const char *kind;     /* "alert", "health", "guard", "xid", "source", "daemon", ... */
    const char *severity; /* "info", "warning", "critical" */
    int64_t code;         /* 0: none */
    const char *text;     /* a sentence */
    const char *data;     /* JSON with details, or NULL */
};

/* Writes snapshots, in the order in which they were taken, and events. On failure nothing is stored and the call may be
 * repeated. */
int store_write(struct store *s, const struct snapshot *const *snapshots, size_t snapshot_count, const struct store_event *events,
                size_t event_count, struct error *err);

/* The same for a database whose connection may break during a commit: the transaction also stores the run's last number, and
 * store_last_number later tells whether it was committed; 0: the run has written nothing. If an abandoned connection still
 * finishes its transaction after its items were written by a retry, that transaction fails. */
struct store_part {
    const struct snapshot *const *snapshots;
    size_t snapshot_count;
    const struct store_event *events;
    size_t event_count;
    int64_t run, first, last; /* run 0: not numbered */
};
int store_write_part(struct store *s, const struct store_part *part, struct error *err);
int store_last_number(struct store *s, const char *host, int64_t run, int64_t *ret, struct error *err);

/* Runs one small cleanup step, in a transaction of its own. 1: there is more to do, 0: nothing now, -errno. `seen` is a clock
 * that cannot be set: the age of rows depends on the time seen to pass, not on the wall clock alone. */
int store_clean(struct store *s, struct wall now, struct mono seen, struct error *err);

/* Frees the database's caches: pages that were read or written some time ago. */
void store_trim_memory(struct store *s);

/* The clock compared with the time that the database has seen. */
struct store_clock {
    int64_t offset_ms; /* how far the clock is ahead; negative: behind */
    int64_t wait_ms;   /* how long it must stay like this to be believed; 0: it is believed */
    int64_t healed_ms; /* how far ahead of the clock a wrong horizon was, which has been repaired; 0: never */
};
void store_clock(const struct store *s, struct store_clock *ret);
/* 1: notably ahead, -1: behind, 0: neither. */
int store_clock_side(const struct store_clock *clock);

/* The file at its path is no longer the open one: it was removed or replaced. For a server: false. */
bool store_file_is_gone(const struct store *s);

/* Space in use, without free pages. */
int store_used_bytes(struct store *s, int64_t *ret, struct error *err);

/* Snapshots with times that no row can have (before 1970), which were not stored. */
uint64_t store_rejected(const struct store *s);
