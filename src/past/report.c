/* SPDX-License-Identifier: Apache-2.0
 * The GPUs' part of the report: energy by its origin, what it emitted, and gaps.
 */
#include "past/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "past/explain.h"

/* ---- emissions ---- */

#define MJ_PER_KWH 3.6e9

enum { FILE_MAX = 8 << 20 }; /* a quarter of a million hours */

static int by_hour(const void *a, const void *b)
{
    int64_t left = ((const struct carbon_hour *)a)->hour, right = ((const struct carbon_hour *)b)->hour;
    return (left > right) - (left < right);
}

static bool read_line(struct str line, struct carbon_hour *ret)
{
    struct str time;
    struct wall at;
    if (!str_cut(&line, ',', &time) || !wall_parse(str_trim(time), &at) || !str_to_double(str_trim(line), &ret->g_per_kwh) ||
        !(ret->g_per_kwh >= 0 && ret->g_per_kwh <= 1e5))
        return false;
    ret->hour = at.ms / HOUR_MS;
    return true;
}

int carbon_read(const char *path, double g_per_kwh, struct carbon *ret, struct error *err)
{
    const struct env here = {.sysroot = ""};
    AUTO_BUF struct buf text = BUF(FILE_MAX);
    struct str rest, line;
    size_t capacity = 0, number = 0;
    *ret = (struct carbon){.g_per_kwh = g_per_kwh};
    if (!path[0])
        return 0;
    int rc = file_read_all(&here, path, &text);
    if (rc < 0)
        return error_set(err, rc, "cannot read energy.co2_file '%s': %s", path, strerror(-rc));
    for (rest = buf_view(&text); str_cut(&rest, '\n', &line);) {
        number++;
        line = str_trim(line);
        if (!line.len || line.at[0] == '#')
            continue;
        if (!ROOM_FOR_ONE(ret->hours, ret->count, capacity, 1024)) {
            carbon_done(ret);
            return error_set(err, -ENOMEM, "out of memory");
        }
        if (read_line(line, &ret->hours[ret->count])) {
            ret->count++;
        } else if (number > 1) { /* the first may be a heading */
            carbon_done(ret);
            return error_set(err, -EINVAL, "line %zu of energy.co2_file '%s' is not like \"2026-11-19T10:00Z,312\"", number, path);
        }
    }
    if (ret->count)
        qsort(ret->hours, ret->count, sizeof *ret->hours, by_hour);
    return 0;
}

void carbon_done(struct carbon *c)
{
    free(c->hours);
    *c = (struct carbon){0};
}

void carbon_add(const struct carbon *c, int64_t hour, int64_t energy_mj, struct emitted *sum)
{
    const struct carbon_hour key = {.hour = hour};
    const struct carbon_hour *of = c->count ? bsearch(&key, c->hours, c->count, sizeof key, by_hour) : NULL;
    if (!of && c->g_per_kwh <= 0)
        return;
    sum->g += (double)energy_mj / MJ_PER_KWH * (of ? of->g_per_kwh : c->g_per_kwh);
    sum->mj += energy_mj;
}

/* ---- GPUs ---- */

struct gpu_list {
    struct report *report;
    int64_t only;
};

static int report_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct gpu_list *list = user;
    struct report *r = list->report;
    if ((list->only && list->only != gpu->id) || r->gpu_count == GPU_MAX || gpu->last_seen.ms < r->since.ms)
        return 0;
    r->gpus[r->gpu_count++] = (struct report_gpu){
        .id = gpu->id, .index = gpu->index, .identity = gpu->identity, .simulated = gpu->simulated, .first_seen = gpu->first_seen};
    return 0;
}

struct report_gpu *report_gpu_of(struct report *r, int64_t id)
{
    for (size_t n = 0; n < r->gpu_count; n++) {
        size_t i = (r->gpu_found + n) % r->gpu_count;
        if (r->gpus[i].id == id) {
            r->gpu_found = i;
            return &r->gpus[i];
        }
    }
    return NULL;
}

