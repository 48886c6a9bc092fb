/* SPDX-License-Identifier: Apache-2.0
 * The writer's thread: the only one that changes the database. It may hang as long as the database does; the keeper continues.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "store/service/internal.h"

enum { CLEAN_BUDGET_MS = 100, MEMORY_EVERY_MS = 20000 };

static void close_store(struct store_service *v)
{
    if (v->store)
        v->rejected_before += store_rejected(v->store);
    store_close(v->store);
    v->store = NULL;
    v->confirmed_run = 0;
}

/* A damaged file must not prevent future history. */
static void move_aside(struct store_service *v, const struct error *why)
{
    char moved[640];
    struct error err = {0};
    close_store(v);
    atomic_fetch_add(&v->epoch, 1);
    if (store_move_aside(v->url, clock_wall(v->options.clock), moved, sizeof moved, &err) == 0)
        service_log(v, LOG_ERROR, "store: the file is damaged (%s); it was moved to '%s' and a new one is started", why->text,
                    moved);
    else
        service_log(v, LOG_ERROR, "store: the file is damaged (%s), but %s", why->text, err.text);
}

static int open_store(struct store_service *v, struct work *w)
{
    if (v->store)
        return 0;
    const struct store_options options = {.env = v->options.store.env,
                                          .url = v->url,
                                          .host = store_service_host(v),
                                          .was = v->was,
                                          .one_host = v->options.store.one_host,
                                          .limits = w->limits};
    int rc = store_open(&options, &v->store, &w->err);
    if (rc == -EUCLEAN && !service_is_server(v)) {
        move_aside(v, &w->err);
        rc = store_open(&options, &v->store, &w->err);
    }
    if (rc == 0)
        atomic_fetch_add(&v->epoch, 1);
    return rc;
}

/* The file was removed or replaced: nothing written to it would ever be read. */
static void check_file(struct store_service *v, struct work *w)
{
    char now[WALL_TEXT_SIZE];
    if (!v->store || !store_file_is_gone(v->store))
        return;
    close_store(v);
    wall_format(clock_wall(v->options.clock), now);
    snprintf(w->notice, sizeof w->notice, "the file was removed while whirr was running; a new one was started at %s", now);
    service_log(v, LOG_ERROR, "store: the file '%s' was removed or replaced while whirr was running; a new one is started",
                v->url + strlen("sqlite:"));
}

static int failed(struct store_service *v, int rc, const struct error *err)
{
    if (rc == -EUCLEAN && !service_is_server(v))
        move_aside(v, err);
    else if (service_is_server(v) || (rc != -ENOSPC && rc != -EBUSY))
        close_store(v);
    return rc;
}

/* After a lost connection: checks whether the last transaction was committed. 1: the batch still has to be written. */
static int confirm(struct store_service *v, struct work *w)
{
    const struct backlog_batch *batch = &w->batch;
    const char *own = store_service_host(v), *host = own[0] ? own : batch_host(batch);
    if (!service_is_server(v) || v->confirmed_run == batch->run || !host[0])
        return 1;
    int64_t last;
    int rc = store_last_number(v->store, host, batch->run, &last, &w->err);
    if (rc < 0)
        return rc;
    v->confirmed_run = batch->run;
    w->written_to = last >= batch->first ? last : 0;
    return w->written_to == 0;
}

/* Two hosts of one name don't share their rows. */
static int name_host(struct store_service *v, struct work *w)
{
    char here[HOST_NAME_SIZE];
    const char *name = batch_host(&w->batch);
    if (v->is_named || v->is_beside || !service_is_server(v) || v->host[0] || !v->machine[0])
        return 0;
    if (!name[0]) { /* events alone, before the first snapshot */
        env_host_name(here, sizeof here);
        name = here;
    }
    int rc = store_name_host(v->store, name, v->machine, v->beside, &w->err);
    if (rc < 0)
        return rc;
    v->is_named = name != here;
    if (strcmp(v->beside, name) == 0)
        return 0;
    atomic_store(&v->is_beside, true);
    service_log(v, LOG_WARNING, "store: another host called '%s' writes into this database; this one's history is kept as '%s'",
                name, v->beside);
    close_store(v);
    return open_store(v, w);
}

static int write_batch(struct store_service *v, struct work *w)
{
    const struct backlog_batch *batch = &w->batch;
    int rc = name_host(v, w);
    if (rc == 0)
        rc = confirm(v, w);
    if (rc != 1)
        return rc;
    const struct store_part part = {.snapshots = batch->snapshots,
                                    .snapshot_count = batch->snapshot_count,
                                    .events = batch->events,
                                    .event_count = batch->event_count,
                                    .run = service_is_server(v) ? batch->run : 0,
                                    .first = batch->first,
                                    .last = batch->number};
    uint64_t rejected = store_rejected(v->store);
    rc = store_write_part(v->store, &part, &w->err);
    if (rc == 0) {
        w->written = batch->snapshot_count - (size_t)(store_rejected(v->store) - rejected);
        w->written_to = batch->number;
    }
    return rc;
}

