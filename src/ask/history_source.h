/* SPDX-License-Identifier: Apache-2.0
 * Where a command's answers about the past come from: a running daemon, asked over its Unix socket; else, or with --store or
 * --direct, the store itself, which is only read.
 */
#pragma once

#include "ask/cli.h"
#include "ask/client.h"
#include "config/config.h"
#include "past/history_answer.h"

/* What names the history database: --store, else the settings; for store_place(). */
const char *history_named(const struct cli *cli, const struct config *config);

struct history_source;
int history_source_open(const struct cli *cli, const struct config *config, struct history_source **ret, struct error *err);
/* The database at `url` itself, also where a daemon is running. */
int history_source_open_store(const struct cli *cli, const struct config *config, const char *url, struct history_source **ret,
                              struct error *err);
void history_source_close(struct history_source *h); /* NULL is fine */

/* The JSON document. */
int history_source_get(struct history_source *h, const struct history_question *q, struct buf *out, struct error *err);
/* CSV or JSON lines, piece by piece: what is called says 0 or -errno. -EPIPE: the reader has closed the pipe. */
int history_source_download(struct history_source *h, const struct history_question *q, client_piece_fn *each, void *user,
                            struct error *err);
int history_write_piece(void *file, struct str piece); /* for a FILE */
