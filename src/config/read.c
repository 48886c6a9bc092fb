/* SPDX-License-Identifier: Apache-2.0
 * Reads one file into the configuration: maps tables to sections, and reports unknown ones.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/loader.h"

enum { PATH_MAX_LENGTH = 480 };

static struct config_origin file_origin(const struct loader *l, struct toml_position at)
{
    return (struct config_origin){CONFIG_FROM_FILE, l->file, at.line, at.column};
}

/* A table of a group, created on first use. NULL: too many, or out of memory. */
static struct config_entry *group_entry(struct loader *l, const struct section *section, struct str name, struct toml_position at)
{
    void **entries = (void **)((char *)l->config + section->offset);
    size_t *count = (size_t *)((char *)l->config + section->count_offset);
    for (size_t i = 0; i < *count && name.len; i++)
        if (str_is(name, section_entry(l->config, section, i)->name))
            return section_entry(l->config, section, i);
    struct config_origin origin = file_origin(l, at);
    if (*count == CONFIG_ENTRIES_MAX) {
        problem_add(l->problems, false, &origin, "more than %d tables of [%s]", CONFIG_ENTRIES_MAX, section->path);
        return NULL;
    }
    if (!*entries)
        *entries = arena_alloc(l->arena, CONFIG_ENTRIES_MAX * section->size);
    if (!*entries) {
        l->out_of_memory = true;
        return NULL;
    }
    struct config_entry *entry = section_entry(l->config, section, *count);
    if (!loader_prepare_entry(l, section, entry, name))
        return NULL;
    entry->at = origin;
    ++*count;
    return entry;
}

static void report_unknown(struct loader *l, const char *path, const struct toml_value *value)
{
    struct nearest nearest;
    nearest_init(&nearest, path);
    char candidate[CONFIG_KEY_SIZE], hint[CONFIG_KEY_SIZE + 32];
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        nearest_try(&nearest, section->path);
        /* Users name group members freely: compare below the same name. */
        size_t len = strlen(section->path);
        const char *dot = strncmp(path, section->path, len) == 0 && path[len] == '.' ? strrchr(path, '.') : NULL;
        for (size_t k = 0; k < section->count; k++) {
            if (section->kind == SECTION_NAMED && dot && dot > path + len)
                snprintf(candidate, sizeof candidate, "%.*s.%s", (int)(dot - path), path, section->settings[k].key);
            else
                snprintf(candidate, sizeof candidate, "%s.%s", section->path, section->settings[k].key);
            nearest_try(&nearest, candidate);
            if (section->settings[k].flags & SECRET) {
                snprintf(candidate + strlen(candidate), sizeof candidate - strlen(candidate), "_file");
                nearest_try(&nearest, candidate);
            }
        }
    }
    struct config_origin origin = file_origin(l, value->key_at);
    problem_add(l->problems, false, &origin, "unknown %s '%s'%s", value->type == TOML_TABLE ? "table" : "setting", path,
                nearest_text(&nearest, hint, sizeof hint));
}

static void apply_setting(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s,
                          const char *path, const struct toml_value *value)
{
    char why[WHY_SIZE];
    struct config_origin origin = file_origin(l, value->at);
    if (l->distrusted && (s->flags & COMMAND))
        problem_add(l->problems, false, &origin, "%s is not used: others could have written it here", path);
    else if (value_from_toml(s, value, l->arena, setting_at(entry, s), why))
        *loader_origin(section, entry, s) = origin;
    else
        problem_add(l->problems, false, &origin, "bad value of %s: %s", path, why);
}

/* token_file = "/etc/whirr/token", of a secret `token`. */
static void apply_secret(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s,
                         const char *path, const struct toml_value *table, const struct toml_value *value)
{
    struct config_origin origin = file_origin(l, value->at);
    char named[PATH_MAX_LENGTH];
    for (const struct toml_value *m = table->first; m; m = m->next)
        if (str_is(m->key, s->key)) {
            problem_add(l->problems, false, &origin, "%s: %s and %s_file contradict each other", path, s->key, s->key);
            return;
        }
    if (value->type != TOML_TEXT || !value->text.len || value->text.len >= sizeof named) {
        problem_add(l->problems, false, &origin, "bad value of %s: it must be the path of a file", path);
        return;
    }
    str_copy(named, sizeof named, value->text);
    loader_read_secret(l, section, entry, s, named, &origin);
}

static bool is_path_of_section(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < config_section_count; i++)
        if (strncmp(config_sections[i].path, path, len) == 0 &&
            (config_sections[i].path[len] == '.' || !config_sections[i].path[len]))
            return true;
    return false;
}

static void visit_table(struct loader *l, const struct toml_value *table, const char *path, const struct section *section,
                        struct config_entry *entry);

static void visit_named(struct loader *l, const struct toml_value *value, const char *path, const struct section *section)
{
    for (const struct toml_value *m = value->first; m; m = m->next) {
        struct config_origin origin = file_origin(l, m->key_at);
        char member[PATH_MAX_LENGTH];
        snprintf(member, sizeof member, "%s.%.*s", path, (int)MIN_OF(m->key.len, (size_t)64), m->key.at);
        if (m->type != TOML_TABLE) {
            problem_add(l->problems, false, &origin, "'%s' must be a table: [%s.NAME] with its settings below", member, path);
            continue;
        }
        char clean[72];
        str_copy_clean(clean, sizeof clean, m->key);
        if (m->key.len == 0 || m->key.len > 64 || !str_is(m->key, clean)) {
            problem_add(l->problems, false, &origin, "the name in [%s.NAME] must have 1 to 64 printable characters", path);
            continue;
        }
        struct config_entry *entry = group_entry(l, section, m->key, m->at);
        if (entry)
            visit_table(l, m, member, section, entry);
    }
}

