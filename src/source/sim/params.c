/* SPDX-License-Identifier: Apache-2.0
 * Parses "gpus=8,scenario=training,fault=lost@3:60" into a host: the catalog of cards and the parameters; faults.c has the faults.
 * Refuses unknown words and suggests the nearest.
 */
#include "source/sim/sim_job.h"

#include <errno.h>
#include <math.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "source/sim/sim.h"

/* ---- The catalog. Thermal figures make a card under full load settle where reviews measured it. */

/* clang-format off */
static const struct sim_card catalogue[] = {
    {.key = "rtx4090", .name = "NVIDIA GeForce RTX 4090", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ada Lovelace",
     .brand = "GeForce", .compute = "8.9", .pci_id = "10de:2684", .subsystem = "10de:16f4",
     .units = 128, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_VIDEO | CARD_ENERGY | CARD_DISPLAY,
     .vram = 24564, .reserved = 432, .bar1 = 32768, .idle_w = 21, .tdp_w = 450, .min_w = 150, .max_w = 600,
     .clock_idle = 210, .clock_max = 3105, .mem_clock_idle = 405, .mem_clock_max = 10501, .video_clock_max = 2415,
     .slowdown = 95, .shutdown = 98, .target = 84, .fans = 2, .fan_rpm_max = 3200, .fan_stops = true,
     .conductance = 2.4, .conductance_fan = 14.5, .die_k_per_w = 0.022, .capacity = 560},
    {.key = "h100", .name = "NVIDIA H100 80GB HBM3", .vendor = "nvidia", .driver = "nvidia", .architecture = "Hopper",
     .brand = "NVIDIA", .compute = "9.0", .pci_id = "10de:2330", .subsystem = "10de:16c1",
     .units = 132, .nvlinks = 18, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_GPM | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG | CARD_MARGIN,
     .vram = 81559, .reserved = 540, .bar1 = 131072, .idle_w = 69, .tdp_w = 700, .min_w = 200, .max_w = 700,
     .clock_idle = 345, .clock_max = 1980, .mem_clock_idle = 2619, .mem_clock_max = 2619, .video_clock_max = 1545,
     .slowdown = 89, .shutdown = 95, .target = 87, .conductance = 17.5, .die_k_per_w = 0.010, .capacity = 1250},
    {.key = "rtx3060", .name = "NVIDIA GeForce RTX 3060", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ampere",
     .brand = "GeForce", .compute = "8.6", .pci_id = "10de:2504", .subsystem = "1462:397d",
     .units = 28, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_VIDEO | CARD_ENERGY | CARD_DISPLAY,
     .vram = 12288, .reserved = 318, .bar1 = 16384, .idle_w = 13, .tdp_w = 170, .min_w = 100, .max_w = 212,
     .clock_idle = 210, .clock_max = 2130, .mem_clock_idle = 405, .mem_clock_max = 7501, .video_clock_max = 1950,
     .slowdown = 95, .shutdown = 98, .target = 83, .fans = 2, .fan_rpm_max = 3000, .fan_stops = true,
     .conductance = 1.1, .conductance_fan = 5.4, .die_k_per_w = 0.035, .capacity = 260},
    {.key = "h200", .name = "NVIDIA H200", .vendor = "nvidia", .driver = "nvidia", .architecture = "Hopper",
     .brand = "NVIDIA", .compute = "9.0", .pci_id = "10de:2335", .subsystem = "10de:18bf",
     .units = 132, .nvlinks = 18, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_GPM | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG | CARD_MARGIN,
     .vram = 143771, .reserved = 615, .bar1 = 262144, .idle_w = 76, .tdp_w = 700, .min_w = 200, .max_w = 700,
     .clock_idle = 345, .clock_max = 1980, .mem_clock_idle = 3201, .mem_clock_max = 3201, .video_clock_max = 1545,
     .slowdown = 89, .shutdown = 95, .target = 87, .conductance = 17.0, .die_k_per_w = 0.010, .capacity = 1300},
    {.key = "a100", .name = "NVIDIA A100-SXM4-80GB", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ampere",
     .brand = "NVIDIA", .compute = "8.0", .pci_id = "10de:20b2", .subsystem = "10de:147f",
     .units = 108, .nvlinks = 12, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG,
     .vram = 81920, .reserved = 680, .bar1 = 131072, .idle_w = 62, .tdp_w = 400, .min_w = 100, .max_w = 400,
     .clock_idle = 210, .clock_max = 1410, .mem_clock_idle = 1593, .mem_clock_max = 1593, .video_clock_max = 1275,
     .slowdown = 92, .shutdown = 95, .target = 85, .conductance = 11.5, .die_k_per_w = 0.012, .capacity = 900},
    {.key = "l4", .name = "NVIDIA L4", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ada Lovelace",
     .brand = "NVIDIA", .compute = "8.9", .pci_id = "10de:27b8", .subsystem = "10de:16ca",
     .units = 58, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_VIDEO | CARD_ENERGY,
     .vram = 23034, .reserved = 372, .bar1 = 32768, .idle_w = 13, .tdp_w = 72, .min_w = 40, .max_w = 72,
     .clock_idle = 210, .clock_max = 2040, .mem_clock_idle = 405, .mem_clock_max = 6251, .video_clock_max = 1770,
     .slowdown = 90, .shutdown = 97, .target = 83, .conductance = 1.75, .die_k_per_w = 0.05, .capacity = 160},
    {.key = "rx7900xtx", .name = "AMD Radeon RX 7900 XTX", .vendor = "amd", .driver = "amdgpu", .architecture = "RDNA 3",
     .brand = "Radeon", .compute = "gfx1100", .pci_id = "1002:744c", .subsystem = "1da2:471e",
     .units = 96, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_MEM_TEMP | CARD_HOTSPOT | CARD_DISPLAY | CARD_VOLTAGE,
     .vram = 24560, .idle_w = 16, .tdp_w = 327, .min_w = 294, .max_w = 376,
     .clock_idle = 33, .clock_max = 2680, .mem_clock_idle = 96, .mem_clock_max = 1249, .video_clock_max = 2200,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3200, .fan_stops = true,
     .conductance = 2.0, .conductance_fan = 13.0, .die_k_per_w = 0.016, .capacity = 480},
    {.key = "mi300x", .name = "AMD Instinct MI300X", .vendor = "amd", .driver = "amdgpu", .architecture = "CDNA 3",
     .brand = "Instinct", .compute = "gfx942", .pci_id = "1002:74a1", .subsystem = "1002:74a1",
     .units = 304, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_MEM_TEMP | CARD_HOTSPOT | CARD_ENERGY | CARD_VOLTAGE,
     .vram = 196592, .idle_w = 138, .tdp_w = 750, .min_w = 0, .max_w = 750,
     .clock_idle = 132, .clock_max = 2100, .mem_clock_idle = 900, .mem_clock_max = 1300, .video_clock_max = 1700,
     .slowdown = 100, .shutdown = 105, .target = 95, .conductance = 18.0, .die_k_per_w = 0.012, .capacity = 1500},
    {.key = "rx6600", .name = "AMD Radeon RX 6600", .vendor = "amd", .driver = "amdgpu", .architecture = "RDNA 2",
     .brand = "Radeon", .compute = "gfx1032", .pci_id = "1002:73ff", .subsystem = "1849:5219",
     .units = 28, .pcie_generation = 4, .pcie_width = 8,
     .abilities = CARD_MEM_TEMP | CARD_HOTSPOT | CARD_DISPLAY | CARD_VOLTAGE,
     .vram = 8176, .idle_w = 5, .tdp_w = 100, .min_w = 94, .max_w = 120,
     .clock_idle = 0, .clock_max = 2750, .mem_clock_idle = 96, .mem_clock_max = 875, .video_clock_max = 2100,
     .slowdown = 100, .shutdown = 105, .target = 80, .fans = 1, .fan_rpm_max = 3100, .fan_stops = true,
     .conductance = 0.8, .conductance_fan = 3.4, .die_k_per_w = 0.05, .capacity = 170},
    {.key = "a770", .name = "Intel Arc A770", .vendor = "intel", .driver = "i915", .architecture = "Alchemist",
     .brand = "Arc", .compute = "", .pci_id = "8086:56a0", .subsystem = "8086:1020",
     .units = 512, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ENERGY | CARD_DISPLAY,
     .vram = 16288, .idle_w = 38, .tdp_w = 190, .min_w = 0, .max_w = 228,
     .clock_idle = 600, .clock_max = 2400, .mem_clock_idle = 0, .mem_clock_max = 0, .video_clock_max = 0,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3400,
     .conductance = 1.3, .conductance_fan = 6.2, .die_k_per_w = 0.03, .capacity = 300},
    {.key = "b580", .name = "Intel Arc B580", .vendor = "intel", .driver = "xe", .architecture = "Battlemage",
     .brand = "Arc", .compute = "", .pci_id = "8086:e20b", .subsystem = "8086:1100",
     .units = 160, .pcie_generation = 4, .pcie_width = 8,
     .abilities = CARD_ENERGY | CARD_MEM_TEMP | CARD_DISPLAY,
     .vram = 12216, .idle_w = 14, .tdp_w = 190, .min_w = 0, .max_w = 190,
     .clock_idle = 400, .clock_max = 2850, .mem_clock_idle = 0, .mem_clock_max = 0, .video_clock_max = 0,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3300, .fan_stops = true,
     .conductance = 1.3, .conductance_fan = 6.4, .die_k_per_w = 0.03, .capacity = 290},
};
/* clang-format on */

