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

/* The folder for databases, tokens and journals; made when it is missing. */
int place_state(char path[PLACE_SIZE], struct error *err);
int place_state_find(char path[PLACE_SIZE], struct error *err); /* the same, and makes nothing */
int place_tokens(char path[PLACE_SIZE], struct error *err);
/* Held by the daemon that uses the folder. */
int place_lock(char path[PLACE_SIZE], struct error *err);
/* The URL of a history database from what a person writes for it (--store, store.url): "sqlite:PATH", "postgresql://...", a file;
 * "auto": the one in the state folder. -ENOENT: "none" is kept. */
int store_place(const char *given, char url[STORE_PLACE_SIZE], struct error *err);
/* The same to be shown: the path of a file, a server without its password. */
void store_place_text(const char *url, char *text, size_t size);
/* Where the daemon of this place has kept its history, and where it was before that: another store.url begins a new one, and the
 * old one stays where it is, unseen. Each as store_place_text() has it; "": not known, or nowhere. */
struct history_memory {
    char now[STORE_PLACE_SIZE], before[STORE_PLACE_SIZE];
};
void history_recall(struct history_memory *ret);
/* The daemon keeps it there from now on; *ret says what was before. True: it was elsewhere until now. */
bool history_note(const char *place, struct history_memory *ret);
/* The socket of the system's daemon. */
bool place_system_socket(char path[PLACE_SIZE]);
/* Where the daemon listens; false: this user has no place for it. `configured` is server.socket. */
bool place_socket(const char *configured, char path[PLACE_SIZE]);
/* The one place of the daemon that a command may act on: that of place_socket(). Makes nothing; false: this user has none. */
bool place_to_act(const char *configured, char path[PLACE_SIZE]);
/* Where commands look for a daemon: the n-th place, false behind the last. */
bool place_of_daemon(const char *configured, int n, char path[PLACE_SIZE]);
/* Folder for the sockets of guards in the foreground; made when it is missing. */
int place_runtime(char path[PLACE_SIZE], struct error *err);
/* The directory of leases, opened, or -errno. `configured` is lease.dir; "auto": that of the host (packages make
 * /var/lib/whirr-leases, else root's first command /run/lock/whirr-leases), which all users may write, or, where there is none, one
 * of this user alone (*own). `make`: when it is missing; else -ENOENT. -EPERM: another user made it, with what to do. */
int place_leases(const char *configured, bool make, char path[PLACE_SIZE], bool *own, struct error *err);
/* Where changed settings are written down, opened: /var/lib/whirr-control, or beside a directory of leases that is named. Of who
 * changes them (root) alone, closed to all others: the directory of leases belongs to the daemon's user, who could take files away
 * there, and a lock that others can open is one that they can keep. */
int place_settings(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* Copies of them for all users to read. */
int place_settings_shown(const char *configured, bool make, char path[PLACE_SIZE], struct error *err);
/* A path as people type it: "~/" is their home. */
void place_typed(char *path, size_t size, const char *typed);
