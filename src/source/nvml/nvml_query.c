/* SPDX-License-Identifier: Apache-2.0
 * Queries: each row of the tables is one call and its metrics, fast ones (what people watch) and slow ones (health, links, modes,
 * limits); the static texts about a card come last. Refusals are remembered per card. Every call was measured: NVML answers most
 * from its cache in under a microsecond. PcieThroughput (20 ms, blocking) and the energy counter (3 ms) aren't fast.
 */
#include "source/nvml/internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/sysfs/sysfs_card.h"

bool nvml_is_final(int code)
{
    switch (code) {
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_INVALID_ARGUMENT: /* the answer for nonexistent links, sensors and clocks */
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_DEPRECATED:
    case NVML_VGPU_ECC_NOT_SUPPORTED:
    case NVML_NO_PERMISSION: return true;
    default: return false;
    }
}

bool nvml_is_trouble(int code)
{
    return code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED || code == NVML_GPU_NOT_FOUND || code == NVML_UNINITIALIZED;
}

enum reading_state nvml_reading_state(int code)
{
    if (code == NVML_OK)
        return READING_OK;
    if (code == NVML_NO_PERMISSION)
        return READING_DENIED;
    return nvml_is_final(code) || code == NVML_NOT_FOUND ? READING_UNSUPPORTED : READING_FAILED;
}

/* A query table: each row is one call and its metrics. */
enum query_shape {
    SHAPE_OWN,   /* `ask` makes the call */
    SHAPE_PLAIN, /* (device, unsigned *) */
    SHAPE_KIND,  /* (device, int kind, unsigned *) */
    SHAPE_PAIR,  /* (device, unsigned *, unsigned *): two metrics, or one and its sampling period */
};
enum { QUERY_VALUES_MAX = 16 };

struct nvml_query {
    enum query_shape shape;
    size_t slot;
    int kind;
    int (*ask)(struct nvml *n, struct nvml_card *card, int64_t *values);
    int64_t scale; /* value of the call * scale = field */
    int count;
    enum metric metrics[QUERY_VALUES_MAX];
};

#define QUERY_METRICS_(...)                                            \
    (int)(sizeof((enum metric[]){__VA_ARGS__}) / sizeof(enum metric)), \
    {                                                                  \
        __VA_ARGS__                                                    \
    }
