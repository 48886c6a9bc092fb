/* SPDX-License-Identifier: Apache-2.0
 * The past is asked at many moments of long simulated histories, and each answer is compared with what the simulator knows it did.
 * Scores are printed and have a least value; nothing sleeps, the clock is the simulator's own.
 */
#include <errno.h>
#include <stdlib.h>

#include "insight/view/why.h"
#include "model/finding_code.h"
#include "past/explain.h"
#include "sim_truth.h"
#include "store/sim_history.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BATCH = 120, SEEDS = 1, MINUTES = 30, NIGHT = 330 };
#else
enum { BATCH = 120, SEEDS = 2, MINUTES = 45, NIGHT = 600 };
#endif

struct score {
    const char *what;
    int asked, right;
    double least; /* permille of the right ones */
};

enum { LOAD_CAUSE, LOAD_PROCESS, LOAD_USER, TROUBLE, STATE, CALM, ENDED, SCORE_COUNT };

static const struct score blank[SCORE_COUNT] = {
    [LOAD_CAUSE] = {"what loaded the card", 0, 0, 0.95},
    [LOAD_PROCESS] = {"which process", 0, 0, 0.95},
    [LOAD_USER] = {"whose it was", 0, 0, 0.95},
    [TROUBLE] = {"heat, fan and power trouble", 0, 0, 0.9},
    [STATE] = {"asleep or lost", 0, 0, 0.9},
    [CALM] = {"calm was called calm", 0, 0, 0.95},
    [ENDED] = {"work that had ended", 0, 0, 0.9},
};

/* A moment that will be asked about, with what was true then. */
struct asked {
    struct wall at;
    struct sim_truth truth[8]; /* of each GPU */
};

enum { ASKED_MAX = 512 };

static struct asked asked[ASKED_MAX];
static size_t asked_count;

static void count(struct score *s, bool right)
{
    s->asked++;
    s->right += right;
}

static void judge(const char *title, const struct score *scores)
{
    bool low = false;
    for (size_t i = 0; i < SCORE_COUNT; i++) {
        const struct score *s = &scores[i];
        if (!s->asked)
            continue;
        print_message("%-10s %-28s %5d of %5d  %5.1f %%  (at least %.0f %%)\n", title, s->what, s->right, s->asked,
                      100.0 * s->right / s->asked, 100 * s->least);
        low |= s->right < s->least * s->asked;
    }
    assert_false(low);
}

static bool is_work(finding_code code)
{
    return finding_kind(code)->area == AREA_WORK;
}

static bool names(const struct why_part *part, finding_code code)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].code == code)
            return true;
    return false;
}

/* The first cause that is work: heat and limits are said before it, but come from it. */
static const struct why_cause *first_work(const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (is_work(part->causes[i].code))
            return &part->causes[i];
    return NULL;
}

static bool right_work(const char *cause, finding_code code)
{
    if (strcmp(cause, "miner") == 0)
        return code == FINDING_MINING || code == FINDING_SHARED_LOAD;
    if (strcmp(cause, "video encoding") == 0)
        return code == FINDING_VIDEO_LOAD;
    if (strcmp(cause, "game") == 0) /* it draws and computes */
        return code == FINDING_GRAPHICS_LOAD || code == FINDING_COMPUTE_LOAD || code == FINDING_SHARED_LOAD;
    if (strcmp(cause, "browser") == 0 || strcmp(cause, "desktop") == 0)
        return code == FINDING_GRAPHICS_LOAD || code == FINDING_SHARED_LOAD;
    if (strcmp(cause, "rendering") == 0)
        return code == FINDING_GRAPHICS_LOAD || code == FINDING_COMPUTE_LOAD || code == FINDING_SHARED_LOAD;
    return code == FINDING_COMPUTE_LOAD || code == FINDING_SHARED_LOAD || code == FINDING_MEMORY_TRAFFIC ||
           code == FINDING_INSTANCE_LOAD;
}

