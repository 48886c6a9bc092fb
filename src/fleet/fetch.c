/* SPDX-License-Identifier: Apache-2.0
 * PromQL over HTTP: the queries, and parsing their answers.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "fleet/fleet.h"
#include "fleet/promql.h"

enum fleet_question {
    FLEET_SUMS,
    FLEET_TROUBLE,
    FLEET_GPUS_DOWN,
    FLEET_GPUS,
    FLEET_UTIL,
    FLEET_USED,
    FLEET_TOTAL,
    FLEET_FREE,
    FLEET_DIVIDED,
    FLEET_TEMP,
    FLEET_POWER,
    FLEET_FINDINGS,
    FLEET_ODD,
    FLEET_HERE,
    FLEET_STALE,
    FLEET_SEEN,
    FLEET_DOWN,
    FLEET_CLOCK,
    FLEET_PROCESS_MEMORY,
    FLEET_PROCESS_UTIL,
    FLEET_PROCESS_POWER,
    FLEET_PROCESS_LIMIT,
    FLEET_QUESTIONS
};

/* Dropping unneeded labels shrinks an answer to a third. One query per name, because a database has to merge results of several. */
#define OF_A_GPU(series) "max by (host,instance,gpu,uuid,mig_uuid,profile) (" series ")"
/* Hosts of the last day, for databases that don't list series. */
#define SEEN "count by (host,instance,machine) (present_over_time(whirr_build_info[1d]))"
/* How often a host usually comes: by its own clock, at each sample; one of an older version, by the number of them in five minutes.
 */
#define OFTEN                                                                                                 \
    "max by (host,instance) ((max_over_time(whirr_time_seconds[5m]) - min_over_time(whirr_time_seconds[5m]))" \
    " / (count_over_time(whirr_time_seconds[5m]) - 1)) or 300 / max by (host,instance) (count_over_time(whirr_build_info[5m]))"
/* Hosts that a database still shows, for five minutes, although they have been silent for twice their usual interval. One whose
 * clock is behind seems late, so it gets those five minutes. */
#define STALE                                                                                                                    \
    "time() - max by (host,instance,machine) (timestamp(whirr_build_info)) > on (host,instance) group_left () (15 + 2 * (" OFTEN \
    ")) unless on (host,instance) whirr_push_clock_ahead_seconds <= -10"
/* A scrape has the database's timestamp and so reveals the host's clock; for hosts that push, the receiver's does. */
#define CLOCK "(whirr_time_seconds - timestamp(whirr_time_seconds) or whirr_push_clock_ahead_seconds)"
#define FINDINGS(series) "max by (host,instance,gpu,uuid,code,severity,process,likelihood,held,tense) (" series ")"
#define PROCESS_LABELS "host,instance,gpu,uuid,mig_uuid,process,user,container,namespace,pod,hpc_job"
/* Adds up the processes of a group, unless they were scraped twice under one address. */
#define OF_A_PROCESS(series) "max by (" PROCESS_LABELS ") (sum without (pid) (" series "{process!=\"(unattributed)\"}))"

