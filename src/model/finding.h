/* SPDX-License-Identifier: Apache-2.0
 * The result of judging a snapshot, as plain data: findings, and the verdict published with each snapshot. The judgement itself is
 * in insight/verdict; the kinds of findings are the rows of findings.def.
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

/* Areas whose findings could contradict a calm verdict. */
enum {
    AREAS_OF_CALM = 1 << AREA_ERRORS | 1 << AREA_FAN | 1 << AREA_HEAT | 1 << AREA_POWER | 1 << AREA_CLOCKS | 1 << AREA_LINK |
                    1 << AREA_MEMORY | 1 << AREA_WORK
};

/* A row of findings.def. Their names are in finding_code.h, which few need: a new row rebuilds those alone. */
typedef unsigned finding_code;
enum { FINDING_CODES_MAX = 128 };

/* The effect of a finding on a GPU's health, from best to worst. */
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

const struct finding_kind *finding_kind(finding_code code);
const char *finding_code_name(finding_code code);                 /* "fan_stopped" */
bool finding_code_from_name(const char *name, finding_code *ret); /* false: no such code */
const char *finding_area_name(enum finding_area area);            /* "errors" */

/* Configured changes to kinds of findings; zeroed: none. */
struct finding_setting {
    bool has_severity, has_hold;
    bool muted; /* listed, but never the headline and never an alert */
    enum severity severity;
    int64_t hold_ms;
};
struct finding_settings {
    struct finding_setting list[FINDING_CODES_MAX];
};

/* Severity of the ordinary case, after settings. */
enum severity finding_severity(const struct finding_settings *settings, finding_code code);
int64_t finding_hold_ms(const struct finding_settings *settings, finding_code code);

/* When a finding holds: only TENSE_NOW and TENSE_COMES_AND_GOES keep an alert firing and a GPU from being used. */
enum tense {
    TENSE_NOW,
    TENSE_COMES_AND_GOES, /* intermittent: it goes away and returns */
    TENSE_WAS,            /* over, and worth knowing */
    TENSE_SOON,           /* a forecast */
    TENSE_COUNT
};
const char *tense_name(enum tense tense);          /* "comes_and_goes" */
enum tense tense_from_name(const char *name);      /* unknown words and NULL: now */
enum tense finding_usual_tense(finding_code code); /* the default: forecasts are about the future */

/* What a finding was compared with: "siblings", "own_past", "nominal" (the part's capability), "limit" (the driver's). NULL:
 * nothing. */
const char *finding_reference(finding_code code);

enum { FINDINGS_PER_GPU = 12 };

struct finding {
    finding_code code;
    enum severity severity;
    bool muted;                /* by configuration: ranks after all others */
    bool is_effect;            /* another finding causes it (causes.def): ranks below all roots */
    finding_code root;         /* ... namely this one */
    enum health_effect health; /* what it makes of its GPU's health, whatever the configuration says of its severity */
    double confidence;         /* 0 to 1 */
    int gpu_index;             /* -1: the host itself */
    int32_t pid;               /* the process concerned; 0: none */
    int32_t fault;             /* the XID, or the number of a driver's fault; 0: none */
    const char *advice;        /* a constant; NULL: that of its kind (insight/area/area.h) */
    enum tense tense;
    struct wall since;                                        /* start of an unbroken or intermittent observation; ms 0: unknown */
    struct wall until;                                        /* its end, if it is over; ms 0: it isn't */
    struct reading share_minute_permille, share_ten_permille; /* over the last minute and ten minutes; absent: not watched */
    int64_t hold_ms;                                          /* how long it must hold to become an alert, after settings */
    int64_t power_mw;                                         /* of the GPU: more watts rank higher; 0 unknown */
    char headline[FINDING_HEADLINE_SIZE];                     /* "GPU 1 is throttling (93 °C)", without a full stop */
};

/* Negative: `a` ranks higher. The one ranking: severity, roots before effects, likelihood, importance to people, watts, index;
 * muted ones last. */
