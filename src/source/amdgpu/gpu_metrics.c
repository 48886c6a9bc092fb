/* SPDX-License-Identifier: Apache-2.0
 * Layouts of the gpu_metrics versions, field access through them, and why a card runs slower than it could. Trusts no byte of the
 * table.
 */
#include "source/amdgpu/amdgpu_read.h"

#include "base/cleanup.h"
#include "model/metric.h"

enum { APU_WATTS_MAX = 400 };

struct field_at {
    uint8_t field, width, count;
    uint16_t offset;
};

#define U8(field, offset)        \
    {                            \
        GM_##field, 1, 1, offset \
    }
#define U16(field, offset)       \
    {                            \
        GM_##field, 2, 1, offset \
    }
#define U32(field, offset)       \
    {                            \
        GM_##field, 4, 1, offset \
    }
#define U64(field, offset)       \
    {                            \
        GM_##field, 8, 1, offset \
    }
#define U16S(field, offset, count)   \
    {                                \
        GM_##field, 2, count, offset \
    }
#define U32S(field, offset, count)   \
    {                                \
        GM_##field, 4, count, offset \
    }

/* clang-format off */
static const struct field_at v1_0[] = {
    U16(TEMP_EDGE, 16), U16(TEMP_HOTSPOT, 18), U16(TEMP_MEM, 20), U16(GFX_ACTIVITY, 28), U16(UMC_ACTIVITY, 30), U16(MM_ACTIVITY, 32),
    U16(SOCKET_POWER, 34), U32(ENERGY, 36), U16(GFXCLK_AVERAGE, 40), U16(UCLK_AVERAGE, 44), U16(VCLK_AVERAGE, 46),
    U16(GFXCLK_NOW, 54), U16(UCLK_NOW, 58), U16(VCLK_NOW, 60), U32(THROTTLE, 68), U16(FAN_RPM, 72), U8(PCIE_WIDTH, 74), U8(PCIE_SPEED, 75),
};

/* 1.1 and 1.2 are prefixes of 1.3. */
static const struct field_at v1_3[] = {
    U16(TEMP_EDGE, 4), U16(TEMP_HOTSPOT, 6), U16(TEMP_MEM, 8), U16(GFX_ACTIVITY, 16), U16(UMC_ACTIVITY, 18), U16(MM_ACTIVITY, 20),
    U16(SOCKET_POWER, 22), U64(ENERGY, 24), U16(GFXCLK_AVERAGE, 40), U16(UCLK_AVERAGE, 44), U16(VCLK_AVERAGE, 46),
    U16(GFXCLK_NOW, 54), U16(UCLK_NOW, 58), U16(VCLK_NOW, 60), U32(THROTTLE, 68), U16(FAN_RPM, 72), U16(PCIE_WIDTH, 74),
    U16(PCIE_SPEED, 76), U32(GFX_ACC, 80), U16(VOLTAGE_GFX, 106), U64(THROTTLE_ANY_CHIP, 112),
};

static const struct field_at v1_4[] = {
    U16(TEMP_HOTSPOT, 4), U16(TEMP_MEM, 6), U16(SOCKET_POWER, 10), U16(GFX_ACTIVITY, 12), U16(UMC_ACTIVITY, 14),
    U16S(VCN_ACTIVITY, 16, 4), U64(ENERGY, 24), U32(THROTTLE, 40), U16(PCIE_WIDTH, 48), U16(PCIE_SPEED, 50), U32(GFX_ACC, 56),
    U64(PCIE_REPLAYS, 88), U16S(GFXCLK_NOW, 240, 8), U16S(VCLK_NOW, 264, 4), U16(UCLK_NOW, 280),
};

static const struct field_at v1_5[] = {
    U16(TEMP_HOTSPOT, 4), U16(TEMP_MEM, 6), U16(SOCKET_POWER, 10), U16(GFX_ACTIVITY, 12), U16(UMC_ACTIVITY, 14),
    U16S(VCN_ACTIVITY, 16, 4), U16S(JPEG_ACTIVITY, 24, 32), U64(ENERGY, 88), U32(THROTTLE, 104), U16(PCIE_WIDTH, 112),
    U16(PCIE_SPEED, 114), U32(GFX_ACC, 120), U64(PCIE_REPLAYS, 152), U16S(GFXCLK_NOW, 312, 8), U16S(VCLK_NOW, 336, 4), U16(UCLK_NOW, 352),
};

