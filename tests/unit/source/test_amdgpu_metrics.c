/* SPDX-License-Identifier: Apache-2.0
 * gpu_metrics of every version, and the tables of clock states.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "model/metric.h"
#include "source/amdgpu/amdgpu_read.h"
#include "sysroot.h"
#include "test.h"

static uint8_t blob[GPU_METRICS_MAX + 1];

/* The table of a GPU of a recorded machine. */
static size_t load(const char *machine, unsigned card)
{
    char path[PATH_SIZE];
    size_t size = 0;
    snprintf(path, sizeof path, "/sys/class/drm/card%u/device/gpu_metrics", card);
    AUTO_FREE char *bytes = machine_file(machine, path, &size);
    assert_non_null(bytes);
    assert_true(size > 0 && size <= sizeof blob);
    memcpy(blob, bytes, size);
    return size;
}

static int64_t raw(const struct gpu_metrics *m, enum gm_field field, unsigned index)
{
    int64_t value = -1;
    return gpu_metrics_raw(m, field, index, &value) ? value : -1;
}

/* A table of a version with all fields unsupported, to be filled by the test. */
static size_t empty_table(int format, int content, size_t size)
{
    memset(blob, 0xff, sizeof blob);
    blob[0] = (uint8_t)size;
    blob[1] = (uint8_t)(size >> 8);
    blob[2] = (uint8_t)format;
    blob[3] = (uint8_t)content;
    return size;
}

static void put(size_t offset, size_t width, uint64_t value)
{
    for (size_t i = 0; i < width; i++)
        blob[offset + i] = (uint8_t)(value >> 8 * i);
}

static void a_real_table_1_3_reads_as_an_independent_decoder_says(void **state)
{
    (void)state;
    struct gpu_metrics m;
    assert_true(gpu_metrics_decode(blob, load("rx6900xt-rdna2", 0), 0, &m));
    assert_int_equal(m.format, 1);
    assert_int_equal(m.content, 3);
    static const struct {
        enum gm_field field;
        int64_t value;
    } expected[] = {
        {GM_TEMP_EDGE, 56},        {GM_TEMP_HOTSPOT, 59}, {GM_TEMP_MEM, 54},      {GM_GFX_ACTIVITY, 3},    {GM_UMC_ACTIVITY, 0},
        {GM_MM_ACTIVITY, 0},       {GM_SOCKET_POWER, 36}, {GM_ENERGY, 17691682},  {GM_GFXCLK_AVERAGE, 41}, {GM_UCLK_AVERAGE, 993},
        {GM_VCLK_AVERAGE, 33},     {GM_GFXCLK_NOW, 500},  {GM_UCLK_NOW, 1000},    {GM_VCLK_NOW, 0},        {GM_THROTTLE, 0},
        {GM_FAN_RPM, 0},           {GM_PCIE_WIDTH, 16},   {GM_PCIE_SPEED, 160},   {GM_GFX_ACC, -1},        {GM_VOLTAGE_GFX, 775},
        {GM_THROTTLE_ANY_CHIP, 0}, {GM_VCN_ACTIVITY, -1}, {GM_ACCUMULATIONS, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(raw(&m, expected[i].field, 0), expected[i].value);
    assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_EDGE).value, 56000);
    assert_int_equal(gpu_metrics_power_mw(&m).value, 36000);
    assert_int_equal(gpu_metrics_pcie_generation(&m).value, 4);
    assert_int_equal(gpu_metrics_khz(&m, GM_VCLK_NOW, GM_VCLK_AVERAGE).state, READING_OK); /* gated: 0 MHz is a clock */
}

static void a_real_table_of_rdna_4_reads_as_an_independent_decoder_says(void **state)
{
    (void)state;
    struct gpu_metrics m;
    assert_true(gpu_metrics_decode(blob, load("rx9070-rdna4", 1), 0, &m));
    assert_int_equal(raw(&m, GM_TEMP_MEM, 0), 72);
    assert_int_equal(raw(&m, GM_GFX_ACTIVITY, 0), 25);
    assert_int_equal(raw(&m, GM_SOCKET_POWER, 0), 49);
    assert_int_equal(raw(&m, GM_GFXCLK_NOW, 0), 900);
    assert_int_equal(raw(&m, GM_UCLK_NOW, 0), 1124);
    assert_int_equal(raw(&m, GM_FAN_RPM, 0), 1944);
    assert_int_equal(raw(&m, GM_VOLTAGE_GFX, 0), 790);
}

