/* SPDX-License-Identifier: Apache-2.0
 * The report but for processes: hours, load and hot spells of the GPUs, findings, leases; energy by its origin, what it emitted,
 * and gaps.
 */
#include "past/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "insight/facts/levels.h"
#include "lease/lease.h"
#include "past/explain.h"
#include "past/span.h"
#include "store/query.h"

/* ---- GPUs: hours, load and hot spells ---- */

/* A plot has at most QUERY_POINTS_MAX points: read longer spans in pieces. */
enum { PIECE_MS = 5 * 86400 * 1000, SPELL_GAP_STEPS = 2 };
/* Of a longer span, only the last days are read by minute, and the rest by hour. */
#define MINUTES_MAX_MS (31LL * 86400 * 1000)

static const char *const column_names[] = {"util_permille", "temp_mdegc", "throttle_bits", "power_mw"};
enum { COL_UTIL, COL_TEMP, COL_THROTTLE, COL_POWER, COL_COUNT };
static const unsigned char wanted[COL_COUNT] = {[COL_TEMP] = WANTS_MAX};

/* The longest. */
struct hot_spells {
    struct report_hot list[REPORT_HOT_MAX];
    size_t count;
};

struct card_course {
    struct report_gpu *gpu;
    const struct report *report;
    int64_t from_ms;         /* nothing is known from before */
    int64_t utils, util_sum; /* weighted by steps */
    struct report_hot spell; /* the current one; until.ms 0: none */
    double slowed_ms;
    struct hot_spells spells;
    unsigned char *watched; /* a bit for each hour since first_hour that is counted by minutes; NULL: none */
};

/* Some GPUs, in the order of the report. */
struct card_courses {
    const struct report *report;
    struct card_course *list;
    size_t count;
    int64_t step_ms;
    int64_t first_hour, hours; /* of the current piece */
};

static int64_t length_ms(const struct report_hot *spell)
{
    return spell->until.ms - spell->since.ms;
}

/* Inserts into a list of the longest. */
static void keep_spell(const struct report_hot *spell, struct report_hot list[REPORT_HOT_MAX], size_t *count)
{
    size_t least = 0;
    if (*count < REPORT_HOT_MAX) {
        list[(*count)++] = *spell;
        return;
    }
    for (size_t i = 1; i < *count; i++)
        if (length_ms(&list[i]) < length_ms(&list[least]))
            least = i;
    if (length_ms(&list[least]) < length_ms(spell))
        list[least] = *spell;
}

static void end_spell(struct card_course *c)
{
    struct report_hot *spell = &c->spell;
    if (!spell->until.ms)
        return;
    int64_t lasted = length_ms(spell);
    spell->slowed = lasted > 0 ? MIN_OF(c->slowed_ms / (double)lasted, 1.0) : 0;
    keep_spell(spell, c->spells.list, &c->spells.count);
    *spell = (struct report_hot){0};
    c->slowed_ms = 0;
}

/* The requested part of a step, whose edges may lie outside of the span. */
static int64_t known_ms(const struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    return MAX_OF(MIN_OF(point->at.ms + step_ms, c->report->until.ms) - MAX_OF(point->at.ms, c->from_ms), (int64_t)0);
}

static void note_heat(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *temp = &point->values[COL_TEMP], *throttle = &point->values[COL_THROTTLE];
    struct report_hot *spell = &c->spell;
    if (spell->until.ms && point->at.ms - spell->until.ms > SPELL_GAP_STEPS * step_ms)
        end_spell(c);
    if (!temp->count || temp->max < c->report->hot_mdegc)
        return;
    if (!spell->until.ms)
        *spell = (struct report_hot){.gpu_index = c->gpu->index, .since = {MAX_OF(point->at.ms, c->from_ms)}};
    spell->until = (struct wall){MIN_OF(point->at.ms + step_ms, c->report->until.ms)};
    spell->resolution_ms = MAX_OF(spell->resolution_ms, step_ms);
    spell->temp_max_mdegc = MAX_OF(spell->temp_max_mdegc, temp->max);
    if (throttle->count)
        c->slowed_ms += (double)throttle->sum / (double)throttle->count * (double)known_ms(c, point, step_ms);
}

