/* SPDX-License-Identifier: Apache-2.0
 * What a judgement of a snapshot found, as plain data: one finding, and the verdict that is published with each snapshot. The
 * judgement itself is in insight/judge; the kinds of findings are the rows of findings.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/reading.h"
#include "model/severity.h"

enum finding_area {
    AREA_ERRORS,
    AREA_FAN,
    AREA_HEAT,
    AREA_POWER,
    AREA_CLOCKS,
    AREA_LINK,
    AREA_MEMORY,
    AREA_WORK,
    AREA_IDLE,
    AREA_TRUST,
    AREA_HOST,
    AREA_LIMIT,
    AREA_COUNT
};

/* What could contradict a claim of calm. */
enum {
    AREAS_OF_CALM = 1 << AREA_ERRORS | 1 << AREA_FAN | 1 << AREA_HEAT | 1 << AREA_POWER | 1 << AREA_CLOCKS | 1 << AREA_LINK |
                    1 << AREA_MEMORY | 1 << AREA_WORK
};

enum finding_code {
#define FINDING(name, ...) FINDING_##name,
#include "model/findings.def"
#undef FINDING
    FINDING_CODE_COUNT
};

/* What a finding makes of a GPU, from best to worst. */
enum health_effect { EFFECT_HEALTHY, EFFECT_DEGRADED, EFFECT_FAILING, EFFECT_LOST };

struct finding_kind {
    const char *code; /* "fan_stopped" */
    enum finding_area area;
    enum severity severity;
    int64_t hold_ms;
    bool places;
    enum health_effect effect;
    const char *label, *title;
};

const struct finding_kind *finding_kind(enum finding_code code);
const char *finding_code_name(enum finding_code code);                 /* "fan_stopped" */
bool finding_code_from_name(const char *name, enum finding_code *ret); /* false: there is none of this name */
const char *finding_area_name(enum finding_area area);                 /* "errors" */

/* What the configuration changes about the kinds of findings; zeroed: nothing. */
struct finding_setting {
    bool has_severity, has_hold;
    bool muted; /* listed, but it never leads and is no alert */
    enum severity severity;
    int64_t hold_ms;
};
struct finding_settings {
    struct finding_setting list[FINDING_CODE_COUNT];
};

/* Of an ordinary case, as the settings have it. */
enum severity finding_severity(const struct finding_settings *settings, enum finding_code code);
int64_t finding_hold_ms(const struct finding_settings *settings, enum finding_code code);

enum { FINDINGS_PER_GPU = 12 };

struct finding {
    enum finding_code code;
    enum severity severity;
    bool muted;                           /* by the configuration: behind all others */
    bool is_effect;                       /* another finding of its GPU brings it about (causes.def): below all roots */
    double confidence;                    /* 0 to 1 */
    int gpu_index;                        /* -1: the host */
    int32_t pid;                          /* of the process that it is about; 0: none */
    struct wall since;                    /* seen without a break; ms 0: not known */
    int64_t hold_ms;                      /* how long that must be before it is an alert, as the settings have it */
    int64_t power_mw;                     /* of the GPU at that moment: more watts matter more; 0 unknown */
    char headline[FINDING_HEADLINE_SIZE]; /* "GPU 1 is throttling (93 °C)", without a full stop */
};

/* Negative: `a` matters more. The one ranking: severity, roots before effects, likelihood, what matters to a person, watts, index;
 * muted ones last. */
int finding_compare(const struct finding *a, const struct finding *b);
/* A likelihood in words: "very likely", "likely", "possible"; below that a finding is "can't tell". */
const char *likelihood_words(double confidence);
/* A confidence of that likelihood: it ranks as the one that the words were made of. Other words are "can't tell". */
double likelihood_confidence(const char *words);

/* Which areas a judgement could look at, and which not; and its numbers, for the conditions of alert rules. */
struct gpu_looked {
    int gpu_index;
    unsigned looked;                                    /* 1 << enum finding_area */
    char missing[128];                                  /* what could not be looked at, in words; "" nothing */
    struct reading health_level;                        /* 0 healthy, 1 degraded, 2 failing, 3 lost */
    struct reading vram_full_seconds, throttle_seconds; /* forecasts; absent without a trend */
    struct reading xid;                                 /* the last one of the last ten minutes; 0 none */
};

struct verdict {
    size_t count, gpu_count;
    struct finding *findings; /* ranked: the first is the headline of the host */
    struct gpu_looked *gpus;  /* in the snapshot's order */
    size_t missing_count;     /* GPUs that were there and are no longer listed */
};

struct verdict *verdict_new(size_t gpu_count, size_t findings_max); /* no findings yet; NULL: out of memory */
struct verdict *verdict_copy(const struct verdict *from);           /* NULL: out of memory */
void verdict_free(struct verdict *v);                               /* NULL is fine */

/* Severities as the settings have them, and ranked. A guess, which a detector lowered to info, stays one. */
void verdict_apply(struct verdict *v, const struct finding_settings *settings);
void verdict_rank(struct verdict *v);
/* Finds effects and their roots, and lends a root the severity of the worst that it explains. */
void verdict_link(struct verdict *v);
/* Effects alone: severities are as settings and another program left them. */
void verdict_mark_effects(struct verdict *v);
/* Whether the one can bring about the other, by causes.def. */
bool finding_causes(enum finding_code cause, enum finding_code effect);

/* The most important finding of a GPU (-1: of the host itself); NULL: none. `v` may be NULL. */
const struct finding *verdict_first(const struct verdict *v, int gpu_index);
/* The same of all; NULL: none. */
const struct finding *verdict_main(const struct verdict *v);
/* What the judgement looked at on a GPU; NULL: the GPU is not in it. */
const struct gpu_looked *verdict_looked(const struct verdict *v, int gpu_index);
/* The areas that were looked at: "errors, fan, heat". */
enum { AREAS_WORDS = 96 };
const char *areas_words(unsigned areas, char out[AREAS_WORDS]);
const struct finding *verdict_find(const struct verdict *v, int gpu_index, enum finding_code code);
enum severity verdict_severity(const struct verdict *v, int gpu_index);
/* Whether it forbids to place work on its GPU: for `fit`, the guard, schedulers and fleets alike. A GPU that was lost and came back
 * is not trusted for a day; a muted finding forbids nothing. */
bool finding_forbids(enum finding_code code, enum severity severity);
/* A finding that forbids to place work on this GPU; NULL: none. */
const struct finding *verdict_forbids(const struct verdict *v, int gpu_index);
/* How many GPUs have a finding of at least this severity. */
size_t verdict_count(const struct verdict *v, enum severity least);
/* What may be said where nothing was found: that nothing is unusual takes a verdict that is calm. */
const char *calm_words(bool calm);
/* Everything that could contradict was looked at, and nothing found that might be trouble, not even as a guess. */
bool verdict_is_calm(const struct verdict *v, int gpu_index);
