/* SPDX-License-Identifier: Apache-2.0
 * bench_forecast [--tuning | --recordings] [--courses] [NAME...]: the backtest of the forecasts against persistence and a straight
 * line. docs/forecast.md tells how to read it. Exit status 1 when whirr is not better than the baselines where the document says
 * that it is.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "../figure.h"
#include "backtest.h"
#include "base/cleanup.h"
#include "insight/forecast/trend.h"

/* Constants of the forecasts were chosen by looking at the tuning seeds only. */
static const int tuning_seeds[] = {1, 2, 3};
static const int test_seeds[] = {101, 202, 303, 404, 505};

/* With a sample every 5 s this is 0.04 % of a core for each GPU. */
#define COST_MAX_MS 2.0

struct plan {
    const char *name, *params;
    double minutes, interval_s;
};

/* Every kind of course, with and without an event. */
static const struct plan plans[] = {
    {"vram-leak", "scenario=vram-leak,start=0", 60, 5},
    {"vram-leak, 1 s", "scenario=vram-leak,start=0,model=h200", 30, 1},
    {"slow-leak", "scenario=slow-leak,start=0", 120, 5},
    {"leak-beside", "scenario=leak-beside,start=0", 90, 5},
    {"leaky-sawtooth", "scenario=leaky-sawtooth,start=0", 90, 5},
    {"vram-sawtooth", "scenario=vram-sawtooth,start=0", 60, 5},
    {"vram-sawtooth, 1 s", "scenario=vram-sawtooth,start=0,model=a100", 30, 1},
    {"model-swap", "scenario=model-swap,start=0", 60, 5},
    {"training", "scenario=training,start=0,gpus=2", 60, 5},
    {"training, 1 s", "scenario=training,start=0,gpus=1,model=rtx4090", 20, 1},
    {"inference", "scenario=inference,start=0", 60, 5},
    {"game-start", "scenario=game-start", 60, 5},
    {"bursty", "scenario=bursty,start=0", 60, 5},
    {"shared-desktop", "scenario=shared-desktop,start=0", 60, 5},
    {"idle", "scenario=idle,start=0", 30, 5},
    {"held-context", "scenario=held-context,start=0", 30, 5},
    {"multi-user", "scenario=multi-user,start=0", 30, 5},
    {"power-cap", "scenario=power-cap,start=0", 30, 5},
    {"night", "scenario=night", 600, 5},
    {"gpu-lost", "scenario=gpu-lost,start=0", 20, 5},
    {"overheat", "scenario=overheat,start=0", 20, 5},
    {"overheat, 1 s", "scenario=overheat,start=0", 15, 1},
    {"fan-stopped", "scenario=fan-stopped,start=0", 20, 5},
    {"airflow 0.5", "scenario=training,gpus=1,model=rtx4090,start=300,fault=airflow0.5:400", 30, 5},
    {"airflow 0.4, h100", "scenario=training,gpus=1,model=h100,start=300,fault=airflow0.4:400", 30, 5},
    {"airflow 0.6, h100", "scenario=training,gpus=1,model=h100,start=300,fault=airflow0.6:400", 30, 5},
    {"airflow 0.8, l4", "scenario=training,gpus=1,model=l4,start=300,fault=airflow0.8:400", 30, 5},
    {"airflow 0.5, mi300x", "scenario=training,gpus=1,model=mi300x,start=300,fault=airflow0.5:400", 30, 5},
    {"fan, rtx3060", "scenario=training,gpus=1,model=rtx3060,start=300,fault=fan:400", 30, 5},
    {"hot-idle", "scenario=hot-idle,start=0", 60, 5},
};

static const char *const kind_names[] = {"memory full", "slowed down by heat"};
static const char *const method_names[] = {"whirr", "straight line", "persistence"};

struct tally {
    struct score (*total)[METHODS]; /* by kind */
    struct score (*own)[METHODS];   /* of the plan at hand */
    bool show;
};

static void add(void *user, const struct course *c)
{
    struct tally *t = user;
    score_course(c, t->total[c->kind]);
    if (t->show)
        score_course(c, t->own[c->kind]);
}

static double part(size_t of, size_t all)
{
    return all ? 100.0 * (double)of / (double)all : NAN;
}

static void cell(double value, const char *unit)
{
    if (isnan(value))
        printf(" %9s", "-");
    else
        printf(" %*.*f%s", 9 - (int)strlen(unit), value < 10 && value > 0 ? 1 : 0, value, unit);
}

static void print_score(const char *name, const struct score *s)
{
    static double copy[65536];
    printf("  %-22s", name);
    cell((double)s->events, "");
    cell((double)s->alarms, "");
    cell(part(s->true_alarms, s->alarms), "%");
    cell(part(s->foreseen, s->events), "%");
    memcpy(copy, s->leads, s->lead_count * sizeof *copy);
    cell(s->lead_count ? fit_median(copy, s->lead_count) : NAN, "s");
    memcpy(copy, s->errors, s->error_count * sizeof *copy);
    cell(s->error_count ? 100 * fit_median(copy, s->error_count) : NAN, "%");
    cell(part(s->held, s->intervals), "%");
    cell(s->seconds > 0 ? (double)(s->alarms - s->true_alarms) / s->seconds * 86400 : NAN, "");
    printf("\n");
}