/* Of sixteen servers that do the same each is as right as the others. */
static bool does_as_much(const struct gpu *gpu, const struct why_cause *work, int32_t pid)
{
    const struct process *named = gpu_find_process(gpu, work->pid), *biggest = gpu_find_process(gpu, pid);
    return work->code == FINDING_SHARED_LOAD && gpu->process_count > 8 && named && biggest &&
           reading_or(named->util_permille, 0) * 2 >= reading_or(biggest->util_permille, 0);
}

static void score_work(struct score *scores, const struct sim_truth *t, const struct why_part *part, const struct gpu *gpu)
{
    const struct why_cause *work = first_work(part);
    count(&scores[LOAD_CAUSE], work && right_work(t->cause, work->code));
    if (work && work->code == FINDING_INSTANCE_LOAD)
        return; /* names the instances, not a process */
    count(&scores[LOAD_PROCESS], work && (work->pid == t->pid || does_as_much(gpu, work, t->pid)));
    const struct process *p = work && work->pid ? gpu_find_process(gpu, work->pid) : NULL;
    count(&scores[LOAD_USER], p && strcmp(p->user, t->user) == 0);
}

static void score_trouble(struct score *scores, const struct sim_truth *t, const struct why_part *part)
{
    if (t->trouble & SIM_FAN_STOPPED && t->temp_c > 75)
        count(&scores[TROUBLE], names(part, FINDING_FAN_STOPPED) || names(part, FINDING_FAN_FAILING));
    else if (t->trouble & SIM_SLOWED_BY_HEAT)
        count(&scores[TROUBLE], names(part, FINDING_HEAT_LIMIT) || names(part, FINDING_AIRFLOW));
    else if (t->trouble & SIM_POWER_LIMITED && t->trouble & SIM_SLOWED_BY_POWER)
        count(&scores[TROUBLE], names(part, FINDING_POWER_LIMIT));
}

static bool shows_end(const struct sim_truth *t)
{
    return t->util < 0.1 && t->ended && t->ended_ago_s > 10 && t->ended_ago_s < 60 && t->temp_c > 52;
}

static void score_gpu(struct score *scores, const struct sim_truth *t, const struct why_part *part, const struct gpu *gpu)
{
    if (t->trouble & (SIM_LOST | SIM_ASLEEP)) {
        count(&scores[STATE], part->causes[0].code == (t->trouble & SIM_LOST ? FINDING_LOST : FINDING_ASLEEP));
        return;
    }
    /* An encoder beside other work: both are right. */
    bool video = strcmp(t->cause, "video encoding") == 0;
    if (video ? t->util < 0.3 : t->util > 0.3)
        score_work(scores, t, part, gpu);
    else if (t->util < 0.02 && !t->holder && !t->ended && t->temp_c < 50)
        count(&scores[CALM], !is_work(part->causes[0].code));
    else if (shows_end(t))
        count(&scores[ENDED], names(part, FINDING_RECENT_LOAD));
    score_trouble(scores, t, part);
}

static const struct why_part *part_of(const struct explained_moment *m, int index, const struct gpu **gpu)
{
    for (size_t i = 0; i < m->why->gpu_count; i++)
        if (m->why->gpus[i].gpu_index == index) {
            *gpu = &m->snapshot->gpus[i];
            return &m->why->gpus[i];
        }
    return NULL;
}

static void explain_miss(const char *scenario, const struct score *before, const struct score *after, const struct sim_truth *t,
                         const struct why_part *part)
{
    if (!getenv("WHIRR_SHOW_MISSES"))
        return;
    for (size_t i = 0; i < SCORE_COUNT; i++)
        if (after[i].asked - before[i].asked > after[i].right - before[i].right)
            print_message("  %s: %s: at %.0f s truth %s (pid %d, %.0f %%, trouble %x, %.0f C), answer %s: %s\n", scenario,
                          after[i].what, t->at_s, t->cause, t->pid, 100 * t->util, t->trouble, t->temp_c,
                          finding_code_name(part->causes[0].code), part->answer);
}

