/* SPDX-License-Identifier: Apache-2.0
 * The shared scan as scan.c and fill.c see it.
 */
#pragma once

#include <pthread.h>

#include "source/drm/procs.h"
#include "source/drm/scan.h"

/* What a finished scan found: all that the sources look at. */
struct scan_result {
    uint32_t number; /* of the scan; 0: there was none yet */
    int rc;
    bool moved; /* an engine has worked since the first scan */
    struct drm_client *clients;
    size_t client_count;
    char silent[GPU_MAX][DRM_NAME_SIZE]; /* cards that somebody holds open, and whose driver says nothing about that */
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
    struct timespec wait_until; /* nobody waits longer for the scan that is under way */
    struct mono scanned;        /* when the last scan began */
    struct scan_result latest;

    /* Of whoever scans, without a lock. */
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
