/* SPDX-License-Identifier: Apache-2.0
 * top.toml: reads, checks and writes the settings of the live view.
 */
#include "tui/prefs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/keep.h"
#include "base/os/shared.h"
#include "base/toml.h"
#include "base/words.h"
#include "tui/setup.h"
#include "tui/theme.h"

static const char *const metric_names[TRAIL_CHOICES] = {"util", "vram", "power", "temp", "fan", "clock", "work"};

static struct str text_of(const struct toml_value *root, const char *key)
{
    const struct toml_value *v = toml_get(root, key);
    return v && v->type == TOML_TEXT ? v->text : (struct str){"", 0};
}

static int position(const char *const *names, size_t count, struct str name)
{
    for (size_t i = 0; i < count && names[i]; i++)
        if (str_is(name, names[i]))
            return (int)i;
    return -1;
}

static bool bool_of(const struct toml_value *root, const char *key, bool otherwise)
{
    const struct toml_value *v = toml_get(root, key);
    return v && v->type == TOML_BOOL ? v->boolean : otherwise;
}

/* Parses a list of names into bits; false: there is no such list. */
static bool read_list(const struct toml_value *root, enum setup_part part, unsigned *bits)
{
    const struct setup_list *of = &setup_lists[part];
    const struct toml_value *list = toml_get(root, of->key);
    *bits = 0;
    if (!list || list->type != TOML_ARRAY)
        return false;
    for (const struct toml_value *v = list->first; v; v = v->next)
        for (int i = 0; i < of->count; i++)
            if (v->type == TOML_TEXT && of->items[i].name && str_is(v->text, of->items[i].name))
                *bits |= 1U << i;
    return true;
}

/* The columns of top.toml first, as they are listed there. */
static void read_order(const struct toml_value *root, struct top_settings *settings)
{
    const struct toml_value *list = toml_get(root, setup_lists[SETUP_PROCESSES].key);
    unsigned seen = 0;
    int count = 0, last = -1;
    bool sorted = true;
    uint8_t order[COL_COUNT];
    for (const struct toml_value *v = list && list->type == TOML_ARRAY ? list->first : NULL; v; v = v->next)
        for (int i = 0; i < COL_COMMAND; i++)
            if (v->type == TOML_TEXT && str_is(v->text, setup_lists[SETUP_PROCESSES].items[i].name) && !(seen & 1U << i)) {
                sorted &= i > last;
                last = i;
                seen |= 1U << i;
                order[count++] = (uint8_t)(i + 1);
            }
    for (int i = 0; i < COL_COUNT; i++)
        if (!(seen & 1U << i))
            order[count++] = (uint8_t)(i + 1);
    if (!sorted)
        memcpy(settings->order, order, sizeof order);
}

static void read_lists(const struct toml_value *root, struct top_settings *settings)
{
    unsigned bits;
    if (read_list(root, SETUP_PROCESSES, &bits) && bits)
        settings->columns = bits;
    read_order(root, settings);
    for (enum setup_part i = SETUP_GPUS; i < SETUP_LOOK; i++)
        if (read_list(root, i, &bits))
            settings->off[i] = bits;
}

void prefs_read(struct str text, struct top_settings *settings)
{
    AUTO_TOML struct toml_document *doc = NULL;
    struct toml_error err;
    int64_t window;
    if (toml_parse(text, &doc, &err) < 0)
        return;
    const struct toml_value *root = toml_root(doc);
    struct str theme = text_of(root, "theme"), sort = text_of(root, "sort");
    if (position(theme_names, 64, theme) >= 0)
        str_copy(settings->theme, sizeof settings->theme, theme);
    if (position(process_sort_keys, 64, sort) >= 0)
        str_copy(settings->sort, sizeof settings->sort, sort);
    settings->reverse = bool_of(root, "reverse", settings->reverse);
    settings->compute_only = bool_of(root, "compute_only", settings->compute_only);
    settings->hide_idle = bool_of(root, "hide_idle", settings->hide_idle);
    settings->blocks = bool_of(root, "blocks", settings->blocks);
    settings->act = bool_of(root, "act", settings->act);
    int group = position(top_group_names, GROUPED_COUNT, text_of(root, "group"));
    if (group >= 0)
        settings->group = (enum top_group)group;
    int metric = position(metric_names, TRAIL_CHOICES, text_of(root, "metric"));
    if (metric >= 0)
        settings->metric = (enum trail_of)metric;
    if (duration_parse(text_of(root, "window"), &window))
        for (size_t i = 0; i < top_window_count; i++)
            if (top_windows_ms[i] == window)
                settings->window_ms = window;
    str_copy(settings->gpus, sizeof settings->gpus, text_of(root, "gpus"));
    read_lists(root, settings);
}

static void write_list(const struct top_settings *settings, enum setup_part part, unsigned bits, struct buf *out)
{
    const struct setup_list *of = &setup_lists[part];
    const char *comma = "";
    buf_printf(out, "%s = [", of->key);
    for (int k = 0; k < of->count; k++) {
        int i = setup_item_at(settings, part, k);
        if (of->items[i].name && bits & 1U << i) {
            buf_printf(out, "%s\"%s\"", comma, of->items[i].name);
            comma = ", ";
        }
    }
    buf_text(out, "]\n");
}

void prefs_write(const struct top_settings *settings, struct buf *out)
{
    char window[WORDS_SIZE];
    duration_exact(settings->window_ms, window);
    buf_text(out, "# Written by `whirr top`.\n");
    buf_printf(out, "theme = \"%s\"\nsort = \"%s\"\nreverse = %s\n", settings->theme, settings->sort,
               settings->reverse ? "true" : "false");
    buf_printf(out, "group = \"%s\"\nmetric = \"%s\"\nwindow = \"%s\"\n", top_group_names[settings->group],
               metric_names[settings->metric], window);
    buf_printf(out, "compute_only = %s\nhide_idle = %s\nblocks = %s\nact = %s\n", settings->compute_only ? "true" : "false",
               settings->hide_idle ? "true" : "false", settings->blocks ? "true" : "false", settings->act ? "true" : "false");
    buf_printf(out, "gpus = \"%s\"\n", settings->gpus);
    for (enum setup_part i = SETUP_PROCESSES; i < SETUP_LOOK; i++)
        write_list(settings, i, i == SETUP_PROCESSES ? settings->columns : settings->off[i], out);
}

void prefs_load(const char *path, struct top_settings *settings)
{
    AUTO_BUF struct buf text = BUF(65536);
    char piece[4096];
    AUTO_FCLOSE FILE *f = path[0] ? fopen(path, "re") : NULL;
    size_t got;
    while (f && (got = fread(piece, 1, sizeof piece, f)) > 0)
        buf_add(&text, piece, got);
    if (text.len && !text.failed)
        prefs_read(buf_view(&text), settings);
}

int prefs_save(const char *path, const struct top_settings *settings, struct error *err)
{
    AUTO_BUF struct buf text = BUF(65536);
    char dir[4096];
    str_copy(dir, sizeof dir, str_from(path));
    char *slash = strrchr(dir, '/');
    if (!path[0] || !slash)
        return 0;
    *slash = '\0';
    (void)shared_dir_make(dir, 0700, NULL); /* ~/.config may be missing, too; writing reports any error */
    prefs_write(settings, &text);
    return text.failed ? error_set(err, -ENOMEM, "out of memory") : keep_write(path, buf_view(&text), err);
}
