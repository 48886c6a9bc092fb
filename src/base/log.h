/* SPDX-License-Identifier: Apache-2.0
 * Structured log lines: a sentence for people and fields for machines. Only the outer layers log; libraries return errors.
 *
 *     log_warn("no GPU source", LOG_TEXT("reason", why), LOG_INT("count", 0));
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_NONE /* only as a threshold: log nothing */ };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL };

struct log_field {
    const char *key;  /* NULL ends the list */
    const char *text; /* NULL: use the number */
    int64_t number;
};

#define LOG_TEXT(k, t) ((struct log_field){.key = (k), .text = (t) ? (t) : ""})
#define LOG_INT(k, n) ((struct log_field){.key = (k), .number = (n)})

/* Process-wide, set once at start (and the level again on reload). */
void log_setup(enum log_level least, enum log_format format, FILE *to);
void log_set_level(enum log_level least);
bool log_format_from_name(const char *name, enum log_format *ret);

/* Libraries don't log: they pass messages to a callback. `say` may be NULL. */
typedef void log_fn(void *user, enum log_level level, const char *message);
/* A log_fn that writes to this log; ignores `user`. */
log_fn log_plainly;
void log_through(log_fn *say, void *user, enum log_level level, const char *format, ...) __attribute__((format(gnu_printf, 4, 5)));

/* Rate-limits repeated lines and adds how many were dropped (left_out); debug lines always pass. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

#define LOG_AT_(level, message, ...) log_write(level, message, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
#define log_debug(message, ...) LOG_AT_(LOG_DEBUG, message, __VA_ARGS__)
#define log_info(message, ...) LOG_AT_(LOG_INFO, message, __VA_ARGS__)
#define log_warn(message, ...) LOG_AT_(LOG_WARNING, message, __VA_ARGS__)
#define log_error(message, ...) LOG_AT_(LOG_ERROR, message, __VA_ARGS__)

/* ---- Journal entries in the native protocol, so that fields are searchable: `journalctl WHIRR_GPU=0`. */

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Overrides the journal socket, for tests. NULL: the default. */
void log_journal_socket(const char *path);
/* False: the journal is unreachable and the caller must log elsewhere. `text` is the message with its fields, for people. */
bool log_journal(enum log_level level, const char *text, const char *message, const struct log_field *fields);
