/* SPDX-License-Identifier: Apache-2.0
 * The fleet as JSON.
 */
#include "fleet/fleet.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "insight/facts/levels.h"

ANSWER_NAMES(states, enum fleet_state, fleet_state_name, FLEET_FINE, FLEET_STATES - 1);

/* ---- GPUs and hosts ---- */

struct told_fleet {
    const struct fleet *f;
    bool only_trouble;
    struct fleet_host *hosts;
    size_t count;
    char answer[FLEET_SENTENCE];
};

static bool make_severity(const struct answer_at *at, union answer_value *ret)
{
    const struct fleet_findings *f = at->record;
    ret->number = f->first.severity;
    return f->code[0];
}

ANSWER_TABLE(first_answer, struct fleet_findings)
{
    MADE(NAME, "severity", make_severity, "Of its first finding; null: it said nothing", OR_NULL, NAMES(severities));
    FIELD(TEXT, "code", code, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "process", process, NULL, OR_NULL);
}

static bool make_index(const struct answer_at *at, union answer_value *ret)
{
    return str_to_i64(str_from(((const struct fleet_gpu *)at->record)->gpu), &ret->number);
}

static bool make_headline(const struct answer_at *at, union answer_value *ret)
{
    fleet_headline(at->record, ret->text, sizeof ret->text);
    return true;
}

static bool make_room(const struct answer_at *at, union answer_value *ret)
{
    ret->reading = fleet_room(at->record);
    return true;
}

ANSWER_MAKER(is_usable, struct fleet_gpu, yes, fleet_is_usable(of));
ANSWER_MAKER(is_working, struct fleet_gpu, yes, load_is_work(of->util_permille));

#define TROUBLE                                                                                                                  \
    "fine, not_judged (a whirr without findings), held, unusual, degraded, silent (a host that was there and does not answer), " \
    "failing or lost"

ANSWER_TABLE(gpu_answer, struct fleet_gpu, .name = "FleetGpu")
{
    FIELD(TEXT, "host", host, NULL);
    MADE(INT, "gpu_index", make_index, "null: it is gone", OR_NULL);
    FIELD(TEXT, "uuid", uuid, NULL);
    FIELD(TEXT, "name", name, NULL);
    FIELD(BOOL, "up", up, NULL);
    FIELD(NAME, "trouble", state, TROUBLE, NAMES(states), OPEN);
    FIELD(KEYS, NULL, findings, NULL, FIELDS(first_answer));
    MADE(TEXT, "headline", make_headline, NULL, OR_NULL);
    MADE(BOOL, "work_may_go_there", is_usable, NULL);
    MADE(BOOL, "working", is_working, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "memory_used_mb", used_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "memory_total_mb", total_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "memory_free_mb", free_bytes, NULL, SCALE(PER_MIB));
    MADE(READING, "memory_room_mb", make_room, "Free in one piece: in an instance of a divided GPU", SCALE(PER_MIB));
    FIELD(READING, "temperature_celsius", temp_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct fleet_host *h = at->record;
    const struct told_fleet *told = at->context;
    while (told->only_trouble && step->at < h->count && !h->gpus[step->at].state)
        step->at++;
    return step->at < h->count ? &h->gpus[step->at++] : NULL;
}

static bool make_last_seen(const struct answer_at *at, union answer_value *ret)
{
    const struct fleet_note *n = ((const struct fleet_host *)at->record)->host_note;
    const struct told_fleet *told = at->context;
    ret->at.ms = n ? told->f->at.ms - n->silent_ms : 0;
    return n && n->silent && n->silent_ms;
}

static bool make_expected(const struct answer_at *at, union answer_value *ret)
{
    const struct fleet_note *n = ((const struct fleet_host *)at->record)->host_note;
    ret->number = n ? n->expected_gpus : -1;
    return ret->number >= 0;
}

static bool make_ahead(const struct answer_at *at, union answer_value *ret)
{
    const struct fleet_note *n = ((const struct fleet_host *)at->record)->host_note;
    ret->real = n ? (double)n->ahead_ms * 1e-3 : 0;
    return ret->real != 0;
}

static enum reading_state numbers_now(const void *record)
{
    return ((const struct fleet_host *)record)->old ? READING_UNREAD : READING_OK;
}

ANSWER_TABLE(last_answer, struct fleet_host)
{
    FIELD(INT, "gpu_count", all, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "memory_used_mb", used_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "memory_total_mb", total_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "temperature_celsius", temp_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(host_answer, struct fleet_host, .name = "FleetHost")
{
    FIELD(WORD, "host", name, NULL, FOREIGN, COUNTS);
    FIELD(NAME, "trouble", state, TROUBLE, NAMES(states), OPEN, COUNTS);
    VIA(KEYS, NULL, first, first_answer, NULL);
    FIELD(TEXT, "note", note, "The worst problem; null: none", OR_NULL, FOREIGN, COUNTS);
    MADE(MOMENT, "last_seen_at", make_last_seen, "Of a silent one", OR_NULL);
    MADE(INT, "gpus_expected", make_expected, "By `fleet.expect`; null: not set", OR_NULL);
    MADE(NUMBER, "clock_ahead_seconds", make_ahead, "Against the database; null: correct, or unknown", OR_NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1), .state = numbers_now, COUNTS);
    FIELD(READING, "memory_used_mb", used_bytes, NULL, SCALE(PER_MIB), .state = numbers_now, COUNTS);
    FIELD(READING, "memory_total_mb", total_bytes, NULL, SCALE(PER_MIB), .state = numbers_now, COUNTS);
    FIELD(READING, "temperature_celsius", temp_mdegc, NULL, SCALE(1e-3), .state = numbers_now, COUNTS);
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3), .state = numbers_now, COUNTS);
    PART("last_known", last_answer, "The last numbers of a host that does not answer; null: it does", PRESENT(old));
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
}

