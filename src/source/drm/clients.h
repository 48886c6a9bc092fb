/* SPDX-License-Identifier: Apache-2.0
 * Clients of graphics devices, one for each (device, client id) however many processes and descriptors share it, with the rates
 * between two readings.
 */
#pragma once

#include "base/clock.h"
#include "source/drm/fdinfo.h"

enum { CLIENTS_MAX = 8192, CLIENT_IDLE_MS = 2500 };

struct client_engine {
    char name[ENGINE_NAME_SIZE];
    enum engine_kind kind;
    uint64_t busy, total; /* nanoseconds, or cycles of so many; never less than before */
    int32_t permille;     /* -1: needs a second reading */
};

struct drm_client {
    char device[GPU_PCI_SIZE]; /* PCI address, or the name of the card ("card0") where there is none */
    uint64_t id;
    struct mono read_at;
    uint32_t read_in; /* the number of the scan; 0 never */
    uint32_t seen_in;
    uint64_t text;  /* hash of the fdinfo last read: the same text needs no parsing */
    uint16_t quiet; /* readings in a row without change */
    uint8_t engine_count;
    bool has_vram, has_system;
    uint64_t vram_bytes, system_bytes;
    int32_t owner; /* pid that it is attributed to; -1 none yet */
    struct client_engine engines[FDINFO_ENGINES];
};

struct clients {
    struct drm_client *list;
    size_t count, capacity;
    uint32_t *buckets; /* index + 1 */
    size_t bucket_count;
    size_t left_out; /* over CLIENTS_MAX */
};

/* The index of the client, made when it is new; -1 when the list is full. */
int clients_place(struct clients *c, const char *device, uint64_t id);
/* Takes a reading into account; true when an engine worked since the one before. */
bool client_update(struct drm_client *c, const struct fdinfo *info, struct mono now, uint32_t scan);
/* The same for a text that did not change: nothing worked, nothing was allocated. */
void client_unchanged(struct drm_client *c, struct mono now, uint32_t scan);
/* A client that did nothing for some readings is read again only after CLIENT_IDLE_MS or up to 2 s more. */
bool client_due(const struct drm_client *c, struct mono now);
/* Forgets clients that were not seen in this scan. `moved` (as long as count was) gets the new index of each, -1 for a forgotten
 * one. Returns false when nothing changed. */
bool clients_sweep(struct clients *c, uint32_t scan, int32_t *moved);
void clients_done(struct clients *c);
