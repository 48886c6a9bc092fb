/* SPDX-License-Identifier: Apache-2.0
 * Settings as text: values in TOML, and the effective settings with their origins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/secret/mask.h"
#include "base/words.h"
#include "config/config_schema.h"

static void write_text(const char *text, struct buf *out)
{
    buf_char(out, '"');
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_text(out, "\\n");
        else if ((c < 0x20 && c != '\t') || c == 0x7f)
            buf_printf(out, "\\u%04x", c);
        else
            buf_char(out, *p);
    }
    buf_char(out, '"');
}

static void write_key(const char *key, struct buf *out)
{
    bool bare = key[0] && strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(key);
    if (bare)
        buf_text(out, key);
    else
        write_text(key, out);
}

static void write_number(double value, struct buf *out)
{
    /* The shortest text that reads back to the same number, with a fraction so that TOML reads a float. */
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back;
        if (str_to_double(str_from(text), &back) && back == value)
            break;
    }
    buf_text(out, text);
    if (!strpbrk(text, ".e"))
        buf_text(out, ".0");
}

void value_write(const struct setting *s, const void *value, struct buf *out)
{
    char text[WORDS_SIZE];
    struct str word;
    switch (s->type) {
    case SETTING_BOOL: buf_text(out, *(const bool *)value ? "true" : "false"); break;
    case SETTING_INT: buf_printf(out, "%lld", (long long)*(const int64_t *)value); break;
    case SETTING_NUMBER: write_number(*(const double *)value, out); break;
    case SETTING_DURATION:
        duration_exact(*(const int64_t *)value, text);
        write_text(text, out);
        break;
    case SETTING_BYTES:
        bytes_exact(*(const int64_t *)value, text);
        write_text(text, out);
        break;
    case SETTING_TEXT: write_text(*(const char *const *)value, out); break;
    case SETTING_CHOICE:
        if (setting_choice(s, (size_t) * (const int *)value, &word))
            buf_printf(out, "\"" STR_FMT "\"", STR_ARG(word));
        break;
    case SETTING_LIST:
    case SETTING_IDS: {
        const struct config_list *list = value;
        buf_char(out, '[');
        for (size_t i = 0; i < list->count; i++) {
            buf_text(out, i ? ", " : "");
            write_text(list->items[i], out);
        }
        buf_char(out, ']');
        break;
    }
    case SETTING_MAP: {
        const struct config_map *map = value;
        buf_char(out, '{');
        for (size_t i = 0; i < map->count; i++) {
            buf_text(out, i ? ", " : " ");
            write_key(map->pairs[i].key, out);
            buf_text(out, " = ");
            write_text(map->pairs[i].value, out);
        }
        buf_text(out, map->count ? " }" : "}");
        break;
    }
    }
}

void config_origin_text(const struct config_origin *origin, char *text, size_t size)
{
    const char *where = origin->where ? origin->where : "";
    switch (origin->kind) {
    case CONFIG_FROM_DEFAULT: snprintf(text, size, "%s%s", origin->where ? "as " : "default", where); break;
    case CONFIG_FROM_PROFILE: snprintf(text, size, "profile %s", where); break;
    case CONFIG_FROM_FILE: snprintf(text, size, origin->line ? "%s:%d" : "%s", where, origin->line); break;
    case CONFIG_FROM_ENVIRONMENT: snprintf(text, size, "environment %s", where); break;
    case CONFIG_FROM_FLAG: snprintf(text, size, "%s", where); break;
    }
}

static void entry_path(const struct section *section, const struct config_entry *entry, size_t i, struct buf *out)
{
    buf_text(out, section->path);
    if (section->kind == SECTION_NAMED) {
        buf_char(out, '.');
        write_key(entry->name, out);
    } else if (section->kind == SECTION_REPEATED) {
        buf_printf(out, "[%zu]", i);
    }
}

/* ---- masking values ---- */

union masked_value {
    const char *text;
    struct config_list list;
    struct config_map map;
};

static bool is_empty(const struct setting *s, const void *value)
{
    switch (s->type) {
    case SETTING_TEXT: return !**(const char *const *)value;
    case SETTING_LIST:
    case SETTING_IDS: return ((const struct config_list *)value)->count == 0;
    case SETTING_MAP: return ((const struct config_map *)value)->count == 0;
    default: return false;
    }
}

bool setting_is_secret(const struct setting *s, const void *value)
{
    bool plain = s->check == CHECK_STORE_URL && !strchr(*(const char *const *)value, '@');
    return (s->flags & SECRET) && !plain && !is_empty(s, value);
}

