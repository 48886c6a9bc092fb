/* SPDX-License-Identifier: Apache-2.0
 * Builds a configuration from its layers (files, their secrets, the environment, flags) and gathers every problem on the way.
 *
 * Values are set in the order of the layers, so a later one simply overwrites; what no layer has set gets its default at the end.
 */
#include "config/config_schema.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "base/secret/mask.h"

enum { SECRET_FILE_MAX = 64 << 10, PATH_MAX_LENGTH = 480, ARENA_MAX = 16 << 20 };

/* A configuration under construction: state shared by the layers. */
struct loader {
    const struct config_inputs *inputs;
    struct config *config;
    struct arena *arena;
    struct config_problems *problems;
    const char *file; /* being read */
    bool distrusted;  /* other users could have written it */
    bool out_of_memory;
};

/* ---- problems ---- */

struct config_problem *problem_add(struct config_problems *problems, bool warning, const struct config_origin *origin,
                                   const char *format, ...)
{
    if (!warning)
        problems->errors++;
    if (!warning && origin->kind != CONFIG_FROM_FILE)
        problems->fatal++;
    if (problems->count == CONFIG_PROBLEMS_MAX) {
        problems->left_out++;
        return NULL;
    }
    struct config_problem *p = &problems->list[problems->count++];
    *p = (struct config_problem){.warning = warning, .line = origin->line, .column = origin->column};
    if (origin->kind == CONFIG_FROM_FILE)
        str_copy(p->file, sizeof p->file, str_from(origin->where));
    if (origin->kind == CONFIG_FROM_FILE && origin->line)
        snprintf(p->where, sizeof p->where, "%.200s:%d:%d", origin->where, origin->line, origin->column);
    else if (origin->kind == CONFIG_FROM_FILE)
        snprintf(p->where, sizeof p->where, "%.200s", origin->where);
    else
        config_origin_text(origin, p->where, sizeof p->where);
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
    mask_here(p->text, sizeof p->text);
    return p;
}

/* ---- what all layers need ---- */

/* Allocates the name and origins of a table; false: out of memory. */
static bool prepare_entry(struct loader *l, const struct section *section, struct config_entry *entry, struct str name)
{
    entry->origins = arena_alloc(l->arena, section->count * sizeof *entry->origins);
    entry->name = arena_copy(l->arena, name);
    l->out_of_memory |= !entry->origins || !entry->name;
    return !l->out_of_memory;
}

/* A variable of the environment; NULL: unset or empty. */
static const char *variable(const struct config_inputs *inputs, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *e = inputs->environment; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return (*e)[len + 1] ? *e + len + 1 : NULL; /* empty counts as unset */
    return NULL;
}

static struct config_origin *origin_of(const struct section *section, const struct config_entry *entry, const struct setting *s)
{
    /* Only the loader fills what all other code sees as const. */
    return (struct config_origin *)setting_origin(section, entry, s);
}

/* ---- secrets in files of their own, read with the configuration, also on a reload: KEY_file for every KEY that is secret, and
 * credentials of systemd, which are named like settings ("push.central.token") ---- */

/* The secret setting that `key` (token_file) names the file of; NULL: it is no such key. */
static const struct setting *secret_of(const struct section *section, struct str key)
{
    if (!str_ends(key, "_file"))
        return NULL;
    key.len -= strlen("_file");
    const struct setting *s = section_setting(section, key);
    return s && s->flags & SECRET ? s : NULL;
}

/* A name without a slash is a credential. False, and why: there are none. */
static bool find_file(const struct loader *l, const char *named, char path[PATH_SIZE], char why[WHY_SIZE])
{
    const char *folder = variable(l->inputs, "CREDENTIALS_DIRECTORY");
    if (path_is_whole(named)) {
        snprintf(path, PATH_SIZE, "%s", named);
    } else if (strchr(named, '/')) {
        snprintf(why, WHY_SIZE, "write the whole path, or the name of a credential of systemd");
        return false;
    } else if (!folder) {
        snprintf(why, WHY_SIZE, "a name without a slash is a credential of systemd (LoadCredential=), and there are none here");
        return false;
    } else {
        snprintf(path, PATH_SIZE, "%s/%s", folder, named);
    }
    return true;
}

