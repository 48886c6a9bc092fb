/* SPDX-License-Identifier: Apache-2.0
 * The processes' part of the report: adds every minute of every process, or every hour if the minutes have expired, to its user,
 * container, pod, job, command and model, and to its limit at that time. Rows come in ORDER_BY_TIME_AND_GPU.
 */
#include "past/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/facts/levels.h"

/* ---- how long a group was on GPUs ---- */

enum { MINUTES_AN_HOUR = 60 };

/* The fraction of a minute between two moments: of the first and last minute, only the watched and requested part counts. */
static double presence_within(int64_t minute, int64_t from_ms, int64_t until_ms)
{
    int64_t from = MAX_OF(minute * MINUTE_MS, from_ms), to = MIN_OF((minute + 1) * MINUTE_MS, until_ms);
    return to > from ? (double)(to - from) / MINUTE_MS : 0;
}

static double hours_of(uint64_t minutes)
{
    return (double)__builtin_popcountll(minutes) / MINUTES_AN_HOUR;
}

/* ---- minutes of an hour with partial presence ---- */

/* Parses and removes the next part, "17:3/12". */
static bool next_part(struct str *rest, int *minute, double *part)
{
    struct str word, name;
    int64_t at, samples, of;
    while (str_cut(rest, ' ', &word)) {
        if (!str_cut(&word, ':', &name) || !str_to_i64(name, &at) || !str_cut(&word, '/', &name) || !str_to_i64(name, &samples) ||
            !str_to_i64(word, &of) || at < 0 || at >= MINUTES_AN_HOUR || samples < 0 || of <= samples)
            continue;
        *minute = (int)at;
        *part = (double)samples / (double)of;
        return true;
    }
    return false;
}

typedef int part_fn(void *user, int minute, double part);

/* Removes those minutes from `whole`, and calls `each` with the fraction of each. */
static int take_parts(const struct store_process_hour *hour, int64_t from_ms, uint64_t *whole, part_fn *each, void *user)
{
    struct str rest = hour->partial_minutes;
    int64_t first = hour->hour * MINUTES_AN_HOUR, begins = from_ms / MINUTE_MS - first;
    int minute, rc = 0;
    double part;
    while (rc == 0 && next_part(&rest, &minute, &part)) {
        uint64_t bit = UINT64_C(1) << minute;
        if (*whole & bit)
            rc = each(user, minute, part * presence_within(first + minute, from_ms, INT64_MAX));
        *whole &= ~bit;
    }
    if (rc == 0 && begins >= 0 && begins < MINUTES_AN_HOUR && *whole >> begins & 1) {
        *whole &= ~(UINT64_C(1) << begins);
        rc = each(user, (int)begins, presence_within(first + begins, from_ms, INT64_MAX));
    }
    return rc;
}

static int add_part(void *user, int minute, double part)
{
    (void)minute;
    *(double *)user += part / MINUTES_AN_HOUR;
    return 0;
}

double presence_hours(const struct store_process_hour *hour, uint64_t minutes, int64_t from_ms)
{
    double hours = 0;
    take_parts(hour, from_ms, &minutes, add_part, &hours);
    return hours + hours_of(minutes);
}

/* ---- several processes ---- */

static double upto_whole(uint64_t whole, int minute, double part)
{
    return whole >> minute & 1 ? 0 : part;
}

void presence_end(struct presence *p)
{
    p->hours += p->present / MINUTES_AN_HOUR + hours_of(p->present_minutes);
    p->busy_hours += p->busy / MINUTES_AN_HOUR + hours_of(p->busy_minutes);
    for (size_t i = 0; i < p->part_count; i++) {
        const struct minute_part *m = &p->parts[i];
        p->hours += upto_whole(p->present_minutes, m->minute, m->present) / MINUTES_AN_HOUR;
        p->busy_hours += upto_whole(p->busy_minutes, m->minute, m->busy) / MINUTES_AN_HOUR;
    }
    p->present = p->busy = 0;
    p->present_minutes = p->busy_minutes = 0;
    p->part_count = 0;
}

void presence_done(struct presence *p)
{
    free(p->parts);
    *p = (struct presence){0};
}

/* Finishes the current time and GPU when the next one begins. */
static int move_on(struct presence *p, int64_t minute, int64_t gpu_id)
{
    if (p->order.begun && (p->order.first != minute || p->order.second != gpu_id))
        presence_end(p);
    return order_holds(&p->order, minute, gpu_id);
}