#define QUERY_SLOT_(name, type)                                                                                           \
    offsetof(struct nvml_library, name) +                                                                                 \
        0 * sizeof(struct {                                                                                               \
            static_assert(_Generic(((struct nvml_library *)0)->name, type : 1, default : 0), #name " has another shape"); \
            int unused;                                                                                                   \
        })
/* The function behind `name` and its metrics; a wrong signature doesn't compile. */
#define CALL_(shape, name, kind, scale, type, ...)                                     \
    {                                                                                  \
        shape, QUERY_SLOT_(name, type), kind, NULL, scale, QUERY_METRICS_(__VA_ARGS__) \
    }
#define PLAIN(name, scale, ...) CALL_(SHAPE_PLAIN, name, 0, scale, int (*)(nvml_device, unsigned *), __VA_ARGS__)
#define KIND(name, kind, scale, ...) CALL_(SHAPE_KIND, name, kind, scale, int (*)(nvml_device, int, unsigned *), __VA_ARGS__)
#define PAIR(name, scale, ...) CALL_(SHAPE_PAIR, name, 0, scale, int (*)(nvml_device, unsigned *, unsigned *), __VA_ARGS__)
#define OWN(function, ...)                                        \
    {                                                             \
        SHAPE_OWN, 0, 0, function, 1, QUERY_METRICS_(__VA_ARGS__) \
    }

enum { PERCENT = 10, DEGREE = 1000, MHZ = 1000 };

static int ask_utilization(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    struct nvml_utilization u = {0};
    int code = NVML(n, utilization, card->handle, &u);
    values[0] = (int64_t)u.gpu * PERCENT;
    values[1] = (int64_t)u.memory * PERCENT;
    return code;
}

/* GPUs that share the host's memory (GB10, Jetson) report it as their own, to the byte. */
static bool is_host_memory(struct nvml *n, uint64_t total)
{
    char text[256];
    if (file_read_head(n->env, "/proc/meminfo", text, sizeof text) <= 0)
        return false;
    struct str rest = str_from(text), word;
    uint64_t kib;
    return str_word(&rest, &word) && str_is(word, "MemTotal:") && str_word(&rest, &word) && str_to_u64(word, &kib) &&
           total / 1024 == kib;
}

/* The driver doesn't count such a GPU's usage: the sum over processes would omit its own reserve. */
static int host_memory(struct nvml *n, int64_t *values)
{
    struct gpu out = {0};
    shared_memory_fill(n->env, &(struct shared_memory){.used_by_host = true}, &out);
    values[0] = reading_or(out.mem_total_bytes, QUERY_ABSENT);
    values[1] = reading_or(out.mem_used_bytes, QUERY_ABSENT);
    values[2] = reading_or(out.mem_free_bytes, QUERY_ABSENT);
    values[3] = QUERY_ABSENT;
    return out.mem_total_bytes.state == READING_OK ? NVML_OK : NVML_NOT_SUPPORTED;
}

static int ask_memory(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    struct nvml_memory_v2 now = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_memory old = {0};
    if (card->shared_memory)
        return host_memory(n, values);
    int code = NVML_FUNCTION_NOT_FOUND;
    if (n->lib.memory_v2 && !card->memory_v1)
        code = n->lib.memory_v2(card->handle, &now);
    if (code == NVML_OK) {
        values[3] = (int64_t)now.reserved;
    } else if (nvml_is_final(code) && n->lib.memory) {
        /* The first version counts the driver's reserve as used, without saying how much that is. */
        card->memory_v1 = true;
        code = n->lib.memory(card->handle, &old);
        now = (struct nvml_memory_v2){.total = old.total, .used = old.used, .free = old.free};
        values[3] = QUERY_ABSENT;
    }
    if (code == NVML_OK && !card->memory_checked) {
        card->memory_checked = true;
        card->shared_memory = is_host_memory(n, now.total);
        if (card->shared_memory)
            return host_memory(n, values);
    }
    values[0] = (int64_t)now.total;
    values[1] = (int64_t)now.used;
    values[2] = (int64_t)now.free;
    return code;
}

static int ask_temperature(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned degrees = 0;
    int code = NVML(n, temperature, card->handle, NVML_SENSOR_GPU, &degrees);
    /* It may be below zero in a cold room; all bits set isn't a temperature. */
    values[0] = (degrees == UINT_MAX ? (int64_t)degrees : (int64_t)(int)degrees) * DEGREE;
    return code;
}

/* Drivers before R615 know no sensor but the chip's, and refuse this one once. It can't be cooler than the chip. */
static int ask_hottest(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    enum { APART = 5 }; /* of two moments */
    struct nvml_temperature spot = {.version = NVML_VERSION(struct nvml_temperature, 1), .sensor = NVML_SENSOR_HOTTEST};
    int64_t chip = 0;
    unsigned degrees = 0;
    int code = NVML(n, temperature_of, card->handle, &spot);
    if (nvml_is_final(code) && n->lib.temperature) {
        code = n->lib.temperature(card->handle, NVML_SENSOR_HOTTEST, &degrees);
        spot.celsius = (int)degrees;
    }
    values[0] = (int64_t)spot.celsius * DEGREE;
    if (code == NVML_OK && ask_temperature(n, card, &chip) == NVML_OK && values[0] < chip - APART * DEGREE)
        values[0] = QUERY_ABSENT;
    return code;
}

/* Querying the fan of a passive card costs 0.15 ms every time; querying the number of fans is free. */
static int fans(struct nvml *n, struct nvml_card *card)
{
    unsigned count = 0;
    if (card->fan_count < 0) {
        if (n->lib.fan_count)
            card->fan_count = n->lib.fan_count(card->handle, &count) == NVML_OK && count <= 64 ? (int)count : 0;
        else
            card->fan_count = n->lib.fan_speed_v1 ? 1 : 0;
    }
    return card->fan_count;
}

static int ask_fan_percent(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    int count = fans(n, card), code = NVML_NOT_SUPPORTED;
    for (int i = 0; i < count; i++) {
        unsigned percent = 0;
        code = n->lib.fan_speed ? n->lib.fan_speed(card->handle, (unsigned)i, &percent)
                                : NVML(n, fan_speed_v1, card->handle, &percent);
        if (code != NVML_OK)
            return code;
        values[0] = MAX_OF(values[0], (int64_t)percent * PERCENT);
    }
    return code;
}

/* With several GPUs, the owner of a laptop's fan is unknown. */
static int laptop_fan_rpm(struct nvml *n, int64_t *rpm)
{
    if (!n->laptop_fan_looked)
        n->laptop_fan_looked = n->total != 1 || laptop_fan_find(n->env, n->laptop_fan);
    if (!n->laptop_fan[0])
        return NVML_NOT_SUPPORTED;
    return file_read_i64(n->env, n->laptop_fan, rpm) < 0 || *rpm < 0 ? NVML_UNKNOWN : NVML_OK;
}

static int ask_fan_rpm(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    int count = fans(n, card), code = NVML_NOT_SUPPORTED;
    if (count == 0)
        return laptop_fan_rpm(n, &values[0]);
    for (int i = 0; i < count; i++) {
        struct nvml_fan_rpm fan = {.version = NVML_VERSION(struct nvml_fan_rpm, 1), .fan = (unsigned)i};
        code = NVML(n, fan_rpm, card->handle, &fan);
        if (code != NVML_OK)
            return code;
        values[0] = MAX_OF(values[0], (int64_t)fan.rpm);
    }
    return code;
}

/* Prefer the instantaneous power, to match the instantaneous utilization: since Ampere the plain call is a mean over a second,
 * 626 W for an H200 whose work ended 0.3 s ago. Energy uses the means, from the same call. On Grace superchips the plain call
 * may be missing: use the GPU's scope, and last that of the whole module. */
static int ask_power(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    static const struct {
        unsigned field, beside, scope;
    } ways[] = {
        {NVML_FIELD_POWER_INSTANT, NVML_FIELD_POWER_AVERAGE, NVML_SCOPE_GPU},
        {0, 0, 0},
        {NVML_FIELD_POWER_AVERAGE, 0, NVML_SCOPE_GPU},
        {NVML_FIELD_POWER_INSTANT, 0, NVML_SCOPE_MODULE},
    };
    int code = NVML_NOT_SUPPORTED;
    for (; card->power_way < (int)ARRAY_LEN(ways); card->power_way++) {
        const int way = card->power_way;
        unsigned mw = 0;
        int64_t read[] = {0, QUERY_ABSENT};
        if (ways[way].field)
            code = field_read_beside(n, card, ways[way].field, ways[way].beside, ways[way].scope, read);
        else if ((code = NVML(n, power, card->handle, &mw)) == NVML_OK)
            read[0] = mw;
        if (code == NVML_OK && read[0] == 0 && way == 0)
            code = NVML_NOT_SUPPORTED; /* a GPU that answers draws some power */
        values[0] = read[0];
        values[1] = ways[way].field == NVML_FIELD_POWER_INSTANT && ways[way].scope == NVML_SCOPE_GPU ? read[0] : QUERY_ABSENT;
        values[2] = ways[way].field == NVML_FIELD_POWER_AVERAGE ? read[0] : read[1];
        if (!nvml_is_final(code) || code == NVML_NO_PERMISSION)
            return code;
    }
    return code;
}

static int ask_pstate(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned state = 0;
    int code = NVML(n, pstate, card->handle, &state);
    values[0] = state > 15 ? QUERY_ABSENT : (int64_t)state; /* 32: "unknown" */
    return code;
}

/* NVML's bit at each position; later ones become "other". */
static const enum throttle nvml_reasons[] =
    {
        THROTTLE_IDLE,       THROTTLE_APP_CLOCKS, THROTTLE_POWER_CAP,   THROTTLE_HW_SLOWDOWN,
        THROTTLE_SYNC_BOOST, THROTTLE_SW_THERMAL, THROTTLE_HW_THERMAL,  THROTTLE_POWER_BRAKE,
        THROTTLE_DISPLAY,    THROTTLE_OTHER,      THROTTLE_RELIABILITY, /* these two since R615: "board limit", of which nothing
                                                                           more is documented, and reliability */
};

static int ask_throttle(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned long long reasons = 0;
    int code = NVML(n, throttle, card->handle, &reasons);
    values[0] = reasons >> ARRAY_LEN(nvml_reasons) ? THROTTLE_OTHER : 0;
    for (size_t i = 0; i < ARRAY_LEN(nvml_reasons); i++)
        if (reasons >> i & 1)
            values[0] |= nvml_reasons[i];
    return code;
}

static const struct nvml_query query_fast[] = {
    OWN(ask_utilization, METRIC_util_permille, METRIC_mem_util_permille),
    PAIR(encoder, PERCENT, METRIC_encoder_permille),
    PAIR(decoder, PERCENT, METRIC_decoder_permille),
    PAIR(jpeg, PERCENT, METRIC_jpeg_permille),
    PAIR(ofa, PERCENT, METRIC_ofa_permille),
    OWN(ask_memory, METRIC_mem_total_bytes, METRIC_mem_used_bytes, METRIC_mem_free_bytes, METRIC_mem_reserved_bytes),
    OWN(ask_temperature, METRIC_temp_mdegc),
    OWN(ask_hottest, METRIC_temp_hotspot_mdegc),
    OWN(ask_fan_percent, METRIC_fan_permille),
    OWN(ask_fan_rpm, METRIC_fan_rpm),
    OWN(ask_power, METRIC_power_mw, METRIC_power_instant_mw, METRIC_power_average_mw),
    PLAIN(power_limit, 1, METRIC_power_limit_mw),
    OWN(ask_pstate, METRIC_pstate),
    KIND(clock, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_graphics_khz),
    KIND(clock, NVML_CLOCK_SM, MHZ, METRIC_clock_sm_khz),
    KIND(clock, NVML_CLOCK_MEM, MHZ, METRIC_clock_memory_khz),
    KIND(clock, NVML_CLOCK_VIDEO, MHZ, METRIC_clock_video_khz),
    OWN(ask_throttle, METRIC_throttle_bits),
};
static_assert(ARRAY_LEN(query_fast) <= NVML_FAST_MAX, "more queries than a GPU has room for");

/* ---- The slow, energy and static groups: health, links, modes, limits ---- */

/* A counter of memory errors, by NVML's kind and span of them. */
#define ASK_ECC(function, call, ...)                                             \
    static int function(struct nvml *n, struct nvml_card *card, int64_t *values) \
    {                                                                            \
        unsigned long long count = 0;                                            \
        int code = NVML(n, call, card->handle, __VA_ARGS__, &count);             \
        values[0] = (int64_t)count;                                              \
        return code;                                                             \
    }
ASK_ECC(ask_ecc_corrected, ecc_total, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE)
ASK_ECC(ask_ecc_uncorrected, ecc_total, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE)
ASK_ECC(ask_ecc_corrected_life, ecc_total, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE)
ASK_ECC(ask_ecc_uncorrected_life, ecc_total, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE)
ASK_ECC(ask_dram_corrected, ecc_location, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, NVML_LOCATION_DRAM)
ASK_ECC(ask_dram_uncorrected, ecc_location, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, NVML_LOCATION_DRAM)
ASK_ECC(ask_dram_corrected_life, ecc_location, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE, NVML_LOCATION_DRAM)
ASK_ECC(ask_dram_uncorrected_life, ecc_location, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, NVML_LOCATION_DRAM)

/* A query whose call fills one answer `a`, and the values that are made of it. */
#define VERSIONED(tag)                         \
    {                                          \
        .version = NVML_VERSION(struct tag, 1) \
    }
#define ASK(function, call, type, start, ...)                                    \
    static int function(struct nvml *n, struct nvml_card *card, int64_t *values) \
    {                                                                            \
        type a = start;                                                          \
        int code = NVML(n, call, card->handle, &a);                              \
        const int64_t all[] = {__VA_ARGS__};                                     \
        memcpy(values, all, sizeof all);                                         \
        return code;                                                             \
    }
ASK(ask_ecc_sram, ecc_sram, struct nvml_sram_errors, VERSIONED(nvml_sram_errors), (int64_t)a.corrected, (int64_t)a.parity,
    (int64_t)a.secded, (int64_t)a.life_corrected, (int64_t)a.life_parity, (int64_t)a.life_secded, a.threshold_exceeded != 0,
    (int64_t)a.from_l2, (int64_t)a.from_sm, (int64_t)a.from_mcu, (int64_t)a.from_pcie, (int64_t)a.from_other)
ASK(ask_remap_histogram, remap_histogram, struct nvml_remap_histogram, {0}, a.max, a.high, a.partial, a.low, a.none)
ASK(ask_repairs, repair_status, struct nvml_repair_status, VERSIONED(nvml_repair_status), a.channel_pending != 0,
    a.tpc_pending != 0)
ASK(ask_bar1, bar1, struct nvml_bar1_memory, {0}, (int64_t)a.total, (int64_t)a.used)
ASK(ask_protected, protected_memory, struct nvml_memory, {0}, (int64_t)a.total, (int64_t)a.used)
ASK(ask_fbc_stats, fbc_stats, struct nvml_fbc_stats, {0}, a.sessions, a.fps, a.latency)
ASK(ask_energy, energy, unsigned long long, 0, (int64_t)a)
ASK(ask_margin, margin, struct nvml_margin, VERSIONED(nvml_margin), (a.margin) * DEGREE)
ASK(ask_fan_count, fan_count, unsigned, 0, a)
ASK(ask_bank_remapper, bank_remapper, struct nvml_bank_remapper, {0}, a.active, a.inactive, a.pending, a.groups_max, a.groups_none)
ASK(ask_power_mizer, power_mizer, struct nvml_power_mizer, {0}, a.now)
ASK(ask_attributes, attributes, struct nvml_attributes, {0}, a.multiprocessors)

static int ask_remapped_rows(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    int code = NVML(n, remapped_rows, card->handle, &corrected, &uncorrected, &pending, &failed);
    values[0] = corrected;
    values[1] = uncorrected;
    values[2] = pending != 0;
    values[3] = failed != 0;
    return code;
}

/* Two layouts exist: the flag alone, or after a version word. What becomes of the word tells which. */
static int ask_unrepairable(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    const unsigned version = NVML_VERSION(struct nvml_flag, 1);
    unsigned answer[4] = {version};
    int code = NVML(n, unrepairable, card->handle, answer);
    values[0] = (answer[0] == version ? answer[1] : answer[0]) != 0;
    return code;
}

static int ask_dram_encryption(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    struct nvml_flag now = {.version = NVML_VERSION(struct nvml_flag, 1)}, pending = now;
    int code = NVML(n, dram_encryption, card->handle, &now, &pending);
    values[0] = now.value != 0;
    return code;
}

static int ask_encoder_stats(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned sessions = 0, fps = 0, latency_us = 0;
    int code = NVML(n, encoder_stats, card->handle, &sessions, &fps, &latency_us);
    values[0] = sessions;
    values[1] = fps;
    values[2] = latency_us;
    return code;
}

/* Nonexistent links answer INVALID_ARGUMENT, so query their number first. */
static int ask_nvlinks(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    if (!n->lib.nvlink_state)
        return NVML_FUNCTION_NOT_FOUND;
    int64_t links = 0, active = 0;
    int code = field_read(n, card, NVML_FIELD_NVLINK_COUNT, 0, &links);
    if (code != NVML_OK)
        return code;
    for (unsigned i = 0; i < (unsigned)links && i < NVML_NVLINKS_MAX; i++) {
        unsigned on = 0;
        code = n->lib.nvlink_state(card->handle, i, &on);
        if (nvml_is_trouble(code))
            return code;
        active += code == NVML_OK && on;
    }
    values[0] = links;
    values[1] = active;
    return NVML_OK;
}

/* A link's counters: packets sent again, recoveries, CRC errors of control and of data. Blackwell counts otherwise, and refuses. */
static int ask_nvlink_errors(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    enum { ALL, WORST, KINDS, KIND_COUNT = 4 };
    if (!n->lib.nvlink_errors)
        return NVML_FUNCTION_NOT_FOUND;
    int64_t links = 0, most = 0;
    int code = field_read(n, card, NVML_FIELD_NVLINK_COUNT, 0, &links), answered = NVML_NOT_SUPPORTED;
    for (unsigned i = WORST; i < KINDS + KIND_COUNT; i++)
        values[i] = QUERY_ABSENT;
    for (unsigned i = 0; code == NVML_OK && i < (unsigned)links && i < NVML_NVLINKS_MAX; i++) {
        int64_t sum = 0;
        for (unsigned counter = 0; counter < KIND_COUNT; counter++) {
            unsigned long long value = 0;
            int rc = n->lib.nvlink_errors(card->handle, i, counter, &value);
            if (nvml_is_trouble(rc))
                return rc;
            if (rc != NVML_OK && answered != NVML_OK && i == 0 && counter == 0)
                return rc; /* a GPU that has none is not asked for each */
            if (rc != NVML_OK)
                continue;
            answered = NVML_OK;
            int64_t count = (int64_t)MIN_OF(value, (unsigned long long)UINT32_MAX), *of_kind = &values[KINDS + counter];
            *of_kind = count + (*of_kind == QUERY_ABSENT ? 0 : *of_kind);
            sum += count;
        }
        values[ALL] += sum;
        if (sum > most) {
            most = sum;
            values[WORST] = i;
        }
    }
    return code == NVML_OK ? answered : code;
}

/* A vGPU without a license works slowly after a while; any other GPU has none to show. */
static int ask_license(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned mode = 0;
    struct nvml_licenses all = {0};
    if (!n->lib.licenses || !n->lib.virtualization)
        return NVML_FUNCTION_NOT_FOUND;
    int code = n->lib.virtualization(card->handle, &mode);
    if (code == NVML_OK && mode != NVML_VIRTUAL_GUEST)
        return NVML_NOT_SUPPORTED;
    if (code == NVML_OK)
        code = n->lib.licenses(card->handle, &all);
    for (size_t i = 0; i < all.count && i < ARRAY_LEN(all.features); i++)
        values[0] |= all.features[i].licensed != 0;
    return code == NVML_OK && (!all.supported || !all.count) ? NVML_NOT_SUPPORTED : code;
}

static int ask_fabric(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    enum { FABRIC_NONE = 0, FABRIC_COMPLETE = 3 };
    struct nvml_fabric_v2 fabric = {.version = NVML_VERSION(struct nvml_fabric_v2, 2)};
    int code = NVML(n, fabric, card->handle, &fabric);
    if (code == NVML_OK && fabric.state == FABRIC_NONE)
        return NVML_NOT_SUPPORTED;
    bool ready = fabric.state == FABRIC_COMPLETE && fabric.status == NVML_OK;
    values[0] = ready;
    values[1] = ready ? (int64_t)fabric.clique : QUERY_ABSENT;
    return code;
}

/* Newer cards may give the slowdown threshold only as a distance: temperature + margin, and the slowdown follows a few degrees
 * beyond (at a margin of -2, say). */
static int derive_slowdown(struct nvml *n, struct nvml_card *card, int64_t *limit)
{
    unsigned degrees = 0;
    int64_t margin = 0, beyond = 0;
    int code = NVML(n, temperature, card->handle, 0, &degrees);
    if (code == NVML_OK)
        code = ask_margin(n, card, &margin);
    if (code == NVML_OK && field_read(n, card, NVML_FIELD_SLOWDOWN_TLIMIT, 0, &beyond) != NVML_OK)
        beyond = 0;
    *limit = ((int64_t)(int)degrees - beyond) * DEGREE + margin;
    return code;
}

static int ask_slowdown(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    unsigned degrees = 0;
    int code = NVML(n, threshold, card->handle, NVML_THRESHOLD_SLOWDOWN, &degrees);
    values[0] = (int64_t)degrees * DEGREE;
    bool told = code == NVML_OK && degrees > 0;
    return told || nvml_is_trouble(code) ? code : derive_slowdown(n, card, &values[0]);
}

static int ask_fan_target(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    if (card->fan_count == 0)
        return NVML_NOT_SUPPORTED;
    unsigned percent = 0;
    int code = NVML(n, fan_target, card->handle, 0, &percent);
    values[0] = (int64_t)percent * 10;
    return code;
}

static int ask_platform(struct nvml *n, struct nvml_card *card, int64_t *values)
{
    struct nvml_platform_v1 platform = {.version = NVML_VERSION(struct nvml_platform_v1, 1)};
    int code = NVML(n, platform, card->handle, &platform);
    /* Outside a rack with an identity the numbers are filler (an H200 in a VM says slot 0, host 1). */
    static const unsigned char nameless[sizeof platform.rack_guid];
    if (code == NVML_OK && memcmp(platform.rack_guid, nameless, sizeof nameless) == 0)
        return NVML_NOT_SUPPORTED;
    values[0] = platform.slot;
    values[1] = platform.tray;
    values[2] = platform.host;
    return code;
}

static const struct nvml_query query_slow[] = {
    OWN(ask_energy, METRIC_energy_mj),

    OWN(ask_ecc_corrected, METRIC_ecc_corrected),
    OWN(ask_ecc_uncorrected, METRIC_ecc_uncorrected),
    OWN(ask_ecc_corrected_life, METRIC_ecc_corrected_lifetime),
    OWN(ask_ecc_uncorrected_life, METRIC_ecc_uncorrected_lifetime),
    OWN(ask_dram_corrected, METRIC_ecc_dram_corrected),
    OWN(ask_dram_uncorrected, METRIC_ecc_dram_uncorrected),
    OWN(ask_dram_corrected_life, METRIC_ecc_dram_corrected_lifetime),
    OWN(ask_dram_uncorrected_life, METRIC_ecc_dram_uncorrected_lifetime),
    OWN(ask_ecc_sram, METRIC_ecc_sram_corrected, METRIC_ecc_sram_parity, METRIC_ecc_sram_secded, METRIC_ecc_sram_corrected_lifetime,
        METRIC_ecc_sram_parity_lifetime, METRIC_ecc_sram_secded_lifetime, METRIC_ecc_sram_threshold, METRIC_ecc_sram_from_l2,
        METRIC_ecc_sram_from_sm, METRIC_ecc_sram_from_mcu, METRIC_ecc_sram_from_pcie, METRIC_ecc_sram_from_other),
    PAIR(ecc_mode, 1, METRIC_ecc_enabled, METRIC_ecc_pending),
    OWN(ask_remapped_rows, METRIC_remapped_rows_corrected, METRIC_remapped_rows_uncorrected, METRIC_remapped_rows_pending,
        METRIC_remapped_rows_failed),
    OWN(ask_remap_histogram, METRIC_remap_banks_max, METRIC_remap_banks_high, METRIC_remap_banks_partial, METRIC_remap_banks_low,
        METRIC_remap_banks_none),
    OWN(ask_bank_remapper, METRIC_bank_remap_active, METRIC_bank_remap_inactive, METRIC_bank_remap_pending,
        METRIC_bank_remap_groups_max, METRIC_bank_remap_groups_none),
    OWN(ask_repairs, METRIC_channel_repair_pending, METRIC_tpc_repair_pending),
    OWN(ask_unrepairable, METRIC_unrepairable_memory),

    OWN(ask_bar1, METRIC_bar1_total_bytes, METRIC_bar1_used_bytes),
    OWN(ask_protected, METRIC_protected_total_bytes, METRIC_protected_used_bytes),
    OWN(ask_dram_encryption, METRIC_dram_encryption),
    OWN(ask_encoder_stats, METRIC_encoder_sessions, METRIC_encoder_fps, METRIC_encoder_latency_us),
    OWN(ask_fbc_stats, METRIC_capture_sessions, METRIC_capture_fps, METRIC_capture_latency_us),
    OWN(ask_nvlinks, METRIC_nvlink_links, METRIC_nvlink_links_active),
    OWN(ask_nvlink_errors, METRIC_nvlink_errors, METRIC_nvlink_worst_link, METRIC_nvlink_replays, METRIC_nvlink_recoveries,
        METRIC_nvlink_crc_flit_errors, METRIC_nvlink_crc_data_errors),
    OWN(ask_license, METRIC_vgpu_licensed),
    OWN(ask_fabric, METRIC_fabric_ready, METRIC_fabric_clique),
    PLAIN(c2c_mode, 1, METRIC_c2c_enabled),

    PLAIN(display_active, 1, METRIC_display_active),
    PLAIN(persistence, 1, METRIC_persistence_mode),
    PLAIN(compute_mode, 1, METRIC_compute_mode),
    PLAIN(accounting, 1, METRIC_accounting_mode),
    OWN(ask_power_mizer, METRIC_power_mizer),
    PLAIN(multi_gpu_board, 1, METRIC_multi_gpu_board),
    PLAIN(minor_number, 1, METRIC_device_minor),
    PLAIN(module_id, 1, METRIC_module_id),
    OWN(ask_platform, METRIC_platform_slot, METRIC_platform_tray, METRIC_platform_host),
    OWN(ask_attributes, METRIC_compute_units),

    OWN(ask_fan_count, METRIC_fan_count),
    OWN(ask_fan_target, METRIC_fan_target_permille),
    OWN(ask_margin, METRIC_temp_margin_mdegc),
    OWN(ask_slowdown, METRIC_temp_limit_mdegc),
    KIND(threshold, NVML_THRESHOLD_SHUTDOWN, DEGREE, METRIC_temp_shutdown_mdegc),
    KIND(threshold, NVML_THRESHOLD_GPU_MAX, DEGREE, METRIC_temp_max_operating_mdegc),
    KIND(threshold, NVML_THRESHOLD_MEM_MAX, DEGREE, METRIC_temp_memory_limit_mdegc),
    KIND(threshold, NVML_THRESHOLD_ACOUSTIC_CURRENT, DEGREE, METRIC_temp_target_mdegc),

    PLAIN(power_limit_default, 1, METRIC_power_limit_default_mw),
    PAIR(power_limit_range, 1, METRIC_power_limit_min_mw, METRIC_power_limit_max_mw),
    KIND(clock_max, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_graphics_max_khz),
    KIND(clock_max, NVML_CLOCK_SM, MHZ, METRIC_clock_sm_max_khz),
    KIND(clock_max, NVML_CLOCK_MEM, MHZ, METRIC_clock_memory_max_khz),
    KIND(clock_max, NVML_CLOCK_VIDEO, MHZ, METRIC_clock_video_max_khz),
    KIND(clock_boost_max, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_boost_max_khz),
    KIND(clock_app, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_app_graphics_khz),
    KIND(clock_app, NVML_CLOCK_MEM, MHZ, METRIC_clock_app_memory_khz),
    KIND(clock_app_default, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_app_graphics_default_khz),
    KIND(clock_app_default, NVML_CLOCK_MEM, MHZ, METRIC_clock_app_memory_default_khz),
    PLAIN(pcie_generation, 1, METRIC_pcie_generation),
    PLAIN(pcie_width, 1, METRIC_pcie_width),
    PLAIN(pcie_generation_max, 1, METRIC_pcie_generation_max),
    PLAIN(pcie_generation_card, 1, METRIC_pcie_generation_card_max),
    PLAIN(pcie_width_max, 1, METRIC_pcie_width_max),
    PLAIN(pcie_replays, 1, METRIC_pcie_replays),
    PLAIN(power_limit_set, 1, METRIC_power_limit_requested_mw),
};
static_assert(ARRAY_LEN(query_slow) <= NVML_SLOW_MAX, "more queries than a GPU has room for");

static int nvml_query_ask(struct nvml *n, struct nvml_card *card, const struct nvml_query *q, int64_t *values)
{
    union {
        void *any;
        int (*plain)(nvml_device, unsigned *);
        int (*kind)(nvml_device, int, unsigned *);
        int (*two)(nvml_device, unsigned *, unsigned *);
    } call;
    if (q->shape == SHAPE_OWN)
        return q->ask(n, card, values);
    memcpy(&call, (const char *)&n->lib + q->slot, sizeof call);
    if (!call.any)
        return NVML_FUNCTION_NOT_FOUND;

    unsigned first = 0, second = 0;
    int code = q->shape == SHAPE_PLAIN  ? call.plain(card->handle, &first)
               : q->shape == SHAPE_KIND ? call.kind(card->handle, q->kind, &first)
                                        : call.two(card->handle, &first, &second);
    values[0] = (int64_t)first * q->scale;
    values[1] = (int64_t)second * q->scale;
    return code;
}

/* True if the card still answers. */
static bool run_one(struct nvml *n, struct nvml_card *card, const struct nvml_query *q, int *refused, struct gpu *out)
{
    int64_t values[QUERY_VALUES_MAX] = {0};
    int code = *refused ? *refused : nvml_query_ask(n, card, q, values);
    if (nvml_is_trouble(code)) {
        card_fail(n, card, code);
        return false;
    }
    if (nvml_is_final(code))
        *refused = code;
    for (int i = 0; i < q->count; i++)
        out->metric[q->metrics[i]] = code != NVML_OK             ? reading_absent(nvml_reading_state(code))
                                     : values[i] == QUERY_ABSENT ? reading_absent(READING_UNSUPPORTED)
                                                                 : reading_ok(values[i]);
    return true;
}

/* A caller that only decides skips the rest: each call costs up to a millisecond of CPU. */
static bool is_needed(enum metric metric, unsigned groups)
{
    if (!(groups & GROUP_LEAN) || (metric_table[metric].group & GROUP_STATIC))
        return true;
    switch (metric) {
    case METRIC_energy_mj:
    case METRIC_mem_total_bytes:
    case METRIC_temp_mdegc: return true;
    case METRIC_util_permille:
    case METRIC_power_mw: return groups & GROUP_SLOW;
    case METRIC_ecc_corrected:
    case METRIC_ecc_uncorrected:
    case METRIC_remapped_rows_corrected: return true;
    default: return false;
    }
}

/* Useless for judging a single look, and a quarter of its cost. */
static bool is_optional_for_one_look(enum metric metric)
{
    switch (metric) {
    case METRIC_clock_sm_max_khz:
    case METRIC_clock_video_max_khz:
    case METRIC_clock_boost_max_khz:
    case METRIC_clock_app_graphics_khz:
    case METRIC_clock_app_memory_khz:
    case METRIC_clock_app_graphics_default_khz:
    case METRIC_clock_app_memory_default_khz:
    case METRIC_energy_mj: return true;
    default: return false;
    }
}

/* The margin costs over a millisecond of CPU and follows the temperature: while that is unchanged, query it with the rare group
 * only. */
static bool reuse_margin(struct nvml_card *card, unsigned groups, struct gpu *out)
{
    const struct reading temp = out->temp_mdegc;
    if ((groups & (GROUP_STATIC | GROUP_RARE)) || !(groups & GROUP_FAST) || temp.state != READING_OK ||
        card->margin.state != READING_OK || card->margin_temp.state != READING_OK || card->margin_temp.value != temp.value)
        return false;
    out->temp_margin_mdegc = card->margin;
    return true;
}

static void leave_out(const struct nvml_query *q, struct gpu *out)
{
    for (int i = 0; i < q->count; i++)
        out->metric[q->metrics[i]] = reading_absent(READING_PENDING);
}

static bool run_table(struct nvml *n, struct nvml_card *card, const struct nvml_query *table, size_t count, int *refused,
                      unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!(metric_table[table[i].metrics[0]].group & groups) || !is_needed(table[i].metrics[0], groups))
            continue;
        if (!card->sampled && (groups & GROUP_PAST) && is_optional_for_one_look(table[i].metrics[0]))
            leave_out(&table[i], out);
        else if (table[i].metrics[0] == METRIC_temp_margin_mdegc && reuse_margin(card, groups, out))
            continue;
        else if (!run_one(n, card, &table[i], &refused[i], out))
            return false;
    }
    return true;
}

