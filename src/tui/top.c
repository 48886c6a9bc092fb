/* SPDX-License-Identifier: Apache-2.0
 * The state of the live view: how samples and answers change it, and its position in time.
 */
#include "tui/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/area/part.h"
#include "insight/view/why.h"
#include "tui/fleet_rows.h"

enum { PANE_MS = 5000, GUARD_MS = 1000 };

const int64_t top_windows_ms[] = {
    MINUTE_MS,       5 * MINUTE_MS,    15 * MINUTE_MS,       60 * MINUTE_MS,
    360 * MINUTE_MS, 1440 * MINUTE_MS, 7 * 1440 * MINUTE_MS, 30 * 1440 * MINUTE_MS,
};
const size_t top_window_count = ARRAY_LEN(top_windows_ms);

const struct top_settings top_defaults = {
    .theme = "default",
    .sort = "gpu",
    .window_ms = 5 * MINUTE_MS,
    .metric = TRAIL_WORK,
    .columns = ((1U << COL_COUNT) - 1) & ~(1U << COL_BY | 1U << COL_MODEL | 1U << COL_NAME),
};

int top_init(struct top *t, const struct top_settings *settings)
{
    *t = (struct top){.width = 80, .height = 24, .only = ALL_GPUS, .settings = *settings, .interval_ms = MS_PER_S};
    return 0;
}

static void free_trails(struct trail *trails, size_t count)
{
    for (size_t i = 0; trails && i < count; i++)
        trail_done(&trails[i]);
    free(trails);
}

static void drop_trails(struct top *t)
{
    free_trails(TAKE(t->trails), t->trail_count);
    free_trails(TAKE(t->far), t->trail_count);
    t->trail_count = 0;
}

void top_drop_past(struct top *t)
{
    t->row_count = 0; /* they point into the old sample */
    snapshot_unref(TAKE(t->past));
    why_free(TAKE(t->past_why));
    t->missing = (struct top_missing){0};
}

void top_done(struct top *t)
{
    top_drop_past(t);
    drop_trails(t);
    for (size_t i = 0; i < t->kept_count; i++)
        snapshot_unref(t->kept[i]);
    snapshot_unref(t->live);
    snapshot_unref(t->whole);
    why_free(t->why);
    for (size_t i = 0; i < TAB_COUNT; i++)
        free(t->panes[i]);
    top_details_done(&t->details);
    free(t->where);
    free(t->answer);
    free(t->busy);
    free(t->rows);
    top_fleet_free(t->fleet);
    *t = (struct top){0};
}

void top_resize(struct top *t, int width, int height)
{
    t->width = width;
    t->height = height;
}

size_t top_tab_count(const struct top *t)
{
    return t->fleet || t->has_fleet || t->host_count > 1 ? TAB_COUNT : TAB_HOSTS;
}

void top_switch(struct top *t, const struct top *from)
{
    t->settings = from->settings;
    t->tab = t->fleet ? TAB_HOSTS : from->tab == TAB_HOSTS ? TAB_OVERVIEW : from->tab;
    t->scroll = 0;
    t->mode = MODE_MAIN;
    t->host_choice = from->host_choice;
    t->paused = from->paused;
    top_resize(t, from->width, from->height);
    if (t->tab >= TAB_ALERTS && t->tab < TAB_HOSTS)
        top_want(t, REQUEST_PANE)->number = t->tab;
    top_make_rows(t);
}

void top_note(struct top *t, bool bad, const char *text)
{
    str_copy(t->note, sizeof t->note, str_from(text));
    t->note_bad = bad;
}

struct top_request *top_want(struct top *t, enum request_kind kind)
{
    if (t->request_count == TOP_REQUESTS) /* full, because no caller takes them: drop the oldest */
        memmove(t->requests, t->requests + 1, --t->request_count * sizeof *t->requests);
    struct top_request *w = &t->requests[t->request_count++];
    *w = (struct top_request){.kind = kind, .window_ms = t->settings.window_ms, .width = t->width - 2};
    return w;
}

struct top_request top_next_request(struct top *t)
{
    if (!t->request_count)
        return (struct top_request){0};
    struct top_request first = t->requests[0];
    memmove(t->requests, t->requests + 1, --t->request_count * sizeof *t->requests);
    return first;
}

const struct snapshot *top_shown(const struct top *t)
{
    return t->missing.at_ms ? NULL : t->cursor_ms && t->past ? t->past : t->live;
}

const struct why *top_shown_why(const struct top *t)
{
    return t->missing.at_ms ? NULL : t->cursor_ms && t->past ? t->past_why : t->why;
}

enum trail_of top_metric(const struct top *t)
{
    const struct snapshot *s = top_shown(t);
    bool works = false;
    for (size_t i = 0; s && i < s->gpu_count && !works; i++)
        works = s->gpus[i].sm_active_permille.state == READING_OK;
    return t->settings.metric == TRAIL_WORK && !works ? TRAIL_UTIL : t->settings.metric;
}

