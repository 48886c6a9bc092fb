/* SPDX-License-Identifier: Apache-2.0
 * Lines of the status table that are words.
 */
#include "format/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "format/json/json.h"

/* A line that is filled part by part until the page is full. */
struct parts {
    struct buf *out;
    const struct page *page;
    int used;
    bool first;
};

static int room(const struct parts *p)
{
    return p->page->width ? p->page->width - p->used - (p->first ? 0 : 3) : 1000;
}

/* Cut where the line ends, less what is kept free for those behind it. */
static void part_before(struct parts *p, enum ink ink, const char *text, int keep_free)
{
    int most = room(p) - keep_free;
    if (most < MIN_OF(width_of(text), 8))
        return;
    if (!p->first) {
        page_ink(p->out, p->page, INK_FAINT, str_from(page_dot(p->page)));
        p->used += 3;
    }
    int width = MIN_OF(width_of(text), most);
    page_cell(p->out, p->page, ink, LEFT, text, width);
    p->used += width;
    p->first = false;
}

static void part(struct parts *p, enum ink ink, const char *text)
{
    part_before(p, ink, text, 0);
}

static bool any_simulated(const struct snapshot *s, int only)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].simulated && (only == ALL_GPUS || only == (int)i))
            return true;
    return false;
}

/* "1184 W", of all GPUs that report their power. */
static bool total_words(char text[NUMBER_SIZE], const struct page *page, const struct snapshot *s)
{
    struct reading total = {0};
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].power_mw.state == READING_OK)
            total = reading_ok(reading_or(total, 0) + s->gpus[i].power_mw.value);
    show_watts(text, page, total);
    return total.state == READING_OK;
}

void status_title(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    char text[96];
    struct parts p = {out, page, 0, true};
    part(&p, INK_STRONG, s->host.name[0] ? s->host.name : "this host");
    if (any_simulated(s, only))
        part(&p, INK_LABEL, page->color ? " SIMULATED " : "SIMULATED");
    char watts[NUMBER_SIZE];
    if (s->gpu_count > 1 && only == ALL_GPUS && total_words(watts, page, s)) {
        snprintf(text, sizeof text, "%zu GPUs, %s", s->gpu_count, watts);
        part(&p, INK_PLAIN, text);
    }
    if (s->driver.driver_version[0]) {
        snprintf(text, sizeof text, "driver %s", s->driver.driver_version);
        part(&p, INK_PLAIN, text);
    }
    if (s->driver.cuda_version[0]) {
        snprintf(text, sizeof text, "CUDA %s", s->driver.cuda_version);
        part(&p, INK_PLAIN, text);
    }
    struct tm tm;
    time_t seconds = (time_t)(s->taken_at.ms / MS_PER_S);
    if (s->taken_at.ms && localtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
        part(&p, INK_FAINT, text);
    buf_char(out, '\n');
}

/* "power cap and hardware thermal slowdown": only what keeps the card from running faster. */
static bool slowed_words(char *text, size_t size, const struct gpu *gpu)
{
    int64_t bits = reading_or(gpu->throttle_bits, 0) & THROTTLE_SLOWED;
    size_t used = (size_t)snprintf(text, size, "slowed by ");
    int said = 0;
    for (unsigned i = 0; i < THROTTLE_COUNT && used < size; i++) {
        if (!(bits & (1 << i)))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", said ? ", " : "", throttle_name(i));
        said++;
    }
    return said > 0;
}

static void process_words(char *text, size_t size, const struct page *page, const struct process *p)
{
    char memory[NUMBER_SIZE], load[NUMBER_SIZE], who[PROCESS_TITLE_SIZE + 48];
    show_bytes(memory, page, p->mem_bytes);
    show_percent(load, page, p->util_permille);
    if (!p->visible && !p->name[0])
        snprintf(who, sizeof who, "pid %d (not visible here)", p->pid);
    else if (!p->name[0])
        snprintf(who, sizeof who, "pid %d", p->pid);
    else if (p->user[0])
        snprintf(who, sizeof who, "%s (%s)", process_title(p), p->user);
    else
        snprintf(who, sizeof who, "%s", process_title(p));
    bool busy = reading_or(p->util_permille, 0) > 0, holds = p->mem_bytes.state == READING_OK;
    snprintf(text, size, "%s%s%s%s%s", who, holds ? " " : "", holds ? memory : "", busy ? " " : "", busy ? load : "");
}

/* As many of the biggest as fit, and how many there are besides. */
static void processes(struct parts *line, const struct gpu *gpu)
{
    AUTO_FREE const struct process **sorted = malloc(MAX_OF(gpu->process_count, (size_t)1) * sizeof *sorted);
    if (!sorted)
        return;
    size_t count = process_biggest_first(gpu, sorted);
    size_t total = count + gpu->processes_left_out;
    for (size_t i = 0; i < count; i++) {
        char text[256], more[32] = "";
        process_words(text, sizeof text, line->page, sorted[i]);
        if (i + 1 < total)
            snprintf(more, sizeof more, "+%zu more", total - i - 1);
        /* The first is shown in any case, cut if need be; each further one only whole and with room for the rest's number. */
        if (i > 0 && room(line) < width_of(text) + (more[0] ? 3 + width_of(more) : 0)) {
            snprintf(more, sizeof more, "+%zu more", total - i);
            part(line, INK_FAINT, more);
            break;
        }
        part_before(line, INK_PLAIN, text, more[0] ? 3 + width_of(more) : 0);
    }
}

static void no_processes(struct parts *line, const struct gpu *gpu)
{
    char text[96];
    if (gpu->processes_hidden) {
        snprintf(text, sizeof text, "%zu processes not visible without privileges", gpu->processes_hidden);
        part(line, INK_WARN, text);
    } else if (gpu->processes_state == READING_DENIED)
        part(line, INK_WARN, "processes not visible without privileges");
    else if (gpu->processes_state == READING_OK)
        part(line, INK_FAINT, "no processes");
}

/* "loud, hot"; what slows it down is said already. */
static bool symptom_list(char *text, size_t size, const struct activity *a)
{
    size_t len = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < SYMPTOM_COUNT; i++)
        if (a->symptoms & 1u << i && i != SYMPTOM_THROTTLING && len + 24 < size)
            len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "", symptom_words((enum symptom)i));
    return len > 0;
}

