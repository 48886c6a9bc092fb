/* SPDX-License-Identifier: Apache-2.0
 * The explanation for people, in at most LINES_MAX lines for any number of GPUs:
 *
 *   ▲ GPU 1 is loud (fan 100%) because it can't dissipate 316 W.
 *     Cause  train.py (alice) has been training Llama-3.1-8B for 7m (very likely)
 *     Also   Thermal throttling: it is too hot (software thermal slowdown) (likely)
 *     Do     Check airflow: clean dust from fans and filters, ...
 *   ● GPU 0  lightly loaded, 35%, 50 °C: ollama is serving llama3.1-8b
 *   ○ GPU 3  idle
 *   evidence: whirr why -v · one GPU: whirr why --gpu 1
 *
 * A verbose page shows every cause with its evidence instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/words.h"
#include "base/words.h"
#include "format/table/table.h"
#include "insight/verdict/graph.h"
#include "insight/view/idle_audit.h"

enum { LINES_MAX = 12, LABEL_WIDTH = 9 };
#define SEEN 0.9

static size_t lines_of(const struct buf *out, size_t from)
{
    size_t lines = 0;
    for (size_t i = from; i < out->len; i++)
        lines += out->at[i] == '\n';
    return lines;
}

static void mark(struct buf *out, const struct page *page, const struct why_part *part)
{
    enum activity_code code = part->activity.code;
    bool rests = code == ACTIVITY_IDLE || code == ACTIVITY_ASLEEP || code == ACTIVITY_UNKNOWN ||
                 strcmp(part->brief.state, "idle") == 0; /* a process keeps it from idling, but too little to mention */
    enum sign sign = severity_sign(part->severity, rests);
    enum ink ink = sign == SIGN_LOOK ? severity_ink(part->severity) : rests ? INK_FAINT : INK_GOOD;
    page_ink(out, page, ink, str_from(page_sign(page, sign)));
    buf_char(out, ' ');
}

/* Removes sudo for root. */
static const char *command_for(const struct page *page, const char *text, char out[WHY_LINE_SIZE])
{
    size_t len = 0;
    for (const char *at = text; *at && len + 1 < WHY_LINE_SIZE;) {
        if (page->root && strncmp(at, "sudo ", 5) == 0) {
            at += 5;
            continue;
        }
        out[len++] = *at++;
    }
    out[len] = '\0';
    return out;
}

static void labelled(struct buf *out, const struct page *page, const char *label, enum ink ink, const char *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, label, LABEL_WIDTH - 2);
    page_wrap(out, page, ink, text, LABEL_WIDTH, LABEL_WIDTH);
}

/* "train.py (alice) is training (very likely)" */
static const char *with_likelihood(const struct why_cause *cause, char out[WHY_TEXT_SIZE + 32])
{
    size_t len = strlen(cause->text);
    snprintf(out, WHY_TEXT_SIZE + 32, "%.*s (%s)", (int)(len && cause->text[len - 1] == '.' ? len - 1 : len), cause->text,
             why_likelihood(cause));
    return out;
}

/* ---- the idle audit ---- */

/* What keeps the GPU from idling; with `whole`, also what is worth knowing, what is ruled out, and what to do. */
static void audit_lines(struct buf *out, const struct page *page, const struct idle_audit *a, bool whole)
{
    char text[WHY_TEXT_SIZE], line[WHY_LINE_SIZE];
    const char *labels[] = {"Also", "Cause"};
    bool said[2] = {false, false};
    for (size_t i = 0, shown = 0; i < a->count && (whole || shown < 3); i++) {
        const struct idle_finding *f = &a->findings[i];
        if (!f->keeps && !whole)
            continue;
        labelled(out, page, said[f->keeps] ? "" : labels[f->keeps], INK_PLAIN, f->text);
        said[f->keeps] = true;
        shown++;
    }
    if (!whole)
        return;
    size_t len = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < IDLE_CODE_COUNT && len + 40 < sizeof text; i++)
        if (a->ruled_out & 1u << i)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? ", " : "", idle_code_words((enum idle_code)i));
    if (len)
        labelled(out, page, "Not", INK_FAINT, text);
    if (a->hidden) {
        snprintf(text, sizeof text, "%zu processes of other users can't be looked at: " WORD_WITH_RIGHTS("whirr why --idle"),
                 a->hidden);
        labelled(out, page, "Unseen", INK_FAINT, command_for(page, text, line));
    }
    for (size_t i = 0; i < a->suggestion_count; i++)
        labelled(out, page, i == 0 ? "Do" : "", INK_PLAIN, command_for(page, a->suggestions[i], line));
}

