/* SPDX-License-Identifier: Apache-2.0
 * Evaluation: an absent value makes only the results unknown that depend on it.
 */
#include <math.h>

#include "alert/expr/node.h"

static const struct value unknown = {.type = VALUE_UNKNOWN};

static struct value eval(const struct expr *e, uint16_t i, const struct subject *s);

static struct value truth_value(enum truth t)
{
    return t == TRUTH_UNKNOWN ? unknown : (struct value){.type = VALUE_BOOL, .truth = t == TRUTH_TRUE};
}

static enum truth truth_of(struct value v)
{
    return v.type != VALUE_BOOL ? TRUTH_UNKNOWN : v.truth ? TRUTH_TRUE : TRUTH_FALSE;
}

static struct value finite_number(double n)
{
    return isfinite(n) ? (struct value){.type = VALUE_NUMBER, .number = n} : unknown;
}

/* Readings are integers times a scale: 3 permille become 0.30000000000000004%, which must not exceed 0.3%. */
static bool nearly(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static struct value eval_number(const struct expr_node *n, double a, double b)
{
    switch (n->op) {
    case OP_ADD: return finite_number(a + b);
    case OP_SUBTRACT: return finite_number(a - b);
    case OP_MULTIPLY: return finite_number(a * b);
    case OP_DIVIDE: return b == 0 ? unknown : finite_number(a / b);
    case OP_MIN: return finite_number(fmin(a, b));
    case OP_MAX: return finite_number(fmax(a, b));
    case OP_LESS: return truth_value(a < b && !nearly(a, b));
    case OP_LESS_EQUAL: return truth_value(a <= b || nearly(a, b));
    case OP_MORE: return truth_value(a > b && !nearly(a, b));
    case OP_MORE_EQUAL: return truth_value(a >= b || nearly(a, b));
    case OP_EQUAL: return truth_value(nearly(a, b));
    case OP_UNEQUAL: return truth_value(!nearly(a, b));
    default: return unknown;
    }
}

/* Ignores case: "Lost" and "lost" are the same state. */
static bool same_text(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        char x = a.at[i], y = b.at[i];
        x = x >= 'A' && x <= 'Z' ? (char)(x | 0x20) : x;
        y = y >= 'A' && y <= 'Z' ? (char)(y | 0x20) : y;
        if (x != y)
            return false;
    }
    return true;
}

static bool holds_text(struct str text, struct str part)
{
    for (size_t i = 0; part.len <= text.len && i <= text.len - part.len; i++)
        if (same_text((struct str){text.at + i, part.len}, part))
            return true;
    return false;
}

static struct value eval_text(const struct expr_node *n, struct value a, struct value b)
{
    switch (n->op) {
    case OP_EQUAL: return truth_value(same_text(a.text, b.text));
    case OP_UNEQUAL: return truth_value(!same_text(a.text, b.text));
    case OP_CONTAINS: return truth_value(holds_text(a.text, b.text));
    case OP_MATCHES: return truth_value(glob_matches(b.text, a.text));
    default: return unknown;
    }
}

/* Matches substrings of words, but finding codes only as a whole: "hot" is not in "memory_hot". */
static struct value eval_words(const struct expr *e, const struct expr_node *n, struct value a, struct value b)
{
    const struct alert_name *name = &e->nodes[n->child[0]].name;
    bool whole = name->kind == NAME_GPU_OTHER;
    const char *one;
    for (size_t i = 0; (one = name_word(name, i)); i++) {
        struct str word = str_from(one);
        bool fits = n->op == OP_MATCHES ? glob_matches(b.text, word) : whole ? same_text(word, b.text) : holds_text(word, b.text);
        if (a.words & WORD_BIT(i) && fits)
            return truth_value(TRUTH_TRUE);
    }
    return truth_value(TRUTH_FALSE);
}

static struct value eval_and_or(const struct expr *e, const struct expr_node *n, const struct subject *s)
{
    enum truth decides = n->op == OP_AND ? TRUTH_FALSE : TRUTH_TRUE;
    enum truth left = truth_of(eval(e, n->child[0], s));
    if (left == decides)
        return truth_value(left);
    enum truth right = truth_of(eval(e, n->child[1], s));
    if (right == decides)
        return truth_value(right);
    return left == TRUTH_UNKNOWN ? unknown : truth_value(right);
}

