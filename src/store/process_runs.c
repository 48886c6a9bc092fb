/* SPDX-License-Identifier: Apache-2.0
 * Runs of processes on GPUs: their memory, load and tokens minute by minute, and the energy attributed to them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"

/* ---- energy that a GPU used while nothing was read or written: its own counter kept counting. It is booked to the GPU and to no
 * process, since nothing recorded which processes ran.
 *
 * Across a restart, both readings must come from the same counter: stored since this boot, not decreased (a reloaded driver starts
 * at 0), and differing by no more than the GPU could have drawn in that time. A counter that was reset and has already passed the
 * old reading again would book too little, never too much. ---- */

enum { SEARCH_BACK_MS = 7 * DAY_MS, GAP_MS = 60000 };

struct last_reading {
    int64_t at_ms, counter_mj; /* at_ms 0: none */
    int64_t booked_mj;         /* from power readings since the counter was read */
};

/* The newest row with a counter value, and the energy booked since that value was read: the counter is read every 30 s, and the
 * rows in between repeat it. */
static int find_last(struct store *s, int64_t gpu_id, int64_t before_ms, struct last_reading *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    const struct raw_words *words = raw_words(s->db->ops->kind, SERIES_GPU);
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT %s, energy_mj, power_mw FROM samples WHERE %s AND %s = $3 AND energy_mj IS NOT NULL ORDER BY %s DESC",
             words->ms, words->span, words->subject, words->time);
    int rc = db_prepare(s->db, sql, &q, err);
    if (rc < 0)
        return rc;
    db_bind_numbers(q, 1, before_ms - SEARCH_BACK_MS, before_ms, gpu_id);
    int64_t later_ms = 0, later_mw = 0;
    while ((rc = db_step(q, err)) == 1) {
        int64_t at_ms = db_i64(q, 0), counter_mj = db_i64(q, 1), power_mw = db_i64_or(q, 2, 0);
        if (ret->at_ms == 0)
            *ret = (struct last_reading){at_ms, counter_mj, 0};
        else if (counter_mj != ret->counter_mj)
            break;
        else if (later_ms - at_ms <= GAP_MS)
            ret->booked_mj += (later_mw + power_mw) / 2 * (later_ms - at_ms) / MS_PER_S;
        later_ms = at_ms;
        later_mw = power_mw;
    }
    if (rc == 1)
        db_reset(q);
    return rc < 0 ? rc : 0;
}

static int put_energy(struct store *s, int64_t gpu_id, const struct energy_share *share, struct error *err)
{
    int rc = partition_ready(s, PARTED_ENERGY, share->minute * MINUTE_MS, err);
    if (rc == 0)
        rc = store_put(s, ST_ENERGY, err, share->minute, gpu_id, share->energy_mj, share->attributed_mj, share->evidence);
    return rc < 0 ? rc : hours_mark(s, share->minute, err);
}

/* Spreads the energy evenly over the time in which it was used: by minutes, or by hours if it was more than a day. */
static int spread(struct store *s, int64_t gpu_id, int64_t since_ms, int64_t until_ms, int64_t energy_mj, struct error *err)
{
    int64_t step_ms = until_ms - since_ms > DAY_MS ? HOUR_MS : MINUTE_MS, given_mj = 0;
    int rc = 0;
    for (int64_t at = since_ms, next; rc == 0 && at < until_ms; at = next) {
        next = MIN_OF(at / step_ms * step_ms + step_ms, until_ms);
        int64_t upto_mj = energy_upto(energy_mj, next - since_ms, until_ms - since_ms);
        if (upto_mj > given_mj)
            rc = put_energy(s, gpu_id, &(struct energy_share){at / MINUTE_MS, upto_mj - given_mj, .evidence = ENERGY_UNWATCHED},
                            err);
        given_mj = upto_mj;
    }
    return rc;
}

static bool could_be(const struct gpu *gpu, int64_t energy_mj, int64_t ms)
{
    int64_t max_mw;
    if (!reading_get(gpu->power_limit_max_mw, &max_mw) && !reading_get(gpu->power_limit_mw, &max_mw))
        max_mw = 2000000; /* no GPU draws more */
    return (double)energy_mj <= 1.1 * (double)max_mw * (double)ms / MS_PER_S;
}

