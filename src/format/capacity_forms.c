/* SPDX-License-Identifier: Apache-2.0
 * Capacity and placement: JSON, written and parsed; the tables of `whirr free` and `whirr fit`; series per GPU and MIG instance.
 */
#include "format/capacity_forms.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"
#include "format/table/grid.h"

enum { FROM_JSON_GPUS_MAX = 2048 };

#define MB SCALE(PER_MIB), NATURAL

static const char *memory_kind_name(bool shared)
{
    return shared ? "shared" : "dedicated";
}
ANSWER_NAMES(memory_kinds, bool, memory_kind_name, 0, 1);

/* ---- a GPU ---- */

/* The answer: the record and its own context. */
struct told_capacity {
    struct wall at;
    const char *host;
    bool tracking;
    const struct capacity *c;
    int only; /* index of the GPU; EVERY_GPU */
    const struct capacity_courses *courses;
    size_t point_count;
    struct course_point points[COURSE_POINTS_MAX];
};

ANSWER_TABLE(hold_answer, struct capacity_hold)
{
    FIELD(TEXT, "worker", worker, NULL);
    FIELD(AMOUNT, "memory_mb", bytes, NULL, MB);
    FIELD(BOOL, "evictable", evictable, NULL);
}

ANSWER_TABLE(point_answer, struct course_point)
{
    FIELD(MOMENT, "from", at, NULL);
    FIELD(AMOUNT, "free_least_mb", least_bytes, NULL, MB);
}

static const void *next_hold(const struct answer_at *at, struct answer_step *step)
{
    const struct capacity *c = ((const struct told_capacity *)at->context)->c;
    const struct capacity_gpu *gpu = at->record;
    while (gpu->instance < 0 && step->at < c->hold_count)
        if (c->holds[step->at++].gpu_index == gpu->index)
            return &c->holds[step->at - 1];
    return NULL;
}

static const void *next_point(const struct answer_at *at, struct answer_step *step)
{
    struct told_capacity *told = at->context;
    const struct capacity_gpu *gpu = at->record;
    if (step->at == 0)
        told->point_count =
            told->courses && gpu->instance < 0 ? courses_points(told->courses, &gpu->id, told->at, told->points) : 0;
    return step->at < told->point_count ? &told->points[step->at++] : NULL;
}

ANSWER_TABLE(which_answer, struct capacity_gpu)
{
    FIELD(INT, "gpu_index", index, NULL, COUNTS);
    FIELD(INT, "instance", instance, "Number of a MIG instance; null: the whole GPU", NONE(-1));
    FIELD(TEXT, "uuid", id.uuid, NULL, OR_NULL);
    FIELD(TEXT, "name", id.name, NULL, OR_NULL, COUNTS);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
}

ANSWER_TABLE(gpu_answer, struct capacity_gpu, .name = "CapacityGpu")
{
    KEYS(which_answer);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, OR_NULL);
    FIELD(TEXT, "vendor", id.vendor, NULL, OR_NULL);
    FIELD(BOOL, "usable", usable, "Work can be started on it", COUNTS);
    FIELD(TEXT, "problem", problem, "Why not, or why its memory is not known", OR_NULL, COUNTS);
    FIELD(NAME, "memory_kind", shared, "shared: its memory is the host's; free is then what the host has available, less a reserve",
          NAMES(memory_kinds));
    FIELD(BOOL, "only_if_named", only_if_named,
          "It shares the host's memory beside GPUs with memory of their own: fit and wait use it only where it is named");
    FIELD(READING, "memory_total_mb", total_bytes, NULL, MB, COUNTS);
    FIELD(READING, "memory_free_mb", free_bytes, NULL, MB, COUNTS);
    FIELD(AMOUNT, "reserve_mb", reserve_bytes, NULL, MB);
    FIELD(READING, "available_mb", available_bytes, "Free less reserve", MB, COUNTS);
    FIELD(READING, "reclaimable_mb", reclaimable_bytes, "Held by workers that the guard could evict", MB, COUNTS);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "free_least_1h_mb", least_hour_bytes, NULL, MB);
    FIELD(READING, "free_least_24h_mb", least_day_bytes, NULL, MB, COUNTS);
    FIELD(AMOUNT, "watched_seconds", watched_ms, "So much of the last day is known", SCALE(1e-3), WHOLE);
    EACH(OBJECT, "workers", next_hold, NULL, FIELDS(hold_answer));
    EACH(OBJECT, "course", next_point, "The last day in quarters of an hour, oldest first", FIELDS(point_answer));
}