/* By key, or by part of the name; NULL: unknown. */
static const struct sim_card *card_find(struct str what)
{
    char text[64];
    str_copy(text, sizeof text, what);
    for (size_t i = 0; i < ARRAY_LEN(catalogue); i++)
        if (strcasecmp(catalogue[i].key, text) == 0)
            return &catalogue[i];
    for (size_t i = 0; what.len >= 3 && i < ARRAY_LEN(catalogue); i++)
        if (strcasestr(catalogue[i].name, text))
            return &catalogue[i];
    return NULL;
}

const char *sim_card(size_t number, const char **full_name)
{
    if (number >= ARRAY_LEN(catalogue))
        return NULL;
    if (full_name)
        *full_name = catalogue[number].name;
    return catalogue[number].key;
}

/* ---- Words and numbers ---- */

enum { NAME_SIZE = 48 };

static const char *const parameter_names[] = {"gpus", "scenario", "seed", "speed", "start", "vendor", "model", "fault", "npus"};
static const char *const vendor_names[] = {"mixed", "nvidia", "amd", "intel"};

int sim_refuse(struct error *err, const char *what, struct str given, const char *const *names, size_t count)
{
    char text[NAME_SIZE];
    str_copy_clean(text, sizeof text, given);
    const char *nearest = nearest_name(text, names, count);
    AUTO_BUF struct buf known = BUF(400);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
    if (nearest)
        return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; did you mean '%s'?", what, text, nearest);
    if (known.failed)
        return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; `whirr sim` lists them", what, text);
    return error_set(err, -EINVAL, "unknown %s '%s' of the simulator; known: %s", what, text, known.at);
}

