/* SPDX-License-Identifier: Apache-2.0
 * The lists of the setup screen. All but the process columns store what is hidden, so that additions of later versions appear.
 */
#include "tui/setup.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"

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
