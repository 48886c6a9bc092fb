/* SPDX-License-Identifier: Apache-2.0
 * The shared scan as scan.c and fill.c see it.
 */
#pragma once

#include <pthread.h>

#include "source/drm/procs.h"
#include "source/drm/scan.h"

struct drm_scan {
    const struct env *env;
    struct drm_scan *next;
    size_t refs; /* behind the lock of the list */

    pthread_mutex_t lock; /* of everything below */
    uint32_t number;      /* of the last scan */
    struct mono scanned;
    int rc; /* of the last scan */
    size_t hidden;
    uint64_t reads;
    bool moved; /* an engine has worked since the first scan */
    struct procs procs;
    struct clients clients;
    struct drm_card *cards;
    size_t card_count;
    uint64_t signature;
    bool power_known[GPU_MAX], asleep[GPU_MAX];
    bool silent[GPU_MAX]; /* somebody holds it open, and its driver says nothing about that */
};
