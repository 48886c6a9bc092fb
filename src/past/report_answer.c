/* SPDX-License-Identifier: Apache-2.0
 * The report as an answer.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/told.h"
#include "past/history_answer.h"
#include "past/past_json.h"
#include "past/report.h"

#define MJ_PER_KWH 3.6e9
#define HOURS .parts = 10000 /* less than a second */
#define MONEY .parts = 10000, NONE(-1)
#define GRAMS .parts = 100, NONE(-1)
#define CO2_ABOUT "By energy.co2_g_per_kwh and energy.co2_file; null: not set, or not known for all of the time"

/* ---- energy, and what it cost ---- */

struct told_energy {
    struct report_gpu of; /* or the sums of all */
    double cost, co2;     /* -1: no price or emissions are known */
};

static double cost_of(const struct past_question *q, int64_t energy_mj)
{
    return q->price_per_kwh > 0 ? (double)energy_mj / MJ_PER_KWH * q->price_per_kwh : -1;
}

/* Sums hour by hour where that is stored; otherwise only if the factor is the same in every hour. */
static double co2_of(const struct report *r, int64_t energy_mj, const struct emitted *by_hour)
{
    if (!r->carbon)
        return -1;
    if (!r->carbon->count)
        return (double)energy_mj / MJ_PER_KWH * r->carbon->g_per_kwh;
    return by_hour->mj >= energy_mj ? by_hour->g : -1;
}

/* Of the record that has joules: a member is described once. */
#define MAKE_KWH(name, type)                                                       \
    static bool name(const struct answer_at *at, union answer_value *ret)          \
    {                                                                              \
        ret->real = (double)((const type *)at->record)->of.energy_mj / MJ_PER_KWH; \
        return true;                                                               \
    }
MAKE_KWH(make_kwh, struct told_energy)

ANSWER_MAKER(make_rest, struct told_energy, number, llround((double)(of->of.energy_mj - of->of.attributed_mj) / 1000));

static bool make_origin(const struct answer_at *at, union answer_value *ret)
{
    const struct report_gpu *e = &((const struct told_energy *)at->record)->of;
    ret->word = e->integrated_mj == 0 ? "counter" : e->counter_mj == 0 ? "power" : "counter and power";
    return e->energy_mj != 0;
}

ANSWER_TABLE(energy_answer, struct told_energy, .name = "ReportEnergy", .about = "Energy and where it comes from")
{
    FIELD(NUMBER, "hours", of.hours, "That are stored", HOURS, COUNTS);
    FIELD(NUMBER, "busy_hours", of.busy_hours, "With more than idle load", HOURS, COUNTS);
    FIELD(AMOUNT, "energy_joules", of.energy_mj, NULL, SCALE(1e-3), WHOLE);
    MADE(NUMBER, "energy_kwh", make_kwh, NULL, COUNTS);
    FIELD(OPTION, "parked_kwh", of.parked_mj, PARKED_ABOUT, SCALE(1 / MJ_PER_KWH), COUNTS);
    FIELD(NUMBER, "cost", cost, NULL, MONEY, COUNTS);
    FIELD(NUMBER, "co2_grams", co2, CO2_ABOUT, GRAMS, COUNTS);
    FIELD(AMOUNT, "counter_joules", of.counter_mj, "From the GPU's own counter", SCALE(1e-3), WHOLE);
    FIELD(AMOUNT, "integrated_joules", of.integrated_mj, "From power readings over time", SCALE(1e-3), WHOLE);
    FIELD(AMOUNT, "attributed_joules", of.attributed_mj, "Given to processes", SCALE(1e-3), WHOLE);
    MADE(INT, "not_attributed_joules", make_rest, "Not explained by any visible process");
    MADE(INT, "unattributed_joules", make_rest, "Old name of not_attributed_joules", .schema = "{\"deprecated\": true}");
    MADE(WORD, "energy_from", make_origin, NULL, OR_NULL,
         .schema = "{\"enum\": [\"counter\", \"power\", \"counter and power\", null]}");
}