/* Books what the counter added while the GPU wasn't watched: a pause, a suspend, a driver that didn't answer. */
static int missed_energy_spread(struct store *s, const struct gpu *gpu, int64_t gpu_id, const struct energy_used *used,
                                struct error *err)
{
    int64_t from_ms = used->unwatched_from.ms, to_ms = used->unwatched_to.ms;
    if (used->unwatched_mj <= 0 || to_ms <= from_ms || !could_be(gpu, used->unwatched_mj, to_ms - from_ms + GAP_MS))
        return 0;
    return spread(s, gpu_id, from_ms, to_ms, used->unwatched_mj, err);
}

/* Books the energy that the GPU's own counter added before this process wrote anything. Call it with the first reading. */
static int missed_energy_book(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu,
                              const struct known_gpu *known, struct error *err)
{
    int column = series_find(SERIES_GPU, "energy_mj");
    int64_t counter_mj, now_ms = snapshot->taken_at.ms, boot_ms = now_ms - snapshot->taken.ns / NS_PER_MS;
    if (column < 0 || !s->schema.has[SERIES_GPU][column] || !reading_get(gpu->energy_mj, &counter_mj))
        return 0;
    struct last_reading last = {0};
    int rc = find_last(s, known->id, now_ms, &last, err);
    if (rc < 0 || last.at_ms == 0 || last.at_ms < boot_ms || counter_mj <= last.counter_mj)
        return rc;
    int64_t energy_mj = counter_mj - last.counter_mj - last.booked_mj - known->meter.uncounted_mj;
    if (energy_mj <= 0 || !could_be(gpu, counter_mj - last.counter_mj, now_ms - last.at_ms + GAP_MS))
        return 0;
    return spread(s, known->id, last.at_ms, now_ms, energy_mj, err);
}

enum { GAP_MIN_MS = 60000 };

/* ---- the current runs, found by PID: a process may be on many GPUs, and findings know only its PID ---- */

static size_t chain_of(int32_t pid)
{
    return (uint32_t)pid * 0x9e3779b9u >> 16 & (RUN_CHAINS - 1);
}

/* The link in a run's chain that holds `number` (runs count from 1); 0: the end of the chain. */
static uint16_t *link_to(struct store *s, const struct process_run *run, size_t number)
{
    uint16_t *at = &s->run_chains[chain_of(run->pid)];
    while (*at != number)
        at = &s->runs[*at - 1].next;
    return at;
}

/* Adds the run just after the last one. */
static void add_run(struct store *s)
{
    struct process_run *run = &s->runs[s->run_count++];
    run->next = 0;
    *link_to(s, run, 0) = (uint16_t)s->run_count;
}

/* Removes a run; the last one takes its slot. */
static void remove_run(struct store *s, struct process_run *run)
{
    struct process_run *last = &s->runs[s->run_count - 1];
    size_t number = (size_t)(run - s->runs) + 1;
    *link_to(s, run, number) = run->next;
    if (run != last) {
        *link_to(s, last, s->run_count) = (uint16_t)number;
        *run = *last;
    }
    s->run_count--;
}

static struct process_run *find_run(struct store *s, const struct process *p, int64_t gpu_id)
{
    for (size_t i = s->run_chains[chain_of(p->pid)]; i; i = s->runs[i - 1].next) {
        struct process_run *run = &s->runs[i - 1];
        if (run->pid == p->pid && run->gpu_id == gpu_id && run->start_key == p->start_key)
            return run;
    }
    return NULL;
}

const struct process_run *process_runs_about(const struct store *s, int64_t gpu_id, int32_t pid)
{
    const struct process_run *gone = NULL;
    for (size_t i = pid ? s->run_chains[chain_of(pid)] : 0; i; i = s->runs[i - 1].next) {
        const struct process_run *run = &s->runs[i - 1];
        if (run->pid != pid || (gpu_id != 0 && run->gpu_id != gpu_id))
            continue;
        if (run->seen)
            return run;
        gone = run;
    }
    return gone;
}

void process_runs_forget(struct store *s)
{
    memset(s->run_chains, 0, sizeof s->run_chains);
    s->run_count = 0;
    s->runs_loaded = false;
}

