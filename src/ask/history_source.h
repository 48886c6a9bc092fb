/* SPDX-License-Identifier: Apache-2.0
 * Where a command gets answers about the past: from a running daemon over its Unix socket; otherwise, or with --store or --direct,
 * from the database itself, read-only.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"
#include "ask/client.h"
#include "config/config.h"
#include "past/history_answer.h"
#include "past/past_json.h"

/* Opens the history that a command is about: --store or the setting. -ENOENT: there is none yet, and what to do. */
int history_open(const struct cli *cli, const struct config *config, struct store **ret, struct error *err);
void history_own_host(const struct config *config, char out[HOST_NAME_SIZE]); /* the name of this host in it */

struct history_source;
int history_source_open(const struct cli *cli, const struct config *config, struct history_source **ret, struct error *err);
/* Opens the database at `url` even if a daemon is running. */
int history_source_open_store(const struct cli *cli, const struct config *config, const char *url, struct history_source **ret,
                              struct error *err);
void history_source_close(struct history_source *h); /* NULL is fine */

/* Writes the JSON document. */
int history_source_get(struct history_source *h, const struct history_question *q, struct buf *out, struct error *err);
/* Passes CSV or JSON lines on piece by piece; the callback returns 0 or -errno. -EPIPE: the reader closed the pipe. */
int history_source_download(struct history_source *h, const struct history_question *q, client_piece_fn *each, void *user,
                            struct error *err);
int history_write_piece(void *file, struct str piece); /* a callback that writes to a FILE */

/* ---- explanations and reports ---- */

/* Queries; release *ret with json_decref(). EXIT_FINE, or an exit status after printing a message. */
int past_fetch(struct cli *cli, struct past_question *q, json_t **ret);
/* Queries and prints text or JSON; returns the exit status. `by` selects one breakdown of a report; NULL: all. */
int past_show(struct cli *cli, struct past_question *q, const char *by);
