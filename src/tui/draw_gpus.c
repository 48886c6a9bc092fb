/* SPDX-License-Identifier: Apache-2.0
 * The GPUs: one or a few as panels, more as rows with a panel of the selected one below, or as a heat map.
 */
#include "tui/draw.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/area/part.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "tui/setup.h"

enum { CELL_WIDE = 11, CELL_MIDDLE = 9, CELL_NARROW = 5, NAMES_WHOLE_FROM = 110, WHY_MIN = 12, BAR_BEFORE_WHY_FROM = 72 };
enum { TWO_MAPS_FROM = 180, NODE_GPUS = 8 };

/* ---- rows ---- */

struct row_layout {
    int width[ROW_COUNT]; /* including the blanks before it; 0: omitted */
};

static const struct {
    const char *title, *plain; /* plain: in ASCII; NULL: the same */
    int width;
    int metric; /* shown only if some GPU has it; -1: always */
} row_parts[ROW_COUNT] = {
    [ROW_NAME] = {"", NULL, 0, -1},
    [ROW_BAR] = {"", NULL, 6, METRIC_util_permille},
    [ROW_UTIL] = {"UTIL", NULL, 5, -1},
    [ROW_WORK] = {"WORK", NULL, 5, METRIC_sm_active_permille},
    [ROW_BANDWIDTH] = {"BW", NULL, 5, METRIC_mem_util_permille},
    [ROW_VRAM] = {"VRAM GiB", NULL, 11, -1},
    [ROW_TEMP] = {"TEMP", NULL, 7, -1},
    [ROW_HOTSPOT] = {"HOT°", "HOT", 5, METRIC_temp_hotspot_mdegc},
    [ROW_MEMORY_TEMP] = {"MEM°", "MEM", 5, METRIC_temp_memory_mdegc},
    [ROW_POWER] = {"POWER W", NULL, 9, -1},
    [ROW_FAN] = {"FAN", NULL, 9, -1},
    [ROW_CLOCK] = {"MHz", NULL, 6, METRIC_clock_graphics_khz},
    [ROW_MEMORY_CLOCK] = {"MEM MHz", NULL, 8, METRIC_clock_memory_khz},
    [ROW_ENCODER] = {"ENC", NULL, 5, METRIC_encoder_permille},
    [ROW_DECODER] = {"DEC", NULL, 5, METRIC_decoder_permille},
    [ROW_RX] = {"PCIe↓", "PCIe in", 8, METRIC_pcie_rx_bytes_per_s},
    [ROW_TX] = {"↑GB/s", "out", 6, METRIC_pcie_tx_bytes_per_s},
    [ROW_PLOT] = {"", NULL, 10, -1},
    [ROW_WHY] = {"WHY", NULL, 19, -1},
};

/* Drops "80GB HBM3" if there is little room: memory has its own column. */
static int name_width(const struct gpu *gpu, bool whole)
{
    const char *name = draw_gpu_name(gpu);
    for (const char *at = strchr(name, ' '); at && !whole; at = strchr(at + 1, ' ')) {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits && strncmp(at + 1 + digits, "GB", 2) == 0)
            return (int)(at - name);
    }
    return width_of(name);
}

static int longest_name(const struct snapshot *s, bool whole)
{
    int longest = 4;
    for (size_t i = 0; i < s->gpu_count; i++)
        longest = MAX_OF(longest, name_width(&s->gpus[i], whole));
    return MIN_OF(longest, whole ? 26 : 14);
}

static bool any_has(const struct snapshot *s, enum row_part part)
{
    int metric = row_parts[part].metric;
    bool found = metric < 0 && part != ROW_FAN;
    for (size_t i = 0; i < s->gpu_count && !found; i++)
        found = part == ROW_FAN ? s->gpus[i].fan_permille.state == READING_OK || s->gpus[i].fan_rpm.state == READING_OK
                                : s->gpus[i].metric[metric].state == READING_OK;
    return found;
}

static bool runs_job(const struct gpu *gpu, const char *job)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        if (strcmp(gpu->processes[i].job, job) == 0)
            return true;
    return false;
}

int draw_straggler(const struct top *t, const struct process *of)
{
    const struct verdict *v = draw_verdict(t);
    const struct snapshot *s = top_shown(t);
    for (size_t i = 0; v && i < v->count; i++)
        for (size_t g = 0; v->findings[i].code == FINDING_STRAGGLER && v->findings[i].tense == TENSE_NOW && g < s->gpu_count; g++)
            if (s->gpus[g].index == v->findings[i].gpu_index && (!of || runs_job(&s->gpus[g], of->job)))
                return s->gpus[g].index;
    return -1;
}

