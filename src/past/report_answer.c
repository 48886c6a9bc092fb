/* SPDX-License-Identifier: Apache-2.0
 * The report as JSON.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/json.h"
#include "past/past_json.h"
#include "past/report.h"

#define MJ_PER_KWH 3.6e9

struct totals {
    double hours, busy_hours;
    int64_t energy_mj, counter_mj, integrated_mj, attributed_mj;
    bool simulated;
};

static struct totals report_answer_add_up(const struct report *r)
{
    struct totals t = {0};
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct report_gpu *g = &r->gpus[i];
        t.hours += g->hours;
        t.busy_hours += g->busy_hours;
        t.energy_mj += g->energy_mj;
        t.counter_mj += g->counter_mj;
        t.integrated_mj += g->integrated_mj;
        t.attributed_mj += g->attributed_mj;
        t.simulated |= g->simulated;
    }
    return t;
}

/* To 1/10000 hour, less than a second. */
static void hours(struct json_writer *j, const char *key, double value)
{
    jw_key_number(j, key, round(value * 10000) / 10000);
}

static void cost(struct json_writer *j, const struct past_question *q, int64_t energy_mj)
{
    jw_key(j, "cost");
    if (q->price_per_kwh > 0)
        jw_number(j, round((double)energy_mj / MJ_PER_KWH * q->price_per_kwh * 1e4) / 1e4);
    else
        jw_null(j);
}

static void energy(struct json_writer *j, const struct past_question *q, int64_t energy_mj)
{
    jw_key_number(j, "energy_joules", round((double)energy_mj / 1000));
    jw_key_number(j, "energy_kwh", (double)energy_mj / MJ_PER_KWH);
    cost(j, q, energy_mj);
}

/* The origin of the joules, and who used them. */
static void origin(struct json_writer *j, int64_t counter_mj, int64_t integrated_mj, int64_t attributed_mj, int64_t energy_mj)
{
    jw_key_number(j, "counter_joules", round((double)counter_mj / 1000));
    jw_key_number(j, "integrated_joules", round((double)integrated_mj / 1000));
    jw_key_number(j, "attributed_joules", round((double)attributed_mj / 1000));
    jw_key_number(j, "not_attributed_joules", round((double)(energy_mj - attributed_mj) / 1000));
    jw_key_number(j, "unattributed_joules", round((double)(energy_mj - attributed_mj) / 1000)); /* key of versions up to 0.3 */
    jw_key_text(j, "energy_from",
                energy_mj == 0       ? NULL
                : integrated_mj == 0 ? "counter"
                : counter_mj == 0    ? "power"
                                     : "counter and power");
}

static void gpus(struct json_writer *j, const struct past_question *q, const struct report *r)
{
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct report_gpu *g = &r->gpus[i];
        jw_object(j);
        jw_key_int(j, "gpu_index", g->index);
        json_words(j, "gpu_name", g->identity.name);
        json_words(j, "gpu_uuid", g->identity.uuid);
        hours(j, "hours", g->hours);
        hours(j, "busy_hours", g->busy_hours);
        json_scaled(j, "utilization_percent", g->util_permille, 0.1);
        json_scaled(j, "temperature_max_celsius", g->temp_max_mdegc, 1e-3);
        energy(j, q, g->energy_mj);
        origin(j, g->counter_mj, g->integrated_mj, g->attributed_mj, g->energy_mj);
        jw_end(j);
    }
    jw_end(j);
}

/* In plain words, and on which side it lies; null: not judged. */
static void limit(struct json_writer *j, enum limit limit)
{
    json_words(j, "words", limit_words(limit));
    jw_key_text(j, "side", limit == LIMIT_UNJUDGED ? NULL : limit_side_name(limit_side(limit)));
}

static void per(struct json_writer *j, const char *key, struct reading tokens, double of, double digits)
{
    double value = tokens.state == READING_OK && of > 0 ? (double)tokens.value / of : NAN;
    jw_key_number(j, key, round(value * digits) / digits);
}