ANSWER_TABLE(gpu_answer, struct report_gpu)
{
    FIELD(INT, "gpu_index", index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", identity.name, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "gpu_uuid", identity.uuid, NULL, OR_NULL);
    FIELD(OPTION, "utilization_percent", util_permille, "Mean", SCALE(0.1), COUNTS);
    FIELD(OPTION, "temperature_max_celsius", temp_max_mdegc, NULL, SCALE(1e-3), COUNTS);
}

ANSWER_TABLE(card_answer, struct told_energy, .name = "ReportGpu")
{
    FIELD(KEYS, NULL, of, NULL, FIELDS(gpu_answer));
    KEYS(energy_answer);
}

/* ---- who used it ---- */

struct told_group {
    const char *kind;
    bool used; /* by someone who is known; otherwise only the energy is */
    struct report_group of;
    double cost, co2, share;
    double per_joule, prompts_per_joule, per_thousand, per_request, cost_per_million; /* NAN: unknown; cost -1 */
};

MAKE_KWH(make_group_kwh, struct told_group)

ANSWER_TABLE(row_answer, struct told_group, .name = "ReportRow", .about = "What a user, container or command used")
{
    FIELD(WORD, "kind", kind, NULL, COUNTS, .schema = "{\"enum\": [\"used\", \"others\", \"unattributed\"]}");
    FIELD(TEXT, "name", of.name, "User, container or command; null: none, or not known", OR_NULL, COUNTS, FOREIGN);
    FIELD(NUMBER, "hours", of.hours, "On GPUs; several processes on one GPU at once count once", HOURS, PRESENT(used), COUNTS);
    FIELD(NUMBER, "busy_hours", of.busy_hours, NULL, HOURS, PRESENT(used), COUNTS);
    FIELD(NUMBER, "memory_gib_hours", of.gib_hours, NULL, HOURS, PRESENT(used), COUNTS);
    FIELD(NUMBER, "idle_gib_hours", of.idle_gib_hours, "Held without computing", HOURS, PRESENT(used), COUNTS);
    FIELD(AMOUNT, "memory_peak_mb", of.memory_peak_bytes, "Of one process", SCALE(1.0 / (1 << 20)), WHOLE, PRESENT(used));
    FIELD(INT, "processes", of.processes, NULL, PRESENT(used), COUNTS);
    FIELD(AMOUNT, "energy_joules", of.energy_mj, NULL, SCALE(1e-3), WHOLE);
    MADE(NUMBER, "energy_kwh", make_group_kwh, NULL, COUNTS);
    FIELD(OPTION, "parked_kwh", of.parked_mj, PARKED_ABOUT, SCALE(1 / MJ_PER_KWH), COUNTS);
    FIELD(NUMBER, "cost", cost, NULL, MONEY, COUNTS);
    FIELD(NUMBER, "co2_grams", co2, CO2_ABOUT, GRAMS, COUNTS);
    FIELD(NUMBER, "share_percent", share, "Of the GPUs' energy", SCALE(100), TENTHS, COUNTS);
}

ANSWER_TABLE(model_answer, struct told_group, .name = "ReportModel")
{
    KEYS(row_answer);
    FIELD(OPTION, "generated_tokens", of.generated_tokens,
          "What its servers generated, by their own counters; null: they did not say", WHOLE, COUNTS);
    FIELD(OPTION, "prompt_tokens", of.prompt_tokens, "Tokens of prompts that its servers read", WHOLE, COUNTS);
    FIELD(NUMBER, "tokens_per_joule", per_joule, "Generated tokens over the energy of its processes while these were counted",
          .parts = 1e6, NONE(-1), COUNTS);
    FIELD(NUMBER, "prompt_tokens_per_joule", prompts_per_joule, "Tokens of prompts over the same energy, which is that of both",
          .parts = 1e6, NONE(-1));
    FIELD(NUMBER, "joules_per_thousand_tokens", per_thousand, "The same energy for a thousand generated tokens", .parts = 1000,
          NONE(-1), COUNTS);
    FIELD(OPTION, "requests", of.requests, "That its servers answered, by their own counters", WHOLE, COUNTS);
    FIELD(NUMBER, "joules_per_request", per_request, "The same energy for one of these", .parts = 1000, NONE(-1), COUNTS);
    FIELD(NUMBER, "cost_per_million_tokens", cost_per_million, "Energy for a million generated tokens at the price per kWh", MONEY,
          COUNTS);
}

ANSWER_MAKER(make_limit_words, struct told_group, word, limit_words(of->of.limit));

static bool make_limit_side(const struct answer_at *at, union answer_value *ret)
{
    const struct told_group *g = at->record;
    ret->word = limit_side_name(limit_side(g->of.limit));
    return g->of.limit != LIMIT_UNJUDGED;
}

ANSWER_TABLE(limit_row_answer, struct told_group, .name = "ReportLimit")
{
    KEYS(row_answer);
    MADE(WORD, "words", make_limit_words, "In plain words, behind \"limited by\"", OR_NULL, COUNTS);
    MADE(WORD, "side", make_limit_side, "Where the limit lies", OR_NULL,
         .schema = "{\"enum\": [\"gpu\", \"link\", \"host\", \"others\", \"none\", null]}");
}

/* ---- what was worth a word ---- */

struct told_report {
    const struct past_question *q;
    const struct report *r;
    const char *host, *answer, *currency;
    double price;
    bool simulated;
    struct told_energy totals;
    struct told_energy card; /* the one being written */
    struct told_group group; /* likewise */
};

static bool make_held_kwh(const struct answer_at *at, union answer_value *ret)
{
    const struct report_held *h = at->record;
    ret->real = (double)h->energy_mj / MJ_PER_KWH;
    return h->energy_known;
}

static bool make_held_cost(const struct answer_at *at, union answer_value *ret)
{
    const struct report_held *h = at->record;
    ret->real = cost_of(((const struct told_report *)at->context)->q, h->energy_mj);
    return h->energy_known && ret->real >= 0;
}

ANSWER_TABLE(held_answer, struct report_held)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(KEYS, NULL, process, NULL, FIELDS(process_then_answer));
    FIELD(NUMBER, "hours", hours, NULL, HOURS);
    FIELD(NUMBER, "gib_hours", gib_hours, NULL, HOURS);
    MADE(NUMBER, "energy_kwh", make_held_kwh,
         "What the GPU drew meanwhile, while no process computed on it: its idle power for so long, shared by memory with "
         "others who held some; null: power is not known",
         OR_NULL);
    MADE(NUMBER, "cost", make_held_cost, NULL, OR_NULL, .parts = 10000);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, NULL);
}