int sim_number(struct error *err, const char *name, struct str text, double least, double most, double *ret)
{
    double value;
    if (!str_to_double(text, &value) || value < least || value > most)
        return error_set(err, -EINVAL, "sim: %s='" STR_FMT "' must be a number from %g to %g", name, STR_ARG(text), least, most);
    *ret = value;
    return 0;
}

/* ---- Parameters ---- */

static int set_scenario(struct sim_world *w, struct str name, struct error *err)
{
    const struct sim_scenario *all;
    size_t count = sim_scenarios(&all);
    const char *names[96];
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, all[i].name)) {
            w->scenario = &all[i];
            return 0;
        }
        names[MIN_OF(i, ARRAY_LEN(names) - 1)] = all[i].name;
    }
    return sim_refuse(err, "scenario", name, names, MIN_OF(count, ARRAY_LEN(names)));
}

static bool is_vendor(struct str s)
{
    return NAME_IN(vendor_names, s);
}

/* The n-th card of a vendor, cyclically. */
static const struct sim_card *nth_of_vendor(const char *vendor, int n)
{
    const struct sim_card *of[ARRAY_LEN(catalogue)];
    size_t found = 0;
    for (size_t i = 0; i < ARRAY_LEN(catalogue); i++)
        if (strcmp(catalogue[i].vendor, vendor) == 0)
            of[found++] = &catalogue[i];
    return of[(size_t)n % found];
}

