/* SPDX-License-Identifier: Apache-2.0 */
#include "source/drm/scan.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sysroot.h"
#include "test.h"

static bool parse(const char *text, struct fdinfo *info)
{
    return fdinfo_parse(str_from(text), info);
}

static bool parse_recorded(int pid, struct fdinfo *info)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/5", pid);
    AUTO_FREE char *text = machine_file("drm-clients", path, NULL);
    assert_non_null(text);
    return parse(text, info);
}

static const struct fdinfo_engine *engine(const struct fdinfo *info, const char *name)
{
    for (size_t i = 0; i < info->engine_count; i++)
        if (strcmp(info->engines[i].name, name) == 0)
            return &info->engines[i];
    return NULL;
}

static void amdgpu_memory_is_counted_once_though_it_has_two_names(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse_recorded(101, &info));
    assert_string_equal(info.driver, "amdgpu");
    assert_string_equal(info.pdev, "0000:04:00.0");
    assert_int_equal(info.client_id, 30);
    assert_int_equal(info.vram_bytes, 155068LL * 1024);
    assert_int_equal(info.system_bytes, 20LL * 1024 * 1024);
    assert_int_equal(info.engine_count, 1);
    assert_int_equal(engine(&info, "gfx")->ns, 19291217545LL);
    assert_int_equal(engine(&info, "gfx")->kind, ENGINE_GRAPHICS);
}

static void amdgpu_compute_engine_is_told_from_graphics(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse_recorded(102, &info));
    assert_int_equal(info.client_id, 4);
    assert_int_equal(info.vram_bytes, 44564LL * 1024);
    assert_int_equal(info.system_bytes, 2392LL * 1024);
    assert_int_equal(info.engine_count, 1);
    assert_int_equal(engine(&info, "compute")->ns, 46464671);
    assert_int_equal(engine(&info, "compute")->kind, ENGINE_COMPUTE);
}

static void i915_capacity_is_a_count_and_not_a_time(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse_recorded(103, &info));
    assert_int_equal(info.client_id, 39);
    assert_int_equal(info.engine_count, 4);
    assert_int_equal(engine(&info, "render")->ns, 346249);
    assert_int_equal(engine(&info, "video")->capacity, 2);
    assert_int_equal(engine(&info, "video")->ns, 0);
    assert_true(engine(&info, "video-enhance")->has_ns);
    assert_false(info.has_vram);
    assert_int_equal(info.system_bytes, 6044LL * 1024);
}

static void xe_cycles_are_not_taken_for_memory(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse_recorded(104, &info));
    assert_string_equal(info.pdev, "0000:03:00.0");
    assert_int_equal(info.engine_count, 5);
    const struct fdinfo_engine *rcs = engine(&info, "rcs"), *ccs = engine(&info, "ccs");
    assert_true(rcs->has_cycles);
    assert_false(rcs->has_ns);
    assert_int_equal(rcs->cycles, 28257900);
    assert_int_equal(rcs->total, 7655183225LL);
    assert_int_equal(ccs->capacity, 4);
    assert_int_equal(info.vram_bytes, 23992LL * 1024);
    assert_int_equal(info.system_bytes, 192LL * 1024);
}

static void msm_has_no_pci_device_and_prefers_time_to_cycles(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse_recorded(105, &info));
    assert_string_equal(info.pdev, "");
    assert_int_equal(info.client_id, 7);
    assert_int_equal(info.engine_count, 1);
    assert_int_equal(engine(&info, "gpu")->ns, 1734371319);
    assert_true(engine(&info, "gpu")->has_ns);
    assert_false(info.has_vram || info.has_system);
}

static void other_files_are_no_clients(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_false(parse_recorded(106, &info));
}

static void sizes_have_units_or_are_bytes(void **state)
{
    (void)state;
    struct fdinfo info;
    assert_true(parse("drm-driver: x\ndrm-client-id: 1\ndrm-resident-vram: 512\ndrm-resident-vram1:\t2 MiB\ndrm-total-gtt: 3 KiB\n",
                      &info));
    assert_int_equal(info.vram_bytes, 512 + 2 * 1024 * 1024);
    assert_int_equal(info.system_bytes, 3 * 1024);
    assert_true(parse("drm-driver: x\ndrm-client-id: 1\ndrm-resident-vram: 5 parsecs\ndrm-resident-gtt: -3\n", &info));
    assert_false(info.has_vram || info.has_system);
}

static void nonsense_is_survived(void **state)
{
    (void)state;
    struct fdinfo info;
    static const char *const bad[] = {
        "",
        "drm-",
        "drm-driver",
        "drm-driver:\n",
        "drm-driver: amdgpu\n",
        "drm-client-id: 5\n",
        "drm-driver: a\ndrm-client-id: x\n",
        "drm-driver: a\ndrm-client-id: 99999999999999999999999\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(parse(bad[i], &info));
    assert_true(parse(
        "drm-driver: a\ndrm-client-id: 1\ndrm-engine-: 4 ns\ndrm-engine-gfx: 12 apples\ndrm-engine-gfx: 99999999999999999999 ns\n"
        "drm-engine-a-name-that-is-far-too-long: 1 ns\ndrm-engine-capacity-gfx: 0\n",
        &info));
    assert_int_equal(info.engine_count, 0);
}

static void engines_and_regions_beyond_the_maximum_are_left_out(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(100000);
    buf_text(&text, "drm-driver: a\ndrm-client-id: 1\n");
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "drm-engine-e%d: %d ns\ndrm-resident-vram%d: 1 KiB\n", i, i, i);
    struct fdinfo info;
    assert_true(fdinfo_parse(buf_view(&text), &info));
    assert_int_equal(info.engine_count, FDINFO_ENGINES);
    assert_int_equal(info.vram_bytes, 16 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(amdgpu_memory_is_counted_once_though_it_has_two_names),
        TEST(amdgpu_compute_engine_is_told_from_graphics),
        TEST(i915_capacity_is_a_count_and_not_a_time),
        TEST(xe_cycles_are_not_taken_for_memory),
        TEST(msm_has_no_pci_device_and_prefers_time_to_cycles),
        TEST(other_files_are_no_clients),
        TEST(sizes_have_units_or_are_bytes),
        TEST(nonsense_is_survived),
        TEST(engines_and_regions_beyond_the_maximum_are_left_out),
    };
    return RUN_TESTS(tests);
}
