/* SPDX-License-Identifier: Apache-2.0
 * `whirr db status`.
 */
#pragma once

#include "cli/command.h"
#include "config/config.h"

/* "12 KiB", and from a MiB on as everywhere. */
void db_bytes(char text[NUMBER_SIZE], const struct page *page, int64_t bytes);
/* Prints it. */
int db_status(struct cli *cli, const struct config *config, const char *url, struct error *err);
