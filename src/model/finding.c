/* SPDX-License-Identifier: Apache-2.0
 * Kinds of findings, their one ranking, and queries on a verdict.
 */
#include "model/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "model/remedy.h"

enum { YES = true, NO = false };

_Static_assert((int)FINDING_CODE_COUNT <= FINDING_CODES_MAX, "raise FINDING_CODES_MAX");

static const struct finding_kind kinds[FINDING_CODE_COUNT] = {
#define FINDING(name, code, area, severity, holds, places, health, label, title) \
    {code, AREA_##area, SEVERITY_##severity, (int64_t)(holds)*1000, places, EFFECT_##health, label, title},
#include "model/findings.def"
#undef FINDING
};

static const char *const severity_words[] = {"info", "notice", "warning", "critical"};

const struct finding_kind *finding_kind(finding_code code)
{
    return &kinds[code < FINDING_CODE_COUNT ? code : FINDING_CANNOT_KNOW];
}

const char *finding_code_name(finding_code code)
{
    return finding_kind(code)->code;
}

bool finding_code_from_name(const char *name, finding_code *ret)
{
    size_t i = NAME_FIND(kinds, str_from(name));
    if (i < ARRAY_LEN(kinds))
        *ret = (finding_code)i;
    return i < ARRAY_LEN(kinds);
}

const char *finding_area_name(enum finding_area area)
{
    static const char *const names[AREA_COUNT] = {"errors", "fan",  "heat", "power", "clocks", "link",
                                                  "memory", "work", "idle", "trust", "host",   "limit"};
    return area < AREA_COUNT ? names[area] : "unknown";
}

const char *severity_text(enum severity severity)
{
    return severity_words[severity < ARRAY_LEN(severity_words) ? severity : SEVERITY_INFO];
}

bool severity_from_text(const char *word, enum severity *ret)
{
    size_t i = NAME_FIND(severity_words, str_from(word));
    if (i < ARRAY_LEN(severity_words))
        *ret = (enum severity)i;
    return i < ARRAY_LEN(severity_words);
}

enum severity finding_severity(const struct finding_settings *settings, finding_code code)
{
    const struct finding_setting *s = &settings->list[code];
    return s->muted ? SEVERITY_INFO : s->has_severity ? s->severity : finding_kind(code)->severity;
}

int64_t finding_hold_ms(const struct finding_settings *settings, finding_code code)
{
    const struct finding_setting *s = &settings->list[code];
    return s->has_hold ? s->hold_ms : finding_kind(code)->hold_ms;
}

static const char *const tense_names[TENSE_COUNT] = {"now", "comes_and_goes", "was", "soon"};

const char *tense_name(enum tense tense)
{
    return tense_names[tense < TENSE_COUNT ? tense : TENSE_NOW];
}

enum tense tense_from_name(const char *name)
{
    size_t i = NAME_FIND(tense_names, str_from(name));
    return i < TENSE_COUNT ? (enum tense)i : TENSE_NOW;
}

enum tense finding_usual_tense(finding_code code)
{
    return code == FINDING_VRAM_FULL_SOON || code == FINDING_THROTTLE_SOON ? TENSE_SOON : TENSE_NOW;
}

const char *finding_reference(finding_code code)
{
    switch (code) {
    case FINDING_HEAT_LIMIT:
    case FINDING_HOT:
    case FINDING_MEMORY_HOT:
    case FINDING_THROTTLE_SOON:
    case FINDING_POWER_LIMIT:
    case FINDING_VRAM_FULL:
    case FINDING_VRAM_FULL_SOON:
    case FINDING_CPU_QUOTA: return "limit";
    case FINDING_PCIE_LINK:
    case FINDING_CLOCKS_LOW:
    case FINDING_CLOCKS_HELD:
    case FINDING_NO_TENSOR_CORES:
    case FINDING_COPIES:
    case FINDING_FAN_STOPPED:
    case FINDING_FAN_FAILING: return "nominal";
    case FINDING_STRAGGLER:
    case FINDING_NVLINK:
    case FINDING_INFINIBAND: return "siblings";
    case FINDING_COOLING:
    case FINDING_DRIVER_CHANGED:
    case FINDING_PLACE_CHANGED:
    case FINDING_SETTING_CHANGED:
    case FINDING_MODEL_SLOW:
    case FINDING_RECENT_LOAD: return "own_past";
    default: return NULL;
    }
}

enum likelihood { CANT_TELL, POSSIBLE, LIKELY, VERY_LIKELY };

/* From worst to best: the words and their minimum confidence. */
static const struct {
    const char *words;
    double least;
} likelihoods[] = {[CANT_TELL] = {"can't tell", 0},
                   [POSSIBLE] = {"possible", 0.3},
                   [LIKELY] = {"likely", 0.6},
                   [VERY_LIKELY] = {"very likely", 0.85}};

static enum likelihood likelihood_of(double confidence)
{
    enum likelihood l = VERY_LIKELY;
    while (l > CANT_TELL && confidence < likelihoods[l].least)
        l--;
    return l;
}

const char *likelihood_words(double confidence)
{
    return likelihoods[likelihood_of(confidence)].words;
}

double likelihood_confidence(const char *words)
{
    size_t i = NAME_FIND(likelihoods, str_from(words));
    return i < ARRAY_LEN(likelihoods) ? likelihoods[i].least : 0;
}

static bool is_rest(finding_code code)
{
    return code == FINDING_NOTHING_UNUSUAL || code == FINDING_CANNOT_KNOW || code == FINDING_ASLEEP;
}

/* That a GPU works is seen; what limits its program can only be concluded, and says more where it is likely. */
static enum likelihood weight_of(const struct finding *f)
{
    enum likelihood l = likelihood_of(f->confidence);
    return l == LIKELY && f->severity == SEVERITY_INFO && finding_kind(f->code)->area == AREA_LIMIT ? VERY_LIKELY : l;
}

int finding_compare(const struct finding *a, const struct finding *b)
{
    if (a->muted != b->muted)
        return a->muted ? 1 : -1;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    if (a->is_effect != b->is_effect)
        return a->is_effect ? 1 : -1;
    enum likelihood x = weight_of(a), y = weight_of(b);
    if (a->severity > SEVERITY_INFO && x != y)
        return x > y ? -1 : 1;
    /* Among info findings, anything outranks idle GPUs; then power draw decides before the kind of work: some GPUs draw more
     * idle than others at work. */
    bool a_rests = is_rest(a->code), b_rests = is_rest(b->code);
    if (a->severity == SEVERITY_INFO && a_rests != b_rests)
        return b_rests ? -1 : 1;
    if (a->severity == SEVERITY_INFO && a->power_mw != b->power_mw)
        return a->power_mw > b->power_mw ? -1 : 1;
    if (a->severity == SEVERITY_INFO && x != y)
        return x > y ? -1 : 1;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    if (a->power_mw != b->power_mw)
        return a->power_mw > b->power_mw ? -1 : 1;
    if (a->gpu_index != b->gpu_index)
        return a->gpu_index < b->gpu_index ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct verdict *verdict_new(size_t gpu_count, size_t findings_max)
{
    struct verdict *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->gpu_count = gpu_count;
    v->gpus = calloc(gpu_count + 1, sizeof *v->gpus);
    v->findings = calloc(findings_max + 1, sizeof *v->findings);
    if (v->gpus && v->findings)
        return v;
    verdict_free(v);
    return NULL;
}

struct verdict *verdict_copy(const struct verdict *from)
{
    struct verdict *v = verdict_new(from->gpu_count, from->count);
    if (!v)
        return NULL;
    v->count = from->count;
    v->missing_count = from->missing_count;
    memcpy(v->findings, from->findings, from->count * sizeof *from->findings);
    memcpy(v->gpus, from->gpus, from->gpu_count * sizeof *from->gpus);
    return v;
}

void verdict_free(struct verdict *v)
{
    if (!v)
        return;
    free(v->findings);
    free(v->gpus);
    free(v);
}

static int model_finding_compare(const void *a, const void *b)
{
    return finding_compare(a, b);
}

void verdict_rank(struct verdict *v)
{
    qsort(v->findings, v->count, sizeof v->findings[0], model_finding_compare);
}

void verdict_apply(struct verdict *v, const struct finding_settings *settings)
{
    for (size_t i = 0; i < v->count; i++) {
        struct finding *f = &v->findings[i];
        const struct finding_setting *s = &settings->list[f->code];
        bool guess = f->severity == SEVERITY_INFO && finding_kind(f->code)->severity > SEVERITY_INFO;
        f->muted = s->muted;
        f->hold_ms = finding_hold_ms(settings, f->code);
        if (s->muted || (s->has_severity && !guess))
            f->severity = finding_severity(settings, f->code);
    }
    verdict_rank(v);
}

const struct finding *verdict_first(const struct verdict *v, int gpu_index)
{
    for (size_t i = 0; v && i < v->count; i++)
        if (v->findings[i].gpu_index == gpu_index)
            return &v->findings[i];
    return NULL;
}

const struct finding *verdict_main(const struct verdict *v)
{
    return v && v->count ? &v->findings[0] : NULL;
}

const struct finding *verdict_also(const struct verdict *v)
{
    const struct finding *first = verdict_main(v);
    for (size_t i = 1; first && i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        if (f->severity < SEVERITY_WARNING || f->muted)
            return NULL;
        if (!f->is_effect && f->gpu_index != first->gpu_index)
            return f;
    }
    return NULL;
}

const struct finding *verdict_find(const struct verdict *v, int gpu_index, finding_code code)
{
    for (size_t i = 0; v && i < v->count; i++)
        if (v->findings[i].gpu_index == gpu_index && v->findings[i].code == code)
            return &v->findings[i];
    return NULL;
}

enum severity verdict_severity(const struct verdict *v, int gpu_index)
{
    const struct finding *first = verdict_first(v, gpu_index);
    return first ? first->severity : SEVERITY_INFO;
}

bool finding_forbids(const struct finding *f)
{
    return f->severity > SEVERITY_INFO && f->tense != TENSE_WAS && !finding_kind(f->code)->places;
}

enum health_effect finding_effect(finding_code code, enum severity severity)
{
    const struct finding_kind *kind = finding_kind(code);
    if (severity < SEVERITY_WARNING)
        return EFFECT_HEALTHY;
    if (severity == SEVERITY_WARNING)
        return MIN_OF(kind->effect, EFFECT_DEGRADED);
    return kind->area == AREA_ERRORS ? MAX_OF(kind->effect, EFFECT_FAILING) : kind->effect;
}

void headline_sentence(const char *headline, int gpu_index, bool names_program, char *out, size_t size)
{
    char who[16];
    size_t len = (size_t)snprintf(who, sizeof who, "GPU %d", gpu_index);
    const char *text = headline, *subject = "";
    if (gpu_index >= 0 && strncmp(text, who, len) == 0) {
        bool named = strncmp(text + len, ": ", 2) == 0, owns = strncmp(text + len, "'s ", 3) == 0, is = text[len] == ' ';
        subject = is ? "It" : owns ? "Its" : "";
        text += is ? len : owns ? len + 2 : named ? len + 2 : 0;
    }
    snprintf(out, size, "%s%s.", subject, text);
    if (out[0] >= 'a' && out[0] <= 'z' && !names_program)
        out[0] = (char)(out[0] - 'a' + 'A');
}

void finding_sentence(const struct finding *f, char *out, size_t size)
{
    headline_sentence(f->headline, f->gpu_index, f->pid, out, size);
}

int64_t finding_held_ms(const struct finding *f, struct wall now)
{
    enum { TEN_MINUTES_MS = 600000 };
    int64_t span = f->since.ms ? MAX_OF(now.ms - f->since.ms, (int64_t)0) : 0, share;
    if (f->tense != TENSE_COMES_AND_GOES || !reading_get(f->share_ten_permille, &share))
        return span;
    return MIN_OF(span, (int64_t)TEN_MINUTES_MS) * share / 1000;
}

const char *finding_label(const struct finding *f)
{
    return f->tense == TENSE_WAS ? "" : finding_kind(f->code)->label;
}

const struct finding *verdict_forbids(const struct verdict *v, int gpu_index)
{
    for (size_t i = 0; v && i < v->count; i++)
        if (v->findings[i].gpu_index == gpu_index && finding_forbids(&v->findings[i]))
            return &v->findings[i];
    return NULL;
}

const char *calm_words(bool calm)
{
    return calm ? "nothing unusual" : "no trouble seen";
}

const struct gpu_looked *verdict_looked(const struct verdict *v, int gpu_index)
{
    for (size_t i = 0; v && i < v->gpu_count; i++)
        if (v->gpus[i].gpu_index == gpu_index)
            return &v->gpus[i];
    return NULL;
}

const char *areas_words(unsigned areas, char out[AREAS_WORDS])
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < AREA_COUNT && len < AREAS_WORDS; i++)
        if (areas & 1u << i)
            len += (size_t)snprintf(out + len, AREAS_WORDS - len, "%s%s", len ? ", " : "", finding_area_name(i));
    return out;
}

