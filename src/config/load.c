/* SPDX-License-Identifier: Apache-2.0
 * Builds a configuration from its layers and gathers every problem on the way.
 *
 * Values are set in the order of the layers, so a later one simply overwrites; what no layer has set gets its default at the end.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "base/secret/mask.h"
#include "config/loader.h"

enum { ARENA_MAX = 16 << 20 };

/* A configuration and the memory behind it. */
struct owned_config {
    struct config config; /* first, so that one can be cast to the other */
    struct arena arena;
};

static struct config_problem *add_problem(struct config_problems *problems, bool warning, const struct config_origin *origin,
                                          const char *format, va_list args)
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
    vsnprintf(p->text, sizeof p->text, format, args);
    mask_here(p->text, sizeof p->text);
    return p;
}

void problem_add(struct config_problems *problems, bool warning, const struct config_origin *origin, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_problem(problems, warning, origin, format, args);
    va_end(args);
}

struct config_problem *config_problem_add(struct config_problems *problems, bool warning, const struct config_origin *origin,
                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct config_problem *p = add_problem(problems, warning, origin, format, args);
    va_end(args);
    return p;
}

bool loader_prepare_entry(struct loader *l, const struct section *section, struct config_entry *entry, struct str name)
{
    entry->origins = arena_alloc(l->arena, section->count * sizeof *entry->origins);
    entry->name = arena_copy(l->arena, name);
    l->out_of_memory |= !entry->origins || !entry->name;
    return !l->out_of_memory;
}

const char *loader_variable(const struct config_inputs *inputs, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *e = inputs->environment; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return (*e)[len + 1] ? *e + len + 1 : NULL; /* empty counts as unset */
    return NULL;
}

/* The file named by --config or WHIRR_CONFIG; NULL: none. */
static const char *config_named_file(const struct config_inputs *inputs)
{
    return inputs->file ? inputs->file : loader_variable(inputs, "WHIRR_CONFIG");
}

static void read_files(struct loader *l)
{
    const struct config_inputs *in = l->inputs;
    /* A named file is a path of this host, even if /etc comes from a recorded one. */
    struct env here = *in->env;
    here.sysroot = "";
    const char *named = config_named_file(in);
    if (named) {
        loader_read_file(l, &here, named, true);
        return;
    }
    struct env system = *in->env;
    const char *root = loader_variable(in, CONFIG_SYSTEM_ROOT);
    if (root && !env_is_recorded(&system))
        system.sysroot = root;
    loader_read_file(l, &system, CONFIG_SYSTEM_FILE, false);
    char path[PATH_SIZE];
    const char *base = loader_variable(in, "XDG_CONFIG_HOME"), *home = loader_variable(in, "HOME");
    if (base && path_is_whole(base))
        snprintf(path, sizeof path, "%s/whirr/whirr.toml", base);
    else if (home)
        snprintf(path, sizeof path, "%s/.config/whirr/whirr.toml", home);
    else
        return;
    loader_read_file(l, &here, path, false);
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
        if (loader_origin(section, entry, s)->kind != CONFIG_FROM_FLAG)
            *list = (struct config_list){0};
        good = value_append(s, str_from(value), l->arena, list, why);
    } else {
        good = value_from_text(s, str_from(value), l->arena, setting_at(entry, s), why);
    }
    if (good)
        *loader_origin(section, entry, s) = origin;
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
    const char *path = loader_variable(l->inputs, with);
    const struct config_origin origin = {CONFIG_FROM_ENVIRONMENT, with, 0, 0};
    if (path && loader_variable(l->inputs, name))
        problem_add(l->problems, false, &origin, "%s and %s contradict each other", with, name);
    else if (path)
        loader_read_secret(l, section, section_entry(l->config, section, 0), s, path, &origin);
}

static void read_environment(struct loader *l)
{
    const char *interval = loader_variable(l->inputs, "GPU_POLL_INTERVAL_SECONDS");
    if (interval)
        apply_text(l, "sampling.interval_seconds", interval, CONFIG_FROM_ENVIRONMENT, "GPU_POLL_INTERVAL_SECONDS");
    if (!has_ours(l->inputs))
        return;
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        for (size_t k = 0; k < section->count && section->kind == SECTION_PLAIN; k++) {
            char name[CONFIG_KEY_SIZE], key[CONFIG_KEY_SIZE];
            setting_variable(section, &section->settings[k], name, sizeof name);
            const char *value = loader_variable(l->inputs, name);
            snprintf(key, sizeof key, "%s.%s", section->path, section->settings[k].key);
            if (value)
                apply_text(l, key, value, CONFIG_FROM_ENVIRONMENT, name);
            if (section->settings[k].flags & SECRET)
                read_named_secret(l, section, &section->settings[k], name);
        }
    }
}

/* WHIRR_SERVER_LISTN: starts like a section but isn't a setting. Other WHIRR_ names belong to other parts. */
/* Whether it could be a setting: others are of whirr's parts and tests. */
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
        loader_origin(section, entry, s)->where = s->fallback + 1;
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
            !loader_prepare_entry(l, &config_sections[i], section_entry(l->config, &config_sections[i], 0), STR("")))
            return;
    read_files(l);
    loader_read_credentials(l);
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
            loader_check_access(l);
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