/* Sets it to the contents of the file, or of the credential of systemd with that name. */
static void read_secret(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s,
                        const char *named, const struct config_origin *origin)
{
    AUTO_BUF struct buf text = BUF(SECRET_FILE_MAX);
    char path[PATH_SIZE], why[WHY_SIZE];
    struct env here = *l->inputs->env;
    here.sysroot = "";
    struct config_origin at = {CONFIG_FROM_FILE, arena_copy(l->arena, str_from(named)), 0, 0};
    /* What can't be read has its default. */
    l->out_of_memory |= !value_from_text(s, str_from(s->fallback), l->arena, setting_at(entry, s), why);
    if (!find_file(l, named, path, why)) {
        if (!l->inputs->forgiving)
            problem_add(l->problems, false, origin, "%s.%s_file = '%s': %s", section->path, s->key, named, why);
        l->out_of_memory |= !at.where;
        *origin_of(section, entry, s) = at;
        return;
    }
    at.where = arena_copy(l->arena, str_from(path));
    int rc = file_read_all(&here, path, &text);
    if (!at.where || rc == -ENOMEM) {
        l->out_of_memory = true;
        return;
    }
    *origin_of(section, entry, s) = at;
    /* A command of another user does not need what the daemon sends. */
    if (rc == -EACCES && l->inputs->forgiving)
        return;
    if (rc < 0) {
        problem_add(l->problems, false, origin, "cannot read %s.%s from '%s': %s", section->path, s->key, path,
                    rc == -EFBIG ? "larger than 64 KiB" : strerror(-rc));
        return;
    }
    struct str value = str_trim(buf_view(&text));
    if (!value.len || memchr(value.at, '\n', value.len))
        problem_add(l->problems, false, origin, "'%s' must hold %s.%s alone, in one line", path, section->path, s->key);
    else if (!value_from_text(s, value, l->arena, setting_at(entry, s), why))
        problem_add(l->problems, false, origin, "bad value of %s.%s in '%s': %s", section->path, s->key, path, why);
}

/* LoadCredential=push.central.token:/etc/keys/central sets that setting without a word in the file. */
static void read_credentials(struct loader *l)
{
    const char *folder = variable(l->inputs, "CREDENTIALS_DIRECTORY");
    for (size_t i = 0; folder && i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(l->config, section); e++) {
            struct config_entry *entry = section_entry(l->config, section, e);
            for (size_t k = 0; k < section->count; k++) {
                char name[CONFIG_KEY_SIZE], path[PATH_SIZE];
                const struct setting *s = &section->settings[k];
                if (!(s->flags & SECRET) || (section->kind != SECTION_PLAIN && !entry->name[0]))
                    continue;
                snprintf(name, sizeof name, "%s%s%s.%s", section->path, entry->name[0] ? "." : "", entry->name, s->key);
                snprintf(path, sizeof path, "%s/%s", folder, name);
                if (!strchr(name, '/') && access(path, F_OK) == 0)
                    read_secret(l, section, entry, s, name, &(struct config_origin){CONFIG_FROM_FILE, path, 0, 0});
            }
        }
    }
}

/* ---- one file: tables become sections, unknown ones are reported ---- */

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
    if (!prepare_entry(l, section, entry, name))
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
        *origin_of(section, entry, s) = origin;
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
    read_secret(l, section, entry, s, named, &origin);
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
        const struct setting *secret = section && !s ? secret_of(section, name) : NULL;
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

/* Applies all settings of one file. */
static void read_file(struct loader *l, const struct env *env, const char *path, bool must_exist)
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
            go_on ? problem_add(l->problems, true, &origin, "cannot be read, and is left out: %s", strerror(-rc)) : NULL;
        if (left_out)
            left_out->unread = there;
        else if (rc == -EACCES && !go_on)
            problem_add(l->problems, false, &origin, "cannot be read: %s; %s", strerror(-rc),
                        config_way_to_read(whole, (char[WHY_SIZE]){0}));
        else if (!go_on)
            problem_add(l->problems, false, &origin, "cannot be read: %s", rc == -EFBIG ? "larger than 1 MiB" : strerror(-rc));
        return;
    }
    l->config->files[l->config->file_count++] = l->file;
    char why[WHY_SIZE];
    l->distrusted = !config_trusts(env, path, why);
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

/* ---- the layers ---- */

/* A configuration and the memory behind it. */
struct owned_config {
    struct config config; /* first, so that one can be cast to the other */
    struct arena arena;
};

/* The file named by --config or WHIRR_CONFIG; NULL: none. */
static const char *config_named_file(const struct config_inputs *inputs)
{
    return inputs->file ? inputs->file : variable(inputs, "WHIRR_CONFIG");
}

static void read_files(struct loader *l)
{
    const struct config_inputs *in = l->inputs;
    /* A named file is a path of this host, even if /etc comes from a recorded one. */
    struct env here = *in->env;
    here.sysroot = "";
    const char *named = config_named_file(in);
    if (named) {
        read_file(l, &here, named, true);
        return;
    }
    struct env system = *in->env;
    const char *root = variable(in, CONFIG_SYSTEM_ROOT);
    if (root && !env_is_recorded(&system))
        system.sysroot = root;
    read_file(l, &system, CONFIG_SYSTEM_FILE, false);
    char path[PATH_SIZE];
    const char *base = variable(in, "XDG_CONFIG_HOME"), *home = variable(in, "HOME");
    if (base && path_is_whole(base))
        snprintf(path, sizeof path, "%s/whirr/whirr.toml", base);
    else if (home)
        snprintf(path, sizeof path, "%s/.config/whirr/whirr.toml", home);
    else
        return;
    read_file(l, &here, path, false);
}