static void visit_repeated(struct loader *l, const struct toml_value *value, const char *path, const struct section *section)
{
    struct config_origin origin = file_origin(l, value->at);
    bool tables = value->type == TOML_ARRAY;
    for (const struct toml_value *m = tables ? value->first : NULL; m && tables; m = m->next)
        tables = m->type == TOML_TABLE;
    if (!tables) {
        problem_add(l->problems, false, &origin, "'%s' must be written as [[%s]], once for each", path, path);
        return;
    }
    for (const struct toml_value *m = value->first; m; m = m->next) {
        struct config_entry *entry = group_entry(l, section, STR(""), m->at);
        if (entry)
            visit_table(l, m, path, section, entry);
    }
}

/* A member of a table that isn't a setting: a table of settings, a parent of one, or unknown. */
static void visit_section(struct loader *l, const struct toml_value *value, const char *path)
{
    const struct section *section = section_find(str_from(path));
    struct config_origin origin = file_origin(l, value->key_at);
    if (!is_path_of_section(path))
        report_unknown(l, path, value);
    else if (section && section->kind == SECTION_REPEATED)
        visit_repeated(l, value, path, section);
    else if (value->type != TOML_TABLE)
        problem_add(l->problems, false, &origin, "'%s' must be a table: [%s] with its settings below", path, path);
    else if (section && section->kind == SECTION_NAMED)
        visit_named(l, value, path, section);
    else
        visit_table(l, value, path, section, section ? section_entry(l->config, section, 0) : NULL);
}

static void visit_table(struct loader *l, const struct toml_value *table, const char *path, const struct section *section,
                        struct config_entry *entry)
{
    for (const struct toml_value *m = table->first; m && !l->out_of_memory; m = m->next) {
        char member[PATH_MAX_LENGTH], key[96];
        struct str name = config_name_now(str_from(section ? section->path : path), m->key);
        str_copy_clean(key, sizeof key, name);
        snprintf(member, sizeof member, "%s%s%s", path, path[0] ? "." : "", key);
        const struct setting *s = section ? section_setting(section, name) : NULL;
        const struct setting *secret = section && !s ? loader_secret_of(section, name) : NULL;
        if (s)
            apply_setting(l, section, entry, s, member, m);
        else if (secret)
            apply_secret(l, section, entry, secret, member, table, m);
        else
            visit_section(l, m, member);
    }
}

/* A rule in a later file replaces its namesake in an earlier file; two in one file are an error. */
static void merge_rules(struct loader *l, size_t from)
{
    struct config *c = l->config;
    for (size_t i = from; i < c->alert_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!c->alert[i].name || !c->alert[k].name || strcmp(c->alert[i].name, c->alert[k].name) != 0)
                continue;
            if (k >= from) {
                problem_add(l->problems, false, &c->alert[i].entry.at, "the name '%s' is already that of the [[alert]] in line %d",
                            c->alert[i].name, c->alert[k].entry.at.line);
                break;
            }
            memmove(&c->alert[k], &c->alert[k + 1], (c->alert_count - k - 1) * sizeof c->alert[0]);
            memset(&c->alert[--c->alert_count], 0, sizeof c->alert[0]);
            from--;
            i--;
            break;
        }
    }
}

void loader_read_file(struct loader *l, const struct env *env, const char *path, bool must_exist)
{
    l->file = arena_copy(l->arena, str_from(path));
    if (!l->file) {
        l->out_of_memory = true;
        return;
    }
    struct config_origin origin = {CONFIG_FROM_FILE, l->file, 0, 0};
    AUTO_BUF struct buf text = BUF(TOML_SIZE_MAX);
    int rc = file_read_all(env, path, &text);
    if ((rc == -ENOENT || rc == -ENOTDIR) && !must_exist)
        return;
    if (rc == -ENOMEM) {
        l->out_of_memory = true;
        return;
    }
    if (rc < 0) {
        /* An existing but unreadable file may require tokens or place the history elsewhere: a daemon must not start without it.
         * A command continues with a warning; so does a hardened service that can't see whether a home directory has one. */
        struct stat info;
        char whole[PATH_SIZE];
        snprintf(whole, sizeof whole, "%s%s", env->sysroot, path);
        bool there = stat(whole, &info) == 0 || strcmp(path, CONFIG_SYSTEM_FILE) == 0;
        bool go_on = rc == -EACCES && !must_exist && (l->inputs->forgiving || !there);
        struct config_problem *left_out =
            go_on ? config_problem_add(l->problems, true, &origin, "cannot be read, and is left out: %s", strerror(-rc)) : NULL;
        if (left_out)
            left_out->unread = there;
        else if (rc == -EACCES && !go_on)
            problem_add(l->problems, false, &origin, "cannot be read: %s; %s", strerror(-rc),
                        loader_way_to_read(whole, (char[WHY_SIZE]){0}));
        else if (!go_on)
            problem_add(l->problems, false, &origin, "cannot be read: %s", rc == -EFBIG ? "larger than 1 MiB" : strerror(-rc));
        return;
    }
    l->config->files[l->config->file_count++] = l->file;
    char why[WHY_SIZE];
    l->distrusted = !loader_trusts(env, path, why);
    if (l->distrusted)
        problem_add(l->problems, true, &origin, "%s; programs that it names are refused", why);
    AUTO_TOML struct toml_document *doc = NULL;
    struct toml_error err;
    if (toml_parse(buf_view(&text), &doc, &err) < 0) {
        origin = file_origin(l, err.at);
        problem_add(l->problems, false, &origin, "%s", err.text);
        return;
    }
    size_t rules_before = l->config->alert_count;
    visit_table(l, toml_root(doc), "", NULL, NULL);
    merge_rules(l, rules_before);
}