int presence_add_minute(struct presence *p, int64_t minute, int64_t gpu_id, double present, bool busy)
{
    int rc = move_on(p, minute, gpu_id);
    p->present = MAX_OF(p->present, present);
    if (busy)
        p->busy = MAX_OF(p->busy, present);
    return rc;
}

struct part_of_hour {
    struct presence *presence;
    uint64_t busy;
};

static int join_part(void *user, int minute, double part)
{
    const struct part_of_hour *of = user;
    struct presence *p = of->presence;
    size_t i = 0;
    while (i < p->part_count && p->parts[i].minute != minute)
        i++;
    if (i == p->part_count) {
        if (!ROOM_FOR_ONE(p->parts, p->part_count, p->part_capacity, 4))
            return -ENOMEM;
        p->parts[p->part_count++] = (struct minute_part){.minute = minute};
    }
    p->parts[i].present = MAX_OF(p->parts[i].present, part);
    if (of->busy >> minute & 1)
        p->parts[i].busy = MAX_OF(p->parts[i].busy, part);
    return 0;
}

int presence_add_hour(struct presence *p, const struct store_process_hour *hour, int64_t from_ms)
{
    int rc = move_on(p, hour->hour * MINUTES_AN_HOUR, hour->gpu_id);
    uint64_t whole = hour->present_minutes;
    struct part_of_hour of = {p, hour->busy_minutes};
    if (rc == 0)
        rc = take_parts(hour, from_ms, &whole, join_part, &of);
    p->present_minutes |= whole;
    p->busy_minutes |= whole & hour->busy_minutes;
    return rc;
}

/* ---- sums ---- */

/* A group while it is summed up. */
struct report_sum {
    struct report_group group;
    struct presence presence;
    const struct carbon *carbon; /* NULL: unknown */
    /* The current minute or hour: one process of a server has the tokens, all of them have energy. */
    int64_t at, at_mj;
    bool told;
};

/* One minute of one process. */
struct report_minute {
    int64_t minute, process, gpu_id;
    double there;             /* fraction of the GPU's samples in the minute that include it */
    double present;           /* fraction of the minute when it was there */
    int64_t sm, memory, peak; /* means; -1: unknown */
    int64_t energy_mj;
    int64_t unattributed_mj; /* energy of its GPU without a process */
    bool idle, busy;
    bool card_idle; /* no process computed on the GPU */
    enum limit limit;
    struct reading generated_tokens, prompt_tokens, requests, parked_mj;
};

static void end_tokens(struct report_sum *sum)
{
    sum->group.told_mj += sum->told ? sum->at_mj : 0;
    sum->at_mj = 0;
    sum->told = false;
}

/* Adds the tokens of one process in a minute or hour. What its open context costs while nothing runs is no energy of theirs. */
static void add_tokens(struct report_sum *sum, int64_t at, int64_t energy_mj, struct reading parked_mj, struct reading generated,
                       struct reading prompt, struct reading requests)
{
    struct report_group *g = &sum->group;
    if (at != sum->at)
        end_tokens(sum);
    sum->at = at;
    sum->at_mj += energy_mj - reading_or(parked_mj, 0);
    sum->told |= generated.state == READING_OK;
    if (generated.state == READING_OK)
        g->generated_tokens = reading_ok(reading_or(g->generated_tokens, 0) + generated.value);
    if (prompt.state == READING_OK)
        g->prompt_tokens = reading_ok(reading_or(g->prompt_tokens, 0) + prompt.value);
    if (requests.state == READING_OK)
        g->requests = reading_ok(reading_or(g->requests, 0) + requests.value);
}

static void add_parked(struct reading *sum, struct reading parked_mj)
{
    if (parked_mj.state == READING_OK)
        *sum = reading_ok(reading_or(*sum, 0) + parked_mj.value);
}

static void add_energy(struct report_sum *sum, int64_t hour, int64_t energy_mj, struct reading parked_mj)
{
    sum->group.energy_mj += energy_mj;
    add_parked(&sum->group.parked_mj, parked_mj);
    if (sum->carbon)
        carbon_add(sum->carbon, hour, energy_mj, &sum->group.emitted);
}

