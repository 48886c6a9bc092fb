/* SPDX-License-Identifier: Apache-2.0
 * Documentation from config.def: the commented default file, docs/configuration.md and whirr.toml(5).
 */
#include <stdio.h>

#include "config/config_schema.h"

/* The default as TOML, or where an inherited value comes from. False: no value to show. */
static bool write_default(const struct setting *s, struct buf *out)
{
    struct arena arena = ARENA(1 << 16);
    union {
        int64_t integer;
        double number;
        struct config_list list;
    } value = {0};
    char why[WHY_SIZE];
    bool known = s->fallback[0] != '=' && value_from_text(s, str_from(s->fallback), &arena, &value, why);
    if (known)
        value_write(s, &value, out);
    arena_done(&arena);
    return known;
}

/* Wraps a comment at 100 columns. */
static void write_comment(const char *text, struct buf *out)
{
    enum { WIDTH = 100 };
    struct str rest = str_from(text), word;
    size_t column = WIDTH;
    while (str_word(&rest, &word)) {
        if (column + 1 + word.len > WIDTH) {
            buf_text(out, out->len && out->at[out->len - 1] != '\n' ? "\n#" : "#");
            column = 1;
        }
        buf_char(out, ' ');
        buf_str(out, word);
        column += 1 + word.len;
    }
    buf_char(out, '\n');
}

/* The help, and the allowed values unless the default below it shows them. */
static void describe(const struct setting *s, struct buf *out)
{
    buf_printf(out, "%s.", s->help);
    if (!s->bounded && !s->choices && !s->check)
        return;
    buf_text(out, " Allowed: ");
    setting_describe_allowed(s, out);
    buf_char(out, '.');
}

static void write_default_setting(const struct section *section, const struct setting *s, struct buf *out)
{
    AUTO_BUF struct buf comment = BUF(4096);
    describe(s, &comment);
    if (s->flags & RESTART)
        buf_text(&comment, " Needs a restart.");
    if (section->kind == SECTION_PLAIN) {
        char name[CONFIG_KEY_SIZE];
        setting_variable(section, s, name, sizeof name);
        buf_printf(&comment, " (%s)", name);
    }
    write_comment(comment.at ? comment.at : "", out);
    buf_printf(out, "#%s = ", s->key);
    write_default(s, out);
    buf_text(out, "\n\n");
}

/* A group has no defaults; show an example instead. */
static const char *group_example(const struct section *section)
{
    if (strcmp(section->path, "guard.worker") == 0)
        return "#[guard.worker.ollama]\n#methods = [\"ollama\", \"checkpoint\"]\n#url = \"http://127.0.0.1:11434\"\n"
               "#match = { unit = \"ollama.service\" }\n";
    if (strcmp(section->path, "guard.method") == 0)
        return "#[guard.method.mine]\n#list = \"GET /models\"\n#items = \"models[]\"\n#id = \"name\"\n#unload = \"POST "
               "/models/{id}/unload\"\n";
    if (strcmp(section->path, "notify") == 0)
        return "#[notify.ops]\n#type = \"webhook\"\n#url = \"http://127.0.0.1:9000/hook\"\n";
    if (strcmp(section->path, "hook") == 0)
        return "#[hook.drain]\n#on = [\"lost\", \"ecc\"]\n#run = [\"/usr/share/whirr/hooks/slurm\"]\n";
    if (strcmp(section->path, "push") == 0)
        return "#[push.central]\n#url = \"http://victoria.example.org:8428/api/v1/write\"\n";
    if (strcmp(section->path, "access") == 0)
        return "#[access.operators]\n#role = \"admin\"\n#groups = [\"gpu-operators\"]\n";
    if (strcmp(section->path, "serving") == 0)
        return "#[serving.chat]\n#url = \"http://127.0.0.1:8000\"\n#kind = \"vllm\"\n";
    if (strcmp(section->path, "hosts") == 0)
        return "#[hosts.gpu2]\n#address = \"https://gpu2.example.org:9447\"\n#token = \"whirr_...\"\n";
    if (strcmp(section->path, "finding") == 0)
        return "#[finding.loud]\n#severity = \"notice\"\n#hold = \"10m\"\n";
    return "#[[alert]]\n#name = \"hot\"\n#when = \"temperature_celsius > 85 and utilization_percent > 10\"\n#for = \"30s\"\n"
           "#clear = \"temperature_celsius < 80\"\n#severity = \"warning\"\n#notify = [\"ops\"]\n";
}

static void section_header(const struct section *section, char *text, size_t size)
{
    static const char *const format[] = {"[%s]", "[%s.NAME]", "[[%s]]"};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, size, format[section->kind], section->path);
#pragma GCC diagnostic pop
}

