/* SPDX-License-Identifier: Apache-2.0
 * Findings: the same keys in every answer, written and parsed; the list of codes for people; series.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/words.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"

static const char *code_name(finding_code code)
{
    return finding_code_name(code);
}
ANSWER_NAMES(areas, enum finding_area, finding_area_name, 0, AREA_COUNT - 1);
ANSWER_NAMES(tenses, enum tense, tense_name, TENSE_NOW, TENSE_SOON);
ANSWER_SHARED_NAMES(finding_codes, finding_code, code_name, 0, FINDING_CODE_COUNT - 1);
ANSWER_SHARED_NAMES(severities, enum severity, severity_text, SEVERITY_INFO, SEVERITY_CRITICAL);

/* ---- one ---- */

ANSWER_MAKER(make_area, struct finding, word, finding_area_name(finding_kind(of->code)->area));

ANSWER_TEST(has_share, struct finding, of->share_minute_permille.state == READING_OK);

ANSWER_MAKER(make_reference, struct finding, word, finding_reference(of->code));

#define SHARE SCALE(1e-3), .schema = "{\"type\": \"number\", \"minimum\": 0, \"maximum\": 1}"
ANSWER_TABLE(share_answer, struct finding)
{
    FIELD(OPTION, "minute", share_minute_permille, NULL, SHARE);
    FIELD(OPTION, "ten_minutes", share_ten_permille, NULL, SHARE);
}

ANSWER_TABLE(members_answer, struct finding)
{
    FIELD(NAME, "code", code, NULL, NAMES(finding_codes), OPEN, .none = FINDING_CANNOT_KNOW,
          COUNTS); /* its severity and text stay */
    FIELD(NAME, "severity", severity, NULL, NAMES(severities), COUNTS);
    MADE(WORD, "area", make_area, NULL, COUNTS);
    FIELD(NUMBER, "confidence", confidence, NULL, .schema = "{\"minimum\": 0, \"maximum\": 1}");
    FIELD(INT, "gpu_index", gpu_index, "null: the host", NONE(-1), COUNTS);
    FIELD(INT, "pid", pid, NULL, OR_NULL, COUNTS);
    FIELD(MOMENT, "since", since, "It has held, or has come and gone, since then", OR_NULL, COUNTS);
    FIELD(NAME, "tense", tense,
          "now: it holds; comes_and_goes: it was back at least three times in ten minutes, and may be away at this moment; "
          "was: it is over; soon: a forecast",
          NAMES(tenses));
    FIELD(MOMENT, "until", until, "When what is over ended", OR_NULL);
    PART("share", share_answer,
         "The part of the last minute and of the last ten minutes in which it held, as far as they were watched; from the "
         "driver's own counters where it has them",
         WHEN(has_share));
    MADE(WORD, "reference", make_reference,
         "With what it was compared: other GPUs of its kind, its own past, what the part can do, a limit that the driver "
         "reports; null: with nothing",
         OR_NULL, .schema = "{\"enum\": [\"siblings\", \"own_past\", \"nominal\", \"limit\", null]}");
    FIELD(NAME, "effect_of", root, "The code of the finding that brings it about (docs/causes.md); null: it is a root",
          NAMES(finding_codes), OPEN, PRESENT(is_effect));
    FIELD(BOOL, "muted", muted, "By [finding.CODE]: listed only", COUNTS);
    FIELD(TEXT, "headline", headline, NULL, FOREIGN, COUNTS);
}

/* Whether its evidence could be seen: a claim of calm rests on all areas, the others on their own. */
static bool make_seen(const struct answer_at *at, union answer_value *ret)
{
    const struct finding_told *told = at->record;
    const struct gpu_looked *l = verdict_looked(told->v, told->f->gpu_index);
    bool calm = told->f->code == FINDING_NOTHING_UNUSUAL, none = told->f->code == FINDING_CANNOT_KNOW;
    unsigned needed = calm ? AREAS_OF_CALM : 1u << finding_kind(told->f->code)->area & AREAS_OF_CALM;
    ret->word = none ? "no" : l && (l->looked & needed) != needed ? "partly" : "yes";
    return true;
}