static int report_sum_minute(struct report_sum *sum, const struct report_minute *m)
{
    struct report_group *g = &sum->group;
    add_energy(sum, m->minute / MINUTES_AN_HOUR, m->energy_mj, m->parked_mj);
    add_tokens(sum, m->minute, m->energy_mj, m->parked_mj, m->generated_tokens, m->prompt_tokens, m->requests);
    g->memory_peak_bytes = MAX_OF(g->memory_peak_bytes, m->peak);
    if (m->memory > 0) {
        double gib_hours = (double)m->memory / (1 << 30) * m->present / 60;
        g->gib_hours += gib_hours;
        g->idle_gib_hours += m->idle ? gib_hours : 0;
    }
    return presence_add_minute(&sum->presence, m->minute, m->gpu_id, m->present, m->busy);
}

/* from_ms: the GPU was not watched before. */
static int report_sum_hour(struct report_sum *sum, const struct store_process_hour *row, int64_t from_ms)
{
    const double gib_hours = (double)(1 << 30) * MINUTES_AN_HOUR;
    sum->group.gib_hours += (double)row->byte_minutes / gib_hours;
    sum->group.idle_gib_hours += (double)row->idle_byte_minutes / gib_hours;
    sum->group.memory_peak_bytes = MAX_OF(sum->group.memory_peak_bytes, row->memory_max_bytes);
    add_energy(sum, row->hour, row->energy_mj, row->parked_mj);
    add_tokens(sum, row->hour * MINUTES_AN_HOUR, row->energy_mj, row->parked_mj, row->generated_tokens, row->prompt_tokens,
               row->requests);
    return presence_add_hour(&sum->presence, row, from_ms);
}

static int by_energy(const void *a, const void *b)
{
    const struct report_group *left = a, *right = b;
    if (left->energy_mj != right->energy_mj)
        return left->energy_mj < right->energy_mj ? 1 : -1;
    return (left->hours < right->hours) - (left->hours > right->hours);
}

/* Moves the sums into the report, most energy first; only limits that occurred. */
static int report_sums_take(struct report *r, enum report_by by, struct report_sum *list, size_t count)
{
    struct report_group *groups = calloc(count ? count : 1, sizeof *groups);
    size_t taken = 0;
    if (!groups)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct presence *presence = &list[i].presence;
        presence_end(presence);
        end_tokens(&list[i]);
        if (by == REPORT_BY_LIMIT && list[i].group.processes == 0)
            continue;
        groups[taken] = list[i].group;
        groups[taken].hours = presence->hours;
        groups[taken++].busy_hours = presence->busy_hours;
    }
    qsort(groups, taken, sizeof *groups, by_energy);
    r->groups[by] = groups;
    r->group_count[by] = taken;
    return 0;
}

/* ---- by limit: a process's energy, and its GPU's unattributed energy meanwhile. A waiting GPU draws power that is not attributed
 * to its process, which computes nothing: this counts that energy, divided among the processes present, each with its limit. ----
 */

struct report_limits {
    struct report_sum sums[LIMIT_COUNT];
    double waited_mj[LIMIT_COUNT]; /* unattributed energy */
    /* The current minute or hour and GPU: its processes share the unattributed energy. */
    int64_t at, gpu_id;
    double unattributed_mj; /* per minute */
    struct limit_use {
        enum limit limit;
        uint64_t minutes; /* one bit per minute */
        double present;   /* fraction of each of them */
    } * uses;
    size_t count, capacity;
};

/* limited_by: one bit per limit of the process; it counts once for each. */
static struct report_sum *sum_of(struct report_limits *l, enum limit limit, uint64_t *limited_by)
{
    struct report_sum *sum = &l->sums[limit];
    uint64_t bit = UINT64_C(1) << limit;
    sum->group.processes += !(*limited_by & bit);
    *limited_by |= bit;
    return sum;
}

/* If a process was alone for a part of a minute, the rest of it belongs to no process. */
static void share_out(struct report_limits *l)
{
    for (int minute = 0; l->unattributed_mj > 0 && minute < 60; minute++) {
        uint64_t bit = UINT64_C(1) << minute;
        double there = 0;
        for (size_t i = 0; i < l->count; i++)
            there += l->uses[i].minutes & bit ? l->uses[i].present : 0;
        for (size_t i = 0; i < l->count; i++)
            if (l->uses[i].minutes & bit)
                l->waited_mj[l->uses[i].limit] += l->unattributed_mj * l->uses[i].present / fmax(there, 1);
    }
    l->count = 0;
}

