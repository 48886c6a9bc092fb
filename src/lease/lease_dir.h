/* SPDX-License-Identifier: Apache-2.0
 * The directory that is both journal and list of leases: one file per lease, replaced atomically, and a lock held during decisions.
 * Foreign and partial files are reported and ignored.
 *
 *   DIR/lock        flock: held while deciding
 *   DIR/ID.json     a lease; counts if its owner is the user it names
 *   DIR/.ID.new     being written
 *
 * Where whirr-control is installed as a service, it decides for all users (lease_broker.h): it alone can open its directory, and
 * others read copies. Else each user has a directory of their own. Leases of settings are in a separate directory of the same
 * structure that only root can open, with copies, too. The list includes all of them.
 *
 * A lease bound to a program lives as long as any process has its file open: the program inherits it. A lock on the file shows that
 * (base/os/shared.h), so reused PIDs don't matter, and other users can neither end nor prolong it.
 */
#pragma once

#include "base/error.h"
#include "lease/lease.h"

enum { LEASES_MAX = 4096, LEASES_OF_USER_MAX = 1024, LEASE_PROBLEMS_MAX = 8, LEASE_PROBLEM_SIZE = 192, LEASE_LOCK_MS = 10000 };

struct lease_dir {
    int fd;        /* of the directory; -1: closed */
    int lock_fd;   /* -1: not held */
    bool own;      /* only this user's: other users' leases aren't visible */
    bool settings; /* the directory of settings */
    int beside;    /* the directory of settings, whose leases the list includes; -1: none */
    int simulated; /* the same for simulated GPUs */
    int shown;     /* of a journal: its public copies; -1: none */
    bool journal;  /* whirr-control's own, of the leases of all users */
    bool service;  /* whirr-control decides and writes: `fd` has its public copies */
    int second;    /* which the list includes, too: those copies, or with the service the own leases of before; -1: none */
    int link;      /* connection to the service, on which a lease has begun; -1: none */
    char path[4096], shown_path[4096];
};

#define LEASE_DIR_CLOSED \
    ((struct lease_dir){.fd = -1, .lock_fd = -1, .beside = -1, .simulated = -1, .shown = -1, .second = -1, .link = -1})

/* Opens where leases of this host are decided: by whirr-control if it runs, else in this user's own directory, which is created if
 * possible. */
int lease_dir_open(struct lease_dir *d, const char *configured, struct error *err);
/* For whirr-control: the journal of all users' leases of GPUs, locked until it is closed. -EBUSY: another process decides. */
int lease_dir_open_journal(struct lease_dir *d, const char *configured, struct error *err);
/* Opens the directory of settings, creating it if missing; with PLACE_OF_SIMULATED that of simulated GPUs. */
int lease_dir_open_settings(struct lease_dir *d, const char *configured, struct error *err);
/* Only if it exists: -ENOENT. For those who only show leases. */
int lease_dir_find(struct lease_dir *d, const char *configured, struct error *err);
void lease_dir_close(struct lease_dir *d);
#define AUTO_LEASE_DIR __attribute__((cleanup(lease_dir_close)))

/* Excludes decisions of other processes until lease_dir_unlock(). -EBUSY naming the holder, after `within_ms`. */
int lease_dir_lock(struct lease_dir *d, int64_t within_ms, struct error *err);
void lease_dir_unlock(struct lease_dir *d);

struct lease_list {
    struct lease *at; /* in ticket order */
    size_t count, capacity;
    size_t ended_count;
    bool incomplete; /* more than LEASES_MAX: unlisted ones may have promises */
    int64_t next_ticket;
    size_t problem_count; /* files that don't count; beyond the array they are only counted */
    char problems[LEASE_PROBLEMS_MAX][LEASE_PROBLEM_SIZE];
};
void lease_list_done(struct lease_list *l);
#define AUTO_LEASE_LIST __attribute__((cleanup(lease_list_done)))
/* NULL: not found. */
struct lease *lease_list_find(const struct lease_list *l, const char *id);

/* Whether another lease, or this one of them, can be promised something; -ENOSPC, -EDQUOT: too many, with what to do. */
int lease_list_admits(const struct lease_list *list, const struct lease *l, struct error *err);

/* All leases at that moment: those whose program is gone or whose time is over are LEASE_ENDED, with the reason. Their files
 * still exist. Without the lock, the result may be outdated at once. */
int lease_dir_list(const struct lease_dir *d, struct wall now, struct lease_list *ret, struct error *err);
/* When a lease was last added, removed or changed, or slightly later: file timestamps lag by a tick. ms 0: unknown. */
struct wall lease_dir_changed_at(const struct lease_dir *d);
/* With the lock: removes files of ended leases and partial files, as far as this user may. Keeps settings: ending them takes
 * more than removing a file. */
void lease_dir_sweep(const struct lease_dir *d, const struct lease_list *list);

/* With the lock: writes a lease to disk, or has whirr-control do so: -EAGAIN, its room is another's meanwhile; -EPIPE, begin again,
 * it was restarted. In two steps, so that a program created in between shares the open file: the lease lives as long as either has
 * it open. The descriptor is close-on-exec. */
int lease_dir_begin(struct lease_dir *d, const char *id, int *ret_fd, struct error *err);
int lease_dir_commit(struct lease_dir *d, struct lease *l, int fd, struct error *err);
/* Cancels what was started. */
void lease_dir_cancel(struct lease_dir *d, const char *id, int fd);
/* Both steps, for a lease not bound to an open file. */
int lease_dir_put(struct lease_dir *d, struct lease *l, struct error *err);
/* For settings, with the lock: updates the public copies to match the list. */
void lease_dir_show_all(const struct lease_dir *d, const struct lease_list *list);
/* Writes the public copy of one; losing it does no harm. */
void lease_dir_show(const struct lease_dir *d, struct lease *l);
/* -ENOENT: none. -EPERM: another user's. */
int lease_dir_remove(struct lease_dir *d, const char *id, struct error *err);

/* Sleeps until the listed lease is rewritten or its program is gone; -EINTR after a signal. */
int lease_dir_await(const struct lease_dir *d, const struct lease *listed);
/* An inotify descriptor, readable when the open file changes or is closed; -errno. */
int lease_file_watch(int fd);
/* An inotify descriptor, readable when a lease is added, removed or changed, or after a decision; -errno. */
int lease_dir_watch(const struct lease_dir *d);
/* For whirr-control: readable when a program has closed the descriptor of its lease, which only reads. */
int lease_journal_watch(const struct lease_dir *d);
/* Reads its events: true if one was about a lease. */
bool lease_dir_changed(int watch);