/* ---- all GPUs ---- */

ANSWER_MAKER(make_guard_known, struct told_capacity, yes, of->c->guard_known);

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct told_capacity *told = at->record;
    while (step->at < told->c->gpu_count) {
        const struct capacity_gpu *gpu = &told->c->gpus[step->at++];
        if (told->only == EVERY_GPU || gpu->index == told->only)
            return gpu;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(capacity_answer, struct told_capacity, .name = "Capacity")
{
    FIELD(MOMENT, "timestamp", at, NULL, COUNTS);
    FIELD(WORD, "host", host, NULL, OR_NULL, COUNTS);
    FIELD(BOOL, "tracking", tracking, NULL);
    MADE(BOOL, "guard", make_guard_known, "false: what could be reclaimed is not known");
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
}

void json_capacity(struct json_writer *j, const struct snapshot *s, const struct capacity *c,
                   const struct capacity_courses *courses, int only)
{
    struct told_capacity told = {.at = s->taken_at,
                                 .host = s->host.name,
                                 .tracking = courses,
                                 .c = c,
                                 .only = only == ALL_GPUS ? EVERY_GPU : s->gpus[only].index,
                                 .courses = courses};
    answer_write(j, &capacity_answer, &told, &told);
}

static void read_holds(struct capacity *c, const json_t *gpu, int index)
{
    const json_t *list = json_object_get(gpu, "workers");
    for (size_t i = 0; i < json_array_size(list) && c->hold_count < CAPACITY_HOLDS_MAX; i++) {
        struct capacity_hold *h = &c->holds[c->hold_count++];
        *h = (struct capacity_hold){.gpu_index = index};
        answer_read(&hold_answer, json_array_get(list, i), h, NULL);
    }
}

struct capacity *capacity_from_json(struct str text)
{
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(json, "gpus");
    size_t count = json_array_size(gpus);
    struct capacity *c = json_is_array(gpus) && count <= FROM_JSON_GPUS_MAX ? capacity_alloc(count) : NULL;
    for (size_t i = 0; c && i < count; i++) {
        answer_read(&gpu_answer, json_array_get(gpus, i), &c->gpus[i], NULL);
        if (c->gpus[i].instance < 0)
            read_holds(c, json_array_get(gpus, i), c->gpus[i].index);
    }
    if (c)
        c->guard_known = json_is_true(json_object_get(json, "guard"));
    return c;
}

/* ---- placement ---- */

struct told_share {
    struct capacity_gpu gpu;
    int64_t bytes, layers; /* layers -1: it can be cut anywhere */
};

/* The answer: the record and its own context. */
struct told_placement {
    const struct capacity *c;
    const struct placement_request *request;

    bool known, fits, fits_now;
    size_t evicted_count;
    const char (*evicted)[CAPACITY_WORKER_SIZE];
    int64_t size_bytes, missing_bytes;
    int count;
    size_t copy_count;
    const struct placement_copy *copies;
    const char *reason;
    struct told_share share;
    const struct fit_subject *model; /* NULL: a size */
    struct buf env;                  /* lines of one copy */
};

ANSWER_TABLE(share_answer, struct told_share)
{
    FIELD(KEYS, NULL, gpu, NULL, FIELDS(which_answer));
    FIELD(AMOUNT, "memory_mb", bytes, NULL, MB);
    FIELD(READING, "available_mb", gpu.available_bytes, NULL, MB);
    FIELD(INT, "layers", layers, NULL, NONE(-1));
}

static const void *next_share(const struct answer_at *at, struct answer_step *step)
{
    const struct placement_copy *copy = at->record;
    struct told_placement *told = at->context;
    if (step->at == copy->share_count)
        return NULL;
    const struct placement_share *share = &copy->shares[step->at++];
    told->share = (struct told_share){told->c->gpus[share->gpu], share->bytes, told->request->layers ? (int64_t)share->layers : -1};
    return &told->share;
}

/* Cuts the lines of the environment into names and values. */
static const void *next_variable(const struct answer_at *at, struct answer_step *step)
{
    struct told_placement *told = at->context;
    if (step->at == 0) {
        told->env.len = 0;
        placement_env(&told->env, told->c, at->record);
    }
    while (step->at < told->env.len) {
        char *name = told->env.at + step->at, *end = strchrnul(name, '\n'), *value = memchr(name, '=', (size_t)(end - name));
        step->at = (size_t)(end - told->env.at) + 1;
        *end = '\0';
        if (!value)
            continue;
        *value = '\0';
        step->item.pair = (struct answer_pair){name, value + 1};
        return &step->item.pair;
    }
    return NULL;
}

ANSWER_TABLE(copy_answer, struct placement_copy)
{
    EACH(OBJECT, "gpus", next_share, NULL, FIELDS(share_answer), COUNTS);
    MAP("env", next_variable, "Environment of a program that is to use these GPUs", COUNTS);
}

ANSWER_TABLE(eviction_answer, struct capacity_hold)
{
    FIELD(TEXT, "worker", worker, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(AMOUNT, "memory_mb", bytes, NULL, MB);
}

/* What each worker that goes holds: worker by worker. */
static const void *next_eviction(const struct answer_at *at, struct answer_step *step)
{
    const struct told_placement *told = at->record;
    const struct capacity *c = told->c;
    while (step->at < told->evicted_count * c->hold_count) {
        size_t worker = step->at / c->hold_count, hold = step->at % c->hold_count;
        step->at++;
        if (strcmp(c->holds[hold].worker, told->evicted[worker]) == 0)
            return &c->holds[hold];
    }
    return NULL;
}

static bool uses(const struct told_placement *told, int index)
{
    for (size_t k = 0; k < told->copy_count; k++)
        for (size_t i = 0; i < told->copies[k].share_count; i++)
            if (told->c->gpus[told->copies[k].shares[i].gpu].index == index)
                return true;
    return false;
}

static const void *next_used(const struct answer_at *at, struct answer_step *step)
{
    const struct told_placement *told = at->record;
    while (told->fits && step->at < GPU_MAX)
        if (uses(told, (int)step->at++)) {
            step->item.number = (int64_t)step->at - 1;
            return &step->item.number;
        }
    return NULL;
}

static bool make_layers(const struct answer_at *at, union answer_value *ret)
{
    ret->number = (int64_t)((const struct model_need *)at->record)->layer_count - 1; /* without the output */
    return true;
}

ANSWER_TABLE(facts_answer, struct model_facts)
{
    FIELD(WORD, "format", format, NULL);
    FIELD(TEXT, "architecture", architecture, NULL, OR_NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(INT, "tensor_count", tensor_count, NULL);
    FIELD(OPTION, "context_length", context, "The longest that it was made for", WHOLE);
}

ANSWER_TABLE(need_answer, struct model_need)
{
    MADE(INT, "layers", make_layers, NULL);
    FIELD(AMOUNT, "weights_mb", weight_bytes, "On the GPUs", MB);
    FIELD(AMOUNT, "host_memory_mb", host_bytes, "What stays in host memory", MB);
    FIELD(INT, "context", context, "Tokens that were counted with");
    FIELD(OPTION, "cache_mb", cache_bytes, "null: the files do not say enough", MB);
    FIELD(OPTION, "compute_mb_per_gpu", compute_bytes, NULL, MB);
    FIELD(AMOUNT, "overhead_mb_per_gpu", overhead_bytes, NULL, MB);
    FIELD(BOOL, "complete", complete, "false: the sizes are a lower bound");
    FIELD(TEXT, "notes", notes, "What was assumed or is missing", OR_NULL);
}

ANSWER_TABLE(model_answer, struct fit_subject)
{
    FIELD(WORD, "path", path, NULL);
    VIA(KEYS, NULL, facts, facts_answer, NULL);
    VIA(KEYS, NULL, need, need_answer, NULL);
    FIELD(WORD, "cache_type", cache_type, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(placement_answer, struct told_placement, .name = "Placement")
{
    FIELD(BOOL, "fits", fits, "null: unknown, because the driver doesn't report enough", PRESENT(known), COUNTS);
    FIELD(BOOL, "fits_now", fits_now, "Without an eviction", PRESENT(known), COUNTS);
    EACH(INT, "gpus", next_used, "Indexes of the GPUs to use", COUNTS);
    FIELD(WORD, "reason", reason, NULL, COUNTS);
    FIELD(AMOUNT, "missing_mb", missing_bytes, "0 when it fits", SCALE(PER_MIB), NONE(-1), COUNTS);
    TEXTS(TEXT, "would_evict", evicted, evicted_count, "Workers of the guard that would have to go first", COUNTS);
    EACH(OBJECT, "evictions", next_eviction, NULL, FIELDS(eviction_answer));
    FIELD(AMOUNT, "size_mb", size_bytes, "Of one copy, with what each GPU needs besides", MB, COUNTS);
    FIELD(INT, "size_bytes", size_bytes, NULL);
    FIELD(INT, "count", count, NULL);
    OBJECTS("placements", copies, copy_count, copy_answer, "One a copy");
    VIA(OBJECT, "model", model, model_answer, "Only with `whirr fit FILE`", OR_NULL, COUNTS);
}

void json_placement(struct json_writer *j, const struct capacity *c, const struct placement_request *request,
                    const struct placement *p, const struct fit_subject *subject)
{
    bool fits = p->verdict == PLACEMENT_FITS;
    struct told_placement told = {.c = c,
                                  .request = request,
                                  .known = p->verdict != PLACEMENT_UNKNOWN,
                                  .fits = fits,
                                  .fits_now = fits && !p->evicted_count,
                                  .evicted_count = p->evicted_count,
                                  .evicted = p->evicted,
                                  .size_bytes =
                                      request->bytes + request->fixed_bytes * (fits ? (int64_t)p->copies[0].share_count : 1),
                                  .missing_bytes = p->missing_bytes,
                                  .count = MAX_OF(request->count, 1),
                                  .copy_count = p->copy_count,
                                  .copies = p->copies,
                                  .reason = p->reason,
                                  .model = subject->path ? subject : NULL,
                                  .env = BUF(16384)};
    answer_write(j, &placement_answer, &told, &told);
    buf_done(&told.env);
}

/* ---- for people ---- */

static void cell_bytes(struct grid *g, const struct page *page, enum ink ink, struct reading bytes)
{
    char text[NUMBER_SIZE];
    show_bytes(text, page, bytes);
    grid_add(g, ink, text);
}

static bool any_simulated(const struct capacity *c)
{
    for (size_t i = 0; i < c->gpu_count; i++)
        if (c->gpus[i].simulated)
            return true;
    return false;
}

void table_capacity(struct buf *out, const struct page *page, const struct capacity *c)
{
    static const struct grid_column columns[] = {
        {"GPU", LEFT, 0},    {"Available", RIGHT, 0}, {"Reclaimable", RIGHT, 2}, {"Reserve", RIGHT, 4}, {"Free", RIGHT, 1},
        {"Total", RIGHT, 1}, {"Least 1h", RIGHT, 3},  {"Least 24h", RIGHT, 3},   {"Name", LEFT, 0},
    };
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    page_simulated_line(out, page, any_simulated(c));
    if (c->gpu_count == 0) {
        page_wrap(out, page, INK_PLAIN, "No GPU was found on this host.", 0, 0);
        return;
    }
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        char text[32];
        if (gpu->instance < 0)
            snprintf(text, sizeof text, "%d", gpu->index);
        else
            snprintf(text, sizeof text, "%d:%d", gpu->index, gpu->instance);
        grid_add(&g, INK_STRONG, text);
        cell_bytes(&g, page, INK_STRONG, gpu->usable ? gpu->available_bytes : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, reading_or(gpu->reclaimable_bytes, 0) ? gpu->reclaimable_bytes : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, gpu->reserve_bytes ? reading_ok(gpu->reserve_bytes) : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, gpu->free_bytes);
        cell_bytes(&g, page, INK_FAINT, gpu->total_bytes);
        cell_bytes(&g, page, INK_PLAIN, gpu->least_hour_bytes);
        cell_bytes(&g, page, INK_PLAIN, gpu->least_day_bytes);
        grid_add(&g, INK_PLAIN, gpu->id.name[0] ? gpu->id.name : page_dash(page));
    }
    grid_write(out, page, &g);
    for (size_t i = 0; i < c->gpu_count; i++) {
        char text[CAPACITY_WORDS * 2 + 8], words[CAPACITY_WORDS];
        if (!c->gpus[i].problem[0])
            continue;
        snprintf(text, sizeof text, "%s: %s", capacity_gpu_words(&c->gpus[i], words), c->gpus[i].problem);
        page_wrap(out, page, INK_WARN, text, 0, 0);
    }
}

static void write_need(struct buf *out, const struct page *page, const struct fit_subject *subject)
{
    const struct model_need *n = subject->need;
    char weights[NUMBER_SIZE], cache[NUMBER_SIZE], compute[NUMBER_SIZE], overhead[NUMBER_SIZE], text[1024];
    show_bytes(weights, page, reading_ok(n->weight_bytes));
    show_bytes(cache, page, n->cache_bytes);
    show_bytes(compute, page, n->compute_bytes);
    show_bytes(overhead, page, reading_ok(n->overhead_bytes));
    snprintf(text, sizeof text,
             "%s: weights %s, cache for %lld tokens %s (%s), and on each GPU %s for computing and %s for the driver",
             subject->facts->name[0] ? subject->facts->name : subject->path, weights, (long long)n->context, cache,
             subject->cache_type, compute, overhead);
    page_wrap(out, page, INK_PLAIN, text, 2, 0);
    if (n->notes[0]) {
        snprintf(text, sizeof text, "Note: %s.", n->notes);
        page_wrap(out, page, INK_WARN, text, 2, 0);
    }
}

static void write_shares(struct buf *out, const struct page *page, const struct capacity *c,
                         const struct placement_request *request, const struct placement *p)
{
    for (size_t k = 0; k < p->copy_count; k++)
        for (size_t i = 0; i < p->copies[k].share_count; i++) {
            const struct placement_share *share = &p->copies[k].shares[i];
            const struct capacity_gpu *gpu = &c->gpus[share->gpu];
            char takes[NUMBER_SIZE], room[NUMBER_SIZE], words[CAPACITY_WORDS], layers[48] = "", copy[32] = "";
            char text[CAPACITY_WORDS + GPU_NAME_SIZE + 160];
            show_bytes(takes, page, reading_ok(share->bytes));
            show_bytes(room, page, gpu->available_bytes);
            if (request->layers && p->copies[k].share_count > 1)
                snprintf(layers, sizeof layers, " (%zu of %zu layers)", share->layers, request->layer_count);
            if (p->copy_count > 1)
                snprintf(copy, sizeof copy, "copy %zu: ", k + 1);
            snprintf(text, sizeof text, "%s%s takes %s%s, %s available  %s", copy, capacity_gpu_words(gpu, words), takes, layers,
                     room, gpu->id.name);
            buf_text(out, "  ");
            page_wrap(out, page, INK_PLAIN, text, 4, 2);
        }
}

void table_placement(struct buf *out, const struct page *page, const struct capacity *c, const struct placement_request *request,
                     const struct placement *p, const struct fit_subject *subject)
{
    static const char *const heads[] = {"It does not fit: ", "It fits: ", "Unknown: "};
    static const enum ink inks[] = {INK_BAD, INK_GOOD, INK_WARN};
    char text[PLACEMENT_REASON_SIZE + 32];
    page_simulated_line(out, page, any_simulated(c));
    snprintf(text, sizeof text, "%s%s.", p->evicted_count ? "It would fit: " : heads[p->verdict], p->reason);
    page_wrap(out, page, p->evicted_count ? INK_WARN : inks[p->verdict], text, 0, 0);
    if (subject->path)
        write_need(out, page, subject);
    write_shares(out, page, c, request, p);
    for (size_t i = 0; i < p->evicted_count; i++)
        buf_printf(out, "  First: whirr guard evict %s\n", p->evicted[i]);
    AUTO_BUF struct buf env = BUF(16384);
    if (p->copy_count == 1 && placement_env(&env, c, &p->copies[0])) {
        struct str rest = buf_view(&env), line;
        while (str_cut(&rest, '\n', &line))
            if (line.len)
                buf_printf(out, "  " STR_FMT "\n", STR_ARG(line));
    }
}

/* ---- series ---- */

static struct reading value_of(const struct capacity_gpu *gpu, size_t series)
{
    const struct reading values[] = {gpu->available_bytes, reading_ok(gpu->reserve_bytes), gpu->reclaimable_bytes,
                                     gpu->least_hour_bytes, gpu->least_day_bytes};
    return values[series];
}

void prometheus_capacity(struct buf *out, const struct snapshot *s, const struct capacity *c)
{
    static const struct {
        const char *name, *help, *window;
    } series[] = {
        {"gpu_memory_available_bytes", "Memory available now: free, minus the reserve", NULL},
        {"gpu_memory_desktop_reserve_bytes", "Memory that is to stay free for the desktop and others", NULL},
        {"gpu_memory_reclaimable_bytes", "Memory held by workers that the guard could evict", NULL},
        {"gpu_memory_free_least_bytes", "Memory that was free at least, over the last hour and day", "1h"},
        {"gpu_memory_free_least_bytes", "Memory that was free at least, over the last hour and day", "24h"},
    };
    bool headed = false;
    for (size_t n = 0; n < ARRAY_LEN(series); n++) {
        headed = headed && n && strcmp(series[n - 1].name, series[n].name) == 0;
        for (size_t i = 0; i < c->gpu_count; i++) {
            const struct capacity_gpu *gpu = &c->gpus[i];
            const struct gpu *card = snapshot_gpu(s, gpu->index);
            struct reading value = value_of(gpu, n);
            if (value.state != READING_OK || !card || (gpu->instance >= 0 && (size_t)gpu->instance >= card->instance_count))
                continue;
            prometheus_head_once(out, &headed, series[n].name, "gauge", series[n].help);
            buf_printf(out, "%s{", series[n].name);
            prometheus_gpu_labels(out, card, gpu->instance >= 0 ? &card->instances[gpu->instance] : NULL);
            if (series[n].window)
                prometheus_label(out, false, "window", series[n].window);
            prometheus_end(out, (double)value.value);
        }
    }
}