static const struct {
    const char *query;
    unsigned wants; /* needed if any of these is wanted */
} questions[FLEET_QUESTIONS] = {
    [FLEET_SUMS] = {"{__name__=~\"whirr_host_gpu.+\"}", FLEET_WANT_SUMS},
    [FLEET_TROUBLE] = {FINDINGS(
                           "whirr_finding{severity!=\"info\"} or whirr_finding{code=~\"context_held|vram_held\",held=\"true\"}"),
                       FLEET_WANT_SUMS},
    [FLEET_GPUS_DOWN] = {"gpu_up == 0", FLEET_WANT_SUMS},
    [FLEET_GPUS] = {"gpu_up", FLEET_WANT_GPUS},
    [FLEET_UTIL] = {OF_A_GPU("gpu_utilization_percent"), FLEET_WANT_GPUS},
    [FLEET_USED] = {OF_A_GPU("gpu_memory_used_bytes"), FLEET_WANT_HOSTS},
    [FLEET_TOTAL] = {OF_A_GPU("gpu_memory_total_bytes"), FLEET_WANT_HOSTS},
    [FLEET_FREE] = {OF_A_GPU("gpu_memory_free_bytes"), FLEET_WANT_ROOM},
    [FLEET_DIVIDED] = {OF_A_GPU("gpu_mig_enabled == 1"), FLEET_WANT_ROOM},
    [FLEET_TEMP] = {OF_A_GPU("gpu_temperature_celsius"), FLEET_WANT_HOSTS},
    [FLEET_POWER] = {OF_A_GPU("gpu_power_watts"), FLEET_WANT_HOSTS},
    [FLEET_FINDINGS] = {FINDINGS("whirr_finding"), FLEET_WANT_GPUS},
    /* What the recording rules of packaging/prometheus found, if the database has them. */
    [FLEET_ODD] = {"{__name__=~\"gpu:odd_.+\"}", FLEET_WANT_HOSTS | FLEET_WANT_SUMS},
    /* Hosts that push have no `up`, and scraped ones have no name once they are down. */
    [FLEET_HERE] = {"max by (host,instance,machine) (whirr_build_info)", FLEET_WANT_ALL | FLEET_WANT_SUMS},
    [FLEET_STALE] = {STALE, FLEET_WANT_ALL | FLEET_WANT_SUMS},
    [FLEET_SEEN] = {SEEN, FLEET_WANT_HOSTS | FLEET_WANT_SUMS},
    [FLEET_DOWN] = {"up{job=~\".*whirr.*\"} == 0", FLEET_WANT_HOSTS | FLEET_WANT_SUMS},
    [FLEET_CLOCK] = {CLOCK " >= 30 or " CLOCK " <= -30", FLEET_WANT_HOSTS | FLEET_WANT_SUMS},
    [FLEET_PROCESS_MEMORY] = {OF_A_PROCESS("gpu_process_memory_bytes"), FLEET_WANT_PROCESSES},
    [FLEET_PROCESS_UTIL] = {OF_A_PROCESS("gpu_process_utilization_percent"), FLEET_WANT_PROCESSES},
    [FLEET_PROCESS_POWER] = {OF_A_PROCESS("gpu_process_power_watts"), FLEET_WANT_PROCESSES},
    [FLEET_PROCESS_LIMIT] = {"max by (" PROCESS_LABELS ",limit) (gpu_process_limit{hpc_job!=\"\"})", FLEET_WANT_LIMITS},
};

/* The destination of an answer. */
struct taking {
    struct fleet *fleet;
    struct fleet_silence silence;
    enum fleet_question question;
    bool sums; /* GPUs are there only as far as they are in trouble */
    size_t gpu_capacity, process_capacity;
};

static struct fleet_gpu *fetch_find(const struct fleet *f, const struct vector_row *row)
{
    return fleet_find(f, vector_host(row), vector_label(row, "gpu"), vector_label(row, "uuid"));
}

static void copy(char *to, size_t size, const char *text)
{
    str_copy_clean(to, size, str_from(text));
}

static int take_gpu(struct taking *t, const struct vector_row *row)
{
    struct fleet *f = t->fleet;
    if (!ROOM_FOR_ONE(f->gpus, f->gpu_count, t->gpu_capacity, 64))
        return -ENOMEM;
    struct fleet_gpu *g = &f->gpus[f->gpu_count++];
    *g = (struct fleet_gpu){.up = row->value != 0};
    copy(g->host, sizeof g->host, vector_host(row));
    copy(g->gpu, sizeof g->gpu, vector_label(row, "gpu"));
    copy(g->uuid, sizeof g->uuid, vector_label(row, "uuid"));
    copy(g->name, sizeof g->name, vector_label(row, "name"));
    copy(g->instance, sizeof g->instance, vector_label(row, "instance"));
    return 0;
}

static struct reading scaled(double value, double scale)
{
    double whole = value * scale;
    return fabs(whole) < 9e18 ? reading_ok((int64_t)llround(whole)) : reading_absent(READING_FAILED);
}

static void take_reading(struct fleet_gpu *g, enum fleet_question question, double value)
{
    switch (question) {
    case FLEET_UTIL: g->util_permille = scaled(value, 10); return;
    case FLEET_USED: g->used_bytes = scaled(value, 1); return;
    case FLEET_TOTAL: g->total_bytes = scaled(value, 1); return;
    case FLEET_FREE: g->free_bytes = scaled(value, 1); return;
    case FLEET_TEMP: g->temp_mdegc = scaled(value, 1000); return;
    case FLEET_POWER: g->power_mw = scaled(value, 1000); return;
    default: return;
    }
}

