/* SPDX-License-Identifier: Apache-2.0
 * Checks and describes parameters by their table.
 */
#include "answer/parameter.h"

#include <errno.h>
#include <string.h>

/* Code, not data, as the tables of answers. */
struct parameter parameter_of(enum parameter_id id)
{
    switch (id) {
#define PARAMETER(id_, name_, kind_, ...) \
    case PARAMETER_##id_:                 \
        return (struct parameter){#id_, name_, PARAMETER_##kind_, __VA_ARGS__};
#include "answer/parameters.def"
#undef PARAMETER
    case PARAMETER_NONE:
    case PARAMETER_COUNT: break;
    }
    return (struct parameter){0};
}

bool parameter_find(const char *id, struct parameter *ret)
{
    for (int i = PARAMETER_NONE + 1; i < PARAMETER_COUNT; i++) {
        *ret = parameter_of((enum parameter_id)i);
        if (strcmp(ret->id, id) == 0)
            return true;
    }
    return false;
}

static bool is_choice(const char *choices, const char *text)
{
    struct str rest = str_from(choices), one;
    while (str_cut(&rest, ',', &one))
        if (str_is(str_trim(one), text))
            return true;
    return false;
}

static int check_number(const struct parameter *p, bool fine, double number, struct error *err)
{
    const char *what = p->kind == PARAMETER_WHOLE ? "whole number" : "number";
    if (fine && number >= p->least && (p->most == 0 || number <= p->most))
        return 0;
    if (p->most == 0)
        return error_set(err, -EINVAL, "%s must be a %s, %.0f or more", p->name, what, p->least);
    return error_set(err, -EINVAL, "%s must be a %s from %.0f to %.0f", p->name, what, p->least, p->most);
}

int parameter_check(const struct parameter *p, const char *text, struct error *err)
{
    double number = 0;
    int64_t whole = 0;
    bool fine = true;
    switch (p->kind) {
    case PARAMETER_WHOLE: fine = str_to_i64(str_from(text), &whole); return check_number(p, fine, (double)whole, err);
    case PARAMETER_NUMBER: fine = str_to_double(str_from(text), &number); return check_number(p, fine, number, err);
    case PARAMETER_YES:
        return is_choice("true, false, 1, 0", text) ? 0 : error_set(err, -EINVAL, "%s must be true or false", p->name);
    case PARAMETER_TEXT: break;
    }
    return !p->choices || is_choice(p->choices, text) ? 0 : error_set(err, -EINVAL, "%s must be one of: %s", p->name, p->choices);
}

int parameter_whole(enum parameter_id id, const char *text, int64_t *ret, struct error *err)
{
    const struct parameter p = parameter_of(id);
    int rc = parameter_check(&p, text, err);
    if (rc == 0)
        str_to_i64(str_from(text), ret);
    return rc;
}

json_t *parameter_schema(const struct parameter *p)
{
    static const char *const types[] = {"string", "integer", "number", "boolean"};
    json_t *s = json_pack("{s:s}", "type", types[p->kind]), *choices = p->choices ? json_array() : NULL;
    struct str rest = str_from(p->choices ? p->choices : ""), one;
    while (str_cut(&rest, ',', &one)) {
        one = str_trim(one);
        json_array_append_new(choices, json_stringn(one.at, one.len));
    }
    if (choices)
        json_object_set_new(s, "enum", choices);
    if (p->kind == PARAMETER_WHOLE || p->kind == PARAMETER_NUMBER)
        json_object_set_new(s, "minimum", json_integer((json_int_t)p->least));
    if (p->most != 0)
        json_object_set_new(s, "maximum", json_integer((json_int_t)p->most));
    if (p->preset)
        json_object_set_new(s, "default", json_loads(p->preset, JSON_DECODE_ANY, NULL));
    return s;
}