/* "30d", "5h": rounded for people. */
static void rounded(int64_t ms, char text[WORDS_SIZE])
{
    const int64_t minute = 60000, hour = 60 * minute, day = 24 * hour;
    int64_t unit = ms >= 2 * day ? day : ms >= 2 * hour ? hour : minute;
    duration_exact(MAX_OF((ms + unit / 2) / unit, (int64_t)1) * unit, text);
}

/* Logs changes of the clock's state. */
static void log_clock(struct store_service *v, struct work *w)
{
    char offset[WORDS_SIZE], wait[WORDS_SIZE];
    store_clock(v->store, &w->clock);
    const struct store_clock *c = &w->clock;
    int now = store_clock_side(c);
    rounded(now < 0 ? -c->offset_ms : c->offset_ms, offset);
    rounded(c->wait_ms, wait);
    if (now > 0 && v->clock_logged <= 0)
        service_log(v, LOG_WARNING,
                    "store: the clock is %s ahead of what the history has seen; whirr was off that long or the clock is wrong, so "
                    "nothing is deleted by it before it has held for another %s",
                    offset, wait);
    else if (now < 0 && v->clock_logged >= 0)
        service_log(
            v, LOG_WARNING,
            "store: the clock is %s behind what the history has seen; samples are kept at the time it shows, nothing is deleted",
            offset);
    else if (now == 0 && v->clock_logged != 0)
        service_log(v, LOG_INFO, "store: the clock and the history agree again");
    v->clock_logged = now;
    if (c->healed_ms > v->healed_logged) {
        rounded(c->healed_ms, offset);
        service_log(v, LOG_WARNING,
                    "store: the history had been cleaned up by a clock that was wrong, up to %s ahead of now; repaired, samples "
                    "are kept again",
                    offset);
    }
    v->healed_logged = c->healed_ms;
}

/* Logs a failure once, and counts it. */
static void log_cleaning(struct store_service *v, int rc, const struct error *err)
{
    bool fails = rc < 0 && rc != -ENOSPC && rc != -EBUSY;
    if (fails && !v->clean_fails)
        service_log(v, LOG_WARNING, "store: cleaning up failed: %s; trying again with each sample", err->text);
    else if (rc >= 0 && v->clean_fails)
        service_log(v, LOG_INFO, "store: cleaning up works again");
    if (fails || rc >= 0)
        v->clean_fails = fails;
    v->clean_failures += fails;
}

static int clean_some(struct store_service *v, struct work *w)
{
    struct mono begin = clock_mono(&clock_system);
    struct error err = {0};
    int more = 1;
    while (more == 1 && mono_since_ms(clock_mono(&clock_system), begin) < CLEAN_BUDGET_MS)
        more = store_clean(v->store, clock_wall(v->options.clock), clock_boot(v->options.clock), &err);
    if (more == -EUCLEAN && !service_is_server(v)) {
        move_aside(v, &err);
        return 0;
    }
    if (more == -ENOTCONN) {
        w->err = err;
        return more;
    }
    log_cleaning(v, more, &err);
    log_clock(v, w);
    w->clean_failures = v->clean_failures;
    return 0;
}

static void do_work(struct store_service *v, struct work *w)
{
    w->written_to = 0;
    w->written = 0;
    w->used_bytes = -1;
    w->err = (struct error){0};
    check_file(v, w);
    int rc = open_store(v, w);
    if (rc == 0) {
        store_set_limits(v->store, &w->limits);
        rc = w->batch.count ? write_batch(v, w) : 0;
    }
    if (rc == 0 && w->clean)
        rc = clean_some(v, w);
    w->rc = rc < 0 ? failed(v, rc, &w->err) : 0;
    if (v->store)
        store_used_bytes(v->store, &w->used_bytes, NULL);
    w->rejected = v->rejected_before + (v->store ? store_rejected(v->store) : 0);
}

static void trim_memory(struct store_service *v)
{
    struct mono now = clock_mono(&clock_system);
    if (!v->store || mono_since_ms(now, v->memory_trimmed) < MEMORY_EVERY_MS)
        return;
    v->memory_trimmed = now;
    store_trim_memory(v->store);
}

void *service_writer(void *service)
{
    struct store_service *v = service;
    for (struct work *w; (w = mailbox_take(v->works, -1)) != NULL;) {
        do_work(v, w);
        mailbox_put(v->answers, w);
        trim_memory(v);
    }
    close_store(v);
    service_release(v);
    return NULL;
}
