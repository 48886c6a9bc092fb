/* SPDX-License-Identifier: Apache-2.0
 * The lines of the process table: filtered, sorted, grouped; idle holders; tags.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "tui/fleet_rows.h"
#include "tui/top.h"

enum { BUSY_MAX = 4096 };

const char *const top_group_names[GROUPED_COUNT + 1] = {"none", "tree", "user", "container", "job", "model"};

const struct top_column_info top_columns[COL_COUNT] = {
    [COL_GPU] = {"GPU", "gpu", 4, true, 0},
    [COL_PID] = {"PID", "pid", 7, true, 2},
    [COL_USER] = {"USER", "user", 8, false, 2},
    [COL_TYPE] = {"TYPE", "type", 8, false, 9},
    [COL_VRAM] = {"VRAM GiB", "memory", 8, true, 0},
    [COL_SM] = {"UTIL", "utilization", 5, true, 1},
    [COL_WORK] = {"WORK", NULL, 5, true, 5},
    [COL_MEM] = {"BW", "mem", 5, true, 11},
    [COL_ENC] = {"ENC", "enc", 5, true, 13},
    [COL_DEC] = {"DEC", "dec", 5, true, 13},
    [COL_WATTS] = {"WATTS", "power", 5, true, 4},
    [COL_TOKENS] = {"TOK/S", NULL, 6, true, 3},
    [COL_BY] = {"BY", NULL, 6, false, 14},
    [COL_CPU] = {"CPU", "cpu", 6, true, 5},
    [COL_RAM] = {"RAM GiB", "host-memory", 7, true, 8},
    [COL_AGE] = {"AGE", "age", 7, true, 6},
    [COL_IDLE] = {"IDLE", NULL, 7, true, 10},
    [COL_CONTAINER] = {"CONTAINER", "container", 14, false, 11},
    [COL_JOB] = {"JOB", "job", 18, false, 10},
    [COL_LIMIT] = {"LIMIT", NULL, 18, false, 3},
    [COL_MODEL] = {"MODEL", "model", 22, false, 15},
    [COL_NAME] = {"NAME", "name", 14, false, 16},
    [COL_COMMAND] = {"PROCESS", "command", 0, false, 0},
};

/* ---- idle holders ---- */

static int busy_order(const void *left, const void *right)
{
    const struct top_busy *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->gpu_index != b->gpu_index)
        return a->gpu_index < b->gpu_index ? -1 : 1;
    return (a->start_key > b->start_key) - (a->start_key < b->start_key);
}

/* A frame asks for each of its rows. */
static struct top_busy *find_busy(const struct top *t, const struct gpu *gpu, const struct process *p)
{
    const struct top_busy wanted = {.pid = p->pid, .gpu_index = gpu->index, .start_key = p->start_key};
    return t->busy_sorted ? bsearch(&wanted, t->busy, t->busy_sorted, sizeof wanted, busy_order) : NULL;
}

static struct top_busy *add_busy(struct top *t, const struct gpu *gpu, const struct process *p, int64_t at_ms)
{
    struct top_busy *more = t->busy_count < BUSY_MAX ? realloc(t->busy, (t->busy_count + 1) * sizeof *more) : NULL;
    if (!more)
        return NULL;
    t->busy = more;
    t->busy[t->busy_count] = (struct top_busy){
        .pid = p->pid, .gpu_index = gpu->index, .start_key = p->start_key, .since_ms = at_ms, .first_ms = at_ms, .last_ms = at_ms};
    return &t->busy[t->busy_count++];
}

void top_watch_busy(struct top *t, const struct snapshot *s)
{
    for (size_t i = 0; i < t->busy_count; i++)
        t->busy[i].seen = false;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            struct top_busy *busy = find_busy(t, &s->gpus[g], p);
            if (!busy)
                busy = add_busy(t, &s->gpus[g], p, s->taken_at.ms);
            if (!busy)
                continue;
            busy->seen = true;
            busy->energy_mj +=
                (double)reading_or(p->power_mw, 0) * (double)MAX_OF(s->taken_at.ms - busy->last_ms, (int64_t)0) / MS_PER_S;
            busy->last_ms = s->taken_at.ms;
            /* process_is_idle() is false if the share is unknown: that proves nothing. */
            if (!process_is_idle(p))
                busy->since_ms = s->taken_at.ms;
        }
    size_t kept = 0;
    for (size_t i = 0; i < t->busy_count; i++)
        if (t->busy[i].seen)
            t->busy[kept++] = t->busy[i];
    if (t->busy_count > t->busy_sorted) /* some are new */
        qsort(t->busy, kept, sizeof *t->busy, busy_order);
    t->busy_count = t->busy_sorted = kept;
}

