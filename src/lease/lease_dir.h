/* SPDX-License-Identifier: Apache-2.0
 * The directory that is both journal and list of leases. One file a lease, replaced whole; a lock beside them, held during a
 * decision; no process that must be there. What others left there, or half of a file, is named and passed over.
 *
 *   DIR/lock        flock: who decides
 *   DIR/ID.json     a lease; counts if its owner is the user whom it names
 *   DIR/.ID.new     being written
 *
 * Leases of settings are in a directory of their own, with the same files, that only root can open; copies of them, for all users
 * to see, are in another one. The list has both.
 *
 * A lease that is bound to a program lives as long as any process has its file open: the program inherits it. A lock of the file
 * tells (base/os/shared.h), so a PID that is used again says nothing, and other users can neither end nor keep it.
 */
#pragma once

#include "base/error.h"
#include "lease/lease.h"

enum { LEASES_MAX = 4096, LEASES_OF_USER_MAX = 1024, LEASE_PROBLEMS_MAX = 8, LEASE_LOCK_MS = 10000 };

struct lease_dir {
    int fd;        /* of the directory; -1: closed */
    int lock_fd;   /* -1: not held */
    bool own;      /* of this user alone: other users' leases are not seen here */
    bool settings; /* it is that of settings */
    int beside;    /* the one of settings, of which the list has those, too; -1: there is none */
    int shown;     /* of settings: where all users see them; -1: nowhere */
    char path[4096], shown_path[4096];
};

#define LEASE_DIR_CLOSED ((struct lease_dir){.fd = -1, .lock_fd = -1, .beside = -1, .shown = -1})

/* The directory of `lease.dir` in the settings ("auto": of the host, else of this user); made where that is possible. */
int lease_dir_open(struct lease_dir *d, const char *configured, struct error *err);
/* The one of settings; made where it is missing. */
int lease_dir_open_settings(struct lease_dir *d, const char *configured, struct error *err);
/* Only if it is there already: -ENOENT. For those who only show leases. */
int lease_dir_find(struct lease_dir *d, const char *configured, struct error *err);
void lease_dir_close(struct lease_dir *d);
#define AUTO_LEASE_DIR __attribute__((cleanup(lease_dir_close)))

/* No other process decides until lease_dir_unlock(). -EBUSY and who has it, after `within_ms`. */
int lease_dir_lock(struct lease_dir *d, int64_t within_ms, struct error *err);
void lease_dir_unlock(struct lease_dir *d);

struct lease_list {
    struct lease *at; /* in the order of tickets */
    size_t count, capacity;
    size_t ended_count;
    bool incomplete; /* more than LEASES_MAX: what is not listed may have been promised */
    int64_t next_ticket;
    size_t problem_count; /* files that do not count; more than there is room for are only counted */
    char problems[LEASE_PROBLEMS_MAX][192];
};
void lease_list_done(struct lease_list *l);
#define AUTO_LEASE_LIST __attribute__((cleanup(lease_list_done)))
/* NULL: none of this name. */
struct lease *lease_list_find(const struct lease_list *l, const char *id);

/* Whether one more, or this one of them, can be promised something; -ENOSPC, -EDQUOT: there are too many, with what to do. */
int lease_list_admits(const struct lease_list *list, const struct lease *l, struct error *err);

/* All leases as they are at that moment: those whose program is gone or whose time is over are LEASE_ENDED, with the reason. Their
 * files are still there. Without the lock it is a look that may be old at once. */
int lease_dir_list(const struct lease_dir *d, struct wall now, struct lease_list *ret, struct error *err);
/* When a lease last came, went or changed, or a little later: the clock of files is a tick behind. ms 0: not known. */
struct wall lease_dir_changed_at(const struct lease_dir *d);
/* With the lock: takes away files of leases that have ended and what was left half-written, as far as this user may. Settings stay:
 * their end is more than that of a file. */
void lease_dir_sweep(const struct lease_dir *d, const struct lease_list *list);

/* With the lock: writes a lease, to the disk. In two steps, so that a program can be made in between that shares the open file:
 * as long as one of both has it open, the lease lives. The descriptor is close-on-exec. */
int lease_dir_begin(const struct lease_dir *d, const char *id, int *ret_fd, struct error *err);
int lease_dir_commit(const struct lease_dir *d, const struct lease *l, int fd, struct error *err);
/* Gives up what was begun. */
void lease_dir_cancel(const struct lease_dir *d, const char *id, int fd);
/* Both, for a lease that is bound to no open file. */
int lease_dir_put(const struct lease_dir *d, const struct lease *l, struct error *err);
/* Of settings, with the lock: what all users see becomes what is listed. */
void lease_dir_show_all(const struct lease_dir *d, const struct lease_list *list);
/* -ENOENT: there is none. -EPERM: it is another user's. */
int lease_dir_remove(const struct lease_dir *d, const char *id, struct error *err);

/* Sleeps until the lease, as it was listed, is written anew or its program has gone; -EINTR after a signal. */
int lease_dir_await(const struct lease_dir *d, const struct lease *listed);
/* An inotify descriptor that becomes readable when the open file changes or is closed; -errno. */
int lease_file_watch(int fd);
/* An inotify descriptor that becomes readable when a lease came, went or changed, or when a decision was made; -errno. */
int lease_dir_watch(const struct lease_dir *d);
/* Reads what it has to say: true when it was about a lease. */
bool lease_dir_changed(int watch);
