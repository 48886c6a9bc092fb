/* SPDX-License-Identifier: Apache-2.0
 * The lists of the setup screen, and top.toml, which keeps the settings. All but the process columns store what is hidden, so that
 * additions of later versions appear.
 */
#include "tui/setup.h"

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
#include "tui/theme.h"

static const struct setup_item processes[COL_COUNT] = {
    [COL_GPU] = {"gpu", "GPU", 0},
    [COL_PID] = {"pid", "PID", 0},
    [COL_USER] = {"user", "USER", 0},
    [COL_TYPE] = {"type", "TYPE  compute, graphics", 0},
    [COL_VRAM] = {"vram", "VRAM", 0},
    [COL_SM] = {"sm", "UTIL  its share", 0},
    [COL_WORK] = {"work", "WORK  of the units", 0},
    [COL_MEM] = {"mem", "BW  memory bandwidth", 0},
    [COL_ENC] = {"enc", "ENC", 0},
    [COL_DEC] = {"dec", "DEC", 0},
    [COL_WATTS] = {"watts", "WATTS", 0},
    [COL_TOKENS] = {"tokens", "TOK/S", 0},
    [COL_BY] = {"by", "BY  basis of WATTS", 0},
    [COL_CPU] = {"cpu", "CPU", 0},
    [COL_RAM] = {"ram", "RAM", 0},
    [COL_AGE] = {"age", "AGE", 0},
    [COL_IDLE] = {"idle", "IDLE  only holds memory", 0},
    [COL_CONTAINER] = {"container", "CONTAINER", 0},
    [COL_JOB] = {"job", "JOB  and rank", 0},
    [COL_LIMIT] = {"limit", "LIMIT  what slows it", 0},
    [COL_MODEL] = {"model", "MODEL", 0},
    [COL_NAME] = {"name", "NAME", 0},
};
static const struct setup_item gpus[ROW_COUNT] = {
    [ROW_NAME] = {"name", "Name", 0},
    [ROW_BAR] = {"bar", "Bar", 0},
    [ROW_UTIL] = {"util", "UTIL", 0},
    [ROW_WORK] = {"work", "WORK", 0},
    [ROW_BANDWIDTH] = {"bandwidth", "BW  memory bandwidth", 0},
    [ROW_VRAM] = {"vram", "VRAM", 0},
    [ROW_TEMP] = {"temp", "TEMP", 0},
    [ROW_HOTSPOT] = {"hotspot", "Hotspot temperature", 0},
    [ROW_MEMORY_TEMP] = {"memory-temp", "VRAM temperature", 0},
    [ROW_POWER] = {"power", "POWER", 0},
    [ROW_FAN] = {"fan", "FAN", 0},
    [ROW_CLOCK] = {"clock", "Clock", 0},
    [ROW_MEMORY_CLOCK] = {"memory-clock", "VRAM clock", 0},
    [ROW_ENCODER] = {"encoder", "ENC", 0},
    [ROW_DECODER] = {"decoder", "DEC", 0},
    [ROW_RX] = {"pcie-in", "PCIe to the GPU", 0},
    [ROW_TX] = {"pcie-out", "PCIe from the GPU", 0},
    [ROW_PLOT] = {"plot", "Short plot", 0},
    [ROW_WHY] = {"why", "WHY", 0},
};
static const struct setup_item plots[TRAIL_COUNT] = {
    [TRAIL_UTIL] = {"util", "Utilization and work", 0},
    [TRAIL_VRAM] = {"vram", "VRAM", 0},
    [TRAIL_POWER] = {"power", "Power", 0},
    [TRAIL_TEMP] = {"temp", "Temperature", 0},
    [TRAIL_FAN] = {"fan", "Fan", 0},
    [TRAIL_CLOCK] = {"clock", "Clock", 0},
    [TRAIL_RX] = {"pcie", "PCIe in and out", 0},
    [TRAIL_ENCODER] = {"codec", "Encoder and decoder", 0},
};
static const struct setup_item host[FIELD_COUNT] = {
    [FIELD_POWER] = {"power", "Power of all GPUs", 0},
    [FIELD_CPU] = {"cpu", "CPU", 0},
    [FIELD_RAM] = {"ram", "RAM", 0},
    [FIELD_DRIVERS] = {"drivers", "Drivers", 0},
    [FIELD_IOWAIT] = {"io-wait", "I/O wait", 0},
    [FIELD_SWAP] = {"swap", "Swap", 0},
    [FIELD_DISK] = {"disk", "Disk", 0},
    [FIELD_NETWORK] = {"network", "Network", 0},
};

static const struct setup_item look[LOOK_COUNT] = {
    [LOOK_THEME] = {"theme", "Theme", 'T'},
    [LOOK_PLOTS] = {"blocks", "Plots", 'D'},
    [LOOK_METRIC] = {"metric", "Short plots and heat map", 'm'},
    [LOOK_WINDOW] = {"window", "Time in plots", 'w'},
    [LOOK_GROUPS] = {"group", "Processes", 't'},
    [LOOK_COMPUTE] = {"compute_only", "Graphics processes", 'C'},
    [LOOK_IDLE] = {"hide_idle", "Processes that only hold memory", 'i'},
    [LOOK_ACT] = {"act", "Signals and nice values", 0},
};

