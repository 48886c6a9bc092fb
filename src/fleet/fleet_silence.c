/* SPDX-License-Identifier: Apache-2.0
 * Hosts of a PromQL database by the sums they export, and those that fell silent.
 */
#include "fleet/promql.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- the sums that hosts export ---- */

static const struct {
    const char *name;
    size_t offset;
    double scale;
} figures[] = {
    {"whirr_host_gpus", offsetof(struct fleet_sum, gpus), 1},
    {"whirr_host_gpus_judged", offsetof(struct fleet_sum, judged), 1},
    {"whirr_host_gpus_with_utilization", offsetof(struct fleet_sum, util_known), 1},
    {"whirr_host_gpu_utilization_percent", offsetof(struct fleet_sum, util_permille), 10},
    {"whirr_host_gpu_memory_used_bytes", offsetof(struct fleet_sum, used_bytes), 1},
    {"whirr_host_gpu_memory_total_bytes", offsetof(struct fleet_sum, total_bytes), 1},
    {"whirr_host_gpu_memory_held_idle_bytes", offsetof(struct fleet_sum, held_bytes), 1},
    {"whirr_host_gpu_temperature_celsius", offsetof(struct fleet_sum, temp_mdegc), 1000},
    {"whirr_host_gpu_power_watts", offsetof(struct fleet_sum, power_mw), 1000},
};

static struct reading *figure_of(struct fleet_sum *sum, size_t figure)
{
    return (struct reading *)((char *)sum + figures[figure].offset);
}

/* One figure. */
static void sums_read(struct fleet_sum *sum, const struct vector_row *row)
{
    const char *name = vector_label(row, "__name__");
    for (size_t i = 0; i < ARRAY_LEN(figures) && fabs(row->value) <= 9e15; i++)
        if (strcmp(figures[i].name, name) == 0)
            *figure_of(sum, i) = reading_ok(llround(row->value * figures[i].scale));
}

int sums_take(struct fleet *f, const struct vector_row *row)
{
    if (!ROOM_FOR_ONE(f->sums, f->sum_count, f->sum_capacity, 64))
        return -ENOMEM;
    struct fleet_sum *sum = &f->sums[f->sum_count++];
    *sum = (struct fleet_sum){.instance = instance_route(vector_label(row, "instance"))};
    str_copy_clean(sum->host, sizeof sum->host, str_from(vector_host(row)));
    str_copy_clean(sum->set, sizeof sum->set, str_from(vector_label(row, "set")));
    sums_read(sum, row);
    return 0;
}

static int sums_by_host(const void *a, const void *b)
{
    return strverscmp(((const struct fleet_sum *)a)->host, ((const struct fleet_sum *)b)->host);
}

/* One per host: a repeated figure is a duplicate. False if they belong to two hosts. */
static bool sums_join(struct fleet_sum *to, struct fleet_sum *from)
{
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (figure_of(from, i)->state == READING_OK)
            *figure_of(to, i) = *figure_of(from, i);
    if (from->set[0] && to->set[0] && strcmp(from->set, to->set) != 0)
        return false;
    if (from->set[0])
        memcpy(to->set, from->set, sizeof to->set);
    return true;
}

const struct fleet_sum *fleet_sum_of(const struct fleet *f, const char *host)
{
    struct fleet_sum key;
    str_copy(key.host, sizeof key.host, str_from(host));
    return f->sum_count ? bsearch(&key, f->sums, f->sum_count, sizeof *f->sums, sums_by_host) : NULL;
}

int sums_settle(struct fleet *f, const struct fleet_silence *s)
{
    size_t kept = 0;
    if (!f->sum_count)
        return -EAGAIN;
    qsort(f->sums, f->sum_count, sizeof *f->sums, sums_by_host);
    for (size_t i = 0; i < f->sum_count; i++)
        if (!kept || strcmp(f->sums[kept - 1].host, f->sums[i].host) != 0)
            f->sums[kept++] = f->sums[i];
        else if (!sums_join(&f->sums[kept - 1], &f->sums[i]))
            return -EAGAIN;
    f->sum_count = kept;
    for (size_t i = 0; i < s->here.count; i++)
        if (!fleet_sum_of(f, s->here.list[i].host))
            return -EAGAIN; /* an older version */
    return 0;
}