/* Tokens of answers and prompts, relative to the energy of both. */
static void tokens(struct json_writer *j, const struct past_question *q, const struct report_group *g)
{
    const struct reading none = {0}, made = g ? g->generated_tokens : none, read = g ? g->prompt_tokens : none;
    double joules = g ? (double)g->told_mj / 1000 : 0, money = joules * 1000 / MJ_PER_KWH * q->price_per_kwh;
    json_scaled(j, "generated_tokens", made, 1);
    json_scaled(j, "prompt_tokens", read, 1);
    per(j, "tokens_per_joule", made, joules, 1e6);
    per(j, "prompt_tokens_per_joule", read, joules, 1e6);
    jw_key_number(j, "cost_per_million_tokens",
                  q->price_per_kwh > 0 && reading_or(made, 0) > 0 ? round(money * 1e6 / (double)made.value * 1e4) / 1e4 : NAN);
}

/* Energy without a process: the GPU idled, or its user is unknown. The last row, so that the rows add up to the GPUs. */
static void unattributed(struct json_writer *j, const struct past_question *q, enum report_by by, int64_t energy_mj,
                         int64_t total_mj)
{
    jw_object(j);
    jw_key_text(j, "kind", "unattributed");
    jw_key(j, "name");
    jw_null(j);
    if (by == REPORT_BY_LIMIT)
        limit(j, LIMIT_UNJUDGED);
    static const char *const none[] = {"hours", "busy_hours", "memory_gib_hours", "idle_gib_hours", "memory_peak_mb", "processes"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        jw_key(j, none[i]);
        jw_null(j);
    }
    energy(j, q, energy_mj);
    jw_key_number(j, "share_percent", total_mj ? round(1000.0 * (double)energy_mj / (double)total_mj) / 10 : 0);
    if (by == REPORT_BY_MODEL)
        tokens(j, q, NULL);
    jw_end(j);
}

static void groups(struct json_writer *j, const struct past_question *q, const struct report *r, enum report_by by, const char *key,
                   int64_t total_mj)
{
    int64_t given_mj = 0;
    jw_key_array(j, key);
    for (size_t i = 0; i < r->group_count[by]; i++) {
        const struct report_group *g = &r->groups[by][i];
        given_mj += g->energy_mj;
        jw_object(j);
        jw_key_text(j, "kind", g->others ? "others" : "used");
        json_words(j, "name", g->name);
        if (by == REPORT_BY_LIMIT)
            limit(j, g->limit);
        hours(j, "hours", g->hours);
        hours(j, "busy_hours", g->busy_hours);
        hours(j, "memory_gib_hours", g->gib_hours);
        hours(j, "idle_gib_hours", g->idle_gib_hours);
        jw_key_number(j, "memory_peak_mb", round((double)g->memory_peak_bytes / 1048576));
        jw_key_int(j, "processes", (int64_t)g->processes);
        energy(j, q, g->energy_mj);
        jw_key_number(j, "share_percent", total_mj ? round(1000.0 * (double)g->energy_mj / (double)total_mj) / 10 : 0);
        if (by == REPORT_BY_MODEL)
            tokens(j, q, g);
        jw_end(j);
    }
    if (r->gpu_count)
        unattributed(j, q, by, MAX_OF(total_mj - given_mj, (int64_t)0), total_mj);
    jw_end(j);
}

