/* SPDX-License-Identifier: Apache-2.0
 * The arguments of a call: their schema, the check, and the query that they form.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "mcp/tool.h"

enum { TEXT_MAX = 512 };

/* ---- the table ---- */

static bool is_given(const json_t *arguments, const char *name)
{
    const json_t *value = json_object_get(arguments, name);
    return value && !json_is_null(value);
}

const struct mcp_shape *mcp_shape_of(const struct mcp_tool *tool, const json_t *arguments)
{
    const struct mcp_shape *s = tool->shapes;
    while (s->when && !is_given(arguments, s->when))
        s++;
    return s;
}

bool mcp_next_field(const char **rest, struct mcp_field *field)
{
    struct str word, left = str_from(*rest);
    if (!str_word(&left, &word))
        return false;
    field->kind = word.at[word.len - 1];
    str_copy(field->name, sizeof field->name, (struct str){word.at, word.len - 2});
    *rest = left.at;
    return true;
}

static char kind_of(const struct answer_field *f)
{
    switch (f->kind) {
    case ANSWER_INT: return 'i';
    case ANSWER_BOOL: return strcmp(f->key, "simulated") == 0 ? 'x' : 'b';
    case ANSWER_AMOUNT:
    case ANSWER_NUMBER:
    case ANSWER_READING:
    case ANSWER_OPTION: return f->whole ? 'i' : 'n';
    case ANSWER_LIST:
        if (f->of && f->of->name && strcmp(f->of->name, "Finding") == 0)
            return 'f';
        return f->foreign ? 'u' : 'a';
    case ANSWER_LINES: return f->foreign ? 'u' : 'a';
    case ANSWER_OBJECT:
    case ANSWER_MAP: return 'o';
    default: return f->foreign ? 't' : 's';
    }
}

static bool has_word(const struct buf *words, const char *key)
{
    const char *rest = words->len ? words->at : "";
    struct mcp_field f;
    bool found = false;
    while (!found && mcp_next_field(&rest, &f))
        found = strcmp(f.name, key) == 0;
    return found;
}

/* `rows`: the list whose elements are added later; NULL: none. */
static void add_words(struct buf *words, const struct answer *a, const char *rows)
{
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        if (f->kind == ANSWER_KEYS)
            add_words(words, f->of, rows);
        else if (f->counts && !(rows && strcmp(f->key, rows) == 0) && !has_word(words, f->key))
            buf_printf(words, "%s:%c ", f->key, kind_of(f));
    }
}

const char *mcp_head(const struct mcp_shape *shape, struct buf *words)
{
    if (!shape->answer)
        return shape->head;
    if (shape->also)
        add_words(words, shape->also, shape->rows);
    add_words(words, shape->answer, shape->rows);
    return buf_view(words).at;
}

static void add_list(struct buf *words, const struct answer *a, const char *name)
{
    const struct answer_field *list = answer_field(a, name);
    if (list && list->of)
        add_words(words, list->of, NULL);
}

const char *mcp_fields(const struct mcp_shape *shape, struct buf *words)
{
    if (shape->fields)
        return shape->fields;
    if (shape->rows)
        add_list(words, shape->answer, shape->rows);
    struct str rest = str_from(shape->rows_by ? shape->rows_by->choices : ""), one;
    while (str_cut(&rest, ',', &one)) {
        char name[48];
        snprintf(name, sizeof name, STR_FMT "s", STR_ARG(str_trim(one)));
        add_list(words, shape->answer, name);
    }
    return buf_view(words).at;
}

struct parameter mcp_parameter(const struct mcp_input *input)
{
    struct parameter p = parameter_of(input->of);
    if (!input->of)
        p = (struct parameter){
            .name = input->name, .kind = input->kind, .least = (double)input->least, .most = (double)input->most};
    p.about = input->about ? input->about : p.about;
    p.choices = input->choices ? input->choices : p.choices;
    return p;
}

static const struct mcp_input *find_input(const struct mcp_tool *tool, const char *name, struct nearest *near)
{
    const struct mcp_input *const *lists[] = {tool->inputs, mcp_inputs_of_all};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct mcp_input *const *i = lists[l]; *i; i++) {
            const char *its = mcp_parameter(*i).name;
            nearest_try(near, its);
            if (strcmp(its, name) == 0)
                return *i;
        }
    return NULL;
}