/* ---- hosts seen before ---- */

enum {
    NAMES_SIZE = 4000,      /* of hosts in one query */
    NOT_SILENT_MS = 300000, /* how long a database shows the last sample */
    AT_ONCE_MS = 120000,    /* hosts that fell silent within this time share a query, */
    LAST_QUERIES = 8,       /* of which there are this many */
    TWINS_MAX = 64,         /* hosts that are asked whether they are another's former name */
};

int seen_add(struct seen_list *l, const struct vector_row *row)
{
    if (!ROOM_FOR_ONE(l->list, l->count, l->capacity, 64))
        return -ENOMEM;
    struct seen_host *s = &l->list[l->count++];
    s->unnamed = !vector_label(row, "host")[0];
    str_copy_clean(s->host, sizeof s->host, str_from(vector_host(row)));
    str_copy_clean(s->instance, sizeof s->instance, str_from(vector_label(row, "instance")));
    str_copy_clean(s->machine, sizeof s->machine, str_from(vector_label(row, "machine")));
    return 0;
}

static int seen_by_host(const void *a, const void *b)
{
    return strcmp(((const struct seen_host *)a)->host, ((const struct seen_host *)b)->host);
}

static void seen_sort(struct seen_list *l)
{
    if (l->count)
        qsort(l->list, l->count, sizeof *l->list, seen_by_host);
}

/* An older version doesn't say which machine it is on. */
static bool same_machine(const char *a, const char *b)
{
    return !a[0] || !b[0] || strcmp(a, b) == 0;
}

static const struct seen_host *first_named(const struct seen_list *l, const char *host)
{
    struct seen_host key;
    str_copy(key.host, sizeof key.host, str_from(host));
    const struct seen_host *found = l->count ? bsearch(&key, l->list, l->count, sizeof *l->list, seen_by_host) : NULL;
    while (found && found > l->list && seen_by_host(found - 1, found) == 0)
        found--;
    return found;
}

/* Whether the host is there. Otherwise *ret_other gets one that has only its name, or only its machine; NULL: none. */
static bool is_here(const struct seen_list *l, const struct seen_host *h, const struct seen_host **ret_other)
{
    const struct seen_host *at = first_named(l, h->host), *other = at;
    for (; at && at < l->list + l->count && strcmp(at->host, h->host) == 0; at++)
        if (same_machine(at->machine, h->machine))
            return true;
    for (size_t i = 0; i < l->count && !other && ret_other && h->machine[0]; i++)
        other = strcmp(l->list[i].machine, h->machine) == 0 ? &l->list[i] : NULL;
    if (ret_other)
        *ret_other = other;
    return false;
}

/* ---- outdated data ---- */

/* At the address of a stale one there may be another machine by now, with the same GPUs. */
static bool is_gone(const struct fleet_silence *s, const char *host, uint32_t route)
{
    const struct seen_host *at = first_named(&s->here, host);
    for (; at && at < s->here.list + s->here.count && strcmp(at->host, host) == 0; at++)
        if (instance_route(at->instance) == route)
            return false;
    for (size_t i = 0; i < s->stale.count; i++)
        if (strcmp(s->stale.list[i].host, host) == 0 &&
            (!s->stale.list[i].machine[0] || instance_route(s->stale.list[i].instance) == route) &&
            !is_here(&s->here, &s->stale.list[i], NULL))
            return true;
    return false;
}

/* A host with two routes is up while one of them is fresh. */
static void forget_stale(struct fleet_silence *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->here.count; i++) {
        const struct seen_host *h = &s->here.list[i];
        bool stale = false;
        for (size_t k = 0; k < s->stale.count && !stale; k++)
            stale = strcmp(h->host, s->stale.list[k].host) == 0 && strcmp(h->instance, s->stale.list[k].instance) == 0 &&
                    strcmp(h->machine, s->stale.list[k].machine) == 0;
        if (!stale)
            s->here.list[kept++] = *h;
    }
    s->here.count = kept;
}

