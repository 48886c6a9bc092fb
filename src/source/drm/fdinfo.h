/* SPDX-License-Identifier: Apache-2.0
 * What the kernel reports about an open graphics device in /proc/PID/fdinfo/N: the client, the busy time of each engine, and
 * memory held.
 */
#pragma once

#include "model/gpu.h"

enum { FDINFO_SIZE = 4096, FDINFO_ENGINES = 12, ENGINE_NAME_SIZE = 16 };

/* Purpose of an engine, from the drivers' names. */
enum engine_kind { ENGINE_OTHER, ENGINE_GRAPHICS, ENGINE_COMPUTE, ENGINE_DECODER, ENGINE_ENCODER, ENGINE_COPY };

struct fdinfo_engine {
    char name[ENGINE_NAME_SIZE];
    enum engine_kind kind;
    uint32_t capacity; /* number of engines of this kind: one that is always busy is 1/capacity of the load */
    bool has_ns, has_cycles;
    uint64_t ns;            /* busy time */
    uint64_t cycles, total; /* or: busy cycles, of a total */
};

struct fdinfo {
    char driver[24];
    char pdev[GPU_PCI_SIZE]; /* "" if not on PCI */
    uint64_t client_id;
    bool has_client_id;
    size_t engine_count; /* beyond FDINFO_ENGINES they are dropped */
    struct fdinfo_engine engines[FDINFO_ENGINES];
    bool has_vram, has_system;
    uint64_t vram_bytes;   /* resident device memory */
    uint64_t system_bytes; /* resident host memory used by the device */
};

/* False: not a graphics device, or a driver without statistics. */
bool fdinfo_parse(struct str text, struct fdinfo *ret);