/* The finding, else the limit of the main process, else what the GPU does. */
static void reason_text(const struct top *t, size_t position, char *words, size_t size, enum tint *tint)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    const struct process *p = gpu_top_process(gpu);
    const struct why *why = top_shown_why(t);
    gpu_badge_text(t, position, words, size, tint);
    if (words[0])
        return;
    bool limited = p && p->limit.code != LIMIT_UNJUDGED && p->limit.code != LIMIT_CANNOT_TELL;
    int waits_for = draw_straggler(t, p);
    if (waits_for >= 0 && gpu->index == waits_for) {
        *tint = TINT_WARN;
        str_copy(words, size, str_from(limited ? limit_doing(p->limit.code) : "keeps others waiting"));
        return;
    }
    /* The history has no limits of processes, but its explanation names the wait. */
    bool waited = t->cursor_ms && why && position < why->gpu_count && strstr(why->gpus[position].brief.state, "waiting for GPU");
    if (waits_for >= 0 && p && (waited || p->limit.code == LIMIT_STRAGGLER_WAIT)) {
        *tint = TINT_PLAIN;
        snprintf(words, size, "waits for GPU %d", waits_for);
        return;
    }
    /* Of this sample, like the numbers beside it. */
    enum activity_code doing = gpu->activity.code;
    if (doing == ACTIVITY_UNKNOWN && why && position < why->gpu_count)
        doing = why->gpus[position].activity.code;
    *tint = TINT_PLAIN;
    str_copy(words, size,
             str_from(limited                     ? limit_doing(p->limit.code)
                      : doing == ACTIVITY_UNKNOWN ? ""
                                                  : activity_code_words(doing)));
}

/* The width for reasons: a wide screen shows them uncut, in up to two fifths of it. */
static int why_width(const struct top *t, int width)
{
    int longest = row_parts[ROW_WHY].width;
    char words[GPU_ERROR_SIZE + 64];
    enum tint tint;
    for (size_t i = 0; i < top_shown(t)->gpu_count; i++) {
        reason_text(t, i, words, sizeof words, &tint);
        longest = MAX_OF(longest, MIN_OF(width_of(words) + 2, width * 2 / 5));
    }
    return longest;
}

/* Percentages need less than "1020 rpm". */
static int fan_width(const struct snapshot *s)
{
    bool turns = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        turns |= s->gpus[i].fan_permille.state != READING_OK && s->gpus[i].fan_rpm.state == READING_OK;
    return turns ? row_parts[ROW_FAN].width : 5;
}

/* Takes the most useful columns that fit; the plot and the reason share the rest. */
static struct row_layout draw_rows_measure(const struct top *t, int width, bool panel)
{
    static const enum row_part wide_order[] = {ROW_UTIL,        ROW_VRAM,    ROW_TEMP,      ROW_POWER,   ROW_BAR,
                                               ROW_NAME,        ROW_WHY,     ROW_FAN,       ROW_WORK,    ROW_PLOT,
                                               ROW_CLOCK,       ROW_RX,      ROW_TX,        ROW_ENCODER, ROW_DECODER,
                                               ROW_MEMORY_TEMP, ROW_HOTSPOT, ROW_BANDWIDTH, ROW_PLOT,    ROW_MEMORY_CLOCK};
    static const enum row_part narrow_order[] = {ROW_UTIL, ROW_VRAM, ROW_TEMP, ROW_POWER, ROW_NAME,
                                                 ROW_WHY,  ROW_FAN,  ROW_WORK, ROW_BAR};
    bool narrow = width < BAR_BEFORE_WHY_FROM;
    const enum row_part *order = narrow ? narrow_order : wide_order;
    size_t count = narrow ? ARRAY_LEN(narrow_order) : ARRAY_LEN(wide_order);
    const struct snapshot *s = top_shown(t);
    struct row_layout l = {0};
    int left = width - 5;
    /* The reason leaves room for the fan. */
    int fan = any_has(s, ROW_FAN) && setup_shows(&t->settings, SETUP_GPUS, ROW_FAN) ? fan_width(s) : 0;
    for (size_t i = 0; i < count; i++) {
        int wide = order[i] == ROW_NAME  ? longest_name(s, width >= NAMES_WHOLE_FROM) + 1
                   : order[i] == ROW_WHY ? MAX_OF(MIN_OF(why_width(t, width), left - fan), (int)WHY_MIN)
                   : order[i] == ROW_FAN ? fan
                                         : row_parts[order[i]].width;
        bool later = order[i] == ROW_PLOT && panel && i + 1 < count && order[i + 1] == ROW_CLOCK;
        if (later || l.width[order[i]] || wide > left || !any_has(s, order[i]) ||
            !setup_shows(&t->settings, SETUP_GPUS, (int)order[i]))
            continue;
        l.width[order[i]] = wide;
        left -= wide;
    }
    int more = l.width[ROW_PLOT] ? MIN_OF(left, 60) * (l.width[ROW_WHY] ? 2 : 3) / 3 : 0;
    l.width[ROW_PLOT] += more;
    l.width[ROW_WHY] += l.width[ROW_WHY] ? left - more : 0;
    return l;
}