/* After a start: loads the runs that had not ended, so that they continue. */
static int load_runs(struct store *s, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db,
                        "SELECT p.id, p.gpu_id, p.pid, p.start_key FROM processes p JOIN gpus g ON g.id = p.gpu_id "
                        "WHERE p.ended = 0 AND g.host_id = $1 ORDER BY p.last_seen_ms DESC",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, s->host_id);
    while ((rc = db_step(q, err)) == 1 && s->run_count < PROCESS_RUNS_MAX) {
        s->runs[s->run_count] = (struct process_run){
            .id = db_i64(q, 0), .gpu_id = db_i64(q, 1), .pid = (int32_t)db_i64(q, 2), .start_key = db_i64(q, 3)};
        add_run(s);
    }
    if (rc == 1)
        db_reset(q);
    s->runs_loaded = rc >= 0;
    return rc < 0 ? rc : 0;
}

static int insert_run(struct store *s, const struct process *p, const struct known_gpu *known, int64_t at_ms, int64_t *ret_id,
                      struct error *err)
{
    struct db_statement *q = store_statement(s, ST_RUN_INSERT, err);
    if (!q)
        return err->code;
    db_bind_numbers(q, 1, known->id, p->pid, p->start_key);
    db_bind_id(q, 4, p->started_at.ms);
    db_bind_word(q, 5, p->name);
    db_bind_word(q, 6, p->user);
    db_bind_word(q, 7, p->command);
    db_bind_word(q, 8, p->container);
    db_bind_word(q, 9, p->model);
    db_bind_text(q, 10, process_type_name(p->type));
    db_bind_word(q, 11, p->container_name);
    db_bind_word(q, 12, p->job);
    db_bind_word(q, 13, p->title);
    db_bind_i64(q, 14, at_ms);
    int rc = db_step(q, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave a process no number");
    *ret_id = db_i64(q, 0);
    db_reset(q);
    return 0;
}

/* The run of a process that the previous sample did not have: a sample may have missed it, or it is new. */
static int begin_run(struct store *s, const struct process *p, const struct known_gpu *known, int64_t at_ms,
                     struct process_run **ret, struct error *err)
{
    if (s->run_count == PROCESS_RUNS_MAX) {
        *ret = NULL;
        return 0;
    }
    struct process_run *run = &s->runs[s->run_count];
    *run = (struct process_run){.gpu_id = known->id, .pid = p->pid, .start_key = p->start_key};
    int rc = 0;
    if (p->start_key) {
        struct db_statement *q = store_statement(s, ST_RUN_FIND, err);
        if (!q)
            return err->code;
        db_bind_numbers(q, 1, at_ms - HOUR_MS, known->id, p->pid, p->start_key);
        rc = db_step(q, err);
        if (rc == 1) {
            run->id = db_i64(q, 0);
            db_reset(q);
        }
    }
    if (rc == 0)
        rc = insert_run(s, p, known, at_ms, &run->id, err);
    run->named = rc == 0 && p->container_name[0];
    run->in_job = rc == 0 && p->job[0];
    run->with_model = rc == 0 && p->model[0];
    if (rc < 0)
        return rc;
    add_run(s);
    *ret = run;
    return 0;
}

/* Binds the columns in the order of both statements, from `at` on. */
static void bind_share(struct db_statement *q, int at, const struct run_share *share)
{
    db_bind_i64(q, at, share->samples);
    db_bind_reading(q, at + 1, share->memory_count ? reading_ok(share->memory_max) : reading_absent(READING_UNREAD));
    db_bind_numbers(q, at + 2, share->memory_sum, share->memory_count, share->sm_sum, share->sm_count, share->energy_mj);
    db_bind_reading(q, at + 7, share->parked);
}

/* Names may be learned later than their process: the kubelet and model servers are polled, and a job needs a second process. */
static int name_run(struct store *s, struct process_run *run, const struct process *p, struct error *err)
{
    if ((run->named || !p->container_name[0]) && (run->in_job || !p->job[0]) && (run->with_model || !p->model[0]))
        return 0;
    struct db_statement *q = store_statement(s, ST_RUN_NAME, err);
    if (!q)
        return err->code;
    db_bind_word(q, 1, p->container_name);
    db_bind_word(q, 2, p->job);
    db_bind_word(q, 3, p->model);
    db_bind_i64(q, 4, run->id);
    run->named |= p->container_name[0];
    run->in_job |= p->job[0];
    run->with_model |= p->model[0];
    return db_put(q, err);
}

/* Adds the totals of a run, at the end of a transaction and of the run. */
static int put_run(struct store *s, const struct process_run *run, struct error *err)
{
    const struct run_share *share = &run->whole;
    struct db_statement *q = store_statement(s, ST_RUN_UPDATE, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, share->last_ms);
    bind_share(q, 2, share);
    db_bind_i64(q, 10, run->id);
    return db_put(q, err);
}

static void note_limit(struct run_limits *limits, int64_t minute, enum limit code)
{
    if (limits->minute != minute)
        *limits = (struct run_limits){.minute = minute};
    if (code != LIMIT_UNJUDGED && limits->samples[code] < UINT16_MAX)
        limits->samples[code]++;
}

/* The limit that held in most samples of this minute; NULL if none was judged. */
static void bind_limit(struct db_statement *q, int at, const struct run_limits *limits, int64_t minute)
{
    enum limit main_limit = LIMIT_UNJUDGED;
    for (int i = LIMIT_UNJUDGED + 1; limits->minute == minute && i < LIMIT_COUNT; i++)
        if (limits->samples[i] > limits->samples[main_limit])
            main_limit = (enum limit)i;
    if (main_limit == LIMIT_UNJUDGED) {
        db_bind_null(q, at);
        db_bind_null(q, at + 1);
        return;
    }
    db_bind_text(q, at, limit_name(main_limit));
    db_bind_i64(q, at + 1, limits->samples[main_limit]);
}

static int put_minute(struct store *s, const struct process_run *run, struct error *err)
{
    const struct run_share *share = &run->share;
    int rc = partition_ready(s, PARTED_PROCESS_MINUTES, share->minute * MINUTE_MS, err);
    struct db_statement *q = rc == 0 ? store_statement(s, ST_PROCESS_MINUTE, err) : NULL;
    if (!q)
        return rc < 0 ? rc : err->code;
    db_bind_numbers(q, 1, share->minute, run->id);
    bind_share(q, 3, share);
    bind_limit(q, 11, &run->limits, share->minute);
    db_bind_reading(q, 13, share->generated);
    db_bind_reading(q, 14, share->prompt);
    db_bind_reading(q, 15, share->running);
    db_bind_reading(q, 16, share->working);
    db_bind_reading(q, 17, share->requests);
    rc = db_put(q, err);
    return rc < 0 ? rc : hours_mark(s, share->minute, err);
}

static void process_runs_add_up(struct run_share *whole, const struct run_share *share)
{
    whole->last_ms = MAX_OF(whole->last_ms, share->last_ms);
    whole->samples += share->samples;
    whole->memory_max = MAX_OF(whole->memory_max, share->memory_max);
    whole->memory_sum += share->memory_sum;
    whole->memory_count += share->memory_count;
    whole->sm_sum += share->sm_sum;
    whole->sm_count += share->sm_count;
    whole->energy_mj += share->energy_mj;
    if (share->parked.state == READING_OK)
        whole->parked = reading_ok(reading_or(whole->parked, 0) + share->parked.value);
}

static int flush_minute(struct store *s, struct process_run *run, struct error *err)
{
    if (run->share.samples == 0 && run->share.energy_mj == 0)
        return 0;
    int rc = put_minute(s, run, err);
    process_runs_add_up(&run->whole, &run->share);
    run->share = (struct run_share){0};
    return rc;
}

static int flush_run(struct store *s, struct process_run *run, struct error *err)
{
    int rc = flush_minute(s, run, err);
    if (rc == 0 && run->whole.samples)
        rc = put_run(s, run, err);
    run->whole = (struct run_share){0};
    return rc;
}

static int flush_energy(struct store *s, struct known_gpu *known, struct error *err)
{
    const struct energy_share share = known->energy;
    known->energy = (struct energy_share){0};
    return share.energy_mj ? put_energy(s, known->id, &share, err) : 0;
}

int process_runs_flush(struct store *s, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->run_count; i++)
        rc = flush_run(s, &s->runs[i], err);
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++)
        rc = flush_energy(s, &s->gpus[i], err);
    return rc;
}