/* ---- with -v: everything ---- */

static void causes(struct buf *out, const struct page *page, const struct why_part *part)
{
    char text[WHY_TEXT_SIZE + 32];
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        labelled(out, page, i == 0 ? "Cause" : "Also", i == 0 ? INK_PLAIN : INK_FAINT, with_likelihood(cause, text));
        for (size_t e = 0; e < cause->evidence_count; e++) {
            buf_text(out, page->utf8 ? "         · " : "         - ");
            page_wrap(out, page, INK_FAINT, cause->evidence[e], LABEL_WIDTH + 2, LABEL_WIDTH + 2);
        }
    }
}

/* Numbered, for `whirr do`; no "Do 2" without a "Do 1". */
static void suggestions(struct buf *out, const struct page *page, const struct why_part *part, size_t most)
{
    char text[WHY_LINE_SIZE], label[16];
    for (size_t i = 0, shown = 0; i < part->suggestion_count && shown < most; i++) {
        if (page->root && part->remedies[i].code == REMEDY_LOOK &&
            strstr(part->suggestions[i], "sudo whirr ")) /* root has looked */
            continue;
        if (part->gpu_index >= 0 && i == shown)
            snprintf(label, sizeof label, "%s %zu", shown ? "  " : "Do", i + 1);
        else
            snprintf(label, sizeof label, "%s", shown ? "" : "Do");
        labelled(out, page, label, INK_PLAIN, command_for(page, part->suggestions[i], text));
        shown++;
    }
}

static void whole_part(struct buf *out, const struct page *page, const struct why_part *part)
{
    if (part->gpu_index >= 0)
        mark(out, page, part);
    page_wrap(out, page, INK_STRONG, part->answer, 2, part->gpu_index >= 0 ? 2 : 0);
    causes(out, page, part);
    if (part->idle_audit.looked && part->usual.idle_excess)
        audit_lines(out, page, &part->idle_audit, false);
    suggestions(out, page, part, WHY_SUGGESTIONS_MAX);
}

/* "Looked  errors, link, heat, ...", "Not at  error counters": what a GPU's verdict is based on. */
static void looked_lines(struct buf *out, const struct page *page, const struct gpu_looked *l)
{
    char text[AREAS_WORDS];
    if (l->looked)
        labelled(out, page, "Looked", INK_FAINT, areas_words(l->looked, text));
    if (l->missing[0])
        labelled(out, page, "Not at", INK_FAINT, l->missing);
}

static void all_evidence(struct buf *out, const struct page *page, const struct why *why, int only)
{
    if (only == ALL_GPUS && why->machine.cause_count)
        whole_part(out, page, &why->machine);
    for (size_t i = 0; i < why->gpu_count; i++)
        if (only == ALL_GPUS || only == (int)i) {
            whole_part(out, page, &why->gpus[i]);
            if (why->verdict && i < why->verdict->gpu_count)
                looked_lines(out, page, &why->verdict->gpus[i]);
        }
}

void table_cpu_time(struct buf *out, const struct page *page, const struct process *p, const char *words)
{
    char name[PROCESS_WORDS], text[PROCESS_WORDS + WHY_TEXT_SIZE];
    snprintf(text, sizeof text, "%s%s%s", p ? process_words(p, WITH_PID, name) : "", p ? ": " : "", words);
    labelled(out, page, "CPU", INK_PLAIN, text);
}

