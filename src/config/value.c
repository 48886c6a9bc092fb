/* SPDX-License-Identifier: Apache-2.0
 * Values of settings: parsed from text (defaults, environment, flags) and TOML, and the allowed values in words.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "config/config_schema.h"

enum { LIST_MAX = 256 };

static void describe_range(const struct setting *s, struct buf *out, void (*number)(struct buf *, double))
{
    if (!s->bounded)
        return;
    if (s->above) {
        buf_text(out, " above ");
        number(out, s->least);
        return;
    }
    if (s->most >= 1e15) { /* a maximum that only keeps arithmetic safe */
        if (s->least > 0) {
            buf_text(out, " of at least ");
            number(out, s->least);
        }
        return;
    }
    buf_text(out, " from ");
    number(out, s->least);
    buf_text(out, " to ");
    number(out, s->most);
}

static void plain_number(struct buf *out, double value)
{
    buf_printf(out, "%.10g", value);
}

static void duration_number(struct buf *out, double value)
{
    char text[WORDS_SIZE];
    duration_exact((int64_t)value, text);
    buf_text(out, text);
}

static void bytes_number(struct buf *out, double value)
{
    char text[WORDS_SIZE];
    bytes_exact((int64_t)value, text);
    buf_text(out, text);
}

static void describe_choices(const struct setting *s, struct buf *out)
{
    struct str word, after;
    for (size_t i = 0; setting_choice(s, i, &word); i++) {
        bool last = !setting_choice(s, i + 1, &after);
        buf_printf(out, "%s\"" STR_FMT "\"", i == 0 ? "" : last ? " or " : ", ", STR_ARG(word));
    }
}

void setting_describe_allowed(const struct setting *s, struct buf *out)
{
    static const char *const checks[] = {
        [CHECK_NONE] = "text",
        [CHECK_ADDRESS] = "\"ADDRESS:PORT\" like \"127.0.0.1:9447\" or \"[::1]:9447\", or \"none\"",
        [CHECK_STORE_URL] = "\"auto\", \"sqlite:PATH\", \"postgresql://...\" or \"none\"",
        [CHECK_HTTP_URL] = "a URL that begins with http:// or https://",
        [CHECK_NOTIFY_URL] = "a URL that begins with http://, https://, smtp://, smtps://, mqtt:// or mqtts://",
        [CHECK_NAME] = "a name of at most 64 printable characters",
    };
    switch (s->type) {
    case SETTING_BOOL: buf_text(out, "true or false"); break;
    case SETTING_INT:
        buf_text(out, "a whole number");
        describe_range(s, out, plain_number);
        break;
    case SETTING_NUMBER:
        buf_text(out, "a number");
        describe_range(s, out, plain_number);
        break;
    case SETTING_DURATION:
        buf_text(out, DURATION_SYNTAX);
        describe_range(s, out, duration_number);
        break;
    case SETTING_BYTES:
        buf_text(out, BYTES_SYNTAX);
        describe_range(s, out, bytes_number);
        break;
    case SETTING_TEXT: buf_text(out, checks[s->check]); break;
    case SETTING_CHOICE: describe_choices(s, out); break;
    case SETTING_LIST:
        if (s->check)
            buf_printf(out, "%s, or a list of these", checks[s->check]);
        else
            buf_text(out, "a list of texts like [\"a\", \"b\"]");
        break;
    case SETTING_IDS: buf_text(out, "a number or text, or a list of these"); break;
    case SETTING_MAP: buf_text(out, "a table of texts like { a = \"b\" }"); break;
    }
}

static bool value_refuse(const struct setting *s, char why[WHY_SIZE])
{
    AUTO_BUF struct buf allowed = BUF(WHY_SIZE);
    setting_describe_allowed(s, &allowed);
    snprintf(why, WHY_SIZE, "expected %s", allowed.at ? allowed.at : "");
    return false;
}

static bool in_range(const struct setting *s, double value, char why[WHY_SIZE])
{
    if (!isfinite(value) || (s->bounded && (s->above ? value <= s->least : value < s->least)) || (s->bounded && value > s->most))
        return value_refuse(s, why);
    return true;
}

