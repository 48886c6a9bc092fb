/* SPDX-License-Identifier: Apache-2.0
 * Reads the history for one forecast, read-only.
 */
#include "ask/answers.h"

#include <errno.h>

#include "ask/history_source.h"
#include "base/log.h"
#include "config/places.h"
#include "store/query.h"

/* How far back to look, how many rows to read at most, and how old the newest may be to count as current. */
enum { LOOK_BACK_MS = 3 * 3600 * 1000, ROWS_MAX = 40000, PAGE_ROWS = 10000, FRESH_MS = 60000 };

/* Columns to read. */
static const char *const wanted[] = {"mem_used_bytes", "mem_free_bytes", "mem_total_bytes", "mem_reserved_bytes",
                                     "temp_mdegc",     "power_mw",       "throttle_bits",   "power_limit_mw"};
enum { USED, FREE, TOTAL, RESERVED, TEMP, POWER, THROTTLE, LIMIT, WANTED };

struct stored_course {
    const struct snapshot *now;
    struct forecast_memory *memory;
    struct snapshot *building; /* collects the rows of one moment */
    int64_t building_ms, first_ms, last_ms, step_ms;
    int64_t cursor;
    size_t rows;
    int column[WANTED]; /* position among the queried columns; -1: this database lacks it */
};

static void flush(struct stored_course *p)
{
    if (!p->building)
        return;
    struct snapshot *s = p->building;
    s->taken_at.ms = p->building_ms;
    s->taken.ns = p->now->taken.ns - (p->now->taken_at.ms - p->building_ms) * NS_PER_MS;
    /* A monotonic time that is not positive lies before the last boot. */
    if (s->taken.ns > 0 && p->building_ms < p->now->taken_at.ms) {
        forecast_see(p->memory, s);
        if (!p->first_ms || p->building_ms - p->last_ms > FRESH_MS)
            p->first_ms = p->building_ms;
        p->last_ms = p->building_ms;
    }
    snapshot_unref(s);
    p->building = NULL;
}

static struct reading cell(const struct stored_course *p, const struct store_row *row, int which)
{
    return p->column[which] >= 0 ? row->values[p->column[which]] : reading_absent(READING_UNREAD);
}

static int forecast_take_row(void *user, const struct store_row *row)
{
    struct stored_course *p = user;
    p->cursor = row->cursor;
    if (++p->rows > ROWS_MAX)
        return 1;
    if (p->building && row->at.ms != p->building_ms)
        flush(p);
    if (!p->building) {
        p->building = snapshot_new(p->now->gpu_count);
        if (!p->building)
            return -ENOMEM;
        p->building_ms = row->at.ms;
        for (size_t i = 0; i < p->now->gpu_count; i++) {
            p->building->gpus[i].id = p->now->gpus[i].id;
            p->building->gpus[i].index = p->now->gpus[i].index;
            p->building->gpus[i].state = GPU_ERROR; /* until its row arrives */
        }
    }
    for (size_t i = 0; i < p->now->gpu_count; i++) {
        struct gpu *g = &p->building->gpus[i];
        if (!gpu_same(&g->id, &row->gpu->identity))
            continue;
        g->state = GPU_OK;
        g->mem_used_bytes = cell(p, row, USED);
        g->mem_free_bytes = cell(p, row, FREE);
        g->mem_total_bytes = cell(p, row, TOTAL);
        g->mem_reserved_bytes = cell(p, row, RESERVED);
        g->temp_mdegc = cell(p, row, TEMP);
        g->power_mw = cell(p, row, POWER);
        g->throttle_bits = cell(p, row, THROTTLE);
        g->power_limit_mw = p->now->gpus[i].power_limit_mw;
    }
    return 0;
}

static int read_rows(struct store *s, const char *host, struct stored_course *p, struct error *err)
{
    size_t columns[WANTED], count = 0;
    for (int i = 0; i < WANTED; i++) {
        int found = series_find(SERIES_GPU, wanted[i]);
        p->column[i] = found < 0 ? -1 : (int)count;
        if (found >= 0)
            columns[count++] = (size_t)found;
    }
    struct store_page page = {.host = host,
                              .since_ms = p->now->taken_at.ms - LOOK_BACK_MS,
                              .until_ms = p->now->taken_at.ms + 1,
                              .gpu_index = -1,
                              .limit = PAGE_ROWS,
                              .columns = columns,
                              .column_count = count};
    for (;;) {
        size_t before = p->rows;
        page.cursor = p->cursor;
        int rc = store_rows(s, &page, forecast_take_row, p, err);
        if (rc < 0)
            return rc;
        if (p->rows - before < PAGE_ROWS || p->rows > ROWS_MAX)
            return 0;
    }
}

double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem)
{
    const struct config *config = cli->settings;
    struct error err = {0};
    char host[HOST_NAME_SIZE];
    str_copy(host, sizeof host, str_from(config->store.host[0] ? config->store.host : now->host.name));
    struct store *store;
    if (history_open(cli, config, &store, &err) < 0) {
        if (cli->ask.store)
            *problem = err;
        log_debug("no history", LOG_TEXT("reason", err.text));
        return 0;
    }
    struct stored_course past = {.now = now, .memory = memory};
    if (read_rows(store, host, &past, &err) < 0)
        log_debug("cannot read the history", LOG_TEXT("reason", err.text));
    else
        flush(&past);
    snapshot_unref(past.building);
    store_close(store);
    return past.last_ms && now->taken_at.ms - past.last_ms <= FRESH_MS ? (double)(now->taken_at.ms - past.first_ms) / 1000 : 0;
}