bool query_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    /* An administrator may grant permissions: retry those refusals with the static group. */
    if (groups & GROUP_STATIC)
        for (size_t i = 0; i < ARRAY_LEN(card->refused_query); i++)
            if (card->refused_query[i] == NVML_NO_PERMISSION)
                card->refused_query[i] = NVML_OK;
    if (!run_table(n, card, query_fast, ARRAY_LEN(query_fast), card->refused_query, groups, out) ||
        !run_table(n, card, query_slow, ARRAY_LEN(query_slow), card->refused_query + NVML_FAST_MAX, groups, out))
        return false;
    if ((groups & GROUP_SLOW) && !(groups & GROUP_LEAN)) {
        card->margin = out->temp_margin_mdegc;
        card->margin_temp = groups & GROUP_FAST ? out->temp_mdegc : reading_absent(READING_PENDING);
    }
    return true;
}

static void describe_table(const struct nvml *n, const struct nvml_query *table, size_t count, const int *refused, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        for (int m = 0; refused[i] && m < table[i].count; m++)
            buf_printf(out, "  %s: %s\n", metric_table[table[i].metrics[m]].json, nvml_words(&n->lib, refused[i]));
}

void query_describe(const struct nvml *n, const struct nvml_card *card, struct buf *out)
{
    describe_table(n, query_fast, ARRAY_LEN(query_fast), card->refused_query, out);
    describe_table(n, query_slow, ARRAY_LEN(query_slow), card->refused_query + NVML_FAST_MAX, out);
}