static void ask_once(struct store *s, struct sim_history *h, const char *scenario, const struct asked *a, struct score *scores,
                     enum level wanted)
{
    struct explained_moment m;
    struct error err;
    struct wall at = {a->at.ms + a->at.ms / 1000 % h->interval_ms};
    assert_int_equal(explain_moment(s, "box", at, h->clock.today, &m, &err), 0);
    assert_non_null(m.why);
    assert_int_equal(m.level, wanted);
    assert_int_equal(m.note[0] != '\0', wanted != LEVEL_RAW);
    for (size_t g = 0; g < h->count; g++) {
        const struct gpu *gpu = NULL;
        const struct why_part *part = part_of(&m, (int)g, &gpu);
        struct score before[SCORE_COUNT];
        if (!part)
            fail_msg("%s: nothing is told of GPU %zu", scenario, g);
        assert_int_equal(part->suggestion_count, 0);
        memcpy(before, scores, sizeof before);
        score_gpu(scores, &a->truth[g], part, gpu);
        explain_miss(scenario, before, scores, &a->truth[g], part);
    }
    explained_moment_done(&m);
}

/* Scattered over the history, the same ones in each run; more often while a card cools down, which is seldom. */
static void note_truth(struct sim_history *h, struct wall at, uint64_t *chance)
{
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    unsigned lot = (unsigned)(*chance >> 33) % 30;
    if (lot > 10 || at.ms < HISTORY_BEGIN.ms + 600000 || asked_count == ASKED_MAX)
        return;
    struct asked *a = &asked[asked_count];
    bool cools = false;
    a->at = at;
    for (size_t g = 0; g < h->count; g++) {
        assert_int_equal(sim_truth(h->source, g, at, &a->truth[g]), 0);
        cools |= shows_end(&a->truth[g]);
    }
    asked_count += lot == 0 || cools;
}

/* A history of that many minutes, written in batches. */
static void write_history(struct store *s, struct sim_history *h, int minutes)
{
    const struct snapshot *batch[BATCH];
    struct error err;
    uint64_t chance = 7;
    asked_count = 0;
    for (int64_t left = (int64_t)minutes * 60000 / h->interval_ms; left > 0;) {
        size_t n = 0;
        for (; n < BATCH && left > 0; left--) {
            note_truth(h, h->clock.today, &chance);
            batch[n++] = sim_history_next(h);
        }
        if (store_write(s, batch, n, NULL, 0, &err) != 0)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < n; i++)
            snapshot_unref((struct snapshot *)batch[i]);
    }
}

static void ask_often(struct store *s, struct sim_history *h, const char *scenario, struct score *scores, enum level level)
{
    for (size_t i = 0; i < asked_count; i++)
        if (asked[i].at.ms < h->clock.today.ms - 120000)
            ask_once(s, h, scenario, &asked[i], scores, level);
}

static void keep_minutes_only(struct store *s, struct sim_history *h)
{
    struct store_limits limits = store_default_limits;
    struct error err;
    limits.raw_ms = 60000;
    store_set_limits(s, &limits);
    while (clean_step(s, (struct wall){h->clock.today.ms + 600000}, &err) == 1)
        ;
}

