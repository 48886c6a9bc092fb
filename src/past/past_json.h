/* SPDX-License-Identifier: Apache-2.0
 * Queries about the past that are answered in words: why at a moment, what happened since, who used what. Parsed from parameters,
 * answered as JSON from a store, and shown to people. The text is made from the JSON, so that a daemon's answer and our own look
 * the same.
 */
#pragma once

#include "answer/answer.h"
#include "base/moment.h"
#include "format/table/page_table.h"
#include "past/explain.h"

enum past_kind { PAST_MOMENT, PAST_SPAN, PAST_REPORT };

struct past_question {
    enum past_kind kind;
    struct wall at;           /* PAST_MOMENT */
    struct wall since, until; /* the other kinds */
    struct wall now;
    char gpu[GPU_UUID_SIZE]; /* index, UUID or PCI address; "": all */
    char host[HOST_NAME_SIZE], own_host[HOST_NAME_SIZE];
    /* PAST_REPORT */
    double price_per_kwh; /* 0: unknown */
    char currency[16];
    double co2_g_per_kwh; /* 0: unknown */
    char co2_file[256];   /* by hour; "": none */
    double hot_celsius;
};

enum { REPORT_HOT_CELSIUS = 80, REPORT_DAYS = 7 };

/* The value of a parameter; false: not given. */
typedef bool past_parameter_fn(void *user, const char *key, char *value, size_t size);

/* Reads `at`, or `since` and `until`, and `gpu`, `host`. -EINVAL and a message that names the parameter. */
int past_question_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct error *err);

/* The same for a report: `since` (7 days), `until`, `gpu`, `host`, `price`, `currency`, `hot`. The price in `q` is the default. */
int past_report_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                     struct error *err);

/* Writes the body of the answer. -ENODEV: no such GPU or host; other errors come from the store. */
int past_answer(struct store *s, const struct past_question *q, struct buf *out, struct error *err);
/* The body if there is no history; why: a message. */
void past_answer_nothing(const struct past_question *q, const char *why, struct buf *out);

/* What they look like: of a struct history_gap, of `since` and `until` of a question, of the identity of a process; and the whole
 * bodies, that of a moment without what it shares with the present. */
extern const struct answer_names history_levels; /* enum level */
extern const struct answer gap_answer, past_span_answer, process_then_answer, moment_answer, span_answer, report_answer;

/* Parts of the above. */
int answer_report(struct store *s, const struct past_question *q, const char *host, struct json_writer *j, struct error *err);
void answer_no_report(const struct past_question *q, const char *why, struct json_writer *j);