static const struct field_at v1_6[] = {
    U16(TEMP_HOTSPOT, 4), U16(TEMP_MEM, 6), U16(SOCKET_POWER, 10), U16(GFX_ACTIVITY, 12), U16(UMC_ACTIVITY, 14), U64(ENERGY, 16),
    U32(ACCUMULATIONS, 32), U32(ACC_PROCHOT, 36), U32(ACC_POWER, 40), U32(ACC_SOCKET_HOT, 44), U32(ACC_VR_HOT, 48),
    U32(ACC_MEMORY_HOT, 52), U16(PCIE_WIDTH, 60), U16(PCIE_SPEED, 62), U32(GFX_ACC, 68), U64(PCIE_REPLAYS, 104),
    U16S(GFXCLK_NOW, 264, 8), U16S(VCLK_NOW, 288, 4), U16(UCLK_NOW, 304), U16(PARTITIONS, 306), U32S(PARTITION_BUSY, 312, 8),
};

static const struct field_at v1_8[] = {
    U16(TEMP_HOTSPOT, 4), U16(TEMP_MEM, 6), U16(SOCKET_POWER, 10), U16(GFX_ACTIVITY, 12), U16(UMC_ACTIVITY, 14), U64(ENERGY, 24),
    U32(ACCUMULATIONS, 40), U32(ACC_PROCHOT, 44), U32(ACC_POWER, 48), U32(ACC_SOCKET_HOT, 52), U32(ACC_VR_HOT, 56),
    U32(ACC_MEMORY_HOT, 60), U16(PCIE_WIDTH, 68), U16(PCIE_SPEED, 70), U32(GFX_ACC, 76), U64(PCIE_REPLAYS, 112),
    U16S(GFXCLK_NOW, 296, 8), U16S(VCLK_NOW, 320, 4), U16(UCLK_NOW, 336), U16(PARTITIONS, 338), U32S(PARTITION_BUSY, 344, 8),
};

static const struct field_at v2_0[] = {
    U16(TEMP_GFX, 16), U16(TEMP_SOC, 18), U16(GFX_ACTIVITY, 40), U16(MM_ACTIVITY, 42), U16(SOCKET_POWER, 44), U16(GFX_POWER, 50),
    U16(GFXCLK_AVERAGE, 68), U16(UCLK_AVERAGE, 72), U16(VCLK_AVERAGE, 76), U16(GFXCLK_NOW, 80), U16(UCLK_NOW, 84), U16(VCLK_NOW, 88),
    U32(THROTTLE, 112),
};

/* 2.1 to 2.3 are prefixes of 2.4. */
static const struct field_at v2_4[] = {
    U16(TEMP_GFX, 4), U16(TEMP_SOC, 6), U16(GFX_ACTIVITY, 28), U16(MM_ACTIVITY, 30), U16(SOCKET_POWER, 40), U16(GFX_POWER, 46),
    U16(GFXCLK_AVERAGE, 64), U16(UCLK_AVERAGE, 68), U16(VCLK_AVERAGE, 72), U16(GFXCLK_NOW, 76), U16(UCLK_NOW, 80), U16(VCLK_NOW, 84),
    U32(THROTTLE, 108), U64(THROTTLE_ANY_CHIP, 120), U16(VOLTAGE_GFX, 156),
};

static const struct field_at v3_0[] = {
    U16(TEMP_GFX, 4), U16(TEMP_SOC, 6), U16(GFX_ACTIVITY, 42), U16(VCN_ACTIVITY, 44), U32(SOCKET_POWER, 112), U32(GFX_POWER, 124),
    U16(GFXCLK_AVERAGE, 174), U16(VCLK_AVERAGE, 184), U16(UCLK_AVERAGE, 186), U32(APU_PROCHOT, 228), U32(APU_SPL, 232),
    U32(APU_FPPT, 236), U32(APU_SPPT, 240), U32(APU_CORE_HOT, 244), U32(APU_GFX_HOT, 248), U32(APU_SOC_HOT, 252),
};