int silence_drop(struct fleet_silence *s, struct fleet *f)
{
    size_t gpus = 0, sums = 0, processes = 0;
    if (!s->stale.count)
        return 0;
    forget_stale(s);
    seen_sort(&s->here);
    for (size_t i = 0; i < f->gpu_count; i++)
        if (!is_gone(s, f->gpus[i].host, instance_route(f->gpus[i].instance)))
            f->gpus[gpus++] = f->gpus[i];
    for (size_t i = 0; i < f->sum_count; i++)
        if (!is_gone(s, f->sums[i].host, f->sums[i].instance))
            f->sums[sums++] = f->sums[i];
    for (size_t i = 0; i < f->process_count; i++)
        if (!is_gone(s, f->processes[i].host, f->processes[i].instance))
            f->processes[processes++] = f->processes[i];
    f->gpu_count = gpus;
    f->sum_count = sums;
    f->process_count = processes;
    return fleet_index(f);
}

/* ---- silent hosts ---- */

/* One whose name another host has now is shown with its address, as hosts are that share a name. */
static void name_note(const struct seen_host *h, const struct seen_host *other, char *text, size_t size)
{
    if (!other || strcmp(other->host, h->host) != 0)
        snprintf(text, size, "%s", h->host);
    else if (strcmp(h->instance, h->host) != 0 && strcmp(h->instance, other->instance) != 0)
        snprintf(text, size, "%s (%s)", h->host, h->instance);
    else
        snprintf(text, size, "%s (ID %.8s)", h->host, h->machine);
}

static int note_silent(struct fleet *f, const struct fleet_silence *s, const struct seen_host *h, bool down)
{
    const struct seen_host *other = NULL;
    char name[2 * HOST_NAME_SIZE + 16];
    if (is_here(&s->here, h, &other) || (!other && fleet_has_gpus(f, h->host)))
        return 0;
    name_note(h, other, name, sizeof name);
    struct fleet_note *n = fleet_note_of(f, name);
    if (!n)
        return -ENOMEM;
    n->silent = true;
    n->down |= down;
    str_copy(n->own, sizeof n->own, str_from(h->host));
    str_copy(n->instance, sizeof n->instance, str_from(h->instance));
    str_copy(n->machine, sizeof n->machine, str_from(h->machine));
    return 0;
}

/* What a target that is down was called when it was up. */
static int note_down(struct fleet *f, const struct fleet_silence *s, const struct seen_host *down)
{
    bool found = false;
    int rc = 0;
    for (size_t i = 0; i < s->seen.count && rc == 0 && down->unnamed; i++)
        if (strcmp(s->seen.list[i].instance, down->instance) == 0) {
            rc = note_silent(f, s, &s->seen.list[i], true);
            found = true;
        }
    return rc == 0 && !found ? note_silent(f, s, down, true) : rc;
}

/* `host=~"gpu1|gpu2"`; a dot stands for what would have to be quoted. */
static void write_matcher(struct fleet_note *const *notes, size_t count, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    for (size_t i = 0; i < count; i++) {
        buf_text(out, i ? "|" : "host=~\"");
        for (const char *c = notes[i]->own; *c; c++)
            buf_printf(out, strchr(plain, *c) ? "%c" : *c == '.' ? "[%c]" : ".", *c);
    }
    buf_char(out, '"');
}

static int longest_first(const void *a, const void *b)
{
    const struct fleet_note *x = *(const struct fleet_note *const *)a, *y = *(const struct fleet_note *const *)b;
    return (x->silent_ms < y->silent_ms) - (x->silent_ms > y->silent_ms);
}

/* The silent hosts, those that have been silent longest first. NULL: none, or out of memory. */
static struct fleet_note **silent_notes(const struct fleet *f, size_t *count)
{
    struct fleet_note **list = f->note_count ? calloc(f->note_count, sizeof *list) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < f->note_count; i++)
        if (f->notes[i].silent && f->notes[i].own[0])
            list[(*count)++] = &f->notes[i];
    if (*count)
        qsort(list, *count, sizeof *list, longest_first);
    return list;
}

struct since {
    struct fleet *fleet;
    double now; /* by the database's clock */
};

static bool is_about(const struct fleet_note *n, const struct vector_row *row)
{
    char host[HOST_NAME_SIZE];
    str_copy_clean(host, sizeof host, str_from(vector_host(row)));
    return n->silent && strcmp(n->own, host) == 0 && same_machine(n->machine, vector_label(row, "machine"));
}