/* Adds the watched, busy and idle time of a fully watched step, as far as known. */
static void note_time(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *util = &point->values[COL_UTIL];
    double hours = (double)known_ms(c, point, step_ms) / HOUR_MS;
    c->gpu->hours += hours;
    if (util->count) {
        int64_t mean = util->sum / util->count;
        c->util_sum += mean;
        c->utils++;
        if (mean >= PROCESS_BUSY_LEAST)
            c->gpu->busy_hours += hours;
        const struct aggregate *power = &point->values[COL_POWER];
        if (mean < PROCESS_IDLE_MAX && power->count) {
            c->gpu->idle_hours += hours;
            c->gpu->idle_mj += power->sum / power->count * known_ms(c, point, step_ms) / 1000;
        }
    }
}

static void note_step(struct card_course *c, const struct store_point *point, int64_t step_ms)
{
    const struct aggregate *temp = &point->values[COL_TEMP];
    if (temp->count)
        c->gpu->temp_max_mdegc = reading_ok(MAX_OF(reading_or(c->gpu->temp_max_mdegc, INT64_MIN), temp->max));
    note_heat(c, point, step_ms);
}

static int take_point(void *user, const struct store_point *point)
{
    struct card_courses *all = user;
    struct card_course *c = &all->list[point->place];
    int64_t hour = point->at.ms / HOUR_MS - all->first_hour;
    bool counted = c->watched && hour >= 0 && hour < all->hours && c->watched[hour / 8] >> hour % 8 & 1;
    if (!counted)
        note_time(c, point, all->step_ms);
    note_step(c, point, all->step_ms);
    return 0;
}

/* Counts an hour by its minutes: it may have been watched in part. */
static int take_hour(void *user, const struct store_watched_hour *h)
{
    struct card_courses *all = user;
    for (size_t i = 0; i < all->count; i++) {
        struct card_course *c = &all->list[i];
        int64_t hour = h->hour - all->first_hour;
        if (c->gpu->id != h->gpu_id)
            continue;
        c->watched[hour / 8] |= (unsigned char)(1 << hour % 8);
        c->gpu->hours += (double)h->watched_ms / HOUR_MS;
        c->gpu->busy_hours += (double)h->busy_ms / HOUR_MS;
        c->gpu->idle_hours += (double)h->idle_ms / HOUR_MS;
        c->gpu->idle_mj += h->idle_mj;
        c->util_sum += h->util_sum_permille;
        c->utils += h->util_minutes;
    }
    return 0;
}

static void forget_hours(struct card_courses *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(TAKE(all->list[i].watched));
    all->hours = 0;
}

/* The whole hours of a piece that is read by hour. */
static int read_hours(struct store *s, struct card_courses *all, const int64_t *subjects, int64_t from_ms, int64_t to_ms,
                      struct error *err)
{
    all->first_hour = (from_ms + HOUR_MS - 1) / HOUR_MS;
    all->hours = MAX_OF(to_ms / HOUR_MS - all->first_hour, (int64_t)0);
    for (size_t i = 0; i < all->count; i++)
        if (!(all->list[i].watched = calloc((size_t)all->hours / 8 + 1, 1)))
            return error_set(err, -ENOMEM, "out of memory");
    return store_watched_hours(s, subjects, all->count, all->first_hour, all->first_hour + all->hours, take_hour, all, err);
}

static int see_run(void *user, const struct store_process_run *run)
{
    struct report_hot *spell = user;
    process_words(&run->process, SHORT_NAME, spell->process);
    str_copy(spell->user, sizeof spell->user, str_from(run->process.user));
    return 1;
}

/* The process with the most energy during the hot spell. */
static int find_culprit(struct store *s, struct report_hot *spell, int64_t gpu_id, struct error *err)
{
    const struct store_span span = {
        .gpu_id = gpu_id, .since_ms = spell->since.ms, .until_ms = spell->until.ms, .within = true, .limit = 1};
    return store_process_runs(s, &span, see_run, spell, err);
}

