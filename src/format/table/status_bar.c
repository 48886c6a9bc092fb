/* SPDX-License-Identifier: Apache-2.0
 * All GPUs on one line, in the format of a status bar.
 */
#include "format/table/table.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "model/finding.h"

const char *const bar_formats[] = {"plain", "waybar", "tmux", "polybar", "i3blocks", NULL};

enum bar_level { LEVEL_IDLE, LEVEL_BUSY, LEVEL_WARNING, LEVEL_CRITICAL };

static const struct {
    const char *word, *color;
} levels[] = {
    [LEVEL_IDLE] = {"idle", NULL},
    [LEVEL_BUSY] = {"busy", NULL},
    [LEVEL_WARNING] = {"warning", "#e5a50a"},
    [LEVEL_CRITICAL] = {"critical", "#e01b24"},
};

static enum bar_level level_of(const struct snapshot *s, const struct gpu *gpu)
{
    switch (verdict_severity(s->verdict, gpu ? gpu->index : -1)) {
    case SEVERITY_CRITICAL: return LEVEL_CRITICAL;
    case SEVERITY_WARNING: return LEVEL_WARNING;
    case SEVERITY_NOTICE:
    case SEVERITY_INFO: break;
    }
    return gpu && gpu->activity.code >= ACTIVITY_LIGHTLY_LOADED ? LEVEL_BUSY : LEVEL_IDLE;
}

/* The problem of a GPU, or of the host (-1), as in the table of `whirr status`; nothing if it needs no attention. */
static void trouble_words(struct buf *out, const struct page *page, const struct snapshot *s, int gpu_index)
{
    const struct finding *first = verdict_first(s->verdict, gpu_index);
    if (!first || severity_sign(first->severity, false) != SIGN_LOOK)
        return;
    const char *label = finding_label(first);
    buf_printf(out, " %s %s", page_sign(page, SIGN_LOOK), label[0] ? label : finding_kind(first->code)->title);
}

/* "0 35% 6.1/24.0 GiB 50 °C 134 W"; `brief`: "35% 50 °C" */
static void gpu_words(struct buf *out, const struct page *page, const struct gpu *gpu, bool numbered, bool brief)
{
    char text[NUMBER_SIZE];
    if (numbered)
        buf_printf(out, "%d: ", gpu->index);
    if (gpu->state != GPU_OK) {
        buf_text(out, gpu_state_name(gpu->state));
        return;
    }
    show_percent(text, page, gpu->util_permille);
    buf_text(out, text);
    if (!brief && gpu->mem_used_bytes.state == READING_OK) {
        show_bytes_of(text, page, gpu->mem_used_bytes, gpu->mem_total_bytes);
        buf_printf(out, " %s", text);
    }
    if (gpu->temp_mdegc.state == READING_OK) {
        show_temperature(text, page, gpu->temp_mdegc);
        buf_printf(out, " %s", text);
    }
    if (!brief && gpu->power_mw.state == READING_OK) {
        show_watts(text, page, gpu->power_mw);
        buf_printf(out, " %s", text);
    }
}

static enum bar_level write_line(struct buf *out, const struct page *page, const struct snapshot *s, int only, bool brief)
{
    enum bar_level worst = LEVEL_IDLE;
    bool first = true;
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        if (first && s->gpus[i].simulated)
            buf_text(out, "SIMULATED ");
        if (!first)
            buf_text(out, page->utf8 ? " · " : " | ");
        gpu_words(out, page, &s->gpus[i], s->gpu_count > 1, brief);
        trouble_words(out, page, s, s->gpus[i].index);
        worst = MAX_OF(worst, level_of(s, &s->gpus[i]));
        first = false;
    }
    if (!first)
        return worst;
    buf_text(out, "no GPU");
    trouble_words(out, page, s, -1);
    return level_of(s, NULL);
}

/* Names and top processes, one line per GPU, for the tooltip. */
static void write_tooltip(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    char words[PROCESS_WORDS];
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        const struct process *top = gpu_top_process(gpu);
        if (only != ALL_GPUS && only != (int)i)
            continue;
        buf_printf(out, "%sGPU %d %s: ", out->len ? "\n" : "", gpu->index, gpu->id.name);
        gpu_words(out, page, gpu, false, false);
        if (top)
            buf_printf(out, ", %s", process_words(top, LONG_NAME, words));
        const struct finding *first = verdict_first(s->verdict, gpu->index);
        if (first && first->severity > SEVERITY_INFO)
            buf_printf(out, "\n  %s", first->headline);
    }
}

static void waybar(struct buf *out, struct str line, struct str tooltip, enum bar_level level, struct reading load)
{
    AUTO_BUF struct buf text = BUF(65536), tip = BUF(65536);
    buf_markup(&text, line);
    buf_markup(&tip, tooltip);
    buf_char(&text, '\0');
    buf_char(&tip, '\0');
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_text(&j, "text", text.failed ? "" : text.at);
    jw_key_text(&j, "tooltip", tip.failed ? "" : tip.at);
    jw_key_text(&j, "class", levels[level].word);
    jw_key_text(&j, "alt", levels[level].word);
    jw_key_number(&j, "percentage", load.state == READING_OK ? round((double)load.value / 10) : NAN);
    jw_end(&j);
}

static struct reading most_loaded(const struct snapshot *s, int only)
{
    struct reading most = {0};
    for (size_t i = 0; i < s->gpu_count; i++)
        if ((only == ALL_GPUS || only == (int)i) && s->gpus[i].util_permille.state == READING_OK)
            most = reading_ok(MAX_OF(reading_or(most, 0), s->gpus[i].util_permille.value));
    return most;
}

void table_bar(struct buf *out, const struct page *page, const struct snapshot *s, int only, const char *format)
{
    AUTO_BUF struct buf line = BUF(65536), tip = BUF(65536);
    struct str name = str_from(format);
    enum bar_level level = write_line(&line, page, s, only, str_is(name, "tmux"));
    const char *color = levels[level].color;
    struct str text = buf_view(&line);
    if (str_is(name, "waybar")) {
        write_tooltip(&tip, page, s, only);
        waybar(out, text, buf_view(&tip), level, most_loaded(s, only));
    } else if (str_is(name, "tmux") && color) {
        buf_printf(out, "#[fg=%s]" STR_FMT "#[default]", color, STR_ARG(text));
    } else if (str_is(name, "polybar") && color) {
        buf_printf(out, "%%{F%s}" STR_FMT "%%{F-}", color, STR_ARG(text));
    } else {
        buf_str(out, text);
    }
    if (str_is(name, "i3blocks")) { /* full text, short text, color */
        buf_char(out, '\n');
        write_line(out, page, s, only, true);
        buf_printf(out, "\n%s", color ? color : "");
    }
    buf_char(out, '\n');
}
