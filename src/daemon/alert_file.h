/* SPDX-License-Identifier: Apache-2.0
 * The file in which alerts outlive a restart. It is written in a thread of its own: a disk that hangs does not stop the daemon.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct alert_file;

/* NULL: out of memory or threads. */
struct alert_file *alert_file_open(const char *path);
/* Appends what was kept. -ENOENT: nothing was. */
int alert_file_read(struct alert_file *f, struct buf *text, struct error *err);
/* The text could not be understood: it is moved out of the way. */
void alert_file_set_aside(struct alert_file *f);
/* Takes the text; the newest one wins. */
void alert_file_write(struct alert_file *f, struct buf *text);
/* Writes what is left, waits for it, and ends. NULL is fine. */
void alert_file_close(struct alert_file *f);
