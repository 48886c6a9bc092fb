/* SPDX-License-Identifier: Apache-2.0
 * Small helpers that both parsers share.
 */
#pragma once

#include <jansson.h>

#include "source/rocm_smi/parse.h"

/* The document, behind warnings that the programs print before it. NULL and err. */
json_t *rocm_load(struct str text, struct error *err);
/* A zeroed card at the end; NULL when full, or without memory. */
struct gpu *rocm_add(struct rocm_cards *c);
/* 0 when all cards are there; fewer than there are would be taken for lost ones. */
int rocm_cards_check(const struct rocm_cards *c, struct error *err);
/* "1.5", 1.5 or {"value": 1.5, "unit": ...} times scale; "N/A" and the like are UNSUPPORTED. */
struct reading rocm_number(const json_t *value, int64_t scale);
/* Text of a string that says something; NULL for "N/A", "", "unknown". */
const char *rocm_text(const json_t *value);
void rocm_set_property(struct gpu *g, enum property property, const json_t *value);
/* Lower case PCI address, and the unique id in the form that sysfs has: 16 hexadecimal digits. */
void rocm_set_pci(struct gpu *g, const char *text);
void rocm_set_unique_id(struct gpu *g, const char *text);
/* "Navi 22 [Radeon RX 6700]", "0x1002": the name to show, from the text, else from the device number. */
void rocm_set_name(struct gpu *g, const char *text, uint32_t device, int revision);
/* Free memory; and for graphics on the processor's die the whole of it: its carve-out and what it borrows from the host (GTT). */
void rocm_finish_memory(struct gpu *g);