/* One piece, by hour or by minute. */
static int read_piece(struct store *s, struct card_courses *all, int64_t from_ms, int64_t to_ms, bool by_hours, struct error *err)
{
    size_t columns[COL_COUNT];
    int64_t subjects[GPU_MAX];
    for (size_t i = 0; i < COL_COUNT; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    for (size_t i = 0; i < all->count; i++)
        subjects[i] = all->list[i].gpu->id;
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subjects = subjects,
                                    .subject_count = all->count,
                                    .since_ms = from_ms,
                                    .until_ms = to_ms,
                                    .step_ms = level_ms(by_hours ? LEVEL_HOUR : LEVEL_MINUTE),
                                    .columns = columns,
                                    .column_count = COL_COUNT,
                                    .wanted = wanted};
    enum level level;
    store_plan(s, &plot, &all->step_ms, &level);
    int rc = all->step_ms == HOUR_MS ? read_hours(s, all, subjects, from_ms, to_ms, err) : 0;
    if (rc == 0)
        rc = store_series(s, &plot, take_point, all, err);
    forget_hours(all);
    return rc;
}

/* By hour, except for hours that are not aggregated yet. */
static int read_settled(struct store *s, struct card_courses *all, int64_t from_ms, int64_t to_ms, struct error *err)
{
    struct hour_segments segments;
    int rc = store_hour_segments(s, from_ms / MINUTE_MS, (to_ms + MINUTE_MS - 1) / MINUTE_MS, 1, &segments, err);
    for (size_t i = 0; rc == 0 && i < segments.count; i++) {
        const struct hour_segment *g = &segments.list[i];
        rc = read_piece(s, all, MAX_OF(g->from * MINUTE_MS, from_ms), MIN_OF(g->to * MINUTE_MS, to_ms), g->hours, err);
    }
    return rc;
}

static int read_points(struct store *s, void *courses, struct error *err)
{
    struct card_courses *all = courses;
    const struct report *r = all->report;
    int rc = 0;
    if (!all->count)
        return 0;
    /* Pieces end on whole hours, so that no step counts twice. */
    for (int64_t from = r->since.ms; rc == 0 && from < r->until.ms;) {
        bool by_hours = from < r->until.ms - MINUTES_MAX_MS;
        int64_t to = MIN_OF(from / HOUR_MS * HOUR_MS + (by_hours ? 12 : 1) * (int64_t)PIECE_MS, r->until.ms);
        rc = by_hours ? read_settled(s, all, from, to, err) : read_piece(s, all, from, to, false, err);
        from = to;
    }
    return rc;
}

/* The longest spells of all GPUs, and their processes. */
static int take_spells(struct store *s, struct report *r, struct card_courses *all, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->list[i].spells.count; k++)
            keep_spell(&all->list[i].spells.list[k], r->hot, &r->hot_count);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; rc == 0 && k < r->hot_count; k++)
            if (r->hot[k].gpu_index == all->list[i].gpu->index && !r->hot[k].process[0])
                rc = find_culprit(s, &r->hot[k], all->list[i].gpu->id, err);
    return rc;
}

/* Whether there are enough minutes to make another connection worthwhile. */
static bool are_many(const struct card_courses *all)
{
    const int64_t many_ms = 14LL * 86400 * 1000;
    int64_t span_ms = all->report->until.ms - all->report->since.ms;
    return all->count > 1 && span_ms > many_ms && span_ms <= MINUTES_MAX_MS;
}

/* Two connections handle half of the GPUs each. */
static int read_halves(struct store *s, const struct card_courses *all, struct error *err)
{
    size_t middle = parallel_query_is_faster(s) && are_many(all) ? all->count / 2 : all->count;
    struct card_courses first = {.report = all->report, .list = all->list, .count = middle};
    struct card_courses second = {.report = all->report, .list = all->list + middle, .count = all->count - middle};
    return second.count ? parallel_query_both(s, read_points, &first, read_points, &second, err) : read_points(s, &first, err);
}

