/* SPDX-License-Identifier: Apache-2.0
 * Log entries for the journal in its own protocol, so that their fields can be searched: `journalctl WHIRR_GPU=0`.
 */
#pragma once

#include "base/log.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Another socket than the usual one, for tests. NULL: the usual one. */
void log_journal_socket(const char *path);
/* False: the journal cannot be reached; the entry has to go elsewhere. `text` is the message with its fields, for people. */
bool log_journal(enum log_level level, const char *text, const char *message, const struct log_field *fields);