static void held(struct json_writer *j, const struct past_question *q, const struct report *r)
{
    char words[PROCESS_WORDS];
    jw_key_array(j, "idle_memory");
    for (size_t i = 0; i < r->held_count; i++) {
        const struct report_held *h = &r->held[i];
        jw_object(j);
        jw_key_int(j, "gpu_index", h->gpu_index);
        jw_key_int(j, "pid", h->process.pid);
        json_words(j, "name", h->process.name);
        json_words(j, "short_name", process_words(&h->process, SHORT_NAME, words));
        json_words(j, "user", h->process.user);
        json_words(j, "container", h->process.container);
        json_words(j, "command", h->process.command);
        hours(j, "hours", h->hours);
        hours(j, "gib_hours", h->gib_hours);
        jw_key_number(j, "energy_kwh", h->energy_known ? (double)h->energy_mj / MJ_PER_KWH : NAN);
        jw_key_number(j, "cost",
                      h->energy_known && q->price_per_kwh > 0
                          ? round((double)h->energy_mj / MJ_PER_KWH * q->price_per_kwh * 1e4) / 1e4
                          : NAN);
        json_time(j, "since", h->since);
        json_time(j, "until", h->until);
        jw_end(j);
    }
    jw_end(j);
}

static void hot(struct json_writer *j, const struct report *r)
{
    jw_key_array(j, "hot_spells");
    for (size_t i = 0; i < r->hot_count; i++) {
        const struct report_hot *h = &r->hot[i];
        jw_object(j);
        jw_key_int(j, "gpu_index", h->gpu_index);
        json_time(j, "since", h->since);
        json_time(j, "until", h->until);
        jw_key_number(j, "duration_seconds", (double)(h->until.ms - h->since.ms) / 1000);
        jw_key_number(j, "resolution_seconds", (double)h->resolution_ms / 1000);
        jw_key_number(j, "temperature_max_celsius", (double)h->temp_max_mdegc / 1000);
        jw_key_number(j, "slowed_percent", round(1000 * h->slowed) / 10);
        json_words(j, "process", h->process);
        json_words(j, "user", h->user);
        jw_end(j);
    }
    jw_end(j);
}

static void findings(struct json_writer *j, const struct report *r)
{
    jw_key_array(j, "findings");
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct report_finding *f = &r->findings[i];
        jw_object(j);
        jw_key_text(j, "code", finding_code_name(f->code));
        jw_key(j, "gpu_index");
        if (f->gpu_index >= 0)
            jw_int(j, f->gpu_index);
        else
            jw_null(j);
        jw_key_text(j, "severity", severity_text(f->severity));
        jw_key_text(j, "headline", f->headline);
        jw_key_int(j, "times", (int64_t)f->times);
        jw_key_number(j, "duration_seconds", (double)f->total_ms / 1000);
        json_time(j, "since", f->since);
        json_time(j, "until", f->until);
        jw_end(j);
    }
    jw_end(j);
}

static void leases(struct json_writer *j, const struct report *r)
{
    jw_key_array(j, "leases");
    for (size_t i = 0; i < r->lease_count; i++) {
        const struct report_lease *l = &r->leases[i];
        jw_object(j);
        jw_key_text(j, "user", l->user);
        jw_key_int(j, "leases", (int64_t)l->leases);
        jw_key_int(j, "open", (int64_t)l->open);
        hours(j, "hours", l->hours);
        hours(j, "used_hours", l->used_hours);
        jw_end(j);
    }
    jw_end(j);
}

static void report_sentence(const struct past_question *q, const struct report *r, const struct totals *t, char *text, size_t size)
{
    const struct report_group *first = r->group_count[REPORT_BY_USER] ? &r->groups[REPORT_BY_USER][0] : NULL;
    double kwh = (double)t->energy_mj / MJ_PER_KWH;
    char money[64] = "", most[160] = "", worked[WORDS_SIZE], all[WORDS_SIZE], used[WORDS_SIZE], each[WORDS_SIZE];
    if (r->gpu_count == 0) {
        snprintf(text, size, "Nothing is known about that time. %s", r->gap_count ? r->gaps[0].text : "");
        return;
    }
    if (q->price_per_kwh > 0)
        snprintf(money, sizeof money, ", %.2f %s", kwh * q->price_per_kwh, q->currency);
    if (first && first->energy_mj > 0 && first->name[0])
        snprintf(most, sizeof most, "; %s by %s (%.0f%%)", 2 * first->energy_mj >= t->energy_mj ? "most of it" : "the largest part",
                 first->name, 100.0 * (double)first->energy_mj / (double)MAX_OF(t->energy_mj, (int64_t)1));
    words_duration(llround(t->busy_hours * 3600) * 1000, worked);
    words_duration(llround(t->hours * 3600) * 1000, all);
    words_energy(t->energy_mj, used);
    words_duration(llround(t->hours * 3600 / (double)r->gpu_count) * 1000, each);
    if (r->gpu_count == 1)
        snprintf(text, size, "1 GPU worked for %s of %s and used %s%s%s.", worked, all, used, money, most);
    else
        snprintf(text, size, "%zu GPUs worked for %s of %s of GPU time (%s each) and used %s%s%s.", r->gpu_count, worked, all, each,
                 used, money, most);
}

