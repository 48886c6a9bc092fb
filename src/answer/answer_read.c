/* SPDX-License-Identifier: Apache-2.0
 * Reads any answer from JSON, by its table. The text may come from another program or another version of whirr.
 */
#include <math.h>
#include <string.h>

#include "answer/answer.h"
#include "base/json_reader.h"

/* False: the member can't hold it. */
static bool store_int(const struct answer_field *f, void *at, int64_t value)
{
    bool fits = f->is_signed || value >= 0;
    if (f->size < sizeof value) {
        int64_t limit = (int64_t)1 << (8 * f->size - f->is_signed);
        fits = fits && value < limit && value >= (f->is_signed ? -limit : 0);
    }
    if (!fits)
        return false;
    switch (f->size) {
    case 8: memcpy(at, &value, 8); break;
    case 4: memcpy(at, &(uint32_t){(uint32_t)value}, 4); break;
    case 2: memcpy(at, &(uint16_t){(uint16_t)value}, 2); break;
    default: *(unsigned char *)at = (unsigned char)value; break;
    }
    return true;
}

/* A number in the unit of the member. */
static bool take_scaled(const struct answer_field *f, const json_t *value, int64_t *ret)
{
    double number = round(json_number_value(value) / (f->scale != 0 ? f->scale : 1));
    if (f->natural && number < 0)
        return false;
    if (json_is_integer(value) && f->scale == 0) /* beyond 2^53, too */
        *ret = json_integer_value(value);
    else if (json_is_number(value) && fabs(number) < 9e18)
        *ret = (int64_t)number;
    else
        return false;
    return true;
}

static bool read_name(const struct answer_field *f, const json_t *value, void *at)
{
    const char *wanted = json_string_value(value), *name;
    for (int i = f->names->first; wanted && i < f->names->count && (name = f->names->name(i)); i++)
        if (strcmp(name, wanted) == 0) {
            if (f->kind == ANSWER_WORD)
                memcpy(at, &name, sizeof name);
            return f->kind == ANSWER_WORD || store_int(f, at, i);
        }
    return false;
}

/* Names of another version are left out. */
static bool take_bits(const struct answer_field *f, const json_t *value, int64_t *ret)
{
    int64_t bits = 0;
    for (size_t k = 0; k < json_array_size(value); k++)
        for (int i = f->names->first; i < f->names->count; i++)
            if (json_is_string(json_array_get(value, k)) &&
                strcmp(json_string_value(json_array_get(value, k)), f->names->name(i)) == 0)
                bits |= (int64_t)1 << i;
    *ret = bits;
    return json_is_array(value);
}

/* The number behind a reading that is written in another form. */
static bool take_form(const struct answer_field *f, const json_t *value, int64_t *ret)
{
    const char *text = json_string_value(value), *name;
    switch (f->item) {
    case ANSWER_BOOL: *ret = json_is_true(value); return json_is_boolean(value);
    case ANSWER_BITS: return take_bits(f, value, ret);
    case ANSWER_NAME:
        for (int i = f->names->first; text && i < f->names->count && (name = f->names->name(i)); i++)
            if (strcmp(name, text) == 0) {
                *ret = i;
                return true;
            }
        return false;
    default: return text && text[0] == f->letter && str_to_i64(str_from(text + 1), ret);
    }
}

static bool read_text(const json_t *value, char *to, size_t size)
{
    if (json_is_string(value))
        str_copy_clean(to, size, str_from(json_string_value(value)));
    return json_is_string(value);
}

static bool read_moment(const json_t *value, struct wall *ret)
{
    struct wall at;
    if (!json_is_string(value) || !wall_parse(str_from(json_string_value(value)), &at) || at.ms <= 0)
        return false; /* which must not read as "none" */
    *ret = at;
    return true;
}

static bool read_lines(const json_t *value, char *to, size_t size)
{
    AUTO_BUF struct buf all = BUF(64 * 1024);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *line = json_string_value(json_array_get(value, i));
        buf_printf(&all, "%s%s", i ? "\n" : "", line ? line : "");
    }
    str_copy(to, size, buf_view(&all));
    return json_is_array(value);
}

static bool read_list(const struct answer_field *f, const json_t *value, char *record)
{
    size_t count = 0;
    if (f->item != ANSWER_OBJECT && f->item != ANSWER_TEXT)
        return true; /* only written so far */
    bool fine = json_is_array(value) && json_array_size(value) <= f->size / f->stride;
    for (; count < json_array_size(value) && count < f->size / f->stride; count++) {
        const json_t *item = json_array_get(value, count);
        char *at = record + f->offset + count * f->stride;
        fine &= f->item == ANSWER_TEXT ? read_text(item, at, f->stride) : answer_read(f->of, item, at, NULL);
    }
    memcpy(record + f->count_offset, &count, sizeof count);
    return fine;
}