static void the_past_is_explained_as_the_simulator_knows_it(void **state)
{
    (void)state;
    const struct sim_scenario *all;
    size_t scenarios = sim_scenarios(&all);
    struct score samples[SCORE_COUNT], minutes[SCORE_COUNT];
    memcpy(samples, blank, sizeof blank);
    memcpy(minutes, blank, sizeof blank);
    for (size_t i = 0; i < scenarios; i++) {
        /* Those contradict themselves, on purpose, or have no row at all. */
        if (all[i].reading_count || all[i].hides || all[i].finding == FINDING_ERROR)
            continue;
        for (int seed = 1; seed <= SEEDS; seed++) {
            struct sim_history h;
            char params[96], file[32];
            bool night = strcmp(all[i].name, "night") == 0;
            snprintf(params, sizeof params, "scenario=%s,seed=%d", all[i].name, seed);
            snprintf(file, sizeof file, "score%zu-%d.db", i, seed);
            sim_history_open(&h, params);
            struct store *s = open_store(file);
            write_history(s, &h, night ? NIGHT : MINUTES);
            ask_often(s, &h, all[i].name, samples, LEVEL_RAW);
            keep_minutes_only(s, &h);
            ask_often(s, &h, all[i].name, minutes, LEVEL_MINUTE);
            store_close(s);
            sim_history_close(&h);
        }
    }
    judge("samples", samples);
    /* A minute's mean blurs what lasts half a minute. */
    minutes[STATE].least = minutes[ENDED].least = 0.5;
    /* A calm moment within a minute of bursts: all that is left of it is the mean of that minute, which is not idle. */
    minutes[CALM].least = 0.85;
    minutes[LOAD_CAUSE].least = minutes[LOAD_PROCESS].least = minutes[LOAD_USER].least = 0.9;
    judge("minutes", minutes);
}

/* ---- spans ---- */

static const struct explained_episode *find_episode(const struct explained_span *t, int gpu, const char *process, int64_t from_min,
                                                    int64_t to_min)
{
    for (size_t i = 0; i < t->episode_count; i++) {
        const struct explained_episode *e = &t->episodes[i];
        int64_t since = (e->since.ms - HISTORY_BEGIN.ms) / 60000, until = (e->until.ms - HISTORY_BEGIN.ms) / 60000;
        if (e->gpu_index == gpu && strcmp(e->process, process) == 0 && llabs(since - from_min) <= 5 && llabs(until - to_min) <= 5)
            return e;
    }
    return NULL;
}

static void a_night_is_told_by_its_episodes(void **state)
{
    (void)state;
    struct sim_history h;
    struct explained_span t;
    struct error err;
    sim_history_open(&h, "scenario=night");
    h.interval_ms = 20000;
    struct store *s = open_store("night.db");
    write_history(s, &h, 595);
    assert_int_equal(explain_span(s, "box", 0, HISTORY_BEGIN, h.clock.today, &t, &err), 0);
    if (getenv("WHIRR_SHOW_MISSES"))
        for (size_t i = 0; i < t.episode_count; i++)
            print_message("  %5.1f GPU %d %3lld to %3lld min (%zu): %s: %s\n", t.episodes[i].weight, t.episodes[i].gpu_index,
                          (long long)(t.episodes[i].since.ms - HISTORY_BEGIN.ms) / 60000,
                          (long long)(t.episodes[i].until.ms - HISTORY_BEGIN.ms) / 60000, t.episodes[i].times,
                          finding_code_name(t.episodes[i].part.causes[0].code), t.episodes[i].part.answer);
    /* What the scenario says it does, in minutes from 20:00. */
    static const struct {
        int gpu;
        const char *process, *user, *said;
        int from, to;
    } jobs[] = {
        {1, "python3", "alice", "train.py", 20, 400},   {2, "blender", "erin", "blender", 45, 130},
        {2, "python3", "bob", "finetune.py", 180, 440}, {0, "kworkerds", "www-data", "kworkerds", 300, 390},
        {3, "gmx", "carol", "gmx", 120, 540},
    };
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        const struct explained_episode *e = find_episode(&t, jobs[i].gpu, jobs[i].process, jobs[i].from, jobs[i].to);
        if (!e)
            fail_msg("%s on GPU %d from minute %d to %d is not told", jobs[i].process, jobs[i].gpu, jobs[i].from, jobs[i].to);
        assert_string_equal(e->user, jobs[i].user);
        assert_true(e->pid > 0 && strstr(e->part.answer, jobs[i].said));
    }
    assert_true(t.episode_count <= 20); /* not one line per minute */
    assert_int_equal(t.gap_count, 0);
    assert_true(strstr(t.answer, "worth explaining") != NULL);
    for (size_t i = 1; i < t.episode_count; i++)
        assert_true(t.episodes[i - 1].weight >= t.episodes[i].weight);
    explained_span_done(&t);

    /* Of one card, and of one hour. */
    struct wall three = {HISTORY_BEGIN.ms + 180 * 60000LL}, four = {HISTORY_BEGIN.ms + 240 * 60000LL};
    assert_int_equal(explain_span(s, "box", 3, three, four, &t, &err), 0);
    assert_int_equal(t.episode_count, 1);
    assert_string_equal(t.episodes[0].user, "bob");
    explained_span_done(&t);
    store_close(s);
    sim_history_close(&h);
}