static void body(struct json_writer *j, const struct past_question *q, const struct report *r, const char *host, const char *answer)
{
    struct totals t = report_answer_add_up(r);
    jw_object(j);
    json_time(j, "since", q->since);
    json_time(j, "until", q->until);
    json_words(j, "host", host);
    jw_key_text(j, "answer", answer);
    jw_key_bool(j, "simulated", t.simulated);
    jw_key(j, "price_per_kwh");
    if (q->price_per_kwh > 0)
        jw_number(j, q->price_per_kwh);
    else
        jw_null(j);
    json_words(j, "currency", q->price_per_kwh > 0 ? q->currency : "");
    jw_key_number(j, "hot_celsius", q->hot_celsius);
    jw_key_object(j, "totals");
    hours(j, "hours", t.hours);
    hours(j, "busy_hours", t.busy_hours);
    energy(j, q, t.energy_mj);
    origin(j, t.counter_mj, t.integrated_mj, t.attributed_mj, t.energy_mj);
    jw_end(j);
    gpus(j, q, r);
    groups(j, q, r, REPORT_BY_USER, "users", t.energy_mj);
    groups(j, q, r, REPORT_BY_CONTAINER, "containers", t.energy_mj);
    groups(j, q, r, REPORT_BY_POD, "pods", t.energy_mj);
    groups(j, q, r, REPORT_BY_JOB, "jobs", t.energy_mj);
    groups(j, q, r, REPORT_BY_COMMAND, "commands", t.energy_mj);
    groups(j, q, r, REPORT_BY_MODEL, "models", t.energy_mj);
    groups(j, q, r, REPORT_BY_LIMIT, "limits", t.energy_mj);
    held(j, q, r);
    hot(j, r);
    findings(j, r);
    leases(j, r);
    json_time(j, "processes_from", r->processes_from);
    jw_key_number(j, "missing_seconds", (double)r->missing_ms / 1000);
    jw_key_array(j, "gaps");
    for (size_t i = 0; i < r->gap_count; i++)
        json_gap(j, &r->gaps[i]);
    jw_end(j);
    jw_end(j);
}

int answer_report(struct store *s, const struct past_question *q, const char *host, struct json_writer *j, struct error *err)
{
    struct store_gpu gpu = {0};
    char answer[400];
    int rc = q->gpu[0] ? store_find_gpu(s, host, q->gpu, &gpu, err) : 0;
    AUTO_FREE struct report *r = rc == 0 ? calloc(1, sizeof *r) : NULL;
    if (rc == 0 && !r)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = report_make(s, host, gpu.id, q->since, q->until, (int64_t)(q->hot_celsius * 1000), r, err);
    if (rc < 0)
        return rc;
    struct totals t = report_answer_add_up(r);
    report_sentence(q, r, &t, answer, sizeof answer);
    body(j, q, r, host, answer);
    report_done(r);
    return 0;
}

void answer_no_report(const struct past_question *q, const char *why, struct json_writer *j)
{
    struct report *r = calloc(1, sizeof *r);
    if (r)
        body(j, q, r, "", why);
    free(r);
}