static void a_real_table_2_1_counts_in_hundredths(void **state)
{
    (void)state;
    struct gpu_metrics m;
    assert_true(gpu_metrics_decode(blob, load("phoenix-apu-780m", 1), 0, &m));
    assert_true(gpu_metrics_is_apu(&m));
    assert_int_equal(raw(&m, GM_TEMP_GFX, 0), 2500);
    assert_int_equal(raw(&m, GM_TEMP_SOC, 0), 2737);
    assert_int_equal(raw(&m, GM_GFX_ACTIVITY, 0), 79);
    assert_int_equal(raw(&m, GM_GFX_POWER, 0), 585);
    assert_int_equal(raw(&m, GM_GFXCLK_NOW, 0), -1);
    assert_int_equal(raw(&m, GM_GFXCLK_AVERAGE, 0), 800);
    assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_GFX).value, 25000);
    assert_int_equal(gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value, 7);
    assert_int_equal(gpu_metrics_power_mw(&m).value, 3401);
    assert_int_equal(gpu_metrics_khz(&m, GM_GFXCLK_NOW, GM_GFXCLK_AVERAGE).value, 800000);
}

static void tables_1_6_have_one_beginning_and_two_sizes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct gpu_metrics m;
        assert_true(gpu_metrics_decode(blob, load("mi300x-metrics", i), 0, &m));
        assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_HOTSPOT).value, 42000);
        assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_MEM).value, 40000);
        assert_int_equal(gpu_metrics_power_mw(&m).value, 120000);
        assert_int_equal(gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value, 10);
        assert_int_equal(raw(&m, GM_GFXCLK_NOW, 0), 160);
        assert_int_equal(raw(&m, GM_GFXCLK_NOW, 6), 158);
        assert_int_equal(raw(&m, GM_ACCUMULATIONS, 0), 10657785);
        assert_int_equal(raw(&m, GM_ACC_POWER, 0), 10657785);
        assert_int_equal(m.partition_stride, i == 0 ? 168 : 0);
    }
}

static void tables_1_8_have_one_beginning_and_two_sizes(void **state)
{
    (void)state;
    for (unsigned i = 2; i < 4; i++) {
        struct gpu_metrics m;
        assert_true(gpu_metrics_decode(blob, load("mi300x-metrics", i), 0, &m));
        assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_HOTSPOT).value, 61000);
        assert_int_equal(gpu_metrics_power_mw(&m).value, 745000);
        assert_int_equal(gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value, 980);
        assert_int_equal(gpu_metrics_permille(&m, GM_UMC_ACTIVITY).value, 420);
        assert_int_equal(raw(&m, GM_ACCUMULATIONS, 0), 1000000);
        assert_int_equal(raw(&m, GM_ACC_POWER, 0), 800000);
        assert_int_equal(gpu_metrics_khz(&m, GM_GFXCLK_NOW, GM_GFXCLK_AVERAGE).value, 1300000);
    }
}

static void table_1_9_is_a_list_of_attributes(void **state)
{
    (void)state;
    struct gpu_metrics m;
    size_t size = load("mi300x-metrics", 4);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_HOTSPOT).value, 42000);
    assert_int_equal(gpu_metrics_mdegc(&m, GM_TEMP_MEM).value, 37000);
    assert_int_equal(gpu_metrics_power_mw(&m).value, 194000);
    assert_int_equal(gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value, 0);
    assert_int_equal(raw(&m, GM_ACCUMULATIONS, 0), 54536484);
    assert_int_equal(raw(&m, GM_ACC_POWER, 0), 633093);
    assert_int_equal(raw(&m, GM_ENERGY, 0), 123456789);
    assert_int_equal(raw(&m, GM_GFXCLK_NOW, 0), 2098);
    assert_int_equal(raw(&m, GM_GFXCLK_NOW, 7), 2115);
    assert_int_equal(raw(&m, GM_GFXCLK_NOW, 8), -1);
    assert_int_equal(gpu_metrics_pcie_generation(&m).value, 5);
    assert_int_equal(gpu_metrics_partition_permille(&m, 0).value, 1); /* 1 % on one of eight engines */
    assert_int_equal(gpu_metrics_partition_permille(&m, 1).state, READING_UNSUPPORTED);
}