/* Hours, load and hot spells. */
static int report_cards(struct store *s, struct report *r, struct error *err)
{
    struct card_courses all = {.report = r, .count = r->gpu_count};
    AUTO_FREE struct card_course *list = all.list = calloc(all.count + 1, sizeof *list);
    if (!list)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < all.count; i++)
        list[i] = (struct card_course){.gpu = &r->gpus[i], .report = r, .from_ms = report_watched_from(r, &r->gpus[i])};
    int rc = read_halves(s, &all, err);
    for (size_t i = 0; i < all.count; i++) {
        end_spell(&list[i]);
        if (list[i].utils)
            r->gpus[i].util_permille = reading_ok(list[i].util_sum / list[i].utils);
    }
    return rc < 0 ? rc : take_spells(s, r, &all, err);
}

/* ---- findings: once per kind and GPU, with their total duration ---- */

enum { ROWS_AT_ONCE = 1024 };

struct finding_rows {
    struct report *report;
    int64_t cursor;
    size_t count;
};

static struct report_finding *find_kind(struct report *r, const struct store_finding *f)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].code == f->code && r->findings[i].gpu_id == f->gpu_id)
            return &r->findings[i];
    if (r->finding_count == REPORT_FINDINGS_MAX)
        return NULL;
    struct report_finding *found = &r->findings[r->finding_count++];
    *found = (struct report_finding){.gpu_id = f->gpu_id, .gpu_index = f->gpu_index, .code = f->code, .since = r->until};
    return found;
}

static int add_episode(void *user, const struct store_finding *f)
{
    struct finding_rows *rows = user;
    struct report *r = rows->report;
    rows->cursor = f->id;
    rows->count++;
    struct report_finding *found = find_kind(r, f);
    if (!found)
        return 0;
    struct wall since = {MAX_OF(f->first_seen.ms, r->since.ms)}, until = {MIN_OF(f->last_seen.ms, r->until.ms)};
    if (!found->times || f->severity > found->severity) {
        found->severity = f->severity;
        span_past_tense(f->headline, found->headline, sizeof found->headline);
    }
    found->times++;
    found->total_ms += MAX_OF(until.ms - since.ms, (int64_t)0);
    found->since.ms = MIN_OF(found->since.ms, since.ms);
    found->until.ms = MAX_OF(found->until.ms, until.ms);
    return 0;
}

static int worst_first(const void *a, const void *b)
{
    const struct report_finding *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity < y->severity ? 1 : -1;
    if (x->total_ms != y->total_ms)
        return x->total_ms < y->total_ms ? 1 : -1;
    return x->code != y->code ? (int)x->code - (int)y->code : x->gpu_index - y->gpu_index;
}

/* Findings of severity notice and above. */
static int report_findings(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
{
    struct finding_rows rows = {.report = r};
    int rc;
    do {
        const struct store_finding_page page = {.host = host,
                                                .gpu_id = gpu_id,
                                                .since_ms = r->since.ms,
                                                .until_ms = r->until.ms,
                                                .least = SEVERITY_NOTICE,
                                                .cursor = rows.cursor,
                                                .limit = ROWS_AT_ONCE};
        rows.count = 0;
        rc = store_findings(s, &page, add_episode, &rows, err);
    } while (rc == 0 && rows.count == ROWS_AT_ONCE);
    qsort(r->findings, r->finding_count, sizeof r->findings[0], worst_first);
    return rc;
}

/* ---- leases: how long users held GPUs, and how much of that their programs ran; from the events that the daemon records when a
 * lease begins and ends ---- */

/* Longer leases begin before the events that are read. */
enum { LOOK_BACK_DAYS = 31, HELD_MAX = 1024 };

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

/* Leased GPUs by user. */
static int report_leases(struct store *s, const char *host, int64_t gpu_id, struct report *r, struct error *err)
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

/* ---- the report ---- */

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