ANSWER_MAKER(make_hot_seconds, struct report_hot, real, (double)(of->until.ms - of->since.ms) / 1000);

ANSWER_TABLE(hot_question_answer, struct past_question)
{
    FIELD(NUMBER, "hot_celsius", hot_celsius, NULL);
}
ANSWER_TABLE(hot_answer, struct report_hot)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, NULL);
    MADE(NUMBER, "duration_seconds", make_hot_seconds, NULL);
    FIELD(AMOUNT, "resolution_seconds", resolution_ms,
          "60, or 3600 where only hours are kept: then it was hot at some time within the span, which is the most it can have "
          "lasted",
          SCALE(1e-3));
    FIELD(AMOUNT, "temperature_max_celsius", temp_max_mdegc, NULL, SCALE(1e-3));
    FIELD(NUMBER, "slowed_percent", slowed, "Part of it in which the GPU was throttling, by heat or by power", SCALE(100), TENTHS);
    FIELD(TEXT, "process", process, "That was given most of the energy", OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
}

ANSWER_TABLE(finding_answer, struct report_finding)
{
    FIELD(NAME, "code", code, NULL, NAMES(finding_codes), OPEN);
    FIELD(INT, "gpu_index", gpu_index, "null: about the host", NONE(-1));
    FIELD(NAME, "severity", severity, "At its worst", NAMES(severities));
    FIELD(TEXT, "headline", headline, "At its worst");
    FIELD(INT, "times", times, NULL);
    FIELD(AMOUNT, "duration_seconds", total_ms, "Of all of them together", SCALE(1e-3));
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, NULL);
}

