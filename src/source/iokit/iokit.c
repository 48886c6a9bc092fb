/* SPDX-License-Identifier: Apache-2.0
 * The iokit source: GPUs of a Mac, from the statistics of their drivers in the IOKit registry ("PerformanceStatistics" of an
 * IOAccelerator), which need no privileges. They lack usage per process, power and, on Apple's chips, temperature.
 *
 * The names of the statistics come from public monitors of macOS; this source has not been run on a real Mac yet.
 */
#include "source/iokit/iokit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "host/machine.h"

/* ---- Fills the function table from the two frameworks ---- */

static int load(const struct env *env, const char *path, const struct library_symbol *symbols, size_t count, struct error *err)
{
    void *library = env->load_library(env, path, err);
    int rc = library ? library_symbols(library, symbols, count, err) : -ENODEV;
    if (rc == 0)
        return 0;
    error_prefix(err, "%s", path);
    return err ? (err->code = -ENODEV) : -ENODEV;
}

static int iokit_calls_load(const struct env *env, struct iokit_calls *ret, struct error *err)
{
    *ret = (struct iokit_calls){0};
    const struct library_symbol registry[] = {
        {"IOServiceMatching", &ret->matching, false},
        {"IOServiceGetMatchingServices", &ret->services, false},
        {"IOIteratorNext", &ret->next, false},
        {"IOObjectRelease", &ret->release_entry, false},
        {"IORegistryEntryGetRegistryEntryID", &ret->entry_id, false},
        {"IORegistryEntryCreateCFProperty", &ret->create_property, false},
        {"IORegistryEntrySearchCFProperty", &ret->search_property, false},
    };
    const struct library_symbol objects[] = {
        {"CFStringCreateWithCString", &ret->create_string, false},
        {"CFRelease", &ret->release, false},
        {"CFGetTypeID", &ret->type_of, false},
        {"CFStringGetTypeID", &ret->string_type, false},
        {"CFNumberGetTypeID", &ret->number_type, false},
        {"CFDictionaryGetTypeID", &ret->dictionary_type, false},
        {"CFDataGetTypeID", &ret->data_type, false},
        {"CFDictionaryGetValue", &ret->value, false},
        {"CFNumberGetValue", &ret->number, false},
        {"CFStringGetCString", &ret->text, false},
        {"CFDataGetLength", &ret->data_length, false},
        {"CFDataGetBytePtr", &ret->data_bytes, false},
    };
    int rc = load(env, "/System/Library/Frameworks/IOKit.framework/IOKit", registry, ARRAY_LEN(registry), err);
    if (rc == 0)
        rc = load(env, "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", objects, ARRAY_LEN(objects), err);
    return rc;
}

enum { ACCELERATORS_MAX = 16 };

/* ---- properties of registry entries, checked for their type: a driver may put anything under a name ---- */

/* Calls `find` with a temporary key. */
static cf_ref with_key(const struct iokit_calls *c, const char *name,
                       cf_ref (*find)(const struct iokit_calls *, const void *, cf_ref), const void *in)
{
    cf_ref key = c->create_string(NULL, name, CF_UTF8);
    cf_ref found = key ? find(c, in, key) : NULL;
    if (key)
        c->release(key);
    return found;
}

static cf_ref find_own(const struct iokit_calls *c, const void *entry, cf_ref key)
{
    return c->create_property(*(const unsigned *)entry, key, NULL, 0);
}

static cf_ref find_around(const struct iokit_calls *c, const void *entry, cf_ref key)
{
    return c->search_property(*(const unsigned *)entry, "IOService", key, NULL, IOKIT_PARENTS_TOO);
}

static cf_ref find_in(const struct iokit_calls *c, const void *dictionary, cf_ref key)
{
    return c->value(dictionary, key);
}

/* A dictionary property; NULL: missing. The caller releases it. */
static cf_ref iokit_dictionary(const struct iokit_calls *c, unsigned entry, const char *key)
{
    cf_ref found = with_key(c, key, find_own, &entry);
    if (found && c->type_of(found) != c->dictionary_type()) {
        c->release(found);
        found = NULL;
    }
    return found;
}