static const struct metrics_layout {
    uint8_t format, content;
    uint16_t sizes[3]; /* known sizes; drivers vary the tail, never the beginning */
    uint16_t partition_stride;
    const struct field_at *fields;
    size_t count;
} layouts[] = {
    {1, 0, {80}, 0, v1_0, ARRAY_LEN(v1_0)},
    {1, 1, {96}, 0, v1_3, ARRAY_LEN(v1_3)},
    {1, 2, {104}, 0, v1_3, ARRAY_LEN(v1_3)},
    {1, 3, {120}, 0, v1_3, ARRAY_LEN(v1_3)},
    {1, 4, {288}, 0, v1_4, ARRAY_LEN(v1_4)},
    {1, 5, {360}, 0, v1_5, ARRAY_LEN(v1_5)},
    {1, 6, {1664, 312}, 168, v1_6, ARRAY_LEN(v1_6)},
    {1, 7, {2208, 3872, 344}, 232, v1_8, ARRAY_LEN(v1_8)},
    {1, 8, {3872, 2208, 344}, 440, v1_8, ARRAY_LEN(v1_8)},
    {2, 0, {120}, 0, v2_0, ARRAY_LEN(v2_0)},
    {2, 1, {120}, 0, v2_4, ARRAY_LEN(v2_4)},
    {2, 2, {128}, 0, v2_4, ARRAY_LEN(v2_4)},
    {2, 3, {152}, 0, v2_4, ARRAY_LEN(v2_4)},
    {2, 4, {168}, 0, v2_4, ARRAY_LEN(v2_4)},
    {3, 0, {264}, 0, v3_0, ARRAY_LEN(v3_0)},
};

/* Attribute IDs of version 1.9. */
static const struct { uint16_t id; uint8_t field; } attributes[] = {
    {0, GM_TEMP_HOTSPOT}, {1, GM_TEMP_MEM}, {3, GM_SOCKET_POWER}, {4, GM_GFX_ACTIVITY}, {5, GM_UMC_ACTIVITY}, {7, GM_ENERGY},
    {9, GM_ACCUMULATIONS}, {10, GM_ACC_PROCHOT}, {11, GM_ACC_POWER}, {12, GM_ACC_SOCKET_HOT}, {13, GM_ACC_VR_HOT},
    {14, GM_ACC_MEMORY_HOT}, {16, GM_PCIE_WIDTH}, {17, GM_PCIE_SPEED}, {20, GM_GFX_ACC}, {25, GM_PCIE_REPLAYS}, {33, GM_GFXCLK_NOW},
    {35, GM_VCLK_NOW}, {37, GM_UCLK_NOW}, {38, GM_PARTITIONS}, {40, GM_PARTITION_BUSY}, {41, GM_JPEG_ACTIVITY}, {42, GM_VCN_ACTIVITY},
};
/* clang-format on */

