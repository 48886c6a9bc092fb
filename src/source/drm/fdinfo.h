/* SPDX-License-Identifier: Apache-2.0
 * What the kernel says about one open graphics device in /proc/PID/fdinfo/N: who the client is, how long each engine worked for
 * it, how much memory it holds.
 */
#pragma once

#include "model/gpu.h"

enum { FDINFO_SIZE = 4096, FDINFO_ENGINES = 12, ENGINE_NAME_SIZE = 16 };

/* What an engine is for, by the names that the drivers give. */
enum engine_kind { ENGINE_OTHER, ENGINE_GRAPHICS, ENGINE_COMPUTE, ENGINE_DECODER, ENGINE_ENCODER, ENGINE_COPY };

struct fdinfo_engine {
    char name[ENGINE_NAME_SIZE];
    enum engine_kind kind;
    uint32_t capacity; /* engines of this kind: one that works all the time is 1/capacity of the load */
    bool has_ns, has_cycles;
    uint64_t ns;            /* time it worked */
    uint64_t cycles, total; /* or: cycles it worked, of so many */
};

struct fdinfo {
    char driver[24];
    char pdev[GPU_PCI_SIZE]; /* "" when the device is not on PCI */
    uint64_t client_id;
    bool has_client_id;
    size_t engine_count; /* further ones than FDINFO_ENGINES are left out */
    struct fdinfo_engine engines[FDINFO_ENGINES];
    bool has_vram, has_system;
    uint64_t vram_bytes;   /* resident memory of the card */
    uint64_t system_bytes; /* resident host memory that the card uses */
};

/* False: not a graphics device, or a driver that says nothing. */
bool fdinfo_parse(struct str text, struct fdinfo *ret);
