/* SPDX-License-Identifier: Apache-2.0
 * A condition as a tree: shared by the files of the expression language. Private to alert/.
 */
#pragma once

#include "alert/expr/expr.h"

enum expr_op {
    OP_NUMBER,
    OP_TEXT,
    OP_BOOL,
    OP_NAME,
    OP_OR,
    OP_AND,
    OP_NOT,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_MORE,
    OP_MORE_EQUAL,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_CONTAINS,
    OP_MATCHES,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_NEGATE,
    OP_ABS,
    OP_MIN,
    OP_MAX,
    OP_KNOWN,
};

struct expr_node {
    enum expr_op op;
    enum value_type type; /* of the result */
    struct unit unit;     /* of a number */
    double scale[2];      /* factors that convert the operands to one unit */
    uint16_t child[2];
    bool truth;
    double number;
    struct str text; /* a literal, pointing into the copied text */
    struct alert_name name;
    size_t at, len; /* position in the text, for messages */
};

struct expr {
    char *text;
    size_t count;
    uint16_t root;
    enum alert_scope scope;
    struct expr_node nodes[];
};

/* Sets the position (in characters, from 1) and the message. Returns -EINVAL. */
int expr_fail(struct str text, size_t at, size_t len, struct expr_error *err, const char *format, ...)
    __attribute__((format(gnu_printf, 5, 6)));
bool glob_matches(struct str pattern, struct str text); /* supports '*' and '?', ignores case */
