/* SPDX-License-Identifier: Apache-2.0
 * Where the daemon keeps its things, and where commands look for it: one rule for both.
 *
 *                a service of the system              root                     any user
 *   state        $STATE_DIRECTORY (/var/lib/whirr)    /var/lib/whirr           ~/.local/state/whirr
 *   socket       $RUNTIME_DIRECTORY (/run/whirr)      /run/whirr/whirr.sock    $XDG_RUNTIME_DIR/whirr.sock
 *
 * An $XDG_STATE_HOME that is set goes before the last two. So does, for root, an $XDG_RUNTIME_DIR other than that of a login
 * (/run/user/...): a caller that sets one wants a separate place. WHIRR_SYSTEM_ROOT, where it is set, stands before /var/lib and
 * /run.
 *
 * Commands that look ask the daemon of that place, else the system's. Commands that act never go on to the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { PLACE_SIZE = 4096, STORE_PLACE_SIZE = PLACE_SIZE + 128 };

/* The directory for databases, tokens and journals; created if missing. */
int place_state(char path[PLACE_SIZE], struct error *err);
int place_state_find(char path[PLACE_SIZE], struct error *err); /* the same, but creates nothing */
/* Results of checks: of the whole host, which root writes and all read, and of this user. */
int place_checks(bool system, char path[PLACE_SIZE], struct error *err);
int place_tokens(char path[PLACE_SIZE], struct error *err);
/* Lock file of the daemon that uses the directory. */
int place_lock(char path[PLACE_SIZE], struct error *err);
/* The URL of a history database as people write it (--store, store.url): "sqlite:PATH", "postgresql://...", a file; "auto": the
 * one in the state directory. -ENOENT: "none", no history. */
int store_place(const char *given, char url[STORE_PLACE_SIZE], struct error *err);
/* The URL for display: a file's path, a server without its password. */
void store_place_text(const char *url, char *text, size_t size);
/* Where the daemon keeps its history, and where it did before: a changed store.url starts a new one and leaves the old one
 * behind, unseen. Both in store_place_text() form; "": unknown or none. */
struct history_memory {
    char now[STORE_PLACE_SIZE], before[STORE_PLACE_SIZE];
    /* The name under which this host is stored, the one before, for as long as it may still have to be replaced, and the machine:
     * a copy of it with this directory is another host. */
    char host[256], was[256], machine[64];
};
void history_recall(struct history_memory *ret);
/* Records the current place, name and machine; *ret gets the previous state. True: the place changed. */
bool history_note(const char *place, const char *host, const char *machine, struct history_memory *ret);
/* The state directory of the system's daemon: its owner is the daemon's user. */
bool place_system_state(char path[PLACE_SIZE]);
/* The socket of the system's daemon. */
bool place_system_socket(char path[PLACE_SIZE]);
/* Where the daemon listens; false: this user has no such place. `configured` is server.socket. */
bool place_socket(const char *configured, char path[PLACE_SIZE]);
/* The daemon that a command may act on: always that of place_socket(). Creates nothing; false: this user has none. */
bool place_to_act(const char *configured, char path[PLACE_SIZE]);
/* Where commands look for a daemon: the n-th candidate, false after the last. */
bool place_of_daemon(const char *configured, int n, char path[PLACE_SIZE]);
/* Directory for sockets of foreground guards; created if missing. */
int place_runtime(char path[PLACE_SIZE], struct error *err);
/* Where the settings of simulated GPUs are, and the journal of their changes: this user's, gone after a reboot. */
int place_simulated(bool make, char path[PLACE_SIZE], struct error *err);
/* In place of lease.dir: the journal of changed settings is that of simulated GPUs. */
#define PLACE_OF_SIMULATED "simulated"
/* Opens this user's own directory of leases, or -errno. `configured` is lease.dir; "auto": in the runtime directory. `make`: create
 * it if missing, else -ENOENT. -EPERM: it is another user's; the error says what to do. */
int place_leases(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* Opens the journal of changed settings: /var/lib/whirr-control, or beside a configured lease directory. Only the user who
 * changes settings (root) has access: the daemon's user owns the lease directory and could remove files there, and others could
 * hold a lock that they can open. */
int place_settings(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* Copies of the journal for all users to read. */
int place_settings_shown(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* The same two for leases of GPUs, of which the service whirr-control decides for all users. */
int place_service_leases(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
int place_service_shown(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* The directory that all users could write in earlier versions, or -errno. */
int place_earlier_leases(const char *configured, char path[PLACE_SIZE]);
/* A path as typed, with "~/" expanded to the home directory. */
void place_typed(char *path, size_t size, const char *typed);
