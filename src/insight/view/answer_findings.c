/* SPDX-License-Identifier: Apache-2.0
 * Findings that are no cause of what a person hears or feels, and matter all the same: errors, links, clocks, memory that runs out.
 * Each becomes a sentence of the answer and, where it is a root, advice. The causes are the findings of the GPU in
 * their order, with the evidence that the rules weighed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/verdict/graph.h"
#include "insight/view/answer.h"
#include "model/finding_code.h"

enum { SENTENCES_MAX = 2 };

/* What can't be told of an effect without a root: what is left, and not ruled out. */
static const struct {
    finding_code code;
    const char *left;
} unexplained[] = {
    {FINDING_CLOCKS_LOW,
     "can't tell why: fixed clocks, a weak power supply or battery, and a driver that stays in an idle state are not ruled out"},
    {FINDING_SLOWDOWN, "can't tell why: the power supply, its cables and the board's own sensors are not ruled out"},
    {FINDING_HOTSPOT, "can't tell why: the contact of the cooler, dried paste and a tilted mount are not ruled out"},
    {FINDING_STRAGGLER, "can't tell why: its data, its CPU and its network are not ruled out"},
};

/* A cause of which the rules have no evidence: its sentence is the headline. */
static void cause_from(struct why_cause *cause, const struct finding *f)
{
    *cause = (struct why_cause){.code = f->code, .pid = f->pid};
    finding_sentence(f, cause->text, sizeof cause->text);
    snprintf(cause->evidence[cause->evidence_count++], WHY_LINE_SIZE, "%s", finding_kind(f->code)->title);
}

/* The causes of a GPU in the order of the graph: what brings a finding about stands before it. */
struct cause_view {
    const struct facts *f;
    const struct why_part *part;
    size_t count;
    struct why_cause causes[WHY_CAUSES_MAX];
};

static bool is_in_view(const struct cause_view *v, finding_code code)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->causes[i].code == code)
            return true;
    return false;
}

static void view_add(struct cause_view *v, const struct finding *found)
{
    const struct why_cause *known = find_cause(v->part, found->code);
    if (v->count == WHY_CAUSES_MAX || is_in_view(v, found->code))
        return;
    struct why_cause *cause = &v->causes[v->count++];
    if (known)
        *cause = *known;
    else
        cause_from(cause, found);
    cause->confidence = found->confidence;
}

/* What may have brought it about, the most likely first; NULL: none that is not in view yet. */
static const struct finding *next_cause(const struct cause_view *v, const struct finding *effect)
{
    const struct verdict *all = v->f->verdict;
    const struct finding *best = NULL;
    double most = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct finding *cause = &all->findings[i];
        double weight = graph_weight(v->f->gpu, cause->code, effect->code);
        double sure = weight > 0 ? cause->confidence + (cause->code == effect->root && effect->is_effect) : 0;
        if (cause->gpu_index == effect->gpu_index && sure > most && !is_in_view(v, cause->code)) {
            most = sure;
            best = cause;
        }
    }
    return best;
}

static void view_chain(struct cause_view *v, const struct finding *found)
{
    enum { CHAIN_MAX = 3 };
    size_t before = v->count;
    for (const struct finding *cause; v->count < WHY_CAUSES_MAX && (cause = next_cause(v, found));) {
        const struct finding *root = cause;
        for (int i = 0; i < CHAIN_MAX && next_cause(v, root); i++)
            root = next_cause(v, root);
        view_add(v, root);
    }
    bool explained = v->count > before || found->is_effect, drafted = find_cause(v->part, found->code) || advice_for(found);
    const struct finding *blind = verdict_find(v->f->verdict, found->gpu_index, FINDING_CANNOT_KNOW);
    if (!explained && !drafted && blind)
        view_add(v, blind);
    if (drafted || v->count == before) /* what a person notices is no cause of itself */
        view_add(v, found);
    for (size_t i = 0; i < ARRAY_LEN(unexplained) && !explained; i++)
        if (unexplained[i].code == found->code && v->count && v->causes[v->count - 1].code == found->code &&
            v->causes[v->count - 1].evidence_count < WHY_EVIDENCE_MAX)
            snprintf(v->causes[v->count - 1].evidence[v->causes[v->count - 1].evidence_count++], WHY_LINE_SIZE, "%s",
                     unexplained[i].left);
}

