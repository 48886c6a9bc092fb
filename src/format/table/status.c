/* SPDX-License-Identifier: Apache-2.0
 * The status of all GPUs at a glance:
 *
 *   GPU NAME              LOAD               MEMORY                    TEMP   POWER      FAN
 *     0 GeForce RTX 4090  ███████▊░░  78 %   ███████▎░░ 17.6/24.0 GiB  71 °C  280/450 W  62 %
 *       slowed by power cap · 2520 MHz · python3 (alice) 16.6 GiB 75 %, Xorg 312 MiB
 *
 * Widths come from the data, names and bars share what is left; columns of which no GPU knows anything are left out.
 */
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "model/fan.h"

enum column { COLUMN_LOAD, COLUMN_MEMORY, COLUMN_TEMP, COLUMN_POWER, COLUMN_FAN, COLUMN_CLOCK, COLUMN_BANDWIDTH, COLUMN_COUNT };

static const struct {
    const char *title;
    bool bar;
    int from_width; /* shown on pages at least so wide */
    bool always;    /* also when no GPU knows it */
} columns[COLUMN_COUNT] = {
    [COLUMN_LOAD] = {"LOAD", true, 0, true},
    [COLUMN_MEMORY] = {"MEMORY", true, 0, true},
    [COLUMN_TEMP] = {"TEMP", false, 0, true},
    [COLUMN_POWER] = {"POWER", false, 0, false},
    [COLUMN_FAN] = {"FAN", false, 0, false},
    [COLUMN_CLOCK] = {"CLOCK", false, 100, false},
    [COLUMN_BANDWIDTH] = {"MEM BUSY", false, 112, false},
};

enum { BAR_LEAST = 5, NAME_LEAST = 10 };

struct status_cell {
    char text[NUMBER_SIZE];
    enum ink ink;
    enum ink bar_ink;
    struct reading bar;
    bool known;
};

struct status_layout {
    int index, name, bar;
    int text[COLUMN_COUNT]; /* 0: the column is left out */
};

static struct reading memory_permille(const struct gpu *gpu)
{
    int64_t used, total;
    if (!reading_get(gpu->mem_used_bytes, &used) || !reading_get(gpu->mem_total_bytes, &total) || total <= 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok((int64_t)((double)used * 1000.0 / (double)total));
}

/* Yellow within 10 degrees of where the card slows down, red within 3; cards that tell no limit are taken to have 90. */
static enum ink heat_ink(const struct gpu *gpu)
{
    int64_t temp, limit = reading_or(gpu->temp_limit_mdegc, 90000);
    if (!reading_get(gpu->temp_mdegc, &temp))
        return INK_FAINT;
    return temp >= limit - 3000 ? INK_BAD : temp >= limit - 10000 ? INK_WARN : INK_PLAIN;
}

static enum ink power_ink(const struct gpu *gpu)
{
    int64_t power, limit;
    if (!reading_get(gpu->power_mw, &power))
        return INK_FAINT;
    return reading_get(gpu->power_limit_mw, &limit) && limit > 0 && power >= limit / 100 * 97 ? INK_WARN : INK_PLAIN;
}

static void power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t power, limit;
    if (!reading_get(gpu->power_limit_mw, &limit) || limit <= 0)
        show_watts(text, page, gpu->power_mw);
    else if (reading_get(gpu->power_mw, &power))
        snprintf(text, NUMBER_SIZE, "%.0f/%.0f W", (double)power / 1000, (double)limit / 1000);
    else
        snprintf(text, NUMBER_SIZE, "%s/%.0f W", page_dash(page), (double)limit / 1000);
}

/* On a narrow page "17.6/24.0G" leaves room for the names. */
static void memory_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    show_bytes_of(text, page, gpu->mem_used_bytes, gpu->mem_total_bytes);
    size_t len = strlen(text);
    if (page->width < 100 && len > 4 && str_ends(str_from(text), "iB")) {
        text[len - 4] = text[len - 3];
        text[len - 3] = '\0';
    }
}