void status_line(struct buf *out, const struct page *page, const struct gpu *gpu, int indent, bool with_clock)
{
    char text[256];
    int64_t value;
    struct parts line = {out, page, indent, true};
    buf_printf(out, "%*s", indent, "");
    size_t before = out->len;
    if (slowed_words(text, sizeof text, gpu))
        part(&line, reading_or(gpu->throttle_bits, 0) & (THROTTLE_HOT | THROTTLE_HW_SLOWDOWN) ? INK_BAD : INK_WARN, text);
    if (symptom_list(text, sizeof text, &gpu->activity))
        part(&line, INK_WARN, text);
    if (gpu->activity.code == ACTIVITY_KEPT_FROM_IDLING)
        part(&line, INK_FAINT, activity_code_words(gpu->activity.code));
    if (with_clock && reading_get(gpu->clock_graphics_khz, &value)) {
        snprintf(text, sizeof text, "%lld MHz", (long long)(value / 1000));
        part(&line, INK_FAINT, text);
    }
    if (reading_get(gpu->encoder_permille, &value) && value > 0) {
        snprintf(text, sizeof text, "encoder %lld%%", (long long)((value + 5) / 10));
        part(&line, INK_FAINT, text);
    }
    if (reading_get(gpu->decoder_permille, &value) && value > 0) {
        snprintf(text, sizeof text, "decoder %lld%%", (long long)((value + 5) / 10));
        part(&line, INK_FAINT, text);
    }
    if (gpu->process_count)
        processes(&line, gpu);
    else
        no_processes(&line, gpu);
    if (out->len > before)
        buf_char(out, '\n');
    else if (!out->failed)
        out->at[out->len -= (size_t)indent] = '\0'; /* nothing to say: no empty line */
}

void status_troubles(struct buf *out, const struct page *page, const struct snapshot *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        if (source->state == SOURCE_OK || source->state == SOURCE_OFF || source->state == SOURCE_ASLEEP)
            continue;
        char text[SOURCE_MESSAGE_SIZE + 128];
        snprintf(text, sizeof text, "%s is %s%s%s (%u failures in a row)", source->name, source_state_name(source->state),
                 source->message[0] ? ": " : "", source->message, source->consecutive_errors);
        page_wrap(out, page, INK_WARN, text, 2, 0);
    }
}

void table_no_gpu(struct buf *out, const struct page *page, const struct snapshot *s)
{
    char text[SOURCE_MESSAGE_SIZE + 64];
    int name_width = 0;
    snprintf(text, sizeof text, "No GPU was found on %s.", s->host.name[0] ? s->host.name : "this host");
    page_wrap(out, page, INK_STRONG, text, 0, 0);
    for (size_t i = 0; i < s->source_count; i++)
        name_width = MAX_OF(name_width, width_of(s->sources[i].name));
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        buf_text(out, "  ");
        page_cell(out, page, INK_PLAIN, LEFT, source->name, name_width + 2);
        const char *why = source->message[0] ? source->message : source->state == SOURCE_OFF ? "not on this host" : "lists no GPU";
        page_wrap(out, page, INK_FAINT, why, name_width + 4, name_width + 4);
    }
    page_wrap(out, page, INK_PLAIN, "`whirr doctor` shows what to fix; `whirr --source sim` shows whirr on a simulated machine.", 0,
              0);
}
