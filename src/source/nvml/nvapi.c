/* SPDX-License-Identifier: Apache-2.0
 * Hot spot and memory temperature of GeForce cards from NVIDIA's other library, libnvidia-api.so.1. Its query of thermal sensors
 * is undocumented: others found it out, and none of it was checked on hardware here. Hence it is off unless
 * sampling.nvidia_api asks for it, serves only where NVML has no such reading, and believes only what is plausible.
 *
 * Which sensor is which depends on the chips, as reports about LACT, MangoHud and LibreHardwareMonitor agree:
 *   hot spot  sensor 9 up to Ada; on Blackwell that one is the chip itself
 *   memory    sensor 15 of Ada with GDDR6X; Ampere's is 15, 16 or 17, on which reports contradict each other
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/driver_places.h"
#include "source/nvml/internal.h"

enum { API_INITIALIZE = 0x0150e828, API_BUS = 0x1be0b8e5, API_THERMALS = 0x65fe3aad };
static const unsigned api_unload = 0xd22bdd7e, api_gpus = 0xe5ac921f;
enum { API_GPUS = 64, API_SENSORS = 40, API_HOT_SPOT = 9, API_MEMORY = 15, API_DEGREE = 256 };

struct api_thermals {
    unsigned version; /* size, and the number of the version above it */
    int mask;
    int values[API_SENSORS];
};
static_assert(sizeof(struct api_thermals) == 168, "the size is part of the query");

struct nvapi {
    void *library;
    char place[PATH_SIZE];
    void *(*query)(unsigned id);
    int (*thermals)(void *gpu, struct api_thermals *);
    bool open;
    size_t count;
    struct {
        void *gpu;
        unsigned bus;
        int mask; /* 0: it tells nothing */
    } gpus[API_GPUS];
};

static bool ask(const struct nvapi *a, void *gpu, int mask, struct api_thermals *ret)
{
    *ret = (struct api_thermals){.version = sizeof *ret | 2u << 16, .mask = mask};
    return a->thermals(gpu, ret) == 0;
}

/* A mask with a sensor that the card lacks is refused: the first refused bit ends it. */
static int sensors_of(const struct nvapi *a, void *gpu)
{
    struct api_thermals t;
    int mask = 0;
    for (int bit = 0; bit < 31 && ask(a, gpu, 1 << bit, &t); bit++)
        mask |= 1 << bit;
    return mask;
}

