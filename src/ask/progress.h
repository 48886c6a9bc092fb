/* SPDX-License-Identifier: Apache-2.0
 * What takes longer than two seconds says so: a line on stderr, if that is a terminal, redrawn by a thread of its own, so that it
 * moves whatever the work waits for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* `what` is a present participle: "copying". NULL where nothing is shown, which the others take, too. */
struct progress *progress_begin(const char *what);
/* `part`: what of it, a text that stays; or NULL. permille -1: unknown. `count` things of `unit` are done; unit NULL: nothing. */
void progress_set(struct progress *p, const char *part, int64_t permille, int64_t count, const char *unit);
/* Clears the line. */
void progress_end(struct progress *p);

/* Becomes true with the first Ctrl-C (or SIGTERM, SIGHUP), for work that ends by itself; the second one kills. */
const _Atomic bool *progress_stop(void);