static bool read_map(const struct answer_field *f, const json_t *value, char *record)
{
    char *const list = record + f->offset;
    size_t count = 0;
    const char *key;
    json_t *item;
    if (f->item != ANSWER_TEXT)
        return true; /* only written so far */
    json_object_foreach((json_t *)value, key, item)
    {
        char *at = list + count * f->stride;
        size_t same = 0;
        if (count == f->size / f->stride || !json_is_string(item))
            continue;
        str_copy_clean(at, f->value_offset, str_from(key));
        read_text(item, at + f->value_offset, f->stride - f->value_offset);
        while (same < count && strcmp(list + same * f->stride, at) != 0)
            same++;
        count += same == count;
    }
    memcpy(record + f->count_offset, &count, sizeof count);
    return json_is_object(value);
}

static bool read_value(const struct answer_field *f, const json_t *value, char *record)
{
    void *at = record + f->offset;
    int64_t number;
    switch (f->kind) {
    case ANSWER_INT: return json_is_integer(value) && store_int(f, at, json_integer_value(value));
    case ANSWER_AMOUNT: return take_scaled(f, value, &number) && store_int(f, at, number);
    case ANSWER_NUMBER:
        if (json_is_number(value))
            *(double *)at = json_number_value(value) / (f->scale != 0 ? f->scale : 1);
        return json_is_number(value);
    case ANSWER_BOOL: *(bool *)at = json_is_true(value); return json_is_boolean(value);
    case ANSWER_TEXT: return read_text(value, at, f->size);
    case ANSWER_BITS: return take_bits(f, value, &number) && store_int(f, at, number);
    case ANSWER_WORD: return !f->names || read_name(f, value, at);
    case ANSWER_NAME: return read_name(f, value, at);
    case ANSWER_MOMENT: return read_moment(value, at);
    case ANSWER_READING:
    case ANSWER_OPTION:
        if (!(f->item ? take_form : take_scaled)(f, value, &number))
            return false;
        *(struct reading *)at = reading_ok(number);
        return true;
    case ANSWER_OBJECT: return answer_read(f->of, value, at, NULL);
    case ANSWER_LINES: return read_lines(value, at, f->size);
    case ANSWER_LIST: return read_list(f, value, record);
    case ANSWER_MAP: return read_map(f, value, record);
    case ANSWER_PIECE:
    case ANSWER_ANY:
    case ANSWER_KEYS: break;
    }
    return true;
}

/* There is no value: what that means to the member. */
static void read_none(const struct answer_field *f, const json_t *json, char *record)
{
    void *at = record + f->offset;
    enum reading_state why = READING_UNREAD;
    if (!reading_state_from_name(json_text(json_object_get(json, "absent"), f->key), &why) || why == READING_OK)
        why = READING_UNREAD;
    if (f->kind == ANSWER_READING || f->kind == ANSWER_OPTION) {
        *(struct reading *)at = reading_absent(why);
    } else if (f->has_state) {
        memcpy(record + f->state_offset, &why, sizeof why);
    } else if (f->kind == ANSWER_NUMBER && f->nullable) {
        *(double *)at = f->none;
    } else if ((f->kind == ANSWER_INT || f->kind == ANSWER_AMOUNT) ? f->nullable : f->kind == ANSWER_NAME && f->none != 0) {
        store_int(f, at, (int64_t)f->none);
    }
}

/* Whether it is a member that can be read. */
static bool is_member(const struct answer_field *f)
{
    return !f->make && !f->next && !f->write && (!f->state || f->kind == ANSWER_TEXT) && !f->by_pointer && !f->by_text;
}

static bool read_field(const struct answer_field *f, const json_t *json, char *record)
{
    const json_t *value = json_object_get(json, f->key);
    bool there = value && !json_is_null(value);
    if (f->flag_size == sizeof(bool))
        *(bool *)(record + f->flag_offset) = there;
    if (f->has_state)
        memcpy(record + f->state_offset, &(enum reading_state){READING_OK}, sizeof(enum reading_state));
    if (there && read_value(f, value, record))
        return true;
    if (f->flag_size == sizeof(bool))
        *(bool *)(record + f->flag_offset) = false;
    read_none(f, json, record);
    return !there;
}

bool answer_read(const struct answer *a, const json_t *json, void *record, const char **wrong)
{
    const char *first = json_is_object(json) ? NULL : "";
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        const char *inside = NULL;
        if (f->kind == ANSWER_KEYS && !f->by_pointer)
            answer_read(f->of, json, (char *)record + f->offset, &inside);
        else if (is_member(f) && !read_field(f, json, record))
            inside = f->key;
        first = first ? first : inside;
    }
    if (wrong)
        *wrong = first;
    return !first;
}
