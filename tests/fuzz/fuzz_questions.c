/* SPDX-License-Identifier: Apache-2.0
 * Parameters of questions about the past, as anyone may send them: what is accepted stays in its bounds, and what is not has one
 * line of text that says why. The first byte chooses the question, the rest is the query of a URL.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer/parameter.h"
#include "base/cleanup.h"
#include "net/http_message.h"
#include "past/past_json.h"
#include "past/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wall now = {1700000000000};

static void expect(bool good)
{
    if (!good)
        abort();
}

static bool parameter(void *user, const char *key, char *value, size_t size)
{
    return http_query(user, key, value, size);
}

static void check_error(int rc, const struct error *err)
{
    expect(rc >= 0 || (err->text[0] && !strpbrk(err->text, "\r\n\033")));
}

static void check_history(const struct history_question *q)
{
    expect(q->points >= 2 && q->points <= QUESTION_POINTS_MAX && q->limit >= 1 &&
           (double)q->limit <= parameter_of(PARAMETER_limit).most);
    expect(q->since_ms < q->until_ms && q->step_ms >= 0 && q->pid >= 0 && q->run >= 0);
    expect(q->metric_count <= ARRAY_LEN(q->metrics));
    expect(strlen(q->gpus) < sizeof q->gpus && strlen(q->process) < sizeof q->process && strlen(q->host) < sizeof q->host);
}

/* What the server checks before any of its paths reads a parameter. */
static void check_parameters(void *user)
{
    char text[256];
    for (int id = PARAMETER_NONE + 1; id < PARAMETER_COUNT; id++) {
        const struct parameter p = parameter_of((enum parameter_id)id);
        struct error err = {0};
        if (parameter(user, p.name, text, sizeof text))
            check_error(parameter_check(&p, text, &err), &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct http_message request = {.query = {(const char *)data + 1, size - 1}};
    struct error err = {0};
    struct history_question history;
    struct past_question past = {0};
    unsigned kind = data[0] % 6;
    int rc = kind < 4    ? history_question_read(&history, (enum history_kind)kind, parameter, &request, now, MOMENT_UTC, &err)
             : kind == 4 ? past_question_read(&past, parameter, &request, now, MOMENT_UTC, &err)
                         : past_report_read(&past, parameter, &request, now, MOMENT_UTC, &err);
    check_error(rc, &err);
    check_parameters(&request);
    if (rc == 0 && kind < 4)
        check_history(&history);
    if (rc == 0 && kind >= 4)
        expect(past.since.ms <= now.ms + 1000 && past.until.ms <= now.ms + 1000 && past.price_per_kwh >= 0);
    return 0;
}