const struct top_busy *top_seen(const struct top *t, const struct gpu *gpu, const struct process *p)
{
    return find_busy(t, gpu, p);
}

int64_t top_idle_ms(const struct top *t, const struct gpu *gpu, const struct process *p)
{
    const struct top_busy *busy = t->cursor_ms ? NULL : find_busy(t, gpu, p);
    return busy && t->live ? t->live->taken_at.ms - busy->since_ms : 0;
}

void top_idle_since(struct top *t, int32_t pid, int gpu_index, int64_t since_ms)
{
    for (size_t i = 0; i < t->busy_count; i++) {
        struct top_busy *busy = &t->busy[i];
        /* Only if it has been idle ever since it was first seen here. */
        if (busy->pid == pid && busy->gpu_index == gpu_index && busy->since_ms == busy->first_ms && since_ms < busy->since_ms)
            busy->since_ms = since_ms;
    }
}

/* ---- tags ---- */

bool top_tagged(const struct top *t, int32_t pid)
{
    for (size_t i = 0; i < t->tag_count; i++)
        if (t->tags[i] == pid)
            return true;
    return false;
}

/* ---- rows ---- */

static const char *group_of(const struct process *p, enum top_group group)
{
    const char *container = p->container_name[0] ? p->container_name : p->container;
    const char *name = group == GROUPED_USER        ? p->user
                       : group == GROUPED_CONTAINER ? container
                       : group == GROUPED_JOB       ? p->job
                                                    : p->model;
    return name[0] ? name : "(none)";
}

static bool matches(const struct process *p, const char *filter)
{
    return !filter[0] || strcasestr(p->name, filter) || strcasestr(p->command, filter) || strcasestr(p->user, filter) ||
           strcasestr(p->container, filter) || strcasestr(p->container_name, filter) || strcasestr(p->job, filter) ||
           strcasestr(p->model, filter);
}

static void add_metrics(struct process *sum, const struct process *p)
{
    for (size_t m = 0; m < PROCESS_METRIC_COUNT; m++)
        if (p->metric[m].state == READING_OK)
            sum->metric[m] = reading_ok(reading_or(sum->metric[m], 0) + p->metric[m].value);
}

static void add_row(struct top *t, const struct process_row *row)
{
    t->rows[t->row_count++] = (struct top_row){.gpu = row->gpu, .process = row->process};
}

/* Groups in the order of their first members, each followed by its members. */
static void add_groups(struct top *t, const struct process_rows *all, bool *done)
{
    for (size_t i = 0; i < all->count; i++) {
        if (done[i])
            continue;
        const char *name = group_of(all->rows[i].process, t->settings.group);
        struct top_row *head = &t->rows[t->row_count++];
        *head = (struct top_row){0};
        str_copy(head->name, sizeof head->name, str_from(name));
        for (size_t k = i; k < all->count; k++) {
            if (done[k] || strcmp(group_of(all->rows[k].process, t->settings.group), name) != 0)
                continue;
            done[k] = true;
            head->members++;
            add_metrics(&head->sum, all->rows[k].process);
            add_row(t, &all->rows[k]);
        }
    }
}

/* ---- the tree ---- */

static bool has_pid(const struct process_rows *all, int32_t pid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].process->pid == pid)
            return true;
    return false;
}

/* A process with its rows on all GPUs, then its children. */
static void add_branch(struct top *t, const struct process_rows *all, bool *done, size_t i, int depth)
{
    const int32_t pid = all->rows[i].process->pid;
    for (size_t k = i; k < all->count; k++)
        if (!done[k] && all->rows[k].process->pid == pid) {
            done[k] = true;
            add_row(t, &all->rows[k]);
            t->rows[t->row_count - 1].depth = depth;
        }
    for (size_t k = 0; depth < TOP_TREE_DEPTH && k < all->count; k++)
        if (!done[k] && all->rows[k].process->parent == pid)
            add_branch(t, all, done, k, depth + 1);
}

