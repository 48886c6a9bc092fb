/* SPDX-License-Identifier: Apache-2.0
 * The energy that the fleet's GPUs used, and who pays for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "fleet/fleet.h"
#include "fleet/promql.h"
#include "format/table/grid.h"

enum { STEP_S = 60, STEPS_MIN = 20, STEPS_MAX = 1000 };

/* Processes have no energy counter: integrate their power in steps of a minute; longer steps in a long span, so that a month of
 * a large fleet is feasible, and shorter ones in a short span. */
/* Databases take a decreasing counter for a reset and count its whole value as new: a driver that corrects its counter by a few
 * joules would add the GPU's lifetime. So if a counter decreased, integrate the GPU's power like that of processes; trust the
 * counter only if power is unknown. */
#define COUNTER "gpu_energy_joules_total{mig_uuid=\"\"}[%" PRId64 "s]"
#define DRAWN "sum_over_time(gpu_power_watts{mig_uuid=\"\"}[%" PRId64 "s:%" PRId64 "s])"
#define OF_GPU "max by (host,gpu,uuid) "

static void write_question(const struct fleet_bill *bill, char *text, size_t size)
{
    int64_t span_s = MAX_OF(bill->span_ms / MS_PER_S, (int64_t)1), min_s = MAX_OF(span_s / STEPS_MIN, (int64_t)1);
    int64_t step_s = MAX_OF(span_s / STEPS_MAX, MIN_OF(min_s, (int64_t)STEP_S));
    if (bill->by == FLEET_BY_NONE || bill->by == FLEET_BY_HOST)
        snprintf(text, size,
                 "sum by (host) ((" OF_GPU "(increase(" COUNTER ")) unless " OF_GPU "(resets(" COUNTER ")) > 0) or " OF_GPU
                 "(" DRAWN ") * %" PRId64 " and " OF_GPU "(resets(" COUNTER ")) > 0 or " OF_GPU "(increase(" COUNTER ")))",
                 span_s, span_s, span_s, step_s, step_s, span_s, span_s);
    else
        snprintf(text, size,
                 "sum by (%s) (max without (job,instance) (sum_over_time(gpu_process_power_watts[%" PRId64 "s:%" PRId64
                 "s]))) * %" PRId64,
                 fleet_by_words[bill->by].label, span_s, step_s, step_s);
}

static int largest_first(const void *a, const void *b)
{
    const struct fleet_energy *x = a, *y = b;
    if (x->joules != y->joules)
        return x->joules < y->joules ? 1 : -1;
    return strverscmp(x->name, y->name);
}

static void take_name(const struct vector_row *row, enum fleet_by by, struct fleet_energy *e)
{
    if (by == FLEET_BY_POD)
        fleet_pod_name(vector_label(row, "namespace"), vector_label(row, "pod"), e->name, sizeof e->name);
    else
        str_copy_clean(e->name, sizeof e->name, str_from(vector_label(row, fleet_by_words[by].label)));
}

void fleet_bill_sort(struct fleet_bill *bill)
{
    if (bill->count)
        qsort(bill->list, bill->count, sizeof *bill->list, largest_first);
}

static int energy_take_row(void *user, const struct vector_row *row)
{
    struct fleet_bill *bill = user;
    struct fleet_energy *e = ONE_MORE(bill->list, bill->count);
    if (!e)
        return -ENOMEM;
    *e = (struct fleet_energy){.joules = row->value};
    take_name(row, bill->by, e);
    return 0;
}

static int take(struct fleet_bill *bill, struct buf *answer)
{
    int rc = vector_read(answer, energy_take_row, bill);
    if (rc == 0)
        fleet_bill_sort(bill);
    return rc;
}

int fleet_bill_fetch(const struct fleet_place *place, struct fleet_bill *bill, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(FLEET_ANSWER_MAX);
    char question[1024];
    if (fleet_is_sql(place))
        return fleet_bill_fetch_sql(place, bill, err);
    write_question(bill, question, sizeof question);
    int rc = fleet_ask(place, question, NULL, &answer, err);
    return rc < 0 ? rc : fleet_misunderstood(take(bill, &answer), err);
}

void fleet_bill_done(struct fleet_bill *bill)
{
    free(bill->list);
    bill->list = NULL;
    bill->count = 0;
}

static double together(const struct fleet_bill *bill)
{
    double joules = 0;
    for (size_t i = 0; i < bill->count; i++)
        joules += bill->list[i].joules;
    return joules;
}

static void write_cost(const struct fleet_bill *bill, double joules, char *text, size_t size)
{
    snprintf(text, size, "%.2f %s", joules / JOULES_PER_KWH * bill->price_per_kwh, bill->currency);
}

static void energy_add_row(struct grid *g, const struct page *page, const struct fleet_bill *bill, const struct fleet_energy *e,
                           double all)
{
    char text[64];
    grid_add(g, INK_PLAIN, e->name[0] ? e->name : page_dash(page));
    double kwh = e->joules / JOULES_PER_KWH;
    snprintf(text, sizeof text, kwh < 10 ? "%.3f" : "%.1f", kwh); /* like `report` for one host */
    grid_add(g, INK_PLAIN, text);
    snprintf(text, sizeof text, "%.0f%%", 100 * e->joules / all);
    grid_add(g, INK_PLAIN, all > 0 ? text : page_dash(page));
    write_cost(bill, e->joules, text, sizeof text);
    if (bill->price_per_kwh > 0)
        grid_add(g, INK_PLAIN, text);
}

void fleet_table_bill(struct buf *out, const struct page *page, const struct fleet_bill *bill, bool all)
{
    const struct grid_column columns[] = {
        {fleet_by_words[bill->by].title, LEFT, 0}, {"kWh", RIGHT, 0}, {"SHARE", RIGHT, 1}, {"COST", RIGHT, 0}};
    size_t rows = all ? bill->count : MIN_OF(bill->count, (size_t)FLEET_ROWS);
    double joules = together(bill);
    char span[WORDS_SIZE], energy[WORDS_SIZE], cost[64];
    words_duration(bill->span_ms, span);
    if (!bill->count) {
        buf_printf(out, "No energy was recorded in the last %s.\n", span);
        return;
    }
    buf_printf(out, "%s in the last %s", words_energy(llround(joules * 1000), energy), span);
    write_cost(bill, joules, cost, sizeof cost);
    if (bill->price_per_kwh > 0)
        buf_printf(out, ", %s", cost);
    buf_char(out, '\n');
    AUTO_GRID struct grid g;
    grid_init(&g, columns, bill->price_per_kwh > 0 ? 4 : 3);
    for (size_t i = 0; i < rows; i++)
        energy_add_row(&g, page, bill, &bill->list[i], joules);
    grid_write(out, page, &g);
    if (rows < bill->count)
        buf_printf(out, "and %zu more rows; --all shows them\n", bill->count - rows);
    out->failed |= g.failed;
}
