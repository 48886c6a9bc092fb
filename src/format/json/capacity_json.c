/* SPDX-License-Identifier: Apache-2.0
 * JSON of capacity and placement, written and parsed.
 */
#include "format/capacity.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "format/json/json.h"

enum { FROM_JSON_GPUS_MAX = 2048 };

/* ---- writing ---- */

static void mb(struct json_writer *j, const char *key, int64_t bytes)
{
    jw_key_number(j, key, (double)bytes * PER_MIB);
}

static void instance(struct json_writer *j, const struct capacity_gpu *gpu)
{
    jw_key_int(j, "gpu_index", gpu->index);
    jw_key(j, "instance");
    if (gpu->instance >= 0)
        jw_int(j, gpu->instance);
    else
        jw_null(j);
    json_words(j, "uuid", gpu->id.uuid);
    json_words(j, "name", gpu->id.name);
}

static void holds(struct json_writer *j, const struct capacity *c, const struct capacity_gpu *gpu)
{
    jw_key_array(j, "workers");
    for (size_t i = 0; gpu->instance < 0 && i < c->hold_count; i++) {
        if (c->holds[i].gpu_index != gpu->index)
            continue;
        jw_object(j);
        jw_key_text(j, "worker", c->holds[i].worker);
        mb(j, "memory_mb", c->holds[i].bytes);
        jw_key_bool(j, "evictable", c->holds[i].evictable);
        jw_end(j);
    }
    jw_end(j);
}

static void course(struct json_writer *j, const struct capacity_courses *courses, const struct capacity_gpu *gpu, struct wall now)
{
    struct course_point points[COURSE_POINTS_MAX];
    size_t count = courses && gpu->instance < 0 ? courses_points(courses, &gpu->id, now, points) : 0;
    jw_key_array(j, "course");
    for (size_t i = 0; i < count; i++) {
        jw_object(j);
        json_time(j, "from", points[i].at);
        mb(j, "free_least_mb", points[i].least_bytes);
        jw_end(j);
    }
    jw_end(j);
}

void json_capacity(struct json_writer *j, const struct snapshot *s, const struct capacity *c,
                   const struct capacity_courses *courses, int only)
{
    jw_object(j);
    json_time(j, "timestamp", s->taken_at);
    json_words(j, "host", s->host.name);
    jw_key_bool(j, "tracking", courses != NULL);
    jw_key_bool(j, "guard", c->guard_known);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        if (only != ALL_GPUS && gpu->index != s->gpus[only].index)
            continue;
        jw_object(j);
        instance(j, gpu);
        json_words(j, "pci_address", gpu->id.pci_address);
        json_words(j, "vendor", gpu->id.vendor);
        jw_key_bool(j, "simulated", gpu->simulated);
        jw_key_bool(j, "usable", gpu->usable);
        json_words(j, "problem", gpu->problem);
        jw_key_text(j, "memory_kind", gpu->shared ? "shared" : "dedicated");
        jw_key_bool(j, "only_if_named", gpu->only_if_named);
        json_scaled(j, "memory_total_mb", gpu->total_bytes, PER_MIB);
        json_scaled(j, "memory_free_mb", gpu->free_bytes, PER_MIB);
        mb(j, "reserve_mb", gpu->reserve_bytes);
        json_scaled(j, "available_mb", gpu->available_bytes, PER_MIB);
        json_scaled(j, "reclaimable_mb", gpu->reclaimable_bytes, PER_MIB);
        json_scaled(j, "utilization_percent", gpu->util_permille, 0.1);
        json_scaled(j, "free_least_1h_mb", gpu->least_hour_bytes, PER_MIB);
        json_scaled(j, "free_least_24h_mb", gpu->least_day_bytes, PER_MIB);
        jw_key_int(j, "watched_seconds", gpu->watched_ms / MS_PER_S);
        holds(j, c, gpu);
        course(j, courses, gpu, s->taken_at);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void copy(struct json_writer *j, const struct capacity *c, const struct placement_request *request,
                 const struct placement_copy *p)
{
    jw_object(j);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < p->share_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[p->shares[i].gpu];
        jw_object(j);
        instance(j, gpu);
        jw_key_bool(j, "simulated", gpu->simulated);
        mb(j, "memory_mb", p->shares[i].bytes);
        json_scaled(j, "available_mb", gpu->available_bytes, PER_MIB);
        jw_key(j, "layers");
        if (request->layers)
            jw_int(j, (int64_t)p->shares[i].layers);
        else
            jw_null(j);
        jw_end(j);
    }
    jw_end(j);
    jw_key_object(j, "env");
    AUTO_BUF struct buf env = BUF(16384);
    placement_env(&env, c, p);
    struct str rest = buf_view(&env), line, name;
    while (str_cut(&rest, '\n', &line)) {
        char key[64];
        if (!str_cut(&line, '=', &name))
            continue;
        str_copy(key, sizeof key, name);
        jw_key(j, key);
        jw_str(j, line);
    }
    jw_end(j);
    jw_end(j);
}