ANSWER_TABLE(lease_answer, struct report_lease)
{
    FIELD(TEXT, "user", user, NULL);
    FIELD(INT, "leases", leases, NULL);
    FIELD(INT, "open", open, "Of them not ended yet");
    FIELD(NUMBER, "hours", hours, NULL, HOURS);
    FIELD(NUMBER, "used_hours", used_hours, NULL, HOURS);
}

ANSWER_TABLE(lists_answer, struct report)
{
    OBJECTS("idle_memory", held, held_count, held_answer, "Who held memory without computing, most first");
    OBJECTS("hot_spells", hot, hot_count, hot_answer, "The longest first");
    OBJECTS("findings", findings, finding_count, finding_answer,
            "What was found in the time, from notice on: once for each kind on each GPU, the worst first");
    OBJECTS("leases", leases, lease_count, lease_answer,
            "GPUs that users held by leases, most hours first. Hours are those of GPUs; `used_hours`: programs ran under them, "
            "of those that have ended");
    FIELD(MOMENT, "processes_from", processes_from, "What processes used before that is not kept any more", OR_NULL);
    FIELD(AMOUNT, "missing_seconds", missing_ms, NULL, SCALE(1e-3), COUNTS);
    OBJECTS("gaps", gaps, gap_count, gap_answer, NULL);
}

/* ---- the whole ---- */

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    struct told_report *t = at->context;
    const struct report_gpu *g = &t->r->gpus[step->at];
    if (step->at++ >= t->r->gpu_count)
        return NULL;
    t->card = (struct told_energy){*g, cost_of(t->q, g->energy_mj), co2_of(t->r, g->energy_mj, &g->emitted)};
    return &t->card;
}

/* Tokens of answers and prompts, relative to the energy of both. */
static void add_tokens(struct told_group *to, const struct past_question *q)
{
    const struct report_group *g = &to->of;
    double joules = (double)g->told_mj / 1000, made = (double)reading_or(g->generated_tokens, 0);
    if (joules > 0 && reading_or(g->requests, 0) > 0)
        to->per_request = joules / (double)g->requests.value;
    if (joules > 0 && g->generated_tokens.state == READING_OK)
        to->per_joule = made / joules;
    if (joules > 0 && made > 0)
        to->per_thousand = joules * 1000 / made;
    if (joules > 0 && g->prompt_tokens.state == READING_OK)
        to->prompts_per_joule = (double)g->prompt_tokens.value / joules;
    if (q->price_per_kwh > 0 && made > 0)
        to->cost_per_million = cost_of(q, g->told_mj) * 1e6 / made;
}