void fleet_pod_name(const char *space, const char *pod, char *to, size_t size)
{
    char text[2 * PROCESS_CONTAINER_NAME_SIZE];
    snprintf(text, sizeof text, "%.159s%s%.159s", pod[0] ? space : "", pod[0] && space[0] ? "/" : "", pod);
    copy(to, size, text);
}

/* The figures of a group arrive in one series each; they are joined at the end. */
static int take_process(struct taking *t, const struct vector_row *row)
{
    struct fleet *f = t->fleet;
    if (!ROOM_FOR_ONE(f->processes, f->process_count, t->process_capacity, 64))
        return -ENOMEM;
    struct fleet_process *p = &f->processes[f->process_count++];
    const char *pod = vector_label(row, "pod");
    *p = (struct fleet_process){0};
    copy(p->host, sizeof p->host, vector_host(row));
    copy(p->gpu, sizeof p->gpu, vector_label(row, "gpu"));
    copy(p->uuid, sizeof p->uuid, vector_label(row, "uuid"));
    p->instance = instance_route(vector_label(row, "instance"));
    copy(p->process, sizeof p->process, vector_label(row, "process"));
    copy(p->user, sizeof p->user, vector_label(row, "user"));
    copy(p->container, sizeof p->container, pod[0] ? pod : vector_label(row, "container"));
    fleet_pod_name(vector_label(row, "namespace"), pod, p->pod, sizeof p->pod);
    copy(p->job, sizeof p->job, vector_label(row, "hpc_job"));
    switch (t->question) {
    case FLEET_PROCESS_MEMORY: p->mem_bytes = scaled(row->value, 1); break;
    case FLEET_PROCESS_UTIL: p->util_permille = scaled(row->value, 10); break;
    case FLEET_PROCESS_LIMIT:
        if (limit_from_name(vector_label(row, "limit"), &p->limit))
            p->limit_permille = reading_or(scaled(row->value, 1000), 0);
        break;
    default: p->power_mw = scaled(row->value, 1000); break;
    }
    return 0;
}

/* A partitioned GPU counts as a whole, except for the room in its instances. */
static int take_instance(struct taking *t, const struct vector_row *row)
{
    bool about_room = t->question == FLEET_FREE || t->question == FLEET_UTIL;
    struct fleet_gpu *g = about_room ? fetch_find(t->fleet, row) : NULL;
    struct fleet_instance *one =
        g ? fleet_instance_of(t->fleet, g, vector_label(row, "mig_uuid"), vector_label(row, "profile")) : NULL;
    if (!one)
        return g ? -ENOMEM : 0;
    if (t->question == FLEET_UTIL) {
        one->util_permille = scaled(row->value, 10);
        return 0;
    }
    one->free_bytes = scaled(row->value, 1);
    if (row->value > (double)reading_or(g->instance_free_bytes, -1))
        g->instance_free_bytes = one->free_bytes;
    return 0;
}

/* The previous answer contained its instances: without any, nothing can be placed on it. */
static void take_divided(struct fleet_gpu *g)
{
    g->divided = true;
    if (g->instance_free_bytes.state != READING_OK)
        g->instance_free_bytes = reading_ok(0);
}

static struct fleet_gpu *find_or_add(struct taking *t, const struct vector_row *row)
{
    return fleet_find_or_add(t->fleet, &t->gpu_capacity, vector_host(row), vector_label(row, "gpu"), vector_label(row, "uuid"));
}

/* Lost, even without a finding. */
static int take_gpu_down(struct taking *t, const struct vector_row *row)
{
    struct fleet_gpu *g = find_or_add(t, row);
    if (g)
        g->up = false;
    return g ? 0 : -ENOMEM;
}

static int take_finding(struct taking *t, const struct vector_row *row)
{
    struct fleet_finding finding = {.code = vector_label(row, "code"),
                                    .process = vector_label(row, "process"),
                                    .headline = "",
                                    .confidence = likelihood_confidence(vector_label(row, "likelihood")),
                                    .held = strcmp(vector_label(row, "held"), "true") == 0,
                                    .tense = tense_from_name(vector_label(row, "tense"))};
    if (!finding.code[0] || !severity_from_text(vector_label(row, "severity"), &finding.severity))
        return 0;
    if (vector_label(row, "gpu")[0]) {
        struct fleet_gpu *g = t->question == FLEET_TROUBLE ? find_or_add(t, row) : fetch_find(t->fleet, row);
        if (g)
            fleet_findings_add(&g->findings, &finding);
        return g || t->question != FLEET_TROUBLE ? 0 : -ENOMEM;
    }
    struct fleet_note *n = fleet_note_of(t->fleet, vector_host(row));
    if (n)
        fleet_findings_add(&n->findings, &finding);
    return n ? 0 : -ENOMEM;
}

