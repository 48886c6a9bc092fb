/* SPDX-License-Identifier: Apache-2.0
 * The history: every snapshot in a database, summed up to minutes and hours, cleaned up, and read back. This is the store itself,
 * used from one thread at a time; store/service/service.h runs it in a thread of its own.
 *
 *   snapshot ─▶ samples ──(a minute is over)──▶ minutes ──(an hour is over)──▶ hours        each level has its own retention
 *          └──▶ processes, process_minutes, energy, facts, events
 *
 * All that one call of store_write brings is one transaction: it is there wholly or not at all.
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
    const char *host; /* "": the name in the snapshots */
    struct store_limits limits;
};

/* Opens, and makes or migrates the tables. A damaged file is -EUCLEAN: see store_move_aside. */
int store_open(const struct store_options *options, struct store **ret, struct error *err);
/* For queries only: nothing is created, changed or cleaned. -ENOENT when there is no history yet. */
int store_open_read_only(const struct env *env, const char *url, struct store **ret, struct error *err);
bool store_is_server(const struct store *s);
/* How large the file was when it was opened; 0: a server. */
int64_t store_file_bytes(const struct store *s);
/* Another reader of the same database, for the time of the first. */
int store_open_again(const struct store *s, struct store **ret, struct error *err);
/* A reader learns what the writer has added since: columns, horizons. */
int store_refresh(struct store *s, struct error *err);
void store_close(struct store *s); /* NULL is fine */
/* Whatever reads is cut off when `cancel` becomes true (NULL: it never does): -ECANCELED, and when `until` has passed (ns 0:
 * never): -ETIME. A server is asked to stop, and given up when it does not within about a second. */
void store_set_cancel(struct store *s, const _Atomic bool *cancel, struct mono until);
void store_set_limits(struct store *s, const struct store_limits *limits);

/* Renames a damaged SQLite file (with its -wal and -shm) to PATH.damaged-TIME, so that a new one can be started. */
int store_move_aside(const char *url, struct wall now, char *moved_to, size_t size, struct error *err);

/* Something that happened, for the events table. */
struct store_event {
    struct wall at;
    int gpu_index;        /* -1: none; looked up in the last snapshot */
    const char *kind;     /* "alert", "health", "guard", "xid", "source", "daemon", ... */
    const char *severity; /* "info", "warning", "critical" */
    int64_t code;         /* 0: none */
    const char *text;     /* a sentence */
    const char *data;     /* JSON with more, or NULL */
};

/* Snapshots in the order in which they were taken, and events. On failure nothing of it is stored and it may be tried again. */
int store_write(struct store *s, const struct snapshot *const *snapshots, size_t snapshot_count, const struct store_event *events,
                size_t event_count, struct error *err);

/* The same for a database that can be lost sight of in the middle of a commit: the transaction leaves the run's last number behind,
 * and store_last_number tells later whether it was committed. A transaction of the same run that comes to its end although its
 * connection was given up is refused, when what it brings was written meanwhile. 0 when the run has written nothing. */
struct store_part {
    const struct snapshot *const *snapshots;
    size_t snapshot_count;
    const struct store_event *events;
    size_t event_count;
    int64_t run, first, last; /* run 0: not numbered */
};
int store_write_part(struct store *s, const struct store_part *part, struct error *err);
int store_last_number(struct store *s, const char *host, int64_t run, int64_t *ret, struct error *err);

/* One small step of cleaning up, in a transaction of its own. 1: there is more to do, 0: nothing now, -errno. `seen` is a clock
 * that cannot be set: rows are old by what was seen to pass, not by what the wall clock says alone. */
int store_clean(struct store *s, struct wall now, struct mono seen, struct error *err);

/* What the database keeps in memory only for speed is given back: pages that were read or written some time ago. */
void store_give_memory_back(struct store *s);

/* How the clock stands to what the database has seen of the time. */
struct store_clock {
    int64_t offset_ms; /* how far the clock is ahead; negative: behind */
    int64_t wait_ms;   /* for how long it has to go on like this to be believed; 0: it is */
    int64_t healed_ms; /* how far ahead of the clock the database was found to have been cleaned up, and was set right; 0: never */
};
void store_clock(const struct store *s, struct store_clock *ret);
/* 1: notably ahead, -1: behind, 0: neither. */
int store_clock_side(const struct store_clock *clock);

/* The file that is open is not the one at its path any more: it was removed or replaced. Of a server: false. */
bool store_file_is_gone(const struct store *s);

/* Space taken by what is stored (free pages not counted). */
int store_used_bytes(struct store *s, int64_t *ret, struct error *err);

/* Snapshots of times that no row can have (before 1970). Not stored. */
uint64_t store_rejected(const struct store *s);