/* ---- Texts about a card: names, versions, numbers written as text ---- */

static const char *const architectures[] = {NULL,     NULL,     "Kepler",       "Maxwell", "Pascal",   "Volta",
                                            "Turing", "Ampere", "Ada Lovelace", "Hopper",  "Blackwell"};
static const char *const brands[] = {
    NULL,  "Quadro", "Tesla",   "NVS",        "GRID",       "GeForce", "Titan",       "vApps",     "vPC",
    "vCS", "vWS",    "vGaming", "Quadro RTX", "NVIDIA RTX", "NVIDIA",  "GeForce RTX", "Titan RTX",
};
static const char *const virtualizations[] = {"none", "pass-through", "vgpu", "host-vgpu", "host-vsga"};
static const char *const addressing[] = {"none", "hmm", "ats"};

static void word(struct gpu *out, enum property property, int code, unsigned value, const char *const *words, size_t count)
{
    if (code == NVML_OK && value < count && words[value])
        gpu_set_property(out, property, words[value]);
    else
        out->property[property].state = code == NVML_OK ? READING_UNSUPPORTED : nvml_reading_state(code);
}

static void text(struct nvml_card *card, struct gpu *out, enum property property, int (*call)(nvml_device, char *, unsigned))
{
    char answer[NVML_NAME_SIZE] = "";
    int code = call ? call(card->handle, answer, sizeof answer) : NVML_FUNCTION_NOT_FOUND;
    answer[sizeof answer - 1] = '\0';
    if (code == NVML_OK)
        gpu_set_property(out, property, answer);
    else
        out->property[property].state = nvml_reading_state(code);
}

