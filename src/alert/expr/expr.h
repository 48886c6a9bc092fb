/* SPDX-License-Identifier: Apache-2.0
 * The conditions of alert rules.
 *
 *   temperature_celsius > 85C and utilization_percent > 10
 *   memory_used_mb > 90% * memory_total_mb or vram_full_seconds < 10min
 *   process.memory_mb > 20GiB and not process.user == "alice"
 *   state == "lost" or throttle_reasons contains "thermal"
 *
 * Three-valued: a comparison with an absent value is unknown, `unknown and false` is false, `unknown or true` is true. Types and
 * units are checked when the text is read; evaluation cannot fail. Pure.
 */
#pragma once

#include "alert/expr/name.h"
#include "base/error.h"

enum {
    EXPR_TEXT_MAX = 1024, /* bytes */
    EXPR_NODES_MAX = 256,
    EXPR_DEPTH_MAX = 32, /* parentheses, `not` and signs inside each other */
};

enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN };

struct expr;

struct expr_error {
    int column; /* from 1, in characters */
    int width;  /* of what is wrong, in characters */
    char text[256];
};

/* -EINVAL and the error when the text is no condition, -ENOMEM. The text is copied. */
int expr_parse(struct str text, struct expr **ret, struct expr_error *err);
void expr_free(struct expr *e); /* NULL is fine */

enum truth expr_eval(const struct expr *e, const struct subject *subject);
enum alert_scope expr_scope(const struct expr *e);
const char *expr_text(const struct expr *e);

/* The names in it, in order; NULL behind the last. */
const struct alert_name *expr_name(const struct expr *e, size_t position);

/* The number that decided: of the first comparison that holds (else the first that is known), its first name. False when there is
 * no number. */
bool expr_value(const struct expr *e, const struct subject *subject, const struct alert_name **ret_name, double *ret);

/* The text on a line of its own, and a caret line below it. `indent` blanks in front. Long texts are cut around the place. */
void expr_caret(struct buf *out, struct str text, const struct expr_error *err, int indent);