static void calm_is_one_sentence(void **state)
{
    (void)state;
    struct sim_history h;
    struct explained_span t;
    struct error err;
    sim_history_open(&h, "scenario=idle");
    struct store *s = open_store("calm.db");
    write_history(s, &h, 60);
    assert_int_equal(explain_span(s, "box", 0, HISTORY_BEGIN, h.clock.today, &t, &err), 0);
    assert_int_equal(t.episode_count, 0);
    assert_int_equal(t.gap_count, 0);
    assert_true(strstr(t.answer, "calm") != NULL);
    explained_span_done(&t);
    store_close(s);
    sim_history_close(&h);
}

/* ---- gaps ---- */

/* Seconds of work at full power on a card that does nothing else; at what time within a minute must not matter. */
static void write_burst(struct store *s, struct sim_history *h, int from_s, int to_s, bool hidden)
{
    for (int at = 0; at < 270; at += (int)(h->interval_ms / MS_PER_S)) {
        struct snapshot *now = sim_history_next(h);
        struct gpu *gpu = &now->gpus[0];
        if (at >= from_s && at < to_s) {
            gpu->util_permille = reading_ok(1000);
            gpu->power_mw = reading_ok(695000);
            gpu->temp_mdegc = reading_ok(48000 + (at - from_s) * 200);
            struct process *p = hidden ? NULL : gpu_add_process(gpu, 4242);
            if (p) {
                snprintf(p->name, sizeof p->name, "burn");
                snprintf(p->user, sizeof p->user, "alice");
                p->visible = true;
                p->util_permille = reading_ok(990);
                p->mem_bytes = reading_ok(8LL << 30);
            }
        }
        write_one(s, now);
        snapshot_unref(now);
    }
}

static void a_burst_that_could_be_heard_is_named(void **state)
{
    (void)state;
    static const struct {
        int interval_s, from_s, to_s;
        bool hidden; /* whose it is cannot be seen */
    } bursts[] = {{5, 150, 190, false}, {1, 120, 160, false}, {5, 165, 205, false}, {10, 210, 250, false},
                  {5, 220, 235, false}, {5, 150, 190, true},  {5, 0, 100, false}};
    for (size_t i = 0; i < ARRAY_LEN(bursts); i++) {
        struct sim_history h;
        char name[32];
        snprintf(name, sizeof name, "burst-%zu.db", i);
        sim_history_open(&h, "gpus=1,model=h100,scenario=idle");
        h.interval_ms = bursts[i].interval_s * MS_PER_S;
        struct store *s = open_store(name);
        write_burst(s, &h, bursts[i].from_s, bursts[i].to_s, bursts[i].hidden);
        struct wall until = {HISTORY_BEGIN.ms + 270 * MS_PER_S}, since = {until.ms - 180 * MS_PER_S};
        int64_t from_ms = MAX_OF(HISTORY_BEGIN.ms + bursts[i].from_s * MS_PER_S, since.ms);
        struct explained_span t;
        struct error err = {0};
        assert_int_equal(explain_span(s, "box", 0, since, until, &t, &err), 0);
        if (t.episode_count != 1 || strcmp(t.episodes[0].process, bursts[i].hidden ? "" : "burn") != 0)
            fail_msg("burst %zu: %zu episodes: %s", i, t.episode_count, t.answer);
        assert_true(llabs(t.episodes[0].since.ms - from_ms) <= 10 * MS_PER_S);
        assert_true(llabs(t.episodes[0].until.ms - HISTORY_BEGIN.ms - bursts[i].to_s * MS_PER_S) <= 20 * MS_PER_S);
        explained_span_done(&t);
        store_close(s);
        sim_history_close(&h);
    }
}

