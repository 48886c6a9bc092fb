/* SPDX-License-Identifier: Apache-2.0
 * The status of all GPUs at a glance: a verdict, then one row per GPU, marked only if something is unusual.
 *
 *   desk   4 GPUs   1184 W   ▲ GPU 1 is throttling (93 °C)
 *     GPU            UTIL        VRAM GiB    TEMP    POWER W   FAN       TOP PROCESS
 *     0 RTX 4090     █▊░░░  35%   6.1/24.0   50 °C   134/450    33%      ollama · llama3.1-8b (ollama)
 *   ▲ 1 RTX 4090     ████▉  97%  19.7/24.0   93 °C   316/450   100%      train.py (alice)  THERMAL
 *   why: whirr why · live: whirr top
 *
 * Widths come from the data. A narrow page first loses gaps and bars, then the process, then columns; columns without any known
 * value are left out.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/table/table.h"
#include "insight/area/limit.h"
#include "insight/facts/levels.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "model/finding_code.h"

/* ---- the lines around the rows: the verdict, leases, sources in trouble, and the message without a GPU ---- */

static bool is_trouble(const struct source_status *source)
{
    return source->state == SOURCE_FAILING || source->state == SOURCE_SET_ASIDE || source->state == SOURCE_HUNG;
}

/* "1184 W", of all GPUs that report their power. */
static void total_words(char *text, const struct page *page, const struct snapshot *s, int only)
{
    struct reading total = {0};
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].power_mw.state == READING_OK && (only == ALL_GPUS || only == (int)i))
            total = reading_ok(reading_or(total, 0) + s->gpus[i].power_mw.value);
    text[0] = '\0';
    if (total.state == READING_OK)
        show_watts(text, page, total);
}

/* "host 1420 W" by a sensor, or else "CPU 95 W"; "" if neither is known. */
static void host_words(char *text, size_t size, const struct page *page, const struct host *host)
{
    char watts[NUMBER_SIZE];
    bool whole = host->power_mw.state == READING_OK;
    show_watts(watts, page, whole ? host->power_mw : host->cpu_power_mw);
    text[0] = '\0';
    if (whole || host->cpu_power_mw.state == READING_OK)
        snprintf(text, size, "%s %s", whole ? "host" : "CPU", watts);
}

/* The worst finding and, as far as there is room, a second root: "GPU 1 is throttling (93 °C); also GPU 5 is lost, 2 more". */
static void trouble_words(char *text, size_t size, const struct page *page, const struct finding *worst, const struct finding *also,
                          size_t others)
{
    char more[32] = "";
    if (others > (also != NULL))
        snprintf(more, sizeof more, ", %zu more", others - (also != NULL));
    snprintf(text, size, "%s%s%s%s", worst->headline, also ? "; also " : "", also ? also->headline : "", more);
    if (also && page->width && width_of(text) + 2 > page->width)
        trouble_words(text, size, page, worst, NULL, others);
}

/* The worst that was found, or how calm it is. Returns its ink. */
static enum ink worst_words(char *text, size_t size, const struct page *page, const struct snapshot *s, int only)
{
    const struct finding *worst = NULL;
    size_t found = 0;
    for (size_t i = 0; s->verdict && i < s->verdict->count; i++) {
        const struct finding *f = &s->verdict->findings[i];
        bool shown = only == ALL_GPUS || f->gpu_index == s->gpus[only].index;
        worst = worst || !shown || f->severity == SEVERITY_INFO ? worst : f;
    }
    for (size_t i = 0; i < s->gpu_count; i++)
        found += (only == ALL_GPUS || only == (int)i) && verdict_severity(s->verdict, s->gpus[i].index) > SEVERITY_INFO;
    if (worst) {
        trouble_words(text, size, page, worst, only == ALL_GPUS ? verdict_also(s->verdict) : NULL,
                      found - (found && worst->gpu_index >= 0));
        return severity_ink(worst->severity);
    }
    for (size_t i = 0; i < s->source_count; i++) {
        if (is_trouble(&s->sources[i])) {
            snprintf(text, size, "%s is %s", s->sources[i].name, source_state_name(s->sources[i].state));
            return INK_WARN;
        }
    }
    bool resting = true, asleep = true, unread = true, released = true;
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        released &= s->gpus[i].released;
        asleep &= s->gpus[i].activity.code == ACTIVITY_ASLEEP;
        unread &= s->gpus[i].activity.code == ACTIVITY_UNKNOWN && s->gpus[i].temp_mdegc.state != READING_OK &&
                  s->gpus[i].power_mw.state != READING_OK;
        resting &= s->gpus[i].activity.code == ACTIVITY_ASLEEP || s->gpus[i].activity.code == ACTIVITY_IDLE;
    }
    snprintf(text, size, "%s",
             released  ? "released on request"
             : asleep  ? "asleep"
             : resting ? "idle"
             : unread  ? "no readings: whirr doctor"
                       : why_calm(s, s->verdict, only));
    return resting || unread ? INK_FAINT : INK_GOOD;
}