ANSWER_TABLE(counts_answer, struct fleet)
{
    FIELD(INT, "gpu_count", gpu_count, NULL, COUNTS);
    FIELD(INT, "hosts_not_answering", silent, NULL, COUNTS);
    FIELD(INT, "gpus_missing", missing, NULL);
    FIELD(INT, "clocks_off", clocks_off, NULL);
}

static const void *next_host(const struct answer_at *at, struct answer_step *step)
{
    const struct told_fleet *told = at->record;
    while (told->only_trouble && step->at < told->count && !told->hosts[step->at].state)
        step->at++;
    return step->at < told->count ? &told->hosts[step->at++] : NULL;
}

SHARED_ANSWER_TABLE(fleet_status_answer, struct told_fleet, .name = "FleetStatus")
{
    FIELD(TEXT, "answer", answer, NULL, FOREIGN, COUNTS);
    VIA(KEYS, NULL, f, counts_answer, NULL);
    EACH(OBJECT, "hosts", next_host, "Worst first, with their GPUs", FIELDS(host_answer));
}

static struct told_fleet told_fleet(const struct fleet *f, bool only_trouble)
{
    struct told_fleet told = {.f = f, .only_trouble = only_trouble};
    fleet_answer(f, told.answer, sizeof told.answer);
    told.hosts = fleet_hosts(f, &told.count);
    told.count = told.hosts ? told.count : 0;
    return told;
}

static void write_status(struct json_writer *j, const struct fleet *f, bool only_trouble)
{
    struct told_fleet told = told_fleet(f, only_trouble);
    answer_write(j, &fleet_status_answer, &told, &told);
    free(told.hosts);
}

void fleet_json_status(struct json_writer *j, const struct fleet *f)
{
    write_status(j, f, false);
}

void fleet_json_why(struct json_writer *j, const struct fleet *f)
{
    write_status(j, f, true);
}

struct told_fit {
    bool fits, known;
    int64_t size_bytes;
    const struct fleet_gpu *list;
    size_t count;
};

