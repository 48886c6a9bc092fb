/* SPDX-License-Identifier: Apache-2.0
 * The registry of a Mac that is made up. Objects count who holds them: all are released in the end.
 */
#include "source/iokit/iokit.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"
#include "tree.h"

enum kind { STRING = 1, NUMBER, DICTIONARY, DATA };

struct object {
    enum kind kind;
    const char *key; /* in what holds it */
    char text[128];
    int64_t number;
    bool too_large; /* does not fit into 64 bits */
    long length;    /* of data; 0: of the text */
    struct object *members;
    size_t count;
};

struct entry {
    uint64_t id;
    const char *class_name;
    struct object *properties;
    size_t count;
};

enum { ENTRIES = 24, FIRST = 100, ITERATOR = 7 };
static struct registry {
    struct entry entries[ENTRIES];
    size_t count, next;
    const char *wanted;
    int held_entries, held_objects;
} registry;

static cf_ref held(struct object *o)
{
    registry.held_objects += o != NULL;
    return o;
}

static struct object *find(struct object *list, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].key, key) == 0)
            return &list[i];
    return NULL;
}

static cf_ref matching(const char *class_name)
{
    registry.wanted = class_name;
    return class_name;
}

static int services(unsigned port, cf_ref match, unsigned *iterator)
{
    assert_int_equal(port, 0);
    assert_ptr_equal(match, registry.wanted);
    registry.next = 0;
    registry.held_entries++;
    *iterator = ITERATOR;
    return 0;
}

static unsigned next(unsigned iterator)
{
    assert_int_equal(iterator, ITERATOR);
    while (registry.next < registry.count && strcmp(registry.entries[registry.next].class_name, registry.wanted) != 0)
        registry.next++;
    if (registry.next == registry.count)
        return 0;
    registry.held_entries++;
    return FIRST + (unsigned)registry.next++;
}

static int release_entry(unsigned entry)
{
    assert_true(entry != 0);
    registry.held_entries--;
    return 0;
}

static int entry_id(unsigned entry, uint64_t *ret)
{
    *ret = registry.entries[entry - FIRST].id;
    return 0;
}

static cf_ref create_property(unsigned entry, cf_ref key, cf_ref allocator, unsigned options)
{
    assert_null(allocator);
    assert_int_equal(options, 0);
    struct entry *e = &registry.entries[entry - FIRST];
    return held(find(e->properties, e->count, ((const struct object *)key)->text));
}

static cf_ref search_property(unsigned entry, const char *plane, cf_ref key, cf_ref allocator, unsigned options)
{
    assert_string_equal(plane, "IOService");
    assert_int_equal(options, IOKIT_PARENTS_TOO);
    return create_property(entry, key, allocator, 0);
}

static cf_ref create_string(cf_ref allocator, const char *text, unsigned encoding)
{
    (void)allocator;
    assert_int_equal(encoding, CF_UTF8);
    struct object *o = calloc(1, sizeof *o);
    o->kind = STRING;
    snprintf(o->text, sizeof o->text, "%s", text);
    return held(o);
}

static void release(cf_ref object)
{
    const struct object *o = object;
    registry.held_objects--;
    if (!o->key) /* made by create_string */
        free((void *)o);
}

static unsigned long type_of(cf_ref o)
{
    return ((const struct object *)o)->kind;
}

static unsigned long string_type(void)
{
    return STRING;
}

static unsigned long number_type(void)
{
    return NUMBER;
}

static unsigned long dictionary_type(void)
{
    return DICTIONARY;
}

static unsigned long data_type(void)
{
    return DATA;
}

static cf_ref value(cf_ref dictionary, cf_ref key)
{
    const struct object *d = dictionary;
    return find(d->members, d->count, ((const struct object *)key)->text);
}

static unsigned char number(cf_ref object, long type, void *to)
{
    const struct object *o = object;
    assert_int_equal(type, CF_INT64);
    memcpy(to, &o->number, sizeof o->number);
    return !o->too_large;
}

static unsigned char text(cf_ref object, char *to, long size, unsigned encoding)
{
    assert_int_equal(encoding, CF_UTF8);
    return snprintf(to, (size_t)size, "%s", ((const struct object *)object)->text) < size;
}

static long data_length(cf_ref data)
{
    const struct object *o = data;
    return o->length ? o->length : (long)strlen(o->text);
}

static const unsigned char *data_bytes(cf_ref data)
{
    return (const unsigned char *)((const struct object *)data)->text;
}

static const struct iokit_calls calls = {matching,        services,      next,    release_entry, entry_id,    create_property,
                                         search_property, create_string, release, type_of,       string_type, number_type,
                                         dictionary_type, data_type,     value,   number,        text,        data_length,
                                         data_bytes};

/* ---- machines ---- */