static uint64_t little_endian(const uint8_t *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static bool size_belongs(const struct metrics_layout *l, size_t declared)
{
    for (size_t i = 0; i < ARRAY_LEN(l->sizes); i++)
        if (l->sizes[i] && l->sizes[i] == declared)
            return true;
    return false;
}

static bool decode_fixed(const struct metrics_layout *l, size_t declared, struct gpu_metrics *m)
{
    if (!size_belongs(l, declared))
        return false;
    size_t usable = MIN_OF(declared, m->size);
    for (size_t i = 0; i < l->count; i++) {
        const struct field_at *f = &l->fields[i];
        if ((size_t)f->offset + (size_t)f->width * f->count <= usable)
            m->slots[f->field] = (struct gm_slot){.offset = f->offset, .count = f->count, .width = f->width};
    }
    /* Later 1.8 tables enlarged the partition part: its stride is known only for this size. */
    if (declared == l->sizes[0])
        m->partition_stride = l->partition_stride;
    return true;
}

static void index_attribute(struct gpu_metrics *m, unsigned id, const struct gm_slot *slot)
{
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        if (attributes[i].id == id && m->slots[attributes[i].field].count == 0)
            m->slots[attributes[i].field] = *slot;
}

/* Accepts attributes that are completely inside the table, even if the table is truncated after them. */
static bool decode_attributes(struct gpu_metrics *m, size_t declared)
{
    static const uint8_t widths[8] = {1, 1, 2, 2, 4, 4, 8, 8};
    size_t usable = MIN_OF(declared, m->size), at = 8;
    if (usable < at)
        return false;
    uint64_t announced = little_endian(m->bytes + 4, 4);
    for (uint64_t i = 0; i < announced && at + 8 <= usable; i++) {
        uint64_t what = little_endian(m->bytes + at, 8);
        unsigned instances = what & 0x3ff, id = what >> 10 & 0x3ff, type = what >> 20 & 0xf;
        at += 8;
        if (type >= ARRAY_LEN(widths) || instances == 0 || at + (size_t)widths[type] * instances > usable)
            break;
        index_attribute(
            m, id,
            &(struct gm_slot){.offset = (uint16_t)at, .count = (uint16_t)instances, .width = widths[type], .is_signed = type & 1});
        at += (size_t)widths[type] * instances;
    }
    return true;
}

/* Only Van Gogh (Steam Deck) has tables 2.3 and 2.4, and its firmware reports activity in whole percent; it shares 2.2 with
 * Renoir, which reports hundredths. */
static bool counts_whole_percent(const struct gpu_metrics *m, uint32_t device)
{
    bool van_gogh = device == 0x163f || device == 0x1435;
    return m->format == 2 && (m->content >= 3 || (m->content == 2 && van_gogh));
}

bool gpu_metrics_decode(const void *bytes, size_t size, uint32_t device, struct gpu_metrics *ret)
{
    *ret = (struct gpu_metrics){.bytes = bytes, .size = size};
    if (size < 4 || size > GPU_METRICS_MAX)
        return false;
    size_t declared = (size_t)little_endian(ret->bytes, 2);
    ret->format = ret->bytes[2];
    ret->content = ret->bytes[3];
    ret->whole_percent = counts_whole_percent(ret, device);
    if (ret->format == 1 && ret->content == 9)
        return decode_attributes(ret, declared);
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
        if (layouts[i].format == ret->format && layouts[i].content == ret->content)
            return decode_fixed(&layouts[i], declared, ret);
    return false;
}

static bool read_value(const struct gpu_metrics *m, size_t offset, const struct gm_slot *slot, int64_t *ret)
{
    uint64_t raw = little_endian(m->bytes + offset, slot->width);
    uint64_t none = slot->width == 8 ? UINT64_MAX : (UINT64_C(1) << slot->width * 8) - 1;
    if (raw == none)
        return false;
    if (slot->is_signed && slot->width < 8 && raw >> (slot->width * 8 - 1))
        raw |= ~none;
    /* Values beyond int64 aren't measurements. */
    if (!slot->is_signed && raw > INT64_MAX)
        return false;
    *ret = (int64_t)raw;
    return true;
}

bool gpu_metrics_raw(const struct gpu_metrics *m, enum gm_field field, unsigned index, int64_t *ret)
{
    const struct gm_slot *slot = &m->slots[field];
    return index < slot->count && read_value(m, slot->offset + (size_t)index * slot->width, slot, ret);
}

static struct reading largest(const struct gpu_metrics *m, enum gm_field field, int64_t most)
{
    struct reading best = reading_absent(READING_UNSUPPORTED);
    for (unsigned i = 0; i < m->slots[field].count; i++) {
        int64_t value;
        if (gpu_metrics_raw(m, field, i, &value) && value >= 0 && value <= most && value >= reading_or(best, 0))
            best = reading_ok(value);
    }
    return best;
}

struct reading gpu_metrics_mdegc(const struct gpu_metrics *m, enum gm_field field)
{
    int64_t raw, scale = m->format == 1 ? 1000 : 10;
    if (!gpu_metrics_raw(m, field, 0, &raw) || raw > 200000 / scale || raw < -200000 / scale)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(raw * scale);
}

struct reading gpu_metrics_permille(const struct gpu_metrics *m, enum gm_field field)
{
    /* Format 2 uses hundredths of a percent, the others whole percent. More than 100 % is always hundredths: the first firmware
     * of Van Gogh. */
    struct reading r = largest(m, field, m->format == 2 ? 10000 : 100);
    bool centi = m->format == 2 && (!m->whole_percent || reading_or(r, 0) > 100);
    if (r.state == READING_OK)
        r.value = centi ? r.value / 10 : r.value * 10;
    return r;
}

struct reading gpu_metrics_power_mw(const struct gpu_metrics *m)
{
    int64_t raw;
    if (!gpu_metrics_raw(m, GM_SOCKET_POWER, 0, &raw) || raw < 0 || raw > 100000000)
        return reading_absent(READING_UNSUPPORTED);
    /* In format 2, some firmware reports watts and some milliwatts: no APU socket draws more than APU_WATTS_MAX watts, and none
     * that is awake draws fewer milliwatts than that. */
    bool watts = m->format == 1 || (m->format == 2 && raw <= APU_WATTS_MAX);
    return reading_ok(watts ? raw * 1000 : raw);
}

struct reading gpu_metrics_khz(const struct gpu_metrics *m, enum gm_field now, enum gm_field average)
{
    struct reading r = largest(m, now, 65534);
    if (r.state != READING_OK)
        r = largest(m, average, 65534);
    return r.state == READING_OK ? reading_ok(r.value * 1000) : r; /* 0: the clock is gated */
}

struct reading gpu_metrics_pcie_generation(const struct gpu_metrics *m)
{
    int64_t raw;
    if (!gpu_metrics_raw(m, GM_PCIE_SPEED, 0, &raw))
        return reading_absent(READING_UNSUPPORTED);
    /* Tenths of GT/s; the oldest tables have the generation itself. */
    int64_t tenths[] = {25, 50, 80, 160, 320, 640};
    for (size_t i = 0; i < ARRAY_LEN(tenths); i++)
        if (raw == tenths[i])
            return reading_ok((int64_t)i + 1);
    return raw >= 1 && raw <= 6 ? reading_ok(raw) : reading_absent(READING_UNSUPPORTED);
}

struct reading gpu_metrics_partition_permille(const struct gpu_metrics *m, unsigned partition)
{
    const struct gm_slot *slot = &m->slots[GM_PARTITION_BUSY];
    int64_t sum = 0, value;
    unsigned known = 0;
    if (partition >= GPU_METRICS_PARTITIONS || (partition > 0 && !m->partition_stride))
        return reading_absent(READING_UNSUPPORTED);
    for (unsigned i = 0; i < slot->count; i++) {
        size_t offset = slot->offset + (size_t)partition * m->partition_stride + (size_t)i * slot->width;
        if (offset + slot->width > m->size || !read_value(m, offset, slot, &value) || value < 0 || value > 100)
            continue;
        sum += value;
        known++;
    }
    return known ? reading_ok(sum * 10 / known) : reading_absent(READING_UNSUPPORTED);
}

bool gpu_metrics_is_apu(const struct gpu_metrics *m)
{
    return m->format == 2 || m->format == 3;
}

/* ---- The tables report throttling in three ways: bits common to all chips (1.3, 2.2 and later), bits that only the chip's own
 * driver understands (earlier), and time counters (1.6 and later, 3.0). */

enum { HOTSPOT_BIT = 36, HOTSPOT_NEAR_MDEGC = 10000 };

static const struct {
    uint8_t first, last;
    unsigned reason;
} bits[] = {
    {0, 7, THROTTLE_POWER_CAP},                                    /* PPT, SPL, FPPT, SPPT */
    {16, 23, THROTTLE_CURRENT},                                    /* TDC, EDC, APCC */
    {34, 34, THROTTLE_MEM_THERMAL}, {32, 37, THROTTLE_SW_THERMAL}, /* chip, cores, edge, hotspot, SoC (34 is handled above) */
    {38, 41, THROTTLE_VR_THERMAL},  {42, 43, THROTTLE_SW_THERMAL}, /* liquid */
    {44, 45, THROTTLE_VR_THERMAL},                                 /* VRHOT pins */
    {46, 47, THROTTLE_HW_THERMAL},                                 /* PROCHOT pins */
    {56, 56, THROTTLE_POWER_BRAKE},                                /* PPM */
    {57, 57, THROTTLE_RELIABILITY},                                /* FIT */
};

static unsigned reason_of_bit(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_LEN(bits); i++)
        if (bit >= bits[i].first && bit <= bits[i].last)
            return bits[i].reason;
    return THROTTLE_OTHER;
}