ANSWER_TABLE(fit_answer, struct told_fit)
{
    FIELD(BOOL, "fits", fits, NULL, PRESENT(known));
    FIELD(AMOUNT, "size_mb", size_bytes, NULL, SCALE(PER_MIB));
    OBJECTS("gpus", list, count, gpu_answer, NULL);
}

bool fleet_json_fit(struct json_writer *j, const struct fleet *f, const struct fleet_view *v)
{
    size_t count;
    AUTO_FREE struct fleet_gpu *list = fleet_fitting(f, v->size_bytes, &count);
    bool fits = count > 0;
    answer_write(j, &fit_answer,
                 &(struct told_fit){fits, fits || !fleet_unknown_room(f, v->size_bytes), v->size_bytes, list, list ? count : 0},
                 NULL);
    return fits;
}

/* ---- who uses how much ---- */

ANSWER_TABLE(usage_answer, struct fleet_process)
{
    FIELD(READING, "memory_mb", mem_bytes, NULL, SCALE(PER_MIB));
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(row_answer, struct fleet_process, .name = "FleetProcess")
{
    FIELD(TEXT, "host", host, NULL);
    FIELD(TEXT, "gpu", gpu, NULL);
    FIELD(TEXT, "name", process, NULL);
    FIELD(TEXT, "container", container, NULL, OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    FIELD(TEXT, "pod", pod, NULL, OR_NULL);
    FIELD(TEXT, "job", job, NULL, OR_NULL);
    KEYS(usage_answer);
}

struct told_sum {
    const struct fleet_process *p;
    const char *key;
    bool is[FLEET_BY_COUNT];
};

ANSWER_TABLE(sum_answer, struct told_sum, .name = "FleetUser")
{
    for (size_t by = FLEET_BY_USER; by < FLEET_BY_COUNT; by++)
        FIELD(WORD, fleet_by_words[by].key, key, NULL, PRESENT(is[by]), MAYBE, GAPS);
    VIA(KEYS, NULL, p, usage_answer, NULL);
}

struct told_use {
    bool simulated, is[FLEET_BY_COUNT];
    struct fleet_process *list;
    struct told_sum *sums;
    size_t count;
};

ANSWER_TABLE(use_answer, struct told_use, .name = "FleetUse")
{
    FIELD(BOOL, "simulated", simulated, NULL, PRESENT(simulated), MAYBE);
    OBJECTS("processes", list, count, row_answer, NULL, PRESENT(is[FLEET_BY_NONE]), MAYBE);
    for (size_t by = FLEET_BY_USER; by < FLEET_BY_COUNT; by++)
        OBJECTS(fleet_by_words[by].list, sums, count, sum_answer, NULL, PRESENT(is[by]), MAYBE);
}

static struct told_use told_use(const struct fleet *f, const struct fleet_view *v)
{
    size_t count;
    struct told_use told = {.simulated = f->simulated, .list = fleet_processes(f, v, &count)};
    told.sums = told.list ? calloc(count + 1, sizeof *told.sums) : NULL;
    told.count = told.sums ? count : 0;
    told.is[v->by] = true;
    for (size_t i = 0; i < told.count; i++) {
        told.sums[i] = (struct told_sum){.p = &told.list[i], .key = fleet_key(&told.list[i], v->by)};
        told.sums[i].is[v->by] = true;
    }
    return told;
}

static void use_done(struct told_use *told)
{
    free(told->list);
    free(told->sums);
}

void fleet_json_ps(struct json_writer *j, const struct fleet *f, const struct fleet_view *v)
{
    struct told_use told = told_use(f, v);
    answer_write(j, &use_answer, &told, NULL);
    use_done(&told);
}

/* ---- energy ---- */

struct told_billed {
    const char *key;
    double joules, cost;
    bool priced, is[FLEET_BY_COUNT];
};

ANSWER_TABLE(billed_answer, struct told_billed, .name = "FleetBilled")
{
    for (size_t by = FLEET_BY_USER; by < FLEET_BY_COUNT; by++)
        FIELD(WORD, fleet_by_words[by].key, key, NULL, PRESENT(is[by]), MAYBE, GAPS);
    FIELD(NUMBER, "energy_joules", joules, NULL);
    FIELD(NUMBER, "cost", cost, "null: no price is set", PRESENT(priced));
}

struct told_bill {
    const struct fleet_bill *of;
    double joules;
    struct told_billed *list;
    size_t count;
    bool is[FLEET_BY_COUNT];
};

ANSWER_TABLE(head_answer, struct fleet_bill)
{
    FIELD(AMOUNT, "span_seconds", span_ms, NULL, SCALE(1e-3), WHOLE);
    FIELD(NUMBER, "price_per_kwh", price_per_kwh, NULL);
    FIELD(WORD, "currency", currency, NULL);
}

ANSWER_TABLE(bill_answer, struct told_bill, .name = "FleetBill")
{
    VIA(KEYS, NULL, of, head_answer, NULL);
    FIELD(NUMBER, "energy_joules", joules, NULL);
    for (size_t by = FLEET_BY_USER; by < FLEET_BY_COUNT; by++)
        OBJECTS(fleet_by_words[by].list, list, count, billed_answer, NULL, PRESENT(is[by]), MAYBE);
}

static struct told_bill told_bill(const struct fleet_bill *bill)
{
    enum fleet_by by = bill->by ? bill->by : FLEET_BY_HOST;
    struct told_bill told = {.of = bill, .list = calloc(bill->count + 1, sizeof *told.list)};
    told.count = told.list ? bill->count : 0;
    told.is[by] = true;
    for (size_t i = 0; i < told.count; i++) {
        const struct fleet_energy *e = &bill->list[i];
        told.list[i] = (struct told_billed){.key = e->name, .joules = e->joules, .priced = bill->price_per_kwh > 0};
        told.list[i].cost = e->joules / JOULES_PER_KWH * bill->price_per_kwh;
        told.list[i].is[by] = true;
        told.joules += e->joules;
    }
    return told;
}

void fleet_json_bill(struct json_writer *j, const struct fleet_bill *bill)
{
    struct told_bill told = told_bill(bill);
    answer_write(j, &bill_answer, &told, NULL);
    free(told.list);
}

/* ---- all of it ---- */

struct told_all {
    struct told_fleet status;
    struct told_use by_user, by_container;
    struct told_bill by_host_energy, by_user_energy;
};

SHARED_ANSWER_TABLE(fleet_now_answer, struct told_all, .name = "FleetNow")
{
    FIELD(OBJECT, "status", status, "As `whirr status --fleet URL --json`", FIELDS(fleet_status_answer));
    FIELD(OBJECT, "by_user", by_user, "As `whirr ps --fleet URL --by user --json`", FIELDS(use_answer));
    FIELD(OBJECT, "by_container", by_container, "As `whirr ps --fleet URL --by container --json`", FIELDS(use_answer));
    FIELD(OBJECT, "energy_by_host", by_host_energy,
          "As `whirr report --fleet URL --json`, of the last 24 hours; null: the database could not say", FIELDS(bill_answer),
          PRESENT(by_host_energy.of));
    FIELD(OBJECT, "energy_by_user", by_user_energy, "The same by user", FIELDS(bill_answer), PRESENT(by_user_energy.of));
}

void fleet_json_now(struct json_writer *j, const struct fleet *f, const struct fleet_bill *by_host,
                    const struct fleet_bill *by_user)
{
    struct told_all told = {.status = told_fleet(f, false),
                            .by_user = told_use(f, &(struct fleet_view){.all = true, .by = FLEET_BY_USER}),
                            .by_container = told_use(f, &(struct fleet_view){.all = true, .by = FLEET_BY_CONTAINER})};
    if (by_host)
        told.by_host_energy = told_bill(by_host);
    if (by_user)
        told.by_user_energy = told_bill(by_user);
    answer_write(j, &fleet_now_answer, &told, &told.status);
    free(told.status.hosts);
    use_done(&told.by_user);
    use_done(&told.by_container);
    free(told.by_host_energy.list);
    free(told.by_user_energy.list);
}