static const char *masked(struct str name, const char *text, struct arena *arena)
{
    AUTO_BUF struct buf out = BUF(1 << 16);
    mask_value(name, str_from(text), &out);
    const char *copy = out.failed ? NULL : arena_copy(arena, buf_view(&out));
    return copy ? copy : "(hidden)";
}

/* Arguments of a command may be passwords: show only those that can't be. */
static bool can_be_secret(const char *word)
{
    double number;
    return word[0] && word[0] != '-' && word[0] != '/' && word[0] != '{' && !str_to_double(str_from(word), &number);
}

/* The words of a command give each other context: mask them together. */
static void mask_command(const struct config_list *list, const char **items, struct arena *arena)
{
    AUTO_BUF struct buf out = BUF(1 << 18);
    AUTO_FREE struct str *words = calloc(list->count, sizeof *words);
    for (size_t i = 0; words && i < list->count; i++)
        words[i] = str_from(list->items[i]);
    if (words)
        mask_each(words, list->count, &out);
    struct str rest = buf_view(&out), word;
    for (size_t i = 0; i < list->count; i++) {
        const char *copy = words && !out.failed && str_cut(&rest, '\0', &word) ? arena_copy(arena, word) : NULL;
        items[i] = !copy ? "(hidden)" : i && can_be_secret(copy) ? "***" : copy;
    }
}

/* Mask every text: any of them may contain a password. */
static const void *mask_setting(const struct setting *s, const void *value, struct arena *arena, union masked_value *room)
{
    const struct config_list *list = value;
    const struct config_map *map = value;
    switch (s->type) {
    case SETTING_TEXT: room->text = masked(STR(""), *(const char *const *)value, arena); return room;
    case SETTING_LIST:
    case SETTING_IDS: {
        const char **items = arena_alloc(arena, (list->count + 1) * sizeof *items);
        if (items && (s->flags & COMMAND))
            mask_command(list, items, arena);
        for (size_t i = 0; items && i < list->count && !(s->flags & COMMAND); i++)
            items[i] = masked(STR(""), list->items[i], arena);
        room->list = (struct config_list){items, items ? list->count : 0};
        return room;
    }
    case SETTING_MAP: {
        struct config_pair *pairs = arena_alloc(arena, (map->count + 1) * sizeof *pairs);
        for (size_t i = 0; pairs && i < map->count; i++)
            pairs[i] = (struct config_pair){map->pairs[i].key, masked(str_from(map->pairs[i].key), map->pairs[i].value, arena)};
        room->map = (struct config_map){pairs, pairs ? map->count : 0};
        return room;
    }
    default: return value;
    }
}

bool config_key_is_secret(struct str key)
{
    for (size_t i = 0; i < config_section_count; i++) {
        const struct setting *s = section_setting(&config_sections[i], key);
        if (s && (s->flags & SECRET))
            return true;
    }
    return false;
}

/* The value with secrets masked, or "(hidden)". */
static void show_value(const struct setting *s, const struct config_entry *entry, bool secrets, struct buf *out)
{
    const void *value = setting_at(entry, s);
    struct arena arena = ARENA(1 << 20);
    union masked_value room;
    if (!secrets && setting_is_secret(s, value))
        buf_text(out, "\"(hidden)\"");
    else
        value_write(s, secrets ? value : mask_setting(s, value, &arena, &room), out);
    arena_done(&arena);
}

void config_write_show(const struct config *config, bool secrets, struct buf *out)
{
    enum { COMMENT_COLUMN = 48 };
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(config, section); e++) {
            const struct config_entry *entry = section_entry(config, section, e);
            buf_text(out, out->len ? "\n" : "");
            buf_text(out, section->kind == SECTION_REPEATED ? "[[" : "[");
            if (section->kind == SECTION_NAMED)
                entry_path(section, entry, e, out);
            else
                buf_text(out, section->path);
            buf_text(out, section->kind == SECTION_REPEATED ? "]]\n" : "]\n");
            for (size_t k = 0; k < section->count; k++) {
                const struct setting *s = &section->settings[k];
                char origin[512];
                config_origin_text(&entry->origins[k], origin, sizeof origin);
                size_t begin = out->len;
                buf_printf(out, "%s = ", s->key);
                show_value(s, entry, secrets, out);
                size_t used = out->len - begin;
                buf_printf(out, "%*s # %s\n", used < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - used) : 0, "", origin);
            }
        }
    }
}