static struct reading from_word(uint64_t word, struct reading hotspot, struct reading limit)
{
    int64_t now, most;
    if (reading_get(hotspot, &now) && reading_get(limit, &most) && now < most - HOTSPOT_NEAR_MDEGC)
        word &= ~(UINT64_C(1) << HOTSPOT_BIT);
    unsigned reasons = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        if (word >> bit & 1)
            reasons |= reason_of_bit(bit);
    return reading_ok(reasons);
}

/* A plausible 32- or 64-bit counter; version 1.9 allows any number. */
static bool counter(const struct gpu_metrics *m, enum gm_field field, int64_t *ret)
{
    return gpu_metrics_raw(m, field, 0, ret) && *ret >= 0 && *ret < INT64_C(1) << 48;
}

/* A residency counter grows as fast as ACCUMULATIONS if the limit was active all the time. Some firmware makes power, socket and
 * memory follow it when idle (MI300X in table 1.6): all three in full at once is that bug, not throttling. */
static struct reading from_residency(const struct gpu_metrics *m, struct throttle_memory *memory)
{
    static const struct {
        enum gm_field field;
        unsigned reason;
    } counters[] = {{GM_ACC_POWER, THROTTLE_POWER_CAP},
                    {GM_ACC_SOCKET_HOT, THROTTLE_SW_THERMAL},
                    {GM_ACC_MEMORY_HOT, THROTTLE_MEM_THERMAL},
                    {GM_ACC_VR_HOT, THROTTLE_VR_THERMAL},
                    {GM_ACC_PROCHOT, THROTTLE_HW_THERMAL}};
    struct throttle_memory now = {.known = true};
    if (!counter(m, GM_ACCUMULATIONS, &now.accumulations))
        return reading_absent(READING_UNSUPPORTED);
    unsigned reasons = 0, in_full = 0;
    int64_t whole = now.accumulations - memory->accumulations;
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        if (!counter(m, counters[i].field, &now.counters[i]))
            continue;
        int64_t part = now.counters[i] - memory->counters[i];
        if (part > 0 && part * 100 >= whole) /* at least 1 % of the time */
            reasons |= counters[i].reason;
        in_full += i < 3 && part >= whole;
    }
    bool had = memory->known && whole > 0;
    *memory = now;
    if (!had)
        return reading_absent(READING_PENDING);
    return reading_ok(in_full == 3 ? 0 : reasons);
}

