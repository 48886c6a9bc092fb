/* SPDX-License-Identifier: Apache-2.0
 * The sentences of which the answer about one GPU is made.
 */
#pragma once

#include "insight/area/area.h"
#include "insight/view/why.h"

/* Readings that a sentence holds already. */
enum { SAID_LOAD = 1, SAID_POWER = 2, SAID_HEAT = 4, SAID_FAN = 8, SAID_ALL = 15 };

static inline bool has_symptom(const struct facts *f, enum symptom symptom)
{
    return f->activity.symptoms & 1u << symptom;
}

/* ---- what it is, and its readings ---- */

/* "fan 62%", "fan 1850 rpm", "fan off"; false where there is nothing to say. */
bool words_fan_speed(const struct facts *f, char out[SHORT_WORDS]);
const char *words_activity(const struct facts *f); /* "busy in bursts"; "" unknown */
/* "78%, 280 W, 71 °C, fan 62%": what `said` does not hold already. Returns how many there are. */
size_t say_readings(struct text *s, const struct facts *f, const struct why_part *part, unsigned said, const char *lead);
/* "loud (fan 100%)", "busy". Returns what was said with it. */
unsigned say_state(struct text *s, const struct facts *f);
bool sounds_loud(const struct facts *f);
bool is_troubled(const struct facts *f); /* say_state names a symptom */
/* ", normal for this work: like its 7 siblings", where it may be said. */
void say_normal(struct text *s, const struct facts *f, const struct why_part *part);

/* ---- a GPU at work ---- */

const struct why_cause *find_work_cause(const struct why_part *part); /* NULL: none */
/* "train.py (alice) is training"; false: the cause is no work */
bool say_work(struct text *s, const struct facts *f, const struct why_cause *cause);
void answer_work(struct text *s, const struct facts *f, struct why_part *part);
/* A further sentence for a cause that is not the first; false: it needs none. */
bool say_also(struct text *s, const struct facts *f, const struct why_part *part, const struct why_cause *cause);

/* ---- one that is not working ---- */

/* "kept from idling at 38 W by python3 (bob), which holds 7.0 GiB". Returns what was said with it. */
unsigned say_kept(struct text *s, const struct facts *f, const struct why_cause *cause);
void answer_airflow(struct text *s, const struct facts *f, const struct why_part *part);
void answer_idle(struct text *s, const struct facts *f, const struct why_part *part);

/* ---- the line in a list ---- */

void answer_brief(const struct facts *f, struct why_part *part);

/* ---- whole answers ---- */

void answer_gpu(const struct facts *f, struct why_part *part);
void answer_usual(struct why_part *part, bool over);              /* a sentence more where something is unusual */
void answer_resume(const struct facts *f, struct why_part *part); /* what a suspend has changed */
/* Faults that no cause of the explanation is about, as sentences, causes and advice. */
void answer_findings(const struct facts *f, struct why_part *part);
/* Evidence, advice and the brief line of a GPU whose job waits. */
void answer_job(const struct facts *f, struct why_part *part);
void answer_host(const struct snapshot *now, struct why *why, bool over);
void suggest(const struct facts *f, struct why_part *part);
bool suggest_has(const struct why_part *part, const char *advice);
void suggest_add(struct why_part *part, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* ---- what limits its programs ---- */

/* "GPU 0 is mostly waiting: train.py (alice) computes in Python while the GPU waits. 19%, 216 W"; false: nothing to say. */
bool answer_limit(struct text *s, const struct facts *f, struct why_part *part);
void suggest_limits(const struct facts *f, struct why_part *part);