static void note_emitted(void *report, int64_t gpu_id, int64_t hour, int64_t energy_mj)
{
    struct report *r = report;
    struct report_gpu *gpu = report_gpu_of(r, gpu_id);
    if (gpu)
        carbon_add(r->carbon, hour, energy_mj, &gpu->emitted);
}

static int read_energy(struct store *s, struct report *r, struct error *err)
{
    struct store_energy energy[GPU_MAX];
    int64_t ids[GPU_MAX];
    for (size_t i = 0; i < r->gpu_count; i++)
        ids[i] = r->gpus[i].id;
    int rc = store_energy_of(s, ids, r->gpu_count, r->since.ms, r->until.ms, energy, err);
    for (size_t i = 0; rc == 0 && i < r->gpu_count; i++) {
        r->gpus[i].energy_mj = energy[i].energy_mj;
        r->gpus[i].attributed_mj = energy[i].attributed_mj;
        r->gpus[i].counter_mj = energy[i].counter_mj;
        r->gpus[i].integrated_mj = energy[i].energy_mj - energy[i].counter_mj;
    }
    if (rc == 0 && r->carbon)
        rc = store_energy_by_hour(s, ids, r->gpu_count, r->since.ms, r->until.ms, note_emitted, r, err);
    return rc;
}

/* Drops GPUs without data in the span. */
static void drop_absent(struct report *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].hours > 0 || r->gpus[i].energy_mj > 0)
            r->gpus[kept++] = r->gpus[i];
    r->gpu_count = kept;
}

static int read_gaps(struct store *s, const char *host, struct report *r, struct error *err)
{
    AUTO_FREE struct explained_span *span = calloc(1, sizeof *span);
    if (!span)
        return error_set(err, -ENOMEM, "out of memory");
    span->since = r->since;
    span->until = r->until;
    int rc = gaps_within(s, host, span, err);
    memcpy(r->gaps, span->gaps, sizeof r->gaps);
    r->gap_count = span->gap_count;
    r->missing_ms = span->missing_ms;
    return rc;
}

static int by_length(const void *a, const void *b)
{
    const struct report_hot *left = a, *right = b;
    int64_t l = left->until.ms - left->since.ms, r = right->until.ms - right->since.ms;
    return (l < r) - (l > r);
}

static int read_cards(struct store *s, void *report, struct error *err)
{
    return report_cards(s, report, err);
}

/* Reads GPUs and processes in parallel. */
static int read_parts(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
{
    struct parallel_query cards;
    struct error ignored;
    parallel_query_begin(&cards, s, read_cards, r);
    int rc = report_processes(s, host, gpu_id, r, &cards, err);
    int cards_rc = parallel_query_end(&cards, rc < 0 ? &ignored : err);
    return rc < 0 ? rc : cards_rc;
}

int report_make(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until, int64_t hot_mdegc,
                const struct carbon *carbon, struct report *ret, struct error *err)
{
    *ret = (struct report){.since = since, .until = until, .hot_mdegc = hot_mdegc, .carbon = carbon};
    struct gpu_list list = {ret, gpu_id};
    int rc = store_gpus(s, host, report_note_gpu, &list, err);
    if (rc == 0)
        rc = read_energy(s, ret, err);
    if (rc == 0)
        rc = read_parts(s, host, gpu_id, ret, err);
    drop_absent(ret);
    if (rc == 0)
        rc = read_gaps(s, host, ret, err);
    if (rc == 0)
        rc = report_findings(s, host, gpu_id, ret, err);
    if (rc == 0)
        rc = report_leases(s, host, gpu_id, ret, err);
    qsort(ret->hot, ret->hot_count, sizeof ret->hot[0], by_length);
    if (rc < 0)
        report_done(ret);
    return rc;
}

void report_done(struct report *r)
{
    for (int by = 0; by < REPORT_BY_COUNT; by++) {
        free(r->groups[by]);
        r->groups[by] = NULL;
        r->group_count[by] = 0;
    }
}