static bool valid_address(struct str text)
{
    if (str_is(text, "none"))
        return true;
    struct str_place place;
    return !str_starts(text, ":") && str_to_listen(text, &place);
}

static bool valid_name(struct str text)
{
    char clean[72];
    str_copy_clean(clean, sizeof clean, text);
    return text.len <= 64 && str_is(text, clean); /* "" is the default; REQUIRED reports it as missing */
}

static bool passes_check(enum setting_check check, struct str text)
{
    switch (check) {
    case CHECK_NONE: return true;
    case CHECK_ADDRESS: return valid_address(text);
    case CHECK_STORE_URL:
        return str_is(text, "auto") || str_is(text, "none") || (str_starts(text, "sqlite:") && text.len > 7) ||
               str_starts(text, "postgresql://") || str_starts(text, "postgres://");
    case CHECK_HTTP_URL: return text.len == 0 || str_starts(text, "http://") || str_starts(text, "https://");
    case CHECK_NOTIFY_URL:
        return text.len == 0 || str_starts(text, "http://") || str_starts(text, "https://") || str_starts(text, "smtp://") ||
               str_starts(text, "smtps://") || str_starts(text, "mqtt://") || str_starts(text, "mqtts://");
    case CHECK_NAME: return valid_name(text);
    }
    return false;
}

static bool out_of_memory(char why[WHY_SIZE])
{
    snprintf(why, WHY_SIZE, "out of memory");
    return false;
}

/* Any text; a NUL inside would silently truncate it. */
static bool copy_text(struct str text, struct arena *arena, const char **to, char why[WHY_SIZE])
{
    if (memchr(text.at, '\0', text.len)) {
        snprintf(why, WHY_SIZE, "text must not hold a NUL character");
        return false;
    }
    const char *copy = arena_copy(arena, text);
    if (!copy)
        return out_of_memory(why);
    *to = copy;
    return true;
}

static bool set_text(const struct setting *s, struct str text, struct arena *arena, const char **to, char why[WHY_SIZE])
{
    return passes_check(s->check, text) ? copy_text(text, arena, to, why) : value_refuse(s, why);
}

static bool set_choice(const struct setting *s, struct str text, int *to, char why[WHY_SIZE])
{
    char wanted[64], word_text[64], hint[96];
    str_copy(wanted, sizeof wanted, text);
    struct nearest nearest;
    nearest_init(&nearest, wanted);
    struct str word;
    for (size_t i = 0; setting_choice(s, i, &word); i++) {
        if (str_equal(word, text)) {
            *to = (int)i;
            return true;
        }
        str_copy(word_text, sizeof word_text, word);
        nearest_try(&nearest, word_text);
    }
    value_refuse(s, why);
    size_t used = strlen(why);
    snprintf(why + used, WHY_SIZE - used, "%s", nearest_text(&nearest, hint, sizeof hint));
    return false;
}

static bool set_number(const struct setting *s, double value, double *to, char why[WHY_SIZE])
{
    if (!in_range(s, value, why))
        return false;
    *to = value;
    return true;
}

static bool set_integer(const struct setting *s, int64_t value, int64_t *to, char why[WHY_SIZE])
{
    if (!in_range(s, (double)value, why))
        return false;
    *to = value;
    return true;
}

static bool bool_from_text(struct str text, bool *ret)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_is(text, yes[i]) || str_is(text, no[i])) {
            *ret = str_is(text, yes[i]);
            return true;
        }
    }
    return false;
}

