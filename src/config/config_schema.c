/* SPDX-License-Identifier: Apache-2.0
 * config.def as tables, and lookups in them.
 */
#include "config/config_schema.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"

#define ANY .bounded = false
#define RANGE(a, b) .bounded = true, .least = (a), .most = (b)
#define ABOVE(a) .bounded = true, .above = true, .least = (a), .most = 1e9
#define ONE_OF(words) .choices = (words)
#define ADDRESS .check = CHECK_ADDRESS
#define STORE_URL .check = CHECK_STORE_URL
#define HTTP_URL .check = CHECK_HTTP_URL
#define NOTIFY_URL .check = CHECK_NOTIFY_URL
#define NAME .check = CHECK_NAME

#define SECTION(id, ...) static const struct setting settings_##id[] = {
#define GROUP(id, ...) SECTION(id)
#define SETTING(id, field, key_, type_, default_, allowed, when, help_) \
    {.key = (key_),                                                     \
     .type = SETTING_##type_,                                           \
     .offset = offsetof(struct config_##id, field),                     \
     .fallback = (default_),                                            \
     allowed,                                                           \
     .flags = (when),                                                   \
     .help = (help_)},
#define END_SECTION(id) \
    }                   \
    ;
#define END_GROUP(id) END_SECTION(id)
#include "config/config.def"
#undef SECTION
#undef GROUP
#undef SETTING
#undef END_SECTION
#undef END_GROUP

const struct section config_sections[] = {
#define SECTION(id, path_, help_)           \
    {.path = (path_),                       \
     .kind = SECTION_PLAIN,                 \
     .settings = settings_##id,             \
     .count = ARRAY_LEN(settings_##id),     \
     .offset = offsetof(struct config, id), \
     .size = sizeof(struct config_##id),    \
     .help = (help_)},
#define GROUP(id, path_, kind_, help_)                    \
    {.path = (path_),                                     \
     .kind = SECTION_##kind_,                             \
     .settings = settings_##id,                           \
     .count = ARRAY_LEN(settings_##id),                   \
     .offset = offsetof(struct config, id),               \
     .count_offset = offsetof(struct config, id##_count), \
     .size = sizeof(struct config_##id),                  \
     .help = (help_)},
#define SETTING(...)
#define END_SECTION(id)
#define END_GROUP(id)
#include "config/config.def"
#undef SECTION
#undef GROUP
#undef SETTING
#undef END_SECTION
#undef END_GROUP
};
const size_t config_section_count = ARRAY_LEN(config_sections);

/* Names before 0.2: accepted, but not documented. */
static const struct {
    const char *section, *before, *now;
} renamed[] = {{"guard", "way", "method"}, {"guard.worker", "ways", "methods"}};

struct str config_name_now(struct str section, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
        if (str_is(section, renamed[i].section) && str_is(name, renamed[i].before))
            return str_from(renamed[i].now);
    return name;
}

const struct section *section_find(struct str path)
{
    for (size_t i = 0; i < config_section_count; i++)
        if (str_is(path, config_sections[i].path))
            return &config_sections[i];
    return NULL;
}

const struct setting *section_setting(const struct section *section, struct str key)
{
    for (size_t i = 0; i < section->count; i++)
        if (str_is(key, section->settings[i].key))
            return &section->settings[i];
    return NULL;
}

const struct setting *setting_find(struct str path, const struct section **section)
{
    const char *dot = memrchr(path.at, '.', path.len);
    if (!dot)
        return NULL;
    struct str table = {path.at, (size_t)(dot - path.at)}, key = {dot + 1, path.len - table.len - 1};
    *section = section_find(table);
    return *section && (*section)->kind == SECTION_PLAIN ? section_setting(*section, key) : NULL;
}

void setting_variable(const struct section *section, const struct setting *setting, char *text, size_t size)
{
    snprintf(text, size, "WHIRR_%s_%s", section->path, setting->key);
    for (char *p = text; *p; p++)
        *p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
}

size_t section_entries(const struct config *config, const struct section *section)
{
    return section->kind == SECTION_PLAIN ? 1 : *(const size_t *)((const char *)config + section->count_offset);
}

struct config_entry *section_entry(const struct config *config, const struct section *section, size_t i)
{
    char *at = (char *)config + section->offset;
    if (section->kind != SECTION_PLAIN)
        at = *(char **)at + i * section->size;
    return (struct config_entry *)at;
}

bool setting_choice(const struct setting *setting, size_t i, struct str *word)
{
    struct str rest = str_from(setting->choices);
    while (str_cut(&rest, '|', word))
        if (i-- == 0)
            return true;
    return false;
}