static const char *sign_of(const struct page *page, enum ink ink)
{
    return page_sign(page, ink == INK_GOOD ? SIGN_FINE : ink == INK_FAINT ? SIGN_REST : SIGN_LOOK);
}

void status_verdict(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    enum { HOST, SIMULATED, COUNT, POWER, HOST_POWER, VERDICT, PARTS };
    struct {
        char text[2 * FINDING_HEADLINE_SIZE + HOST_NAME_SIZE];
        enum ink ink;
    } parts[PARTS] = {{{0}}};
    char worst[2 * FINDING_HEADLINE_SIZE + 48];
    snprintf(parts[HOST].text, sizeof parts[HOST].text, "%s", s->host.name[0] ? s->host.name : "this host");
    parts[HOST].ink = INK_STRONG;
    if (snapshot_simulated(s, only))
        snprintf(parts[SIMULATED].text, sizeof parts[SIMULATED].text, page->color ? " SIMULATED " : "SIMULATED");
    parts[SIMULATED].ink = INK_LABEL;
    if (only != ALL_GPUS)
        snprintf(parts[COUNT].text, sizeof parts[COUNT].text, "GPU %d", s->gpus[only].index);
    else
        snprintf(parts[COUNT].text, sizeof parts[COUNT].text, "%zu GPU%s", s->gpu_count, s->gpu_count == 1 ? "" : "s");
    total_words(parts[POWER].text, page, s, only);
    if (only == ALL_GPUS && !snapshot_simulated(s, only))
        host_words(parts[HOST_POWER].text, sizeof parts[HOST_POWER].text, page, &s->host);
    parts[HOST_POWER].ink = INK_FAINT;
    parts[VERDICT].ink = worst_words(worst, sizeof worst, page, s, only);
    snprintf(parts[VERDICT].text, sizeof parts[VERDICT].text, "%s %s", sign_of(page, parts[VERDICT].ink), worst);
    /* The verdict matters most: on a narrow page, drop other parts, the least important first. */
    static const int dispensable[] = {HOST_POWER, POWER, COUNT, HOST};
    int width = -3;
    for (int i = 0; i < PARTS; i++)
        width += parts[i].text[0] ? 3 + width_of(parts[i].text) : 0;
    for (size_t i = 0; i < ARRAY_LEN(dispensable) && page->width && width > page->width; i++) {
        width -= parts[dispensable[i]].text[0] ? 3 + width_of(parts[dispensable[i]].text) : 0;
        parts[dispensable[i]].text[0] = '\0';
    }
    for (int i = 0, used = 0; i < PARTS; i++) {
        if (!parts[i].text[0])
            continue;
        buf_text(out, used ? "   " : "");
        used += used ? 3 : 0;
        int most = page->width ? MAX_OF(page->width - used, 1) : 1000;
        page_cell(out, page, parts[i].ink, LEFT, parts[i].text, MIN_OF(width_of(parts[i].text), most));
        used += width_of(parts[i].text);
    }
    buf_char(out, '\n');
}

static const struct gpu_lease *lease_of(const struct gpu *gpu, bool settings)
{
    return settings ? &gpu->settings : &gpu->lease;
}

