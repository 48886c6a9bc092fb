/* SPDX-License-Identifier: Apache-2.0
 * Parses text into a checked tree by recursive descent. Types and units are checked as soon as both sides are known.
 *
 *   or ─▶ and ─▶ not ─▶ comparison ─▶ sum ─▶ product ─▶ sign ─▶ number, "text", name, function(...), (or)
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/expr/node.h"
#include "base/cleanup.h"
#include "base/words.h"

/* ---- tokens ---- */

enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_TEXT,
    TOKEN_NAME,
    TOKEN_OPERATOR, /* see op */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
};

struct token {
    enum token_kind kind;
    enum expr_op op;
    double number;
    struct unit unit;
    struct str text; /* of a name or literal, without quotes */
    size_t at, len;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static struct str from(struct str text, size_t at)
{
    return (struct str){text.at + at, text.len - at};
}

/* Characters before byte `end`; each invalid UTF-8 byte counts as one. */
static int characters(struct str text, size_t end)
{
    int count = 0;
    for (size_t i = 0; i < end && i < text.len; count++) {
        size_t n = str_utf8(from(text, i));
        i += n ? n : 1;
    }
    return count;
}

int expr_fail(struct str text, size_t at, size_t len, struct expr_error *err, const char *format, ...)
{
    va_list args;
    if (!err)
        return -EINVAL;
    err->column = characters(text, at) + 1;
    int width = characters(text, at + len) + 1 - err->column;
    err->width = width > 0 ? width : 1;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return -EINVAL;
}

/* "20GiB", "85 C", "1h30m", "1e3". A blank before the unit is allowed. */
static int token_read_number(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    double total = 0;
    size_t end = at;
    t->unit = UNIT_PLAIN;
    for (bool more = true; more;) {
        size_t begin = end, unit_at, len;
        double number;
        struct unit unit;
        while (end < text.len && (is_digit(text.at[end]) || text.at[end] == '.'))
            end++;
        if (end < text.len && (text.at[end] == 'e' || text.at[end] == 'E')) {
            size_t digits = end + 1;
            if (digits < text.len && (text.at[digits] == '+' || text.at[digits] == '-'))
                digits++;
            if (digits < text.len && is_digit(text.at[digits]))
                for (end = digits; end < text.len && is_digit(text.at[end]);)
                    end++;
        }
        if (!str_to_double((struct str){text.at + begin, end - begin}, &number))
            return expr_fail(text, begin, end - begin, err, "'" STR_FMT "' is not a number", (int)(end - begin), text.at + begin);
        for (unit_at = end; unit_at < text.len && text.at[unit_at] == ' ';)
            unit_at++;
        len = unit_parse(from(text, unit_at), &unit);
        /* "5 and x": a word that merely begins like a unit isn't one. */
        size_t behind = unit_at + len;
        bool whole = len && (behind >= text.len || !is_letter(text.at[behind]));
        if (whole && behind < text.len && is_digit(text.at[behind]) && !unit_is_time(unit))
            whole = false;
        if (!whole) {
            if (end < text.len && (is_letter(text.at[end]) || (unsigned char)text.at[end] >= 0x80)) {
                size_t stop = end;
                while (stop < text.len && (is_letter(text.at[stop]) || is_digit(text.at[stop])))
                    stop++;
                return expr_fail(text, end, MAX_OF(stop - end, 1), err,
                                 "unknown unit; B, KiB, MiB, GiB, C, W, %%, ms, s, m, h, d, MHz and rpm are known");
            }
            if (!t->unit.plain)
                return expr_fail(text, begin, end - begin, err, "a unit is missing behind this number");
            total = number;
            break;
        }
        end = behind;
        if (!t->unit.plain && !unit_is_time(unit))
            return expr_fail(text, unit_at, len, err, "only times can be combined, like 1h30m");
        total += t->unit.plain ? number : number * unit.factor / t->unit.factor;
        if (t->unit.plain)
            t->unit = unit;
        more = unit_is_time(unit) && end < text.len && is_digit(text.at[end]);
    }
    t->kind = TOKEN_NUMBER;
    t->number = total;
    t->len = end - at;
    return 0;
}

static int read_text(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    char quote = text.at[at];
    size_t end = at + 1;
    while (end < text.len && text.at[end] != quote)
        end++;
    if (end >= text.len)
        return expr_fail(text, at, 1, err, "the text that begins here does not end");
    t->kind = TOKEN_TEXT;
    t->text = (struct str){text.at + at + 1, end - at - 1};
    t->len = end + 1 - at;
    return 0;
}

static void read_name(struct str text, size_t at, struct token *t)
{
    static const struct {
        const char *word;
        enum expr_op op;
    } words[] = {{"and", OP_AND}, {"or", OP_OR}, {"not", OP_NOT}, {"contains", OP_CONTAINS}, {"matches", OP_MATCHES}};
    size_t end = at;
    while (end < text.len && (is_letter(text.at[end]) || is_digit(text.at[end]) || (text.at[end] == '.' && end > at)))
        end++;
    t->kind = TOKEN_NAME;
    t->text = (struct str){text.at + at, end - at};
    t->len = end - at;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is_any_case(t->text, words[i].word)) {
            t->kind = TOKEN_OPERATOR;
            t->op = words[i].op;
        }
}