static int take_since(void *user, const struct vector_row *row)
{
    struct since *s = user;
    int64_t ms = row->value > 0 && row->value < 1e9 ? llround(row->value * MS_PER_S) : 0;
    if (!str_to_double(row->at, &s->now))
        s->now = 0;
    for (size_t i = 0; i < s->fleet->note_count; i++) {
        struct fleet_note *n = &s->fleet->notes[i];
        if (is_about(n, row) && (!n->silent_ms || ms < n->silent_ms))
            n->silent_ms = ms;
    }
    return 0;
}

/* A host's last sample says how far its clock was behind: it may be just a moment old. */
static int take_ahead(void *user, const struct vector_row *row)
{
    struct since *s = user;
    int64_t ahead_ms = fabs(row->value) < 1e9 ? llround(row->value * MS_PER_S) : 0;
    for (size_t i = 0; i < s->fleet->note_count; i++) {
        struct fleet_note *n = &s->fleet->notes[i];
        if (!is_about(n, row) || !n->silent_ms || n->silent_ms + ahead_ms >= NOT_SILENT_MS)
            continue;
        n->silent = false;
        n->silent_ms = 0;
        return fleet_compare_clock(s->fleet, n->host, ahead_ms);
    }
    return 0;
}

/* The database's time of each host's last sample: to a second for recent ones, to five minutes for others. Unknown without an
 * answer. */
static bool ask_since(const struct fleet_place *place, const struct fleet_silence *silence, struct since *s)
{
    AUTO_BUF struct buf matcher = BUF(NAMES_SIZE / 4);
    AUTO_BUF struct buf question = BUF(NAMES_SIZE);
    AUTO_BUF struct buf clocks = BUF(NAMES_SIZE);
    AUTO_BUF struct buf answer = BUF(FLEET_ANSWER_MAX);
    struct error err = {0};
    size_t count;
    bool unnamed = false;
    AUTO_FREE struct fleet_note **silent = silent_notes(s->fleet, &count);
    for (size_t i = 0; i < silence->seen.count; i++)
        unnamed |= silence->seen.list[i].unnamed;
    if (!unnamed && count)
        write_matcher(silent, count, &matcher);
    const char *hosts = matcher.failed || !matcher.len ? "" : matcher.at; /* of many, or without names: of all */
    buf_printf(&question,
               "time() - max by (host,instance,machine) (max_over_time(timestamp(whirr_build_info{%s})[10m:1s]) or "
               "max_over_time(timestamp(whirr_build_info{%s})[%dd:5m]))",
               hosts, hosts, SILENCE_DAYS);
    if (question.failed || fleet_ask(place, question.at, NULL, &answer, &err) != 0 || vector_read(&answer, take_since, s) != 0)
        return false;
    answer.len = 0;
    buf_printf(&clocks, "min by (host,instance) (last_over_time(whirr_push_clock_ahead_seconds{%s}[%dd])) <= -30", hosts,
               SILENCE_DAYS);
    if (!clocks.failed && fleet_ask(place, clocks.at, NULL, &answer, &err) == 0)
        vector_read(&answer, take_ahead, s);
    return true;
}

/* A host that a database knows, but without a sample that it would show, is new. */
static void forget_new(struct fleet *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->note_count; i++)
        if (!f->notes[i].silent || f->notes[i].silent_ms || f->notes[i].down)
            f->notes[kept++] = f->notes[i];
    f->note_count = kept;
}

/* ---- one host or two ---- */

static int count_row(void *user, const struct vector_row *row)
{
    (void)row;
    ++*(size_t *)user;
    return 0;
}

/* The database's time of a host's last sample. */
static void moment_of(const struct since *s, int64_t silent_ms, char text[32])
{
    snprintf(text, 32, "%.3f", s->now - (double)silent_ms / MS_PER_S);
}

/* Whether the other one was there, too, when this one was last heard: then they are two. Unknown counts as two. */
static bool was_there(const struct fleet_place *place, const struct since *s, const struct fleet_note *n, const char *host,
                      const char *machine)
{
    AUTO_BUF struct buf question = BUF(2 * HOST_NAME_SIZE + 128);
    AUTO_BUF struct buf answer = BUF(FLEET_ANSWER_MAX);
    struct error err = {0};
    char when[32];
    size_t rows = 0;
    moment_of(s, n->silent_ms, when);
    buf_printf(&question, "whirr_build_info{host=\"%s\",machine=\"%s\"}", host, machine);
    return strpbrk(host, "\\\"") || question.failed || fleet_ask(place, question.at, when, &answer, &err) != 0 ||
           vector_read(&answer, count_row, &rows) != 0 || rows;
}

