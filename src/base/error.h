/* SPDX-License-Identifier: Apache-2.0
 * How functions fail: they return 0 or -errno, and write a sentence for people into the last parameter.
 */
#pragma once

/* Exit status of the program. */
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct error {
    int code;       /* 0 or -errno */
    char text[512]; /* a sentence without a full stop; may be empty */
};

/* Fills err (may be NULL) and returns code, so that a caller can write `return error_set(...)`. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));

/* Prepends "context: " to err's text; returns err's code. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