static bool read_symbol(struct str rest, struct token *t)
{
    /* Longer operators first. */
    static const struct {
        const char *text;
        enum token_kind kind;
        enum expr_op op;
    } symbols[] = {
        {"<=", TOKEN_OPERATOR, OP_LESS_EQUAL}, {">=", TOKEN_OPERATOR, OP_MORE_EQUAL}, {"==", TOKEN_OPERATOR, OP_EQUAL},
        {"!=", TOKEN_OPERATOR, OP_UNEQUAL},    {"&&", TOKEN_OPERATOR, OP_AND},        {"||", TOKEN_OPERATOR, OP_OR},
        {"<", TOKEN_OPERATOR, OP_LESS},        {">", TOKEN_OPERATOR, OP_MORE},        {"!", TOKEN_OPERATOR, OP_NOT},
        {"+", TOKEN_OPERATOR, OP_ADD},         {"-", TOKEN_OPERATOR, OP_SUBTRACT},    {"*", TOKEN_OPERATOR, OP_MULTIPLY},
        {"/", TOKEN_OPERATOR, OP_DIVIDE},      {"(", TOKEN_OPEN, OP_NUMBER},          {")", TOKEN_CLOSE, OP_NUMBER},
        {",", TOKEN_COMMA, OP_NUMBER},
    };
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++)
        if (str_starts(rest, symbols[i].text)) {
            t->kind = symbols[i].kind;
            t->op = symbols[i].op;
            t->len = strlen(symbols[i].text);
            return true;
        }
    return false;
}