/* Trouble in its order; what is none stays in that of the rules. */
static void view_causes(const struct facts *f, struct why_part *part)
{
    struct cause_view *v = calloc(1, sizeof *v);
    if (!v)
        return;
    v->f = f;
    v->part = part;
    for (size_t i = 0; i < f->verdict->count; i++)
        if (f->verdict->findings[i].gpu_index == part->gpu_index && f->verdict->findings[i].severity > SEVERITY_INFO)
            view_chain(v, &f->verdict->findings[i]);
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct finding *found = verdict_find(f->verdict, part->gpu_index, part->causes[i].code);
        if (found)
            view_add(v, found);
    }
    if (v->count) {
        memcpy(part->causes, v->causes, v->count * sizeof v->causes[0]);
        part->cause_count = v->count;
    }
    free(v);
}

/* What the answer says already, or what has no advice and does not lead. */
static bool is_said(const struct why_part *part, const struct finding *found, bool leads)
{
    return (found->tense == TENSE_NOW && find_cause(part, found->code)) || (!advice_for(found) && !leads) ||
           strstr(part->answer, found->headline);
}

/* How much of the text are sentences that fit into so many bytes; all of it where not even one does. */
static size_t whole_sentences(const char *text, size_t most)
{
    size_t len = strlen(text), end = 0;
    if (len <= most)
        return len;
    for (size_t i = 0; i + 1 < most; i++)
        if (text[i] == '.' && text[i + 1] == ' ')
            end = i + 1;
    return end ? end : most;
}

/* The first finding leads; the others follow. */
static void add_sentence(struct why_part *part, const struct gpu *gpu, const char *headline, bool leads)
{
    const char *simulated = gpu->simulated ? "Simulated " : "";
    char before[WHY_ANSWER_SIZE];
    str_copy(before, sizeof before, str_from(part->answer));
    if (leads)
        snprintf(part->answer, sizeof part->answer, "%s%s.%s%.*s", simulated, headline, before[0] ? " " : "",
                 (int)whole_sentences(before, sizeof part->answer - strlen(simulated) - strlen(headline) - 3), before);
    else if (strlen(before) + strlen(headline) + 3 < sizeof part->answer)
        snprintf(part->answer, sizeof part->answer, "%s %s.", before, headline);
}

/* Two roots are two answers, as far as there is room. */
static void join_headline(struct why_part *part, const struct finding *found)
{
    struct why_brief *b = &part->brief;
    size_t len = strlen(b->headline);
    char who[16];
    int skip = snprintf(who, sizeof who, "GPU %d: ", part->gpu_index);
    const char *text = strncmp(found->headline, who, (size_t)skip) == 0 ? found->headline + skip : found->headline;
    if (len && len + strlen(text) + 3 < sizeof b->headline)
        snprintf(b->headline + len, sizeof b->headline - len, "; %s", text);
}

void answer_findings(const struct facts *f, struct why_part *part)
{
    const struct verdict *v = f->verdict;
    const struct finding *first = verdict_first(v, part->gpu_index);
    size_t said = 0, added = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct finding *found = &v->findings[i];
        if (found->gpu_index != part->gpu_index || found->severity <= SEVERITY_INFO || is_said(part, found, found == first))
            continue;
        bool leads = found == first;
        if (said < SENTENCES_MAX) {
            add_sentence(part, f->gpu, found->headline, leads);
            said++;
        }
        if (leads && found->severity >= SEVERITY_WARNING)
            str_copy(part->brief.headline, sizeof part->brief.headline, str_from(found->headline));
        else if (!found->is_effect && found->severity >= SEVERITY_WARNING)
            join_headline(part, found);
        if (!found->is_effect && advice_for(found)) {
            part->remedy_root = found->code;
            remedy_insert(part, added++, remedy_with_text(advice_for(found)), advice_for(found));
        }
    }
    view_causes(f, part);
}
