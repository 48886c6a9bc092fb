/* SPDX-License-Identifier: Apache-2.0
 * What is wrong where, and in which order people want to see it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "fleet/fleet.h"

/* Held: somebody has memory, and nothing was computed for half an hour. */
enum { HELD_PERMILLE = 50, BUSY_PERMILLE = 100 };
#define HELD_BYTES (1LL << 30)

const char *fleet_trouble_name(enum fleet_trouble trouble)
{
    static const char *const names[] = {"fine", "held", "degraded", "throttling", "failing", "lost"};
    return names[trouble];
}

enum fleet_trouble fleet_health_named(const char *state)
{
    return strcmp(state, "lost") == 0       ? FLEET_LOST
           : strcmp(state, "failing") == 0  ? FLEET_FAILING
           : strcmp(state, "degraded") == 0 ? FLEET_DEGRADED
                                            : FLEET_FINE;
}

static enum fleet_trouble trouble_of(const struct fleet_gpu *g)
{
    int64_t used, most;
    if (!g->up)
        return FLEET_LOST;
    if (g->health >= FLEET_FAILING)
        return g->health;
    if (g->throttle[0])
        return FLEET_THROTTLING;
    if (g->health)
        return g->health;
    bool held =
        reading_get(g->used_bytes, &used) && reading_get(g->util_most_permille, &most) && used > HELD_BYTES && most < HELD_PERMILLE;
    return held ? FLEET_HELD : FLEET_FINE;
}

void fleet_judge(struct fleet *f)
{
    for (size_t i = 0; i < f->gpu_count; i++)
        f->gpus[i].trouble = trouble_of(&f->gpus[i]);
}

static void add(struct reading *to, struct reading from)
{
    if (from.state == READING_OK)
        *to = reading_ok(reading_or(*to, 0) + from.value);
}

static void add_up(struct fleet_host *h)
{
    int64_t util = 0, known = 0, value;
    for (size_t i = 0; i < h->count; i++) {
        const struct fleet_gpu *g = &h->gpus[i];
        h->trouble = MAX_OF(h->trouble, g->trouble);
        add(&h->used_bytes, g->used_bytes);
        add(&h->total_bytes, g->total_bytes);
        add(&h->power_mw, g->power_mw);
        if (reading_get(g->temp_mdegc, &value) && value > reading_or(h->temp_mdegc, INT64_MIN))
            h->temp_mdegc = g->temp_mdegc;
        if (reading_get(g->util_permille, &value)) {
            util += value;
            known++;
        }
    }
    if (known)
        h->util_permille = reading_ok(util / known);
}

static const char *const trouble_words[] = {"", "held but idle", "degraded", "throttling", "failing", "lost"};

/* "GPU 3 is lost", "4 GPUs are held but idle (61 GiB)". */
static void write_note(struct fleet_host *h)
{
    const struct fleet_gpu *first = NULL;
    int64_t held = 0;
    size_t count = 0;
    for (size_t i = 0; i < h->count && h->trouble; i++)
        if (h->gpus[i].trouble == h->trouble) {
            first = first ? first : &h->gpus[i];
            held += reading_or(h->gpus[i].used_bytes, 0);
            count++;
        }
    if (!first)
        return;
    char who[GPU_UUID_SIZE + 16], more[160] = "", amount[WORDS_SIZE];
    if (count > 1)
        snprintf(who, sizeof who, "%zu GPUs are", count);
    else
        snprintf(who, sizeof who, "GPU %s is", first->gpu[0] ? first->gpu : first->uuid);
    if (h->trouble == FLEET_HELD)
        snprintf(more, sizeof more, " (%s)", words_bytes(held, amount));
    else if (h->trouble == FLEET_THROTTLING)
        snprintf(more, sizeof more, " (%s)", first->throttle);
    else if (first->health_reason[0] && first->health == h->trouble)
        snprintf(more, sizeof more, " (%s)", first->health_reason);
    snprintf(h->note, sizeof h->note, "%s %s%s", who, trouble_words[h->trouble], more);
}

static int worst_first(const void *a, const void *b)
{
    const struct fleet_host *x = a, *y = b;
    if (x->trouble != y->trouble)
        return x->trouble < y->trouble ? 1 : -1;
    int64_t v = reading_or(x->util_permille, -1), w = reading_or(y->util_permille, -1);
    if (v != w)
        return v < w ? 1 : -1;
    return strverscmp(x->gpus->host, y->gpus->host);
}

struct fleet_host *fleet_hosts(const struct fleet *f, size_t *count)
{
    struct fleet_host *list = f->gpu_count ? calloc(f->gpu_count, sizeof *list) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        if (!*count || strcmp(list[*count - 1].gpus->host, f->gpus[i].host) != 0)
            list[(*count)++].gpus = &f->gpus[i];
        list[*count - 1].count++;
    }
    for (size_t i = 0; i < *count; i++) {
        add_up(&list[i]);
        write_note(&list[i]);
    }
    if (list)
        qsort(list, *count, sizeof *list, worst_first);
    return list;
}

