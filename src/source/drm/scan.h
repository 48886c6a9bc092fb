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
