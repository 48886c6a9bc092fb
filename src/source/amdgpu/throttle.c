/* SPDX-License-Identifier: Apache-2.0
 * The tables report throttling in three ways: bits common to all chips (1.3, 2.2 and later), bits that only the chip's own driver
 * understands (earlier), and time counters (1.6 and later, 3.0).
 */
#include "source/amdgpu/amdgpu_read.h"

#include "base/cleanup.h"
#include "model/metric.h"

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