static void a_cut_table_1_9_gives_what_lies_whole_before_the_cut(void **state)
{
    (void)state;
    struct gpu_metrics m;
    assert_true(gpu_metrics_decode(blob, load("mi300x-metrics", 5), 0, &m));
    assert_int_equal(raw(&m, GM_SOCKET_POWER, 0), 194);
    assert_int_equal(raw(&m, GM_ENERGY, 0), 123456789);
    assert_int_equal(raw(&m, GM_ACCUMULATIONS, 0), -1);
}

static void broken_tables_are_refused(void **state)
{
    (void)state;
    struct gpu_metrics m;
    assert_false(gpu_metrics_decode(blob, load("mi300x-metrics", 6), 0, &m));
    assert_false(gpu_metrics_decode(blob, load("mi300x-metrics", 7), 0, &m));
    assert_false(gpu_metrics_decode(blob, 0, 0, &m));
    /* 1.6 of an early tree had more fields in the middle: a size that does not belong to the version is not trusted. */
    assert_false(gpu_metrics_decode(blob, empty_table(1, 6, 400), 0, &m));
    assert_false(gpu_metrics_decode(blob, empty_table(1, 3, 119), 0, &m));
}

static void every_version_finds_its_fields(void **state)
{
    (void)state;
    static const struct {
        int format, content;
        size_t size;
        enum gm_field chip;
        size_t chip_at, load_at, power_at, clock_at;
    } versions[] = {
        {1, 0, 80, GM_TEMP_EDGE, 16, 28, 34, 54},      {1, 1, 96, GM_TEMP_EDGE, 4, 16, 22, 54},
        {1, 2, 104, GM_TEMP_EDGE, 4, 16, 22, 54},      {1, 3, 120, GM_TEMP_EDGE, 4, 16, 22, 54},
        {1, 4, 288, GM_TEMP_HOTSPOT, 4, 12, 10, 240},  {1, 5, 360, GM_TEMP_HOTSPOT, 4, 12, 10, 312},
        {1, 6, 1664, GM_TEMP_HOTSPOT, 4, 12, 10, 264}, {1, 7, 2208, GM_TEMP_HOTSPOT, 4, 12, 10, 296},
        {1, 8, 3872, GM_TEMP_HOTSPOT, 4, 12, 10, 296}, {2, 0, 120, GM_TEMP_GFX, 16, 40, 44, 80},
        {2, 1, 120, GM_TEMP_GFX, 4, 28, 40, 76},       {2, 2, 128, GM_TEMP_GFX, 4, 28, 40, 76},
        {2, 3, 152, GM_TEMP_GFX, 4, 28, 40, 76},       {2, 4, 168, GM_TEMP_GFX, 4, 28, 40, 76},
        {3, 0, 264, GM_TEMP_GFX, 4, 42, 112, 174},
    };
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct gpu_metrics m;
        size_t size = empty_table(versions[i].format, versions[i].content, versions[i].size);
        bool centi = versions[i].format != 1;
        put(versions[i].chip_at, 2, centi ? 6150 : 61);
        put(versions[i].load_at, 2, versions[i].format == 2 ? 4200 : 42);
        put(versions[i].power_at, versions[i].format == 3 ? 4 : 2, versions[i].format == 3 ? 25000 : 25);
        put(versions[i].clock_at, 2, 1234);
        assert_true(gpu_metrics_decode(blob, size, 0, &m));
        assert_int_equal(gpu_metrics_mdegc(&m, versions[i].chip).value, centi ? 61500 : 61000);
        assert_int_equal(gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value, 420);
        assert_int_equal(gpu_metrics_khz(&m, GM_GFXCLK_NOW, GM_GFXCLK_AVERAGE).value, 1234000);
        assert_int_equal(gpu_metrics_power_mw(&m).value, 25000);
        if (versions[i].format == 3) { /* more than any socket draws */
            put(versions[i].power_at, 4, 100000001);
            assert_true(gpu_metrics_decode(blob, size, 0, &m));
            assert_int_equal(gpu_metrics_power_mw(&m).state, READING_UNSUPPORTED);
        }
        /* All ones everywhere else: nothing is made up. */
        assert_int_equal(gpu_metrics_permille(&m, GM_UMC_ACTIVITY).state, READING_UNSUPPORTED);
        assert_int_equal(gpu_metrics_pcie_generation(&m).state, READING_UNSUPPORTED);
    }
}