/* True if the library has it. */
static bool function(const struct nvapi *a, unsigned id, void *to)
{
    void *found = a->query(id);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

static void find_gpus(struct nvapi *a)
{
    int (*gpus)(void **, unsigned *), (*bus)(void *, unsigned *);
    void *all[API_GPUS] = {0};
    unsigned count = 0;
    if (!function(a, api_gpus, &gpus) || !function(a, API_BUS, &bus) || !function(a, API_THERMALS, &a->thermals) ||
        gpus(all, &count) != 0)
        return;
    for (unsigned i = 0; i < count && i < API_GPUS; i++) {
        a->gpus[a->count].gpu = all[i];
        if (bus(all[i], &a->gpus[a->count].bus) == 0)
            a->gpus[a->count++].mask = sensors_of(a, all[i]);
    }
}

static struct nvapi *load(struct nvml *n)
{
    struct nvapi *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->library = place_load_library(n->env, n->env->nvapi_library, a->place, NULL);
    const struct library_symbol symbol = {"nvapi_QueryInterface", &a->query, .optional = false};
    if (a->library && library_symbols(a->library, &symbol, 1, NULL) < 0)
        a->library = NULL;
    return a;
}

/* It opens every card of the host, those that we may not touch, too. */
static bool may_open(const struct nvml *n)
{
    for (size_t i = 0; i < n->card_count; i++)
        if (n->cards[i].asleep || n->cards[i].resting)
            return false;
    return n->hidden == 0;
}

void nvapi_close(struct nvml *n)
{
    int (*unload)(void);
    if (!n->nvapi || !n->nvapi->open)
        return;
    if (function(n->nvapi, api_unload, &unload))
        unload();
    n->nvapi->open = false;
    n->nvapi->count = 0;
}

void nvapi_done(struct nvml *n)
{
    nvapi_close(n);
    free(TAKE(n->nvapi));
}

void nvapi_refresh(struct nvml *n)
{
    int (*initialize)(void);
    if (!n->env->nvapi_library)
        return;
    if (!may_open(n)) {
        nvapi_close(n);
        return;
    }
    if (!n->nvapi)
        n->nvapi = load(n);
    struct nvapi *a = n->nvapi;
    if (!a || !a->library || a->open || !function(a, API_INITIALIZE, &initialize) || initialize() != 0)
        return;
    a->open = true;
    find_gpus(a);
}

/* The library knows cards by the number of their bus alone: two of one number can't be told apart. */
static int position(const struct nvml *n, const struct nvml_card *card)
{
    const struct nvapi *a = n->nvapi;
    unsigned domain, bus;
    int found = -1;
    if (!a || !a->open || sscanf(card->id.pci_address, "%x:%x:", &domain, &bus) != 2)
        return -1;
    for (size_t i = 0; i < a->count; i++)
        if (a->gpus[i].bus == bus) {
            if (found >= 0)
                return -1;
            found = (int)i;
        }
    return found;
}

/* GDDR6X runs faster than any GDDR6 of these cards. */
static bool has_gddr6x(struct nvml *n, struct nvml_card *card)
{
    enum { GDDR6_FASTEST_MHZ = 10100 };
    unsigned mhz = 0;
    return NVML(n, clock_max, card->handle, NVML_CLOCK_MEM, &mhz) == NVML_OK && mhz > GDDR6_FASTEST_MHZ;
}

/* 0 and 255 stand for none. No part of a card in use is much cooler than its chip. */
static struct reading sensor(const struct api_thermals *t, int mask, int index, struct reading chip)
{
    enum { APART_MDEGC = 10000, MOST = 150 };
    if (!(mask & 1 << index) || t->values[index] / API_DEGREE == 0 || t->values[index] / API_DEGREE >= 255)
        return reading_absent(READING_UNSUPPORTED);
    int64_t mdegc = (int64_t)t->values[index] * 1000 / API_DEGREE;
    if (mdegc < reading_or(chip, 0) - APART_MDEGC || mdegc > MOST * 1000)
        return reading_absent(READING_IMPLAUSIBLE);
    return reading_ok(mdegc);
}

void nvapi_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    struct api_thermals t;
    unsigned architecture = 0;
    bool spot = out->temp_hotspot_mdegc.state != READING_OK, memory = out->temp_memory_mdegc.state != READING_OK;
    int at = (groups & GROUP_FAST) && (spot || memory) ? position(n, card) : -1;
    if (at < 0 || !n->nvapi->gpus[at].mask || !n->lib.architecture || n->lib.architecture(card->handle, &architecture) != NVML_OK ||
        architecture > NVML_ARCHITECTURE_ADA || !ask(n->nvapi, n->nvapi->gpus[at].gpu, n->nvapi->gpus[at].mask, &t))
        return;
    if (spot)
        out->temp_hotspot_mdegc = sensor(&t, n->nvapi->gpus[at].mask, API_HOT_SPOT, out->temp_mdegc);
    if (memory && architecture == NVML_ARCHITECTURE_ADA && has_gddr6x(n, card))
        out->temp_memory_mdegc = sensor(&t, n->nvapi->gpus[at].mask, API_MEMORY, out->temp_mdegc);
}

void nvapi_describe(const struct nvml *n, struct buf *out)
{
    if (!n->env->nvapi_library)
        return;
    buf_printf(out, "%s (sampling.nvidia_api, undocumented): %s\n", n->env->nvapi_library,
               !n->nvapi            ? "not opened: a GPU is asleep, left alone or hidden"
               : !n->nvapi->library ? "cannot be loaded, or is not NVIDIA's"
               : !n->nvapi->open    ? "closed: a GPU is asleep or left alone, or it does not start"
               : n->nvapi->count    ? "read where NVML has no hot spot or memory temperature"
                                    : "shows no GPU");
}
