/* SPDX-License-Identifier: Apache-2.0
 * Parses queries about the past.
 */
#include <errno.h>

#include "answer/parameter.h"
#include "base/words.h"
#include "past/past_json.h"
#include "past/question.h"

static int refuse_future(const char *key, struct wall at, struct wall now, struct error *err)
{
    return at.ms > now.ms + 1000 ? error_set(err, -EINVAL, "%s is in the future", key) : 0;
}

static int read_span(struct past_question *q, past_parameter_fn *parameter, void *user, enum moment_zone zone,
                     struct question_span *span, struct error *err)
{
    *span = (struct question_span){.since = q->since, .until = q->until};
    int rc = question_read_span(parameter, user, q->now, zone, span, err);
    q->since = span->since;
    q->until = span->until;
    struct error future = {0};
    if (refuse_future("since", q->since, q->now, &future) == 0 && refuse_future("until", q->until, q->now, &future) == 0)
        return rc;
    *err = future; /* more helpful than "not before the other" */
    return future.code;
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
    bool has_at = false;
    struct question_span span = {0};
    *q = (struct past_question){.now = now, .until = now};
    int rc = question_read_moment("at", parameter, user, now, zone, &has_at, &q->at, err);
    if (rc == 0)
        rc = refuse_future("at", q->at, now, err);
    if (rc == 0)
        rc = read_span(q, parameter, user, zone, &span, err);
    if (rc < 0)
        return rc;
    if (has_at && (span.has_since || span.has_until))
        return error_set(err, -EINVAL, "at is one moment: it cannot be given together with since and until");
    if (!has_at && !span.has_since)
        return error_set(err, -EINVAL, "since (or at) is needed: until alone names no time");
    q->kind = has_at ? PAST_MOMENT : PAST_SPAN;
    read_subject(q, parameter, user);
    return 0;
}

static int read_hot(struct past_question *q, past_parameter_fn *parameter, void *user, struct error *err)
{
    const struct parameter hot = parameter_of(PARAMETER_hot);
    char text[40];
    int rc = parameter(user, hot.name, text, sizeof text) ? parameter_check(&hot, text, err) : -ENOENT;
    if (rc == 0)
        str_to_double(str_from(text), &q->hot_celsius);
    return rc == -ENOENT ? 0 : rc;
}

static int read_price(struct past_question *q, past_parameter_fn *parameter, void *user, struct error *err)
{
    char text[40], currency[CURRENCY_SIZE];
    double price;
    if (!parameter(user, "price", text, sizeof text))
        return 0;
    if (!price_parse(str_from(text), &price, currency) || price > 1e6)
        return error_set(err, -EINVAL, "price must be a price of a kilowatt-hour, like 0.30 or 0.30EUR");
    q->price_per_kwh = price;
    if (currency[0])
        str_copy(q->currency, sizeof q->currency, str_from(currency));
    return 0;
}

int past_report_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                     struct error *err)
{
    struct question_span span;
    const struct past_question before = *q;
    *q = (struct past_question){.kind = PAST_REPORT,
                                .now = now,
                                .since = {now.ms - REPORT_DAYS * 86400000LL},
                                .until = now,
                                .price_per_kwh = before.price_per_kwh,
                                .co2_g_per_kwh = before.co2_g_per_kwh,
                                .hot_celsius = REPORT_HOT_CELSIUS};
    str_copy(q->currency, sizeof q->currency, str_from(before.currency));
    str_copy(q->co2_file, sizeof q->co2_file, str_from(before.co2_file));
    int rc = read_span(q, parameter, user, zone, &span, err);
    if (rc == 0)
        rc = read_price(q, parameter, user, err);
    if (rc == 0)
        rc = read_hot(q, parameter, user, err);
    if (rc < 0)
        return rc;
    parameter(user, "currency", q->currency, sizeof q->currency);
    read_subject(q, parameter, user);
    return 0;
}