static void rows_heading(struct top *t, struct canvas *c, const struct row_layout *l, int y)
{
    char span[WORDS_SIZE], text[64];
    int x = 5;
    canvas_right(c, 2, y, 2, TINT_DIM, "#");
    for (enum row_part i = 0; i < ROW_COUNT; x += l->width[i++]) {
        const char *title = !t->utf8 && row_parts[i].plain ? row_parts[i].plain : row_parts[i].title;
        if (i == ROW_NAME || i == ROW_WHY)
            canvas_text(c, x + (i == ROW_WHY), y, l->width[i], TINT_DIM, i == ROW_NAME ? "GPU" : title);
        else if (i == ROW_PLOT && l->width[i]) {
            duration_exact(t->settings.window_ms, span);
            snprintf(text, sizeof text, "%s, %s", gpu_metrics[top_metric(t)].label, span);
            canvas_text(c, x + 1, y, l->width[i] - 1, TINT_DIM, text);
        } else {
            canvas_right(c, x, y, l->width[i], TINT_DIM, title);
        }
    }
}

static void vram_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t used, total;
    if (reading_get(gpu->mem_used_bytes, &used) && reading_get(gpu->mem_total_bytes, &total))
        snprintf(text, NUMBER_SIZE, "%.*f/%.*f", used < 100LL << 30, (double)used / (1 << 30), total < 100LL << 30,
                 (double)total / (1 << 30));
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

static void scaled_text(char text[NUMBER_SIZE], const struct page *page, struct reading r, double scale, int digits)
{
    if (r.state == READING_OK)
        snprintf(text, NUMBER_SIZE, "%.*f", digits, (double)r.value * scale);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

static void part_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, enum row_part part)
{
    switch (part) {
    case ROW_UTIL: show_percent(text, page, gpu->util_permille); break;
    case ROW_WORK: show_percent(text, page, gpu->sm_active_permille); break;
    case ROW_BANDWIDTH:
        show_percent(text, page,
                     gpu->dram_active_permille.state == READING_OK ? gpu->dram_active_permille : gpu->mem_util_permille);
        break;
    case ROW_VRAM: vram_text(text, page, gpu); break;
    case ROW_TEMP: show_temperature(text, page, gpu->temp_mdegc); break;
    case ROW_HOTSPOT: scaled_text(text, page, gpu->temp_hotspot_mdegc, 1e-3, 0); break;
    case ROW_MEMORY_TEMP: scaled_text(text, page, gpu->temp_memory_mdegc, 1e-3, 0); break;
    case ROW_POWER:
        gpu_power_text(text, page, gpu, true);
        if (strlen(text) > 2 && strcmp(text + strlen(text) - 2, " W") == 0) /* the heading has the unit */
            text[strlen(text) - 2] = '\0';
        break;
    case ROW_FAN: gpu_fan_text(text, page, gpu); break;
    case ROW_CLOCK: scaled_text(text, page, gpu->clock_graphics_khz, 1e-3, 0); break;
    case ROW_MEMORY_CLOCK: scaled_text(text, page, gpu->clock_memory_khz, 1e-3, 0); break;
    case ROW_ENCODER: show_percent(text, page, gpu->encoder_permille); break;
    case ROW_DECODER: show_percent(text, page, gpu->decoder_permille); break;
    case ROW_RX: scaled_text(text, page, gpu->pcie_rx_bytes_per_s, 1e-9, 1); break;
    case ROW_TX: scaled_text(text, page, gpu->pcie_tx_bytes_per_s, 1e-9, 1); break;
    default: text[0] = '\0'; break;
    }
}

