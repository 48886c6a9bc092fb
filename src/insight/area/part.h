/* SPDX-License-Identifier: Apache-2.0
 * What is found and said about one GPU or about the host: ranked causes with their evidence, the idle audit, and the sentences that
 * view/ makes of them. Plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/baseline/baseline.h"
#include "model/remedy.h"
#include "model/snapshot.h"

enum {
    WHY_CAUSES_MAX = 6, /* the weakest are left out */
    WHY_EVIDENCE_MAX = 8,
    WHY_SUGGESTIONS_MAX = 5,
    WHY_ANSWER_SIZE = 400,
    WHY_TEXT_SIZE = 400,
    WHY_LINE_SIZE = REMEDY_TEXT_SIZE,
    WHY_BRIEF_SIZE = 200,
};

/* A finding with its evidence. */
struct why_cause {
    finding_code code;
    enum severity severity;
    enum health_effect health;            /* worse than its kind's */
    const char *advice;                   /* NULL: that of its kind */
    bool is_read;                         /* a reading says so itself: it is certain, whatever it explains */
    double confidence;                    /* 0 to 1 */
    char headline[FINDING_HEADLINE_SIZE]; /* "GPU 1: its fan has stopped (93 °C)" */
    char text[WHY_TEXT_SIZE];             /* the same as a sentence beside the GPU: "Its fan has stopped (93 °C)." */
    int32_t pid;                          /* of the process that is the cause; 0: none is */
    char process[PROCESS_NAME_SIZE];      /* its name; "" unknown or none */
    size_t evidence_count;
    char evidence[WHY_EVIDENCE_MAX][WHY_LINE_SIZE];
};

/* One line of a list of GPUs, "lightly loaded, 35%, 50 °C: ollama is serving llama3.1-8b", in parts: GPUs that differ in their
 * numbers alone share a line. */
struct why_brief {
    bool trouble;                     /* something a person notices: lost, throttling for heat, loud, hot, a fan */
    char headline[WHY_BRIEF_SIZE];    /* with trouble, what is wrong: "GPU 1 is loud (fan 100%) because it can't dissipate 316 W" */
    char state[WHY_BRIEF_SIZE / 2];   /* "lightly loaded" */
    char numbers[WHY_BRIEF_SIZE / 2]; /* "35%, 50 °C"; "" none */
    char doing[WHY_BRIEF_SIZE];       /* "ollama is serving llama3.1-8b"; "" nothing */
};

/* What the idle audit looks at. */
enum idle_code {
    IDLE_CODE_DISPLAY,
    IDLE_CODE_MEMORY_CLOCK,
    IDLE_CODE_CONTEXT,
    IDLE_CODE_MODEL,
    IDLE_CODE_BROWSER,
    IDLE_CODE_VIDEO,
    IDLE_CODE_MONITOR,
    IDLE_CODE_OPEN, /* any other program that has the device open */
    IDLE_CODE_ASPM,
    IDLE_CODE_RUNTIME_PM,
    IDLE_CODE_PERSISTENCE,
    IDLE_CODE_COUNT
};

enum { IDLE_FINDINGS_MAX = 12 };

struct idle_finding {
    enum idle_code code;
    bool keeps;               /* keeps it from resting; else it is worth knowing */
    int32_t pid;              /* 0: no process */
    char text[WHY_LINE_SIZE]; /* "firefox (alice) has the GPU open" */
    struct reading added_mw;  /* what it adds to the idle power, measured in the history; absent: not measured */
};

struct idle_audit {
    bool looked;
    char answer[WHY_TEXT_SIZE]; /* "GPU 0 is idle at 38 W; 21 W is usual" */
    size_t count;
    struct idle_finding findings[IDLE_FINDINGS_MAX]; /* those that keep it first */
    unsigned ruled_out;                              /* 1 << enum idle_code: looked at and not so */
    size_t hidden;                                   /* processes that could not be read */
    struct reading excess_mw;                        /* power beyond what is usual when idle */
    size_t suggestion_count;
    char suggestions[3][WHY_LINE_SIZE];
};

/* What is said about one GPU, or about the host where there is nothing to say about a GPU. */
struct why_part {
    int gpu_index;                /* -1: the machine */
    enum severity severity;       /* of the first finding about it */
    struct activity activity;     /* of a GPU */
    struct usual usual;           /* of a GPU; days 0: nothing is known */
    char answer[WHY_ANSWER_SIZE]; /* whole sentences */
    bool waits;                   /* for another rank of its job */
    struct why_brief brief;       /* of a GPU */
    size_t cause_count;           /* most likely first; at least one for a GPU */
    struct why_cause causes[WHY_CAUSES_MAX];
    size_t suggestion_count; /* most useful first */
    char suggestions[WHY_SUGGESTIONS_MAX][WHY_LINE_SIZE];
    struct remedy remedies[WHY_SUGGESTIONS_MAX]; /* what each of them is: number N is the one at N - 1 */
    finding_code remedy_root;                    /* what is being advised about */
    struct idle_audit idle_audit;                /* of a GPU; looked false: not asked for */
    char after_resume[WHY_LINE_SIZE];            /* settings that are others than before the host was suspended; "" none */
};