/* ---- the check ---- */

const char *mcp_argument(const json_t *arguments, const char *name, char text[32])
{
    const json_t *value = json_object_get(arguments, name);
    if (json_is_integer(value)) {
        snprintf(text, 32, "%lld", (long long)json_integer_value(value));
        return text;
    }
    return json_is_string(value) ? json_string_value(value) : NULL;
}

static int check_one(const struct mcp_input *input, const json_t *value, struct error *err)
{
    const struct parameter p = mcp_parameter(input);
    const char *text = json_string_value(value);
    char number[32];
    if (p.kind == PARAMETER_YES)
        return json_is_boolean(value) ? 0 : error_set(err, -EINVAL, "%s must be true or false", p.name);
    if (json_is_integer(value) && !p.choices) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return parameter_check(&p, number, err);
    }
    if (!text && p.kind == PARAMETER_TEXT)
        return error_set(err, -EINVAL, "%s must be a text", p.name);
    if (p.kind == PARAMETER_TEXT && !p.choices && (!text[0] || strlen(text) > TEXT_MAX))
        return error_set(err, -EINVAL, "%s must have 1 to %d characters", p.name, TEXT_MAX);
    return parameter_check(&p, text ? text : "", err);
}

/* Some arguments exclude each other, and some require another. */
static int check_together(const struct mcp_tool *tool, const json_t *arguments, struct error *err)
{
    const char *first = NULL;
    for (const struct mcp_input *const *i = tool->inputs; *i; i++) {
        const char *name = mcp_parameter(*i).name;
        if (!is_given(arguments, name))
            continue;
        if ((*i)->needs && !is_given(arguments, (*i)->needs))
            return error_set(err, -EINVAL, "%s needs %s", name, (*i)->needs);
        if ((*i)->alone && first)
            return error_set(err, -EINVAL, "%s and %s can't be combined", first, name);
        first = (*i)->alone ? name : first;
    }
    return 0;
}

int mcp_check_arguments(const struct mcp_tool *tool, const json_t *arguments, struct error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)arguments, key, value)
    {
        struct nearest near;
        char hint[NEAREST_SIZE + 32];
        nearest_init(&near, key);
        const struct mcp_input *input = find_input(tool, key, &near);
        if (!input)
            return error_set(err, -EINVAL, "%s has no argument '%.64s'%s", tool->name, key, nearest_text(&near, hint, sizeof hint));
        int rc = json_is_null(value) ? 0 : check_one(input, value, err);
        if (rc < 0)
            return rc;
    }
    return check_together(tool, arguments, err);
}

/* ---- the query ---- */

bool mcp_command(const struct mcp_request *r, struct buf *texts, const char *words[MCP_WORDS_MAX + 1])
{
    const json_t *arguments = json_object_get(r->params, "arguments");
    const struct mcp_shape *shape = mcp_shape_of(r->tool, arguments);
    struct str rest = str_from(shape->command), word;
    size_t count = 0, starts[MCP_WORDS_MAX];
    char number[32];
    while (str_cut(&rest, ' ', &word)) {
        starts[count++] = texts->len;
        buf_printf(texts, STR_FMT "%c", STR_ARG(word), '\0');
    }
    starts[count++] = texts->len;
    buf_add(texts, "--json", sizeof "--json");
    for (const struct mcp_input *const *i = r->tool->inputs; *i; i++) {
        const char *value = mcp_argument(arguments, mcp_parameter(*i).name, number);
        if (!value || !(*i)->option || !(*i)->option[0])
            continue;
        starts[count++] = texts->len;
        buf_printf(texts, "--%s=%s%c", (*i)->option, value, '\0');
    }
    for (const struct mcp_input *const *i = r->tool->inputs; *i; i++) {
        const char *value = mcp_argument(arguments, mcp_parameter(*i).name, number);
        if (!value || !(*i)->option || (*i)->option[0])
            continue;
        starts[count++] = texts->len; /* even if it looks like an option, it is not one */
        buf_add(texts, "--", sizeof "--");
        starts[count++] = texts->len;
        buf_add(texts, value, strlen(value) + 1);
    }
    for (size_t i = 0; i < count && !texts->failed; i++)
        words[i] = texts->at + starts[i];
    words[count] = NULL;
    return !texts->failed;
}