/* Recognizes the GPU of the headline by its answer, with which the headline begins. */
const struct why_part *top_why_part(const struct top *t)
{
    const struct why *why = top_shown_why(t);
    if (!why)
        return NULL;
    if (t->only != ALL_GPUS && t->only < (int)why->gpu_count)
        return &why->gpus[t->only];
    for (size_t i = 0; i < why->gpu_count; i++)
        if (strncmp(why->answer, why->gpus[i].answer, strcspn(why->gpus[i].answer, ".")) == 0)
            return &why->gpus[i];
    return why->machine.cause_count || !why->gpu_count ? &why->machine : &why->gpus[0];
}

bool top_advice_command(const struct top *t, char *text, size_t size)
{
    const struct why_part *part = top_why_part(t);
    for (size_t i = 0; part && i < part->suggestion_count; i++) {
        struct str command = remedy_command(part->suggestions[i]);
        if (command.len) {
            str_copy(text, size, command);
            return true;
        }
    }
    return false;
}

/* ---- samples ---- */

static bool make_trails(struct top *t, size_t count)
{
    if (t->trail_count == count && t->trails)
        return true;
    drop_trails(t);
    t->trails = calloc(count ? count : 1, sizeof *t->trails);
    t->far = calloc(count ? count : 1, sizeof *t->far);
    if (!t->trails || !t->far)
        return false;
    t->trail_count = count;
    return true;
}

/* Thins the trails to the window. While paused, the points on screen must stay: later ones never replace them. */
static void add_to_trails(struct top *t, const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct trail *trail = &t->trails[i];
        struct trail_point point = trail_point_of(&s->gpus[i], s->taken_at.ms);
        bool on_screen = t->paused && trail->count && trail->points[trail->count - 1].at_ms <= t->now.ms;
        trail_add(trail, &point, on_screen ? 0 : t->settings.window_ms / (TRAIL_POINTS / 2));
    }
}

/* Keeps the sample: without a daemon, kept samples are the past. */
static void keep(struct top *t, const struct snapshot *s)
{
    size_t max = s->gpu_count ? MIN_OF(TOP_KEPT_GPUS / s->gpu_count, (size_t)TOP_KEPT) : 0;
    if (t->daemon)
        max = 0;
    while (t->kept_count && t->kept_count >= max) {
        snapshot_unref(t->kept[0]);
        memmove(t->kept, t->kept + 1, --t->kept_count * sizeof t->kept[0]);
    }
    if (max)
        t->kept[t->kept_count++] = snapshot_ref(s);
}

static void take_events(struct top *t, const struct snapshot *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const struct event *e = &s->events[i];
        struct top_mark mark = {.at_ms = e->at.ms, .gpu_index = e->gpu_index, .bad = e->kind != EVENT_GPU_BACK};
        str_copy(mark.text, sizeof mark.text, str_from(e->text));
        top_mark(t, &mark);
    }
}

/* ---- the GPUs that are shown ---- */

static void chosen_gpus(const struct top *t, struct gpu_choice *ret)
{
    if (t->settings.gpus[0] && snapshot_find_gpus(t->whole, t->settings.gpus, ret))
        return;
    *ret = (struct gpu_choice){.count = t->whole->gpu_count};
    memset(ret->on, true, sizeof ret->on);
}

bool top_gpu_on(const struct top *t, int position)
{
    struct gpu_choice choice;
    chosen_gpus(t, &choice);
    return choice.on[position];
}

void top_toggle_gpu(struct top *t, int position)
{
    struct gpu_choice choice;
    AUTO_BUF struct buf list = BUF(TOP_GPUS_SIZE);
    chosen_gpus(t, &choice);
    if (choice.on[position] && choice.count == 1) {
        top_note(t, false, "One GPU stays.");
        return;
    }
    choice.on[position] = !choice.on[position];
    choice.count += choice.on[position] ? 1 : (size_t)-1;
    for (size_t i = 0; choice.count < t->whole->gpu_count && i < t->whole->gpu_count; i++)
        if (choice.on[i])
            buf_printf(&list, "%s%d", list.len ? "," : "", t->whole->gpus[i].index);
    str_copy(t->settings.gpus, sizeof t->settings.gpus, list.failed ? STR("") : buf_view(&list));
    str_copy(top_want(t, REQUEST_GPUS)->text, sizeof t->requests[0].text, str_from(t->settings.gpus));
}

/* What is kept by position belongs to other GPUs now. */
static void forget_others(struct top *t, const struct snapshot *s)
{
    bool same = t->live && t->live->gpu_count == s->gpu_count;
    for (size_t i = 0; same && i < s->gpu_count; i++)
        same = t->live->gpus[i].index == s->gpus[i].index;
    if (same || !t->live)
        return;
    drop_trails(t);
    while (t->kept_count)
        snapshot_unref(t->kept[--t->kept_count]);
    memset(t->badges, 0, sizeof t->badges);
    t->only = ALL_GPUS;
    top_want(t, REQUEST_SERIES)->number = 0;
    t->cursor_ms = t->far_until_ms = 0;
    t->waiting = false;
    top_drop_past(t);
}