/* `unattributed_mj`: of the GPU, per minute. */
static int note_use(struct report_limits *l, int64_t at, int64_t gpu_id, double unattributed_mj, struct limit_use use)
{
    if (at != l->at || gpu_id != l->gpu_id)
        share_out(l);
    if (!ROOM_FOR_ONE(l->uses, l->count, l->capacity, 16))
        return -ENOMEM;
    l->at = at;
    l->gpu_id = gpu_id;
    l->unattributed_mj = unattributed_mj;
    l->uses[l->count++] = use;
    return 0;
}

static int report_limits_minute(struct report_limits *l, const struct report_minute *m, uint64_t *limited_by)
{
    int rc = report_sum_minute(sum_of(l, m->limit, limited_by), m);
    const struct limit_use use = {m->limit, 1, m->there};
    return rc < 0 ? rc : note_use(l, m->minute, m->gpu_id, (double)m->unattributed_mj, use);
}

/* The part of an hour that these minutes make up. Held memory is spread evenly over the minutes. */
static struct store_process_hour cut_hour(const struct store_process_hour *row, uint64_t minutes, int64_t energy_mj)
{
    struct store_process_hour part = *row;
    int of = MAX_OF(__builtin_popcountll(row->present_minutes), 1);
    part.present_minutes &= minutes;
    part.busy_minutes &= minutes;
    part.byte_minutes = row->byte_minutes / of * __builtin_popcountll(part.present_minutes);
    part.idle_byte_minutes = row->idle_byte_minutes / of * __builtin_popcountll(part.present_minutes);
    part.energy_mj = energy_mj;
    return part;
}

static int add_limited(struct report_limits *l, const struct store_process_hour *row, const struct store_limit *one,
                       int64_t from_ms, uint64_t *limited_by)
{
    struct store_process_hour part = cut_hour(row, one->minutes, one->energy_mj);
    int rc = report_sum_hour(sum_of(l, one->limit, limited_by), &part, from_ms);
    /* Its distribution over the hour isn't stored. */
    double each_mj = row->watched_ms > 0 ? (double)row->unattributed_mj * MINUTE_MS / (double)row->watched_ms : 0;
    const struct limit_use use = {one->limit, part.present_minutes, 1};
    return rc < 0 ? rc : note_use(l, row->hour, row->gpu_id, each_mj, use);
}

/* The rest of the hour was not judged. */
static int report_limits_hour(struct report_limits *l, const struct store_process_hour *row, int64_t from_ms, uint64_t *limited_by)
{
    struct str rest = row->limits;
    struct store_limit one, left = {LIMIT_UNJUDGED, row->present_minutes, row->energy_mj};
    int rc = 0;
    while (rc == 0 && store_next_limit(&rest, &one)) {
        rc = add_limited(l, row, &one, from_ms, limited_by);
        left.minutes &= ~one.minutes;
        left.energy_mj -= one.energy_mj;
    }
    if (rc < 0 || (left.minutes == 0 && left.energy_mj <= 0))
        return rc;
    left.energy_mj = MAX_OF(left.energy_mj, (int64_t)0);
    return add_limited(l, row, &left, from_ms, limited_by);
}

static int report_limits_take(struct report_limits *l, struct report *r)
{
    share_out(l);
    for (int i = LIMIT_UNJUDGED; i < LIMIT_COUNT; i++) {
        const char *name = limit_name((enum limit)i);
        struct report_group *group = &l->sums[i].group;
        group->limit = (enum limit)i;
        group->energy_mj += (int64_t)l->waited_mj[i];
        str_copy(group->name, sizeof group->name, str_from(name ? name : ""));
    }
    return report_sums_take(r, REPORT_BY_LIMIT, l->sums, LIMIT_COUNT);
}

static void report_limits_done(struct report_limits *l)
{
    for (int i = LIMIT_UNJUDGED; i < LIMIT_COUNT; i++)
        presence_done(&l->sums[i].presence);
    free(l->uses);
}

/* ---- processes ---- */

#define HELD_LEAST_GIB_HOURS 0.25

