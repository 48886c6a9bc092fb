/* SPDX-License-Identifier: Apache-2.0
 * The wddm source: GPUs of every vendor on Windows, from the system's counters per process and engine (Windows Display Driver
 * Model). If the vendor's library reads a GPU, that source owns it, and this one adds its process usage.
 */
#include "source/wddm/wddm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

/* ---- Lists adapters with their names, addresses and memory sizes, and reads their sensors. An adapter's LUID, which the counters
 * use, is valid until its driver restarts; one that returns with another LUID is recognized by PCI address. Software renderers
 * aren't GPUs. */

enum { WDDM_ADAPTERS_MAX = 64 }; /* further ones are ignored */

struct wddm_adapter {
    bool present;
    uint32_t handle;
    uint64_t luid;
    struct gpu_id id;
    struct reading dedicated_bytes, shared_bytes; /* total */
    bool shares_memory;                           /* its memory is mostly the host's */
    char driver_version[GPU_TEXT_SIZE];           /* "" unknown */
    char pci_device_id[GPU_TEXT_SIZE];
    char pci_subsystem_id[GPU_TEXT_SIZE];
};

struct wddm_adapters {
    const struct wddm_calls *calls;
    size_t count;
    struct wddm_adapter list[WDDM_ADAPTERS_MAX];
};

enum { VENDOR_MICROSOFT = 0x1414, TRIES = 3 };

static bool ask(const struct wddm_calls *calls, uint32_t handle, enum kmt_query type, void *data, size_t size)
{
    const struct kmt_query_adapter query = {handle, type, data, (uint32_t)size};
    return calls->query_adapter(&query) >= 0;
}

/* Converts Windows text; half a surrogate pair becomes '?', like everything that a terminal would obey. */
static void copy_wide(char *to, size_t size, const uint16_t *text, size_t max)
{
    char utf8[4 * KMT_PATH];
    size_t len = 0;
    for (size_t i = 0; i < max && i < KMT_PATH && text[i]; i++) {
        uint32_t c = text[i];
        bool pair = c >= 0xd800 && c < 0xdc00 && i + 1 < max && text[i + 1] >= 0xdc00 && text[i + 1] < 0xe000;
        if (pair)
            c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - 0xdc00u);
        else if (c >= 0xd800 && c < 0xe000)
            c = '?';
        len += str_put_utf8(c, utf8 + len);
    }
    str_copy_clean(to, size, str_trim((struct str){utf8, len}));
}

static const char *vendor_name(uint32_t id)
{
    switch (id) {
    case 0x10de: return "nvidia";
    case 0x1002:
    case 0x1022: return "amd";
    case 0x8086: return "intel";
    case 0x5143:
    case 0x4d4f4351: return "qualcomm"; /* "QCOM": not on PCI */
    default: return "";
    }
}

static void take_ids(const struct kmt_device_ids *ids, uint32_t type, struct wddm_adapter *a)
{
    str_copy(a->id.vendor, sizeof a->id.vendor, str_from(vendor_name(ids->vendor)));
    if (ids->vendor && ids->vendor <= UINT16_MAX && ids->device <= UINT16_MAX)
        snprintf(a->pci_device_id, sizeof a->pci_device_id, "%04x:%04x", ids->vendor, ids->device);
    if (ids->subsystem_vendor && ids->subsystem_vendor <= UINT16_MAX && ids->subsystem <= UINT16_MAX)
        snprintf(a->pci_subsystem_id, sizeof a->pci_subsystem_id, "%04x:%04x", ids->subsystem_vendor, ids->subsystem);
    /* Compute without rendering: an NPU, except NVIDIA's cards in that mode. */
    if ((type & KMT_COMPUTE_ONLY) && strcmp(a->id.vendor, "nvidia") != 0)
        a->id.kind = DEVICE_NPU;
}

static void read_address(const struct wddm_calls *calls, struct wddm_adapter *a)
{
    enum { DEVICES = 32, FUNCTIONS = 8, BUS_BITS = 8 };
    struct kmt_address at = {0};
    /* All bits set, or all zero, which is the host bridge: not on PCI. */
    if (!ask(calls, a->handle, KMT_ADDRESS, &at, sizeof at) || at.bus == UINT32_MAX || at.device >= DEVICES ||
        at.function >= FUNCTIONS || (!at.bus && !at.device && !at.function))
        return;
    snprintf(a->id.pci_address, sizeof a->id.pci_address, "%04x:%02x:%02x.%u", at.bus >> BUS_BITS & UINT16_MAX, at.bus & UINT8_MAX,
             at.device & 0x1f, at.function & 7);
}

static struct reading size_reading(uint64_t bytes)
{
    return bytes <= INT64_MAX ? reading_ok((int64_t)bytes) : reading_absent(READING_IMPLAUSIBLE);
}

