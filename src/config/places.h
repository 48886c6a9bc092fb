/* SPDX-License-Identifier: Apache-2.0
 * Where the daemon keeps its things, and where commands look for it: one rule for both.
 *
 *                a service of the system              root                     anybody else
 *   state        $STATE_DIRECTORY (/var/lib/whirr)    /var/lib/whirr           ~/.local/state/whirr
 *   socket       $RUNTIME_DIRECTORY (/run/whirr)      /run/whirr/whirr.sock    $XDG_RUNTIME_DIR/whirr.sock
 *
 * An $XDG_STATE_HOME that is set goes before the last two. WHIRR_SYSTEM_ROOT, where it is set, stands before /var/lib and /run.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "config/config.h"

enum { PLACE_SIZE = 4096, PLACE_STORE_SIZE = PLACE_SIZE + 32 };

/* The folder for databases, tokens and journals; made when it is missing. */
int place_state(char path[PLACE_SIZE], struct error *err);
int place_tokens(char path[PLACE_SIZE], struct error *err);
/* Where the daemon listens; false: this user has no place for it. `configured` is server.socket. */
bool place_socket(const char *configured, char path[PLACE_SIZE]);
/* Where commands look for a daemon: the n-th place, false behind the last. */
bool place_of_daemon(const char *configured, int n, char path[PLACE_SIZE]);
/* Folder for the sockets of guards in the foreground; made when it is missing. */
int place_runtime(char path[PLACE_SIZE], struct error *err);
/* The URL of the history database: store.url, or where it lies by default; "" where none is kept. */
void place_store(const struct config *config, char url[PLACE_STORE_SIZE]);
