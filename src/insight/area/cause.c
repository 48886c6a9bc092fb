/* SPDX-License-Identifier: Apache-2.0
 * Making and ranking causes: evidence becomes confidence, and the list stays sorted and bounded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insight/area/cause.h"

void cause_begin(struct cause_draft *d, struct why_part *part, enum finding_code code, double most)
{
    *d = (struct cause_draft){.part = part, .most = most};
    d->cause.code = code;
}

void cause_process(struct cause_draft *d, const struct process *p)
{
    d->cause.pid = p->pid;
    str_copy_clean(d->cause.process, sizeof d->cause.process, str_from(p->name));
}

static void add_evidence(struct why_cause *cause, const char *format, va_list args)
{
    if (cause->evidence_count == WHY_EVIDENCE_MAX)
        return;
    char *line = cause->evidence[cause->evidence_count++];
    vsnprintf(line, WHY_LINE_SIZE, format, args);
}

void support(struct cause_draft *d, double weight, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_evidence(&d->cause, format, args);
    va_end(args);
    d->cause.confidence = 1 - (1 - d->cause.confidence) * (1 - weight);
}

void doubt(struct cause_draft *d, double factor, const char *format, ...)
{
    if (format) {
        va_list args;
        va_start(args, format);
        add_evidence(&d->cause, format, args);
        va_end(args);
    }
    d->cause.confidence *= factor;
}

void cause_end(struct cause_draft *d, const char *format, ...)
{
    struct why_part *part = d->part;
    d->cause.confidence = MIN_OF(d->cause.confidence, d->most);
    if (d->cause.confidence < CONFIDENCE_LEAST)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(d->cause.text, sizeof d->cause.text, format, args);
    va_end(args);
    /* Equal ones keep the order of the rules, so that the same facts always give the same list. */
    size_t at = part->cause_count;
    while (at > 0 && part->causes[at - 1].confidence < d->cause.confidence)
        at--;
    if (at == WHY_CAUSES_MAX)
        return;
    size_t kept = MIN_OF(part->cause_count, (size_t)WHY_CAUSES_MAX - 1);
    memmove(&part->causes[at + 1], &part->causes[at], (kept - at) * sizeof part->causes[0]);
    part->causes[at] = d->cause;
    part->cause_count = kept + 1;
}

const struct why_cause *find_cause(const struct why_part *part, enum finding_code code)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].code == code)
            return &part->causes[i];
    return NULL;
}

double best_confidence(const struct why_part *part)
{
    return part->cause_count ? part->causes[0].confidence : 0;
}

void support_load(struct cause_draft *d, const struct facts *f, double weight)
{
    char since[SHORT_WORDS];
    if (f->load_basis == BASIS_UTIL && f->past.steady_ms >= STEADY_LEAST_MS)
        support(d, weight, "utilization %lld%%, without a break for %s", percent(f->load_permille),
                words_duration(f->past.steady_ms, since));
    else if (f->load_basis == BASIS_UTIL)
        support(d, weight, "utilization %lld%%", percent(f->load_permille));
    else if (f->load_basis == BASIS_PROCESSES)
        support(d, weight * 0.8, "its processes together: %lld%%", percent(f->load_permille));
}

void support_power(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t power, limit;
    if (!reading_get(f->gpu->power_mw, &power))
        return;
    if (reading_get(f->gpu->power_limit_mw, &limit) && limit > 0)
        support(d, weight, "%lld W of %lld W", words_whole(power, 1000), words_whole(limit, 1000));
    else
        support(d, weight, "%lld W", words_whole(power, 1000));
}

void support_temperature(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t temp, limit;
    if (!reading_get(f->gpu->temp_mdegc, &temp))
        return;
    if (reading_get(f->limit_mdegc, &limit) && limit > 0)
        support(d, weight, "%lld °C, throttles at %lld °C", words_whole(temp, 1000), words_whole(limit, 1000));
    else if (f->has_margin)
        support(d, weight, "%lld °C, %lld °C below where it throttles", words_whole(temp, 1000),
                words_whole(f->margin_mdegc, 1000));
    else
        support(d, weight, "%lld °C", words_whole(temp, 1000));
}

void support_fan(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t speed, rpm;
    bool has_rpm = reading_get(f->gpu->fan_rpm, &rpm);
    if (reading_get(f->gpu->fan_permille, &speed)) {
        if (has_rpm)
            support(d, weight, "fan %lld%% (%lld rpm)", percent(speed), (long long)rpm);
        else
            support(d, weight, "fan %lld%%", percent(speed));
    } else if (has_rpm) {
        support(d, weight, "fan %lld rpm", (long long)rpm);
    } else if (f->fan == FAN_NONE) {
        support(d, 0, "no fan of its own");
    }
}