/* The reason, and the process if there is room. */
static void draw_reason(struct top *t, struct canvas *c, size_t position, int x, int y, int width)
{
    char words[GPU_ERROR_SIZE + 64];
    enum tint tint;
    reason_text(t, position, words, sizeof words, &tint);
    gpu_shorten_limit(words, sizeof words, gpu_top_process(&top_shown(t)->gpus[position]), width);
    if (width_of(words) > width) /* "kworkerds (www-data) has been mining": the row has names and numbers */
        draw_drop_asides(words);
    if (width_of(words) > width) /* "throttling; it shuts down at 98 °C" */
        words[strcspn(words, ";")] = '\0';
    int used = canvas_text(c, x, y, width, tint, words) + 2;
    gpu_lease_text(t, position, words, sizeof words);
    if (words[0] && width - used >= 12)
        used += canvas_text(c, x + used, y, width - used, TINT_LABEL, words) + 2;
    gpu_process_text(&top_shown(t)->gpus[position], words, sizeof words);
    if (width - used >= 12)
        canvas_text(c, x + used, y, width - used, TINT_DIM, words);
}

static void list_row(struct top *t, struct canvas *c, const struct row_layout *l, size_t position, int y)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    struct page page = draw_page(t);
    char text[NUMBER_SIZE], words[GPU_ERROR_SIZE + 64];
    enum tint tint, heat = draw_heat_tint(t, gpu);
    int x = 5;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, 2, y, 2, TINT_STRONG, text);
    str_copy(words, sizeof words, str_from(draw_gpu_name(gpu)));
    if (c->width <= NAMES_WHOLE_FROM)
        words[name_width(gpu, false)] = '\0';
    canvas_text(c, x, y, l->width[ROW_NAME] - 1, TINT_PLAIN, words);
    gpu_trouble_text(gpu, words, sizeof words, &tint);
    if (words[0]) {
        x += l->width[ROW_NAME];
        canvas_text(c, 0, y, 1, tint, gpu->state == GPU_ASLEEP || gpu->released ? " " : "▲");
        canvas_text(c, x, y, c->width - x - 1, tint, words);
        return;
    }
    if (heat != TINT_PLAIN || gpu_is_marked(t, position))
        canvas_text(c, 0, y, 1, heat != TINT_PLAIN ? heat : TINT_WARN, "▲");
    for (enum row_part i = 0; i < ROW_COUNT; x += l->width[i++]) {
        if (!l->width[i] || i == ROW_NAME)
            continue;
        if (i == ROW_BAR) {
            canvas_bar(c, x, y, l->width[i] - 1, TINT_UTIL, gpu->util_permille);
        } else if (i == ROW_PLOT) {
            draw_plot(t, c, position, top_metric(t), x + 1, y, l->width[i] - 1, 1);
        } else if (i == ROW_WHY) {
            draw_reason(t, c, position, x + 1, y, c->width - x - 2);
        } else {
            part_text(text, &page, gpu, i);
            canvas_right(c, x, y, l->width[i], i == ROW_TEMP ? heat : TINT_PLAIN, text);
        }
    }
}

int draw_gpu_rows(struct top *t, struct canvas *c, int y, int height, bool panel)
{
    const struct snapshot *s = top_shown(t);
    struct row_layout l = draw_rows_measure(t, c->width - 1, panel);
    rows_heading(t, c, &l, y);
    for (size_t i = 0; i < s->gpu_count; i++) {
        int row = y + 1 + (int)i;
        top_zone(t, ZONE_GPU, 0, row, c->width, 1, (int64_t)i);
        list_row(t, c, &l, i, row);
        if (t->only == (int)i)
            canvas_select(c, 0, row, c->width);
    }
    int used = 1 + (int)s->gpu_count, x = 5;
    for (enum row_part i = 0; i < ROW_PLOT; i++)
        x += l.width[i];
    if (used < height && l.width[ROW_PLOT] > 16)
        draw_axis(t, c, x + 1, y + used++, l.width[ROW_PLOT] - 1);
    return used;
}