/* Starts the account of this minute after closing the previous one. */
static int open_minute(struct store *s, struct process_run *run, int64_t minute, struct error *err)
{
    int rc = run->share.minute != minute ? flush_minute(s, run, err) : 0;
    run->share.minute = minute;
    return rc;
}

/* Adds the tokens that its server has counted since the last sample. A lower counter started over; its first value counts tokens
 * from before we watched. */
static void note_tokens(struct reading *share, struct reading *last, struct reading now)
{
    int64_t before, count;
    if (!reading_get(now, &count))
        return;
    if (reading_get(*last, &before))
        *share = reading_ok(reading_or(*share, 0) + (count >= before ? count - before : count));
    *last = now;
}

static int add_share(struct store *s, struct process_run *run, const struct process *p, int64_t at_ms, struct error *err)
{
    struct run_share *share = &run->share;
    int64_t value;
    int rc = open_minute(s, run, at_ms / MINUTE_MS, err);
    if (rc < 0)
        return rc;
    share->last_ms = at_ms;
    share->samples++;
    note_limit(&run->limits, at_ms / MINUTE_MS, p->limit.code);
    note_tokens(&share->generated, &run->generated, p->generated_tokens);
    note_tokens(&share->prompt, &run->prompt, p->prompt_tokens);
    const struct serving_sum *served = &p->served[SERVING_REQUEST];
    note_tokens(&share->requests, &run->requests,
                served->known ? reading_ok((int64_t)served->count) : reading_absent(READING_UNREAD));
    if (reading_get(p->requests_running, &value)) {
        share->running = reading_ok(reading_or(share->running, 0) + value);
        share->working = reading_ok(reading_or(share->working, 0) + (value > 0));
    }
    if (reading_get(p->mem_bytes, &value)) {
        share->memory_max = MAX_OF(share->memory_max, value);
        share->memory_sum += value;
        share->memory_count++;
    }
    if (reading_get(p->util_permille, &value)) {
        share->sm_sum += value;
        share->sm_count++;
    }
    return 0;
}