static struct reading number_of(const struct iokit_calls *c, cf_ref object)
{
    int64_t value = 0;
    if (!object || c->type_of(object) != c->number_type())
        return reading_absent(READING_UNSUPPORTED);
    return c->number(object, CF_INT64, &value) ? reading_ok(value) : reading_absent(READING_IMPLAUSIBLE);
}

/* An integer in it; READING_UNSUPPORTED: missing. */
static struct reading iokit_number(const struct iokit_calls *c, cf_ref dictionary, const char *key)
{
    return dictionary ? number_of(c, with_key(c, key, find_in, dictionary)) : reading_absent(READING_UNSUPPORTED);
}

/* The first of several names that has a number. NULL ends the names. */
static struct reading iokit_first_number(const struct iokit_calls *c, cf_ref dictionary, const char *const *keys)
{
    struct reading found = reading_absent(READING_UNSUPPORTED);
    for (; *keys && found.state == READING_UNSUPPORTED; keys++)
        found = iokit_number(c, dictionary, *keys);
    return found;
}

/* From the entry or its parents: text (clean UTF-8), or a number stored as such or as bytes. */
static bool iokit_text_around(const struct iokit_calls *c, unsigned entry, const char *key, char *to, size_t size)
{
    enum { TEXT_MOST = 256 };
    char text[TEXT_MOST] = "";
    cf_ref found = with_key(c, key, find_around, &entry);
    if (!found)
        return false;
    if (c->type_of(found) == c->string_type()) {
        if (!c->text(found, text, sizeof text, CF_UTF8))
            text[0] = '\0';
    } else if (c->type_of(found) == c->data_type()) {
        long length = c->data_length(found);
        if (length > 0)
            str_copy(text, sizeof text, (struct str){(const char *)c->data_bytes(found), (size_t)length});
    }
    c->release(found);
    str_copy_clean(to, size, str_trim(str_from(text)));
    return to[0] != '\0';
}

static struct reading iokit_number_around(const struct iokit_calls *c, unsigned entry, const char *key)
{
    enum { BITS = 8, BYTES_MOST = 7 };
    cf_ref found = with_key(c, key, find_around, &entry);
    struct reading value = number_of(c, found);
    long length = found && c->type_of(found) == c->data_type() ? c->data_length(found) : 0;
    if (length > 0 && length <= BYTES_MOST) {
        value = reading_ok(0);
        for (long i = length; i-- > 0;) /* least significant byte first */
            value.value = value.value << BITS | c->data_bytes(found)[i];
    }
    if (found)
        c->release(found);
    return value;
}

/* ---- the source ---- */

struct accelerator {
    bool present;
    unsigned entry; /* held while present */
    uint64_t id;    /* of the entry, until reboot */
    struct gpu_id gpu;
    bool shares_memory;
    struct reading cores, dedicated_bytes;
};

struct iokit {
    struct source source;
    const struct env *env;
    struct iokit_calls calls;
    size_t count;
    struct accelerator list[ACCELERATORS_MAX];
    bool changed;
};

static void forget(struct iokit *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].present)
            s->calls.release_entry(s->list[i].entry);
        s->list[i].present = false;
    }
}

static void iokit_close(struct source *source)
{
    struct iokit *s = (struct iokit *)source;
    if (!s)
        return;
    forget(s);
    free(s);
}

static const char *vendor_of(struct reading id)
{
    switch (reading_or(id, 0)) {
    case 0x106b: return "apple";
    case 0x1002: return "amd";
    case 0x8086: return "intel";
    case 0x10de: return "nvidia";
    default: return "";
    }
}