void gpu_brief_reason(const struct top *t, size_t position, char *words, size_t size, enum tint *tint, int width)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    const struct finding *first = verdict_first(draw_verdict(t), gpu->index);
    const struct process *p = gpu_top_process(gpu);
    gpu_trouble_text(gpu, words, size, tint);
    if (!words[0] && first && first->severity >= SEVERITY_WARNING) {
        *tint = first->severity == SEVERITY_CRITICAL ? TINT_BAD : TINT_WARN;
        str_copy(words, size, str_from(finding_kind(first->code)->code));
        for (char *at = strchr(words, '_'); at; at = strchr(at, '_'))
            *at = ' ';
    } else if (!words[0]) {
        reason_text(t, position, words, size, tint);
        gpu_shorten_limit(words, size, p, width);
    }
    char *gap = width_of(words) > width ? strchr(words, ' ') : NULL;
    if (gap && gap - words > 2 && strncmp(gap - 2, "'s", 2) == 0) /* "CPU" of "the host's CPU cores" */
        memmove(words, gap + 1, strlen(gap));
    gap = width_of(words) > width ? strchr(words, ' ') : NULL;
    if (gap)
        *gap = '\0';
}

/* One short row each, for a screen that is narrow. */
static int draw_gpu_brief(struct top *t, struct canvas *c, int y)
{
    const struct snapshot *s = top_shown(t);
    struct page page = draw_page(t);
    bool work = any_has(s, ROW_WORK);
    int at_work = 14, at_vram = at_work + 5 * work, at_temp = at_vram + 6, at_power = at_temp + 4, at_why = at_power + 5;
    canvas_text(c, 3, y, 6, TINT_DIM, "UTIL");
    canvas_right(c, at_work, y, 5 * work, TINT_DIM, "WORK");
    canvas_right(c, at_vram, y, 6, TINT_DIM, "GiB");
    canvas_right(c, at_temp, y, 4, TINT_DIM, t->utf8 ? "°C" : "C");
    canvas_right(c, at_power, y, 4, TINT_DIM, "W");
    canvas_text(c, at_why, y, c->width - at_why, TINT_DIM, "WHY");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        int row = ++y;
        char text[NUMBER_SIZE], words[GPU_ERROR_SIZE + 64];
        enum tint tint = TINT_PLAIN;
        snprintf(text, sizeof text, "%d", gpu->index);
        canvas_right(c, 0, row, 2, TINT_STRONG, text);
        if (gpu_is_marked(t, i))
            canvas_text(c, 2, row, 1, TINT_WARN, "▲");
        canvas_bar(c, 3, row, 5, TINT_UTIL, gpu->util_permille);
        part_text(text, &page, gpu, ROW_UTIL);
        canvas_right(c, 8, row, 6, TINT_PLAIN, text);
        part_text(text, &page, gpu, ROW_WORK);
        canvas_right(c, at_work, row, 5 * work, TINT_PLAIN, text);
        scaled_text(text, &page, gpu->mem_used_bytes, 1.0 / (1 << 30), 1);
        canvas_right(c, at_vram, row, 6, TINT_PLAIN, text);
        scaled_text(text, &page, gpu->temp_mdegc, 1e-3, 0);
        canvas_right(c, at_temp, row, 4, draw_heat_tint(t, gpu), text);
        scaled_text(text, &page, gpu->power_mw, 1e-3, 0);
        canvas_right(c, at_power, row, 4, TINT_PLAIN, text);
        gpu_brief_reason(t, i, words, sizeof words, &tint, c->width - at_why);
        canvas_text(c, at_why, row, c->width - at_why, tint, words);
        top_zone(t, ZONE_GPU, 0, row, c->width, 1, (int64_t)i);
        if (t->only == (int)i)
            canvas_select(c, 0, row, c->width);
    }
    return (int)s->gpu_count + 1;
}

/* ---- heat map ---- */

