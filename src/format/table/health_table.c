/* SPDX-License-Identifier: Apache-2.0
 * The health of the GPUs for people and for check plugins.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/health.h"
#include "format/table/page_table.h"
#include "model/finding.h"

static enum ink health_ink_of(enum health_state state)
{
    switch (state) {
    case HEALTH_HEALTHY: return INK_GOOD;
    case HEALTH_DEGRADED: return INK_WARN;
    case HEALTH_FAILING:
    case HEALTH_LOST: return INK_BAD;
    case HEALTH_ASLEEP:
    case HEALTH_UNKNOWN: break;
    }
    return INK_FAINT;
}

static bool shown(const struct health_verdict *v, int only)
{
    return only == HEALTH_ALL || v->gpu_index == only;
}

static void paragraph(struct buf *out, const struct page *page, enum ink ink, const char *title, const char *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, title, 11);
    page_wrap(out, page, ink, text, 13, 13);
}

/* Present trouble that would affect the GPU's health if it lasted, or NULL. */
static const struct finding *seen_now(const struct verdict *verdict, const struct health_verdict *v)
{
    for (size_t i = 0; verdict && v->state == HEALTH_HEALTHY && i < verdict->count; i++) {
        const struct finding *f = &verdict->findings[i];
        if (f->gpu_index == v->gpu_index && !f->muted && f->severity >= SEVERITY_WARNING &&
            finding_kind(f->code)->effect != EFFECT_HEALTHY)
            return f;
    }
    return NULL;
}

/* The verdict, then other findings. The worst finding is the verdict itself and is not repeated. */
static void one(struct buf *out, const struct page *page, const struct health_verdict *v, int last, const struct finding *seen)
{
    char head[64], age[NUMBER_SIZE];
    if (last > v->gpu_index)
        snprintf(head, sizeof head, "GPUs %d-%d", v->gpu_index, last);
    else
        snprintf(head, sizeof head, "GPU %d", v->gpu_index);
    page_ink(out, page, INK_STRONG, str_from(head));
    if (v->id.name[0])
        buf_printf(out, " %s", v->id.name);
    if (v->simulated) {
        buf_char(out, ' ');
        page_simulated(out, page);
    }
    buf_text(out, "  ");
    page_ink(out, page, seen ? INK_WARN : health_ink_of(v->state), str_from(health_state_name(v->state)));
    buf_text(out, seen ? " so far" : "");
    if (v->since.ms && page->now.ms - v->since.ms >= 60000) {
        show_age(age, page, page->now.ms - v->since.ms);
        buf_text(out, " for ");
        buf_text(out, age);
    }
    buf_char(out, '\n');
    if (seen)
        paragraph(out, page, INK_WARN, "seen now", seen->headline);
    else
        paragraph(out, page, INK_PLAIN, "reason", v->reason);
    bool nothing = strcmp(v->action, HEALTH_NOTHING_TO_DO) == 0;
    if (!nothing)
        paragraph(out, page, INK_STRONG, "what to do", v->action);
    for (size_t i = 1; i < v->finding_count; i++)
        paragraph(out, page, health_ink_of(v->findings[i].state), "also", v->findings[i].reason);
}

/* What the verdict is based on. */
static void looked(struct buf *out, const struct page *page, const struct gpu_looked *l)
{
    char text[AREAS_WORDS];
    if (!page->verbose || !l)
        return;
    if (l->looked)
        paragraph(out, page, INK_FAINT, "looked at", areas_words(l->looked, text));
    if (l->missing[0])
        paragraph(out, page, INK_FAINT, "not at", l->missing);
}

static void limits(struct buf *out, const struct page *page, const struct health_basis *basis, size_t count)
{
    if (!basis->remembered && !basis->watched_since.ms && count)
        page_wrap(
            out, page, INK_FAINT,
            "This was a single look. Only a running `whirr serve` notices what has to last (throttling, heat, a narrow link, a "
            "stopped fan), PCIe errors, and faults that come back after a reset.",
            0, 0);
    if (basis->log_message[0])
        page_wrap(out, page, INK_FAINT, basis->log_message, 0, 0);
}