const struct setup_list setup_lists[SETUP_PARTS] = {
    [SETUP_PROCESSES] = {"Process columns", "columns", processes, COL_COUNT,
                         "As many as fit; PROCESS is always there. J and K move a column."},
    [SETUP_GPUS] = {"GPU columns", "gpu_columns_off", gpus, ROW_COUNT, "As many as fit; what no GPU measures is left out."},
    [SETUP_PLOTS] = {"Panel plots", "plots_off", plots, TRAIL_COUNT, "Those that explain what was found come first."},
    [SETUP_HOST] = {"Host line", "host_off", host, FIELD_COUNT, "As many as fit beside the name and the number of GPUs."},
    [SETUP_LOOK] = {"View and acting", NULL, look, LOOK_COUNT, "Most have a key of their own: ? lists them."},
    [SETUP_SHOWN] = {"GPUs shown", NULL, NULL, 0, "Sums and the headline are about these alone, as with --gpu 0,2."},
};

int setup_count(const struct top *t, enum setup_part part)
{
    return part != SETUP_SHOWN ? setup_lists[part].count : t->whole ? (int)t->whole->gpu_count : 0;
}

bool setup_shows(const struct top_settings *s, enum setup_part part, int item)
{
    return part == SETUP_PROCESSES ? s->columns & 1U << item : !(s->off[part] & 1U << item);
}

void setup_toggle(struct top_settings *s, enum setup_part part, int item)
{
    *(part == SETUP_PROCESSES ? &s->columns : &s->off[part]) ^= 1U << item;
}

int setup_item_at(const struct top_settings *s, enum setup_part part, int place)
{
    return part == SETUP_PROCESSES && s->order[0] ? s->order[place] - 1 : place;
}

static int place_of(const struct top_settings *s, enum setup_part part, int item)
{
    int place = 0;
    while (place + 1 < setup_lists[part].count && setup_item_at(s, part, place) != item)
        place++;
    return place;
}

int setup_next(const struct top *t, enum setup_part part, int item, int by)
{
    const struct setup_list *list = &setup_lists[part];
    const struct top_settings *s = &t->settings;
    for (int i = (part == SETUP_SHOWN ? item : place_of(s, part, item)) + by; i >= 0 && i < setup_count(t, part); i += by)
        if (part == SETUP_SHOWN || list->items[setup_item_at(s, part, i)].name)
            return setup_item_at(s, part, i);
    return item;
}

void setup_move(struct top_settings *s, int column, int by)
{
    for (int i = 0; !s->order[0] || (i && i < COL_COUNT && !s->order[i]); i++)
        s->order[i] = (uint8_t)(i + 1);
    int from = place_of(s, SETUP_PROCESSES, column), to = from + by;
    if (to < 0 || to >= COL_COMMAND)
        return;
    s->order[from] = s->order[to];
    s->order[to] = (uint8_t)(column + 1);
}

const char *setup_value(const struct top_settings *s, int item, char *text, size_t size)
{
    char span[WORDS_SIZE];
    switch ((enum view_setting)item) {
    case LOOK_THEME: return s->theme;
    case LOOK_PLOTS: return s->blocks ? "blocks" : "dots";
    case LOOK_METRIC: return s->metric == TRAIL_WORK ? "work, else utilization" : plots[s->metric].title;
    case LOOK_GROUPS:
        return s->group == GROUPED_NOT ? "not grouped" : s->group == GROUPED_TREE ? "as a tree" : top_group_names[s->group];
    case LOOK_COMPUTE: return s->compute_only ? "hidden" : "shown";
    case LOOK_IDLE: return s->hide_idle ? "hidden" : "shown";
    case LOOK_ACT: return s->act ? "allowed, each asks" : "ask first";
    default:
        duration_exact(s->window_ms, span);
        snprintf(text, size, "%s", span);
        return text;
    }
}

/* ---- top.toml: reads, checks and writes the settings ---- */

static const char *const metric_names[TRAIL_CHOICES + 1] = {"util", "vram", "power", "temp", "fan", "clock", "work"};

static struct str text_of(const struct toml_value *root, const char *key)
{
    const struct toml_value *v = toml_get(root, key);
    return v && v->type == TOML_TEXT ? v->text : (struct str){"", 0};
}

/* In names that end with NULL; -1: none of them. */
static int position(const char *const *names, struct str name)
{
    for (size_t i = 0; names[i]; i++)
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
    if (position(theme_names, theme) >= 0)
        str_copy(settings->theme, sizeof settings->theme, theme);
    if (position(process_sort_keys, sort) >= 0)
        str_copy(settings->sort, sizeof settings->sort, sort);
    settings->reverse = bool_of(root, "reverse", settings->reverse);
    settings->compute_only = bool_of(root, "compute_only", settings->compute_only);
    settings->hide_idle = bool_of(root, "hide_idle", settings->hide_idle);
    settings->blocks = bool_of(root, "blocks", settings->blocks);
    settings->act = bool_of(root, "act", settings->act);
    int group = position(top_group_names, text_of(root, "group"));
    if (group >= 0)
        settings->group = (enum top_group)group;
    int metric = position(metric_names, text_of(root, "metric"));
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
