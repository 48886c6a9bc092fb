/* SPDX-License-Identifier: Apache-2.0
 * The file that carries alerts across restarts. A thread writes it, so that a hanging disk does not stop the daemon.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct alert_file;

/* NULL: out of memory or threads. */
struct alert_file *alert_file_open(const char *path);
/* Appends the saved state. -ENOENT: there is none. */
int alert_file_read(struct alert_file *f, struct buf *text, struct error *err);
/* Moves a file aside that can't be parsed. */
void alert_file_set_aside(struct alert_file *f);
/* Takes ownership of the text; the newest one wins. */
void alert_file_write(struct alert_file *f, struct buf *text);
/* Writes what is left, waits for that, and ends. NULL is fine. */
void alert_file_close(struct alert_file *f);