static int take_odd(struct taking *t, const struct vector_row *row)
{
    struct fleet_gpu *g = t->sums ? find_or_add(t, row) : fetch_find(t->fleet, row);
    if (!g)
        return t->sums ? -ENOMEM : 0;
    const char *name = vector_label(row, "__name__");
    int64_t *to = strcmp(name, "gpu:odd_watts") == 0      ? &g->odds.watts_permille
                  : strcmp(name, "gpu:odd_celsius") == 0  ? &g->odds.celsius
                  : strcmp(name, "gpu:odd_hertz") == 0    ? &g->odds.hertz_permille
                  : strcmp(name, "gpu:odd_siblings") == 0 ? &g->odds.siblings
                                                          : NULL;
    bool share = to == &g->odds.watts_permille || to == &g->odds.hertz_permille;
    if (to)
        *to = MAX_OF(reading_or(scaled(row->value, share ? 1000 : 1), 0), (int64_t)0);
    copy(g->name, sizeof g->name, vector_label(row, "name"));
    copy(g->odds.process, sizeof g->odds.process, vector_label(row, "process"));
    return 0;
}

static int fetch_take_row(void *user, const struct vector_row *row)
{
    struct taking *t = user;
    struct fleet_gpu *g;
    if (vector_label(row, "mig_uuid")[0])
        return take_instance(t, row);
    switch (t->question) {
    case FLEET_GPUS: return take_gpu(t, row);
    case FLEET_PROCESS_MEMORY:
    case FLEET_PROCESS_UTIL:
    case FLEET_PROCESS_POWER:
    case FLEET_PROCESS_LIMIT: return take_process(t, row);
    case FLEET_TROUBLE:
    case FLEET_FINDINGS: return take_finding(t, row);
    case FLEET_GPUS_DOWN: return take_gpu_down(t, row);
    case FLEET_ODD: return take_odd(t, row);
    case FLEET_SUMS: return sums_take(t->fleet, row);
    case FLEET_HERE: return seen_add(&t->silence.here, row);
    case FLEET_STALE: return seen_add(&t->silence.stale, row);
    case FLEET_SEEN: return seen_add(&t->silence.seen, row);
    case FLEET_DOWN: return seen_add(&t->silence.down, row);
    case FLEET_CLOCK:
        return fleet_compare_clock(t->fleet, vector_host(row), llround(fmax(fmin(row->value, 1e12), -1e12) * MS_PER_S));
    default: break;
    }
    if (!(g = fetch_find(t->fleet, row)))
        return 0;
    if (t->question == FLEET_DIVIDED)
        take_divided(g);
    else
        take_reading(g, t->question, row->value);
    return 0;
}

/* A few queries at a time: a database uses one core for most of them. */
enum { AT_A_TIME = 3 };

struct asking {
    const struct fleet_place *place;
    enum fleet_question asked[FLEET_QUESTIONS];
    size_t count;
    _Atomic size_t next;
    _Atomic bool given_up;
    struct {
        struct buf answer;
        struct error err;
        int rc;
        bool series; /* the answer is a list of series, not of values */
    } of[FLEET_QUESTIONS];
};

/* An index lists the series of a week; reading their samples would take long. Databases or proxies that don't list series are
 * queried for one day. */
static int ask_seen(struct asking *a, size_t q)
{
    char path[128];
    snprintf(path, sizeof path, "series?match%%5B%%5D=whirr_build_info&start=%lld",
             (long long)(clock_wall(a->place->env->clock).ms / MS_PER_S - SILENCE_DAYS * 86400LL));
    int rc = fleet_get(a->place, path, &a->of[q].answer, &a->of[q].err);
    a->of[q].series = rc == 0;
    if (rc != -EIO)
        return rc;
    a->of[q].answer.len = 0;
    return fleet_ask(a->place, questions[FLEET_SEEN].query, NULL, &a->of[q].answer, &a->of[q].err);
}