static int64_t activity_of(int content, size_t size, uint32_t device, unsigned raw_activity)
{
    struct gpu_metrics m;
    empty_table(2, content, size);
    put(28, 2, raw_activity);
    assert_true(gpu_metrics_decode(blob, size, device, &m));
    return gpu_metrics_permille(&m, GM_GFX_ACTIVITY).value;
}

static void activity_of_van_gogh_is_in_whole_percent(void **state)
{
    (void)state;
    const uint32_t deck = 0x163f, oled = 0x1435, renoir = 0x1636;
    assert_int_equal(activity_of(2, 128, deck, 100), 1000);
    assert_int_equal(activity_of(2, 128, oled, 37), 370);
    assert_int_equal(activity_of(2, 128, renoir, 100), 10);
    assert_int_equal(activity_of(2, 128, renoir, 10000), 1000);
    assert_int_equal(activity_of(2, 128, deck, 9900), 990); /* its first firmware counted hundredths */
    assert_int_equal(activity_of(3, 152, 0, 100), 1000);    /* 2.3 and 2.4 are of this chip alone */
    assert_int_equal(activity_of(1, 120, deck, 100), 10);
}

static void socket_power_of_an_apu_is_told_in_watts_or_milliwatts(void **state)
{
    (void)state;
    struct gpu_metrics m;
    size_t size = empty_table(2, 2, 128);
    put(40, 2, 15);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    assert_int_equal(gpu_metrics_power_mw(&m).value, 15000);
    put(40, 2, 3401);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    assert_int_equal(gpu_metrics_power_mw(&m).value, 3401);
}

static void a_cut_file_gives_no_field_beyond_its_end(void **state)
{
    (void)state;
    struct gpu_metrics m;
    size_t size = empty_table(1, 3, 120);
    put(4, 2, 50);
    put(106, 2, 900);
    for (size_t cut = 4; cut <= size; cut++) {
        if (!gpu_metrics_decode(blob, cut, 0, &m))
            continue;
        assert_int_equal(raw(&m, GM_TEMP_EDGE, 0), cut >= 6 ? 50 : -1);
        assert_int_equal(raw(&m, GM_VOLTAGE_GFX, 0), cut >= 108 ? 900 : -1);
    }
}

static void partitions_have_their_own_load(void **state)
{
    (void)state;
    struct gpu_metrics m;
    size_t size = empty_table(1, 8, 3872);
    for (size_t engine = 0; engine < 2; engine++) {
        put(344 + engine * 4, 4, 50);
        put(344 + 440 + engine * 4, 4, 10 + engine * 20);
    }
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    assert_int_equal(gpu_metrics_partition_permille(&m, 0).value, 500);
    assert_int_equal(gpu_metrics_partition_permille(&m, 1).value, 200);
    assert_int_equal(gpu_metrics_partition_permille(&m, 2).state, READING_UNSUPPORTED);
    assert_int_equal(gpu_metrics_partition_permille(&m, 99).state, READING_UNSUPPORTED);
}

static struct reading throttle_of_word(uint64_t word, int64_t hotspot)
{
    struct gpu_metrics m;
    struct throttle_memory memory = {0};
    size_t size = empty_table(1, 3, 120);
    put(112, 8, word);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    return amdgpu_throttle(&m, reading_ok(hotspot), reading_ok(110000), &memory);
}

