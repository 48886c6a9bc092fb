/* SPDX-License-Identifier: Apache-2.0
 * Compares two configurations: what changed, and which changes need a restart.
 */
#include <stdarg.h>
#include <stdio.h>

#include "config/config_schema.h"

static void add_change(struct config_changes *changes, bool needs_restart, const char *format, ...)
    __attribute__((format(gnu_printf, 3, 4)));

static void add_change(struct config_changes *changes, bool needs_restart, const char *format, ...)
{
    if (needs_restart)
        changes->needing_restart++;
    else
        changes->applied++;
    if (changes->count == CONFIG_CHANGES_MAX) {
        changes->left_out++;
        return;
    }
    struct config_change *change = &changes->list[changes->count++];
    change->needs_restart = needs_restart;
    va_list args;
    va_start(args, format);
    vsnprintf(change->key, sizeof change->key, format, args);
    va_end(args);
}

/* The name that identifies a table within its group. */
static const char *name_of(const struct section *section, const struct config_entry *entry)
{
    const struct setting *name = section->kind == SECTION_REPEATED ? section_setting(section, STR("name")) : NULL;
    return name ? *(const char *const *)setting_at(entry, name) : entry->name;
}

static const struct config_entry *find_entry(const struct config *config, const struct section *section, const char *name)
{
    for (size_t i = 0; i < section_entries(config, section); i++) {
        const struct config_entry *entry = section_entry(config, section, i);
        if (strcmp(name_of(section, entry), name) == 0)
            return entry;
    }
    return NULL;
}

static void compare_entries(const struct section *section, const struct config_entry *before, const struct config_entry *after,
                            struct config_changes *changes)
{
    const char *name = name_of(section, after);
    for (size_t k = 0; k < section->count; k++) {
        const struct setting *s = &section->settings[k];
        if (!value_equal(s, setting_at(before, s), setting_at(after, s)))
            add_change(changes, s->flags & RESTART, "%s%s%s.%s", section->path, name[0] ? "." : "", name, s->key);
    }
}

/* Adding or removing a table needs a restart if it sets anything that does. */
static bool touches_restart(const struct section *section, const struct config_entry *entry)
{
    for (size_t k = 0; k < section->count; k++)
        if ((section->settings[k].flags & RESTART) && entry->origins[k].kind != CONFIG_FROM_DEFAULT)
            return true;
    return false;
}

void config_compare(const struct config *before, const struct config *after, struct config_changes *changes)
{
    *changes = (struct config_changes){0};
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(after, section); e++) {
            const struct config_entry *entry = section_entry(after, section, e);
            const struct config_entry *was = find_entry(before, section, name_of(section, entry));
            if (was)
                compare_entries(section, was, entry, changes);
            else
                add_change(changes, touches_restart(section, entry), "%s.%s", section->path, name_of(section, entry));
        }
        for (size_t e = 0; e < section_entries(before, section); e++) {
            const struct config_entry *entry = section_entry(before, section, e);
            if (!find_entry(after, section, name_of(section, entry)))
                add_change(changes, touches_restart(section, entry), "%s.%s", section->path, name_of(section, entry));
        }
    }
}