static struct reading from_apu_counters(const struct gpu_metrics *m, struct throttle_memory *memory)
{
    static const struct {
        enum gm_field field;
        unsigned reason;
    } counters[] = {{GM_APU_PROCHOT, THROTTLE_HW_THERMAL},  {GM_APU_SPL, THROTTLE_POWER_CAP},
                    {GM_APU_FPPT, THROTTLE_POWER_CAP},      {GM_APU_SPPT, THROTTLE_POWER_CAP},
                    {GM_APU_CORE_HOT, THROTTLE_SW_THERMAL}, {GM_APU_GFX_HOT, THROTTLE_SW_THERMAL},
                    {GM_APU_SOC_HOT, THROTTLE_SW_THERMAL}};
    struct throttle_memory now = {.known = true};
    unsigned reasons = 0, found = 0;
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        if (!counter(m, counters[i].field, &now.counters[i]))
            continue;
        found++;
        if (now.counters[i] > memory->counters[i])
            reasons |= counters[i].reason;
    }
    bool had = memory->known;
    *memory = now;
    if (!found)
        return reading_absent(READING_UNSUPPORTED);
    return had ? reading_ok(reasons) : reading_absent(READING_PENDING);
}

struct reading amdgpu_throttle(const struct gpu_metrics *m, struct reading hotspot_mdegc, struct reading hotspot_limit_mdegc,
                               struct throttle_memory *memory)
{
    int64_t word;
    if (m->format == 3)
        return from_apu_counters(m, memory);
    if (m->slots[GM_ACCUMULATIONS].count)
        return from_residency(m, memory);
    if (gpu_metrics_raw(m, GM_THROTTLE_ANY_CHIP, 0, &word))
        return from_word((uint64_t)word, hotspot_mdegc, hotspot_limit_mdegc);
    if (gpu_metrics_raw(m, GM_THROTTLE, 0, &word))
        return reading_ok(word ? THROTTLE_OTHER : 0);
    return reading_absent(READING_UNSUPPORTED);
}