static int ask(struct asking *a, size_t q)
{
    if (a->given_up)
        return -ECANCELED;
    a->of[q].answer = BUF(FLEET_ANSWER_MAX);
    int rc = a->asked[q] == FLEET_SEEN ? ask_seen(a, q)
                                       : fleet_ask(a->place, questions[a->asked[q]].query, NULL, &a->of[q].answer, &a->of[q].err);
    if (rc < 0)
        a->given_up = true; /* the others would fail, too, after the same wait */
    return rc;
}

static void *ask_next(void *arg)
{
    struct asking *a = arg;
    for (size_t q; (q = atomic_fetch_add(&a->next, 1)) < a->count;)
        a->of[q].rc = ask(a, q);
    return NULL;
}

/* Reports the first query that failed on its own. */
static int take_answers(struct asking *a, struct fleet *f, struct error *err)
{
    int rc = 0;
    for (size_t q = 0; q < a->count; q++)
        if (a->of[q].rc < 0 && (rc == 0 || rc == -ECANCELED)) {
            rc = a->of[q].rc;
            *err = a->of[q].err;
        }
    struct taking t = {.fleet = f, .sums = a->asked[0] == FLEET_SUMS};
    for (size_t q = 0; q < a->count && rc == 0; q++) {
        t.question = a->asked[q];
        rc = (a->of[q].series ? vector_read_series : vector_read)(&a->of[q].answer, fetch_take_row, &t);
        if (rc == 0 && (t.question == FLEET_GPUS || t.question == FLEET_GPUS_DOWN))
            rc = fleet_index(f);
        rc = fleet_misunderstood(rc, err);
    }
    if (rc == 0)
        rc = fleet_misunderstood(silence_drop(&t.silence, f), err);
    if (rc == 0 && a->asked[0] == FLEET_SUMS)
        rc = sums_settle(f, &t.silence);
    if (rc == 0)
        fleet_join_processes(f);
    if (rc == 0)
        rc = fleet_misunderstood(silence_find(a->place, &t.silence, f), err);
    silence_done(&t.silence);
    return rc;
}

static int fetch_all(const struct fleet_place *place, unsigned wants, struct fleet *f, struct error *err)
{
    struct asking a = {.place = place};
    for (size_t q = 0; q < FLEET_QUESTIONS; q++)
        if (questions[q].wants & wants)
            a.asked[a.count++] = (enum fleet_question)q;
    pthread_t threads[AT_A_TIME - 1];
    size_t started = 0;
    while (started < ARRAY_LEN(threads) && pthread_create(&threads[started], NULL, ask_next, &a) == 0)
        started++;
    ask_next(&a);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int rc = take_answers(&a, f, err);
    for (size_t q = 0; q < a.count; q++)
        buf_done(&a.of[q].answer);
    return rc;
}

/* A table of hosts needs no single GPU's figures if all hosts export their sums. */
static int fetch(const struct fleet_place *place, unsigned wants, struct fleet *f, struct error *err)
{
    int rc = wants == FLEET_WANT_HOSTS ? fetch_all(place, FLEET_WANT_SUMS, f, err) : -EAGAIN;
    if (rc != -EAGAIN)
        return rc;
    fleet_done(f);
    return fetch_all(place, wants, f, err);
}

int fleet_fetch(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err)
{
    *ret = (struct fleet){0};
    int rc = fleet_is_sql(place) ? fleet_fetch_sql(place, wants, ret, err) : fetch(place, wants, ret, err);
    if (rc == 0)
        rc = fleet_misunderstood(fleet_distinguish_names(ret), err);
    if (rc == 0 && wants & FLEET_WANT_HOSTS)
        rc = fleet_misunderstood(fleet_expect(ret, place->settings ? &place->settings->expect : NULL), err);
    ret->at = clock_wall(place->env->clock);
    if (rc == 0) {
        fleet_leave_out(ret, place);
        fleet_settle(ret);
    } else {
        fleet_done(ret);
    }
    return rc;
}

void fleet_done(struct fleet *f)
{
    free(f->gpus);
    free(f->instances);
    free(f->sums);
    free(f->processes);
    free(f->notes);
    free(f->slots);
    *f = (struct fleet){0};
}
