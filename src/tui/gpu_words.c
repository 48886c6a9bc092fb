/* SPDX-License-Identifier: Apache-2.0
 * Formats readings of a GPU for this view, and as shares of a bar or plot.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/table/table.h"
#include "insight/facts/levels.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "tui/draw.h"

const struct gpu_metric gpu_metrics[TRAIL_COUNT] = {
    [TRAIL_UTIL] = {"Util", TINT_UTIL},    [TRAIL_VRAM] = {"VRAM", TINT_MEMORY},  [TRAIL_POWER] = {"Power", TINT_POWER},
    [TRAIL_TEMP] = {"Temp", TINT_HEAT},    [TRAIL_FAN] = {"Fan", TINT_FAN},       [TRAIL_CLOCK] = {"Clock", TINT_CLOCK},
    [TRAIL_WORK] = {"Work", TINT_UTIL},    [TRAIL_RX] = {"PCIe", TINT_MEMORY},    [TRAIL_TX] = {"PCIe", TINT_MEMORY},
    [TRAIL_ENCODER] = {"Codec", TINT_FAN}, [TRAIL_DECODER] = {"Codec", TINT_FAN},
};

float gpu_full_scale(const struct gpu *gpu, enum trail_of of)
{
    switch (of) {
    case TRAIL_VRAM: return (float)reading_or(gpu->mem_total_bytes, 0) / (1 << 30);
    case TRAIL_POWER: return (float)reading_or(gpu->power_limit_mw, reading_or(gpu->power_limit_default_mw, 0)) * 1e-3F;
    case TRAIL_TEMP: return 100;
    case TRAIL_CLOCK: return (float)reading_or(gpu->clock_graphics_max_khz, 0) * 1e-3F;
    default: break;
    }
    return 100;
}

struct reading gpu_share(const struct gpu *gpu, enum trail_of of)
{
    float value = trail_point_of(gpu, 0).value[of], full = gpu_full_scale(gpu, of);
    return isnan(value) || full <= 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok((int64_t)lroundf(1000 * value / full));
}

void gpu_shorten_limit(char *words, size_t size, const struct process *p, int width)
{
    static const char *const openings[] = {"the ", "its own ", "its ", "waiting for ", "waiting "};
    if (!p || width_of(words) <= width || strcmp(words, limit_doing(p->limit.code)) != 0)
        return;
    const char *brief = limit_words(p->limit.code);
    for (size_t i = 0; i < ARRAY_LEN(openings); i++)
        if (strncmp(brief, openings[i], strlen(openings[i])) == 0) {
            brief += strlen(openings[i]);
            break;
        }
    str_copy(words, size, str_from(brief));
}

void gpu_fan_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    if (fan_judge(gpu).state == FAN_STATE_NONE)
        snprintf(text, NUMBER_SIZE, "none");
    else
        show_fan(text, page, gpu);
}

void gpu_power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, bool limit)
{
    int64_t mw, limit_mw;
    if (!reading_get(gpu->power_mw, &mw))
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
    else if (limit && reading_get(gpu->power_limit_mw, &limit_mw))
        snprintf(text, NUMBER_SIZE, "%lld/%lld W", (long long)((mw + 500) / 1000), (long long)((limit_mw + 500) / 1000));
    else
        snprintf(text, NUMBER_SIZE, "%lld W", (long long)((mw + 500) / 1000));
}

void gpu_value_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, enum trail_of of)
{
    int64_t khz;
    switch (of) {
    case TRAIL_UTIL: show_percent(text, page, gpu->util_permille); break;
    case TRAIL_VRAM: show_bytes_of(text, page, gpu->mem_used_bytes, gpu->mem_total_bytes); break;
    case TRAIL_POWER: gpu_power_text(text, page, gpu, true); break;
    case TRAIL_TEMP: show_temperature(text, page, gpu->temp_mdegc); break;
    case TRAIL_FAN: gpu_fan_text(text, page, gpu); break;
    case TRAIL_CLOCK:
        if (reading_get(gpu->clock_graphics_khz, &khz))
            snprintf(text, NUMBER_SIZE, "%lld MHz", (long long)(khz / 1000));
        else
            snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
        break;
    default: text[0] = '\0'; break;
    }
}

void gpu_trouble_text(const struct gpu *gpu, char *text, size_t size, enum tint *tint)
{
    text[0] = '\0';
    *tint = TINT_DIM;
    if (gpu->state == GPU_ASLEEP)
        snprintf(text, size, "asleep (not woken)");
    else if (gpu->released)
        snprintf(text, size, "driver released on request");
    else if (gpu->state == GPU_LOST || gpu->state == GPU_ERROR) {
        *tint = TINT_BAD;
        snprintf(text, size, "%s%s%s", gpu->state == GPU_LOST ? "lost" : "error", gpu->error_message[0] ? ": " : "",
                 gpu->error_message);
    }
}

/* "throttling (93 °C)" from "GPU 1 is throttling (93 °C)": the row already names the GPU. */
static const char *without_gpu(const char *headline)
{
    static const char *const joints[] = {": ", " is "};
    size_t len = strlen("GPU ");
    if (strncmp(headline, "GPU ", len) != 0)
        return headline;
    len += strspn(headline + len, "0123456789");
    for (size_t i = 0; i < ARRAY_LEN(joints); i++)
        if (strncmp(headline + len, joints[i], strlen(joints[i])) == 0)
            return headline + len + strlen(joints[i]);
    return headline;
}

void gpu_badge_text(const struct top *t, size_t position, char *text, size_t size, enum tint *tint)
{
    const struct top_badge *b = position < GPU_MAX && !t->cursor_ms ? &t->badges[position] : NULL;
    const struct snapshot *s = top_shown(t);
    const struct finding *first = s && position < s->gpu_count ? verdict_first(draw_verdict(t), s->gpus[position].index) : NULL;
    char span[WORDS_SIZE];
    text[0] = '\0';
    *tint = TINT_WARN;
    if (first && first->severity >= SEVERITY_WARNING) {
        *tint = first->severity == SEVERITY_CRITICAL ? TINT_BAD : TINT_WARN;
        str_copy(text, size, str_from(without_gpu(first->headline)));
    } else if (b && b->health[0] && strcmp(b->health, "healthy") != 0 && strcmp(b->health, "unknown") != 0) {
        *tint = strcmp(b->health, "degraded") == 0 ? TINT_WARN : TINT_BAD;
        snprintf(text, size, "%s: %s", b->health, b->reason);
    } else if (b && b->full_ms > 0) {
        snprintf(text, size, "VRAM full in about %s", words_duration(b->full_ms, span));
    }
}

bool gpu_is_marked(const struct top *t, size_t position)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    const struct finding *first = verdict_first(draw_verdict(t), gpu->index);
    return first && first->severity > SEVERITY_INFO;
}

void gpu_lease_text(const struct top *t, size_t position, char *text, size_t size)
{
    const struct snapshot *s = top_shown(t);
    char lease[GPU_LEASE_WORDS], settings[GPU_LEASE_WORDS];
    gpu_lease_words(&s->gpus[position].lease, s->taken_at, lease);
    gpu_lease_words(&s->gpus[position].settings, s->taken_at, settings);
    snprintf(text, size, "%s%s%s", lease, lease[0] && settings[0] ? ", " : "", settings);
}

void gpu_process_text(const struct gpu *gpu, char *text, size_t size)
{
    const struct process *p = gpu_top_process(gpu);
    text[0] = '\0';
    if (!p)
        return;
    char words[PROCESS_WORDS];
    str_copy(text, size, str_from(process_words(p, LONG_NAME, words)));
}
