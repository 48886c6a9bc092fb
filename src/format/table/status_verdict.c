/* SPDX-License-Identifier: Apache-2.0
 * Text lines of the status table: the verdict above the rows, sources in trouble, and the message without a GPU.
 */
#include "format/table/table.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "model/finding_code.h"

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

void status_leases(struct buf *out, const struct page *page, const struct snapshot *s, int only)
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

void status_troubles(struct buf *out, const struct page *page, const struct snapshot *s)
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