/* Whether the next GPU has the same health, so that they share an entry. GPUs with findings don't. */
static bool is_alike(const struct health_verdict *a, const struct health_verdict *b)
{
    return b->gpu_index == a->gpu_index + 1 && a->state == b->state && !a->finding_count && !b->finding_count &&
           a->simulated == b->simulated && a->since.ms == b->since.ms && strcmp(a->id.name, b->id.name) == 0 &&
           strcmp(a->reason, b->reason) == 0 && strcmp(a->action, b->action) == 0;
}

void table_health(struct buf *out, const struct page *page, const struct health *health, const struct health_basis *basis,
                  const struct verdict *verdict, int only)
{
    size_t count = 0;
    for (size_t i = 0; i < health->count; i++) {
        if (!shown(&health->verdicts[i], only))
            continue;
        const struct health_verdict *first = &health->verdicts[i];
        const struct finding *seen = seen_now(verdict, first);
        while (only == HEALTH_ALL && !page->verbose && !seen && i + 1 < health->count &&
               is_alike(&health->verdicts[i], &health->verdicts[i + 1]) && !seen_now(verdict, &health->verdicts[i + 1]))
            i++;
        one(out, page, first, health->verdicts[i].gpu_index, seen);
        looked(out, page, verdict_looked(verdict, first->gpu_index));
        count++;
    }
    if (count == 0)
        buf_text(out, "No GPU was found. `whirr doctor` says why.\n");
    else
        buf_char(out, '\n');
    limits(out, page, basis, count);
}

/* ---- check plugins ---- */

/* '|' would end the text, a newline the first line. */
static void plugin_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_char(out, *text == '|' ? '/' : *text == '\n' ? ' ' : *text);
}

int health_status(const struct health *health, int only)
{
    int status = -1, unknown = health_exit_code(HEALTH_UNKNOWN);
    for (size_t i = 0; i < health->count; i++) {
        int its = health_exit_code(health->verdicts[i].state);
        if (shown(&health->verdicts[i], only) && its != unknown)
            status = MAX_OF(status, its);
    }
    return status < 0 ? unknown : status;
}

void nagios_health(struct buf *out, const struct health *health, const struct health_basis *basis, int only)
{
    static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    size_t counts[HEALTH_LOST + 1] = {0}, total = 0, told = 0;
    int code = health_status(health, only);
    for (size_t i = 0; i < health->count; i++)
        if (shown(&health->verdicts[i], only)) {
            counts[health->verdicts[i].state]++;
            total++;
        }
    buf_printf(out, "GPU HEALTH %s - %s", words[code], health->count && health->verdicts[0].simulated ? "SIMULATED, " : "");
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        if (!shown(v, only) || health_exit_code(v->state) == 0)
            continue;
        buf_printf(out, "%sGPU %d %s: ", told++ ? " " : "", v->gpu_index, health_state_name(v->state));
        plugin_text(out, v->reason);
    }
    if (total == 0)
        buf_text(out, "no GPU was found");
    else if (told == 0)
        buf_printf(out, "%zu GPU%s, no fault was found", total, total == 1 ? "" : "s");
    if (!basis->remembered)
        buf_text(out, " (one look, no daemon)");
    buf_text(out, " |");
    for (size_t i = HEALTH_HEALTHY; i <= HEALTH_LOST; i++)
        buf_printf(out, " %s=%zu%s", health_state_name((enum health_state)i), counts[i],
                   i == HEALTH_DEGRADED  ? ";0"
                   : i > HEALTH_DEGRADED ? ";;0"
                                         : "");
    buf_printf(out, " asleep=%zu unknown=%zu\n", counts[HEALTH_ASLEEP], counts[HEALTH_UNKNOWN]);
}