/* A process with the groups it belongs to. */
struct member {
    int64_t id, gpu_id;
    size_t group[REPORT_BY_LIMIT];
    uint64_t limited_by; /* one bit per limit that it had */
    struct process process;
    int gpu_index;
    int64_t from_ms; /* since when its GPU was watched, within the span */
    /* Memory held without computing. */
    double held_hours, held_gib_hours;
    double kept_hours, kept_gib_hours; /* ... while no other process computed on the GPU either */
    int64_t held_since, held_until;
};

struct group_sums {
    struct report_sum *list;
    size_t count, capacity;
};

struct report_work {
    struct report *report;
    int64_t only;
    struct member *members;
    size_t count, capacity;
    struct group_sums by[REPORT_BY_LIMIT];
    struct report_limits limits;
    bool others; /* some runs were left out */
};

static int find_group(struct group_sums *sums, const struct carbon *carbon, const char *name, bool others, size_t *ret)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (sums->list[i].group.others == others && strcmp(sums->list[i].group.name, name) == 0) {
            *ret = i;
            return 0;
        }
    }
    if (!ROOM_FOR_ONE(sums->list, sums->count, sums->capacity, 64))
        return -ENOMEM;
    struct report_sum *sum = &sums->list[sums->count];
    *sum = (struct report_sum){.group.others = others, .carbon = carbon};
    str_copy(sum->group.name, sizeof sum->group.name, str_from(name));
    *ret = sums->count++;
    return 0;
}

static int join_groups(struct report_work *w, struct member *m, bool others)
{
    char command[PROCESS_WORDS] = "", pod[PROCESS_CONTAINER_NAME_SIZE];
    process_pod(&m->process, pod, sizeof pod);
    if (process_title(&m->process)[0])
        process_words(&m->process, SHORT_NAME, command);
    const char *names[REPORT_BY_LIMIT] = {m->process.user, process_container(&m->process), pod, m->process.job, command,
                                          m->process.model};
    for (int by = 0; by < REPORT_BY_LIMIT; by++) {
        if (find_group(&w->by[by], w->report->carbon, others ? "" : names[by], others, &m->group[by]) < 0)
            return -ENOMEM;
        w->by[by].list[m->group[by]].group.processes += !others;
    }
    return 0;
}

/* The same for a GPU and its processes, lest a process be there longer than its GPU. */
static int64_t watched_from(struct report *r, int64_t gpu_id)
{
    const struct report_gpu *gpu = report_gpu_of(r, gpu_id);
    return gpu ? report_watched_from(r, gpu) : r->since.ms;
}

static int note_run(void *user, const struct store_process_run *run)
{
    struct report_work *w = user;
    if (w->count == REPORT_RUNS_MAX) {
        w->others = true;
        return 1;
    }
    if (!ROOM_FOR_ONE(w->members, w->count, w->capacity, 256))
        return -ENOMEM;
    struct member *m = &w->members[w->count];
    *m = (struct member){.id = run->id,
                         .gpu_id = run->gpu_id,
                         .gpu_index = run->gpu_index,
                         .from_ms = watched_from(w->report, run->gpu_id),
                         .process = run->process};
    int rc = join_groups(w, m, false);
    if (rc == 0)
        w->count++;
    return rc;
}

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const struct member *)a)->id, right = ((const struct member *)b)->id;
    return (left > right) - (left < right);
}

static struct member *find_member(const struct report_work *w, int64_t id)
{
    const struct member key = {.id = id};
    return w->count ? bsearch(&key, w->members, w->count, sizeof key, by_id) : NULL;
}

static void add_parked_of(struct report *r, int64_t gpu_id, struct reading parked_mj)
{
    struct report_gpu *gpu = report_gpu_of(r, gpu_id);
    if (gpu)
        add_parked(&gpu->parked_mj, parked_mj);
}

static int add_minute(struct report_work *w, struct member *member, const struct report_minute *m)
{
    int rc = 0;
    add_parked_of(w->report, m->gpu_id, m->parked_mj);
    for (int by = 0; rc == 0 && by < REPORT_BY_LIMIT; by++)
        rc = report_sum_minute(&w->by[by].list[member->group[by]], m);
    if (rc == 0)
        rc = report_limits_minute(&w->limits, m, &member->limited_by);
    if (!m->idle || m->memory < PROCESS_HELD_LEAST_BYTES)
        return rc;
    member->held_hours += m->present / 60;
    member->held_gib_hours += (double)m->memory / (1 << 30) * m->present / 60;
    if (m->card_idle) {
        member->kept_hours += m->present / 60;
        member->kept_gib_hours += (double)m->memory / (1 << 30) * m->present / 60;
    }
    member->held_since = member->held_since ? member->held_since : m->minute * MINUTE_MS;
    member->held_until = (m->minute + 1) * MINUTE_MS;
    return rc;
}