/* Reads the token at `at`. -EINVAL and the error if there is none. */
static int expr_token(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t' || text.at[at] == '\n' || text.at[at] == '\r'))
        at++;
    *t = (struct token){.kind = TOKEN_END, .at = at};
    if (at >= text.len)
        return 0;
    char c = text.at[at];
    if (is_digit(c) || (c == '.' && at + 1 < text.len && is_digit(text.at[at + 1])))
        return token_read_number(text, at, t, err);
    if (c == '"' || c == '\'')
        return read_text(text, at, t, err);
    if (is_letter(c)) {
        read_name(text, at, t);
        return 0;
    }
    if (read_symbol(from(text, at), t))
        return 0;
    size_t len = str_utf8(from(text, at));
    if (c == '=')
        return expr_fail(text, at, 1, err, "to compare, write == instead of =");
    return expr_fail(text, at, MAX_OF(len, 1), err, "this character has no meaning here");
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool glob_matches(struct str pattern, struct str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.len && (pattern.at[p] == '?' || lower(pattern.at[p]) == lower(text.at[t]))) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

/* The longest part of a line that is shown. */
enum { CARET_LINE = 100 };

void expr_caret(struct buf *out, struct str text, const struct expr_error *err, int indent)
{
    int first = 0, total = characters(text, text.len);
    if (total > CARET_LINE && err->column > CARET_LINE / 2)
        first = err->column - CARET_LINE / 2;
    buf_printf(out, "%*s", indent, "");
    int shown = 0, position = 0;
    for (size_t i = 0; i < text.len && shown < CARET_LINE; position++) {
        size_t n = str_utf8(from(text, i));
        bool odd = n == 0 || (n == 1 && (unsigned char)text.at[i] < 0x20);
        if (position >= first) {
            if (odd)
                buf_char(out, n == 0 ? '?' : ' ');
            else
                buf_add(out, text.at + i, n);
            shown++;
        }
        i += n ? n : 1;
    }
    int column = err->column - 1 - first, width = err->width;
    if (column + width > CARET_LINE)
        width = CARET_LINE - column;
    buf_printf(out, "\n%*s", indent + column, "");
    for (int i = 0; i < width || i == 0; i++)
        buf_char(out, '^');
    buf_char(out, '\n');
}

/* ---- the grammar ---- */

struct parser {
    struct str text;
    struct expr *expr;
    struct token token; /* the current one */
    struct expr_error *err;
    int depth;
    size_t end;       /* end of the previous token */
    bool text_wanted; /* the other operand is a text */
};

static int parse_or(struct parser *p, uint16_t *ret);

static int advance(struct parser *p)
{
    p->end = p->token.at + p->token.len;
    return expr_token(p->text, p->end, &p->token, p->err);
}

static struct expr_node *node(struct parser *p, uint16_t i)
{
    return &p->expr->nodes[i];
}

static int parse_add(struct parser *p, const struct expr_node *from, uint16_t *ret)
{
    if (p->expr->count == EXPR_NODES_MAX)
        return expr_fail(p->text, from->at, from->len, p->err, "the condition is too long: at most %d parts", EXPR_NODES_MAX);
    p->expr->nodes[p->expr->count] = *from;
    *ret = (uint16_t)p->expr->count++;
    return 0;
}

#define FAIL_AT(p, n, ...) expr_fail((p)->text, (n)->at, (n)->len, (p)->err, __VA_ARGS__)

static struct expr_node parse_join(struct parser *p, enum expr_op op, uint16_t left, uint16_t right)
{
    const struct expr_node *a = node(p, left), *b = node(p, right);
    return (struct expr_node){.op = op,
                              .type = VALUE_BOOL,
                              .child = {left, right},
                              .scale = {1, 1},
                              .at = a->at,
                              .len = b->at + b->len > a->at ? b->at + b->len - a->at : 1};
}

/* ---- type checks ---- */

static int want_bool(struct parser *p, uint16_t i)
{
    const struct expr_node *n = node(p, i);
    if (n->type == VALUE_BOOL)
        return 0;
    if (n->type == VALUE_WORDS)
        return FAIL_AT(p, n, "a condition was expected here, like " STR_FMT " contains \"...\"", (int)n->len, p->text.at + n->at);
    return FAIL_AT(p, n, "a condition was expected here: compare this with something");
}

static int want_number(struct parser *p, uint16_t i)
{
    const struct expr_node *n = node(p, i);
    if (n->type == VALUE_NUMBER)
        return 0;
    return FAIL_AT(p, n, "a number was expected here, this is %s", n->type == VALUE_BOOL ? "true or false" : "a text");
}

/* A typo in a word from a fixed set would make a rule that never fires. */
static int check_word(struct parser *p, const struct expr_node *name, const struct expr_node *literal, bool part)
{
    char word[64];
    const char *one;
    struct nearest n;
    if (name->op != OP_NAME || literal->op != OP_TEXT || !name_word(&name->name, 0))
        return 0;
    str_copy(word, sizeof word, literal->text);
    nearest_init(&n, word);
    for (size_t i = 0; (one = name_word(&name->name, i)); i++) {
        if (part ? str_contains(str_from(one), word) : str_is_any_case(literal->text, one))
            return 0;
        nearest_try(&n, one);
    }
    return FAIL_AT(p, literal, "%s is never \"%s\"; did you mean \"%s\"?", name->name.text, word, n.best);
}

static int check_units(struct parser *p, struct expr_node *n, const char *what)
{
    const struct expr_node *a = node(p, n->child[0]), *b = node(p, n->child[1]);
    if (!unit_same_kind(a->unit, b->unit))
        return FAIL_AT(p, b, "%s %s %s", unit_kind_name(b->unit), what, unit_kind_name(a->unit));
    n->unit = unit_join(a->unit, b->unit, &n->scale[0], &n->scale[1]);
    return 0;
}

static int check_comparison(struct parser *p, struct expr_node *n)
{
    const struct expr_node *a = node(p, n->child[0]), *b = node(p, n->child[1]);
    bool equality = n->op == OP_EQUAL || n->op == OP_UNEQUAL;
    if (n->op == OP_CONTAINS || n->op == OP_MATCHES) {
        if (a->type != VALUE_TEXT && a->type != VALUE_WORDS)
            return FAIL_AT(p, a, "a text was expected on the left of '%s'", n->op == OP_CONTAINS ? "contains" : "matches");
        if (b->op != OP_TEXT)
            return FAIL_AT(p, b, "a text in quotes was expected here");
        return n->op == OP_CONTAINS ? check_word(p, a, b, a->name.kind != NAME_GPU_OTHER || a->type == VALUE_TEXT) : 0;
    }
    if (a->type == VALUE_WORDS || b->type == VALUE_WORDS)
        return FAIL_AT(p, a->type == VALUE_WORDS ? a : b, "this is a list of words: ask with contains \"...\"");
    if (a->type != b->type) {
        const struct expr_node *text = a->type == VALUE_TEXT ? a : b->type == VALUE_TEXT ? b : NULL;
        const struct expr_node *other = text == a ? b : a;
        if (text)
            return FAIL_AT(p, other, "a text can only be compared with a text in quotes");
        return FAIL_AT(p, b, "true or false cannot be compared with a number");
    }
    if (a->type == VALUE_NUMBER)
        return check_units(p, n, "cannot be compared with");
    if (!equality)
        return FAIL_AT(p, a, "this can only be compared with == or !=");
    int result = a->type == VALUE_TEXT ? check_word(p, a, b, false) : 0;
    return result || a->type != VALUE_TEXT ? result : check_word(p, b, a, false);
}

/* ---- primary expressions ---- */

static int unknown_name(struct parser *p)
{
    char nearest[NAME_SIZE];
    struct token t = p->token;
    if (p->text_wanted && t.text.len < 64)
        return expr_fail(p->text, t.at, t.len, p->err, "texts stand in quotes: \"" STR_FMT "\"", STR_ARG(t.text));
    int shown = (int)MIN_OF(t.text.len, (size_t)60);
    if (name_nearest(t.text, nearest))
        return expr_fail(p->text, t.at, t.len, p->err, "unknown metric '%.*s'; did you mean '%s'?", shown, t.text.at, nearest);
    return expr_fail(p->text, t.at, t.len, p->err, "unknown metric '%.*s'; `whirr alert names` lists all", shown, t.text.at);
}

static int parse_function(struct parser *p, enum expr_op op, size_t at, uint16_t *ret)
{
    struct expr_node n = {.op = op, .type = VALUE_NUMBER, .scale = {1, 1}, .at = at};
    bool two = op == OP_MIN || op == OP_MAX;
    int result = advance(p); /* the parenthesis */
    if (!result)
        result = parse_or(p, &n.child[0]);
    if (!result && two && p->token.kind != TOKEN_COMMA)
        result = expr_fail(p->text, p->token.at, 1, p->err, "a comma and a second number were expected here");
    if (!result && two && !(result = advance(p)))
        result = parse_or(p, &n.child[1]);
    if (!result && p->token.kind != TOKEN_CLOSE)
        result = expr_fail(p->text, p->token.at, 1, p->err, "a closing parenthesis was expected here");
    if (!result)
        result = advance(p);
    n.len = p->end > at ? p->end - at : 1;
    if (!result && op == OP_KNOWN) {
        n.type = VALUE_BOOL;
        if (node(p, n.child[0])->op != OP_NAME)
            result = FAIL_AT(p, node(p, n.child[0]), "known() wants the name of a metric");
    } else if (!result) {
        result = want_number(p, n.child[0]);
        n.unit = node(p, n.child[0])->unit;
        if (!result && two && !(result = want_number(p, n.child[1])))
            result = check_units(p, &n, "cannot be compared with");
    }
    return result ? result : parse_add(p, &n, ret);
}

static int parse_name(struct parser *p, uint16_t *ret)
{
    static const struct {
        const char *name;
        enum expr_op op;
    } functions[] = {{"abs", OP_ABS}, {"min", OP_MIN}, {"max", OP_MAX}, {"known", OP_KNOWN}};
    struct token t = p->token;
    struct expr_node n = {.op = OP_NAME, .at = t.at, .len = t.len};
    if (str_is_any_case(t.text, "true") || str_is_any_case(t.text, "false")) {
        n.op = OP_BOOL;
        n.type = VALUE_BOOL;
        n.truth = t.text.len == 4;
    } else if (name_find(t.text, &n.name)) {
        n.type = n.name.type;
        n.unit = n.name.unit;
        p->expr->scope = MAX_OF(p->expr->scope, n.name.scope);
    } else {
        struct token after;
        if (expr_token(p->text, t.at + t.len, &after, NULL) == 0 && after.kind == TOKEN_OPEN)
            for (size_t i = 0; i < ARRAY_LEN(functions); i++)
                if (str_is_any_case(t.text, functions[i].name)) {
                    int result = advance(p);
                    return result ? result : parse_function(p, functions[i].op, t.at, ret);
                }
        return unknown_name(p);
    }
    int result = advance(p);
    return result ? result : parse_add(p, &n, ret);
}

static int parse_primary(struct parser *p, uint16_t *ret)
{
    struct token t = p->token;
    struct expr_node n = {.at = t.at, .len = t.len, .text = t.text, .number = t.number, .unit = t.unit};
    int result;
    switch (t.kind) {
    case TOKEN_NUMBER:
    case TOKEN_TEXT:
        n.op = t.kind == TOKEN_NUMBER ? OP_NUMBER : OP_TEXT;
        n.type = t.kind == TOKEN_NUMBER ? VALUE_NUMBER : VALUE_TEXT;
        result = advance(p);
        return result ? result : parse_add(p, &n, ret);
    case TOKEN_NAME: return parse_name(p, ret);
    case TOKEN_OPEN:
        result = advance(p);
        if (!result)
            result = parse_or(p, ret);
        if (!result && p->token.kind != TOKEN_CLOSE)
            result = p->token.kind == TOKEN_END
                         ? expr_fail(p->text, t.at, 1, p->err, "this parenthesis is not closed")
                         : expr_fail(p->text, p->token.at, p->token.len, p->err, "an operator or ')' was expected here");
        return result ? result : advance(p);
    case TOKEN_END: return expr_fail(p->text, t.at, 1, p->err, "something is missing at the end: a metric or a number");
    case TOKEN_OPERATOR:
    case TOKEN_CLOSE:
    case TOKEN_COMMA: break;
    }
    return expr_fail(p->text, t.at, t.len, p->err, "a metric, a number or '(' was expected here");
}

/* ---- operators, from tightest to loosest binding ---- */

static int deeper(struct parser *p)
{
    if (++p->depth > EXPR_DEPTH_MAX)
        return expr_fail(p->text, p->token.at, 1, p->err, "nested too deeply: at most %d levels", EXPR_DEPTH_MAX);
    return 0;
}

static bool at_operator(const struct parser *p, enum expr_op first, enum expr_op last)
{
    return p->token.kind == TOKEN_OPERATOR && p->token.op >= first && p->token.op <= last;
}

static int parse_sign(struct parser *p, uint16_t *ret)
{
    if (!at_operator(p, OP_SUBTRACT, OP_SUBTRACT))
        return parse_primary(p, ret);
    struct expr_node n = {.op = OP_NEGATE, .type = VALUE_NUMBER, .scale = {1, 1}, .at = p->token.at};
    int result = deeper(p);
    if (!result)
        result = advance(p);
    if (!result)
        result = parse_sign(p, &n.child[0]);
    p->depth--;
    if (!result)
        result = want_number(p, n.child[0]);
    if (result)
        return result;
    n.unit = node(p, n.child[0])->unit;
    n.len = p->end - n.at;
    return parse_add(p, &n, ret);
}

static int parse_product(struct parser *p, uint16_t *ret)
{
    int result = parse_sign(p, ret);
    while (!result && at_operator(p, OP_MULTIPLY, OP_DIVIDE)) {
        uint16_t left = *ret, right;
        enum expr_op op = p->token.op;
        if ((result = want_number(p, left)) || (result = advance(p)) || (result = parse_sign(p, &right)) ||
            (result = want_number(p, right)))
            break;
        struct expr_node n = parse_join(p, op, left, right);
        n.type = VALUE_NUMBER;
        if (!unit_multiply(node(p, left)->unit, node(p, right)->unit, op == OP_MULTIPLY ? 1 : -1, &n.unit))
            return FAIL_AT(p, &n, "these units can't be combined");
        result = parse_add(p, &n, ret);
    }
    return result;
}

static int parse_sum(struct parser *p, uint16_t *ret)
{
    int result = parse_product(p, ret);
    while (!result && at_operator(p, OP_ADD, OP_SUBTRACT)) {
        uint16_t left = *ret, right;
        enum expr_op op = p->token.op;
        if ((result = want_number(p, left)) || (result = advance(p)) || (result = parse_product(p, &right)) ||
            (result = want_number(p, right)))
            break;
        struct expr_node n = parse_join(p, op, left, right);
        n.type = VALUE_NUMBER;
        if (!(result = check_units(p, &n, op == OP_ADD ? "cannot be added to" : "cannot be taken from")))
            result = parse_add(p, &n, ret);
    }
    return result;
}

static int parse_comparison(struct parser *p, uint16_t *ret)
{
    int result = parse_sum(p, ret);
    if (result || !at_operator(p, OP_LESS, OP_MATCHES))
        return result;
    uint16_t left = *ret, right;
    enum expr_op op = p->token.op;
    if ((result = advance(p)))
        return result;
    p->text_wanted = node(p, left)->type == VALUE_TEXT || node(p, left)->type == VALUE_WORDS;
    result = parse_sum(p, &right);
    p->text_wanted = false;
    if (result)
        return result;
    struct expr_node n = parse_join(p, op, left, right);
    if ((result = check_comparison(p, &n)))
        return result;
    if (at_operator(p, OP_LESS, OP_MATCHES))
        return expr_fail(p->text, p->token.at, p->token.len, p->err, "only two sides can be compared: write a < b and b < c");
    return parse_add(p, &n, ret);
}

static int parse_not(struct parser *p, uint16_t *ret)
{
    if (!at_operator(p, OP_NOT, OP_NOT))
        return parse_comparison(p, ret);
    struct expr_node n = {.op = OP_NOT, .type = VALUE_BOOL, .scale = {1, 1}, .at = p->token.at};
    int result = deeper(p);
    if (!result)
        result = advance(p);
    if (!result)
        result = parse_not(p, &n.child[0]);
    p->depth--;
    if (!result)
        result = want_bool(p, n.child[0]);
    n.len = p->end > n.at ? p->end - n.at : 1;
    return result ? result : parse_add(p, &n, ret);
}

static int parse_and(struct parser *p, uint16_t *ret)
{
    int result = parse_not(p, ret);
    while (!result && at_operator(p, OP_AND, OP_AND)) {
        uint16_t left = *ret, right;
        if ((result = want_bool(p, left)) || (result = advance(p)) || (result = parse_not(p, &right)) ||
            (result = want_bool(p, right)))
            break;
        struct expr_node n = parse_join(p, OP_AND, left, right);
        result = parse_add(p, &n, ret);
    }
    return result;
}

static int parse_or(struct parser *p, uint16_t *ret)
{
    int result = deeper(p);
    if (!result)
        result = parse_and(p, ret);
    while (!result && at_operator(p, OP_OR, OP_OR)) {
        uint16_t left = *ret, right;
        if ((result = want_bool(p, left)) || (result = advance(p)) || (result = parse_and(p, &right)) ||
            (result = want_bool(p, right)))
            break;
        struct expr_node n = parse_join(p, OP_OR, left, right);
        result = parse_add(p, &n, ret);
    }
    p->depth--;
    return result;
}

static bool names_anything(const struct expr *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->nodes[i].op == OP_NAME)
            return true;
    return false;
}