/* ---- the short form ---- */

/* Whether the headline already contains the text. */
static bool is_in_headline(const struct why_part *part, const char *text)
{
    char words[WHY_TEXT_SIZE];
    size_t len = strlen(text);
    snprintf(words, sizeof words, "%.*s", (int)(len && text[len - 1] == '.' ? len - 1 : len), text);
    return strcasestr(part->brief.headline[0] ? part->brief.headline : part->answer, words) != NULL;
}

/* Below the first finding: its possible causes, then its effects and other problems. */
static void cause_lines(struct buf *out, const struct page *page, const struct why *why, const struct why_part *part, size_t most)
{
    static const char cannot[] = "can't tell why: ";
    const struct finding *first = verdict_first(why->verdict, part->gpu_index);
    char text[WHY_TEXT_SIZE + 32];
    size_t shown = 0;
    for (int also = 0; first && also < 2; also++) {
        for (size_t i = 0; i < part->cause_count && shown < most; i++) {
            const struct why_cause *cause = &part->causes[i];
            const struct finding *found = verdict_find(why->verdict, part->gpu_index, cause->code);
            bool brings = graph_weight(NULL, cause->code, first->code) > 0;
            bool wanted = also ? !brings && found && found->severity > SEVERITY_INFO : brings && cause->confidence >= 0.3;
            if (cause->code == first->code || !wanted || is_in_headline(part, cause->text))
                continue;
            /* Other troubles were seen; what may have caused this one was concluded. */
            bool seen = also && cause->confidence >= SEEN;
            labelled(out, page, also || shown ? "Also" : "Cause", INK_PLAIN, seen ? cause->text : with_likelihood(cause, text));
            shown++;
        }
        const struct why_cause *own = part->cause_count ? &part->causes[0] : NULL;
        for (size_t i = 0; own && !also && !shown && i < own->evidence_count; i++)
            if (strncmp(own->evidence[i], cannot, strlen(cannot)) == 0) {
                snprintf(text, sizeof text, "Not known: %s", own->evidence[i] + strlen(cannot));
                labelled(out, page, "Cause", INK_PLAIN, text);
                shown++;
            }
    }
}

/* The explanation of the most important GPU, or the only one requested. */
static void write_first(struct buf *out, const struct page *page, const struct why *why, const struct why_part *part,
                        size_t causes_most)
{
    char text[WHY_TEXT_SIZE + 32];
    mark(out, page, part);
    if (!part->brief.trouble) {
        page_wrap(out, page, INK_STRONG, part->answer, 2, 2);
        if (part->usual.idle_excess)
            audit_lines(out, page, &part->idle_audit, false);
        suggestions(out, page, part, 1);
        return;
    }
    snprintf(text, sizeof text, "%s.", part->brief.headline[0] ? part->brief.headline : part->answer);
    page_wrap(out, page, INK_STRONG, text, 2, 2);
    cause_lines(out, page, why, part, causes_most);
    suggestions(out, page, part, 2);
}

/* A narrow page leaves less room for causes, not for advice. */
static void first_part(struct buf *out, const struct page *page, const struct why *why, const struct why_part *part, bool alone)
{
    size_t start = out->len, most = alone ? LINES_MAX - 2 : LINES_MAX * 3 / 4;
    write_first(out, page, why, part, 2);
    if (lines_of(out, start) <= most || out->failed)
        return;
    out->len = start;
    write_first(out, page, why, part, 1);
}

static bool same_line(const struct why_part *a, const struct why_part *b)
{
    return a->severity == b->severity && strcmp(a->brief.state, b->brief.state) == 0 &&
           strcmp(a->brief.doing, b->brief.doing) == 0 && a->activity.code == b->activity.code;
}