/* "a,b,c", or "a;b;c" if items contain commas; empty text is an empty list. */
static bool list_from_text(const struct setting *s, struct str text, struct arena *arena, struct config_list *to,
                           char why[WHY_SIZE])
{
    char separator = memchr(text.at, ';', text.len) ? ';' : ',';
    size_t count = 0;
    struct str rest = text, part;
    while (str_cut(&rest, separator, &part))
        count += str_trim(part).len > 0;
    if (count > LIST_MAX) {
        snprintf(why, WHY_SIZE, "a list has at most %d members", LIST_MAX);
        return false;
    }
    const char **items = arena_alloc(arena, (count ? count : 1) * sizeof *items);
    if (!items)
        return out_of_memory(why);
    size_t used = 0;
    rest = text;
    while (str_cut(&rest, separator, &part)) {
        part = str_trim(part);
        if (part.len && !set_text(s, part, arena, &items[used++], why))
            return false;
    }
    *to = (struct config_list){items, count};
    return true;
}

/* "a=b,c=d" */
static bool map_from_text(const struct setting *s, struct str text, struct arena *arena, struct config_map *to, char why[WHY_SIZE])
{
    struct config_list list;
    if (!list_from_text(s, text, arena, &list, why))
        return false;
    struct config_pair *pairs = arena_alloc(arena, (list.count ? list.count : 1) * sizeof *pairs);
    if (!pairs)
        return out_of_memory(why);
    for (size_t i = 0; i < list.count; i++) {
        const char *equals = strchr(list.items[i], '=');
        if (!equals)
            return value_refuse(s, why);
        if (!copy_text((struct str){list.items[i], (size_t)(equals - list.items[i])}, arena, &pairs[i].key, why))
            return false;
        pairs[i].value = equals + 1;
    }
    *to = (struct config_map){pairs, list.count};
    return true;
}