static void map_cell(struct top *t, struct canvas *c, size_t position, enum trail_of metric, int x, int y, int width)
{
    static const uint32_t shades[] = {0xb7, 0x2591, 0x2591, 0x2592, 0x2592, 0x2593, 0x2593, 0x2588};
    static const char plain[] = ".:-=+*%#";
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    struct reading r = gpu_share(gpu, metric);
    int64_t value = MIN_OF(MAX_OF(reading_or(r, 0), (int64_t)0), (int64_t)1000);
    int step = (int)MIN_OF(value * RAMP_STEPS / 1000, (int64_t)RAMP_STEPS - 1);
    char text[16];
    bool lost = gpu->state == GPU_LOST || gpu->state == GPU_ERROR;
    enum tint tint = lost ? TINT_BAD : r.state == READING_OK ? (enum tint)(TINT_RAMP + step) : TINT_DIM;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, x, y, 3, draw_heat_tint(t, gpu) != TINT_PLAIN ? draw_heat_tint(t, gpu) : TINT_DIM, text);
    uint32_t glyph = lost                    ? '!'
                     : r.state != READING_OK ? (gpu->state == GPU_ASLEEP ? 'z' : '?')
                     : t->utf8               ? shades[step]
                                             : (uint32_t)plain[step];
    if (width > CELL_NARROW && gpu_is_marked(t, position))
        canvas_text(c, x + 3, y, 1, TINT_WARN, "▲");
    int blocks = width == CELL_WIDE ? 2 : 1;
    for (int i = 0; i < blocks; i++)
        canvas_put(c, x + 3 + (width > CELL_NARROW) + i, y, tint, glyph);
    if (width > CELL_NARROW && r.state == READING_OK) {
        snprintf(text, sizeof text, "%lld", (long long)((value + 5) / 10));
        canvas_right(c, x + width - 4, y, 3, TINT_PLAIN, text);
    } else if (width > CELL_NARROW && lost) {
        canvas_right(c, x + width - 5, y, 4, TINT_BAD, "lost");
    }
    top_zone(t, ZONE_GPU, x, y, width, 1, (int64_t)position);
    if (t->only == (int)position)
        canvas_select(c, x, y, width);
}

/* Of several GPUs in one cell: the first one with a problem, or the one with the highest value. */
static size_t worst_of(const struct top *t, size_t from, size_t until, enum trail_of metric)
{
    const struct snapshot *s = top_shown(t);
    size_t worst = from;
    for (size_t i = from; i < until; i++) {
        if (s->gpus[i].state == GPU_LOST || s->gpus[i].state == GPU_ERROR || gpu_is_marked(t, i))
            return i;
        if (reading_or(gpu_share(&s->gpus[i], metric), -1) > reading_or(gpu_share(&s->gpus[worst], metric), -1))
            worst = i;
    }
    return worst;
}

/* Too many GPUs for a cell each: each cell stands for 2, 4, 8, ... of them. */
static int draw_shared_map(struct top *t, struct canvas *c, enum trail_of metric, int y, int room, int height)
{
    enum { CELL_SHARED = 9 };
    const struct snapshot *s = top_shown(t);
    int count = (int)s->gpu_count, columns = MAX_OF((room - 1) / CELL_SHARED, 1), each = 2;
    while ((count + each - 1) / each > columns * (height - 1))
        each *= 2;
    for (int i = 0; i * each < count; i++) {
        int last = MIN_OF((i + 1) * each, count) - 1, x = i % columns * CELL_SHARED;
        char text[24];
        map_cell(t, c, worst_of(t, (size_t)(i * each), (size_t)last + 1, metric), metric, x + 3, y + 1 + i / columns, CELL_NARROW);
        snprintf(text, sizeof text, "%d-%d", s->gpus[i * each].index, s->gpus[last].index);
        canvas_right(c, x, y + 1 + i / columns, 6, TINT_DIM, text);
    }
    char text[32];
    snprintf(text, sizeof text, "worst of each %d", each);
    canvas_right(c, room / 2, y, room - room / 2 - 1, TINT_DIM, text);
    return (count + columns * each - 1) / (columns * each) + 1;
}

/* One map, in this part of the screen; returns the lines it took. */
static int draw_map(struct top *t, struct canvas *c, enum trail_of metric, const char *title, int x, int y, int room, int height)
{
    static const int widths[] = {CELL_WIDE, CELL_MIDDLE, CELL_NARROW};
    const struct snapshot *s = top_shown(t);
    int count = (int)s->gpu_count, width = CELL_NARROW, columns = 1, rows = 0;
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        width = widths[i];
        columns = MAX_OF((room - 1) / width, 1);
        if (columns > NODE_GPUS / 2) /* a host's eight GPUs to a line, or four: the same place in each */
            columns = columns >= NODE_GPUS ? columns / NODE_GPUS * NODE_GPUS : NODE_GPUS / 2;
        rows = (count + columns - 1) / columns;
        if (rows <= height - 1)
            break;
    }
    canvas_text(c, x + 1, y, room - 2, TINT_DIM, title);
    if (rows > height - 1)
        return draw_shared_map(t, c, metric, y, room, height);
    for (int i = 0; i < count; i++)
        map_cell(t, c, (size_t)i, metric, x + i % columns * width, y + 1 + i / columns, width);
    return rows + 1;
}

