/* SPDX-License-Identifier: Apache-2.0
 * The conditions of alert rules.
 *
 *   temperature_celsius > 85C and utilization_percent > 10
 *   memory_used_mb > 90% * memory_total_mb or vram_full_seconds < 10min
 *   process.memory_mb > 20GiB and not process.user == "alice"
 *   state == "lost" or throttle_reasons contains "thermal"
 *
 * Three-valued: a comparison with an absent value is unknown, `unknown and false` is false, `unknown or true` is true. The parser
 * checks types and units; evaluation cannot fail. Pure.
 */
#pragma once

#include "alert/expr/name.h"
#include "base/error.h"

enum {
    EXPR_TEXT_MAX = 1024, /* bytes */
    EXPR_NODES_MAX = 256,
    EXPR_DEPTH_MAX = 32, /* nested parentheses, `not` and signs */
};

enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN };

struct expr;

struct expr_error {
    int column; /* in characters, from 1 */
    int width;  /* of the faulty part, in characters */
    char text[256];
};

/* Copies the text. -EINVAL and the error if it is not a valid condition, -ENOMEM. */
int expr_parse(struct str text, struct expr **ret, struct expr_error *err);
void expr_free(struct expr *e); /* NULL is fine */

enum truth expr_eval(const struct expr *e, const struct subject *subject);
enum alert_scope expr_scope(const struct expr *e);
const char *expr_text(const struct expr *e);

/* The names it uses, in order; NULL after the last. */
const struct alert_name *expr_name(const struct expr *e, size_t position);

/* The number that decided: the first name in the first comparison that holds, or else that is known. False if there is no
 * number. */
bool expr_value(const struct expr *e, const struct subject *subject, const struct alert_name **ret_name, double *ret);

/* Prints the text and a line with a caret below it, both indented by `indent` blanks. Cuts long texts around the caret. */
void expr_caret(struct buf *out, struct str text, const struct expr_error *err, int indent);