static void expect_gap(struct store *s, struct sim_history *h, struct wall at, const char *words, bool not_running)
{
    struct explained_moment m;
    struct error err;
    assert_int_equal(explain_moment(s, "box", at, h->clock.today, &m, &err), 0);
    assert_null(m.why);
    if (!strstr(m.gap.text, words))
        fail_msg("'%s' does not say '%s'", m.gap.text, words);
    assert_int_equal(m.gap.not_running, not_running);
    explained_moment_done(&m);
}

static void where_nothing_was_stored_that_is_the_answer(void **state)
{
    (void)state;
    struct sim_history h;
    struct explained_span t;
    struct error err;
    sim_history_open(&h, "scenario=training,gpus=1");
    struct store *s = open_store("gaps.db");
    write_history(s, &h, 30);
    struct wall first_end = h.clock.today;
    clock_manual_advance_ms(&h.clock, 2 * 3600 * 1000);
    struct store_event start = {
        .at = h.clock.today, .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "whirr 1.0 started"};
    assert_int_equal(store_write(s, NULL, 0, &start, 1, &err), 0);
    write_history(s, &h, 30);
    struct wall second_end = h.clock.today;
    clock_manual_advance_ms(&h.clock, 1800 * 1000); /* and then a half hour without a restart */
    write_history(s, &h, 10);
    clock_manual_advance_ms(&h.clock, 3600 * 1000);

    expect_gap(s, &h, (struct wall){first_end.ms + 600000}, "whirr was not running between", true);
    expect_gap(s, &h, (struct wall){second_end.ms + 600000}, "Nothing was stored between", false);
    expect_gap(s, &h, (struct wall){HISTORY_BEGIN.ms - 600000}, "The history begins at", false);
    expect_gap(s, &h, (struct wall){h.clock.today.ms - 60000}, "Nothing was stored after", false);

    /* Three minutes after the last sample, it does not speak for the moment any more. */
    expect_gap(s, &h, (struct wall){first_end.ms + 180000}, "whirr was not running between", true);

    assert_int_equal(explain_span(s, "box", 0, HISTORY_BEGIN, h.clock.today, &t, &err), 0);
    assert_int_equal(t.gap_count, 3);
    assert_true(t.gaps[0].not_running && !t.gaps[1].not_running);
    assert_true(llabs(t.missing_ms - (2 * 3600 + 1800 + 3600) * 1000) < 300000);
    assert_true(strstr(t.answer, "Nothing is known about") != NULL);
    assert_true(t.episode_count >= 1);
    explained_span_done(&t);
    assert_int_equal(
        explain_span(s, "box", 0, (struct wall){first_end.ms + 600000}, (struct wall){first_end.ms + 1200000}, &t, &err), 0);
    assert_int_equal(t.episode_count, 0);
    assert_true(strstr(t.answer, "not running") != NULL);
    explained_span_done(&t);
    store_close(s);
    sim_history_close(&h);
}