bool mcp_target(struct mcp_request *r, struct buf *out)
{
    const json_t *arguments = json_object_get(r->params, "arguments");
    const struct mcp_shape *shape = mcp_shape_of(r->tool, arguments);
    char number[32];
    if (!shape->path) {
        mcp_fail(r, "the files of this host are not read over the network; give a size, or ask `whirr mcp` on that host");
        return false;
    }
    buf_text(out, shape->path);
    for (const struct mcp_input *const *i = r->tool->inputs; *i; i++) {
        const char *value = mcp_argument(arguments, mcp_parameter(*i).name, number);
        const char *parameter = (*i)->parameter ? (*i)->parameter : parameter_of((*i)->of).name;
        if (!value || !parameter)
            continue;
        buf_printf(out, "%c%s=", memchr(out->at, '?', out->len) ? '&' : '?', parameter);
        buf_percent(out, value);
    }
    if (out->failed)
        mcp_fail(r, "the arguments are too long");
    return !out->failed;
}

/* ---- schemas ---- */

static void add_input(json_t *properties, const struct mcp_input *input)
{
    const struct parameter p = mcp_parameter(input);
    json_t *s = parameter_schema(&p);
    json_object_set_new(s, "description", json_string(p.about));
    if (input->number_too)
        json_object_set_new(s, "type", json_pack("[s, s]", "integer", "string"));
    json_object_set_new(properties, p.name, s);
}

static json_t *inputs_schema(const struct mcp_tool *tool)
{
    json_t *properties = json_object();
    const struct mcp_input *const *lists[] = {tool->inputs, mcp_inputs_of_all};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct mcp_input *const *i = lists[l]; *i; i++)
            add_input(properties, *i);
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
}

/* Fields of rows may be null: `detail` passes them on from the API, where null means unknown. */
static void add_fields(json_t *properties, const char *fields, bool of_rows)
{
    struct mcp_field f;
    while (mcp_next_field(&fields, &f)) {
        static const char *const types[] = {
            ['s'] = "string",  ['t'] = "string", ['i'] = "integer", ['n'] = "number", ['b'] = "boolean",
            ['x'] = "boolean", ['a'] = "array",  ['f'] = "array",   ['u'] = "array",  ['o'] = "object"};
        const char *type = types[(unsigned char)f.kind];
        bool may_be_unknown = of_rows || f.kind == 'i' || f.kind == 'n';
        json_object_set_new(properties, f.name,
                            may_be_unknown ? json_pack("{s:[s, s]}", "type", type, "null") : json_pack("{s:s}", "type", type));
    }
}

/* Covers all forms of the answer. */
static json_t *output_schema(const struct mcp_tool *tool)
{
    json_t *properties = json_object();
    for (const struct mcp_shape *s = tool->shapes;; s++) {
        json_t *fields = json_object();
        AUTO_BUF struct buf head = BUF(4096), row = BUF(4096);
        add_fields(properties, mcp_head(s, &head), false);
        add_fields(fields, mcp_fields(s, &row), true);
        json_object_set_new(properties, s->list ? s->list : s->rows,
                            json_pack("{s:s, s:{s:s, s:o}}", "type", "array", "items", "type", "object", "properties", fields));
        if (!s->when)
            break;
    }
    add_fields(properties, "next_cursor:s left_out:i untrusted:a", false);
    return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

static json_t *describe(const struct mcp_tool *tool, enum mcp_version version)
{
    json_t *t = json_pack("{s:s, s:s, s:o}", "name", tool->name, "description", tool->about, "inputSchema", inputs_schema(tool));
    if (version >= MCP_2025_03_26)
        json_object_set_new(
            t, "annotations",
            json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", 1, "destructiveHint", 0, "idempotentHint", 1, "openWorldHint", 0));
    if (version >= MCP_2025_06_18) {
        json_object_set_new(t, "title", json_string(tool->title));
        json_object_set_new(t, "outputSchema", output_schema(tool));
    }
    return t;
}

json_t *mcp_list_tools(enum mcp_version version)
{
    json_t *list = json_array();
    for (size_t i = 0; i < mcp_tool_count; i++)
        json_array_append_new(list, describe(&mcp_tools[i], version));
    return list;
}