/* Whether this is the first GPU of its lease, and all GPUs of it: "GPUs 0, 1". */
static bool leased_gpus(const struct snapshot *s, size_t at, bool settings, char *out, size_t size)
{
    const struct gpu_lease *l = lease_of(&s->gpus[at], settings);
    char list[64] = "";
    size_t count = 0, len = 0;
    for (size_t i = 0; i < s->gpu_count && len < sizeof list - 8; i++) {
        const struct gpu_lease *other = lease_of(&s->gpus[i], settings);
        if (strcmp(other->id, l->id) != 0 || strcmp(other->changes, l->changes) != 0)
            continue;
        if (i < at)
            return false;
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%d", count++ ? ", " : "", s->gpus[i].index);
    }
    snprintf(out, size, "GPU%s %s", count > 1 ? "s" : "", list);
    return true;
}

static void status_leases(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    for (size_t i = 0; i < 2 * s->gpu_count; i++) {
        size_t at = i / 2;
        bool settings = i % 2;
        char gpus[80], words[GPU_LEASE_WORDS], text[sizeof gpus + sizeof words];
        const struct gpu_lease *l = lease_of(&s->gpus[at], settings);
        if (!l->id[0] || (only != ALL_GPUS && only != (int)at))
            continue;
        if (only != ALL_GPUS)
            snprintf(gpus, sizeof gpus, "GPU %d", s->gpus[at].index);
        else if (!leased_gpus(s, at, settings, gpus, sizeof gpus))
            continue;
        snprintf(text, sizeof text, "%s: %s", gpus, gpu_lease_words(l, s->taken_at, words));
        buf_text(out, "  ");
        page_wrap(out, page, INK_FAINT, text, 2, 2);
    }
}

static void status_troubles(struct buf *out, const struct page *page, const struct snapshot *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        if (!is_trouble(source))
            continue;
        char text[SOURCE_MESSAGE_SIZE + 128], failures[48] = "";
        if (source->consecutive_errors)
            snprintf(failures, sizeof failures, " (%u failures in a row)", source->consecutive_errors);
        if (source->state == SOURCE_RELEASED)
            snprintf(text, sizeof text, "The driver behind %s was released on request. To take it back: whirr driver release --end",
                     source->name);
        else
            snprintf(text, sizeof text, "%s is %s%s%s%s", source->name, source_state_name(source->state),
                     source->message[0] ? ": " : "", source->message, failures);
        page_wrap(out, page, INK_WARN, text, 2, 0);
    }
}