/* The groups, and last the energy without a process: the GPU idled, or its user is unknown. The rows add up to the GPUs. */
static const void *next_group(const struct answer_at *at, struct answer_step *step, enum report_by by)
{
    struct told_report *t = at->context;
    size_t i = step->at++, count = t->r->group_count[by];
    int64_t total_mj = t->totals.of.energy_mj, rest_mj = total_mj;
    struct emitted emitted = t->totals.of.emitted;
    if (i > count || !t->r->gpu_count)
        return NULL;
    t->group = (struct told_group){.kind = "unattributed",
                                   .of.limit = LIMIT_UNJUDGED,
                                   .per_joule = -1,
                                   .prompts_per_joule = -1,
                                   .per_thousand = -1,
                                   .per_request = -1,
                                   .cost_per_million = -1};
    if (i < count) {
        t->group.of = t->r->groups[by][i];
        t->group.kind = t->group.of.others ? "others" : "used";
        t->group.used = true;
        emitted = t->group.of.emitted;
        add_tokens(&t->group, t->q);
    } else {
        for (size_t k = 0; k < count; k++) {
            rest_mj -= t->r->groups[by][k].energy_mj;
            emitted.g -= t->r->groups[by][k].emitted.g;
            emitted.mj -= t->r->groups[by][k].emitted.mj;
        }
        t->group.of.energy_mj = MAX_OF(rest_mj, (int64_t)0);
    }
    if (by == REPORT_BY_LIMIT)
        t->group.of.parked_mj = reading_absent(READING_UNREAD);
    emitted.g = fmax(emitted.g, 0);
    int64_t energy_mj = t->group.of.energy_mj;
    t->group.cost = cost_of(t->q, energy_mj);
    t->group.co2 = by == REPORT_BY_LIMIT && t->r->carbon && t->r->carbon->count ? -1 : co2_of(t->r, energy_mj, &emitted);
    t->group.share = total_mj ? (double)energy_mj / (double)total_mj : 0;
    return &t->group;
}

#define NEXT(list, by)                                                                \
    static const void *next_##list(const struct answer_at *at, struct answer_step *s) \
    {                                                                                 \
        return next_group(at, s, by);                                                 \
    }
NEXT(user, REPORT_BY_USER)
NEXT(container, REPORT_BY_CONTAINER)
NEXT(pod, REPORT_BY_POD)
NEXT(job, REPORT_BY_JOB)
NEXT(command, REPORT_BY_COMMAND)
NEXT(model, REPORT_BY_MODEL)
NEXT(limit, REPORT_BY_LIMIT)

SHARED_ANSWER_TABLE(report_answer, struct told_report, .name = "Report",
                    .about = "Who used the GPUs, for how long, with how much energy, and what it cost")
{
    VIA(KEYS, NULL, q, past_span_answer, NULL);
    FIELD(WORD, "host", host, NULL, OR_NULL);
    FIELD(WORD, "answer", answer, NULL, COUNTS, FOREIGN);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    FIELD(NUMBER, "price_per_kwh", price, NULL, NONE(0));
    VIA(KEYS, NULL, q, hot_question_answer, NULL);
    FIELD(WORD, "currency", currency, NULL, OR_NULL, COUNTS);
    FIELD(OBJECT, "totals", totals, NULL, FIELDS(energy_answer), COUNTS);
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(card_answer));
    EACH(OBJECT, "users", next_user, NULL, FIELDS(row_answer));
    EACH(OBJECT, "containers", next_container, NULL, FIELDS(row_answer));
    EACH(OBJECT, "pods", next_pod, "By pod of Kubernetes, NAMESPACE/POD; a name of null: none", FIELDS(row_answer));
    EACH(OBJECT, "jobs", next_job, "By Slurm job; a name of null: none", FIELDS(row_answer));
    EACH(OBJECT, "commands", next_command, NULL, FIELDS(row_answer));
    EACH(OBJECT, "models", next_model, "By the model that a process's command line names; a name of null: none",
         FIELDS(model_answer));
    EACH(OBJECT, "limits", next_limit,
         "By what limited the processes: each minute of a process counts for the limit that held the longest in it; a name of "
         "null: not judged",
         FIELDS(limit_row_answer));
    VIA(KEYS, NULL, r, lists_answer, NULL);
}

static struct told_report told_report(const struct past_question *q, const struct report *r, const char *host)
{
    struct told_report t = {
        .q = q, .r = r, .host = host, .price = MAX_OF(q->price_per_kwh, 0.0), .currency = q->price_per_kwh > 0 ? q->currency : ""};
    struct report_gpu *all = &t.totals.of;
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct report_gpu *g = &r->gpus[i];
        all->hours += g->hours;
        all->busy_hours += g->busy_hours;
        all->energy_mj += g->energy_mj;
        all->counter_mj += g->counter_mj;
        all->integrated_mj += g->integrated_mj;
        all->attributed_mj += g->attributed_mj;
        if (g->parked_mj.state == READING_OK)
            all->parked_mj = reading_ok(reading_or(all->parked_mj, 0) + g->parked_mj.value);
        all->emitted.g += g->emitted.g;
        all->emitted.mj += g->emitted.mj;
        t.simulated |= g->simulated;
    }
    t.totals.cost = cost_of(q, all->energy_mj);
    t.totals.co2 = co2_of(r, all->energy_mj, &all->emitted);
    return t;
}

