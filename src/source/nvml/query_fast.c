/* SPDX-License-Identifier: Apache-2.0
 * Queries of the fast group: what people watch. Every call was measured: NVML answers most from its cache in under a microsecond.
 * PcieThroughput (20 ms, blocking) and the energy counter (3 ms) don't belong here.
 */
#include "source/nvml/internal.h"

#include <limits.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/sysfs/shared_memory.h"

enum { PERCENT = 10, DEGREE = 1000, MHZ = 1000 };

static int ask_utilization(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.utilization)
        return NVML_FUNCTION_NOT_FOUND;
    struct nvml_utilization u = {0};
    int code = n->lib.utilization(card->handle, &u);
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

static int ask_memory(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
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

static int ask_temperature(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    if (!n->lib.temperature)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned degrees = 0;
    int code = n->lib.temperature(card->handle, kind, &degrees);
    /* It may be below zero in a cold room; all bits set isn't a temperature. */
    values[0] = (degrees == UINT_MAX ? (int64_t)degrees : (int64_t)(int)degrees) * DEGREE;
    return code;
}

/* Drivers before R615 know no sensor but the chip's, and refuse this one once. It can't be cooler than the chip. */
static int ask_hottest(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    enum { APART = 5 }; /* of two moments */
    struct nvml_temperature spot = {.version = NVML_VERSION(struct nvml_temperature, 1), .sensor = NVML_SENSOR_HOTTEST};
    int64_t chip = 0;
    unsigned degrees = 0;
    int code = n->lib.temperature_of ? n->lib.temperature_of(card->handle, &spot) : NVML_FUNCTION_NOT_FOUND;
    if (nvml_is_final(code) && n->lib.temperature) {
        code = n->lib.temperature(card->handle, NVML_SENSOR_HOTTEST, &degrees);
        spot.celsius = (int)degrees;
    }
    values[0] = (int64_t)spot.celsius * DEGREE;
    if (code == NVML_OK && ask_temperature(n, card, NVML_SENSOR_GPU, &chip) == NVML_OK && values[0] < chip - APART * DEGREE)
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

static int ask_fan_percent(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    int count = fans(n, card), code = NVML_NOT_SUPPORTED;
    for (int i = 0; i < count; i++) {
        unsigned percent = 0;
        code = n->lib.fan_speed      ? n->lib.fan_speed(card->handle, (unsigned)i, &percent)
               : n->lib.fan_speed_v1 ? n->lib.fan_speed_v1(card->handle, &percent)
                                     : NVML_FUNCTION_NOT_FOUND;
        if (code != NVML_OK)
            return code;
        values[0] = MAX_OF(values[0], (int64_t)percent * PERCENT);
    }
    return code;
}

static int ask_fan_rpm(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    int count = fans(n, card), code = NVML_NOT_SUPPORTED;
    if (count == 0)
        return laptop_fan_rpm(n, &values[0]);
    for (int i = 0; i < count; i++) {
        struct nvml_fan_rpm fan = {.version = NVML_VERSION(struct nvml_fan_rpm, 1), .fan = (unsigned)i};
        code = n->lib.fan_rpm ? n->lib.fan_rpm(card->handle, &fan) : NVML_FUNCTION_NOT_FOUND;
        if (code != NVML_OK)
            return code;
        values[0] = MAX_OF(values[0], (int64_t)fan.rpm);
    }
    return code;
}

/* Prefer the instantaneous power, to match the instantaneous utilization: since Ampere the plain call is a mean over a second,
 * 626 W for an H200 whose work ended 0.3 s ago. Energy uses the means, from the same call. On Grace superchips the plain call
 * may be missing: use the GPU's scope, and last that of the whole module. */
static int ask_power(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
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
        else if ((code = n->lib.power ? n->lib.power(card->handle, &mw) : NVML_FUNCTION_NOT_FOUND) == NVML_OK)
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

static int ask_pstate(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.pstate)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned state = 0;
    int code = n->lib.pstate(card->handle, &state);
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

static int ask_throttle(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.throttle)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned long long reasons = 0;
    int code = n->lib.throttle(card->handle, &reasons);
    values[0] = reasons >> ARRAY_LEN(nvml_reasons) ? THROTTLE_OTHER : 0;
    for (size_t i = 0; i < ARRAY_LEN(nvml_reasons); i++)
        if (reasons >> i & 1)
            values[0] |= nvml_reasons[i];
    return code;
}

const struct nvml_query query_fast[] = {
    OWN("utilization", ask_utilization, 0, METRIC_util_permille, METRIC_mem_util_permille),
    PERIOD(encoder, PERCENT, METRIC_encoder_permille),
    PERIOD(decoder, PERCENT, METRIC_decoder_permille),
    PERIOD(jpeg, PERCENT, METRIC_jpeg_permille),
    PERIOD(ofa, PERCENT, METRIC_ofa_permille),
    OWN("memory", ask_memory, 0, METRIC_mem_total_bytes, METRIC_mem_used_bytes, METRIC_mem_free_bytes, METRIC_mem_reserved_bytes),
    OWN("temperature", ask_temperature, 0, METRIC_temp_mdegc),
    OWN("temperature_of", ask_hottest, 0, METRIC_temp_hotspot_mdegc),
    OWN("fan_speed", ask_fan_percent, 0, METRIC_fan_permille),
    OWN("fan_rpm", ask_fan_rpm, 0, METRIC_fan_rpm),
    OWN("power", ask_power, 0, METRIC_power_mw, METRIC_power_instant_mw, METRIC_power_average_mw),
    PLAIN(power_limit, 1, METRIC_power_limit_mw),
    OWN("pstate", ask_pstate, 0, METRIC_pstate),
    KIND(clock, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_graphics_khz),
    KIND(clock, NVML_CLOCK_SM, MHZ, METRIC_clock_sm_khz),
    KIND(clock, NVML_CLOCK_MEM, MHZ, METRIC_clock_memory_khz),
    KIND(clock, NVML_CLOCK_VIDEO, MHZ, METRIC_clock_video_khz),
    OWN("throttle", ask_throttle, 0, METRIC_throttle_bits),
};
static_assert(ARRAY_LEN(query_fast) <= NVML_FAST_MAX, "more queries than a GPU has room for");
const size_t query_fast_count = ARRAY_LEN(query_fast);
