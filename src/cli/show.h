/* SPDX-License-Identifier: Apache-2.0
 * Showing an answer once, or again and again with --watch: drawn in place on a terminal, appended on a pipe.
 */
#pragma once

#include "ask/session.h"
#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"

enum { FRAME_MAX = 512 * 1024 * 1024 };

/* Writes one answer into `out`; is called again for each frame. JSON need not end its line. Returns 0 or -errno with a sentence. */
typedef int render_fn(struct cli *cli, struct session *session, struct buf *out, struct error *err);

/* Opens a session, shows what `render` writes, and returns the exit status. */
int show(struct cli *cli, render_fn *render);

/* The same without a session: `render` gets none. */
int show_without_session(struct cli *cli, render_fn *render);

/* Pretty for one answer, one line for each with --watch. */
/* `status` in one line: --line, or --format, which is one of it. */
bool show_is_line(const struct cli *cli);
struct json_writer show_json(const struct cli *cli, struct buf *out);
