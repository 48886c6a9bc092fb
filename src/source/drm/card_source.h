/* SPDX-License-Identifier: Apache-2.0
 * What sources of cards have in common: the list of cards, the scan of their clients, and cards that sleep or are gone.
 */
#pragma once

#include "source/drm/scan.h"
#include "source/source.h"
#include "source/sysfs/sysfs_card.h"

struct card_source;

struct card_kind {
    const struct source_ops *ops;
    size_t size;         /* of the source's own struct, which begins with a struct card_source */
    const char *folder;  /* "/sys/class/drm" */
    const char *none;    /* "no GPU with ... in /sys/class/drm" */
    const char *vendor;  /* NULL: that of each card */
    const char *subject; /* "the GPU" */
    /* Optional: adds cards that the list lacks. Returns the number of positions, or -errno. */
    int (*complete)(struct card_source *s);
    /* Optional: what it knows of a card beyond address, vendor and name. */
    void (*identify)(struct card_source *s, size_t at, struct gpu_id *id);
};

struct card_source {
    struct source source;
    const struct card_kind *kind;
    const struct env *env;
    bool (*wanted)(const struct drm_card *);
    struct card_list cards;
    struct drm_scan *scan;
};

/* A zeroed struct of kind->size. -ENODEV: there is no card that is wanted. */
int card_source_open(const struct card_kind *kind, const struct env *env, bool (*wanted)(const struct drm_card *),
                     struct source **ret, struct error *err);
void card_source_close(struct source *source); /* NULL is fine */
int card_source_list(struct source *source, struct gpu_id *ids, size_t max);
int card_source_refresh(struct source *source, unsigned groups, struct error *err);
bool card_source_changed(struct source *source);

enum card_power card_source_power(const struct card_source *s, size_t at);
const char *card_power_name(enum card_power power);
/* Discards the readings of a card that isn't awake. True: it is asleep, and what is safe to read may be added. */
bool card_source_rests(const struct card_source *s, enum card_power power, struct gpu *out);

/* Adds the processes of a driver that lists their PIDs itself, one per line. */
void card_take_pids(struct str text, struct gpu *out);

/* For settings; NULL: the card is gone. */
const struct drm_card *card_source_card(struct source *source, size_t gpu, const struct env **ret_env);