static void one_number(struct nvml_card *card, struct gpu *out, enum property property, int (*call)(nvml_device, unsigned *),
                       const char *const *words, size_t count)
{
    unsigned value = 0;
    int code = call ? call(card->handle, &value) : NVML_FUNCTION_NOT_FOUND;
    word(out, property, code, value, words, count);
}

static void numbers(struct nvml *n, struct nvml_card *card, struct gpu *out)
{
    char answer[GPU_TEXT_SIZE];
    struct nvml_pci_info pci = {0};
    if (NVML(n, pci, card->handle, &pci) == NVML_OK) {
        snprintf(answer, sizeof answer, "%04x:%04x", pci.device_id & 0xffff, pci.device_id >> 16);
        gpu_set_property(out, PROPERTY_pci_device_id, answer);
        snprintf(answer, sizeof answer, "%04x:%04x", pci.subsystem_id & 0xffff, pci.subsystem_id >> 16);
        gpu_set_property(out, PROPERTY_pci_subsystem_id, answer);
    }
    int major = 0, minor = 0;
    if (NVML(n, compute_capability, card->handle, &major, &minor) == NVML_OK) {
        snprintf(answer, sizeof answer, "%d.%d", major, minor);
        gpu_set_property(out, PROPERTY_compute_capability, answer);
    }
    unsigned board = 0;
    if (NVML(n, board_id, card->handle, &board) == NVML_OK) {
        snprintf(answer, sizeof answer, "0x%x", board);
        gpu_set_property(out, PROPERTY_board_id, answer);
    }
}