/* The kernel doesn't say whether memory is the host's. Integrated graphics have a small reserved part: at most 512 MiB and an
 * eighth of what they may share. */
static void read_sizes(const struct wddm_calls *calls, uint32_t type, struct wddm_adapter *a)
{
    struct kmt_segment_size size = {0};
    if (!ask(calls, a->handle, KMT_SEGMENT_SIZE, &size, sizeof size))
        return;
    a->dedicated_bytes = size_reading(size.dedicated_video);
    a->shared_bytes = size_reading(size.shared_system);
    a->shares_memory = size.shared_system > 0 && ((type & KMT_INTEGRATED) || (size.dedicated_video <= 512 * (uint64_t)MIB_BYTES &&
                                                                              size.dedicated_video <= size.shared_system / 8));
}

static void read_driver(const struct wddm_calls *calls, struct wddm_adapter *a)
{
    enum { PART_BITS = 16 };
    uint64_t v = 0;
    if (ask(calls, a->handle, KMT_DRIVER_VERSION, &v, sizeof v) && v)
        snprintf(a->driver_version, sizeof a->driver_version, "%u.%u.%u.%u", (unsigned)(v >> 3 * PART_BITS & UINT16_MAX),
                 (unsigned)(v >> 2 * PART_BITS & UINT16_MAX), (unsigned)(v >> PART_BITS & UINT16_MAX), (unsigned)(v & UINT16_MAX));
}

static void read_name(const struct wddm_calls *calls, struct wddm_adapter *a)
{
    AUTO_FREE struct kmt_registry *names = calloc(1, sizeof *names); /* 2 KiB */
    if (names && ask(calls, a->handle, KMT_REGISTRY, names, sizeof *names))
        copy_wide(a->id.name, sizeof a->id.name, names->name, KMT_PATH);
}

/* False: not a GPU. */
static bool describe(const struct wddm_calls *calls, const struct kmt_adapter *found, struct wddm_adapter *ret)
{
    uint32_t type = 0;
    struct kmt_device_ids ids = {0};
    *ret = (struct wddm_adapter){
        .present = true, .handle = found->handle, .luid = (uint64_t)(uint32_t)found->luid.high << 32 | found->luid.low};
    bool known = ask(calls, ret->handle, KMT_TYPE, &type, sizeof type);
    if (!ask(calls, ret->handle, KMT_DEVICE_IDS, &ids, sizeof ids))
        ids = (struct kmt_device_ids){0};
    if (!known || ids.vendor == VENDOR_MICROSOFT || (type & KMT_SOFTWARE) || !(type & (KMT_RENDERS | KMT_COMPUTE_ONLY)))
        return false;
    take_ids(&ids, type, ret);
    read_name(calls, ret);
    if (ids.vendor <= UINT16_MAX) /* longer IDs are ACPI's */
        read_address(calls, ret);
    read_sizes(calls, type, ret);
    read_driver(calls, ret);
    return true;
}

/* The position of this adapter in the list; the end: not listed. */
static size_t place_of(const struct wddm_adapters *a, const struct wddm_adapter *found)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].luid == found->luid)
            return i;
    for (size_t i = 0; i < a->count; i++)
        if (!a->list[i].present && found->id.pci_address[0] && strcmp(a->list[i].id.pci_address, found->id.pci_address) == 0)
            return i;
    return a->count;
}

static void forget_handles(struct wddm_adapters *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->list[i].present)
            a->calls->close_adapter(&a->list[i].handle);
        a->list[i].present = false;
    }
}

static void take(struct wddm_adapters *a, const struct kmt_adapter *found)
{
    struct wddm_adapter adapter;
    bool is_gpu = describe(a->calls, found, &adapter);
    size_t place = is_gpu ? place_of(a, &adapter) : WDDM_ADAPTERS_MAX;
    if (place >= WDDM_ADAPTERS_MAX || a->list[place].present) {
        a->calls->close_adapter(&found->handle);
        return;
    }
    a->list[place] = adapter;
    a->count = MAX_OF(a->count, place + 1);
}

/* Updates the list. Adapters that vanished keep their position, as not present. Returns the number listed, or -errno. */
static int wddm_adapters_update(struct wddm_adapters *a)
{
    enum { ADAPTERS_MOST = 1024 };
    struct kmt_enum_adapters all = {0};
    AUTO_FREE struct kmt_adapter *found = NULL;
    /* An adapter may appear between the two calls: the second then reports too little space. */
    for (int tries = 0;; tries++) {
        all = (struct kmt_enum_adapters){0};
        if (a->calls->enum_adapters(&all) < 0 || all.count > ADAPTERS_MOST)
            return -EIO;
        uint32_t room = all.count + 1;
        free(found);
        found = calloc(room, sizeof *found);
        if (!found)
            return -ENOMEM;
        all = (struct kmt_enum_adapters){room, found};
        bool answered = a->calls->enum_adapters(&all) >= 0;
        if (answered && all.count <= room)
            break;
        if (tries + 1 == TRIES)
            return -EIO;
    }
    forget_handles(a);
    for (uint32_t i = 0; i < all.count; i++)
        take(a, &found[i]);
    return (int)a->count;
}