int draw_gpu_map(struct top *t, struct canvas *c, int y, int height)
{
    static const char *const of[TRAIL_COUNT] = {
        "UTIL %", "VRAM % of the total", "POWER % of the limit", "TEMP °C", "FAN %", "CLOCK % of the highest", "WORK %"};
    enum trail_of first = top_metric(t), second = first == TRAIL_TEMP ? TRAIL_UTIL : TRAIL_TEMP;
    bool two = c->width >= TWO_MAPS_FROM, brief = c->width < BRIEF_BELOW;
    char text[96];
    snprintf(text, sizeof text, brief ? "%zu GPUs  %s" : "%zu GPUs  %s   m changes it", top_shown(t)->gpu_count, of[first]);
    int half = two ? c->width / 2 : c->width;
    int used = draw_map(t, c, first, text, 0, y, half, height);
    return two ? MAX_OF(used, draw_map(t, c, second, of[second], half, y, c->width - half, height)) : used;
}

/* ---- which of them ---- */

enum { PLOTTED_GPUS = 2, PANEL_MIN = 6, PROCESSES_WANTED = 7 };

/* Stacks a few panels and leaves room for processes. */
static int draw_panels(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    int start = y, plotted = 0, lines = MIN_OF(height, MAX_OF(c->height * 13 / 20, 6 * (int)s->gpu_count));
    for (size_t i = 0; i < s->gpu_count; i++)
        plotted += s->gpus[i].state == GPU_OK;
    int each = plotted ? (lines - ((int)s->gpu_count - plotted)) / plotted : 1; /* without readings it is a line */
    for (size_t i = 0; i < s->gpu_count; i++)
        y += draw_panel(t, c, i, y, s->gpus[i].state == GPU_OK ? each : 1);
    return y - start;
}

/* The GPU of the panel below the rows: the selected one, or the one that the headline is about. */
static size_t panel_of(const struct top *t, const struct snapshot *s)
{
    const struct why_part *part = top_why_part(t);
    if (t->only != ALL_GPUS)
        return (size_t)t->only;
    for (size_t i = 0; part && i < s->gpu_count; i++)
        if (s->gpus[i].index == part->gpu_index)
            return i;
    return 0;
}

static int draw_rows_and_panel(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    int rows = (int)s->gpu_count + 1, processes = MIN_OF((int)t->row_count + 1, MAX_OF(c->height / 3, (int)PROCESSES_WANTED));
    /* The caller has already reserved a few lines for processes. */
    int room = height + MIN_OF((int)PROCESSES_MIN, c->height / 3) - rows - processes;
    bool panel = room >= PANEL_MIN && c->width >= 60;
    int used = draw_gpu_rows(t, c, y, panel ? rows : height, panel);
    bool blank = panel && room > PANEL_MIN + 2;
    return panel ? used + blank + draw_panel(t, c, panel_of(t, s), y + used + blank, room - blank) : used;
}

int draw_gpus(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    if (!s || !s->gpu_count || height < 2)
        return 0;
    if (c->width < BRIEF_BELOW && s->gpu_count > PLOTTED_GPUS && (int)s->gpu_count + 1 <= height)
        return draw_gpu_brief(t, c, y);
    if (s->gpu_count <= PLOTTED_GPUS && height >= 5 * (int)s->gpu_count)
        return draw_panels(t, c, y, height);
    if ((int)s->gpu_count + 1 <= height)
        return draw_rows_and_panel(t, c, y, height);
    int used = draw_gpu_map(t, c, y, height), blank = c->height >= 30;
    if (c->width >= BRIEF_BELOW && height - used - blank >= 3)
        used += blank + draw_gpu_jobs(t, c, y + used + blank, MAX_OF((height - used - blank) / 3, 4 - blank));
    int room = MIN_OF(height - used - 1, c->height / 3);
    if (room < PANEL_MIN || c->width < BRIEF_BELOW)
        return used;
    return used + 1 + draw_panel(t, c, panel_of(t, s), y + used + 1, room);
}