static void write_default_group(const struct section *section, struct buf *out)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct setting *s = &section->settings[i];
        if (s->fallback[0] == '=')
            continue;
        AUTO_BUF struct buf comment = BUF(4096);
        buf_printf(&comment, "%s: ", s->key);
        describe(s, &comment);
        buf_text(&comment, s->flags & REQUIRED ? " Must be given." : "");
        write_comment(comment.at ? comment.at : "", out);
    }
    buf_text(out, group_example(section));
    buf_char(out, '\n');
}

void config_write_default(struct buf *out)
{
    buf_text(
        out,
        "# Settings of whirr, all at their defaults. Remove the # from what you change.\n# The system's file is " PLACE_CONFIG_NAME
        ", a user's $XDG_CONFIG_HOME/whirr/whirr.toml (~/.config/whirr/whirr.toml).\n# `whirr config check` checks them; `whirr "
        "config show` shows what is in effect and why.\n");
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        char header[CONFIG_KEY_SIZE];
        section_header(section, header, sizeof header);
        buf_printf(out, "\n# %s.\n", section->help);
        if (section->kind == SECTION_PLAIN) {
            buf_printf(out, "%s\n\n", header);
            for (size_t k = 0; k < section->count; k++)
                write_default_setting(section, &section->settings[k], out);
        } else {
            write_default_group(section, out);
        }
    }
}

/* Whether the help itself lists all choices. */
static bool help_names_choices(const struct setting *s)
{
    struct str rest = str_from(s->choices), choice;
    char name[64];
    while (str_cut(&rest, '|', &choice)) {
        str_copy(name, sizeof name, choice);
        if (!str_contains(str_from(s->help), name))
            return false;
    }
    return true;
}

static void docs_setting(const struct setting *s, config_plain *plain, struct buf *out)
{
    (void)plain;
    AUTO_BUF struct buf value = BUF(4096);
    write_default(s, &value);
    const char *shown = buf_view(&value).at;
    buf_printf(out, "- `%s`", s->key);
    if (s->flags & REQUIRED)
        buf_text(out, " (required)");
    else if (strcmp(shown, "\"\"") != 0 && strcmp(shown, "[]") != 0 && strcmp(shown, "{}") != 0)
        buf_printf(out, " (`%s`)", shown);
    buf_printf(out, ": %s.", s->help);
    if (s->choices && !help_names_choices(s)) {
        buf_text(out, " One of ");
        setting_describe_allowed(s, out);
        buf_char(out, '.');
    }
    buf_text(out, s->flags & RESTART ? " *Restart.*\n" : "\n");
}

/* One item of whirr.toml(5): the key, its default, its meaning. */
static void manual_setting(const struct setting *s, config_plain *plain, struct buf *out)
{
    AUTO_BUF struct buf value = BUF(4096), text = BUF(4096);
    buf_char(out, '*');
    plain(out, s->key);
    buf_char(out, '*');
    if (s->flags & REQUIRED) {
        buf_text(out, " (must be given)");
    } else {
        write_default(s, &value);
        buf_text(out, " = ");
        plain(out, buf_view(&value).at);
    }
    describe(s, &text);
    buf_text(&text, s->flags & RESTART ? " Needs a restart." : "");
    buf_text(out, "\n\t");
    plain(out, buf_view(&text).at);
    buf_text(out, "\n\n");
}

/* One line about the settings that a table inherits from another. */
static void docs_inherited(const struct section *section, struct buf *out)
{
    const char *before = "- Overrides of ";
    for (size_t i = 0; i < section->count; i++) {
        if (section->settings[i].fallback[0] != '=')
            continue;
        buf_printf(out, "%s`%s`", before, section->settings[i].fallback + 1);
        before = ", ";
    }
    if (before[0] == ',')
        buf_text(out, ".\n");
}

/* The page that the help names has an example of its own. */
static void docs_example(const struct section *section, config_plain *plain, struct buf *out)
{
    (void)plain;
    if (strstr(section->help, "docs/"))
        return;
    const char *example = group_example(section);
    buf_text(out, "```toml\n");
    for (const char *p = example; *p; p++)
        if (*p != '#' || (p != example && p[-1] != '\n'))
            buf_char(out, *p);
    buf_text(out, "```\n\n");
}

/* Example lines aren't filled. */
static void manual_example(const struct section *section, config_plain *plain, struct buf *out)
{
    struct str rest = str_from(group_example(section)), line;
    while (str_cut(&rest, '\n', &line)) {
        char text[256];
        str_copy(text, sizeof text, line);
        buf_char(out, '\t');
        plain(out, text + (text[0] == '#'));
        buf_text(out, rest.len ? "++\n" : "\n");
    }
    buf_char(out, '\n');
}

