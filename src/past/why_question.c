/* SPDX-License-Identifier: Apache-2.0
 * Reads questions about the past.
 */
#include <errno.h>

#include "past/answer.h"
#include "past/question.h"

static int why_question_read_time(past_parameter_fn *parameter, void *user, const char *key, struct wall now, enum moment_zone zone,
                                  bool *given, struct wall *ret, struct error *err)
{
    char text[80];
    *given = parameter(user, key, text, sizeof text);
    int rc = *given ? question_read_time(key, text, now, zone, ret, err) : 0;
    if (rc < 0)
        return rc;
    if (*given && ret->ms > now.ms + 1000)
        return error_set(err, -EINVAL, "%s is in the future", key);
    return 0;
}

static void read_subject(struct past_question *q, past_parameter_fn *parameter, void *user)
{
    if (!parameter(user, "gpu", q->gpu, sizeof q->gpu))
        parameter(user, "gpu_index", q->gpu, sizeof q->gpu);
    parameter(user, "host", q->host, sizeof q->host);
}

int past_question_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct error *err)
{
    bool has_at, has_since, has_until;
    *q = (struct past_question){.now = now, .until = now};
    int rc = why_question_read_time(parameter, user, "at", now, zone, &has_at, &q->at, err);
    if (rc == 0)
        rc = why_question_read_time(parameter, user, "since", now, zone, &has_since, &q->since, err);
    if (rc == 0)
        rc = why_question_read_time(parameter, user, "until", now, zone, &has_until, &q->until, err);
    if (rc < 0)
        return rc;
    if (has_at && (has_since || has_until))
        return error_set(err, -EINVAL, "at is one moment: it cannot be given together with since and until");
    if (!has_at && !has_since)
        return error_set(err, -EINVAL, "since (or at) is needed: until alone names no time");
    if (has_since && q->since.ms >= q->until.ms)
        return error_set(err, -EINVAL, "since must be before until");
    q->kind = has_at ? PAST_MOMENT : PAST_SPAN;
    read_subject(q, parameter, user);
    return 0;
}

static int why_question_read_number(past_parameter_fn *parameter, void *user, const char *key, double least, double most,
                                    double *ret, struct error *err)
{
    char text[40];
    double number;
    if (!parameter(user, key, text, sizeof text))
        return 0;
    if (!str_to_double(str_from(text), &number) || !(number >= least && number <= most))
        return error_set(err, -EINVAL, "%s must be a number from %g to %g", key, least, most);
    *ret = number;
    return 0;
}

int past_report_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                     struct error *err)
{
    bool given;
    const struct past_question before = *q;
    *q = (struct past_question){.kind = PAST_REPORT,
                                .now = now,
                                .since = {now.ms - REPORT_DAYS * 86400000LL},
                                .until = now,
                                .price_per_kwh = before.price_per_kwh,
                                .hot_celsius = REPORT_HOT_CELSIUS};
    str_copy(q->currency, sizeof q->currency, str_from(before.currency));
    int rc = why_question_read_time(parameter, user, "since", now, zone, &given, &q->since, err);
    if (rc == 0)
        rc = why_question_read_time(parameter, user, "until", now, zone, &given, &q->until, err);
    if (rc == 0)
        rc = why_question_read_number(parameter, user, "price", 0, 1e6, &q->price_per_kwh, err);
    if (rc == 0)
        rc = why_question_read_number(parameter, user, "hot", -100, 1000, &q->hot_celsius, err);
    if (rc < 0)
        return rc;
    if (q->since.ms >= q->until.ms)
        return error_set(err, -EINVAL, "since must be before until");
    parameter(user, "currency", q->currency, sizeof q->currency);
    read_subject(q, parameter, user);
    return 0;
}