static void make_cells(struct status_cell cells[COLUMN_COUNT], const struct page *page, const struct gpu *gpu)
{
    int64_t value;
    memset(cells, 0, COLUMN_COUNT * sizeof *cells);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        snprintf(cells[i].text, NUMBER_SIZE, "%s", page_dash(page));

    struct reading full = memory_permille(gpu);
    cells[COLUMN_LOAD].bar = gpu->util_permille;
    cells[COLUMN_LOAD].bar_ink = INK_LOAD;
    show_percent(cells[COLUMN_LOAD].text, page, gpu->util_permille);
    cells[COLUMN_LOAD].ink = reading_or(gpu->util_permille, 0) >= 100 ? INK_STRONG : INK_PLAIN;
    cells[COLUMN_MEMORY].bar = full;
    cells[COLUMN_MEMORY].bar_ink = reading_or(full, 0) >= 970 ? INK_BAD : reading_or(full, 0) >= 900 ? INK_WARN : INK_MEMORY;
    memory_text(cells[COLUMN_MEMORY].text, page, gpu);
    if (gpu->temp_mdegc.state == READING_OK)
        show_temperature(cells[COLUMN_TEMP].text, page, gpu->temp_mdegc);
    cells[COLUMN_TEMP].ink = heat_ink(gpu);
    power_text(cells[COLUMN_POWER].text, page, gpu);
    cells[COLUMN_POWER].ink = power_ink(gpu);
    enum fan_state fan = fan_judge(gpu).state;
    if (fan == FAN_STATE_OFF || fan == FAN_STATE_FIRMWARE || fan == FAN_STATE_OFF_HOT || fan == FAN_STATE_STOPPED)
        snprintf(cells[COLUMN_FAN].text, NUMBER_SIZE, "off");
    else if (gpu->fan_permille.state == READING_OK)
        show_percent(cells[COLUMN_FAN].text, page, gpu->fan_permille);
    else if (reading_get(gpu->fan_rpm, &value))
        snprintf(cells[COLUMN_FAN].text, NUMBER_SIZE, "%lld rpm", (long long)value);
    if (reading_get(gpu->clock_graphics_khz, &value))
        snprintf(cells[COLUMN_CLOCK].text, NUMBER_SIZE, "%lld MHz", (long long)(value / 1000));
    show_percent(cells[COLUMN_BANDWIDTH].text, page, gpu->mem_util_permille);

    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        cells[i].known = strcmp(cells[i].text, page_dash(page)) != 0;
        if (!cells[i].known)
            cells[i].ink = INK_FAINT;
    }
}

/* "GeForce RTX 4090" is as clear as "NVIDIA GeForce RTX 4090". */
static const char *short_name(const struct gpu *gpu)
{
    if (!gpu->id.name[0])
        return "unknown GPU";
    size_t maker = strlen(gpu->id.vendor);
    const char *rest = gpu->id.name + maker;
    if (maker == 0 || strncasecmp(gpu->id.name, gpu->id.vendor, maker) != 0)
        return gpu->id.name;
    if (strncmp(rest, "(R)", 3) == 0)
        rest += 3;
    if (rest[0] == ' ' && rest[1])
        return rest + 1;
    return gpu->id.name;
}

static void instance_name(char text[GPU_NAME_SIZE], const struct page *page, const struct gpu *instance)
{
    snprintf(text, GPU_NAME_SIZE, "%s %s", page->utf8 ? "└" : "-", instance->profile[0] ? instance->profile : "instance");
}

static void measure_row(struct status_layout *l, const struct page *page, const struct gpu *gpu, const char *name,
                        bool known[COLUMN_COUNT])
{
    struct status_cell cells[COLUMN_COUNT];
    make_cells(cells, page, gpu);
    l->name = MAX_OF(l->name, width_of(name));
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        l->text[i] = MAX_OF(l->text[i], width_of(cells[i].text));
        known[i] |= cells[i].known;
    }
}

/* Columns of a whole row without its bars; with_bars counts a bar of one column. */
static int fixed_width(const struct status_layout *l)
{
    int width = l->index + 1 + l->name;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (l->text[i])
            width += 2 + l->text[i] + (columns[i].bar ? 1 : 0);
    return width;
}

