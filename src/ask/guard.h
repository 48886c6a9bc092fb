/* SPDX-License-Identifier: Apache-2.0
 * Asks every guard of this user: the daemon's, and those in the foreground.
 */
#pragma once

#include <jansson.h>

#include "ask/cli.h"

/* The answers' workers in one array, which the caller drops. *asked: how many guards answered; *problem: what the last one that
 * refused said ("" none). `body` may be NULL. */
json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size);