bool verdict_is_calm(const struct verdict *v, int gpu_index)
{
    const struct gpu_looked *l = verdict_looked(v, gpu_index);
    if (!l || (l->looked & AREAS_OF_CALM) != AREAS_OF_CALM)
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (v->findings[i].gpu_index == gpu_index && !v->findings[i].muted &&
            finding_kind(v->findings[i].code)->severity > SEVERITY_INFO)
            return false;
    return true;
}

/* ---- what can be done about them ---- */

static const struct remedy_row remedies[REMEDY_COUNT] = {
#define REMEDY(name, code, kind, who, undo, text) [REMEDY_##name] = {code, REMEDY_##kind, REMEDY_##who, REMEDY_##undo, text},
#define REMEDY_FOR(...)
#include "model/remedies.def"
#undef REMEDY
#undef REMEDY_FOR
};

static const struct {
    finding_code root;
    enum remedy_code remedy;
} remedy_roots[] = {
#define REMEDY(...)
#define REMEDY_FOR(finding, remedy) {FINDING_##finding, REMEDY_##remedy},
#include "model/remedies.def"
#undef REMEDY
#undef REMEDY_FOR
};

const struct remedy_row *remedy_row(enum remedy_code code)
{
    return &remedies[code];
}

bool remedy_from_name(const char *name, enum remedy_code *ret)
{
    size_t i = NAME_FIND(remedies, str_from(name));
    if (i < ARRAY_LEN(remedies))
        *ret = (enum remedy_code)i;
    return i < ARRAY_LEN(remedies);
}