static void print_head(const char *title)
{
    printf("%-24s %9s %9s %9s %9s %9s %9s %9s %9s\n", title, "events", "alarms", "precision", "recall", "lead", "error", "coverage",
           "false/day");
}

static void print_own(const char *name, struct score own[KINDS][METHODS])
{
    for (int k = 0; k < KINDS; k++) {
        bool any = false;
        for (int m = 0; m < METHODS; m++)
            any |= own[k][m].events || own[k][m].alarms;
        if (!any)
            continue;
        char title[64];
        snprintf(title, sizeof title, "%s", name);
        printf("%s: %s\n", name, kind_names[k]);
        for (int m = 0; m < METHODS - 1; m++)
            print_score(method_names[m], &own[k][m]);
    }
}

static bool wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, names[i]))
            return true;
    return count == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_recording(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 6 && strcmp(entry->d_name + len - 6, ".whirr") == 0;
}

static int play_recordings(const char *folder, struct tally *t)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_recording, compare_names), failed = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        memset(t->own, 0, KINDS * sizeof *t->own);
        failed |= play_recording(entries[i]->d_name, path, add, t) < 0;
        if (t->show)
            print_own(entries[i]->d_name, t->own);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return failed ? -1 : count < 0 ? 0 : count;
}

static void print_totals(const char *title, struct score total[KINDS][METHODS])
{
    print_head(title);
    for (int k = 0; k < KINDS; k++) {
        printf(" %s\n", kind_names[k]);
        for (int m = 0; m < METHODS; m++)
            print_score(method_names[m], &total[k][m]);
    }
}

/* Where the document says that whirr is better, it has to be. */
static bool better(struct score s[METHODS], const char *what)
{
    const struct score *own = &s[METHOD_WHIRR], *line = &s[METHOD_LINE];
    bool ok = true;
    char name[96];
    snprintf(name, sizeof name, "forecast of %s: share of alarms that were right", what);
    figure(name, part(own->true_alarms, own->alarms), "", true, part(line->true_alarms, line->alarms),
           "a straight line through the last minutes");
    if (part(own->true_alarms, own->alarms) < part(line->true_alarms, line->alarms))
        ok = false, printf("FAIL %s: precision below the straight line's\n", what);
    if (own->alarms - own->true_alarms > line->alarms - line->true_alarms)
        ok = false, printf("FAIL %s: more false alarms than the straight line\n", what);
    if (part(own->held, own->intervals) < part(line->held, line->intervals))
        ok = false, printf("FAIL %s: intervals hold less often than the straight line's\n", what);
    if (own->foreseen <= s[METHOD_PERSISTENCE].foreseen)
        ok = false, printf("FAIL %s: nothing foreseen\n", what);
    return ok;
}

int main(int argc, char **argv)
{
    bool tuning = false, courses = false, recordings = false;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        tuning |= strcmp(argv[first], "--tuning") == 0;
        courses |= strcmp(argv[first], "--courses") == 0;
        recordings |= strcmp(argv[first], "--recordings") == 0; /* those alone */
    }
    const int *seeds = tuning ? tuning_seeds : test_seeds;
    size_t seed_count = tuning ? ARRAY_LEN(tuning_seeds) : ARRAY_LEN(test_seeds);
    struct score(*total)[METHODS] = calloc(KINDS, sizeof *total), (*own)[METHODS] = calloc(KINDS, sizeof *own);
    if (!total || !own)
        return 1;
    struct tally t = {total, own, courses};
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        if (recordings || !wanted(plans[i].name, argv + first, argc - first))
            continue;
        memset(own, 0, KINDS * sizeof *own);
        for (size_t s = 0; s < seed_count; s++) {
            char params[256];
            snprintf(params, sizeof params, "%s,seed=%d", plans[i].params, seeds[s]);
            if (play_sim(plans[i].name, params, plans[i].minutes * 60, plans[i].interval_s, add, &t) < 0)
                return 1;
        }
        if (courses)
            print_own(plans[i].name, own);
    }
    if (!recordings)
        print_totals(tuning ? "simulated (tuning seeds)" : "simulated (test seeds)", total);
    bool ok = argc > first || recordings ||
              (better(total[KIND_VRAM], kind_names[KIND_VRAM]) & better(total[KIND_HEAT], kind_names[KIND_HEAT]));
    if (!tuning && argc == first) {
        memset(total, 0, KINDS * sizeof *total);
        int played = play_recordings("tests/golden/forecast", &t);
        if (played > 0)
            print_totals("recorded on an H200", total);
        ok = ok && played >= 0;
    }
    struct cost cost = cost_so_far();
    double each_ms = 1000 * (cost.see_s / (double)MAX_OF(cost.seen, 1u) + cost.make_s / (double)MAX_OF(cost.made, 1u));
    printf("CPU time of a sample and its forecast: %.2f ms a GPU (limit %.0f ms)\n", each_ms, COST_MAX_MS);
    ok &= figure("CPU of a sample and its forecast, a GPU", each_ms, "ms", false, COST_MAX_MS, "");
    free(total);
    free(own);
    return ok || tuning ? 0 : 1;
}