void table_no_gpu(struct buf *out, const struct page *page, const struct snapshot *s)
{
    char text[SOURCE_MESSAGE_SIZE + 64];
    int name_width = 0;
    /* If a reason is known, it is the answer: "no GPU" would be wrong if none could be queried. */
    const struct finding *first = verdict_main(s->verdict);
    if (first && first->gpu_index < 0 && first->code != FINDING_NO_GPU)
        snprintf(text, sizeof text, "%s.", first->headline);
    else
        snprintf(text, sizeof text, "No GPU was found on %s.", s->host.name[0] ? s->host.name : "this host");
    int used = page_look_sign(out, page, verdict_severity(s->verdict, -1));
    page_wrap(out, page, INK_STRONG, text, used, used);
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

/* ---- NPUs and accelerators, in one line each below the GPUs ---- */

static void add_part(struct buf *text, const struct page *page, const char *words)
{
    if (words[0])
        buf_printf(text, "%s%s", text->len ? page_dot(page) : "", words);
}

static void accelerator_words(struct buf *text, const struct page *page, const struct gpu *a)
{
    char words[NUMBER_SIZE], who[PROCESS_WORDS];
    int64_t value;
    if (a->util_permille.state == READING_OK) {
        show_percent(words, page, a->util_permille);
        add_part(text, page, words);
    }
    if (reading_get(a->clock_graphics_khz, &value)) {
        snprintf(words, sizeof words, "%lld MHz", (long long)value / 1000);
        add_part(text, page, words);
    }
    if (a->temp_mdegc.state == READING_OK) {
        show_temperature(words, page, a->temp_mdegc);
        add_part(text, page, words);
    }
    if (reading_get(a->power_mw, &value)) {
        snprintf(words, sizeof words, "%.1f W", (double)value / 1000);
        add_part(text, page, words);
    }
    if (a->mem_used_bytes.state == READING_OK) {
        show_bytes(words, page, a->mem_used_bytes);
        add_part(text, page, words);
        buf_text(text, " in use");
    }
    const struct process *top = gpu_top_process(a);
    if (top && top->name[0])
        add_part(text, page, process_words(top, SHORT_NAME | WITH_USER, who));
}

void table_accelerators(struct buf *out, const struct page *page, const struct snapshot *s)
{
    int name = 0;
    for (size_t i = 0; i < s->accelerator_count; i++)
        name = MAX_OF(name, width_of(s->accelerators[i].id.name));
    for (size_t i = 0; i < s->accelerator_count; i++) {
        const struct gpu *a = &s->accelerators[i];
        const char *kind = device_kind_name(a->id.kind);
        int begin = 2 + width_of(kind) + 2 + name + 2;
        AUTO_BUF struct buf text = BUF(1024);
        if (a->state == GPU_ASLEEP)
            buf_text(&text, "asleep, left alone");
        else if (a->state != GPU_OK)
            buf_printf(&text, "%s: %s", gpu_state_name(a->state), a->error_message);
        else
            accelerator_words(&text, page, a);
        buf_text(out, "  ");
        page_ink(out, page, INK_FAINT, str_from(kind));
        buf_text(out, "  ");
        page_cell(out, page, INK_PLAIN, LEFT, a->id.name, name);
        buf_text(out, "  ");
        page_wrap(out, page, a->state == GPU_OK || a->state == GPU_ASLEEP ? INK_PLAIN : INK_BAD,
                  text.len ? text.at : page_dash(page), begin, begin);
    }
}

/* ---- the rows ---- */

enum column {
    COLUMN_UTIL,
    COLUMN_WORK,
    COLUMN_VRAM,
    COLUMN_TEMP,
    COLUMN_HOTSPOT,
    COLUMN_MEMORY_TEMP,
    COLUMN_POWER,
    COLUMN_FAN,
    COLUMN_COUNT
};

static const struct {
    const char *title;
    bool always; /* even without a known value */
    bool extra;  /* only if there is room beside the processes */
} columns[COLUMN_COUNT] = {
    [COLUMN_UTIL] = {.title = "UTIL", .always = true},
    [COLUMN_WORK] = {.title = "WORK", .extra = true}, /* the multiprocessors' share of it */
    [COLUMN_VRAM] = {.title = "VRAM GiB", .always = true},
    [COLUMN_TEMP] = {.title = "TEMP", .always = true},
    [COLUMN_HOTSPOT] = {.title = "HOTSPOT", .extra = true},
    [COLUMN_MEMORY_TEMP] = {.title = "VRAM TEMP", .extra = true},
    [COLUMN_POWER] = {.title = "POWER W"},
    [COLUMN_FAN] = {.title = "FAN"},
};

enum { BAR = 5, BAR_LEAST = 3, NAME_LEAST = 9, PROCESS_LEAST = 12, PROCESS_USUAL = 34, MARK = 2 };

struct status_cell {
    char text[NUMBER_SIZE];
    enum ink ink;
    bool known;
};

struct status_layout {
    const struct verdict *verdict;      /* NULL: not judged */
    int index, name, bar, gap, process; /* process 0: left out */
    int text[COLUMN_COUNT];             /* 0: column left out */
    bool rpm;                           /* some fans report rpm: align percents with their digits */
};

/* Yellow within 10 degrees of the throttling temperature, red within 3; 90 if it is unknown. */
static enum ink heat_ink(const struct gpu *gpu)
{
    int64_t temp, limit = reading_or(gpu->temp_limit_mdegc, 90000);
    if (!reading_get(gpu->temp_mdegc, &temp))
        return INK_FAINT;
    return temp >= limit - 3000 ? INK_BAD : temp >= limit - 10000 ? INK_WARN : INK_PLAIN;
}

/* At its stock limit a GPU works as designed; a lowered limit deserves a look. */
static enum ink power_ink(const struct gpu *gpu)
{
    int64_t power, limit;
    if (!reading_get(gpu->power_mw, &power))
        return INK_FAINT;
    if (gpu->activity.throttled_by & THROTTLE_POWER_CAP)
        return INK_WARN;
    return reading_get(gpu->power_limit_mw, &limit) && limit > 0 && power >= limit / 100 * 97 ? INK_FAINT : INK_PLAIN;
}

static void power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t power, limit;
    char draw[WORDS_SIZE];
    snprintf(draw, sizeof draw, "%s", page_dash(page));
    if (reading_get(gpu->power_mw, &power))
        snprintf(draw, sizeof draw, power < 10000 ? "%.1f" : "%.0f", (double)power / 1000);
    if (reading_get(gpu->power_limit_mw, &limit) && limit > 0)
        snprintf(text, NUMBER_SIZE, "%s/%.0f", draw, (double)limit / 1000);
    else
        snprintf(text, NUMBER_SIZE, "%s", draw);
}