bool value_append(const struct setting *s, struct str text, struct arena *arena, struct config_list *list, char why[WHY_SIZE])
{
    if (list->count == LIST_MAX) {
        snprintf(why, WHY_SIZE, "a list has at most %d members", LIST_MAX);
        return false;
    }
    const char **items = arena_alloc(arena, (list->count + 1) * sizeof *items);
    if (!items)
        return out_of_memory(why);
    if (list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    if (!set_text(s, text, arena, &items[list->count], why))
        return false;
    *list = (struct config_list){items, list->count + 1};
    return true;
}

bool value_from_text(const struct setting *s, struct str text, struct arena *arena, void *to, char why[WHY_SIZE])
{
    int64_t integer;
    double number;
    switch (s->type) {
    case SETTING_BOOL: return bool_from_text(text, to) || value_refuse(s, why);
    case SETTING_INT: return str_to_i64(text, &integer) ? set_integer(s, integer, to, why) : value_refuse(s, why);
    case SETTING_NUMBER: return str_to_double(text, &number) ? set_number(s, number, to, why) : value_refuse(s, why);
    case SETTING_DURATION: return duration_parse(text, &integer) ? set_integer(s, integer, to, why) : value_refuse(s, why);
    case SETTING_BYTES: return bytes_parse(text, &integer) ? set_integer(s, integer, to, why) : value_refuse(s, why);
    case SETTING_TEXT: return set_text(s, text, arena, to, why);
    case SETTING_CHOICE: return set_choice(s, text, to, why);
    case SETTING_LIST:
    case SETTING_IDS: return list_from_text(s, text, arena, to, why);
    case SETTING_MAP: return map_from_text(s, text, arena, to, why);
    }
    return false;
}

/* An item of a list or map, as text. */
static bool scalar_text(const struct toml_value *v, bool numbers, struct arena *arena, const char **to, char why[WHY_SIZE])
{
    char digits[32];
    if (v->type == TOML_TEXT)
        return copy_text(v->text, arena, to, why);
    if (v->type != TOML_INTEGER || !numbers)
        return false;
    snprintf(digits, sizeof digits, "%lld", (long long)v->integer);
    return copy_text(str_from(digits), arena, to, why);
}

static bool list_from_toml(const struct setting *s, const struct toml_value *v, struct arena *arena, struct config_list *to,
                           char why[WHY_SIZE])
{
    bool one = v->type == TOML_TEXT || (v->type == TOML_INTEGER && s->type == SETTING_IDS); /* "a" stands for ["a"] */
    if ((!one && v->type != TOML_ARRAY) || (!one && v->count > LIST_MAX))
        return value_refuse(s, why);
    size_t count = one ? 1 : v->count, used = 0;
    const char **items = arena_alloc(arena, (count ? count : 1) * sizeof *items);
    if (!items)
        return out_of_memory(why);
    for (const struct toml_value *m = one ? v : v->first; used < count; m = m->next, used++)
        if (!scalar_text(m, s->type == SETTING_IDS, arena, &items[used], why) || !passes_check(s->check, str_from(items[used])))
            return value_refuse(s, why);
    *to = (struct config_list){items, count};
    return true;
}

static bool map_from_toml(const struct setting *s, const struct toml_value *v, struct arena *arena, struct config_map *to,
                          char why[WHY_SIZE])
{
    if (v->type != TOML_TABLE || v->count > LIST_MAX)
        return value_refuse(s, why);
    struct config_pair *pairs = arena_alloc(arena, (v->count ? v->count : 1) * sizeof *pairs);
    if (!pairs)
        return out_of_memory(why);
    size_t used = 0;
    for (const struct toml_value *m = v->first; m; m = m->next, used++)
        if (!copy_text(m->key, arena, &pairs[used].key, why) || !scalar_text(m, true, arena, &pairs[used].value, why))
            return value_refuse(s, why);
    *to = (struct config_map){pairs, used};
    return true;
}

static bool value_number_of(const struct toml_value *v, double *ret)
{
    if (v->type != TOML_INTEGER && v->type != TOML_NUMBER)
        return false;
    *ret = v->type == TOML_INTEGER ? (double)v->integer : v->number;
    return true;
}

bool value_from_toml(const struct setting *s, const struct toml_value *v, struct arena *arena, void *to, char why[WHY_SIZE])
{
    double number;
    switch (s->type) {
    case SETTING_BOOL:
        if (v->type != TOML_BOOL)
            return value_refuse(s, why);
        *(bool *)to = v->boolean;
        return true;
    case SETTING_INT:
        if (value_number_of(v, &number) && number == floor(number) && fabs(number) < 9e15)
            return set_integer(s, (int64_t)number, to, why);
        return value_refuse(s, why);
    case SETTING_NUMBER: return value_number_of(v, &number) ? set_number(s, number, to, why) : value_refuse(s, why);
    case SETTING_BYTES:
        if (v->type == TOML_INTEGER)
            return v->integer >= 0 ? set_integer(s, v->integer, to, why) : value_refuse(s, why);
        break;
    case SETTING_DURATION:
        if (v->type == TOML_INTEGER && v->integer == 0)
            return set_integer(s, 0, to, why);
        break;
    case SETTING_LIST:
    case SETTING_IDS: return list_from_toml(s, v, arena, to, why);
    case SETTING_MAP: return map_from_toml(s, v, arena, to, why);
    case SETTING_TEXT:
    case SETTING_CHOICE: break;
    }
    return v->type == TOML_TEXT ? value_from_text(s, v->text, arena, to, why) : value_refuse(s, why);
}

size_t value_size(const struct setting *s)
{
    static const size_t sizes[] = {
        [SETTING_BOOL] = sizeof(bool),
        [SETTING_INT] = sizeof(int64_t),
        [SETTING_NUMBER] = sizeof(double),
        [SETTING_DURATION] = sizeof(int64_t),
        [SETTING_BYTES] = sizeof(int64_t),
        [SETTING_TEXT] = sizeof(const char *),
        [SETTING_CHOICE] = sizeof(int),
        [SETTING_LIST] = sizeof(struct config_list),
        [SETTING_IDS] = sizeof(struct config_list),
        [SETTING_MAP] = sizeof(struct config_map),
    };
    return sizes[s->type];
}

bool value_equal(const struct setting *s, const void *a, const void *b)
{
    /* Values that print the same are equal; lists and maps keep their order. */
    AUTO_BUF struct buf left = BUF(1 << 20), right = BUF(1 << 20);
    value_write(s, a, &left);
    value_write(s, b, &right);
    return !left.failed && !right.failed && str_equal(buf_view(&left), buf_view(&right));
}