static void throttle_bits_become_words(void **state)
{
    (void)state;
    static const struct {
        unsigned bit, reason;
    } bits[] = {{0, THROTTLE_POWER_CAP},    {6, THROTTLE_POWER_CAP},    {16, THROTTLE_CURRENT},     {22, THROTTLE_CURRENT},
                {34, THROTTLE_MEM_THERMAL}, {35, THROTTLE_SW_THERMAL},  {39, THROTTLE_VR_THERMAL},  {44, THROTTLE_VR_THERMAL},
                {47, THROTTLE_HW_THERMAL},  {56, THROTTLE_POWER_BRAKE}, {57, THROTTLE_RELIABILITY}, {60, THROTTLE_OTHER}};
    for (size_t i = 0; i < ARRAY_LEN(bits); i++)
        assert_int_equal(throttle_of_word(UINT64_C(1) << bits[i].bit, 50000).value, bits[i].reason);
    assert_int_equal(throttle_of_word(0, 50000).value, 0);
    assert_int_equal(throttle_of_word(1 | UINT64_C(1) << 16, 50000).value, THROTTLE_POWER_CAP | THROTTLE_CURRENT);
}

static void a_hotspot_bit_at_idle_is_a_fault_of_rdna_3(void **state)
{
    (void)state;
    assert_int_equal(throttle_of_word(UINT64_C(1) << 36, 61000).value, 0);
    assert_int_equal(throttle_of_word(UINT64_C(1) << 36, 108000).value, THROTTLE_SW_THERMAL);
}

static struct reading throttle_of_counters(struct throttle_memory *memory, uint32_t all, uint32_t power, uint32_t socket,
                                           uint32_t hbm)
{
    struct gpu_metrics m;
    size_t size = empty_table(1, 6, 312);
    put(32, 4, all);
    put(36, 4, 0);
    put(40, 4, power);
    put(44, 4, socket);
    put(48, 4, 0);
    put(52, 4, hbm);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    return amdgpu_throttle(&m, reading_absent(READING_UNSUPPORTED), reading_absent(READING_UNSUPPORTED), memory);
}

static void counters_throttle_by_what_was_added(void **state)
{
    (void)state;
    struct throttle_memory memory = {0};
    assert_int_equal(throttle_of_counters(&memory, 1000, 500, 0, 0).state, READING_PENDING);
    assert_int_equal(throttle_of_counters(&memory, 2000, 500, 0, 0).value, 0);
    assert_int_equal(throttle_of_counters(&memory, 3000, 900, 0, 0).value, THROTTLE_POWER_CAP);
    assert_int_equal(throttle_of_counters(&memory, 4000, 905, 0, 0).value, 0); /* half a percent of the time */
    assert_int_equal(throttle_of_counters(&memory, 5000, 905, 0, 300).value, THROTTLE_MEM_THERMAL);
    assert_int_equal(throttle_of_counters(&memory, 10, 0, 0, 0).state, READING_PENDING); /* the driver was loaded again */
}

static void counters_that_all_follow_the_clock_are_a_fault_of_the_firmware(void **state)
{
    (void)state;
    struct throttle_memory memory = {0};
    throttle_of_counters(&memory, 1000, 1000, 1000, 1000);
    assert_int_equal(throttle_of_counters(&memory, 2000, 2000, 2000, 2000).value, 0);
}

static void apu_counters_throttle_when_they_move(void **state)
{
    (void)state;
    struct gpu_metrics m;
    struct throttle_memory memory = {0};
    struct reading none = reading_absent(READING_UNSUPPORTED);
    size_t size = empty_table(3, 0, 264);
    for (size_t at = 228; at <= 252; at += 4)
        put(at, 4, 7);
    assert_true(gpu_metrics_decode(blob, size, 0, &m));
    assert_int_equal(amdgpu_throttle(&m, none, none, &memory).state, READING_PENDING);
    assert_int_equal(amdgpu_throttle(&m, none, none, &memory).value, 0);
    put(236, 4, 8); /* FPPT */
    put(248, 4, 9); /* graphics hot */
    assert_int_equal(amdgpu_throttle(&m, none, none, &memory).value, THROTTLE_POWER_CAP | THROTTLE_SW_THERMAL);
}

