/* SPDX-License-Identifier: Apache-2.0
 * Helpers shared by both parsers.
 */
#pragma once

#include <jansson.h>

#include "source/rocm_smi/parse.h"

/* Parses the document after any warnings. NULL and err on failure. */
json_t *rocm_load(struct str text, struct error *err);
/* Appends a zeroed card; NULL: full, or out of memory. */
struct gpu *rocm_add(struct rocm_cards *c);
/* 0 if all cards are there; missing ones would look lost. */
int rocm_cards_check(const struct rocm_cards *c, struct error *err);
/* "1.5", 1.5 or {"value": 1.5, "unit": ...} times scale; "N/A" and the like are UNSUPPORTED. */
struct reading rocm_number(const json_t *value, int64_t scale);
/* A meaningful string; NULL for "N/A", "", "unknown". */
const char *rocm_text(const json_t *value);
void rocm_set_property(struct gpu *g, enum property property, const json_t *value);
/* Lower-case PCI address, and the unique ID in sysfs' form: 16 hexadecimal digits. */
void rocm_set_pci(struct gpu *g, const char *text);
void rocm_set_unique_id(struct gpu *g, const char *text);
/* The display name from "Navi 22 [Radeon RX 6700]" or "0x1002", else from the device ID. */
void rocm_set_name(struct gpu *g, const char *text, uint32_t device, int revision);
/* Free memory; for integrated graphics also the total: its carve-out plus GTT, borrowed from the host. */
void rocm_finish_memory(struct gpu *g);