void top_sample(struct top *t, const struct snapshot *s, struct why *why, bool daemon)
{
    bool first = !t->live;
    if (!t->paused)
        forget_others(t, s);
    t->daemon = daemon;
    t->trouble[0] = '\0';
    if (make_trails(t, s->gpu_count))
        add_to_trails(t, s);
    keep(t, s);
    take_events(t, s);
    top_watch_busy(t, s);
    if (t->paused && !first) {
        snapshot_unref(s);
        why_free(why);
        return;
    }
    t->row_count = 0;
    snapshot_unref(t->live);
    t->live = s;
    t->now = s->taken_at;
    if (why || !t->why || t->why->gpu_count != s->gpu_count) {
        why_free(t->why);
        t->why = why;
    }
    if (t->only != ALL_GPUS && t->only >= (int)s->gpu_count)
        t->only = ALL_GPUS;
    if (t->tab >= TAB_ALERTS && t->tab < TAB_HOSTS &&
        t->now.ms - t->pane_at_ms[t->tab] >= (t->tab == TAB_GUARD ? GUARD_MS : PANE_MS))
        top_want(t, REQUEST_PANE)->number = t->tab;
    if (first)
        top_want(t, REQUEST_SERIES)->number = 0;
    top_make_rows(t);
    top_details_again(t);
}

void top_trouble(struct top *t, const char *text)
{
    str_copy(t->trouble, sizeof t->trouble, str_from(text));
}

void top_series(struct top *t, size_t gpu, int64_t until_ms, const struct trail_point *points, size_t count)
{
    if (gpu >= t->trail_count)
        return;
    if (!until_ms) {
        trail_prepend(&t->trails[gpu], points, count);
    } else if (until_ms == t->far_until_ms) {
        trail_done(&t->far[gpu]);
        trail_prepend(&t->far[gpu], points, count);
    }
}

void top_mark(struct top *t, const struct top_mark *mark)
{
    for (size_t i = 0; i < t->mark_count; i++)
        if (t->marks[i].at_ms == mark->at_ms && strcmp(t->marks[i].text, mark->text) == 0)
            return;
    if (t->mark_count == TOP_MARKS)
        memmove(t->marks, t->marks + 1, --t->mark_count * sizeof *t->marks);
    t->marks[t->mark_count++] = *mark;
}

void top_moment(struct top *t, int64_t at_ms, const struct snapshot *s, struct why *why, const char *note)
{
    if (at_ms != t->cursor_ms) { /* the cursor has moved meanwhile */
        snapshot_unref(s);
        why_free(why);
        return;
    }
    t->waiting = false;
    top_drop_past(t);
    t->past = s;
    t->past_why = why;
    if (note[0])
        top_note(t, false, note);
    top_make_rows(t);
}

void top_miss(struct top *t, const struct top_missing *missing)
{
    if (missing->at_ms != t->cursor_ms)
        return;
    t->waiting = false;
    top_drop_past(t);
    t->missing = *missing;
    if (t->mode == MODE_DETAILS || t->mode == MODE_SIGNAL || t->mode == MODE_NICE) /* about a process that is no longer on screen */
        t->mode = MODE_MAIN;
    top_make_rows(t);
}

bool top_tab_has_past(enum top_tab tab)
{
    return tab == TAB_OVERVIEW || tab == TAB_WHY;
}

void top_pane(struct top *t, enum top_tab tab, char *text, int64_t at_ms)
{
    free(t->panes[tab]);
    t->panes[tab] = text;
    t->pane_at_ms[tab] = at_ms;
}

void top_answer(struct top *t, const char *title, char *text)
{
    free(t->answer);
    t->answer = text;
    t->answer_title = title;
    if (t->mode == MODE_MAIN && text)
        t->mode = MODE_ANSWER;
}

void top_details_done(struct top_details *d)
{
    free(d->text);
    free(d->vram);
    *d = (struct top_details){0};
}

void top_details(struct top *t, struct top_details *details)
{
    const struct top_row *row = top_selected(t);
    if (row && row->process && row->process->pid == details->pid && row->process->start_key == details->start_key) {
        top_details_done(&t->details);
        t->details = *details;
        *details = (struct top_details){0};
    }
    top_details_done(details);
}

void top_where(struct top *t, int32_t pid, char *text)
{
    const struct top_row *row = top_selected(t);
    bool wanted = t->mode == MODE_DETAILS && row && row->process && row->process->pid == pid;
    free(wanted ? t->where : text);
    if (wanted)
        t->where = text;
}

int64_t top_until_ms(const struct top *t)
{
    return t->far_until_ms ? t->far_until_ms : t->now.ms;
}

void top_zone(struct top *t, enum zone_kind kind, int x, int y, int width, int height, int64_t number)
{
    if (t->zone_count < TOP_ZONES)
        t->zones[t->zone_count++] = (struct zone){kind, x, y, width, height, number};
}
