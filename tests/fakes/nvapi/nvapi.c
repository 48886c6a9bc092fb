/* SPDX-License-Identifier: Apache-2.0
 * A stand-in for libnvidia-api.so.1: cards and sensors of WHIRR_FAKE_NVAPI, one word for each card, "BUS:SENSOR=CELSIUS,...", of
 * which sensors 0 to 19 exist. WHIRR_FAKE_NVAPI_LOG=FILE gets a line when it is initialized and when it is unloaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { GPUS = 64, SENSORS = 20, VERSION_2 = 2 << 16 | 168 };

static const char *card(size_t position)
{
    const char *at = getenv("WHIRR_FAKE_NVAPI");
    for (; at && *at && position; position--)
        at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "";
    return at && *at ? at : NULL;
}

static int note(const char *what)
{
    const char *path = getenv("WHIRR_FAKE_NVAPI_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s\n", what);
        fclose(f);
    }
    return 0;
}

static int initialize(void)
{
    return note("initialize");
}

static int unload(void)
{
    return note("unload");
}

static int gpus(void **all, unsigned *count)
{
    for (*count = 0; *count < GPUS && card(*count); ++*count)
        all[*count] = (void *)(size_t)(*count + 1); /* never an address */
    return 0;
}

static int bus(void *gpu, unsigned *ret)
{
    *ret = (unsigned)strtoul(card((size_t)gpu - 1), NULL, 10);
    return 0;
}

static int thermals(void *gpu, int *query)
{
    if (query[0] != VERSION_2)
        return -9;
    for (int i = SENSORS; i < 32; i++)
        if ((unsigned)query[1] >> i & 1)
            return -5;
    const char *at = card((size_t)gpu - 1);
    for (at = at ? strchr(at, ':') : NULL; at && *at && *at != ' '; at = strpbrk(at + 1, ", ")) {
        int sensor = 0;
        double celsius = 0;
        if (sscanf(at + 1, "%d=%lf", &sensor, &celsius) == 2 && sensor >= 0 && sensor < SENSORS && (unsigned)query[1] >> sensor & 1)
            query[2 + sensor] = (int)(celsius * 256);
    }
    return 0;
}

EXPORT void *nvapi_QueryInterface(unsigned id)
{
    union {
        int (*none)(void);
        int (*list)(void **, unsigned *);
        int (*number)(void *, unsigned *);
        int (*query)(void *, int *);
        void *any;
    } f = {0};
    switch (id) {
    case 0x0150e828: f.none = initialize; break;
    case 0xd22bdd7e: f.none = unload; break;
    case 0xe5ac921f: f.list = gpus; break;
    case 0x1be0b8e5: f.number = bus; break;
    case 0x65fe3aad: f.query = thermals; break;
    default: break;
    }
    return f.any;
}