static void memory_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t used, total;
    char part[WORDS_SIZE];
    snprintf(part, sizeof part, "%s", page_dash(page));
    if (reading_get(gpu->mem_used_bytes, &used))
        snprintf(part, sizeof part, "%.1f", (double)used / (double)(1LL << 30));
    if (reading_get(gpu->mem_total_bytes, &total))
        snprintf(text, NUMBER_SIZE, "%s/%.1f", part, (double)total / (double)(1LL << 30));
    else
        snprintf(text, NUMBER_SIZE, "%s", part);
}

void show_fan(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t rpm;
    enum fan_state fan = fan_judge(gpu).state;
    if (fan == FAN_STATE_OFF || fan == FAN_STATE_FIRMWARE || fan == FAN_STATE_OFF_HOT || fan == FAN_STATE_STOPPED)
        snprintf(text, NUMBER_SIZE, "off");
    else if (gpu->fan_permille.state != READING_OK && reading_get(gpu->fan_rpm, &rpm))
        snprintf(text, NUMBER_SIZE, "%lld rpm", (long long)rpm);
    else
        show_percent(text, page, gpu->fan_permille);
}

static enum ink memory_ink(const struct gpu *gpu)
{
    int64_t used, total;
    bool full = reading_get(gpu->mem_used_bytes, &used) && reading_get(gpu->mem_total_bytes, &total) && total > 0;
    return full && used >= total / 1000 * 970 ? INK_WARN : INK_PLAIN;
}

static void make_cells(struct status_cell cells[COLUMN_COUNT], const struct page *page, const struct gpu *gpu)
{
    memset(cells, 0, COLUMN_COUNT * sizeof *cells);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        snprintf(cells[i].text, NUMBER_SIZE, "%s", page_dash(page));
    show_percent(cells[COLUMN_UTIL].text, page, gpu->util_permille);
    show_percent(cells[COLUMN_WORK].text, page, gpu->sm_active_permille);
    memory_text(cells[COLUMN_VRAM].text, page, gpu);
    cells[COLUMN_VRAM].ink = memory_ink(gpu);
    show_temperature(cells[COLUMN_TEMP].text, page, gpu->temp_mdegc);
    cells[COLUMN_TEMP].ink = heat_ink(gpu);
    show_temperature(cells[COLUMN_HOTSPOT].text, page, gpu->temp_hotspot_mdegc);
    show_temperature(cells[COLUMN_MEMORY_TEMP].text, page, gpu->temp_memory_mdegc);
    power_text(cells[COLUMN_POWER].text, page, gpu);
    cells[COLUMN_POWER].ink = power_ink(gpu);
    show_fan(cells[COLUMN_FAN].text, page, gpu);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        cells[i].known = strcmp(cells[i].text, page_dash(page)) != 0;
        if (!cells[i].known)
            cells[i].ink = INK_FAINT;
    }
}

static void instance_name(char text[GPU_NAME_SIZE], const struct page *page, const struct gpu *instance)
{
    snprintf(text, GPU_NAME_SIZE, "%s %s", page->utf8 ? "└" : "-", instance->profile[0] ? instance->profile : "instance");
}