static struct report_minute minute_of(const struct store_process_minute *row)
{
    struct report_minute m = {.minute = row->minute,
                              .process = row->process,
                              .gpu_id = row->gpu_id,
                              .energy_mj = row->energy_mj,
                              .limit = row->limit,
                              .unattributed_mj = row->unattributed_mj,
                              .generated_tokens = row->generated_tokens,
                              .prompt_tokens = row->prompt_tokens,
                              .requests = row->requests,
                              .parked_mj = row->parked_mj};
    int64_t of = row->gpu_samples < 0 ? row->samples : row->gpu_samples;
    m.there = m.present = of > 0 ? MIN_OF((double)row->samples / (double)of, 1.0) : 0; /* none: just some energy */
    m.memory = row->memory_count ? row->memory_sum_bytes / row->memory_count : -1;
    m.peak = row->memory_max_bytes;
    /* If its own share is unknown, use the GPU's load. A missing count means all samples. */
    int64_t cards = row->gpu_util_sum_permille < 0
                        ? -1
                        : row->gpu_util_sum_permille / MAX_OF(row->gpu_util_count < 0 ? of : row->gpu_util_count, (int64_t)1);
    m.sm = row->sm_count ? row->sm_sum_permille / row->sm_count : cards;
    m.idle = m.sm >= 0 && m.sm < PROCESS_IDLE_MAX;
    m.busy = m.sm >= PROCESS_BUSY_LEAST;
    m.card_idle = cards >= 0 && cards < PROCESS_IDLE_MAX;
    return m;
}

/* The owner of a row; NULL: a GPU or host outside of the query. */
static struct member *owner_of(const struct report_work *w, int64_t process, int64_t gpu_id, struct member *others)
{
    struct member *member = find_member(w, process);
    if (member || !w->others || !report_gpu_of(w->report, gpu_id))
        return member;
    return others; /* it did not fit into the list */
}

struct time_walk {
    struct report_work *work;
    struct member *others;
};

static int take_minute(void *user, const struct store_process_minute *row)
{
    struct time_walk *walk = user;
    struct report_minute m = minute_of(row);
    struct member *member = owner_of(walk->work, m.process, m.gpu_id, walk->others);
    if (member)
        m.present *= presence_within(m.minute, member->from_ms, walk->work->report->until.ms);
    return member ? add_minute(walk->work, member, &m) : 0;
}

static int add_hour(struct report_work *w, struct member *member, const struct store_process_hour *row)
{
    int64_t minute = row->hour * MINUTES_AN_HOUR;
    uint64_t held = row->held_minutes;
    double idle = (double)row->idle_byte_minutes / (1 << 30) / MINUTES_AN_HOUR;
    int rc = 0;
    add_parked_of(w->report, row->gpu_id, row->parked_mj);
    for (int by = 0; rc == 0 && by < REPORT_BY_LIMIT; by++)
        rc = report_sum_hour(&w->by[by].list[member->group[by]], row, member->from_ms);
    if (rc == 0)
        rc = report_limits_hour(&w->limits, row, member->from_ms, &member->limited_by);
    if (!held)
        return rc;
    double hours = presence_hours(row, held, member->from_ms);
    member->held_hours += hours;
    member->held_gib_hours += idle;
    member->kept_hours += hours; /* hours don't say what other processes did */
    member->kept_gib_hours += idle;
    member->held_since = member->held_since ? member->held_since : (minute + __builtin_ctzll(held)) * MINUTE_MS;
    member->held_until = (minute + 64 - __builtin_clzll(held)) * MINUTE_MS;
    return rc;
}

static int take_hour(void *user, const struct store_process_hour *row)
{
    struct time_walk *walk = user;
    struct member *member = owner_of(walk->work, row->process, row->gpu_id, walk->others);
    return member ? add_hour(walk->work, member, row) : 0;
}

static int take_groups(struct report_work *w)
{
    int rc = 0;
    for (int by = 0; rc == 0 && by < REPORT_BY_LIMIT; by++)
        rc = report_sums_take(w->report, (enum report_by)by, w->by[by].list, w->by[by].count);
    return rc < 0 ? rc : report_limits_take(&w->limits, w->report);
}