static struct snapshot *training_sample(struct sim_history *h, bool hot, int64_t power_mw)
{
    struct snapshot *s = sim_history_next(h);
    struct gpu *gpu = &s->gpus[0];
    gpu->process_count = 0;
    gpu->processes_state = READING_OK;
    struct process *p = gpu_add_process(gpu, 4711);
    p->type = PROCESS_COMPUTE;
    p->start_key = 77;
    p->visible = true;
    snprintf(p->name, sizeof p->name, "train.py");
    snprintf(p->user, sizeof p->user, "alice");
    p->mem_bytes = reading_ok(9LL << 30);
    p->util_permille = gpu->util_permille = reading_ok(980);
    gpu->power_mw = reading_ok(power_mw);
    gpu->temp_mdegc = reading_ok(hot ? 93000 : 66000);
    gpu->throttle_bits = reading_ok(hot ? THROTTLE_SW_THERMAL : 0);
    gpu->fan_permille = reading_ok(hot ? 1000 : 500);
    return s;
}

/* Three hours of training, of which it throttled for half an hour in the middle. */
static void throttling_amid_work_has_its_own_times_and_numbers(void **state)
{
    (void)state;
    struct sim_history h;
    struct explained_span t;
    struct error err;
    sim_history_open(&h, "gpus=1,scenario=training");
    h.interval_ms = 10000;
    struct store *s = open_store("throttling.db");
    for (int i = 0; i < 180 * 6; i++) {
        bool hot = i >= 75 * 6 && i < 105 * 6;
        AUTO_SNAPSHOT const struct snapshot *one = training_sample(&h, hot, hot ? 190000 : i < 75 * 6 ? 450000 : 350000);
        assert_int_equal(store_write(s, &one, 1, NULL, 0, &err), 0);
    }
    assert_int_equal(explain_span(s, "box", 0, HISTORY_BEGIN, h.clock.today, &t, &err), 0);
    assert_int_equal(t.episode_count, 2);
    const struct explained_episode *hot = &t.episodes[0], *work = &t.episodes[1];
    assert_int_equal(hot->times, 1);
    assert_true(llabs(hot->total_ms - 30 * 60000) <= 60000);
    assert_true(llabs(hot->since.ms - HISTORY_BEGIN.ms - 75 * 60000) <= 60000);
    assert_non_null(strstr(hot->part.answer, "thermal throttling"));
    assert_non_null(strstr(hot->part.answer, "190 W on average"));
    assert_null(strstr(hot->part.answer, "still going on"));
    assert_int_equal(work->times, 2);
    assert_true(llabs(work->total_ms - 150 * 60000) <= 60000);
    assert_null(strstr(work->part.answer, "throttling"));
    assert_non_null(strstr(work->part.answer, "400 W on average, up to 66 °C"));
    assert_non_null(strstr(work->part.answer, "still going on"));
    assert_true(work->part.severity < hot->part.severity);
    explained_span_done(&t);
    store_close(s);
    sim_history_close(&h);
}

static void a_host_is_named_where_there_are_several(void **state)
{
    (void)state;
    struct sim_history h;
    struct error err;
    char host[HOST_NAME_SIZE];
    sim_history_open(&h, "scenario=idle");
    struct store *s = open_store("hosts.db");
    assert_int_equal(told_host(s, NULL, "elsewhere", host, &err), -ENOENT);
    write_history(s, &h, 1);
    assert_int_equal(told_host(s, NULL, "elsewhere", host, &err), 0);
    assert_string_equal(host, "box");
    assert_int_equal(told_host(s, "elsewhere", NULL, host, &err), -ENODATA);
    assert_true(strstr(err.text, "box") != NULL);
    store_close(s);
    sim_history_close(&h);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(the_past_is_explained_as_the_simulator_knows_it),
        TEST(a_night_is_told_by_its_episodes),
        TEST(calm_is_one_sentence),
        TEST(a_burst_that_could_be_heard_is_named),
        TEST(where_nothing_was_stored_that_is_the_answer),
        TEST(throttling_amid_work_has_its_own_times_and_numbers),
        TEST(a_host_is_named_where_there_are_several),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