/* Its top process in the longest form that fits, or why none can be named. */
static void process_text(const struct gpu *gpu, int width, char out[PROCESS_WORDS], enum ink *ink)
{
    const struct process *top = gpu_top_process(gpu);
    *ink = INK_PLAIN;
    out[0] = '\0';
    if (top) {
        static const unsigned forms[] = {LONG_NAME, SHORT_NAME | WITH_USER, SHORT_NAME, WITH_USER, 0};
        for (size_t i = 0; i < ARRAY_LEN(forms); i++)
            if (width_of(process_words(top, forms[i], out)) <= width)
                return;
    } else if (gpu->processes_hidden || gpu->processes_state == READING_DENIED) {
        *ink = INK_FAINT;
        snprintf(out, PROCESS_WORDS, "hidden without privileges");
        if (gpu->processes_hidden)
            snprintf(out, PROCESS_WORDS, "%zu hidden without privileges", gpu->processes_hidden);
    }
}

/* The most important finding about a GPU that needs a look; NULL: none, or an instance, which isn't judged on its own. */
static const struct finding *first_trouble(const struct status_layout *l, const struct gpu *gpu)
{
    const struct finding *first = gpu->profile[0] ? NULL : verdict_first(l->verdict, gpu->index);
    return first && first->severity > SEVERITY_INFO ? first : NULL;
}

/* "THERMAL", "waits for disk"; reaching a lowered power limit is no trouble, but explains the speed. */
static const char *label_of(const struct status_layout *l, const struct gpu *gpu, enum ink *ink)
{
    const struct finding *first = first_trouble(l, gpu);
    const char *label = first && gpu->state == GPU_OK ? finding_label(first) : "";
    *ink = first ? severity_ink(first->severity) : INK_FAINT;
    const struct process *waiting = label[0] || gpu->state != GPU_OK ? NULL : limit_waiting(gpu);
    if (waiting)
        return limit_doing(waiting->limit.code);
    if (label[0] || !(gpu->activity.throttled_by & THROTTLE_POWER_CAP))
        return label;
    *ink = INK_FAINT;
    return "POWER CAP";
}

static void measure_row(struct status_layout *l, const struct page *page, const struct gpu *gpu, const char *name,
                        bool known[COLUMN_COUNT])
{
    struct status_cell cells[COLUMN_COUNT];
    char who[PROCESS_WORDS];
    enum ink ink;
    make_cells(cells, page, gpu);
    l->name = MAX_OF(l->name, width_of(name));
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        l->text[i] = MAX_OF(l->text[i], width_of(cells[i].text));
        known[i] |= cells[i].known;
    }
    l->rpm |= str_ends(str_from(cells[COLUMN_FAN].text), " rpm");
    process_text(gpu, PROCESS_WORDS, who, &ink);
    const char *label = label_of(l, gpu, &ink);
    l->process = MAX_OF(l->process, width_of(who) + (label[0] ? 2 + width_of(label) : 0));
}

/* The blanks before a column: separates the numbers if there is room. */
static int gap_before(const struct status_layout *l, size_t column)
{
    return column == COLUMN_UTIL || column == COLUMN_WORK || column == COLUMN_VRAM || (column == COLUMN_FAN && l->rpm) ? 2 : l->gap;
}

static int width_without_process(const struct status_layout *l)
{
    int width = MARK + l->index + 1 + l->name;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (l->text[i])
            width += gap_before(l, i) + l->text[i] + (i == COLUMN_UTIL && l->bar ? l->bar + 1 : 0);
    return width;
}

/* Whether the row fits with this much for the process. */
static bool fits(const struct status_layout *l, int width, int process)
{
    return width_without_process(l) + (l->process ? l->gap + MIN_OF(l->process, process) : 0) <= width;
}

static void squeeze(struct status_layout *l, int width)
{
    for (int i = COLUMN_COUNT; i-- > 0;)
        if (columns[i].extra && !fits(l, width, PROCESS_USUAL))
            l->text[i] = 0;
    if (!fits(l, width, PROCESS_USUAL))
        l->gap = 2;
    if (!fits(l, width, PROCESS_LEAST))
        l->bar = BAR_LEAST;
    while (!fits(l, width, PROCESS_LEAST) && l->name > NAME_LEAST)
        l->name--;
    if (!fits(l, width, PROCESS_LEAST))
        l->process = 0;
    if (!fits(l, width, 0))
        l->bar = 0;
    static const enum column dispensable[] = {COLUMN_FAN, COLUMN_POWER, COLUMN_TEMP, COLUMN_VRAM};
    for (size_t i = 0; i < ARRAY_LEN(dispensable) && !fits(l, width, 0); i++)
        l->text[dispensable[i]] = 0;
    if (l->process)
        l->process = MIN_OF(l->process, width - width_without_process(l) - l->gap);
}

