/* SPDX-License-Identifier: Apache-2.0
 * Sees changes, names them, and measures what came with them.
 */
#include "insight/baseline/changes.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/str.h"
#include "base/units.h"
#include "base/words.h"
#include "insight/facts/levels.h"

enum { IDLE_ROWS_LEAST = 10, LANE_ROWS_LEAST = 3 };

static const struct {
    const char *name, *key, *words, *unit; /* words: "" where change_words has its own */
    bool setting;                          /* of a person or a tool: it counts once it holds */
} kinds[CHANGE_COUNT] = {
    [CHANGE_DRIVER] = {"driver", "driver_version", "the driver", "", false},
    [CHANGE_FIRMWARE] = {"firmware", "vbios_version", "its firmware", "", false},
    [CHANGE_KERNEL] = {"kernel", "watched_kernel", "the kernel", "", false},
    [CHANGE_BIOS] = {"bios", "watched_bios", "the BIOS", "", false},
    [CHANGE_SLOT] = {"slot", "watched_slot", "its PCI address", "", false},
    [CHANGE_LANES] = {"lanes", "pcie_width_max", "", "", false},
    [CHANGE_GENERATION] = {"generation", "pcie_generation_max", "", "", false},
    [CHANGE_DISPLAY] = {"display", "watched_display", "", "", true},
    [CHANGE_POWER_LIMIT] = {"power_limit", "watched_power_limit", "its power limit", " W", true},
    [CHANGE_PERSISTENCE] = {"persistence", "watched_persistence", "", "", true},
    [CHANGE_CLOCK] = {"clock", "watched_clock", "its application clock", " MHz", true},
    [CHANGE_MEMORY_CLOCK] = {"memory_clock", "watched_memory_clock", "its application memory clock", " MHz", true},
};

const char *change_name(enum change_code code)
{
    return kinds[code].name;
}

const char *change_key(enum change_code code)
{
    return kinds[code].key;
}

bool change_is_fact(enum change_code code)
{
    return !str_starts(str_from(kinds[code].key), "watched_");
}

void changes_add(struct changes *c, const struct gpu_change *change)
{
    if (c->count == CHANGES_MAX) {
        c->count--;
        memmove(&c->list[0], &c->list[1], c->count * sizeof c->list[0]);
    }
    c->list[c->count++] = *change;
}

/* ---- values ---- */

/* The limit in force follows heat and load on some GPUs; the one that was asked for is the setting. */
static struct reading limit_of(const struct gpu *gpu)
{
    enum reading_state asked = gpu->power_limit_requested_mw.state;
    return asked == READING_UNSUPPORTED || asked == READING_FAILED ? gpu->power_limit_mw : gpu->power_limit_requested_mw;
}

static struct reading number_of(enum change_code code, const struct gpu *gpu)
{
    switch (code) {
    case CHANGE_LANES: return gpu->pcie_width_max;
    case CHANGE_GENERATION: return gpu->pcie_generation_max;
    case CHANGE_DISPLAY: return gpu->display_active;
    case CHANGE_POWER_LIMIT: return limit_of(gpu);
    case CHANGE_PERSISTENCE: return gpu->persistence_mode;
    case CHANGE_CLOCK: return gpu->clock_app_graphics_khz;
    case CHANGE_MEMORY_CLOCK: return gpu->clock_app_memory_khz;
    default: return reading_absent(READING_UNREAD);
    }
}

/* The text of a value, and "" for one that is not read. */
static const char *text_of(enum change_code code, const struct host *host, const struct gpu *gpu)
{
    switch (code) {
    case CHANGE_DRIVER: return gpu->driver_version.state == READING_OK ? gpu->driver_version.value : "";
    case CHANGE_FIRMWARE: return gpu->vbios_version.state == READING_OK ? gpu->vbios_version.value : "";
    case CHANGE_KERNEL: return host->kernel;
    case CHANGE_BIOS: return host->bios;
    case CHANGE_SLOT: return gpu->id.pci_address;
    default: return NULL;
    }
}

/* The limit of a laptop moves all the time. */
static bool is_setting_of(enum change_code code, const struct gpu *gpu)
{
    return code != CHANGE_POWER_LIMIT || !cooling_is_shared(gpu);
}

static int64_t whole_of(enum change_code code, int64_t number)
{
    return kinds[code].unit[0] ? words_whole(number, 1000) : number;
}

bool change_value(enum change_code code, const struct host *host, const struct gpu *gpu, char out[CHANGE_VALUE_SIZE])
{
    const char *text = text_of(code, host, gpu);
    struct reading number = number_of(code, gpu);
    out[0] = '\0';
    if (text)
        str_copy(out, CHANGE_VALUE_SIZE, str_from(text));
    else if (number.state == READING_OK && is_setting_of(code, gpu))
        snprintf(out, CHANGE_VALUE_SIZE, "%lld", (long long)whole_of(code, number.value));
    return out[0] != '\0';
}

static uint32_t hash_of(enum change_code code, const struct host *host, const struct gpu *gpu)
{
    const char *text = text_of(code, host, gpu);
    struct reading number = number_of(code, gpu);
    uint32_t hash = 2166136261u;
    if (!text)
        return number.state == READING_OK && is_setting_of(code, gpu) ? (uint32_t)whole_of(code, number.value) + 1 : 0;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return text[0] ? hash : 0;
}

bool values_differ(struct values_seen *seen, const struct snapshot *s)
{
    bool differ = false;
    for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++)
        for (int code = 0; code < CHANGE_COUNT; code++) {
            uint32_t hash = hash_of((enum change_code)code, &s->host, &s->gpus[i]);
            if (!hash)
                continue;
            differ |= seen->hash[i][code] != hash;
            seen->hash[i][code] = hash;
        }
    return differ;
}