void about_run(struct nvml *n, struct nvml_card *card, struct gpu *out)
{
    gpu_set_property(out, PROPERTY_driver, "nvidia");
    gpu_set_property(out, PROPERTY_driver_version, n->driver.driver_version);
    gpu_set_property(out, PROPERTY_memory_kind, card->shared_memory ? "shared" : "dedicated");
    text(card, out, PROPERTY_serial, n->lib.serial);
    text(card, out, PROPERTY_vbios_version, n->lib.vbios);
    text(card, out, PROPERTY_part_number, n->lib.part_number);
    text(card, out, PROPERTY_inforom_version, n->lib.inforom_image);
    one_number(card, out, PROPERTY_architecture, n->lib.architecture, architectures, ARRAY_LEN(architectures));
    one_number(card, out, PROPERTY_brand, n->lib.brand, brands, ARRAY_LEN(brands));
    one_number(card, out, PROPERTY_virtualization, n->lib.virtualization, virtualizations, ARRAY_LEN(virtualizations));
    numbers(n, card, out);

    char gsp[NVML_NAME_SIZE] = ""; /* this call takes no length; NVML documents 0x40 */
    if (NVML(n, gsp_version, card->handle, gsp) == NVML_OK)
        gpu_set_property(out, PROPERTY_gsp_firmware, gsp);

    struct nvml_flag mode = {.version = NVML_VERSION(struct nvml_flag, 1)};
    int code = NVML(n, addressing_mode, card->handle, &mode);
    word(out, PROPERTY_addressing_mode, code, mode.value, addressing, ARRAY_LEN(addressing));
}