static struct status_layout status_measure(const struct page *page, const struct snapshot *s, int only)
{
    struct status_layout l = {.verdict = s->verdict,
                              .index = s->gpu_count > 100  ? 3
                                       : s->gpu_count > 10 ? 2
                                                           : 1,
                              .bar = BAR,
                              .gap = 3};
    bool known[COLUMN_COUNT] = {false};
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (only != ALL_GPUS && only != (int)i)
            continue;
        l.name = MAX_OF(l.name, width_of(gpu_short_name(gpu)));
        if (gpu->state != GPU_OK)
            continue;
        measure_row(&l, page, gpu, "", known);
        for (size_t k = 0; k < gpu->instance_count; k++) {
            char name[GPU_NAME_SIZE];
            instance_name(name, page, &gpu->instances[k]);
            measure_row(&l, page, &gpu->instances[k], name, known);
        }
    }
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (known[i] || columns[i].always)
            l.text[i] = MAX_OF(l.text[i], i == COLUMN_UTIL ? 4 : width_of(columns[i].title));
        else
            l.text[i] = 0;
    if (l.process)
        l.process = MAX_OF(l.process, width_of("TOP PROCESS"));
    squeeze(&l, page->width ? page->width : 1000);
    return l;
}

static void end_line(struct buf *out)
{
    while (out->len && out->at[out->len - 1] == ' ')
        out->at[--out->len] = '\0';
    buf_char(out, '\n');
}

static void header(struct buf *out, const struct page *page, const struct status_layout *l)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, "GPU", l->index + 1 + l->name);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!l->text[i])
            continue;
        buf_printf(out, "%*s", gap_before(l, i), "");
        bool indent = i == COLUMN_FAN && l->rpm;
        int width = l->text[i] + (i == COLUMN_UTIL && l->bar ? l->bar + 1 : 0);
        if (indent)
            buf_char(out, ' ');
        page_cell(out, page, INK_FAINT, LEFT, columns[i].title, width - indent);
    }
    if (l->process) {
        buf_printf(out, "%*s", l->gap, "");
        page_ink(out, page, INK_FAINT, STR("TOP PROCESS"));
    }
    end_line(out);
}

/* The process, as far as there is room, and the problem. */
static void last_cell(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu)
{
    char who[PROCESS_WORDS];
    enum ink ink, label_ink;
    const char *label = label_of(l, gpu, &label_ink);
    int left = l->process - (label[0] ? 2 + width_of(label) : 0);
    process_text(gpu, left, who, &ink);
    if (!who[0] && !label[0])
        return;
    buf_printf(out, "%*s", l->gap, "");
    if (who[0] && left > 3) {
        page_cell(out, page, ink, LEFT, who, MIN_OF(left, width_of(who)));
        buf_text(out, label[0] ? "  " : "");
    }
    page_ink(out, page, label_ink, str_from(label));
}

static void put_cell(struct buf *out, const struct page *page, const struct status_layout *l, size_t column,
                     const struct status_cell *cell, const struct gpu *gpu)
{
    buf_printf(out, "%*s", gap_before(l, column), "");
    if (column == COLUMN_UTIL && l->bar) {
        page_bar(out, page, INK_LOAD, gpu->util_permille, l->bar);
        buf_char(out, ' ');
    }
    bool turns = str_ends(str_from(cell->text), " rpm");
    if (column == COLUMN_FAN && l->rpm && !turns) {
        int after = MIN_OF(3, l->text[column] - width_of(cell->text));
        page_cell(out, page, cell->ink, RIGHT, cell->text, l->text[column] - after);
        buf_printf(out, "%*s", after, "");
    } else {
        page_cell(out, page, cell->ink, RIGHT, cell->text, l->text[column]);
    }
}

