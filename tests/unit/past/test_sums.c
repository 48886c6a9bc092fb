/* SPDX-License-Identifier: Apache-2.0
 * Sums over random histories: what a report says is what was written, whether it was read from samples, minutes or hours; no
 * process, user or GPU has more power than the GPU drew, and none has more hours than the clock. The seed is printed, and
 * WHIRR_TEST_SEED repeats it.
 */
#include <errno.h>
#include <math.h>

#include "insight/facts/levels.h"
#include "past/report.h"
#include "random_history.h"
#include "store/own_database.h"
#include "store/sim_history.h"

enum { ROUNDS = 4, HOURS = 3600000 };
#define DAYS (86400000LL)

static struct random_host hosts[2];
static const char *const names[] = {"anvil", "bellows"};
static uint64_t seed;

#define EXPECT(condition, ...)                                                 \
    do {                                                                       \
        if (!(condition)) {                                                    \
            print_message("WHIRR_TEST_SEED=%llu: ", (unsigned long long)seed); \
            print_message(__VA_ARGS__);                                        \
            print_message("\n");                                               \
            assert_true(condition);                                            \
        }                                                                      \
    } while (0)

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * MAX_OF(fabs(a), fabs(b)) + 1e-6;
}

static struct store *reader(const char *url)
{
    struct store *s = NULL;
    struct error err = {0};
    if (store_open_read_only(&test_env, url, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

/* ---- the reference ---- */

/* How much of a minute lies in a time that begins with the first sample. */
static double part_of_minute(const struct random_host *h, int64_t minute, int64_t until_ms)
{
    int64_t from = MAX_OF(R_BEGIN + minute * 60000, h->first_ms), to = MIN_OF(R_BEGIN + (minute + 1) * 60000, until_ms);
    return to > from ? (double)(to - from) / 60000 : 0;
}

struct wanted {
    double hours, busy_hours, gib_hours;
};

static int64_t sm_of(const struct random_host *h, const struct minute_count *m, int i)
{
    return h->processes[i].sm_permille >= 0 ? h->processes[i].sm_permille : m->util_sum / m->util_count;
}

static struct wanted wanted_of_user(const struct random_host *h, int user, int gpu, int64_t until_ms)
{
    struct wanted w = {0};
    for (size_t g = 0; g < h->gpus; g++)
        for (int64_t k = 0; k < R_MINUTES_MAX; k++) {
            const struct minute_count *m = &h->minutes[g][k];
            double present = 0, busy = 0, within = part_of_minute(h, k, until_ms);
            for (int i = 0; i < R_PROCESSES && m->samples && (gpu < 0 || gpu == (int)g); i++) {
                if (h->processes[i].user != user || !m->own[i])
                    continue;
                double part = (double)m->own[i] / (double)m->samples * within;
                present = MAX_OF(present, part);
                if (sm_of(h, m, i) >= PROCESS_BUSY_LEAST)
                    busy = MAX_OF(busy, part);
                w.gib_hours += (double)h->processes[i].mem_bytes / (1 << 30) * part / 60;
            }
            w.hours += present / 60;
            w.busy_hours += busy / 60;
        }
    return w;
}

static struct wanted wanted_of_gpu(const struct random_host *h, size_t g, int64_t until_ms)
{
    struct wanted w = {0};
    for (int64_t k = 0; k < R_MINUTES_MAX; k++) {
        const struct minute_count *m = &h->minutes[g][k];
        double hours = m->samples ? part_of_minute(h, k, until_ms) / 60 : 0;
        w.hours += hours;
        w.busy_hours += m->samples && m->util_sum / m->util_count >= PROCESS_BUSY_LEAST ? hours : 0;
    }
    return w;
}

/* ---- reports ---- */

static const struct report_group *group_named(const struct report *r, enum report_by by, const char *name)
{
    for (size_t i = 0; i < r->group_count[by]; i++)
        if (strcmp(r->groups[by][i].name, name) == 0)
            return &r->groups[by][i];
    return NULL;
}

static struct report *make_report(struct store *s, const char *host, int64_t gpu_id, int64_t since_ms, int64_t until_ms)
{
    struct error err = {0};
    struct report *r = calloc(1, sizeof *r);
    assert_non_null(r);
    if (report_make(s, host, gpu_id, (struct wall){since_ms}, (struct wall){until_ms}, 80000, NULL, r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void drop_report(struct report *r)
{
    report_done(r);
    free(r);
}

static void check_users(const struct random_host *h, const struct report *r, const char *what, int gpu)
{
    for (int user = 0; user < R_USERS; user++) {
        char name[16];
        snprintf(name, sizeof name, "user%d", user);
        const struct report_group *g = group_named(r, REPORT_BY_USER, name);
        const struct wanted w = wanted_of_user(h, user, gpu, r->until.ms);
        double hours = g ? g->hours : 0, busy = g ? g->busy_hours : 0, gib = g ? g->gib_hours : 0;
        EXPECT(near(hours, w.hours), "%s: %s on %s was there for %.6f h, not %.6f", what, name, h->name, w.hours, hours);
        EXPECT(near(busy, w.busy_hours), "%s: %s on %s was busy for %.6f h, not %.6f", what, name, h->name, w.busy_hours, busy);
        EXPECT(near(gib, w.gib_hours), "%s: %s on %s held %.6f GiB·h, not %.6f", what, name, h->name, w.gib_hours, gib);
    }
}

static void check_gpus(const struct random_host *h, const struct report *r, const char *what)
{
    assert_int_equal(r->gpu_count, h->gpus);
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct report_gpu *g = &r->gpus[i];
        const struct wanted w = wanted_of_gpu(h, (size_t)g->index, r->until.ms);
        EXPECT(near(g->hours, w.hours), "%s: GPU %d of %s was watched for %.6f h, not %.6f", what, g->index, h->name, w.hours,
               g->hours);
        EXPECT(near(g->busy_hours, w.busy_hours), "%s: GPU %d of %s was busy for %.6f h, not %.6f", what, g->index, h->name,
               w.busy_hours, g->busy_hours);
    }
}

/* No process is on one GPU for longer than the GPU was watched, and no GPU is watched for longer than the clock went on. */
static void check_clock(struct store *s, const struct random_host *h, const struct report *whole)
{
    for (size_t i = 0; i < whole->gpu_count; i++) {
        const struct report_gpu *gpu = &whole->gpus[i];
        struct report *r = make_report(s, h->name, gpu->id, whole->since.ms, whole->until.ms);
        EXPECT(gpu->hours <= (double)(whole->until.ms - whole->since.ms) / HOURS + 1e-9, "GPU %d has more hours than the clock",
               gpu->index);
        check_users(h, r, "one GPU", gpu->index);
        for (int by = 0; by < REPORT_BY_COUNT; by++)
            for (size_t k = 0; k < r->group_count[by]; k++) {
                const struct report_group *g = &r->groups[by][k];
                EXPECT(g->hours <= gpu->hours + 1e-9, "'%s' was on GPU %d for %.6f of %.6f h", g->name, gpu->index, g->hours,
                       gpu->hours);
                EXPECT(g->busy_hours <= g->hours + 1e-9, "'%s' was busy for longer than it was there", g->name);
                EXPECT(g->energy_mj <= gpu->energy_mj, "'%s' used more than GPU %d", g->name, gpu->index);
            }
        drop_report(r);
    }
}

static void check_energy(const struct random_host *h, const struct report *r, const char *what)
{
    for (size_t i = 0; i < r->gpu_count; i++) {
        int g = r->gpus[i].index;
        double counted = (double)(h->counted_to_mj[g] - h->counted_from_mj[g]), told = (double)r->gpus[i].energy_mj;
        if (h->has_counter[g] && h->last_ms >= h->silent_until_ms)
            EXPECT(fabs(told - counted) <= 1e-3 * counted + 1000, "%s: GPU %d of %s used %.0f mJ by its counter, not %.0f", what, g,
                   h->name, counted, told);
    }
}

/* The same from minutes, and from hours. */
static void check_reports(struct store *s, const struct random_host *h)
{
    int64_t until_ms = h->last_ms + 60000;
    struct report *r = make_report(s, h->name, 0, R_BEGIN - HOURS, until_ms);
    check_users(h, r, "from minutes", -1);
    check_gpus(h, r, "from minutes");
    check_energy(h, r, "from minutes");
    check_clock(s, h, r);
    drop_report(r);
    /* Of more than two weeks, processes are read from hours; of the time before the last month, GPUs, too. */
    r = make_report(s, h->name, 0, R_BEGIN - 20 * DAYS, until_ms);
    check_users(h, r, "processes from hours", -1);
    check_gpus(h, r, "processes from hours");
    check_energy(h, r, "processes from hours");
    drop_report(r);
    r = make_report(s, h->name, 0, R_BEGIN - DAYS, R_BEGIN + 40 * DAYS);
    r->until.ms = INT64_MAX / 2;
    check_gpus(h, r, "GPUs from hours");
    drop_report(r);
}

/* ---- rows ---- */

static int64_t ask(struct store *s, const char *sql)
{
    int64_t value = 0;
    struct error err = {0};
    if (db_query_i64(s->db, sql, 0, &value, &err) < 0)
        fail_msg("%s: %s", sql, err.text);
    return value;
}

/* Each minute has the energy of at most a minute at the most power there was; its processes at most what was given to them. */
static void check_rows(struct store *s)
{
    EXPECT(ask(s, "SELECT MAX(energy_mj) FROM energy") <= R_MAX_MW * 60LL + 100, "a GPU drew %lld W",
           (long long)ask(s, "SELECT MAX(energy_mj) / 60000 FROM energy"));
    EXPECT(ask(s, "SELECT COUNT(*) FROM energy WHERE attributed_mj > energy_mj") == 0, "more was given out than used");
    EXPECT(
        ask(s,
            "SELECT COUNT(*) FROM (SELECT m.minute, p.gpu_id, SUM(m.energy_mj) AS own FROM process_minutes m JOIN processes p ON "
            "p.id = m.process_id GROUP BY 1, 2) AS t LEFT JOIN energy e ON e.minute = t.minute AND e.gpu_id = t.gpu_id WHERE "
            "t.own > COALESCE(e.attributed_mj, 0)") == 0,
        "processes have more than was given to them");
}

/* ---- courses ---- */

enum { POINTS_MAX = R_MINUTES_MAX };

struct course {
    int64_t step_ms;
    double sm[POINTS_MAX], memory[POINTS_MAX], power[POINTS_MAX];
};

static double mean_of(const struct aggregate *a)
{
    return a->count ? (double)a->sum / (double)a->count : 0;
}

static int add_process_point(void *user, const struct store_point *p)
{
    struct course *c = user;
    int64_t at = (p->at.ms - (R_BEGIN - R_BEGIN % c->step_ms)) / c->step_ms;
    assert_in_range(at, 0, POINTS_MAX - 1);
    c->sm[at] += mean_of(&p->values[PROCESS_SM_PERMILLE]);
    c->memory[at] += mean_of(&p->values[PROCESS_MEMORY_BYTES]);
    c->power[at] += mean_of(&p->values[PROCESS_POWER_MW]);
    EXPECT(p->values[PROCESS_POWER_MW].max <= R_MAX_MW, "a process drew %lld mW", (long long)p->values[PROCESS_POWER_MW].max);
    return 0;
}

static int add_gpu_point(void *user, const struct store_point *p)
{
    struct course *c = user;
    int64_t at = (p->at.ms - (R_BEGIN - R_BEGIN % c->step_ms)) / c->step_ms;
    assert_in_range(at, 0, POINTS_MAX - 1);
    c->sm[at] = mean_of(&p->values[0]);
    c->memory[at] = mean_of(&p->values[1]);
    return 0;
}

/* What a finished minute had does not depend on where the question ends. */
static void check_ends(struct store *s, const struct random_host *h, int64_t gpu_id)
{
    AUTO_FREE struct course *cut = calloc(1, sizeof *cut), *whole = calloc(1, sizeof *whole);
    int64_t until_ms = random_from(h->first_ms + 60000, h->last_ms), last = (until_ms - R_BEGIN) / 60000;
    struct store_process_plot plot = {.runs = {.host = h->name, .gpu_id = gpu_id}, .since_ms = R_BEGIN, .step_ms = 60000};
    struct error err = {0};
    assert_true(cut && whole);
    cut->step_ms = whole->step_ms = plot.step_ms;
    plot.until_ms = until_ms;
    assert_int_equal(store_process_series(s, &plot, add_process_point, cut, &err), 0);
    plot.until_ms = h->last_ms + 60000;
    assert_int_equal(store_process_series(s, &plot, add_process_point, whole, &err), 0);
    for (int64_t at = 0; at <= last; at++)
        EXPECT(near(cut->power[at], whole->power[at]), "minute %lld: %.0f mW, or %.0f if it ends the question", (long long)at,
               whole->power[at], cut->power[at]);
}

/* What the processes have in a step adds up to no more than their GPU had in it, wherever the question ends. */
static void check_courses(struct store *s, const struct random_host *h, const struct report *r)
{
    static const int64_t steps[] = {60000, 300000, 3600000};
    const size_t columns[] = {(size_t)series_find(SERIES_GPU, "util_permille"), (size_t)series_find(SERIES_GPU, "mem_used_bytes")};
    AUTO_FREE struct course *all = calloc(1, sizeof *all), *gpu = calloc(1, sizeof *gpu);
    assert_non_null(all);
    assert_non_null(gpu);
    for (size_t i = 0; i < r->gpu_count; i++)
        check_ends(s, h, r->gpus[i].id);
    for (size_t i = 0; i < r->gpu_count; i++)
        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
            struct error err = {0};
            int64_t until_ms = random_from(h->first_ms + 1, h->last_ms + 30000);
            *all = *gpu = (struct course){.step_ms = steps[k]};
            const struct store_process_plot plot = {
                .runs = {.host = h->name, .gpu_id = r->gpus[i].id}, .since_ms = R_BEGIN, .until_ms = until_ms, .step_ms = steps[k]};
            const struct store_plot whole = {.series = SERIES_GPU,
                                             .subject = r->gpus[i].id,
                                             .since_ms = R_BEGIN,
                                             .until_ms = (until_ms + 59999) / 60000 * 60000,
                                             .step_ms = steps[k],
                                             .columns = columns,
                                             .column_count = 2};
            assert_int_equal(store_process_series(s, &plot, add_process_point, all, &err), 0);
            assert_int_equal(store_series(s, &whole, add_gpu_point, gpu, &err), 0);
            for (size_t at = 0; at < POINTS_MAX; at++) {
                EXPECT(all->sm[at] <= gpu->sm[at] + 2, "step %zu of %lld s: processes have %.1f of %.1f permille", at,
                       (long long)steps[k] / 1000, all->sm[at], gpu->sm[at]);
                EXPECT(all->memory[at] <= gpu->memory[at] * 1.0001, "step %zu of %lld s: processes hold %.0f of %.0f bytes", at,
                       (long long)steps[k] / 1000, all->memory[at], gpu->memory[at]);
                EXPECT(all->power[at] <= R_MAX_MW, "step %zu of %lld s: processes draw %.0f mW", at, (long long)steps[k] / 1000,
                       all->power[at]);
            }
        }
}

/* ---- both databases ---- */

static void check_history(const char *url)
{
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        random_host_init(&hosts[i], names[i]);
        random_history_write(&hosts[i], &test_env, url);
    }
    struct store *s = reader(url);
    check_rows(s);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        check_reports(s, &hosts[i]);
        struct report *r = make_report(s, names[i], 0, R_BEGIN, hosts[i].last_ms + 60000);
        check_courses(s, &hosts[i], r);
        drop_report(r);
    }
    store_close(s);
}

static void sums_of_a_file_are_what_was_written(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        char url[160];
        seed = choose_seed() + (getenv("WHIRR_TEST_SEED") ? 0 : (uint64_t)i);
        print_message("WHIRR_TEST_SEED=%llu\n", (unsigned long long)seed);
        random_seed(seed);
        snprintf(url, sizeof url, "sqlite:%s/sums-%d.db", store_folder, i);
        check_history(url);
    }
}

static void sums_of_a_server_are_what_was_written(void **state)
{
    (void)state;
    const char *url = own_database("whirr_sums");
    if (!url)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    seed = choose_seed();
    print_message("WHIRR_TEST_SEED=%llu\n", (unsigned long long)seed);
    random_seed(seed);
    check_history(url);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {TEST(sums_of_a_file_are_what_was_written), TEST(sums_of_a_server_are_what_was_written)};
    int rc = RUN_TESTS(tests);
    remove_store_folder();
    return rc;
}