static void apply_text(struct loader *l, const char *key, const char *value, enum config_origin_kind kind, const char *where)
{
    const struct section *section = NULL;
    const struct setting *s = setting_find(str_from(key), &section);
    struct config_origin origin = {kind, arena_copy(l->arena, str_from(where)), 0, 0};
    if (!origin.where) {
        l->out_of_memory = true;
        return;
    }
    if (!s) {
        problem_add(l->problems, false, &origin, "unknown setting '%s'", key);
        return;
    }
    struct config_entry *entry = section_entry(l->config, section, 0);
    char why[WHY_SIZE];
    bool good;
    if (kind == CONFIG_FROM_FLAG && (s->type == SETTING_LIST || s->type == SETTING_IDS)) {
        /* Each flag adds one item: --source A --source B. The first one replaces the value from files and environment. */
        struct config_list *list = setting_at(entry, s);
        if (origin_of(section, entry, s)->kind != CONFIG_FROM_FLAG)
            *list = (struct config_list){0};
        good = value_append(s, str_from(value), l->arena, list, why);
    } else {
        good = value_from_text(s, str_from(value), l->arena, setting_at(entry, s), why);
    }
    if (good)
        *origin_of(section, entry, s) = origin;
    else
        problem_add(l->problems, false, &origin, "bad value '%s' of %s: %s", s->flags & SECRET ? "..." : value, key, why);
}

/* Most environments have no WHIRR_ variables: skip building and searching every setting's name. */
static bool has_ours(const struct config_inputs *inputs)
{
    for (const char *const *e = inputs->environment; e && *e; e++)
        if (strncmp(*e, "WHIRR_", 6) == 0)
            return true;
    return false;
}

/* WHIRR_STORE_URL_FILE */
static void read_named_secret(struct loader *l, const struct section *section, const struct setting *s, const char *name)
{
    char with[CONFIG_KEY_SIZE + 8];
    snprintf(with, sizeof with, "%s_FILE", name);
    const char *path = variable(l->inputs, with);
    const struct config_origin origin = {CONFIG_FROM_ENVIRONMENT, with, 0, 0};
    if (path && variable(l->inputs, name))
        problem_add(l->problems, false, &origin, "%s and %s contradict each other", with, name);
    else if (path)
        read_secret(l, section, section_entry(l->config, section, 0), s, path, &origin);
}

static void read_environment(struct loader *l)
{
    const char *interval = variable(l->inputs, "GPU_POLL_INTERVAL_SECONDS");
    if (interval)
        apply_text(l, "sampling.interval_seconds", interval, CONFIG_FROM_ENVIRONMENT, "GPU_POLL_INTERVAL_SECONDS");
    if (!has_ours(l->inputs))
        return;
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t k = 0; k < section->count && section->kind == SECTION_PLAIN; k++) {
            char name[CONFIG_KEY_SIZE], key[CONFIG_KEY_SIZE];
            setting_variable(section, &section->settings[k], name, sizeof name);
            const char *value = variable(l->inputs, name);
            snprintf(key, sizeof key, "%s.%s", section->path, section->settings[k].key);
            if (value)
                apply_text(l, key, value, CONFIG_FROM_ENVIRONMENT, name);
            if (section->settings[k].flags & SECRET)
                read_named_secret(l, section, &section->settings[k], name);
        }
    }
}

/* WHIRR_SERVER_LISTN could be a setting: it starts like a section. Other WHIRR_ names belong to other parts and to tests. */
static bool is_of_a_section(const char *name)
{
    char prefix[CONFIG_KEY_SIZE];
    for (size_t i = 0; i < config_section_count; i++) {
        setting_variable(&config_sections[i], &(struct setting){.key = ""}, prefix, sizeof prefix);
        if (config_sections[i].kind == SECTION_PLAIN && str_starts(str_from(name), prefix))
            return true;
    }
    return false;
}