static void begin_row(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu,
                      const char *index, const char *name)
{
    const struct finding *first = first_trouble(l, gpu);
    if (!first || !page_look_sign(out, page, first->severity))
        buf_text(out, "  ");
    page_cell(out, page, INK_STRONG, RIGHT, index, l->index);
    buf_char(out, ' ');
    page_cell(out, page, INK_PLAIN, LEFT, name, l->name);
}

static void row(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu, const char *index,
                const char *name)
{
    struct status_cell cells[COLUMN_COUNT];
    make_cells(cells, page, gpu);
    begin_row(out, page, l, gpu, index, name);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (l->text[i])
            put_cell(out, page, l, i, &cells[i], gpu);
    if (l->process)
        last_cell(out, page, l, gpu);
    end_line(out);
}

/* A GPU that can't be read shows the reason in place of its numbers. */
static void row_in_words(struct buf *out, const struct page *page, const struct status_layout *l, const struct gpu *gpu,
                         const char *index)
{
    char words[GPU_ERROR_SIZE + 64];
    const char *said = gpu->error_message;
    if (gpu->state == GPU_ASLEEP)
        snprintf(words, sizeof words, "asleep, left alone%s%s", said[0] ? ": " : "", said);
    else if (gpu->released)
        snprintf(words, sizeof words, "released on request");
    else
        snprintf(words, sizeof words, "%s%s%s", gpu->state == GPU_LOST ? "lost" : "error", said[0] ? ": " : "", said);
    begin_row(out, page, l, gpu, index, gpu_short_name(gpu));
    buf_text(out, "  ");
    int left = page->width ? MAX_OF(page->width - MARK - l->index - 1 - l->name - 2, 8) : 1000;
    page_cell(out, page, gpu->state == GPU_ASLEEP || gpu->released ? INK_FAINT : INK_BAD, LEFT, words,
              MIN_OF(left, width_of(words)));
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
    row(out, page, l, gpu, index, gpu_short_name(gpu));
    for (size_t i = 0; i < gpu->instance_count; i++) {
        char name[GPU_NAME_SIZE];
        instance_name(name, page, &gpu->instances[i]);
        row(out, page, l, &gpu->instances[i], "", name);
    }
}

static bool any_numbers(const struct snapshot *s, int only)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].state == GPU_OK && (only == ALL_GPUS || only == (int)i))
            return true;
    return false;
}

void table_status(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    if (s->gpu_count == 0) {
        table_no_gpu(out, page, s);
        table_accelerators(out, page, s);
        return;
    }
    status_verdict(out, page, s, only);
    struct status_layout l = status_measure(page, s, only);
    if (any_numbers(s, only))
        header(out, page, &l);
    for (size_t i = 0; i < s->gpu_count; i++)
        if (only == ALL_GPUS || only == (int)i)
            one_gpu(out, page, &l, &s->gpus[i]);
    status_leases(out, page, s, only);
    if (only == ALL_GPUS)
        table_accelerators(out, page, s);
    status_troubles(out, page, s);
}

void table_status_hints(struct buf *out, const struct page *page, const struct snapshot *s)
{
    char text[64 + AREAS_WORDS], areas[AREAS_WORDS] = "";
    unsigned missing = 0;
    if (!s->gpu_count)
        return;
    for (size_t i = 0; s->verdict && i < MIN_OF(s->gpu_count, s->verdict->gpu_count); i++)
        if (s->gpus[i].state == GPU_OK)
            missing |= AREAS_OF_CALM & ~s->verdict->gpus[i].looked;
    const struct finding *first = verdict_main(s->verdict);
    if (first && first->severity > SEVERITY_INFO)
        missing = 0;
    areas_words(missing, areas); /* a quick look that finds nothing has not looked at everything, and says so */
    snprintf(text, sizeof text, "%s%s%swhy: whirr why%slive: whirr top", missing ? "not looked at: " : "", areas,
             missing ? page_dot(page) : "", page_dot(page));
    page_ink(out, page, INK_FAINT, str_from(text));
    buf_char(out, '\n');
}