const char *remedy_kind_name(enum remedy_kind kind)
{
    static const char *const names[REMEDY_KINDS] = {"setting", "env", "server_api", "hint", "physical"};
    return names[kind];
}

const char *remedy_who_name(enum remedy_who who)
{
    static const char *const names[REMEDY_WHOS] = {"control", "owner", "administrator", "anyone"};
    return names[who];
}

bool remedy_for(finding_code root, enum remedy_code *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(remedy_roots); i++)
        if (remedy_roots[i].root == root) {
            *ret = remedy_roots[i].remedy;
            return true;
        }
    return false;
}

enum remedy_code remedy_with_text(const char *text)
{
    for (int i = 0; text && i < REMEDY_COUNT; i++)
        if (remedies[i].text && strcmp(remedies[i].text, text) == 0)
            return (enum remedy_code)i;
    return REMEDY_FAULT;
}

const char *expected_source_name(enum expected_source source)
{
    static const char *const names[EXPECTED_SOURCES] = {NULL, "own_history", "siblings"};
    return names[source];
}

struct str remedy_command(const char *line)
{
    const char *open = strchr(line, '`'), *close = open ? strchr(open + 1, '`') : NULL, *colon = strstr(line, ": ");
    if (close)
        return (struct str){open + 1, (size_t)(close - open - 1)};
    for (const char *next; colon && (next = strstr(colon + 2, ": ")); colon = next)
        ;
    if (!colon)
        return (struct str){"", 0};
    struct str text = str_from(colon + 2);
    const char *end = strstr(text.at, "  ") ? strstr(text.at, "  ") : strstr(text.at, " (");
    if (end)
        text.len = (size_t)(end - text.at);
    text = str_trim(text);
    char copy[REMEDY_COMMAND_SIZE];
    str_copy(copy, sizeof copy, text);
    /* It has an option, or begins with a word that only commands have. */
    bool command = strstr(copy, " -") || str_starts(text, "sudo ") || str_starts(text, "whirr ") || str_starts(text, "kill ");
    return command ? text : (struct str){"", 0};
}
