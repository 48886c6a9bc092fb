/* SPDX-License-Identifier: Apache-2.0
 * Writes any answer as JSON, from its table.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/str.h"

enum { ABSENT_MAX = 320 }; /* of one object: a GPU has 200 fields; more go without a reason */

/* The object being written, and what is unknown in it. */
struct object {
    struct json_writer *j;
    struct answer_at at;
    bool has_readings;
    size_t absent_count;
    const char *absent_key[ABSENT_MAX];
    enum reading_state absent_state[ABSENT_MAX];
};

/* A member, or what it points to; NULL: there is none. */
static const char *member(const struct answer_field *f, const char *record)
{
    const char *at = record ? record + f->offset : NULL;
    return at && f->by_pointer ? *(const char *const *)at : at;
}

static void add_reason(struct object *o, const char *key, enum reading_state state)
{
    if (o->absent_count < ABSENT_MAX) {
        o->absent_key[o->absent_count] = key;
        o->absent_state[o->absent_count++] = state;
    }
}

static void write_unknown(struct object *o, const char *key, enum reading_state state)
{
    jw_null(o->j);
    add_reason(o, key, state);
}

static int64_t load_int(const struct answer_field *f, const void *at)
{
    int64_t s64;
    int32_t s32;
    uint32_t u32;
    int16_t s16;
    uint16_t u16;
    switch (f->size) {
    case sizeof s64: memcpy(&s64, at, sizeof s64); return s64;
    case sizeof s32:
        memcpy(&s32, at, sizeof s32);
        memcpy(&u32, at, sizeof u32);
        return f->is_signed ? s32 : (int64_t)u32;
    case sizeof s16:
        memcpy(&s16, at, sizeof s16);
        memcpy(&u16, at, sizeof u16);
        return f->is_signed ? s16 : (int64_t)u16;
    default: return *(const unsigned char *)at;
    }
}

static void write_with_point(struct object *o, double value)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%.1f", value);
    jw_raw(o->j, (struct str){text, (size_t)len});
}

static void write_scaled(struct object *o, const struct answer_field *f, double value)
{
    value *= f->scale != 0 ? f->scale : 1;
    if (f->parts != 0)
        value = round(value * f->parts) / f->parts;
    if (f->whole && isfinite(value))
        jw_int(o->j, llround(value));
    else if (f->point && value == floor(value) && fabs(value) < 1e15)
        write_with_point(o, value);
    else
        jw_number(o->j, value);
}

static void write_text(struct object *o, const struct answer_field *f, const char *text)
{
    jw_text(o->j, text && (text[0] || !f->nullable) ? text : NULL);
}

static void write_moment(struct object *o, const struct wall *at)
{
    char text[WALL_TEXT_SIZE];
    if (at->ms)
        wall_format(*at, text);
    jw_text(o->j, at->ms ? text : NULL);
}

static void write_bits(struct object *o, const struct answer_field *f, int64_t bits)
{
    jw_array(o->j);
    for (int i = f->names->first; i < f->names->count; i++)
        if (bits & (int64_t)1 << i)
            jw_text(o->j, f->names->name(i));
    jw_end(o->j);
}

static void write_form(struct object *o, const struct answer_field *f, int64_t value)
{
    char text[24];
    switch (f->item) {
    case ANSWER_BOOL: jw_bool(o->j, value != 0); break;
    case ANSWER_BITS: write_bits(o, f, value); break;
    case ANSWER_NAME: jw_text(o->j, f->names->name((int)value)); break;
    default: snprintf(text, sizeof text, "%c%lld", f->letter, (long long)value); jw_text(o->j, text);
    }
}

static void write_reading(struct object *o, const struct answer_field *f, const struct reading *r)
{
    if (r->state == READING_OK && f->item)
        write_form(o, f, r->value);
    else if (r->state == READING_OK && f->whole && f->scale == 0)
        jw_int(o->j, r->value);
    else if (r->state == READING_OK)
        write_scaled(o, f, (double)r->value);
    else if (f->kind == ANSWER_OPTION)
        jw_null(o->j);
    else
        write_unknown(o, f->key, r->state);
}

static void write_lines(struct object *o, const char *lines)
{
    struct str rest = str_from(lines), line;
    jw_array(o->j);
    while (str_cut(&rest, '\n', &line))
        jw_str(o->j, line);
    jw_end(o->j);
}

static const char *text_at(const struct answer_field *f, const void *at)
{
    return f->item == ANSWER_WORD ? *(const char *const *)at : at;
}

static void write_item(struct object *o, const struct answer_field *f, const char *item)
{
    if (f->kind == ANSWER_MAP)
        jw_key_text(o->j, text_at(f, item), text_at(f, item + f->value_offset));
    else if (f->item == ANSWER_OBJECT)
        answer_write(o->j, f->of, item, o->at.context);
    else if (f->item == ANSWER_INT)
        jw_int(o->j, *(const int64_t *)item);
    else if (f->item == ANSWER_NUMBER)
        jw_number(o->j, *(const double *)item);
    else if (f->item == ANSWER_PIECE)
        jw_str(o->j, *(const struct str *)item);
    else
        jw_text(o->j, text_at(f, item));
}

