/* SPDX-License-Identifier: Apache-2.0
 * Settings as text: values in TOML, and what is in force and from where.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "config/schema.h"

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
    /* The shortest text that reads back to the same number, with a fraction so that TOML takes it for one. */
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
    case CONFIG_FROM_FILE: snprintf(text, size, "%s:%d", where, origin->line); break;
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

/* The value, or "hidden" for a secret that is set. */
static void show_value(const struct setting *s, const struct config_entry *entry, bool secrets, struct buf *out)
{
    size_t before = out->len;
    value_write(s, setting_at(entry, s), out);
    bool empty =
        before < out->len && (str_ends(buf_view(out), "\"\"") || str_ends(buf_view(out), "{}") || str_ends(buf_view(out), "[]"));
    bool plain = s->check == CHECK_STORE_URL && !strchr(*(const char *const *)setting_at(entry, s), '@');
    if ((s->flags & SECRET) && !secrets && !empty && !plain && !out->failed) {
        out->len = before;
        buf_text(out, "\"(hidden)\"");
    }
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

static void json_value(struct json_writer *j, const struct setting *s, const struct config_entry *entry, bool secrets)
{
    const void *value = setting_at(entry, s);
    struct str word;
    AUTO_BUF struct buf shown = BUF(1 << 16);
    show_value(s, entry, secrets, &shown);
    if (shown.at && strcmp(shown.at, "\"(hidden)\"") == 0) {
        jw_text(j, "(hidden)");
        return;
    }
    switch (s->type) {
    case SETTING_BOOL: jw_bool(j, *(const bool *)value); break;
    case SETTING_INT: jw_int(j, *(const int64_t *)value); break;
    case SETTING_NUMBER: jw_number(j, *(const double *)value); break;
    case SETTING_DURATION:
    case SETTING_BYTES: jw_raw(j, buf_view(&shown)); break; /* "30s" reads the same in JSON */
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

void config_write_show_json(const struct config *config, bool secrets, struct buf *out)
{
    static const char *const kinds[] = {"default", "profile", "file", "environment", "flag"};
    struct json_writer j = JSON_WRITER_PRETTY(out);
    jw_object(&j);
    jw_key_array(&j, "files");
    for (size_t i = 0; i < config->file_count; i++)
        jw_text(&j, config->files[i]);
    jw_end(&j);
    jw_key_array(&j, "settings");
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(config, section); e++) {
            const struct config_entry *entry = section_entry(config, section, e);
            for (size_t k = 0; k < section->count; k++) {
                const struct setting *s = &section->settings[k];
                AUTO_BUF struct buf key = BUF(1024);
                entry_path(section, entry, e, &key);
                buf_printf(&key, ".%s", s->key);
                jw_object(&j);
                jw_key_text(&j, "key", key.at);
                jw_key(&j, "value");
                json_value(&j, s, entry, secrets);
                jw_key_text(&j, "origin", kinds[entry->origins[k].kind]);
                jw_key_text(&j, "where", entry->origins[k].where);
                jw_key(&j, "line");
                if (entry->origins[k].line)
                    jw_int(&j, entry->origins[k].line);
                else
                    jw_null(&j);
                jw_key_bool(&j, "needs_restart", s->flags & RESTART);
                jw_end(&j);
            }
        }
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
}