static struct status_layout measure(const struct page *page, const struct snapshot *s, int only)
{
    struct status_layout l = {.index = 3};
    bool known[COLUMN_COUNT] = {false};
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        measure_row(&l, page, &s->gpus[i], short_name(&s->gpus[i]), known);
        for (size_t k = 0; k < s->gpus[i].instance_count; k++) {
            char name[GPU_NAME_SIZE];
            instance_name(name, page, &s->gpus[i].instances[k]);
            measure_row(&l, page, &s->gpus[i].instances[k], name, known);
        }
    }
    int width = page->width ? page->width : 80;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if ((!known[i] && !columns[i].always) || width < columns[i].from_width)
            l.text[i] = 0;
        else
            l.text[i] = MAX_OF(l.text[i], width_of(columns[i].title) - (columns[i].bar ? 4 : 0));
    }
    /* What is left goes to the two bars, within reason; what is missing is taken from the names, then from whole columns. */
    int left = width - fixed_width(&l);
    l.bar = MIN_OF(MAX_OF(left / 2, BAR_LEAST), width >= 112 ? 16 : 10);
    if (left < 2 * l.bar)
        l.name = MIN_OF(l.name, MAX_OF(l.name - (2 * l.bar - left), NAME_LEAST));
    static const enum column dispensable[] = {COLUMN_BANDWIDTH, COLUMN_CLOCK, COLUMN_FAN, COLUMN_POWER, COLUMN_TEMP};
    for (size_t i = 0; i < ARRAY_LEN(dispensable) && fixed_width(&l) + 2 * l.bar > width; i++)
        l.text[dispensable[i]] = 0;
    return l;
}

static void header(struct buf *out, const struct page *page, const struct status_layout *l)
{
    page_cell(out, page, INK_FAINT, RIGHT, "GPU", l->index);
    buf_char(out, ' ');
    page_cell(out, page, INK_FAINT, LEFT, "NAME", l->name);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!l->text[i])
            continue;
        buf_text(out, "  ");
        page_cell(out, page, INK_FAINT, columns[i].bar ? LEFT : RIGHT, columns[i].title,
                  l->text[i] + (columns[i].bar ? l->bar + 1 : 0));
    }
    buf_char(out, '\n');
}

static void row(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu, const char *index,
                const char *name)
{
    struct status_cell cells[COLUMN_COUNT];
    make_cells(cells, page, gpu);
    page_cell(out, page, INK_STRONG, RIGHT, index, l->index);
    buf_char(out, ' ');
    page_cell(out, page, INK_STRONG, LEFT, name, l->name);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!l->text[i])
            continue;
        buf_text(out, "  ");
        if (columns[i].bar) {
            page_bar(out, page, cells[i].bar_ink, cells[i].bar, l->bar);
            buf_char(out, ' ');
        }
        page_cell(out, page, cells[i].ink, RIGHT, cells[i].text, l->text[i]);
    }
    buf_char(out, '\n');
}

/* A card that cannot be read has its reason where the numbers would be. */
static void row_in_words(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu,
                         const char *index)
{
    char words[GPU_ERROR_SIZE + 64];
    const char *said = gpu->error_message;
    if (gpu->state == GPU_ASLEEP)
        snprintf(words, sizeof words, "asleep, left alone so that it stays so%s%s", said[0] ? ": " : "", said);
    else
        snprintf(words, sizeof words, "%s%s%s", gpu->state == GPU_LOST ? "lost" : "error", said[0] ? ": " : "", said);
    page_cell(out, page, INK_STRONG, RIGHT, index, l->index);
    buf_char(out, ' ');
    page_cell(out, page, INK_STRONG, LEFT, short_name(gpu), l->name);
    buf_text(out, "  ");
    int left = page->width ? MAX_OF(page->width - l->index - 1 - l->name - 2, 20) : 0;
    page_cell(out, page, gpu->state == GPU_ASLEEP ? INK_FAINT : INK_BAD, LEFT, words, MIN_OF(left, width_of(words)));
    buf_char(out, '\n');
}

static void one_gpu(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu)
{
    char index[16];
    snprintf(index, sizeof index, "%d", gpu->index);
    if (gpu->state != GPU_OK) {
        row_in_words(out, page, l, gpu, index);
        return;
    }
    row(out, page, l, gpu, index, short_name(gpu));
    for (size_t i = 0; i < gpu->instance_count; i++) {
        char name[GPU_NAME_SIZE];
        instance_name(name, page, &gpu->instances[i]);
        snprintf(index, sizeof index, "%d", gpu->instances[i].index);
        row(out, page, l, &gpu->instances[i], "", name);
    }
    status_line(out, page, gpu, l->index + 1, l->text[COLUMN_CLOCK] == 0);
}

void table_status(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    if (s->gpu_count == 0) {
        table_no_gpu(out, page, s);
        return;
    }
    status_title(out, page, s, only);
    struct status_layout l = measure(page, s, only);
    header(out, page, &l);
    for (size_t i = 0; i < s->gpu_count; i++)
        if (only == ALL_GPUS || only == (int)i)
            one_gpu(out, page, &l, &s->gpus[i]);
    status_troubles(out, page, s);
}