/* Energy that a GPU used in one minute, as far as known now. */
struct energy_piece {
    int64_t from_ms, to_ms;
    int64_t energy_mj;
    enum energy_evidence evidence;
};

static int add_energy(struct store *s, struct known_gpu *known, const struct energy_piece *piece, int64_t attributed_mj,
                      struct error *err)
{
    struct energy_share *share = &known->energy;
    int64_t minute = piece->from_ms / MINUTE_MS;
    if (share->energy_mj && share->minute != minute) {
        int rc = flush_energy(s, known, err);
        if (rc < 0)
            return rc;
    }
    share->minute = minute;
    share->energy_mj += piece->energy_mj;
    share->attributed_mj += attributed_mj;
    share->evidence = MAX_OF(share->evidence, piece->evidence);
    return 0;
}

/* Finds or begins the runs of the GPU's processes. */
static int find_runs(struct store *s, const struct gpu *gpu, const struct known_gpu *known, int64_t at_ms, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        struct process_run *run = find_run(s, p, known->id);
        if (!run)
            rc = begin_run(s, p, known, at_ms, &run, err);
        s->here[i] = run;
        if (rc < 0 || !run)
            continue;
        run->seen = true;
        rc = name_run(s, run, p, err);
    }
    return rc;
}

static int add_shares(struct store *s, const struct gpu *gpu, int64_t at_ms, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < gpu->process_count; i++)
        rc = s->here[i] ? add_share(s, s->here[i], &gpu->processes[i], at_ms, err) : 0;
    return rc;
}

/* The GPU's energy beyond idle. If the counter corrects an integral that was too high, idle energy remains owed. */
static int64_t working_energy(struct known_gpu *known, const struct gpu *gpu, const struct energy_piece *piece)
{
    int64_t rest_mj = reading_or(gpu->idle_mw, 0) * (piece->to_ms - piece->from_ms) / MS_PER_S;
    int64_t working_mj = piece->energy_mj - rest_mj - known->rest_owed_mj;
    bool works = reading_or(gpu->power_mw, 0) > reading_or(gpu->not_attributed_mw, 0);
    known->rest_owed_mj = works && working_mj < 0 ? -working_mj : 0;
    return MAX_OF(working_mj, (int64_t)0);
}

/* A process gets the share of that energy that it has of the GPU's power beyond idle; all shares together never exceed the
 * total, and a process gets none from before it began. */
static int64_t energy_of(const struct gpu *gpu, const struct process *p, const struct energy_piece *piece, int64_t working_mj)
{
    int64_t card, own, since_ms = MAX_OF(p->started_at.ms, piece->from_ms);
    if (!reading_get(gpu->power_mw, &card) || (card -= reading_or(gpu->idle_mw, 0)) <= 0 || !reading_get(p->power_mw, &own) ||
        own <= 0 || since_ms >= piece->to_ms)
        return 0;
    double there = (double)(piece->to_ms - since_ms) / (double)(piece->to_ms - piece->from_ms);
    return (int64_t)((double)working_mj * there * MIN_OF((double)own / (double)card, 1.0) + 0.5);
}

