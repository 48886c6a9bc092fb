/* SPDX-License-Identifier: Apache-2.0
 * The cards of /sys/class/drm, and of the classes of accelerators: their drivers, locations, and a list that stays stable while
 * they come and go.
 */
#pragma once

#include <stdint.h>

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

enum { DRM_NAME_SIZE = 16 };
/* Offset that distinguishes minors of other device classes. */
enum { ACCEL_MINORS = 1 << 20 };

struct drm_card {
    char name[DRM_NAME_SIZE];       /* "card1", "accel0", "tenstorrent!0"; "" for a card known only to another tree (KFD) */
    char pci_address[GPU_PCI_SIZE]; /* "" if not on PCI */
    char driver[24];
    char compatible[GPU_TEXT_SIZE];                /* of the device tree; "" on PCI */
    uint32_t vendor, device, subvendor, subdevice; /* 0 unknown */
    int revision;                                  /* -1 unknown */
    int card_minor, render_minor;                  /* -1 unknown */
    bool unread;                                   /* some of it exists but couldn't be read this time */
};

/* A compute device that isn't a GPU. */
bool card_is_accelerator(const struct drm_card *card);

/* Reads one card from /sys/class/drm/NAME, or from its own class. -ENOENT or another -errno if it can't be identified. */
int drm_card_read(const struct env *env, const char *name, struct drm_card *ret);
/* Cards in order of PCI address, without connectors and render nodes. Returns their number, or -errno. */
int drm_cards_list(const struct env *env, struct drm_card *cards, size_t max);
/* Changes whenever a card appears, disappears or is rebound. */
uint64_t drm_cards_signature(const struct env *env);

/* Attributes of the card itself, and of the device behind it. */
void drm_card_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret);
void drm_device_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret);

enum card_power { CARD_AWAKE, CARD_ASLEEP, CARD_GONE };
/* Reads the one file that never wakes a card. */
enum card_power drm_card_power(const struct drm_card *card, const struct env *env);

struct card_slot {
    struct drm_card card;
    bool present;
};

/* A list in which cards keep their positions: one that vanishes stays as absent, and gets its position back when it returns. */
struct card_list {
    struct card_slot *slots;
    size_t count;
    uint64_t signature;
    bool unread;    /* something couldn't be read last time */
    int looks_left; /* retries before that is accepted */
};

/* Updates the list. `wanted` selects the cards of a source. Returns the number of positions, or -errno. */
int card_list_update(struct card_list *list, const struct env *env, bool (*wanted)(const struct drm_card *));
/* Appends a card that drm_cards_list doesn't know; its position, or -errno. */
int card_list_add(struct card_list *list, const struct drm_card *card);
bool card_list_changed(struct card_list *list, const struct env *env);
void card_list_done(struct card_list *list);

/* Vendor and device IDs, subsystem, driver and its version (the kernel's, unless the module has its own). */
void drm_card_properties(const struct drm_card *card, const struct env *env, struct gpu *out);

/* ---- The PCIe link of a card as its slot sees it ---- */

/* "16.0 GT/s PCIe", "8.0GT/s, x16 619Mhz" -> 4, 3; 0: unknown speed. */
int pcie_generation(struct str speed);

/* Sets current (GROUP_FAST) and maximum (GROUP_STATIC) generation and width. A card with its own switch shows its internal link;
 * the link to the slot is that of the switch's upstream port, searched above the card. `internal_only`: without that port the
 * card's own numbers are known to be wrong and are omitted. */
void pcie_link(const struct drm_card *card, const struct env *env, bool internal_only, unsigned groups, struct gpu *out);
/* Link errors counted by the kernel (AER), by PCI address; these files never wake a device. */
void pcie_errors(const struct env *env, const char *address, struct gpu *out);

/* ---- Memory that a GPU shares with the host: its size, and how much is available ----
 *
 *   total = reserved for the GPU + what its driver may take of the host's memory
 *   free  = unused part of the reserved + the minimum of: unused part of the driver's limit, the host's available memory less a
 *           reserve
 */

struct shared_memory {
    struct reading own_total, own_used;     /* reserved by the firmware, not part of the host's memory; absent: none */
    struct reading limit_bytes, limit_used; /* of the host's memory for this GPU; absent: all */
    bool used_by_host;                      /* the driver doesn't count the GPU's usage: count it together with the host's
                                             * programs */
};

/* Sets total, free and, if the driver or the host counts it, used. */
void shared_memory_fill(const struct env *env, const struct shared_memory *m, struct gpu *out);

/* The kernel's limit for all GPUs together, from /sys/module/ttm; absent: unknown. */
struct reading shared_memory_ttm_limit(const struct env *env);

/* ---- What is known by vendor and device ---- */

/* By device and revision from libdrm's amdgpu.ids, then our own short table, then pci.ids; finally made up from vendor and IDs.
 * Always fills `name`. */
void gpu_name_find(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE]);
/* "amd", "intel", "nvidia", ... from the PCI vendor, or from the driver if not on PCI. */
const char *gpu_vendor(const struct drm_card *card);
/* The name in our own table, or NULL. */
const char *gpu_known_name(const struct drm_card *card);
/* The chip family ("RDNA 3") from our table, or NULL. */
const char *gpu_architecture(const struct drm_card *card);
/* Lowers the most lanes that a driver names to those of the board, where it is known to have fewer than its chip. */
void board_limit_lanes(struct gpu *gpu);