static bool are_alike(const char *host, const char *machine, const struct fleet_note *n)
{
    return n->machine[0] && machine[0] && (strcmp(host, n->own) == 0) != (strcmp(machine, n->machine) == 0);
}

/* A host that was renamed or installed anew is the one that came after it. */
static void join_renamed(const struct fleet_place *place, const struct fleet_silence *s, const struct since *since)
{
    struct fleet *f = since->fleet;
    size_t count, asked = 0;
    AUTO_FREE struct fleet_note **silent = silent_notes(f, &count);
    for (size_t i = 0; i < count; i++) {
        struct fleet_note *n = silent[i];
        for (size_t k = 0; k < s->here.count && n->silent && n->silent_ms && asked < TWINS_MAX; k++)
            if (are_alike(s->here.list[k].host, s->here.list[k].machine, n)) {
                asked++;
                n->silent = was_there(place, since, n, s->here.list[k].host, s->here.list[k].machine);
            }
        for (size_t k = i + 1; k < count && n->silent && n->silent_ms && asked < TWINS_MAX; k++)
            if (are_alike(silent[k]->own, silent[k]->machine, n)) {
                asked++;
                n->silent = was_there(place, since, n, silent[k]->own, silent[k]->machine);
            }
    }
}

/* ---- last numbers ---- */

struct last {
    struct fleet_note *const *notes;
    size_t count;
};

static int take_last(void *user, const struct vector_row *row)
{
    const struct last *l = user;
    for (size_t i = 0; i < l->count; i++) {
        struct fleet_note *n = l->notes[i];
        bool apart = strcmp(n->own, n->host) != 0;
        if (is_about(n, row) && (!apart || strcmp(n->instance, vector_label(row, "instance")) == 0))
            sums_read(&n->last, row);
    }
    return 0;
}

/* When the first of them was last heard, the others were there. */
static void ask_last(const struct fleet_place *place, const struct since *since)
{
    size_t count, asked = 0;
    AUTO_FREE struct fleet_note **silent = silent_notes(since->fleet, &count);
    for (size_t end = count, from; end > 0 && silent[end - 1]->silent_ms && asked < LAST_QUERIES; end = from, asked++) {
        AUTO_BUF struct buf question = BUF(NAMES_SIZE);
        AUTO_BUF struct buf answer = BUF(FLEET_ANSWER_MAX);
        struct error err = {0};
        char when[32];
        for (from = end - 1; from > 0 && silent[from - 1]->silent_ms - silent[end - 1]->silent_ms < AT_ONCE_MS; from--)
            ;
        moment_of(since, silent[from]->silent_ms, when);
        buf_text(&question, "{__name__=~\"whirr_host_gpu.+\",");
        write_matcher(silent + from, end - from, &question);
        buf_char(&question, '}');
        if (!question.failed && fleet_ask(place, question.at, when, &answer, &err) == 0)
            vector_read(&answer, take_last, &(struct last){silent + from, end - from});
    }
}

int silence_find(const struct fleet_place *place, struct fleet_silence *s, struct fleet *f)
{
    int rc = 0;
    bool any = false;
    struct since since = {.fleet = f};
    seen_sort(&s->here);
    seen_sort(&s->seen);
    for (size_t i = 0; i < s->seen.count && rc == 0; i++)
        rc = note_silent(f, s, &s->seen.list[i], false);
    for (size_t i = 0; i < s->down.count && rc == 0; i++)
        rc = note_down(f, s, &s->down.list[i]);
    for (size_t i = 0; i < f->note_count; i++)
        any |= f->notes[i].silent;
    if (rc == 0 && any && ask_since(place, s, &since)) {
        forget_new(f);
        if (since.now > 0) {
            join_renamed(place, s, &since);
            ask_last(place, &since);
        }
    }
    return rc;
}

void silence_done(struct fleet_silence *s)
{
    free(s->here.list);
    free(s->stale.list);
    free(s->seen.list);
    free(s->down.list);
    *s = (struct fleet_silence){0};
}