int finding_compare(const struct finding *a, const struct finding *b);
/* Likelihood in words: "very likely", "likely", "possible"; below that, "can't tell". */
const char *likelihood_words(double confidence);
/* A confidence that ranks like the words. Unknown words are "can't tell". */
double likelihood_confidence(const char *words);

/* Areas a judgement could and couldn't examine, and its numbers for alert rules. */
struct gpu_looked {
    int gpu_index;
    unsigned looked;                                    /* 1 << enum finding_area */
    char missing[128];                                  /* what couldn't be examined, in words; "": nothing */
    struct reading health_level;                        /* 0 healthy, 1 degraded, 2 failing, 3 lost */
    struct reading vram_full_seconds, throttle_seconds; /* forecasts; absent without a trend */
    struct reading xid;                                 /* most recent of the last ten minutes; 0 none */
};

struct verdict {
    size_t count, gpu_count;
    struct finding *findings; /* ranked: the first is the host's headline */
    struct gpu_looked *gpus;  /* in the snapshot's order */
    size_t missing_count;     /* GPUs that existed earlier and are no longer listed */
};

struct verdict *verdict_new(size_t gpu_count, size_t findings_max); /* empty; NULL: out of memory */
struct verdict *verdict_copy(const struct verdict *from);           /* NULL: out of memory */
void verdict_free(struct verdict *v);                               /* accepts NULL */

/* Applies configured severities and ranks. A finding that its detector lowered to info, a guess, stays info. */
void verdict_apply(struct verdict *v, const struct finding_settings *settings);
void verdict_rank(struct verdict *v);

/* The top finding of a GPU (-1: of the host itself); NULL: none. `v` may be NULL. */
const struct finding *verdict_first(const struct verdict *v, int gpu_index);
/* The top finding overall; NULL: none. */
const struct finding *verdict_main(const struct verdict *v);
/* A second answer beside it: the top root of another GPU, where both are warnings or worse; NULL: none. */
const struct finding *verdict_also(const struct verdict *v);
/* Areas examined on a GPU; NULL: not in the verdict. */
const struct gpu_looked *verdict_looked(const struct verdict *v, int gpu_index);
/* The examined areas: "errors, fan, heat". */
enum { AREAS_WORDS = 96 };
const char *areas_words(unsigned areas, char out[AREAS_WORDS]);
const struct finding *verdict_find(const struct verdict *v, int gpu_index, finding_code code);
enum severity verdict_severity(const struct verdict *v, int gpu_index);
/* Whether it forbids placing work on its GPU: for `fit`, the guard, schedulers and fleets alike. Findings that are over or muted
 * forbid nothing. */
bool finding_forbids(const struct finding *f);
/* What a finding of this severity makes of its GPU's health: a warning degrades it, and no more. */
enum health_effect finding_effect(finding_code code, enum severity severity);
/* "GPU 1: its fan has stopped" and "GPU 1 needs a reset" as sentences beside the name of the GPU: "Its fan has stopped.", "It
 * needs a reset." */
void finding_sentence(const struct finding *f, char *out, size_t size);
/* Likewise for a headline. One that names a program keeps its first letter. */
void headline_sentence(const char *headline, int gpu_index, bool names_program, char *out, size_t size);
/* How long it has held, without the breaks of an intermittent one; 0: unknown. */
int64_t finding_held_ms(const struct finding *f, struct wall now);
/* A word for its GPU's table row; "" if the row shows it otherwise, or it is over. */
const char *finding_label(const struct finding *f);
/* A finding that forbids placing work on this GPU; NULL: none. */
const struct finding *verdict_forbids(const struct verdict *v, int gpu_index);
/* Words for "nothing found": only a calm verdict may claim that nothing is unusual. */
const char *calm_words(bool calm);
/* True if everything that could contradict was examined and no possible trouble was found, not even as a guess. */
bool verdict_is_calm(const struct verdict *v, int gpu_index);