static void json_value(struct json_writer *j, const struct setting *s, const void *value)
{
    struct str word;
    switch (s->type) {
    case SETTING_BOOL: jw_bool(j, *(const bool *)value); break;
    case SETTING_INT: jw_int(j, *(const int64_t *)value); break;
    case SETTING_NUMBER: jw_number(j, *(const double *)value); break;
    case SETTING_DURATION:
    case SETTING_BYTES: {
        AUTO_BUF struct buf text = BUF(256);
        value_write(s, value, &text);
        jw_raw(j, buf_view(&text)); /* "30s" has the same syntax in JSON */
        break;
    }
    case SETTING_TEXT: jw_text(j, *(const char *const *)value); break;
    case SETTING_CHOICE: jw_str(j, setting_choice(s, (size_t) * (const int *)value, &word) ? word : STR("")); break;
    case SETTING_LIST:
    case SETTING_IDS: {
        const struct config_list *list = value;
        jw_array(j);
        for (size_t i = 0; i < list->count; i++)
            jw_text(j, list->items[i]);
        jw_end(j);
        break;
    }
    case SETTING_MAP: {
        const struct config_map *map = value;
        jw_object(j);
        for (size_t i = 0; i < map->count; i++)
            jw_key_text(j, map->pairs[i].key, map->pairs[i].value);
        jw_end(j);
        break;
    }
    }
}

/* ---- as JSON ---- */

/* The setting being written, and where it is found. */
struct told_settings {
    const struct config *config;
    bool secrets;
    size_t section, in_section, in_entry;
    const struct config_entry *entry;
    const struct setting *s;
    const struct config_origin *origin;
    char key[1024];
};

static const char *origin_name(enum config_origin_kind kind)
{
    return (const char *const[]){"default", "profile", "file", "environment", "flag"}[kind];
}
ANSWER_NAMES(origins, enum config_origin_kind, origin_name, CONFIG_FROM_DEFAULT, CONFIG_FROM_FLAG);

ANSWER_TABLE(origin_answer, struct config_origin)
{
    FIELD(NAME, "origin", kind, NULL, NAMES(origins));
    FIELD(WORD, "where", where, "The file, the variable or the option", OR_NULL);
    FIELD(INT, "line", line, NULL, OR_NULL);
}

static void write_shown(const struct answer_at *at, struct json_writer *j)
{
    const struct told_settings *told = at->record;
    const void *value = setting_at(told->entry, told->s);
    struct arena arena = ARENA(1 << 20);
    union masked_value room;
    if (!told->secrets && setting_is_secret(told->s, value))
        jw_text(j, "(hidden)");
    else
        json_value(j, told->s, told->secrets ? value : mask_setting(told->s, value, &arena, &room));
    arena_done(&arena);
}

ANSWER_MAKER(needs_restart, struct told_settings, yes, of->s->flags &RESTART);

ANSWER_TABLE(setting_answer, struct told_settings, .name = "Setting")
{
    FIELD(TEXT, "key", key, NULL);
    WRITER(ANY, "value", write_shown, "A number, a text, a list or a table");
    VIA(KEYS, NULL, origin, origin_answer, NULL);
    MADE(BOOL, "needs_restart", needs_restart, "Whether a change takes effect at the next start only");
}

static const void *next_setting(const struct answer_at *at, struct answer_step *step)
{
    struct told_settings *told = at->context;
    for (; told->section < config_section_count; told->section++, told->in_section = 0) {
        const struct section *section = &config_sections[told->section];
        for (; told->in_section < section_entries(told->config, section); told->in_section++, told->in_entry = 0) {
            if (told->in_entry == section->count)
                continue;
            AUTO_BUF struct buf key = BUF(sizeof told->key);
            told->entry = section_entry(told->config, section, told->in_section);
            told->s = &section->settings[told->in_entry];
            told->origin = &told->entry->origins[told->in_entry++];
            entry_path(section, told->entry, told->in_section, &key);
            buf_printf(&key, ".%s", told->s->key);
            str_copy(told->key, sizeof told->key, buf_view(&key));
            return told;
        }
    }
    (void)step;
    return NULL;
}

ANSWER_TABLE(files_answer, struct config)
{
    TEXTS(WORD, "files", files, file_count, "Configuration files that were read");
}

SHARED_ANSWER_TABLE(settings_answer, struct told_settings, .name = "Settings")
{
    VIA(KEYS, NULL, config, files_answer, NULL);
    EACH(OBJECT, "settings", next_setting, NULL, FIELDS(setting_answer));
}

void config_write_show_json(const struct config *config, bool secrets, struct buf *out)
{
    struct told_settings told = {.config = config, .secrets = secrets};
    answer_write(JSON_PAGE(out), &settings_answer, &told, &told);
}
