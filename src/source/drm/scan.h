/* SPDX-License-Identifier: Apache-2.0
 * Which processes use which graphics device: one scan of /proc for all sources.
 *
 *   /proc ──▶ processes (new? descriptors changed?) ──▶ descriptors of /dev/dri ──▶ fdinfo ──▶ clients
 *             stat of PID/fd: its size is the           read once a client, and
 *             number of open descriptors (6.2)          seldom while it is idle
 *
 * Several sources share one scan, each from its own thread. One of them scans without a lock and publishes the result; the others
 * wait briefly and then use the latest one: a read that hangs doesn't block other sources.
 */
#pragma once

#include "base/clock.h"
#include "base/env.h"
#include "source/sysfs/sysfs_card.h"

struct drm_scan;

/* The scan of this host, shared by all callers with the same env. NULL: out of memory. */
struct drm_scan *drm_scan_ref(const struct env *env);
void drm_scan_unref(struct drm_scan *s);

/* Scans again unless another source did within 200 ms. */
void drm_scan_refresh(struct drm_scan *s);

/* Combined activity of a card's clients. */
struct drm_load {
    enum reading_state state;     /* READING_OK: the scan worked (maybe without clients) */
    size_t clients, hidden;       /* hidden: processes whose descriptors we can't see */
    struct reading busy_permille; /* the busiest engine that draws or computes */
    struct reading decoder_permille, encoder_permille;
    bool has_vram, has_system;
    uint64_t vram_bytes, system_bytes;
};

/* Adds the card's processes to `out` and sums up its clients. `shared_memory`: host memory counts as the card's. */
void drm_scan_fill(struct drm_scan *s, const struct drm_card *card, bool shared_memory, struct gpu *out, struct drm_load *load);

/* For doctor and the bench. */
struct drm_scan_stats {
    size_t processes, hidden, clients;
    uint64_t scans, walks, reads; /* since the start: scans of /proc, of a process's descriptors, reads of fdinfo */
};
void drm_scan_stats(struct drm_scan *s, struct drm_scan_stats *ret);

/* ---- fdinfo: what the kernel reports in /proc/PID/fdinfo/N about an open graphics device: the client, the busy time of each
 * engine, and memory held ---- */

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

/* ---- Clients, one per (device, client ID) however many processes and descriptors share it, with rates between two reads ---- */

enum { CLIENTS_MAX = 8192, CLIENT_IDLE_MS = 2500 };

struct client_engine {
    char name[ENGINE_NAME_SIZE];
    enum engine_kind kind;
    uint64_t busy, total; /* nanoseconds, or cycles of a total; never decreases */
    int32_t permille;     /* -1: needs a second read */
};

struct drm_client {
    char device[GPU_PCI_SIZE]; /* PCI address, or the card's name ("card0") if it has none */
    uint64_t id;
    struct mono read_at;
    uint32_t read_in; /* number of the scan; 0 never */
    uint32_t seen_in;
    uint64_t text;  /* hash of the last fdinfo: unchanged text isn't parsed again */
    uint16_t quiet; /* consecutive reads without change */
    uint8_t engine_count;
    bool has_vram, has_system;
    uint64_t vram_bytes, system_bytes;
    int32_t owner; /* pid it is attributed to; -1 none yet */
    struct client_engine engines[FDINFO_ENGINES];
};

struct clients {
    struct drm_client *list;
    size_t count, capacity;
    uint32_t *buckets; /* index + 1 */
    size_t bucket_count;
    size_t left_out; /* beyond CLIENTS_MAX */
};

/* Index of the client, added if new; -1: the list is full. */
int clients_place(struct clients *c, const char *device, uint64_t id);
/* Applies a read; true if an engine worked since the last one. */
bool client_update(struct drm_client *c, const struct fdinfo *info, struct mono now, uint32_t scan);
/* The same for unchanged text: nothing worked, nothing was allocated. */
void client_unchanged(struct drm_client *c, struct mono now, uint32_t scan);
/* Idle clients are reread only after CLIENT_IDLE_MS to CLIENT_IDLE_MS + 2 s. */
bool client_due(const struct drm_client *c, struct mono now);
/* Drops clients not seen in this scan. `moved` (old count entries) gets each new index, -1 if dropped. False: nothing changed. */
bool clients_sweep(struct clients *c, uint32_t scan, int32_t *moved);
void clients_done(struct clients *c);