static int book(struct store *s, const struct gpu *gpu, struct known_gpu *known, const struct energy_piece *piece,
                struct error *err)
{
    int64_t working_mj = working_energy(known, gpu, piece), left_mj = working_mj;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < gpu->process_count; i++) {
        struct process_run *run = s->here[i];
        const struct process *p = &gpu->processes[i];
        int64_t part_mj = run ? MIN_OF(energy_of(gpu, p, piece, working_mj), left_mj) : 0;
        if (part_mj == 0)
            continue;
        left_mj -= part_mj;
        rc = open_minute(s, run, piece->from_ms / MINUTE_MS, err);
        run->share.energy_mj += part_mj;
        if (p->parked_mw.state == READING_OK) /* energy_of() is above 0 only where power_mw is */
            run->share.parked = reading_ok(reading_or(run->share.parked, 0) + part_mj * p->parked_mw.value / p->power_mw.value);
    }
    return rc < 0 ? rc : add_energy(s, known, piece, working_mj - left_mj, err);
}

/* Books energy to the minute in which it was used: a minute with the energy of more than a minute would show more power than
 * there was. */
static int book_by_minutes(struct store *s, const struct gpu *gpu, struct known_gpu *known, const struct energy_used *used,
                           int64_t at_ms, struct error *err)
{
    int64_t since_ms = at_ms - used->ms, given_mj = 0;
    int rc = 0;
    for (int64_t from = since_ms, next; rc == 0 && used->mj > given_mj && from < at_ms; from = next) {
        next = MIN_OF((from / MINUTE_MS + 1) * MINUTE_MS, at_ms);
        int64_t upto_mj = energy_upto(used->mj, next - since_ms, used->ms);
        const struct energy_piece piece = {from, next, upto_mj - given_mj, used->evidence};
        if (piece.energy_mj > 0)
            rc = book(s, gpu, known, &piece, err);
        given_mj = upto_mj;
    }
    return rc;
}

int process_runs_write(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu, struct known_gpu *known,
                       struct error *err)
{
    int64_t at_ms = snapshot->taken_at.ms;
    int rc = s->runs_loaded ? 0 : load_runs(s, err);
    int64_t gap_ms = MAX_OF((int64_t)(snapshot->interval_s * 3 * MS_PER_S), (int64_t)GAP_MIN_MS);
    if (rc == 0 && known->meter.counter_mj.state != READING_OK)
        rc = missed_energy_book(s, snapshot, gpu, known, err);
    /* An average over a second misses nothing between two samples; an instantaneous reading misses peaks. */
    const struct reading power_mw = gpu->power_average_mw.state == READING_OK ? gpu->power_average_mw : gpu->power_mw;
    const struct energy_sample sample = {snapshot->taken, snapshot->taken_at, power_mw, gpu->energy_mj};
    const struct energy_used used = energy_step(&known->meter, &sample, gap_ms);
    if (rc == 0)
        rc = missed_energy_spread(s, gpu, known->id, &used, err);
    if (rc == 0)
        rc = find_runs(s, gpu, known, at_ms, err);
    /* Book the energy of the previous minute first, while its account is open. */
    if (rc == 0)
        rc = book_by_minutes(s, gpu, known, &used, at_ms, err);
    return rc < 0 ? rc : add_shares(s, gpu, at_ms, err);
}

/* Whether the snapshot knows the processes of the GPU: only then has an unlisted process ended. */
static bool list_is_known(const struct store *s, const struct snapshot *snapshot, int64_t gpu_id)
{
    for (size_t i = 0; i < snapshot->gpu_count; i++)
        for (size_t k = 0; k < s->gpu_count; k++)
            if (s->gpus[k].id == gpu_id && s->gpus[k].index == snapshot->gpus[i].index)
                return snapshot->gpus[i].processes_state == READING_OK;
    return false;
}

int process_runs_end_missing(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->run_count;) {
        struct process_run *run = &s->runs[i];
        bool gone = !run->seen && list_is_known(s, snapshot, run->gpu_id);
        run->seen = false;
        if (!gone) {
            i++;
            continue;
        }
        rc = flush_run(s, run, err);
        if (rc == 0)
            rc = store_put(s, ST_RUN_END, err, run->id);
        remove_run(s, run);
    }
    return rc;
}
