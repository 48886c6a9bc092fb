/* SPDX-License-Identifier: Apache-2.0
 * config.def as data, for code that iterates over all settings. Private to config/.
 */
#pragma once

#include "base/arena.h"
#include "base/toml.h"
#include "base/words.h"
#include "config/config.h"

enum setting_type {
    SETTING_BOOL,
    SETTING_INT,
    SETTING_NUMBER,
    SETTING_DURATION,
    SETTING_BYTES,
    SETTING_TEXT,
    SETTING_CHOICE,
    SETTING_LIST,
    SETTING_IDS,
    SETTING_MAP,
};

enum setting_check { CHECK_NONE, CHECK_ADDRESS, CHECK_STORE_URL, CHECK_HTTP_URL, CHECK_NOTIFY_URL, CHECK_NAME };

enum setting_flags { RELOAD = 0, RESTART = 1 << 0, REQUIRED = 1 << 1, SECRET = 1 << 2, COMMAND = 1 << 3, FILE_READ = 1 << 4 };

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset; /* in its struct config_<section> */
    const char *fallback;
    bool bounded, above; /* above: excludes the minimum itself */
    double least, most;
    const char *choices; /* "a|b|c" */
    enum setting_check check;
    unsigned flags;
    const char *help;
};

enum section_kind { SECTION_PLAIN, SECTION_NAMED, SECTION_REPEATED };

struct section {
    const char *path;
    enum section_kind kind;
    const struct setting *settings;
    size_t count;
    size_t offset;       /* in struct config: of the struct, or of the pointer to the entries */
    size_t count_offset; /* of a group: of the entry count */
    size_t size;         /* of one struct config_<section> */
    const char *help;
};

extern const struct section config_sections[];
extern const size_t config_section_count;

/* The current name of a table or setting, if it was renamed. `section` is its parent table. */
struct str config_name_now(struct str section, struct str name);
const struct section *section_find(struct str path);
const struct setting *section_setting(const struct section *section, struct str key);
/* "section.key" of a plain section. */
const struct setting *setting_find(struct str path, const struct section **section);
/* "WHIRR_SERVER_LISTEN" */
void setting_variable(const struct section *section, const struct setting *setting, char *text, size_t size);

/* The number of tables of a section: one for a plain section, any for a group. */
size_t section_entries(const struct config *config, const struct section *section);
struct config_entry *section_entry(const struct config *config, const struct section *section, size_t i);
/* The value must not be shown at all. */
bool setting_is_secret(const struct setting *s, const void *value);

/* Where its value comes from. */
static inline const struct config_origin *setting_origin(const struct section *section, const struct config_entry *entry,
                                                         const struct setting *setting)
{
    return &entry->origins[setting - section->settings];
}

static inline void *setting_at(const struct config_entry *entry, const struct setting *setting)
{
    return (char *)entry + setting->offset;
}

/* Conversions (value.c). False on failure, with the allowed values in `why`. */
enum { WHY_SIZE = 384 };
bool value_from_text(const struct setting *setting, struct str text, struct arena *arena, void *to, char why[WHY_SIZE]);
bool value_from_toml(const struct setting *setting, const struct toml_value *value, struct arena *arena, void *to,
                     char why[WHY_SIZE]);
/* Appends an item to a list. */
bool value_append(const struct setting *setting, struct str text, struct arena *arena, struct config_list *list,
                  char why[WHY_SIZE]);
bool value_equal(const struct setting *setting, const void *a, const void *b);
size_t value_size(const struct setting *setting);
/* In TOML syntax. */
void value_write(const struct setting *setting, const void *value, struct buf *out);
/* "a whole number from 0 to 60000": for messages and docs. */
void setting_describe_allowed(const struct setting *setting, struct buf *out);
/* The i-th word of a CHOICE; false after the last. */
bool setting_choice(const struct setting *setting, size_t i, struct str *word);

/* Profiles, required settings and constraints between settings (check.c). When profile_apply runs on a table, `config` is
 * complete except for inherited values of group entries. */
void profile_apply(struct config_entry *entry, const struct section *section, struct config_problems *problems);
void config_check(const struct config *config, struct config_problems *problems);

/* Who may write and read files (trust.c). */
/* Whether only root and this user can have written the file; if not, why. */
bool config_trusts(const struct env *env, const char *path, char why[WHY_SIZE]);
/* How to make a file readable for this user, which is the daemon's: not with chmod 600, which serves the owner. */
const char *config_way_to_read(const char *path, char text[WHY_SIZE]);
/* Reports files named by settings that this user can't read, and secrets in world-readable files. */
void config_check_access(const struct config *config, struct config_problems *problems);
