/* SPDX-License-Identifier: Apache-2.0
 * The health of each GPU, judged from the readings of the moment and from what is remembered of the card. The memory is passed in
 * and out: no clock, no I/O.
 */
#pragma once

#include "insight/area/health.h"

struct health_history *health_history_new(void); /* NULL: out of memory */
void health_history_free(struct health_history *h);

/* Learns which cards there are, so that health_note_xid() finds them before the first judgement. */
void health_meet(struct health_history *h, const struct snapshot *now);
/* Takes the snapshot (with its XID events) into the memory and judges every card. NULL: out of memory. */
struct health *health_judge(struct health_history *h, const struct snapshot *now);
struct health *health_copy(const struct health *health); /* NULL: out of memory */
void health_free(struct health *health);                 /* NULL is fine */

/* An XID from elsewhere (the kernel log, also from before the start). The same one within a few seconds counts once. False: no card
 * with this PCI address is known. */
bool health_note_xid(struct health_history *h, const char *pci_address, int64_t code, struct wall at);
/* The same for a fault that a kernel driver told of (source/fault/kernel_log.def). */
bool health_note_driver_fault(struct health_history *h, const char *pci_address, int64_t code, struct wall at);
/* The same of a switch, for all GPUs with links to others. */
bool health_note_switch_fault(struct health_history *h, const struct snapshot *s, int64_t code, struct wall at);
/* The machine was booted since the memory was written: every card was reset. */
void health_note_boot(struct health_history *h);