static void describe(const struct iokit_calls *c, struct accelerator *a)
{
    iokit_text_around(c, a->entry, "model", a->gpu.name, sizeof a->gpu.name);
    const char *vendor = vendor_of(iokit_number_around(c, a->entry, "vendor-id"));
    if (!vendor[0] && strncmp(a->gpu.name, "Apple ", strlen("Apple ")) == 0)
        vendor = "apple";
    str_copy(a->gpu.vendor, sizeof a->gpu.vendor, str_from(vendor));
    a->cores = iokit_number_around(c, a->entry, "gpu-core-count");
    struct reading mib = iokit_number_around(c, a->entry, "VRAM,totalMB");
    bool dedicated = mib.state == READING_OK && mib.value > 0 && mib.value < INT64_MAX / MIB_BYTES;
    a->dedicated_bytes = dedicated ? reading_ok(mib.value * MIB_BYTES) : reading_absent(READING_UNSUPPORTED);
    /* Apple's and Intel's have no memory of their own, whatever an old driver says. */
    a->shares_memory = !dedicated || strcmp(vendor, "apple") == 0 || strcmp(vendor, "intel") == 0;
}

static void take(struct iokit *s, unsigned entry)
{
    struct accelerator found = {.present = true, .entry = entry};
    size_t place = 0;
    bool known = s->calls.entry_id(entry, &found.id) == 0;
    while (place < s->count && s->list[place].id != found.id)
        place++;
    if (!known || place == ACCELERATORS_MAX || (place < s->count && s->list[place].present)) {
        s->calls.release_entry(entry);
        return;
    }
    describe(&s->calls, &found);
    s->list[place] = found;
    s->count = MAX_OF(s->count, place + 1);
}

static int look(struct iokit *s)
{
    enum { ENTRIES_MOST = 256 };
    static const char *const classes[] = {"IOAccelerator", "AGXAccelerator"};
    size_t found = 0;
    forget(s);
    for (size_t i = 0; i < ARRAY_LEN(classes) && found == 0; i++) {
        unsigned iterator = 0, entry;
        cf_ref matching = s->calls.matching(classes[i]);
        if (!matching || s->calls.services(0, matching, &iterator) != 0 || !iterator)
            continue;
        for (; found < ENTRIES_MOST && (entry = s->calls.next(iterator)); found++)
            take(s, entry);
        s->calls.release_entry(iterator);
    }
    return (int)s->count;
}

int iokit_open_with(const struct env *env, const struct iokit_calls *calls, struct source **ret, struct error *err)
{
    struct iokit *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &iokit_source;
    s->env = env;
    s->calls = *calls;
    if (look(s) == 0) {
        iokit_close(&s->source);
        return error_set(err, -ENODEV, "no GPU in the registry of IOKit");
    }
    *ret = &s->source;
    return 0;
}

static int iokit_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct iokit_calls calls;
    int rc = source_check(&iokit_source, params, err);
    if (rc == 0)
        rc = iokit_calls_load(env, &calls, err);
    return rc < 0 ? rc : iokit_open_with(env, &calls, ret, err);
}

static int iokit_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct iokit *s = (struct iokit *)source;
    size_t count = MIN_OF((size_t)look(s), max);
    s->changed = false;
    for (size_t i = 0; i < count; i++)
        ids[i] = s->list[i].gpu;
    return (int)count;
}

/* Changes when GPUs come or go: external ones do. */
static uint64_t signature(const struct iokit *s)
{
    uint64_t sum = s->count;
    for (size_t i = 0; i < s->count; i++)
        sum = sum * 31 + (s->list[i].present ? s->list[i].id + 1 : 0);
    return sum;
}

static int iokit_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)err;
    struct iokit *s = (struct iokit *)source;
    uint64_t before = signature(s);
    if (groups & GROUP_SLOW)
        look(s);
    s->changed |= before != signature(s);
    return 0;
}

static struct reading scaled(struct reading r, int64_t factor)
{
    int64_t value;
    if (r.state != READING_OK)
        return r;
    return __builtin_mul_overflow(r.value, factor, &value) ? reading_absent(READING_IMPLAUSIBLE) : reading_ok(value);
}

static struct reading utilization(const struct iokit_calls *c, cf_ref statistics)
{
    enum { PERMILLE = 10, CORE_PARTS_PER_PERMILLE = 10000 };
    static const char *const percent[] = {"Device Utilization %", "GPU Activity(%)", "Device Utilization % at cur p-state", NULL};
    struct reading found = iokit_first_number(c, statistics, percent);
    if (found.state != READING_UNSUPPORTED)
        return scaled(found, PERMILLE);
    found = iokit_number(c, statistics, "GPU Core Utilization"); /* ten million is 100 % */
    return found.state == READING_OK ? reading_ok(found.value / CORE_PARTS_PER_PERMILLE) : found;
}

