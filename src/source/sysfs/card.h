/* SPDX-License-Identifier: Apache-2.0
 * The cards of /sys/class/drm, and of the classes of devices that compute and are no GPUs: who drives them, where they sit, and a
 * list of them that stays stable while they come and go.
 */
#pragma once

#include <stdint.h>

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

enum { DRM_NAME_SIZE = 16 };
/* Devices of other classes have minors of their own: they are told apart by this much. */
enum { ACCEL_MINORS = 1 << 20 };

struct drm_card {
    char name[DRM_NAME_SIZE];       /* "card1", "accel0", "tenstorrent!0"; "" for a card that only another tree knows (KFD) */
    char pci_address[GPU_PCI_SIZE]; /* "" for a device that is not on PCI */
    char driver[24];
    char compatible[GPU_TEXT_SIZE];                /* of the device tree; "" on PCI */
    uint32_t vendor, device, subvendor, subdevice; /* 0 unknown */
    int revision;                                  /* -1 unknown */
    int card_minor, render_minor;                  /* -1 unknown */
    bool unread;                                   /* some of it is there and could not be read this time */
};

/* It computes, and is no GPU. */
bool card_is_accelerator(const struct drm_card *card);

/* Fills one card from /sys/class/drm/NAME, or from the class that its name is of. -ENOENT or another -errno when it cannot be
 * identified. */
int drm_card_read(const struct env *env, const char *name, struct drm_card *ret);
/* Cards in the order of their PCI addresses; connectors and render nodes are no cards. Returns how many, or -errno. */
int drm_cards_list(const struct env *env, struct drm_card *cards, size_t max);
/* Changes whenever a card appears, disappears or is bound again. */
uint64_t drm_cards_signature(const struct env *env);

/* Attributes of the card itself, and of the device behind it. */
void drm_card_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret);
void drm_device_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret);

enum card_power { CARD_AWAKE, CARD_ASLEEP, CARD_GONE };
/* Looks at the one file that never wakes a card. */
enum card_power drm_card_power(const struct drm_card *card, const struct env *env);

struct card_slot {
    struct drm_card card;
    bool present;
};

/* A list in which a card keeps its place: one that goes stays as absent, and takes its place again when it returns. */
struct card_list {
    struct card_slot *slots;
    size_t count;
    uint64_t signature;
    bool unread;    /* something that is there could not be read when it was last looked at */
    int looks_left; /* until that is taken for granted */
};

/* Looks again. `wanted` chooses the cards of a source. Returns the number of places, or -errno. */
int card_list_update(struct card_list *list, const struct env *env, bool (*wanted)(const struct drm_card *));
/* Puts a card that drm_cards_list does not know at the end; its place, or -errno. */
int card_list_add(struct card_list *list, const struct drm_card *card);
bool card_list_changed(struct card_list *list, const struct env *env);
void card_list_done(struct card_list *list);

/* Vendor and device numbers, subsystem, driver and its version (that of the kernel, unless the module has one of its own). */
void drm_card_properties(const struct drm_card *card, const struct env *env, struct gpu *out);

/* ---- The PCIe link of a card as its slot sees it. ---- */

/* "16.0 GT/s PCIe", "8.0GT/s, x16 619Mhz" -> 4, 3; 0 when the text begins with no known speed. */
int pcie_generation(struct str speed);

/* Sets generation and width now (GROUP_FAST) and at most (GROUP_STATIC). A card with a switch of its own shows the link inside
 * itself; the link to the slot is that of the switch's upstream port, which is looked for above the card. `internal_only`: without
 * that port the card's own numbers are known to be wrong and are left out. */
/* Errors of the link as the kernel counts them (AER), of a PCI address; these files never wake a device. */
void pcie_errors(const struct env *env, const char *address, struct gpu *out);
void pcie_link(const struct drm_card *card, const struct env *env, bool internal_only, unsigned groups, struct gpu *out);

/* ---- What a card is called in the shop. ---- */

/* By device and revision from libdrm's amdgpu.ids, then from a short table of our own, then from pci.ids; at last a name made of
 * the vendor and the numbers. Always fills `name`. */
void gpu_name_find(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE]);
/* "amd", "intel", "nvidia", ... from the PCI vendor or the driver of a card that is not on PCI. */
const char *gpu_vendor(const struct drm_card *card);
/* The name in our own table; NULL. */
const char *gpu_known_name(const struct drm_card *card);
/* The chip family ("RDNA 3") where our table knows it; NULL otherwise. */
const char *gpu_architecture(const struct drm_card *card);
