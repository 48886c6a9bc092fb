/* SPDX-License-Identifier: Apache-2.0
 * Who uses which graphics device: one look through /proc for all sources.
 *
 *   /proc ──▶ processes (new? descriptors changed?) ──▶ descriptors of /dev/dri ──▶ fdinfo ──▶ clients
 *             stat of PID/fd: its size is the           read once a client, and
 *             number of open descriptors (6.2)          seldom while it is idle
 *
 * Several sources share one scan, each from its own thread. One of them scans, without a lock, and publishes what it found; the
 * others wait a moment for it and then take what there is: a read that hangs stops no other source.
 */
#pragma once

#include <pthread.h>

#include "source/drm/clients.h"
#include "source/drm/procs.h"
#include "source/sysfs/card.h"

struct drm_scan;

/* The scan of this machine, shared by all who ask with the same env. NULL: out of memory. */
struct drm_scan *drm_scan_ref(const struct env *env);
void drm_scan_unref(struct drm_scan *s);

/* Looks again unless a source did within the last 200 ms. */
void drm_scan_refresh(struct drm_scan *s);

/* What all clients of one card do together. */
struct drm_load {
    enum reading_state state;     /* READING_OK: the scan worked (there may be no clients) */
    size_t clients, hidden;       /* hidden: processes whose descriptors we may not see */
    struct reading busy_permille; /* the busiest of the engines that draw or compute */
    struct reading decoder_permille, encoder_permille;
    bool has_vram, has_system;
    uint64_t vram_bytes, system_bytes;
};

/* Adds the card's processes to `out` and sums up its clients. `shared_memory`: host memory counts as the card's. */
void drm_scan_fill(struct drm_scan *s, const struct drm_card *card, bool shared_memory, struct gpu *out, struct drm_load *load);

/* For doctor and the bench. */
struct drm_scan_stats {
    size_t processes, hidden, clients;
    uint64_t scans, walks, reads; /* since the start: looks at /proc, at a process's descriptors, at an fdinfo */
};
void drm_scan_stats(struct drm_scan *s, struct drm_scan_stats *ret);

/* ---- The shared scan as scan.c and fill.c see it. ---- */

/* What a finished scan found: all that the sources look at. */
struct scan_result {
    uint32_t number; /* of the scan; 0: there was none yet */
    int rc;
    bool moved; /* an engine has worked since the first scan */
    struct drm_client *clients;
    size_t client_count;
    char silent[GPU_MAX][DRM_NAME_SIZE]; /* GPUs that a process holds open, and whose driver says nothing about that */
    size_t silent_count;
    struct drm_scan_stats stats;
};

struct drm_scan {
    const struct env *env;
    struct drm_scan *next;
    size_t refs; /* behind the lock of the list */

    /* The lock is never held while a file is read: a driver whose read hangs takes only the source with it that scans. */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool scanning;
    struct timespec wait_until; /* no source waits longer for the scan that is under way */
    struct mono scanned;        /* when the last scan began */
    struct scan_result latest;

    /* Of the thread that scans, without a lock. */
    uint32_t number;
    int rc;
    size_t hidden;
    uint64_t reads;
    bool moved;
    struct procs procs;
    struct clients clients;
    struct drm_card *cards;
    size_t card_count;
    uint64_t signature;
    bool power_known[GPU_MAX], asleep[GPU_MAX];
    bool silent[GPU_MAX];
};

enum { SCAN_HUNG_MS = 2000 }; /* what an older scan found is no longer shown while the next one hangs */