static void report_sentence(const struct past_question *q, const struct report *r, const struct told_energy *t, char *text,
                            size_t size)
{
    const struct report_group *first = r->group_count[REPORT_BY_USER] ? &r->groups[REPORT_BY_USER][0] : NULL;
    double kwh = (double)t->of.energy_mj / MJ_PER_KWH;
    char money[96] = "", most[160] = "", worked[WORDS_SIZE], all[WORDS_SIZE], used[WORDS_SIZE], each[WORDS_SIZE];
    if (r->gpu_count == 0) {
        snprintf(text, size, "Nothing is known about that time. %s", r->gap_count ? r->gaps[0].text : "");
        return;
    }
    if (q->price_per_kwh > 0)
        snprintf(money, sizeof money, ", %.2f %s", kwh * q->price_per_kwh, q->currency);
    if (t->co2 >= 0)
        snprintf(money + strlen(money), sizeof money - strlen(money), t->co2 < 1000 ? ", %.0f g of CO2" : ", %.1f kg of CO2",
                 t->co2 < 1000 ? t->co2 : t->co2 / 1000);
    if (first && first->energy_mj > 0 && first->name[0])
        snprintf(most, sizeof most, "; %s by %s (%.0f%%)",
                 2 * first->energy_mj >= t->of.energy_mj ? "most of it" : "the largest part", first->name,
                 100.0 * (double)first->energy_mj / (double)MAX_OF(t->of.energy_mj, (int64_t)1));
    words_duration(llround(t->of.busy_hours * 3600) * 1000, worked);
    words_duration(llround(t->of.hours * 3600) * 1000, all);
    words_energy(t->of.energy_mj, used);
    words_duration(llround(t->of.hours * 3600 / (double)r->gpu_count) * 1000, each);
    if (r->gpu_count == 1)
        snprintf(text, size, "1 GPU worked for %s of %s and used %s%s%s.", worked, all, used, money, most);
    else
        snprintf(text, size, "%zu GPUs worked for %s of %s of GPU time (%s each) and used %s%s%s.", r->gpu_count, worked, all, each,
                 used, money, most);
}

int answer_report(struct store *s, const struct past_question *q, const char *host, struct json_writer *j, struct error *err)
{
    struct store_gpu gpu = {0};
    char answer[400];
    struct carbon carbon;
    int rc = q->gpu[0] ? store_find_gpu(s, host, q->gpu, &gpu, err) : 0;
    if (rc == 0)
        rc = carbon_read(q->co2_file, q->co2_g_per_kwh, &carbon, err);
    if (rc < 0)
        return rc;
    AUTO_FREE struct report *r = calloc(1, sizeof *r);
    rc = r ? report_make(s, host, gpu.id, q->since, q->until, (int64_t)(q->hot_celsius * 1000),
                         carbon_is_known(&carbon) ? &carbon : NULL, r, err)
           : error_set(err, -ENOMEM, "out of memory");
    if (rc == 0) {
        struct told_report t = told_report(q, r, host);
        report_sentence(q, r, &t.totals, answer, sizeof answer);
        t.answer = answer;
        answer_write(j, &report_answer, &t, &t);
        report_done(r);
    }
    carbon_done(&carbon);
    return rc;
}

void answer_no_report(const struct past_question *q, const char *why, struct json_writer *j)
{
    AUTO_FREE struct report *r = calloc(1, sizeof *r);
    if (!r)
        return;
    struct told_report t = told_report(q, r, "");
    t.answer = why;
    answer_write(j, &report_answer, &t, &t);
}