/* ---- one GPU, sample by sample ---- */

static bool holds(struct watched_value *v, enum change_code code, const char *value, struct wall at)
{
    if (strcmp(v->next, value) != 0) {
        str_copy(v->next, sizeof v->next, str_from(value));
        v->next_since = at;
    }
    return !kinds[code].setting || at.ms - v->next_since.ms >= CHANGE_HOLD_MS;
}

static bool is_news(struct watched_value *v, struct wall at)
{
    if (at.ms - v->day.ms >= DAY_MS || at.ms < v->day.ms) {
        v->day = at;
        v->today = 0;
    }
    return ++v->today <= CHANGES_A_DAY;
}

enum change_seen change_watch_see(struct change_watch *w, enum change_code code, const struct host *host, const struct gpu *gpu,
                                  struct wall at, struct gpu_change *ret)
{
    struct watched_value *v = &w->values[code];
    const char *text = text_of(code, host, gpu);
    struct reading number = text ? reading_absent(READING_UNREAD) : number_of(code, gpu);
    char value[CHANGE_VALUE_SIZE];
    if (gpu->state != GPU_OK)
        return WATCHED_SAME;
    /* Every sample comes here: no text is made of what is as it was. */
    if (text ? text[0] && strcmp(v->known, text) == 0 : v->has_number && number.state == READING_OK && number.value == v->number) {
        v->next[0] = '\0';
        return WATCHED_SAME;
    }
    if (!change_value(code, host, gpu, value))
        return WATCHED_SAME;
    if (strcmp(v->known, value) == 0) {
        v->next[0] = '\0';
        v->has_number = number.state == READING_OK;
        v->number = number.value;
        return WATCHED_SAME;
    }
    /* What a lease holds for a time is no value of the GPU: afterwards the one from before is back. */
    if (!holds(v, code, value, at) || (kinds[code].setting && gpu->settings.id[0]))
        return WATCHED_SAME;
    bool first = !v->known[0];
    *ret = (struct gpu_change){.id = gpu->id, .code = code, .since = v->next_since};
    str_copy(ret->before, sizeof ret->before, str_from(v->known));
    str_copy(ret->after, sizeof ret->after, str_from(value));
    str_copy(v->known, sizeof v->known, str_from(value));
    v->next[0] = '\0';
    v->has_number = false;
    return first ? WATCHED_FIRST : is_news(v, at) ? WATCHED_CHANGED : WATCHED_QUIETLY;
}

/* ---- what came with it ---- */

struct side {
    int64_t power_mw, idle_rows, lanes, lane_rows;
};

static void side_take(struct side *side, const struct change_row *row, bool idle)
{
    int64_t power, lanes;
    if (idle && reading_get(row->power_mw, &power)) {
        side->power_mw += power;
        side->idle_rows++;
    }
    if (reading_get(row->lanes, &lanes)) {
        side->lanes = MAX_OF(side->lanes, lanes);
        side->lane_rows++;
    }
}

static void side_conclude(const struct side *side, struct reading *idle_mw, struct reading *lanes)
{
    if (side->idle_rows >= IDLE_ROWS_LEAST)
        *idle_mw = reading_ok(side->power_mw / side->idle_rows);
    if (side->lane_rows >= LANE_ROWS_LEAST)
        *lanes = reading_ok(side->lanes);
}

void change_measure(struct gpu_change *c, const struct change_row *rows, size_t count)
{
    struct side before = {0}, since = {0};
    for (size_t i = 1; i < count; i++) {
        int64_t util = IDLE_MAX + 1, earlier = IDLE_MAX + 1;
        reading_get(rows[i].util_permille, &util);
        reading_get(rows[i - 1].util_permille, &earlier);
        /* The minute after a working one still cools down; the one of the change is of both sides. */
        bool idle = util <= IDLE_MAX && earlier <= IDLE_MAX;
        if (rows[i].at.ms + MINUTE_MS <= c->since.ms)
            side_take(&before, &rows[i], idle);
        else if (rows[i].at.ms >= c->since.ms + MINUTE_MS)
            side_take(&since, &rows[i], idle);
    }
    side_conclude(&before, &c->idle_before_mw, &c->lanes_before);
    side_conclude(&since, &c->idle_since_mw, &c->lanes_since);
}

/* ---- words ---- */

const char *change_words(const struct gpu_change *c, char out[CHANGE_WORDS])
{
    bool on = strcmp(c->after, "0") != 0;
    const char *unit = kinds[c->code].unit;
    switch (c->code) {
    case CHANGE_PERSISTENCE: snprintf(out, CHANGE_WORDS, "persistence mode was turned %s", on ? "on" : "off"); break;
    case CHANGE_DISPLAY: snprintf(out, CHANGE_WORDS, on ? "it got a display" : "its display went away"); break;
    case CHANGE_LANES:
        snprintf(out, CHANGE_WORDS, "the lanes that its PCIe slot offers went from %s to %s", c->before, c->after);
        break;
    case CHANGE_GENERATION:
        snprintf(out, CHANGE_WORDS, "the generation that its PCIe slot offers went from %s to %s", c->before, c->after);
        break;
    default: snprintf(out, CHANGE_WORDS, "%s went from %s%s to %s%s", kinds[c->code].words, c->before, unit, c->after, unit); break;
    }
    return out;
}

const char *change_when(const struct gpu_change *c, struct wall now, char out[CHANGE_WHEN])
{
    char at[MOMENT_TEXT_SIZE];
    moment_format(c->since, now, at);
    char *clock = strrchr(at, ' ');
    if (clock)
        *clock = '\0'; /* "Nov 12 14:05": the day is enough */
    snprintf(out, CHANGE_WHEN, "%s %s", clock ? "on" : "at", at);
    return out;
}