static int parse_all(struct parser *p)
{
    int result = advance(p);
    if (!result && p->token.kind == TOKEN_END)
        return expr_fail(p->text, 0, 1, p->err, "the condition is empty");
    if (!result)
        result = parse_or(p, &p->expr->root);
    if (!result && p->token.kind != TOKEN_END)
        result = expr_fail(p->text, p->token.at, p->token.len, p->err,
                           p->token.kind == TOKEN_CLOSE ? "no parenthesis was opened for this one"
                                                        : "an operator was expected here: and, or, <, >, ==, +, ...");
    if (!result)
        result = want_bool(p, p->expr->root);
    if (!result && !names_anything(p->expr))
        result = expr_fail(p->text, 0, p->text.len, p->err, "no metric is named, so this never changes");
    return result;
}

int expr_parse(struct str text, struct expr **ret, struct expr_error *err)
{
    struct expr_error ignored;
    if (!err)
        err = &ignored;
    if (text.len > EXPR_TEXT_MAX)
        return expr_fail(text, EXPR_TEXT_MAX, 1, err, "the condition is too long: at most %d bytes", EXPR_TEXT_MAX);
    struct expr *e = calloc(1, sizeof *e + EXPR_NODES_MAX * sizeof e->nodes[0]);
    char *copy = malloc(text.len + 1);
    if (!e || !copy) {
        free(e);
        free(copy);
        return -ENOMEM;
    }
    if (text.len)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    e->text = copy;
    struct parser p = {.text = {copy, text.len}, .expr = e, .err = err};
    int result = parse_all(&p);
    if (result) {
        expr_free(e);
        return result;
    }
    struct expr *small = realloc(e, sizeof *e + e->count * sizeof e->nodes[0]);
    *ret = small ? small : e;
    return 0;
}

void expr_free(struct expr *e)
{
    if (!e)
        return;
    free(e->text);
    free(e);
}