/* Adds siblings below their parent, which is on no GPU itself, like the ranks of torchrun. */
static bool add_family(struct top *t, const struct process_rows *all, bool *done, size_t i)
{
    const struct process *first = all->rows[i].process;
    bool family = false;
    for (size_t k = i + 1; first->parent > 1 && !family && k < all->count; k++)
        family = !done[k] && all->rows[k].process->parent == first->parent && all->rows[k].process->pid != first->pid;
    if (!family)
        return false;
    size_t at = t->row_count++;
    t->rows[at] = (struct top_row){.pid = first->parent};
    str_copy(t->rows[at].name, sizeof t->rows[at].name, str_from(first->parent_name[0] ? first->parent_name : "parent"));
    for (size_t k = i; k < all->count; k++)
        if (!done[k] && all->rows[k].process->parent == first->parent)
            add_branch(t, all, done, k, 1);
    for (size_t k = at + 1; k < t->row_count; k++) {
        const struct process *before = t->rows[k - 1].process; /* a heading has none */
        t->rows[at].members += !before || before->pid != t->rows[k].process->pid;
        add_metrics(&t->rows[at].sum, t->rows[k].process);
    }
    return true;
}

/* Finds which lines of the tree continue below a row, from the bottom up. */
static void connect(struct top *t)
{
    unsigned open = 0;
    for (size_t i = t->row_count; i-- > 0;) {
        struct top_row *row = &t->rows[i];
        row->open = open;
        open = (open | 1U << row->depth) & ((2U << row->depth) - 1);
    }
}

static void add_tree(struct top *t, const struct process_rows *all, bool *done)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct process *p = all->rows[i].process;
        if (done[i] || (p->parent && p->parent != p->pid && has_pid(all, p->parent)))
            continue;
        if (!add_family(t, all, done, i))
            add_branch(t, all, done, i, 0);
    }
    for (size_t i = 0; i < all->count; i++) /* a race in /proc may show processes as parents of each other */
        if (!done[i])
            add_branch(t, all, done, i, 0);
    connect(t);
}

/* Finds the row of the same process, so that the selection follows it. */
static void select_process(struct top *t, int32_t pid)
{
    for (size_t i = 0; pid && i < t->row_count; i++)
        if (t->rows[i].process && t->rows[i].process->pid == pid) {
            t->selected = i;
            return;
        }
    t->selected = t->row_count ? MIN_OF(t->selected, t->row_count - 1) : 0;
}

void top_make_rows(struct top *t)
{
    const struct snapshot *s = top_shown(t);
    AUTO_PROCESS_ROWS struct process_rows all = {0};
    if (t->fleet) {
        top_fleet_rows(t);
        return;
    }
    t->row_count = 0;
    t->hidden = 0;
    if (!s)
        return;
    struct process_filter filter = {
        .only = t->only < (int)s->gpu_count ? t->only : ALL_GPUS,
        .sort = t->settings.sort,
        .reverse = t->settings.reverse,
        .type = t->settings.compute_only ? PROCESS_COMPUTE : 0,
    };
    if (process_rows_init(&all, s, &filter) < 0)
        return;
    struct top_row *rows = realloc(t->rows, (2 * all.count + 1) * sizeof *rows);
    AUTO_FREE bool *done = calloc(all.count + 1, sizeof *done);
    if (rows)
        t->rows = rows;
    if (!rows || !done)
        return;
    t->hidden = all.hidden;
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (matches(all.rows[i].process, t->filter) && !(t->settings.hide_idle && process_is_idle(all.rows[i].process)))
            all.rows[kept++] = all.rows[i];
    all.count = kept;
    if (t->settings.group == GROUPED_TREE)
        add_tree(t, &all, done);
    else if (t->settings.group != GROUPED_NOT)
        add_groups(t, &all, done);
    else
        for (size_t i = 0; i < all.count; i++)
            add_row(t, &all.rows[i]);
    bool about = (t->mode == MODE_DETAILS || t->mode == MODE_SIGNAL || t->mode == MODE_NICE) && t->subject;
    select_process(t, about ? t->subject : t->followed);
    const struct top_row *row = top_selected(t);
    if (about &&
        !(row && row->process && row->process->pid == t->subject)) { /* never let a dialog act on another process in that row */
        t->mode = MODE_MAIN;
        top_note(t, false, "That process has ended.");
    }
}

const struct top_row *top_selected(const struct top *t)
{
    return !t->fleet && t->selected < t->row_count ? &t->rows[t->selected] : NULL;
}