/* GPUs that share a line, in the order of the worst. */
struct why_group {
    size_t first, count;
    bool shown; /* the first of them is explained already */
};

static size_t make_groups(const struct why *why, bool explained, struct why_group *groups, unsigned *of)
{
    size_t count = 0;
    for (size_t i = 0; i < why->gpu_count; i++) {
        size_t g = 0;
        if (explained && i == why->main) {
            of[i] = UINT32_MAX;
            continue;
        }
        while (g < count && !same_line(&why->gpus[groups[g].first], &why->gpus[i]))
            g++;
        if (g == count)
            groups[count++] = (struct why_group){.first = i};
        groups[g].count++;
        of[i] = (unsigned)g;
    }
    return count;
}

static int severity(const struct why_part *part)
{
    return activity_rank(&part->activity) + 100 * (SEVERITY_CRITICAL - (int)part->severity);
}

/* "GPU 3", "GPUs 0-5, 7" */
static void group_title(const struct why *why, const unsigned *of, unsigned g, size_t count, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, count > 1 ? "GPUs " : "GPU ");
    const char *comma = "";
    for (size_t i = 0; i < why->gpu_count && used + 16 < size; i++) {
        if (of[i] != g)
            continue;
        size_t last = i;
        while (last + 1 < why->gpu_count && of[last + 1] == g)
            last++;
        int from = why->gpus[i].gpu_index, to = why->gpus[last].gpu_index;
        used +=
            (size_t)snprintf(out + used, size - used, last > i ? "%s%d%s%d" : "%s%d", comma, from, last > i + 1 ? "-" : ", ", to);
        comma = ", ";
        i = last;
    }
}

/* roomy: enough lines to continue on the next one; otherwise it is cut. */
static void group_line(struct buf *out, const struct page *page, const struct why_part *part, size_t count, const char *title,
                       int width, bool roomy)
{
    const struct why_brief *b = &part->brief;
    char line[2 * WHY_BRIEF_SIZE + 8];
    snprintf(line, sizeof line, "%s%s%s%s%s", b->state, count == 1 && b->state[0] && b->numbers[0] ? ", " : "",
             count == 1 ? b->numbers : "", b->state[0] && b->doing[0] ? ": " : "", b->doing);
    mark(out, page, part);
    page_cell(out, page, INK_STRONG, LEFT, title, width);
    buf_text(out, "  ");
    if (roomy) {
        page_wrap(out, page, INK_PLAIN, line, width + 4, width + 4);
        return;
    }
    page_fit(out, page, str_from(line), page->width ? MAX_OF(page->width - width - 4, 20) : 0);
    buf_char(out, '\n');
}

/* Worst first, as many as fit; the rest are counted. */
static void other_gpus(struct buf *out, const struct page *page, const struct why *why, bool explained, size_t lines)
{
    AUTO_FREE struct why_group *groups = calloc(why->gpu_count, sizeof *groups);
    AUTO_FREE unsigned *of = calloc(why->gpu_count, sizeof *of);
    char title[64];
    int width = 0;
    size_t left = 0, shown = 0;
    if (!groups || !of) {
        out->failed = true;
        return;
    }
    size_t count = make_groups(why, explained, groups, of);
    for (size_t g = 0; g < count; g++) {
        group_title(why, of, (unsigned)g, groups[g].count, title, sizeof title);
        width = MAX_OF(width, width_of(title));
        left += groups[g].count;
    }
    for (; shown < count && (shown + 1 < lines || (shown + 1 == count && shown < lines)); shown++) {
        size_t worst = count;
        for (size_t g = 0; g < count; g++)
            if (!groups[g].shown &&
                (worst == count || severity(&why->gpus[groups[g].first]) < severity(&why->gpus[groups[worst].first])))
                worst = g;
        groups[worst].shown = true;
        left -= groups[worst].count;
        group_title(why, of, (unsigned)worst, groups[worst].count, title, sizeof title);
        group_line(out, page, &why->gpus[groups[worst].first], groups[worst].count, title, MIN_OF(width, 24), 2 * count <= lines);
    }
    if (left)
        buf_printf(out, "  and %zu more\n", left);
}