static void write_items(struct object *o, const struct answer_field *f)
{
    const char *record = o->at.record, *base = member(f, record);
    struct answer_step step = {0};
    size_t count = 0;
    if (f->by_text) {
        const struct str *text = (const void *)base;
        if (text->len)
            jw_raw(o->j, *text);
        return;
    }
    if (f->next) {
        for (const void *item; (item = f->next(&o->at, &step));)
            write_item(o, f, item);
        return;
    }
    memcpy(&count, record + f->count_offset, sizeof count);
    for (size_t i = 0; i < count && (f->by_pointer || i < f->size / f->stride); i++)
        write_item(o, f, base + i * f->stride);
}

/* Whether a number stands for there being none. */
static bool is_none(const struct answer_field *f, double value)
{
    return f->nullable && !f->make && !f->flag_size && !f->when && value == f->none;
}

static void write_value(struct object *o, const struct answer_field *f, const void *at)
{
    int64_t number;
    switch (f->kind) {
    case ANSWER_INT:
    case ANSWER_AMOUNT:
    case ANSWER_NAME:
        number = load_int(f, at);
        if (is_none(f, (double)number))
            jw_null(o->j);
        else if (f->kind == ANSWER_NAME)
            jw_text(o->j, f->names->name((int)number));
        else if (f->kind == ANSWER_AMOUNT)
            write_scaled(o, f, (double)number);
        else
            jw_int(o->j, number);
        break;
    case ANSWER_BITS: write_bits(o, f, load_int(f, at)); break;
    case ANSWER_NUMBER: write_scaled(o, f, is_none(f, *(const double *)at) ? NAN : *(const double *)at); break;
    case ANSWER_BOOL: jw_bool(o->j, *(const char *)at); break;
    case ANSWER_TEXT: write_text(o, f, at); break;
    case ANSWER_WORD: write_text(o, f, *(const char *const *)at); break;
    case ANSWER_PIECE: jw_str(o->j, *(const struct str *)at); break;
    case ANSWER_MOMENT: write_moment(o, at); break;
    case ANSWER_READING:
    case ANSWER_OPTION: write_reading(o, f, at); break;
    case ANSWER_OBJECT:
        if (f->by_text)
            jw_raw(o->j, *(const struct str *)at);
        else
            answer_write(o->j, f->of, at, o->at.context);
        break;
    case ANSWER_ANY:
        if (((const struct str *)at)->len)
            jw_raw(o->j, *(const struct str *)at);
        else
            jw_null(o->j);
        break;
    case ANSWER_LINES: write_lines(o, at); break;
    case ANSWER_LIST:
    case ANSWER_MAP:
        (f->kind == ANSWER_LIST ? jw_array : jw_object)(o->j);
        write_items(o, f);
        jw_end(o->j);
        break;
    case ANSWER_KEYS: break;
    }
}

static bool is_there(const struct answer_field *f, const char *record)
{
    if (f->when && !f->when(record))
        return false;
    for (size_t i = 0; i < f->flag_size; i++)
        if (record[f->flag_offset + i])
            return true;
    return !f->flag_size;
}

/* Why the value is unknown. */
static enum reading_state state_of(const struct answer_field *f, const char *record)
{
    enum reading_state state = READING_OK;
    if (record && f->has_state)
        memcpy(&state, record + f->state_offset, sizeof state);
    return record && f->state ? f->state(record) : state;
}

static void write_fields(struct object *o, const struct answer *a)
{
    const char *record = o->at.record;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        union answer_value made;
        const char *at = member(f, record);
        if (f->kind == ANSWER_KEYS) {
            struct answer_at outer = o->at;
            o->at.record = at;
            write_fields(o, f->of);
            o->at = outer;
            continue;
        }
        enum reading_state state = state_of(f, record);
        bool none = state == READING_OK &&
                    (!record || (!at && f->kind == ANSWER_OBJECT) || !is_there(f, record) || (f->make && !f->make(&o->at, &made)));
        o->has_readings |= answer_may_be_unknown(f);
        if (none && f->optional)
            continue;
        jw_plain_key(o->j, f->key);
        if (state != READING_OK && f->stays)
            add_reason(o, f->key, state);
        if (state != READING_OK && !f->stays)
            write_unknown(o, f->key, state);
        else if (none)
            jw_null(o->j);
        else if (f->write)
            f->write(&o->at, o->j);
        else
            write_value(o, f, f->make ? (const void *)&made : at);
    }
}

void answer_write_keys(struct json_writer *j, const struct answer *a, const void *record, void *context)
{
    struct object o; /* what is absent needs no zeros */
    o.j = j;
    o.at = (struct answer_at){record, context};
    o.has_readings = false;
    o.absent_count = 0;
    write_fields(&o, a);
    if (o.has_readings) {
        jw_key_object(j, "absent");
        for (size_t i = 0; i < o.absent_count; i++)
            jw_key_text(j, o.absent_key[i], reading_state_name(o.absent_state[i]));
        jw_end(j);
    }
}

void answer_write(struct json_writer *j, const struct answer *a, const void *record, void *context)
{
    jw_object(j);
    answer_write_keys(j, a, record, context);
    jw_end(j);
}
