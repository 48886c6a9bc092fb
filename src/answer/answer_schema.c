/* SPDX-License-Identifier: Apache-2.0
 * Describes any answer in JSON Schema, from its table.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"

static json_t *reference(const char *name)
{
    return json_sprintf("#/components/schemas/%s", name);
}

static json_t *named(const char *name)
{
    return json_pack("{s:o}", "$ref", reference(name));
}

/* Rows of all tables, one table after the other: zeroed memory costs nothing until it is used. */
enum { ROWS_MAX = 4096 };
static struct answer_field all_rows[ROWS_MAX];
static size_t row_count;

void answer_add(const struct answer_field *row)
{
    if (row_count + 1 >= ROWS_MAX)
        abort(); /* tables are part of the program: the first test of it says so */
    all_rows[row_count++] = *row;
}

const struct answer_field *answer_fields(const struct answer *a)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct answer_rows *rows = a->rows;
    if (!atomic_load_explicit(&rows->list, memory_order_acquire)) {
        pthread_mutex_lock(&one_at_a_time);
        if (!rows->list) {
            const struct answer_field *first = &all_rows[row_count];
            rows->make();
            row_count++; /* a row of zeros ends the list */
            atomic_store_explicit(&rows->list, first, memory_order_release);
        }
        pthread_mutex_unlock(&one_at_a_time);
    }
    return atomic_load_explicit(&rows->list, memory_order_acquire);
}

const struct answer_field *answer_field(const struct answer *a, const char *key)
{
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        const struct answer_field *inside = f->kind == ANSWER_KEYS ? answer_field(f->of, key) : NULL;
        if (inside || (f->key && strcmp(f->key, key) == 0))
            return inside ? inside : f;
    }
    return NULL;
}

const char *answer_next_name(const struct answer_names *names, int *value)
{
    const char *name = NULL;
    bool again = true;
    while (again && ++*value < names->count && (name = names->name(*value))) {
        again = false;
        for (int i = names->first; i < *value; i++)
            again |= strcmp(names->name(i), name) == 0;
    }
    return again ? NULL : name;
}

static json_t *type_of_names(const struct answer_names *names)
{
    json_t *list = json_array();
    int value = names->first - 1;
    for (const char *name; (name = answer_next_name(names, &value));)
        json_array_append_new(list, json_string(name));
    return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *type_of_object(const struct answer *a)
{
    return a->name ? named(a->name) : answer_schema(a);
}

static const char *plain_type(const struct answer_field *f)
{
    switch (f->kind == ANSWER_READING && f->item ? f->item : f->kind) {
    case ANSWER_INT: return "integer";
    case ANSWER_BOOL: return "boolean";
    case ANSWER_AMOUNT:
    case ANSWER_NUMBER:
    case ANSWER_READING:
    case ANSWER_OPTION: return f->whole ? "integer" : "number";
    default: return "string";
    }
}

static json_t *or_null(json_t *type)
{
    json_t *name = json_object_get(type, "type"), *names = json_object_get(type, "enum");
    if (!name)
        return json_pack("{s:[o, {s:s}]}", "oneOf", type, "type", "null");
    if (names)
        json_array_append_new(names, json_null());
    json_object_set_new(type, "type", json_pack("[O, s]", name, "null"));
    return type;
}

static json_t *type_of_items(const struct answer_field *f)
{
    json_t *type = f->item == ANSWER_OBJECT ? type_of_object(f->of)
                                            : json_pack("{s:s}", "type",
                                                        f->item == ANSWER_INT      ? "integer"
                                                        : f->item == ANSWER_NUMBER ? "number"
                                                                                   : "string");
    return f->gaps ? or_null(type) : type;
}

/* Of a value that is there. */
static json_t *type_of(const struct answer_field *f)
{
    switch (f->kind == ANSWER_READING && f->item ? f->item : f->kind) {
    case ANSWER_ANY: return json_object();
    case ANSWER_MOMENT: return named("Time");
    case ANSWER_OBJECT: return type_of_object(f->of);
    case ANSWER_LIST: return json_pack("{s:s, s:o}", "type", "array", "items", type_of_items(f));
    case ANSWER_LINES: return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
    case ANSWER_MAP: return json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "string");
    case ANSWER_BITS:
        return json_pack("{s:s, s:o}", "type", "array", "items",
                         f->open ? json_pack("{s:s}", "type", "string") : type_of_names(f->names));
    default: return f->names && !f->open ? type_of_names(f->names) : json_pack("{s:s}", "type", plain_type(f));
    }
}

static json_t *field_schema(const struct answer_field *f)
{
    json_t *schema = answer_may_be_null(f) && f->kind != ANSWER_ANY ? or_null(type_of(f)) : type_of(f);
    if (f->natural)
        json_object_set_new(schema, "minimum", json_integer(0));
    if (f->about)
        json_object_set_new(schema, "description", json_string(f->about));
    if (f->schema) {
        json_t *more = json_loads(f->schema, 0, NULL);
        json_object_update(schema, more);
        json_decref(more);
    }
    return schema;
}

static bool add_fields(const struct answer *a, json_t *properties, json_t *required)
{
    bool has_readings = false;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        if (f->kind == ANSWER_KEYS) {
            has_readings |= add_fields(f->of, properties, required);
            continue;
        }
        has_readings |= answer_may_be_unknown(f);
        json_object_set_new(properties, f->key, field_schema(f));
        if (!f->optional)
            json_array_append_new(required, json_string(f->key));
    }
    return has_readings;
}

json_t *answer_schema(const struct answer *a)
{
    json_t *properties = json_object(), *required = json_array();
    if (add_fields(a, properties, required)) {
        json_object_set_new(properties, "absent", named("Absent"));
        json_array_append_new(required, json_string("absent"));
    }
    json_t *schema = json_pack("{s:s, s:o, s:o}", "type", "object", "required", required, "properties", properties);
    if (a->about)
        json_object_set_new(schema, "description", json_string(a->about));
    return schema;
}

/* ---- the named ones ---- */

enum { NAMED_MAX = 128 };
struct visited {
    size_t count;
    const struct answer *list[NAMED_MAX];
    void (*call)(const struct answer *a, void *user);
    void *user;
};

static void visit(struct visited *seen, const struct answer *a)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->list[i] == a)
            return;
    if (a->name && seen->count < NAMED_MAX) /* before its parts: an instance of a GPU is one, too */
        seen->list[seen->count++] = a;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++)
        if (f->of)
            visit(seen, f->of);
    if (a->name)
        seen->call(a, seen->user);
}

void answer_each_named(const struct answer *const *list, size_t count, void (*call)(const struct answer *a, void *user), void *user)
{
    struct visited seen = {.call = call, .user = user};
    for (size_t i = 0; i < count; i++)
        visit(&seen, list[i]);
}