void fleet_answer(const struct fleet *f, char *text, size_t size)
{
    size_t troubles[FLEET_LOST + 1] = {0}, hosts = 0;
    struct reading power = {0};
    int64_t util = 0, known = 0, value;
    for (size_t i = 0; i < f->gpu_count; i++) {
        troubles[f->gpus[i].trouble]++;
        hosts += i == 0 || strcmp(f->gpus[i - 1].host, f->gpus[i].host) != 0;
        add(&power, f->gpus[i].power_mw);
        if (reading_get(f->gpus[i].util_permille, &value)) {
            util += value;
            known++;
        }
    }
    char percent[WORDS_SIZE], watts[WORDS_SIZE];
    AUTO_BUF struct buf out = BUF(1024);
    buf_printf(&out, "%zu host%s, %zu GPU%s", hosts, hosts == 1 ? "" : "s", f->gpu_count, f->gpu_count == 1 ? "" : "s");
    if (known)
        buf_printf(&out, ", %s utilized", words_percent(util / known, percent));
    if (reading_get(power, &value) && value < 1000000)
        buf_printf(&out, ", %s", words_power(value, watts));
    else if (power.state == READING_OK)
        buf_printf(&out, ", %.1f kW", (double)value / 1e6);
    bool any = false;
    for (int t = FLEET_LOST; t > FLEET_FINE; t--)
        if (troubles[t]) {
            buf_printf(&out, "%s%zu %s", any ? ", " : ": ", troubles[t], trouble_words[t]);
            any = true;
        }
    if (f->silent)
        buf_printf(&out, "%s%zu host%s not answering", any ? ", " : ": ", f->silent, f->silent == 1 ? "" : "s");
    str_copy(text, size, buf_view(&out));
}

/* ---- what fits where ---- */

static int tightest_first(const void *a, const void *b)
{
    const struct fleet_gpu *x = *(const struct fleet_gpu *const *)a, *y = *(const struct fleet_gpu *const *)b;
    bool x_busy = reading_or(x->util_permille, 0) > BUSY_PERMILLE, y_busy = reading_or(y->util_permille, 0) > BUSY_PERMILLE;
    if (x_busy != y_busy)
        return x_busy ? 1 : -1;
    int64_t x_room = fleet_room(x).value, y_room = fleet_room(y).value;
    if (x_room != y_room)
        return x_room > y_room ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strverscmp(x->gpu, y->gpu);
}

bool fleet_is_usable(const struct fleet_gpu *g)
{
    return g->up && g->trouble < FLEET_FAILING;
}

struct reading fleet_room(const struct fleet_gpu *g)
{
    return g->divided ? g->instance_free_bytes : g->free_bytes;
}

size_t fleet_unknown_room(const struct fleet *f, int64_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        bool too_small = g->divided && reading_or(g->instance_most_bytes, INT64_MAX) < bytes;
        count += fleet_is_usable(g) && fleet_room(g).state != READING_OK && !too_small;
    }
    return count;
}

const struct fleet_gpu **fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count)
{
    const struct fleet_gpu **list = calloc(f->gpu_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        int64_t room;
        if (fleet_is_usable(g) && reading_get(fleet_room(g), &room) && room >= bytes)
            list[(*count)++] = g;
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, tightest_first);
    return list;
}

/* ---- who ---- */

const struct fleet_by_words fleet_by_words[FLEET_BY_COUNT] = {
    [FLEET_BY_NONE] = {"host", "host", "hosts", "HOST"},
    [FLEET_BY_USER] = {"user", "user", "users", "USER"},
    [FLEET_BY_CONTAINER] = {"container", "container", "containers", "CONTAINER"},
    [FLEET_BY_POD] = {"namespace, pod", "pod", "pods", "POD"},
    [FLEET_BY_JOB] = {"hpc_job", "job", "jobs", "JOB"},
    [FLEET_BY_HOST] = {"host", "host", "hosts", "HOST"},
};

const char *fleet_key(const struct fleet_process *p, enum fleet_by by)
{
    switch (by) {
    case FLEET_BY_USER: return p->user;
    case FLEET_BY_CONTAINER: return p->container;
    case FLEET_BY_POD: return p->pod;
    case FLEET_BY_JOB: return p->job;
    default: return p->host;
    }
}

static int by_key(const void *a, const void *b, void *by)
{
    enum fleet_by what = *(const enum fleet_by *)by;
    int order = strcmp(fleet_key(a, what), fleet_key(b, what));
    return order ? order : strcmp(((const struct fleet_process *)a)->host, ((const struct fleet_process *)b)->host);
}

static int most_memory_first(const void *a, const void *b)
{
    const struct fleet_process *x = a, *y = b;
    int64_t v = reading_or(x->mem_bytes, -1), w = reading_or(y->mem_bytes, -1);
    if (v != w)
        return v < w ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strcmp(x->process, y->process);
}

/* One a key, which stays where it was; `gpu` holds how many hosts, `process` how many groups. Hosts of a key follow each other. */
static size_t add_up_groups(struct fleet_process *list, size_t count, enum fleet_by by)
{
    size_t kept = 0;
    qsort_r(list, count, sizeof *list, by_key, &by);
    for (size_t i = 0, end; i < count; i = end) {
        struct fleet_process sum = list[i];
        size_t hosts = 1;
        for (end = i + 1; end < count && strcmp(fleet_key(&list[end], by), fleet_key(&list[i], by)) == 0; end++) {
            add(&sum.mem_bytes, list[end].mem_bytes);
            add(&sum.util_permille, list[end].util_permille);
            add(&sum.power_mw, list[end].power_mw);
            hosts += strcmp(list[end - 1].host, list[end].host) != 0;
        }
        snprintf(sum.process, sizeof sum.process, "%zu", end - i);
        snprintf(sum.gpu, sizeof sum.gpu, "%zu", hosts);
        list[kept++] = sum;
    }
    return kept;
}

struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count)
{
    struct fleet_process *list = calloc(f->process_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->process_count; i++)
        if (!v->user || strcmp(v->user, f->processes[i].user) == 0)
            list[(*count)++] = f->processes[i];
    if (list && v->by && *count)
        *count = add_up_groups(list, *count, v->by);
    if (list && *count)
        qsort(list, *count, sizeof *list, most_memory_first);
    return list;
}