static void warn_of_unknown_variables(struct loader *l)
{
    for (const char *const *e = l->inputs->environment; e && *e; e++) {
        char name[CONFIG_KEY_SIZE], known[CONFIG_KEY_SIZE], hint[CONFIG_KEY_SIZE + 32];
        const char *equals = strchr(*e, '=');
        if (!equals || strncmp(*e, "WHIRR_", 6) != 0 || equals - *e >= CONFIG_KEY_SIZE)
            continue;
        str_copy(name, sizeof name, (struct str){*e, (size_t)(equals - *e)});
        if (!is_of_a_section(name))
            continue;
        struct nearest nearest;
        nearest_init(&nearest, name);
        for (size_t i = 0; i < config_section_count; i++) {
            const struct section *section = &config_sections[i];
            for (size_t k = 0; k < section->count && section->kind == SECTION_PLAIN; k++) {
                setting_variable(section, &section->settings[k], known, sizeof known);
                nearest_try(&nearest, known);
                if (section->settings[k].flags & SECRET && str_ends(str_from(name), "_FILE")) {
                    snprintf(known + strlen(known), sizeof known - strlen(known), "_FILE");
                    nearest_try(&nearest, known);
                }
            }
        }
        struct config_origin origin = {CONFIG_FROM_ENVIRONMENT, name, 0, 0};
        if (nearest.distance > 0)
            problem_add(l->problems, true, &origin, "no setting has this name%s", nearest_text(&nearest, hint, sizeof hint));
    }
}

static void set_default(struct loader *l, const struct section *section, struct config_entry *entry, const struct setting *s)
{
    const struct section *other = NULL;
    const struct setting *from = s->fallback[0] == '=' ? setting_find(str_from(s->fallback + 1), &other) : NULL;
    if (from) {
        memcpy(setting_at(entry, s), setting_at(section_entry(l->config, other, 0), from), value_size(s));
        origin_of(section, entry, s)->where = s->fallback + 1;
        return;
    }
    char why[WHY_SIZE];
    if (!value_from_text(s, str_from(s->fallback), l->arena, setting_at(entry, s), why))
        l->out_of_memory = true; /* a test proves that all defaults are valid */
}

/* Plain sections first: groups inherit from them. */
static void set_defaults(struct loader *l, bool groups)
{
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t e = 0; e < section_entries(l->config, section) && (section->kind != SECTION_PLAIN) == groups; e++) {
            struct config_entry *entry = section_entry(l->config, section, e);
            for (size_t k = 0; k < section->count; k++)
                if (entry->origins[k].kind == CONFIG_FROM_DEFAULT)
                    set_default(l, section, entry, &section->settings[k]);
            profile_apply(entry, section, l->problems);
        }
    }
}

static void load_layers(struct loader *l)
{
    for (size_t i = 0; i < config_section_count; i++)
        if (config_sections[i].kind == SECTION_PLAIN &&
            !prepare_entry(l, &config_sections[i], section_entry(l->config, &config_sections[i], 0), STR("")))
            return;
    read_files(l);
    read_credentials(l);
    read_environment(l);
    warn_of_unknown_variables(l);
    for (size_t i = 0; i < l->inputs->flag_count; i++)
        apply_text(l, l->inputs->flags[i].key, l->inputs->flags[i].value, CONFIG_FROM_FLAG, l->inputs->flags[i].flag);
    if (l->out_of_memory)
        return;
    set_defaults(l, false);
    set_defaults(l, true);
    if (!l->out_of_memory) {
        config_check(l->config, l->problems);
        if (!l->inputs->forgiving) /* daemon only; a user's command need not read its keys */
            config_check_access(l->config, l->problems);
    }
}

void config_problems_clear(struct config_problems *problems)
{
    problems->count = problems->errors = problems->fatal = problems->left_out = 0;
}

int config_load(const struct config_inputs *inputs, struct config **ret, struct config_problems *problems)
{
    config_problems_clear(problems);
    struct owned_config *owned = calloc(1, sizeof *owned);
    struct config_origin nowhere = {CONFIG_FROM_DEFAULT, NULL, 0, 0};
    if (!owned) {
        problem_add(problems, false, &nowhere, "out of memory");
        return -ENOMEM;
    }
    owned->arena = ARENA(ARENA_MAX);
    struct loader l = {.inputs = inputs, .config = &owned->config, .arena = &owned->arena, .problems = problems};
    load_layers(&l);
    if (l.out_of_memory)
        problem_add(problems, false, &nowhere, "out of memory");
    bool forgive = inputs->forgiving && !config_named_file(inputs);
    if (forgive ? problems->fatal : problems->errors) {
        config_free(&owned->config);
        return l.out_of_memory ? -ENOMEM : -EINVAL;
    }
    *ret = &owned->config;
    return 0;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    struct owned_config *owned = (struct owned_config *)config;
    arena_done(&owned->arena);
    free(owned);
}

int64_t config_interval_ms(const struct config *config)
{
    return (int64_t)fmax(1, round(config->sampling.interval_seconds * MS_PER_S));
}