static struct value eval_both(const struct expr *e, const struct expr_node *n, const struct subject *s)
{
    struct value a = eval(e, n->child[0], s), b = eval(e, n->child[1], s);
    if (a.type == VALUE_UNKNOWN || b.type == VALUE_UNKNOWN)
        return unknown;
    switch (a.type) {
    case VALUE_NUMBER: return eval_number(n, a.number * n->scale[0], b.number * n->scale[1]);
    case VALUE_TEXT: return eval_text(n, a, b);
    case VALUE_WORDS: return eval_words(e, n, a, b);
    case VALUE_BOOL: return truth_value((a.truth == b.truth) == (n->op == OP_EQUAL));
    case VALUE_UNKNOWN: break;
    }
    return unknown;
}

static struct value eval(const struct expr *e, uint16_t i, const struct subject *s)
{
    const struct expr_node *n = &e->nodes[i];
    struct value v;
    switch (n->op) {
    case OP_NUMBER: return finite_number(n->number);
    case OP_TEXT: return (struct value){.type = VALUE_TEXT, .text = n->text};
    case OP_BOOL: return truth_value(n->truth);
    case OP_NAME: return name_read(&n->name, s);
    case OP_OR:
    case OP_AND: return eval_and_or(e, n, s);
    case OP_NOT: v = eval(e, n->child[0], s); return v.type == VALUE_BOOL ? truth_value(!v.truth) : unknown;
    case OP_NEGATE:
    case OP_ABS:
        v = eval(e, n->child[0], s);
        if (v.type == VALUE_NUMBER)
            v.number = n->op == OP_NEGATE ? -v.number : fabs(v.number);
        return v;
    case OP_KNOWN: return truth_value(eval(e, n->child[0], s).type != VALUE_UNKNOWN);
    default: return eval_both(e, n, s);
    }
}

enum truth expr_eval(const struct expr *e, const struct subject *subject)
{
    return truth_of(eval(e, e->root, subject));
}

enum alert_scope expr_scope(const struct expr *e)
{
    return e->scope;
}

const char *expr_text(const struct expr *e)
{
    return e->text;
}

const struct alert_name *expr_name(const struct expr *e, size_t position)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->nodes[i].op == OP_NAME && position-- == 0)
            return &e->nodes[i].name;
    return NULL;
}

/* ---- the number that decided ---- */

static const struct expr_node *first_name(const struct expr *e, uint16_t i)
{
    const struct expr_node *n = &e->nodes[i];
    if (n->op == OP_NAME)
        return n->type == VALUE_NUMBER ? n : NULL;
    if (n->op < OP_OR)
        return NULL;
    const struct expr_node *found = first_name(e, n->child[0]);
    bool one = n->op == OP_NOT || n->op == OP_NEGATE || n->op == OP_ABS || n->op == OP_KNOWN;
    return found || one ? found : first_name(e, n->child[1]);
}

/* The leftmost comparison whose result is `wanted`. */
static const struct expr_node *deciding(const struct expr *e, uint16_t i, const struct subject *s, enum truth wanted)
{
    const struct expr_node *n = &e->nodes[i];
    if (n->op == OP_NOT)
        return deciding(e, n->child[0], s, wanted == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE);
    if (n->op == OP_AND || n->op == OP_OR) {
        const struct expr_node *found = deciding(e, n->child[0], s, wanted);
        return found ? found : deciding(e, n->child[1], s, wanted);
    }
    if (n->op < OP_LESS || n->op > OP_MATCHES || truth_of(eval(e, i, s)) != wanted)
        return NULL;
    return first_name(e, i);
}

bool expr_value(const struct expr *e, const struct subject *subject, const struct alert_name **ret_name, double *ret)
{
    const struct expr_node *n = deciding(e, e->root, subject, TRUTH_TRUE);
    if (!n)
        n = deciding(e, e->root, subject, TRUTH_FALSE);
    if (!n)
        n = first_name(e, e->root);
    if (!n)
        return false;
    if (ret_name)
        *ret_name = &n->name;
    struct value v = name_read(&n->name, subject);
    *ret = v.number;
    return v.type == VALUE_NUMBER;
}