static void wddm_adapters_done(struct wddm_adapters *a)
{
    forget_handles(a);
    a->count = 0;
}

/* ---- sensors ---- */

/* Drivers leave unmeasured values at 0. */
static struct reading measured(uint64_t value, int64_t times, int64_t by)
{
    return value == 0                              ? reading_absent(READING_UNSUPPORTED)
           : value > (uint64_t)(INT64_MAX / times) ? reading_absent(READING_IMPLAUSIBLE)
                                                   : reading_ok((int64_t)value * times / by);
}

/* If its driver reports them to the system. */
static void wddm_adapter_sensors(const struct wddm_calls *calls, const struct wddm_adapter *a, unsigned groups, struct gpu *out)
{
    enum { MDEGC_PER_TENTH = 100, HZ_PER_KHZ = 1000 };
    struct kmt_performance now = {0};
    struct kmt_performance_caps caps = {0};
    struct kmt_node_performance node = {0};
    bool has_caps = ask(calls, a->handle, KMT_PERFORMANCE_CAPS, &caps, sizeof caps);
    if (groups & GROUP_FAST) {
        (void)ask(calls, a->handle, KMT_PERFORMANCE, &now, sizeof now);
        (void)ask(calls, a->handle, KMT_NODE_PERFORMANCE, &node, sizeof node);
        out->temp_mdegc = measured(now.temperature, MDEGC_PER_TENTH, 1);
        out->clock_memory_khz = measured(now.memory_hz, 1, HZ_PER_KHZ);
        out->clock_graphics_khz = measured(node.hz, 1, HZ_PER_KHZ);
        out->voltage_mv = measured(node.mv, 1, 1);
        /* 0 rpm counts only if the driver knows the fan's maximum speed. */
        out->fan_rpm = has_caps && caps.fan_rpm_max ? reading_ok(now.fan_rpm) : measured(now.fan_rpm, 1, 1);
        out->power_mw = reading_absent(READING_UNSUPPORTED); /* a share of an unknown maximum in watts */
    }
    if (groups & GROUP_STATIC) {
        out->temp_limit_mdegc = measured(caps.temperature_warning, MDEGC_PER_TENTH, 1);
        out->temp_shutdown_mdegc = measured(caps.temperature_max, MDEGC_PER_TENTH, 1);
        if (!(groups & GROUP_FAST)) {
            (void)ask(calls, a->handle, KMT_PERFORMANCE, &now, sizeof now);
            (void)ask(calls, a->handle, KMT_NODE_PERFORMANCE, &node, sizeof node);
        }
        out->clock_memory_max_khz = measured(now.memory_max_hz, 1, HZ_PER_KHZ);
        out->clock_graphics_max_khz = measured(node.max_hz, 1, HZ_PER_KHZ);
    }
}

/* ---- Fills the function table from gdi32.dll and pdh.dll, loaded lazily: a program that reads no GPU here needs neither. */

static int load(const struct env *env, const char *name, const struct library_symbol *symbols, size_t count, struct error *err)
{
    void *library = env->load_library(env, name, err);
    int rc = library ? library_symbols(library, symbols, count, err) : -ENODEV;
    if (rc == 0)
        return 0;
    error_prefix(err, "%s", name);
    return err ? (err->code = -ENODEV) : -ENODEV;
}

static int wddm_calls_load(const struct env *env, struct wddm_calls *ret, struct error *err)
{
    *ret = (struct wddm_calls){0};
    const struct library_symbol adapters[] = {
        {"D3DKMTEnumAdapters2", &ret->enum_adapters, false},
        {"D3DKMTQueryAdapterInfo", &ret->query_adapter, false},
        {"D3DKMTCloseAdapter", &ret->close_adapter, false},
    };
    const struct library_symbol counters[] = {
        {"PdhOpenQueryW", &ret->open_query, false},    {"PdhAddEnglishCounterW", &ret->add_counter, false},
        {"PdhCollectQueryData", &ret->collect, false}, {"PdhGetFormattedCounterArrayW", &ret->values, false},
        {"PdhCloseQuery", &ret->close_query, false},
    };
    int rc = load(env, "gdi32.dll", adapters, ARRAY_LEN(adapters), err);
    return rc < 0 ? rc : load(env, "pdh.dll", counters, ARRAY_LEN(counters), err);
}

/* ---- the source ---- */

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
