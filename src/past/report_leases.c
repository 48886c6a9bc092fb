/* SPDX-License-Identifier: Apache-2.0
 * The report's part about leases: how long users held GPUs, and how much of that their programs ran. From the events that the
 * daemon records when a lease begins and ends.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lease/lease.h"
#include "past/report.h"

/* Longer leases begin before the events that are read. */
enum { LOOK_BACK_DAYS = 31, ROWS_AT_ONCE = 1024, HELD_MAX = 1024 };

/* A lease whose end was not read yet. */
struct lease_begun {
    char id[LEASE_ID_SIZE], user[PROCESS_USER_SIZE];
    struct wall from;
    size_t gpus;
};

struct lease_rows {
    struct report *report;
    int64_t cursor;
    size_t count, begun_count;
    struct lease_begun begun[HELD_MAX];
};

static struct report_lease *lease_of_user(struct report *r, const char *user)
{
    for (size_t i = 0; i < r->lease_count; i++)
        if (strcmp(r->leases[i].user, user) == 0)
            return &r->leases[i];
    if (r->lease_count == REPORT_LEASES_MAX)
        return NULL;
    struct report_lease *l = &r->leases[r->lease_count++];
    *l = (struct report_lease){0};
    str_copy(l->user, sizeof l->user, str_from(user));
    return l;
}

static void add_time(struct report *r, const struct lease_begun *b, struct wall end, struct reading used_ms)
{
    int64_t since = MAX_OF(b->from.ms, r->since.ms), until = MIN_OF(end.ms, r->until.ms);
    struct report_lease *l = until > since ? lease_of_user(r, b->user) : NULL;
    if (!l)
        return;
    double hours = (double)(until - since) / HOUR_MS * (double)b->gpus, share = 0;
    if (used_ms.state == READING_OK && end.ms > b->from.ms) {
        share = (double)used_ms.value / (double)(end.ms - b->from.ms);
        l->used_hours += hours * (share > 1 ? 1 : share);
    } else
        l->open++;
    l->hours += hours;
    l->leases++;
}

static int add_lease_event(void *user, const struct store_event_row *event)
{
    struct lease_rows *rows = user;
    struct lease l;
    AUTO_JSON json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;
    bool known = lease_from_json(json_object_get(data, "lease"), &l, NULL) == 0;
    int64_t used_ms = json_integer_value(json_object_get(data, "used_ms"));
    rows->cursor = event->cursor;
    rows->count++;
    if (!known)
        return 0;
    struct lease_begun one = {.from = l.from, .gpus = l.gpu_count};
    str_copy(one.id, sizeof one.id, str_from(l.id));
    str_copy(one.user, sizeof one.user, str_from(l.user));
    size_t at = 0;
    while (at < rows->begun_count && strcmp(rows->begun[at].id, l.id) != 0)
        at++;
    if (l.state == LEASE_ENDED) {
        add_time(rows->report, &one, event->at, reading_ok(used_ms));
        if (at < rows->begun_count)
            rows->begun[at] = rows->begun[--rows->begun_count];
    } else if (at == rows->begun_count && at < HELD_MAX)
        rows->begun[rows->begun_count++] = one;
    return 0;
}

static int most_hours_first(const void *a, const void *b)
{
    const struct report_lease *x = a, *y = b;
    return x->hours != y->hours ? (x->hours < y->hours ? 1 : -1) : strcmp(x->user, y->user);
}

int report_leases(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
{
    AUTO_FREE struct lease_rows *rows = calloc(1, sizeof *rows);
    int rc;
    if (!rows)
        return error_set(err, -ENOMEM, "out of memory");
    rows->report = r;
    do {
        const struct store_event_page page = {.host = host,
                                              .kind = "lease",
                                              .gpu_id = gpu_id,
                                              .since_ms = r->since.ms - LOOK_BACK_DAYS * DAY_MS,
                                              .until_ms = r->until.ms,
                                              .cursor = rows->cursor,
                                              .limit = ROWS_AT_ONCE};
        rows->count = 0;
        rc = store_events(s, &page, add_lease_event, rows, err);
    } while (rc == 0 && rows->count == ROWS_AT_ONCE);
    for (size_t i = 0; i < rows->begun_count; i++)
        add_time(r, &rows->begun[i], r->until, (struct reading){0});
    qsort(r->leases, r->lease_count, sizeof r->leases[0], most_hours_first);
    return rc;
}