static void docs_head(const char *header, const char *help, config_plain *plain, struct buf *out)
{
    (void)plain;
    buf_printf(out, "\n## `%s`\n\n%s.\n\n", header, help);
}

static void manual_head(const char *header, const char *help, config_plain *plain, struct buf *out)
{
    buf_printf(out, "# %s\n\n", header); /* headings aren't escaped */
    plain(out, help);
    buf_text(out, ".\n\n");
}

/* The same sections as a page and as a manual; only the manual uses `plain`. */
static const struct docs_form {
    void (*head)(const char *header, const char *help, config_plain *plain, struct buf *out);
    void (*example)(const struct section *section, config_plain *plain, struct buf *out);
    void (*setting)(const struct setting *s, config_plain *plain, struct buf *out);
    void (*inherited)(const struct section *section, struct buf *out); /* NULL: omitted */
} page_form = {docs_head, docs_example, docs_setting, docs_inherited},
  manual_form = {manual_head, manual_example, manual_setting, NULL};

static void write_sections(const struct docs_form *form, config_plain *plain, struct buf *out)
{
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        char header[CONFIG_KEY_SIZE];
        section_header(section, header, sizeof header);
        form->head(header, section->help, plain, out);
        if (section->kind != SECTION_PLAIN)
            form->example(section, plain, out);
        for (size_t k = 0; k < section->count; k++)
            if (section->settings[k].fallback[0] != '=')
                form->setting(&section->settings[k], plain, out);
        if (form->inherited)
            form->inherited(section, out);
    }
}

void config_write_docs(struct buf *out)
{
    buf_text(
        out,
        "# Configuration\n\n<!-- Written by `whirr config docs` from src/config/config.def; a test compares them. -->\n\nwhirr "
        "needs no configuration. Flags override the environment, which overrides the files.\n\n"
        "- Files, in [TOML](https://toml.io/en/v1.0.0): `/etc/whirr/whirr.toml`, overridden by `$XDG_CONFIG_HOME/whirr/whirr.toml` "
        "(`~/.config/whirr/whirr.toml`); or only `--config FILE` (`WHIRR_CONFIG`). `whirr config default` prints a commented one, "
        "with the range of each number.\n"
        "- Environment: `WHIRR_SECTION_KEY` (`WHIRR_SERVER_LISTEN`), for tables without NAME; lists with commas (or semicolons, if "
        "an item has a comma). `GPU_POLL_INTERVAL_SECONDS` also sets `sampling.interval_seconds`. Empty variables don't count.\n"
        "- Secrets (tokens, passwords, keys, URLs with one) can stand in files of their own, of one line: `token_file` for "
        "`token`, "
        "`url_file` for `url` (`WHIRR_STORE_URL_FILE`). A name without a slash is a credential of systemd, and one that is named "
        "like the setting needs no word here: `LoadCredential=push.central.token:/etc/keys/central`.\n"
        "- `whirr config check` names each mistake with file, line, what is allowed, and the nearest known key; and each secret "
        "that "
        "every user of the host can read.\n"
        "- `whirr config show` prints the settings in force and where each comes from.\n"
        "- `systemctl reload whirr` (SIGHUP) applies all settings but those marked *Restart*. A file with mistakes changes "
        "nothing.\n\n"
        "Defaults are in parentheses; the others are empty. Write durations like `\"250ms\"`, `\"30s\"`, `\"5m\"`, `\"1h30m\"`, "
        "`\"7d\"`, memory like `\"512MiB\"`, `\"20GiB\"`.\n");
    write_sections(&page_form, NULL, out);
}

void config_write_manual(struct buf *out, config_plain *plain)
{
    buf_text(out, "whirr.toml(5)\n\n# NAME\n\nwhirr.toml - settings of whirr\n\n# SYNOPSIS\n\n" PLACE_CONFIG_NAME
                  "++\n$XDG\\_CONFIG\\_HOME/whirr/whirr.toml\n\n# DESCRIPTION\n\nwhirr needs no configuration. What you set wins "
                  "in this order, later over earlier: the default, the system's file, the user's file (or only the one of "
                  "*--config*), environment variables like *WHIRR\\_SERVER\\_LISTEN*, flags. The format is TOML 1.0. Durations are "
                  "written like \"30s\" or \"1h30m\", amounts of memory like \"20GiB\".\n\n*whirr config check* names each mistake "
                  "with file and line, *whirr config show* prints what is in force and where it comes from, and *whirr config "
                  "default* prints a commented file. *systemctl reload whirr* applies all but what needs a restart.\n\n");
    write_sections(&manual_form, plain, out);
    buf_text(out, "# SEE ALSO\n\n*whirr*(1), *whirr-config*(1)\n");
}