static bool uses(const struct capacity *c, const struct placement *p, int index)
{
    for (size_t k = 0; k < p->copy_count; k++)
        for (size_t i = 0; i < p->copies[k].share_count; i++)
            if (c->gpus[p->copies[k].shares[i].gpu].index == index)
                return true;
    return false;
}

static void evictions(struct json_writer *j, const struct capacity *c, const struct placement *p)
{
    jw_key_array(j, "would_evict");
    for (size_t i = 0; i < p->evicted_count; i++)
        jw_text(j, p->evicted[i]);
    jw_end(j);
    jw_key_array(j, "evictions");
    for (size_t i = 0; i < p->evicted_count; i++)
        for (size_t h = 0; h < c->hold_count; h++) {
            if (strcmp(c->holds[h].worker, p->evicted[i]) != 0)
                continue;
            jw_object(j);
            jw_key_text(j, "worker", c->holds[h].worker);
            jw_key_int(j, "gpu_index", c->holds[h].gpu_index);
            mb(j, "memory_mb", c->holds[h].bytes);
            jw_end(j);
        }
    jw_end(j);
}

static void model(struct json_writer *j, const struct fit_subject *subject)
{
    jw_key(j, "model");
    if (!subject->path) {
        jw_null(j);
        return;
    }
    const struct model_facts *f = subject->facts;
    const struct model_need *n = subject->need;
    jw_object(j);
    jw_key_text(j, "path", subject->path);
    jw_key_text(j, "format", f->format);
    json_words(j, "architecture", f->architecture);
    json_words(j, "name", f->name);
    jw_key_int(j, "tensor_count", f->tensor_count);
    jw_key_int(j, "layers", (int64_t)n->layer_count - 1);
    json_scaled(j, "context_length", f->context, 1);
    mb(j, "weights_mb", n->weight_bytes);
    mb(j, "host_memory_mb", n->host_bytes);
    jw_key_int(j, "context", n->context);
    jw_key_text(j, "cache_type", subject->cache_type);
    json_scaled(j, "cache_mb", n->cache_bytes, PER_MIB);
    json_scaled(j, "compute_mb_per_gpu", n->compute_bytes, PER_MIB);
    mb(j, "overhead_mb_per_gpu", n->overhead_bytes);
    jw_key_bool(j, "complete", n->complete);
    json_words(j, "notes", n->notes);
    jw_end(j);
}

void json_placement(struct json_writer *j, const struct capacity *c, const struct placement_request *request,
                    const struct placement *p, const struct fit_subject *subject)
{
    bool known = p->verdict != PLACEMENT_UNKNOWN, fits = p->verdict == PLACEMENT_FITS;
    int64_t shares = fits ? (int64_t)p->copies[0].share_count : 1;
    jw_object(j);
    jw_key(j, "fits");
    if (known)
        jw_bool(j, fits);
    else
        jw_null(j);
    jw_key(j, "fits_now");
    if (known)
        jw_bool(j, fits && !p->evicted_count);
    else
        jw_null(j);
    jw_key_array(j, "gpus");
    for (int i = 0; i < GPU_MAX; i++)
        if (fits && uses(c, p, i))
            jw_int(j, i);
    jw_end(j);
    jw_key_text(j, "reason", p->reason);
    jw_key(j, "missing_mb");
    if (p->missing_bytes >= 0)
        jw_number(j, (double)p->missing_bytes * PER_MIB);
    else
        jw_null(j);
    evictions(j, c, p);
    mb(j, "size_mb", request->bytes + request->fixed_bytes * shares);
    jw_key_int(j, "size_bytes", request->bytes + request->fixed_bytes * shares);
    jw_key_int(j, "count", MAX_OF(request->count, 1));
    jw_key_array(j, "placements");
    for (size_t k = 0; k < p->copy_count; k++)
        copy(j, c, request, &p->copies[k]);
    jw_end(j);
    model(j, subject);
    jw_end(j);
}