ANSWER_TABLE(finding_answer, struct finding_told, .name = "Finding",
             .about = "One finding of the verdict; docs/findings.md has the codes")
{
    VIA(KEYS, NULL, f, members_answer, NULL);
    MADE(WORD, "seen", make_seen, "Whether its evidence could be seen; not_looked of the GPU has what is missing",
         .schema = "{\"enum\": [\"yes\", \"partly\", \"no\"]}");
}

/* ---- those of an answer ---- */

struct findings_told told_findings(const struct verdict *v, int gpu_index)
{
    struct findings_told told = {v, gpu_index, {gpu_index == EVERY_GPU ? verdict_main(v) : verdict_first(v, gpu_index), v}, v, 0};
    told.severity = told.first.f ? told.first.f->severity : SEVERITY_INFO;
    return told;
}

static const void *next_finding(const struct answer_at *at, struct answer_step *step)
{
    const struct findings_told *told = at->record;
    while (told->v && step->at < told->v->count) {
        const struct finding *f = &told->v->findings[step->at++];
        if (told->gpu_index != EVERY_GPU && f->gpu_index != told->gpu_index)
            continue;
        _Static_assert(sizeof(struct finding_told) == sizeof step->item.both, "two pointers");
        memcpy(step->item.both, &(struct finding_told){f, told->v}, sizeof step->item.both);
        return step->item.both;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(findings_answer, struct findings_told)
{
    EACH(OBJECT, "findings", next_finding, "The most important first", FIELDS(finding_answer));
}

SHARED_ANSWER_TABLE(first_finding_answer, struct findings_told)
{
    FIELD(OBJECT, "finding", first, "The most important; null: nothing is known", FIELDS(finding_answer), PRESENT(first.f));
}

SHARED_ANSWER_TABLE(verdict_answer, struct findings_told)
{
    FIELD(NAME, "severity", severity, "Of the first finding; null: not judged", NAMES(severities), PRESENT(judged), COUNTS);
    EACH(OBJECT, "findings", next_finding, "The most important first", FIELDS(finding_answer), COUNTS);
}

const struct gpu_looked *told_looked(const struct verdict *v, int gpu_index)
{
    static const struct gpu_looked nothing;
    const struct gpu_looked *l = verdict_looked(v, gpu_index);
    return l ? l : &nothing;
}

SHARED_ANSWER_TABLE(looked_answer, struct gpu_looked)
{
    FIELD(BITS, "looked", looked, "The areas that the judgement rests on", NAMES(areas));
    FIELD(TEXT, "not_looked", missing, "What could not be looked at, the kernel log included", OR_NULL, COUNTS);
}

struct verdict *verdict_from_json(const json_t *findings, const struct snapshot *s)
{
    size_t count = json_array_size(findings), most = FINDINGS_PER_GPU * (s->gpu_count + 2);
    struct verdict *v = verdict_new(s->gpu_count, count < most ? count : most);
    for (size_t i = 0; v && i < count && i < most; i++) {
        struct finding *f = &v->findings[v->count++];
        f->tense = TENSE_COUNT;
        answer_read(&members_answer, json_array_get(findings, i), f, NULL);
        if (f->tense == TENSE_COUNT) /* of an older version */
            f->tense = finding_usual_tense(f->code);
    }
    for (size_t i = 0; v && i < s->gpu_count; i++)
        v->gpus[i].gpu_index = s->gpus[i].index;
    return v;
}

/* ---- all that there can be ---- */

struct told_code {
    finding_code code;
    enum severity severity;
    enum finding_area area;
    int64_t hold_ms;
    bool muted, places;
    const char *meaning;
};

ANSWER_TABLE(code_answer, struct told_code)
{
    FIELD(NAME, "code", code, NULL, NAMES(finding_codes), OPEN, COUNTS);
    FIELD(NAME, "area", area, NULL, NAMES(areas), OPEN, COUNTS);
    FIELD(NAME, "severity", severity, NULL, NAMES(severities), COUNTS);
    FIELD(AMOUNT, "holds_seconds", hold_ms, "How long it must last before it notifies", SCALE(1e-3), WHOLE);
    FIELD(BOOL, "muted", muted, NULL, COUNTS);
    FIELD(BOOL, "work_may_go_there", places, "Whether new work may be placed on a GPU with it", COUNTS);
    FIELD(WORD, "meaning", meaning, NULL, COUNTS);
}

struct told_codes {
    size_t count;
    struct told_code list[FINDING_CODE_COUNT];
};
SHARED_ANSWER_TABLE(finding_codes_answer, struct told_codes, .name = "FindingCodes")
{
    OBJECTS("codes", list, count, code_answer, NULL);
}

void json_finding_codes(struct json_writer *j, const struct finding_settings *settings)
{
    struct told_codes told = {.count = FINDING_CODE_COUNT};
    for (finding_code i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind(i);
        told.list[i] = (struct told_code){.code = i,
                                          .severity = finding_severity(settings, i),
                                          .area = kind->area,
                                          .hold_ms = finding_hold_ms(settings, i),
                                          .muted = settings->list[i].muted,
                                          .places = kind->places,
                                          .meaning = kind->title};
    }
    answer_write(j, &finding_codes_answer, &told, NULL);
}

/* ---- for people: `whirr why --codes` ---- */

void table_finding_codes(struct buf *out, const struct page *page, const struct finding_settings *settings)
{
    static const struct grid_column columns[] = {
        {"CODE", LEFT, 0}, {"SEVERITY", LEFT, 0}, {"HOLDS", RIGHT, 2}, {"AREA", LEFT, 1}, {"MEANING", LEFT, 0}};
    AUTO_GRID struct grid g;
    char holds[WORDS_SIZE];
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < FINDING_CODE_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((finding_code)i);
        enum severity severity = finding_severity(settings, (finding_code)i);
        bool muted = settings->list[i].muted;
        grid_add(&g, INK_STRONG, kind->code);
        grid_add(&g, muted ? INK_FAINT : severity_ink(severity), muted ? "muted" : severity_text(severity));
        grid_add(&g, INK_FAINT, words_duration(finding_hold_ms(settings, (finding_code)i), holds));
        grid_add(&g, INK_FAINT, finding_area_name(kind->area));
        grid_add(&g, INK_PLAIN, kind->title);
    }
    grid_write(out, page, &g);
}

/* ---- series: what is above informational, what keeps an idle GPU from idling, and the first finding of every GPU ---- */

static bool is_exported(const struct verdict *v, const struct finding *f)
{
    return f->severity > SEVERITY_INFO || finding_kind(f->code)->area == AREA_IDLE || verdict_first(v, f->gpu_index) == f;
}

/* Present long enough to be worth a message. */
static bool has_held(const struct snapshot *s, const struct finding *f)
{
    return f->tense != TENSE_WAS && f->since.ms && finding_held_ms(f, s->taken_at) >= f->hold_ms;
}

static void finding_series(struct buf *out, const struct snapshot *s, const struct finding *f)
{
    const struct gpu *gpu = snapshot_gpu(s, f->gpu_index);
    const struct process *p = gpu && f->pid ? gpu_find_process(gpu, f->pid) : NULL;
    char words[PROCESS_WORDS];
    buf_text(out, "whirr_finding{");
    if (gpu)
        prometheus_gpu_labels(out, gpu, NULL);
    prometheus_label(out, !gpu, "code", finding_code_name(f->code));
    prometheus_label(out, false, "severity", severity_text(f->severity));
    prometheus_label(out, false, "process", p ? process_words(p, SHORT_NAME, words) : "");
    prometheus_label(out, false, "likelihood", likelihood_words(f->confidence));
    prometheus_label(out, false, "held", has_held(s, f) ? "true" : "false");
    prometheus_label(out, false, "tense", tense_name(f->tense));
    buf_text(out, "} 1\n");
}

void prometheus_findings(struct buf *out, const struct snapshot *s)
{
    const struct verdict *v = s->verdict;
    bool headed = false;
    for (size_t i = 0; v && i < v->count; i++) {
        if (!is_exported(v, &v->findings[i]))
            continue;
        prometheus_head_once(out, &headed, "whirr_finding", "gauge", "1 while whirr finds this: docs/findings.md has the codes");
        finding_series(out, s, &v->findings[i]);
    }
    headed = false;
    for (size_t i = 0; v && i < s->gpu_count; i++) {
        prometheus_head_once(out, &headed, "whirr_severity", "gauge",
                             "Of the worst finding: 0 info, 1 notice, 2 warning, 3 critical");
        buf_text(out, "whirr_severity{");
        prometheus_gpu_labels(out, &s->gpus[i], NULL);
        prometheus_end(out, (double)verdict_severity(v, s->gpus[i].index));
    }
}
