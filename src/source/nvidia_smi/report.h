/* SPDX-License-Identifier: Apache-2.0
 * What one or more outputs of nvidia-smi say, taken apart: cards with their readings, processes and instances. No I/O.
 */
#pragma once

#include "base/error.h"
#include "model/gpu.h"
#include "model/snapshot.h"
#include "source/nvidia_smi/fields.h"

enum { SMI_MARGINS = 3 };

struct smi_card {
    struct gpu gpu; /* id, state, readings, processes, instances; what was not said is READING_UNREAD */
    int index;      /* nvidia-smi's own number; -1 unknown */
    struct {
        int metric;
        struct reading at; /* the margin at which it is reached */
    } margins[SMI_MARGINS];
    size_t margin_count;
    /* A MIG instance's numbers, by its position in gpu.instances. */
    struct {
        int gpu_instance, compute_instance; /* -1 unknown */
    } slices[GPU_INSTANCES_MAX];
};

struct smi_report {
    struct smi_card *cards;
    size_t count;
    size_t nameless; /* rows that do not say which card they are about */
    bool no_memory;  /* for one of the cards */
    struct driver_info driver;
};

void smi_report_done(struct smi_report *r);
#define AUTO_REPORT __attribute__((cleanup(smi_report_done)))

/* The card of a UUID or PCI address (either may be ""), or a new one. NULL when there are too many, or no memory. */
struct smi_card *smi_report_card(struct smi_report *r, const char *uuid, const char *pci_address);
/* "00000000:43:00.0", "0000:05:00.0" -> "0000:43:00.0"; false when it is no address. */
bool smi_pci_address(struct str text, char to[GPU_PCI_SIZE]);

/* Puts one value into a card. */
void smi_apply(struct smi_card *card, const struct smi_field *field, struct str cell);
/* Brings a card to an end when all of its values were applied: margins become temperatures, trouble becomes a state. */
void smi_finish(struct smi_card *card, enum cell_trouble trouble, struct str words);

/* --query-gpu with these columns (NULL: one that is not ours). A line of headers, where there is one, is left out. Returns the
 * number of rows that there are, with those that are no card's; lines that are no rows are left to smi_lost_cards(). */
size_t smi_read_csv(struct smi_report *r, struct str text, const struct smi_field *const *columns, size_t count);
/* The columns of a line of headers; returns how many. */
size_t smi_read_header(struct str line, const struct smi_field **columns, size_t max);

/* --query-compute-apps=pid,name,used_memory,gpu_uuid: adds processes to the cards that are there. Returns the number of rows. */
size_t smi_read_apps(struct smi_report *r, struct str text);

/* -q -x. -EBADMSG when the text is not whole; the cards that were complete are there. */
int smi_read_xml(struct smi_report *r, struct str text, struct error *err);

/* -L: the UUIDs and profiles of MIG instances, for cards that are there. */
void smi_read_list(struct smi_report *r, struct str text);

/* --version: the versions of driver, NVML and CUDA. */
void smi_read_version(struct driver_info *to, struct str text);

/* Lines like "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.": marks those cards as lost, adding them
 * where they are unknown. Returns how many. */
size_t smi_lost_cards(struct smi_report *r, struct str text);

/* A process as nvidia-smi names it ("/usr/lib/xorg/Xorg") to its name. */
void smi_process_name(struct str cell, char *to, size_t size);