static struct object apple_statistics[] = {{NUMBER, "Device Utilization %", .number = 37},
                                           {NUMBER, "Renderer Utilization %", .number = 35},
                                           {NUMBER, "Tiler Utilization %", .number = 12},
                                           {NUMBER, "Alloc system memory", .number = 4 * GIB_BYTES},
                                           {NUMBER, "In use system memory", .number = GIB_BYTES}};
static struct object apple[] = {
    {STRING, "model", .text = "Apple M3 Pro"},
    {NUMBER, "gpu-core-count", .number = 18},
    {DATA, "vendor-id", .text = "\x6b\x10", .length = 4},
    {DICTIONARY, "PerformanceStatistics", .members = apple_statistics, .count = ARRAY_LEN(apple_statistics)}};
static struct object amd_statistics[] = {
    {NUMBER, "GPU Activity(%)", .number = 80},    {NUMBER, "vramUsedBytes", .number = GIB_BYTES},
    {NUMBER, "Temperature(C)", .number = 61},     {NUMBER, "Fan Speed(%)", .number = 40},
    {NUMBER, "Total Power(W)", .number = 55},     {NUMBER, "Core Clock(MHz)", .number = 1200},
    {NUMBER, "Memory Clock(MHz)", .number = 1500}};
static struct object amd[] = {{DATA, "model", .text = "AMD Radeon Pro 5500M"},
                              {DATA, "vendor-id", .text = "\x02\x10", .length = 4},
                              {NUMBER, "VRAM,totalMB", .number = 8192},
                              {DICTIONARY, "PerformanceStatistics", .members = amd_statistics, .count = ARRAY_LEN(amd_statistics)}};

static void add_entry(uint64_t id, const char *class_name, struct object *properties, size_t count)
{
    registry.entries[registry.count++] = (struct entry){id, class_name, properties, count};
}

struct mac {
    struct tree tree;
    struct source *source;
    struct gpu_id ids[ENTRIES];
    int count;
};

static void start(struct mac *m)
{
    struct error err = {0};
    *m = (struct mac){0};
    tree_init(&m->tree);
    tree_write(&m->tree, "/proc/meminfo", "MemTotal: 18874368 kB\nMemAvailable: 9437184 kB\n");
    assert_int_equal(iokit_open_with(&m->tree.env, &calls, &m->source, &err), 0);
    m->count = iokit_source.list(m->source, m->ids, ARRAY_LEN(m->ids));
}

static struct gpu sample(struct mac *m, size_t which)
{
    struct gpu gpu = {0};
    assert_int_equal(iokit_source.refresh(m->source, GROUP_ALL, NULL), 0);
    iokit_source.sample(m->source, which, GROUP_ALL, &gpu);
    return gpu;
}

static void end(struct mac *m)
{
    iokit_source.close(m->source);
    tree_done(&m->tree);
    assert_int_equal(registry.held_entries, 0);
    assert_int_equal(registry.held_objects, 0);
    registry = (struct registry){0};
}

static void assert_reads(struct reading r, int64_t expected)
{
    assert_int_equal(r.state, READING_OK);
    assert_true(r.value == expected);
}