/* ---- parsing ---- */

static struct reading from_mb(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value) / PER_MIB;
    return json_is_number(value) && number >= 0 && number < 9e18 ? reading_ok((int64_t)(number + 0.5))
                                                                 : reading_absent(READING_UNSUPPORTED);
}

static void read_holds(struct capacity *c, const json_t *gpu, int index)
{
    const json_t *list = json_object_get(gpu, "workers");
    for (size_t i = 0; i < json_array_size(list) && c->hold_count < CAPACITY_HOLDS_MAX; i++) {
        const json_t *one = json_array_get(list, i);
        struct capacity_hold *h = &c->holds[c->hold_count++];
        *h = (struct capacity_hold){.gpu_index = index,
                                    .bytes = reading_or(from_mb(one, "memory_mb"), 0),
                                    .evictable = json_is_true(json_object_get(one, "evictable"))};
        json_copy_text(one, "worker", h->worker, sizeof h->worker);
    }
}

static void read_gpu(struct capacity *c, struct capacity_gpu *gpu, const json_t *json)
{
    const json_t *which = json_object_get(json, "instance"), *util = json_object_get(json, "utilization_percent");
    gpu->index = (int)json_integer_value(json_object_get(json, "gpu_index"));
    gpu->instance = json_is_integer(which) ? (int)json_integer_value(which) : -1;
    json_copy_text(json, "uuid", gpu->id.uuid, sizeof gpu->id.uuid);
    json_copy_text(json, "pci_address", gpu->id.pci_address, sizeof gpu->id.pci_address);
    json_copy_text(json, "name", gpu->id.name, sizeof gpu->id.name);
    json_copy_text(json, "vendor", gpu->id.vendor, sizeof gpu->id.vendor);
    json_copy_text(json, "problem", gpu->problem, sizeof gpu->problem);
    gpu->simulated = json_is_true(json_object_get(json, "simulated"));
    gpu->usable = json_is_true(json_object_get(json, "usable"));
    gpu->only_if_named = json_is_true(json_object_get(json, "only_if_named"));
    char kind[16] = "";
    json_copy_text(json, "memory_kind", kind, sizeof kind);
    gpu->shared = strcmp(kind, "shared") == 0;
    gpu->total_bytes = from_mb(json, "memory_total_mb");
    gpu->free_bytes = from_mb(json, "memory_free_mb");
    gpu->reserve_bytes = reading_or(from_mb(json, "reserve_mb"), 0);
    gpu->available_bytes = from_mb(json, "available_mb");
    gpu->reclaimable_bytes = from_mb(json, "reclaimable_mb");
    gpu->least_hour_bytes = from_mb(json, "free_least_1h_mb");
    gpu->least_day_bytes = from_mb(json, "free_least_24h_mb");
    gpu->watched_ms = json_integer_value(json_object_get(json, "watched_seconds")) * MS_PER_S;
    gpu->util_permille =
        json_is_number(util) ? reading_ok((int64_t)(json_number_value(util) * 10)) : reading_absent(READING_UNREAD);
    if (gpu->instance < 0)
        read_holds(c, json, gpu->index);
}

struct capacity *capacity_from_json(struct str text)
{
    json_t *json = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(json, "gpus");
    size_t count = json_array_size(gpus);
    struct capacity *c = json_is_array(gpus) && count <= FROM_JSON_GPUS_MAX ? capacity_alloc(count) : NULL;
    for (size_t i = 0; c && i < count; i++)
        read_gpu(c, &c->gpus[i], json_array_get(gpus, i));
    if (c)
        c->guard_known = json_is_true(json_object_get(json, "guard"));
    json_decref(json);
    return c;
}
