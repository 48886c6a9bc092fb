/* SPDX-License-Identifier: Apache-2.0
 * The wddm source: GPUs of every vendor on Windows, from the system's counters per process and engine (Windows Display Driver
 * Model). If the vendor's library reads a GPU, that source owns it, and this one adds its process usage.
 */
#include "source/wddm/wddm.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct wddm {
    struct source source;
    struct wddm_calls calls;
    struct wddm_adapters adapters;
    struct wddm_counters counters;
    bool changed;
};

static void wddm_close(struct source *source)
{
    struct wddm *s = (struct wddm *)source;
    if (!s)
        return;
    wddm_counters_close(&s->counters);
    wddm_adapters_done(&s->adapters);
    free(s);
}

int wddm_open_with(const struct env *env, const struct wddm_calls *calls, struct source **ret, struct error *err)
{
    (void)env;
    struct wddm *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &wddm_source;
    s->calls = *calls;
    s->adapters.calls = &s->calls;
    int count = wddm_adapters_update(&s->adapters);
    int rc = count < 0    ? error_set(err, count, "graphics adapters cannot be listed")
             : count == 0 ? error_set(err, -ENODEV, "Windows lists no graphics adapter with a driver of its maker")
                          : wddm_counters_open(&s->counters, &s->calls, err);
    if (rc < 0) {
        wddm_close(&s->source);
        return rc;
    }
    *ret = &s->source;
    return 0;
}

static int wddm_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct wddm_calls calls;
    int rc = source_check(&wddm_source, params, err);
    if (rc == 0)
        rc = wddm_calls_load(env, &calls, err);
    return rc < 0 ? rc : wddm_open_with(env, &calls, ret, err);
}

static int wddm_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct wddm *s = (struct wddm *)source;
    int rc = wddm_adapters_update(&s->adapters);
    s->changed = false;
    if (rc < 0)
        return rc;
    size_t count = MIN_OF(s->adapters.count, max);
    for (size_t i = 0; i < count; i++)
        ids[i] = s->adapters.list[i].id;
    return (int)count;
}

/* Changes when adapters come or go. */
static uint64_t signature(const struct wddm_adapters *a)
{
    uint64_t sum = a->count;
    for (size_t i = 0; i < a->count; i++)
        sum = sum * 31 + (a->list[i].present ? a->list[i].luid + 1 : 0);
    return sum;
}

static int wddm_refresh(struct source *source, unsigned groups, struct error *err)
{
    struct wddm *s = (struct wddm *)source;
    if (groups & GROUP_SLOW) {
        uint64_t before = signature(&s->adapters);
        int rc = wddm_adapters_update(&s->adapters);
        if (rc < 0)
            return error_set(err, rc, "graphics adapters cannot be listed");
        s->changed |= before != signature(&s->adapters);
    }
    return groups & (GROUP_FAST | GROUP_PROCESS) ? wddm_counters_refresh(&s->counters, err) : 0;
}

static void fill_memory_sizes(const struct wddm_adapter *a, struct gpu *out)
{
    int64_t own = reading_or(a->dedicated_bytes, 0), both;
    out->mem_total_bytes = a->dedicated_bytes;
    if (!a->shares_memory)
        out->gtt_total_bytes = a->shared_bytes;
    else if (__builtin_add_overflow(own, reading_or(a->shared_bytes, INT64_MAX), &both))
        out->mem_total_bytes = reading_absent(READING_IMPLAUSIBLE);
    else
        out->mem_total_bytes = reading_ok(both);
    if (out->mem_total_bytes.state == READING_OK && out->mem_used_bytes.state == READING_OK)
        out->mem_free_bytes = reading_ok(MAX_OF(out->mem_total_bytes.value - out->mem_used_bytes.value, (int64_t)0));
}

static void wddm_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct wddm *s = (struct wddm *)source;
    const struct wddm_adapter *a = &s->adapters.list[gpu];
    if (!a->present) {
        gpu_mark_state(out, GPU_LOST, "it was removed or its driver stopped");
        return;
    }
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        wddm_counters_fill(&s->counters, a->luid, a->shares_memory, groups, out);
    if (groups & GROUP_FAST) {
        fill_memory_sizes(a, out);
        gpu_set_property(out, PROPERTY_memory_kind, a->shares_memory ? "shared" : "dedicated");
    }
    wddm_adapter_sensors(&s->calls, a, groups, out);
    if (!(groups & GROUP_STATIC))
        return;
    gpu_set_property(out, PROPERTY_driver, "WDDM");
    gpu_set_property(out, PROPERTY_driver_version, a->driver_version);
    gpu_set_property(out, PROPERTY_pci_device_id, a->pci_device_id);
    gpu_set_property(out, PROPERTY_pci_subsystem_id, a->pci_subsystem_id);
}

static bool wddm_changed(struct source *source)
{
    return ((struct wddm *)source)->changed;
}

static void wddm_describe(struct source *source, struct buf *out)
{
    struct wddm *s = (struct wddm *)source;
    buf_printf(out, "not yet run on a real Windows: whirr doctor --bundle helps\n");
    for (size_t i = 0; i < s->adapters.count; i++) {
        const struct wddm_adapter *a = &s->adapters.list[i];
        buf_printf(out, "%s, LUID 0x%08x_0x%08x%s\n", a->id.name[0] ? a->id.name : "adapter without a name",
                   (unsigned)(a->luid >> 32), (unsigned)a->luid, a->present ? "" : ", gone");
    }
    buf_printf(out, "%zu counters of processes and engines\n", s->counters.count);
}

const struct source_ops wddm_source = {
    .name = "wddm",
    .what = "GPUs of every vendor through the counters of Windows",
    .automatic = true,
    .completes = true,
    .open = wddm_open,
    .list = wddm_list,
    .refresh = wddm_refresh,
    .sample = wddm_sample,
    .changed = wddm_changed,
    .describe = wddm_describe,
    .close = wddm_close,
};