/* Fills w->card. A mixed host lists its NVIDIA cards first, as every host does. */
static void deal_cards(struct sim_world *w, const char *what)
{
    const struct sim_card *one = card_find(str_from(what));
    if (one && !is_vendor(str_from(what))) {
        for (int i = 0; i < w->gpus; i++)
            w->card[i] = one;
        return;
    }
    if (strcmp(what, "mixed") != 0) {
        for (int i = 0; i < w->gpus; i++)
            w->card[i] = nth_of_vendor(what, i);
        return;
    }
    int nvidia = (w->gpus + 1) / 2;
    for (int i = 0; i < w->gpus; i++) {
        int other = i - nvidia;
        w->card[i] = i < nvidia ? nth_of_vendor("nvidia", i) : nth_of_vendor(other % 2 ? "intel" : "amd", other / 2);
    }
}

struct requests {
    double gpus, npus, start;
    char cards[NAME_SIZE];
};

static int set(struct sim_world *w, struct requests *requests, struct str name, struct str value, struct error *err)
{
    if (str_is(name, "gpus")) {
        int r = sim_number(err, "gpus", value, 1, GPU_MAX, &requests->gpus);
        if (r == 0 && requests->gpus != floor(requests->gpus))
            return error_set(err, -EINVAL, "sim: gpus='" STR_FMT "' must be a whole number", STR_ARG(value));
        return r;
    }
    if (str_is(name, "npus"))
        return sim_number(err, "npus", value, 0, GPU_MAX - 1, &requests->npus);
    if (str_is(name, "scenario"))
        return set_scenario(w, value, err);
    if (str_is(name, "seed")) {
        uint64_t seed;
        if (!str_to_u64(value, &seed))
            return error_set(err, -EINVAL, "sim: seed='" STR_FMT "' must be a whole number", STR_ARG(value));
        w->seed = seed;
        return 0;
    }
    if (str_is(name, "speed"))
        return sim_number(err, "speed", value, 0.001, 10000, &w->speed);
    if (str_is(name, "start"))
        return sim_number(err, "start", value, 0, 31 * 86400, &requests->start);
    if (str_is(name, "fault"))
        return sim_add_fault(w, value, err);
    if (str_is(name, "vendor")) {
        if (!is_vendor(value))
            return sim_refuse(err, "vendor", value, vendor_names, ARRAY_LEN(vendor_names));
        str_copy(requests->cards, sizeof requests->cards, value);
        return 0;
    }
    if (str_is(name, "model")) {
        const char *names[32];
        size_t count = 0;
        while (count < ARRAY_LEN(names) && (names[count] = sim_card(count, NULL)))
            count++;
        const struct sim_card *card = card_find(value);
        if (!card)
            return sim_refuse(err, "model", value, names, count);
        str_copy(requests->cards, sizeof requests->cards, str_from(card->key));
        return 0;
    }
    return sim_refuse(err, "parameter", name, parameter_names, ARRAY_LEN(parameter_names));
}

int sim_world_parse(const char *params, struct sim_world *ret, struct error *err)
{
    const struct sim_scenario *all;
    sim_scenarios(&all);
    struct sim_world w = {.scenario = &all[0], .seed = 1, .speed = 1};
    struct requests requests = {.gpus = 0, .start = -1};
    struct str rest = str_from(params), part;
    while (str_cut(&rest, ',', &part)) {
        part = str_trim(part);
        if (!part.len)
            continue;
        struct str value = part, name;
        str_cut(&value, '=', &name);
        int r = set(&w, &requests, str_trim(name), str_trim(value), err);
        if (r < 0)
            return r;
    }
    w.gpus = requests.gpus ? (int)requests.gpus : w.scenario->gpus;
    w.npus = MIN_OF((int)requests.npus, GPU_MAX - w.gpus);
    w.start_s = requests.start >= 0 ? requests.start : w.scenario->begin_s;
    /* Fault times count from where the scenario is entered. */
    for (size_t i = 0; i < w.fault_count; i++) {
        struct sim_condition *c = &w.faults[i];
        c->when.from += w.start_s;
        if (c->when.to > 0)
            c->when.to += w.start_s;
        if (c->where.every && c->where.nth >= w.gpus + w.npus)
            return error_set(err, -EINVAL, "sim: a fault is asked for on GPU %d, but there are %d (from 0)", c->where.nth, w.gpus);
    }
    deal_cards(&w, requests.cards[0] ? requests.cards : w.scenario->cards);
    *ret = w;
    return 0;
}