/* ---- the idle audit of all GPUs ---- */

static bool same_audit(const struct why_part *a, const struct why_part *b)
{
    const struct idle_audit *x = &a->idle_audit, *y = &b->idle_audit;
    bool same = a->activity.code != ACTIVITY_LOST && a->activity.code != ACTIVITY_FAILING &&
                strcmp(idle_state_words(a->activity.code), idle_state_words(b->activity.code)) == 0 &&
                a->brief.trouble == b->brief.trouble && a->usual.idle_power_mw.state != READING_OK &&
                b->usual.idle_power_mw.state != READING_OK && x->looked && y->looked && x->count == y->count &&
                x->ruled_out == y->ruled_out && x->hidden == y->hidden && x->suggestion_count == y->suggestion_count;
    for (size_t i = 0; same && i < x->count; i++)
        same = x->findings[i].keeps == y->findings[i].keeps && strcmp(x->findings[i].text, y->findings[i].text) == 0;
    for (size_t i = 0; same && i < x->suggestion_count; i++)
        same = strcmp(x->suggestions[i], y->suggestions[i]) == 0;
    return same;
}

/* "GPUs 1-3 are idle at 68-70 W; nothing found that keeps them from idling." */
static void group_answer(const struct snapshot *s, const struct why *why, const unsigned *of, unsigned g, size_t count, char *out,
                         size_t size)
{
    const struct why_part *first = NULL;
    int64_t least = INT64_MAX, most = 0, power;
    char title[64], watts[48] = "";
    for (size_t i = 0; i < why->gpu_count; i++) {
        if (of[i] != g)
            continue;
        first = first ? first : &why->gpus[i];
        if (i < s->gpu_count && reading_get(s->gpus[i].power_mw, &power)) {
            least = MIN_OF(least, words_whole(power, 1000));
            most = MAX_OF(most, words_whole(power, 1000));
        }
    }
    bool busy = idle_audit_is_busy(first->activity.code);
    bool kept = first->idle_audit.count && first->idle_audit.findings[0].keeps;
    bool quiet = first->activity.code == ACTIVITY_IDLE && !kept;
    if (!busy && least < most)
        snprintf(watts, sizeof watts, " at %lld to %lld W", (long long)least, (long long)most);
    else if (!busy && least == most)
        snprintf(watts, sizeof watts, " at %lld W", (long long)most);
    group_title(why, of, g, count, title, sizeof title);
    if (first->activity.code == ACTIVITY_UNKNOWN) {
        snprintf(out, size, "Can't tell whether %s are idle: their utilization can't be read.", title);
        return;
    }
    snprintf(out, size, "%s are %s%s%s.", title, idle_state_words(first->activity.code), watts,
             busy    ? ": look again when they are idle"
             : quiet ? "; nothing found that keeps them from idling"
                     : "");
}

static void idle_groups(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, bool whole)
{
    AUTO_FREE unsigned *of = calloc(why->gpu_count, sizeof *of);
    char text[WHY_TEXT_SIZE];
    if (!of) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < why->gpu_count; i++) {
        of[i] = (unsigned)i;
        for (size_t k = i; k-- > 0;)
            if (same_audit(&why->gpus[k], &why->gpus[i]))
                of[i] = of[k];
    }
    for (size_t i = 0; i < why->gpu_count; i++) {
        const struct why_part *part = &why->gpus[i];
        size_t count = 0;
        for (size_t k = 0; k < why->gpu_count; k++)
            count += of[k] == (unsigned)i;
        if (!count)
            continue;
        mark(out, page, part);
        if (count > 1)
            group_answer(s, why, of, (unsigned)i, count, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", part->idle_audit.looked ? part->idle_audit.answer : part->answer);
        page_wrap(out, page, INK_STRONG, text, 2, 2);
        audit_lines(out, page, &part->idle_audit, whole);
    }
}