/* What a GPU drew while it only held memory: its idle power for that time. If several processes held some, each pays by its
 * memory. */
static bool idle_energy(const struct report_work *w, const struct member *m, int64_t *ret)
{
    const struct report_gpu *gpu = NULL;
    double all_hours = 0, all_gib_hours = 0;
    for (size_t i = 0; i < w->report->gpu_count; i++)
        if (w->report->gpus[i].id == m->gpu_id)
            gpu = &w->report->gpus[i];
    if (!gpu || gpu->idle_hours <= 0)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->members[i].gpu_id == m->gpu_id) {
            all_hours += w->members[i].kept_hours;
            all_gib_hours += w->members[i].kept_gib_hours;
        }
    /* Together they can't have held it for longer than it idled. */
    double hours = MIN_OF(m->kept_hours, gpu->idle_hours);
    if (all_hours > gpu->idle_hours && all_gib_hours > 0)
        hours = gpu->idle_hours * m->kept_gib_hours / all_gib_hours;
    *ret = (int64_t)((double)gpu->idle_mj / gpu->idle_hours * hours);
    return true;
}

static void take_held(struct report_work *w)
{
    struct report *r = w->report;
    for (size_t i = 0; i < w->count; i++) {
        const struct member *m = &w->members[i];
        if (m->held_gib_hours < HELD_LEAST_GIB_HOURS)
            continue;
        size_t at = r->held_count;
        while (at > 0 && r->held[at - 1].gib_hours < m->held_gib_hours)
            at--;
        if (at == REPORT_HELD_MAX)
            continue;
        size_t last = MIN_OF(r->held_count, (size_t)REPORT_HELD_MAX - 1);
        memmove(&r->held[at + 1], &r->held[at], (last - at) * sizeof r->held[0]);
        r->held[at] = (struct report_held){.gpu_index = m->gpu_index,
                                           .process = m->process,
                                           .hours = m->held_hours,
                                           .gib_hours = m->held_gib_hours,
                                           .since = {m->held_since},
                                           .until = {MIN_OF(m->held_until, r->until.ms)}};
        r->held[at].energy_known = idle_energy(w, m, &r->held[at].energy_mj);
        r->held_count = last + 1;
    }
}

/* Process data expires sooner than the GPUs' energy: minutes, and hours since they are recorded. */
static int find_horizon(struct store *s, struct report *r, struct error *err)
{
    int64_t energy, horizon;
    int rc = store_process_horizon(s, &energy, &horizon, err);
    if (rc < 0)
        return rc;
    if (horizon > r->since.ms && energy && energy < horizon)
        r->processes_from = (struct wall){MIN_OF(horizon, r->until.ms)};
    return 0;
}

int report_processes(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct parallel_query *cards,
                     struct error *err)
{
    struct report_work w = {.report = r, .only = gpu_id};
    struct member others = {.from_ms = r->since.ms};
    const struct store_span span = {.host = host,
                                    .gpu_id = gpu_id,
                                    .since_ms = r->since.ms - r->since.ms % MINUTE_MS,
                                    .until_ms = r->until.ms,
                                    .limit = REPORT_RUNS_MAX + 1};
    int rc = store_process_runs(s, &span, note_run, &w, err);
    if (w.count)
        qsort(w.members, w.count, sizeof *w.members, by_id);
    if (rc == 0 && w.others)
        rc = join_groups(&w, &others, true);
    if (rc == 0)
        rc = store_process_times(s, host, r->since.ms, r->until.ms, take_minute, take_hour, &(struct time_walk){&w, &others}, err);
    if (rc == 0)
        rc = take_groups(&w);
    if (rc == 0)
        rc = parallel_query_end(cards, err);
    if (rc == 0) {
        take_held(&w);
        rc = find_horizon(s, r, err);
    }
    report_limits_done(&w.limits);
    for (int by = 0; by < REPORT_BY_LIMIT; by++) {
        for (size_t i = 0; i < w.by[by].count; i++)
            presence_done(&w.by[by].list[i].presence);
        free(w.by[by].list);
    }
    free(w.members);
    if (rc == -EPROTO)
        return error_set(err, rc, "what processes used was read in another order than asked for");
    return rc == -ENOMEM ? error_set(err, rc, "out of memory") : rc;
}