static void fill_memory(const struct iokit *s, const struct accelerator *a, cf_ref statistics, struct gpu *out)
{
    static const char *const shared[] = {"In use system memory", "inUseSysMemoryBytes", NULL};
    static const char *const own[] = {"vramUsedBytes", "inUseVidMemoryBytes", "In use video memory", NULL};
    struct host host = {0};
    if (a->shares_memory)
        machine_read_memory(s->env, &host);
    out->mem_used_bytes = iokit_first_number(&s->calls, statistics, a->shares_memory ? shared : own);
    out->mem_total_bytes = a->shares_memory ? host.mem_total_bytes : a->dedicated_bytes;
    /* Host memory used by others isn't free, either. */
    int64_t used = reading_or(out->mem_used_bytes, -1), total = reading_or(out->mem_total_bytes, -1);
    if (a->shares_memory)
        out->mem_free_bytes = host.mem_available_bytes;
    else if (used >= 0 && total >= 0)
        out->mem_free_bytes = reading_ok(MAX_OF(total - used, (int64_t)0));
    gpu_set_property(out, PROPERTY_memory_kind, a->shares_memory ? "shared" : "dedicated");
}

/* AMD cards in Intel Macs; others have none of these. */
static void fill_sensors(const struct iokit_calls *c, cf_ref statistics, struct gpu *out)
{
    enum { MILLI = 1000, PERMILLE = 10, KHZ_PER_MHZ = 1000 };
    out->temp_mdegc = scaled(iokit_number(c, statistics, "Temperature(C)"), MILLI);
    out->fan_permille = scaled(iokit_number(c, statistics, "Fan Speed(%)"), PERMILLE);
    out->fan_rpm = iokit_number(c, statistics, "Fan Speed(RPM)");
    out->power_mw = scaled(iokit_number(c, statistics, "Total Power(W)"), MILLI);
    out->clock_graphics_khz = scaled(iokit_number(c, statistics, "Core Clock(MHz)"), KHZ_PER_MHZ);
    out->clock_memory_khz = scaled(iokit_number(c, statistics, "Memory Clock(MHz)"), KHZ_PER_MHZ);
}

static void iokit_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct iokit *s = (struct iokit *)source;
    const struct accelerator *a = &s->list[gpu];
    if (!a->present) {
        gpu_mark_state(out, GPU_LOST, "it was removed");
        return;
    }
    if (groups & GROUP_FAST) {
        cf_ref statistics = iokit_dictionary(&s->calls, a->entry, "PerformanceStatistics");
        out->util_permille = utilization(&s->calls, statistics);
        fill_memory(s, a, statistics, out);
        fill_sensors(&s->calls, statistics, out);
        if (statistics)
            s->calls.release(statistics);
    }
    if (groups & GROUP_PROCESS)
        out->processes_state = READING_UNSUPPORTED;
    if (groups & GROUP_STATIC)
        out->compute_units = a->cores;
}

static bool iokit_changed(struct source *source)
{
    return ((struct iokit *)source)->changed;
}

static void iokit_describe(struct source *source, struct buf *out)
{
    struct iokit *s = (struct iokit *)source;
    buf_printf(out, "not yet run on a real Mac: whirr doctor --bundle helps\n");
    for (size_t i = 0; i < s->count; i++)
        buf_printf(out, "%s, entry 0x%" PRIx64 "%s\n", s->list[i].gpu.name[0] ? s->list[i].gpu.name : "GPU without a name",
                   s->list[i].id, s->list[i].present ? "" : ", gone");
}

const struct source_ops iokit_source = {
    .name = "iokit",
    .what = "GPUs of a Mac through IOKit",
    .automatic = true,
    .open = iokit_open,
    .list = iokit_list,
    .refresh = iokit_refresh,
    .sample = iokit_sample,
    .changed = iokit_changed,
    .describe = iokit_describe,
    .close = iokit_close,
};