static void reads_load_and_memory_of_apples_gpu(void **state)
{
    (void)state;
    struct mac m;
    add_entry(0x1000, "IOAccelerator", apple, ARRAY_LEN(apple));
    start(&m);
    assert_int_equal(m.count, 1);
    assert_string_equal(m.ids[0].name, "Apple M3 Pro");
    assert_string_equal(m.ids[0].vendor, "apple");
    struct gpu gpu = sample(&m, 0);
    assert_reads(gpu.util_permille, 370);
    assert_reads(gpu.mem_used_bytes, GIB_BYTES);
    assert_reads(gpu.mem_total_bytes, 18 * GIB_BYTES);
    assert_reads(gpu.mem_free_bytes, 9 * GIB_BYTES);
    assert_reads(gpu.compute_units, 18);
    assert_true(gpu_shares_memory(&gpu));
    assert_int_equal(gpu.temp_mdegc.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.processes_state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    end(&m);
}

static void reads_sensors_where_a_driver_has_them(void **state)
{
    (void)state;
    struct mac m;
    add_entry(0x1000, "IOAccelerator", amd, ARRAY_LEN(amd));
    start(&m);
    assert_string_equal(m.ids[0].name, "AMD Radeon Pro 5500M");
    assert_string_equal(m.ids[0].vendor, "amd");
    struct gpu gpu = sample(&m, 0);
    assert_reads(gpu.util_permille, 800);
    assert_reads(gpu.mem_total_bytes, 8 * GIB_BYTES);
    assert_reads(gpu.mem_free_bytes, 7 * GIB_BYTES);
    assert_reads(gpu.temp_mdegc, 61000);
    assert_reads(gpu.fan_permille, 400);
    assert_reads(gpu.power_mw, 55000);
    assert_reads(gpu.clock_graphics_khz, 1200000);
    gpu_done(&gpu);
    end(&m);
}

static void a_mac_without_gpus_says_so(void **state)
{
    (void)state;
    struct source *source = NULL;
    struct error err = {0};
    assert_int_equal(iokit_open_with(&(struct env){.sysroot = ""}, &calls, &source, &err), -ENODEV);
    assert_string_equal(err.text, "no GPU in the registry of IOKit");
    assert_int_equal(registry.held_entries, 0);
}

static void a_class_of_its_own_is_found_too(void **state)
{
    (void)state;
    struct mac m;
    add_entry(0x1000, "AGXAccelerator", apple, ARRAY_LEN(apple));
    start(&m);
    assert_int_equal(m.count, 1);
    end(&m);
}

static void a_gpu_that_goes_is_lost_and_keeps_its_place(void **state)
{
    (void)state;
    struct mac m;
    add_entry(0x1000, "IOAccelerator", amd, ARRAY_LEN(amd));
    add_entry(0x2000, "IOAccelerator", apple, ARRAY_LEN(apple));
    start(&m);
    struct entry external = registry.entries[0];
    registry.entries[0] = registry.entries[1];
    registry.count = 1;
    struct gpu gpu = sample(&m, 0);
    assert_int_equal(gpu.state, GPU_LOST);
    gpu_done(&gpu);
    assert_true(iokit_source.changed(m.source));
    assert_int_equal(iokit_source.list(m.source, m.ids, ARRAY_LEN(m.ids)), 2);
    assert_false(iokit_source.changed(m.source));
    gpu = sample(&m, 1);
    assert_reads(gpu.util_permille, 370);
    gpu_done(&gpu);
    registry.entries[registry.count++] = external;
    gpu = sample(&m, 0);
    assert_reads(gpu.util_permille, 800);
    gpu_done(&gpu);
    end(&m);
}

static void what_is_of_another_type_or_missing_is_absent(void **state)
{
    (void)state;
    struct mac m;
    struct object wrong[] = {{STRING, "Device Utilization %", .text = "37"},
                             {NUMBER, "In use system memory", .too_large = true},
                             {NUMBER, "Temperature(C)", .number = INT64_MAX},
                             {DICTIONARY, "Total Power(W)"}};
    struct object odd[] = {{STRING, "model", .text = "Evil\x1b[2J\nGPU"},
                           {DATA, "vendor-id", .length = 100},
                           {DATA, "gpu-core-count", .length = 8},
                           {NUMBER, "VRAM,totalMB", .number = INT64_MAX},
                           {DICTIONARY, "PerformanceStatistics", .members = wrong, .count = ARRAY_LEN(wrong)}};
    struct object flat[] = {{STRING, "PerformanceStatistics", .text = "none"}, {NUMBER, "model", .number = 1}};
    add_entry(0x1000, "IOAccelerator", odd, ARRAY_LEN(odd));
    add_entry(0x1001, "IOAccelerator", flat, ARRAY_LEN(flat));
    start(&m);
    assert_string_equal(m.ids[0].name, "Evil?[2J?GPU");
    assert_string_equal(m.ids[0].vendor, "");
    struct gpu gpu = sample(&m, 0);
    assert_int_equal(gpu.util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.mem_used_bytes.state, READING_IMPLAUSIBLE);
    assert_int_equal(gpu.temp_mdegc.state, READING_IMPLAUSIBLE);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.compute_units.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    assert_string_equal(m.ids[1].name, "");
    gpu = sample(&m, 1);
    assert_int_equal(gpu.util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.mem_used_bytes.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    end(&m);
}

static void says_that_no_real_mac_was_seen(void **state)
{
    (void)state;
    struct mac m;
    AUTO_BUF struct buf out = BUF(1024);
    for (uint64_t i = 0; i < ENTRIES; i++) /* more than there is room for */
        add_entry(0x1000 + i, "IOAccelerator", apple, ARRAY_LEN(apple));
    start(&m);
    assert_int_equal(m.count, 16);
    iokit_source.describe(m.source, &out);
    assert_non_null(strstr(out.at, "not yet run on a real Mac"));
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_load_and_memory_of_apples_gpu),
        TEST(reads_sensors_where_a_driver_has_them),
        TEST(a_mac_without_gpus_says_so),
        TEST(a_class_of_its_own_is_found_too),
        TEST(a_gpu_that_goes_is_lost_and_keeps_its_place),
        TEST(what_is_of_another_type_or_missing_is_absent),
        TEST(says_that_no_real_mac_was_seen),
    };
    return RUN_TESTS(tests);
}