static void clock(const char *text, int64_t now, int64_t most)
{
    struct dpm_clock c;
    dpm_parse_clock(str_from(text), &c);
    assert_int_equal(reading_or(c.now_khz, -1), now);
    assert_int_equal(reading_or(c.max_khz, -1), most);
}

static void clock_states_of_every_shape(void **state)
{
    (void)state;
    clock("0: 500Mhz *\n1: 2660Mhz \n", 500000, 2660000);
    clock("S: 19Mhz *\n0: 615Mhz\n1: 800Mhz\n", 19000, 800000);      /* deep sleep */
    clock("0: 500Mhz\n1: 31Mhz *\n2: 2219Mhz\n", 31000, 2219000);    /* out of order */
    clock("0: 300Mhz \n1: 1900Mhz \n", -1, 1900000);                 /* no star */
    clock("0: 800Mhz *\n1: 800Mhz *\n2: 900Mhz \n", 800000, 900000); /* several, alike */
    clock("0: 800Mhz *\n1: 900Mhz *\n", -1, 900000);                 /* several, unlike */
    clock("0: 300Mhz \n1: 0Mhz *\n2: 1900Mhz \n", 0, 1900000);       /* gated, or says 0 while it runs */
    clock("\n", -1, -1);
    clock("", -1, -1);
    clock("1: 99999999999999999999Mhz *\n2: -5Mhz *\nx\n:\n3:\n4: *\n5: 5Ghz *\n", -1, -1);
    clock("0: 500Mhz *", 500000, 500000); /* cut before the newline */
    clock("0: 50", -1, -1);               /* and in mid-row */
}

static void link_states_of_every_shape(void **state)
{
    (void)state;
    struct dpm_link l;
    dpm_parse_link(STR("0: 16.0GT/s, x16 78Mhz *\n1: 16.0GT/s, x16 156Mhz *\n2: 16.0GT/s, x16 623Mhz *\n"), &l);
    assert_int_equal(l.generation.value, 4);
    assert_int_equal(l.width.value, 16);
    dpm_parse_link(STR("0: 2.5GT/s, x8 \n1: 8.0GT/s, x16 *\n"), &l);
    assert_int_equal(l.generation.value, 3);
    assert_int_equal(l.width.value, 16);
    dpm_parse_link(STR("0: 2.5GT/s, x8 *\n1: 8.0GT/s, x16 *\n"), &l);
    assert_int_equal(l.generation.state, READING_UNSUPPORTED);
    assert_int_equal(l.generation_max.value, 3);
    assert_int_equal(l.width_max.value, 16);
    dpm_parse_link(STR("\n"), &l);
    assert_int_equal(l.generation_max.state, READING_UNSUPPORTED);
    dpm_parse_link(STR("0: 7.3GT/s, x16 *\n1: 8.0GT/s, x99 *\n2: 8.0GT/s *\n"), &l);
    assert_int_equal(l.generation.state, READING_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_real_table_1_3_reads_as_an_independent_decoder_says),
        TEST(a_real_table_of_rdna_4_reads_as_an_independent_decoder_says),
        TEST(a_real_table_2_1_counts_in_hundredths),
        TEST(tables_1_6_have_one_beginning_and_two_sizes),
        TEST(tables_1_8_have_one_beginning_and_two_sizes),
        TEST(table_1_9_is_a_list_of_attributes),
        TEST(a_cut_table_1_9_gives_what_lies_whole_before_the_cut),
        TEST(broken_tables_are_refused),
        TEST(every_version_finds_its_fields),
        TEST(activity_of_van_gogh_is_in_whole_percent),
        TEST(socket_power_of_an_apu_is_told_in_watts_or_milliwatts),
        TEST(a_cut_file_gives_no_field_beyond_its_end),
        TEST(partitions_have_their_own_load),
        TEST(throttle_bits_become_words),
        TEST(a_hotspot_bit_at_idle_is_a_fault_of_rdna_3),
        TEST(counters_throttle_by_what_was_added),
        TEST(counters_that_all_follow_the_clock_are_a_fault_of_the_firmware),
        TEST(apu_counters_throttle_when_they_move),
        TEST(clock_states_of_every_shape),
        TEST(link_states_of_every_shape),
    };
    return RUN_TESTS(tests);
}