void table_idle(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only)
{
    size_t start = out->len;
    page_simulated_line(out, page, snapshot_simulated(s, ALL_GPUS));
    if (!why->gpu_count)
        page_wrap(out, page, INK_STRONG, why->answer, 0, 0);
    if (only != ALL_GPUS && only < (int)why->gpu_count) {
        const struct why_part *part = &why->gpus[only];
        mark(out, page, part);
        page_wrap(out, page, INK_STRONG, part->idle_audit.looked ? part->idle_audit.answer : part->answer, 2, 2);
        audit_lines(out, page, &part->idle_audit, true);
        return;
    }
    size_t body = out->len;
    idle_groups(out, page, s, why, true);
    if (why->gpu_count < 2 || lines_of(out, start) <= LINES_MAX)
        return;
    /* Only causes; another command shows the rest. */
    out->len = body;
    idle_groups(out, page, s, why, false);
    page_ink(out, page, INK_FAINT, STR("all of one GPU: whirr why --idle --gpu 0"));
    buf_char(out, '\n');
}

/* `advised`: the part whose advice was shown, and can be done by its number; NULL: none. */
static void hints(struct buf *out, const struct page *page, const struct why *why, bool one, const struct why_part *advised,
                  const char *command)
{
    char text[160];
    int used = 0;
    for (size_t i = 0; advised && i < MIN_OF(advised->suggestion_count, 2) && !used; i++)
        if (remedy_row(advised->remedies[i].code)->kind == REMEDY_SETTING)
            used = snprintf(text, sizeof text, "do it: whirr do %zu%s", i + 1, page_dot(page));
    used += snprintf(text + used, sizeof text - (size_t)used, "evidence: %s -v", command);
    if (!one && why->gpu_count > 1)
        snprintf(text + used, sizeof text - (size_t)used, "%sone GPU: %s --gpu %d", page_dot(page), command,
                 why->gpus[why->main].gpu_index);
    page_ink(out, page, INK_FAINT, str_from(text));
    buf_char(out, '\n');
}

/* Identical GPUs with nothing to notice share one sentence. */
static bool all_equal(const struct why *why)
{
    for (size_t i = 0; i < why->gpu_count; i++)
        if (!same_line(&why->gpus[i], &why->gpus[why->main]))
            return false;
    return why->gpu_count > 1 && why->gpus[why->main].severity <= SEVERITY_INFO;
}

void table_why(struct buf *out, const struct page *page, const struct snapshot *s, const struct why *why, int only,
               const char *command)
{
    bool one = only != ALL_GPUS && only < (int)why->gpu_count;
    size_t start = out->len;
    page_simulated_line(out, page, snapshot_simulated(s, ALL_GPUS));
    if (page->verbose && (why->gpu_count || why->machine.cause_count)) {
        all_evidence(out, page, why, one ? only : ALL_GPUS);
        return;
    }
    if (!why->gpu_count) {
        int used = page_look_sign(out, page, why->machine.severity);
        page_wrap(out, page, INK_STRONG, why->answer, used, used);
        suggestions(out, page, &why->machine, WHY_SUGGESTIONS_MAX);
        return;
    }
    bool explained = one || !all_equal(why);
    if (explained)
        first_part(out, page, why, &why->gpus[one ? (size_t)only : why->main], one || why->gpu_count == 1);
    if (!one && why->machine.cause_count) {
        page_wrap(out, page, INK_WARN, why->machine.answer, 2, 0);
        suggestions(out, page, &why->machine, 1);
    }
    size_t used = lines_of(out, start) + (command != NULL);
    if (!one)
        other_gpus(out, page, why, explained, used + 1 < LINES_MAX ? LINES_MAX - used : 1);
    if (command)
        hints(out, page, why, one, one || !explained ? NULL : &why->gpus[why->main], command);
}
