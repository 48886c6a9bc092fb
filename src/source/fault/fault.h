/* SPDX-License-Identifier: Apache-2.0
 * Faults that drivers report in their own way: NVIDIA's by numbers (XIDs), those of other drivers as lines of the kernel log. What
 * each means and asks for, so that nothing above the sources knows a number or a line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum fault_class { FAULT_UNKNOWN, FAULT_INFORM, FAULT_APPLICATION, FAULT_LOOK, FAULT_RESET, FAULT_REBOOT, FAULT_CABLE };

struct fault_info {
    int code;
    enum fault_class class;
    const char *what;   /* "the card fell off the bus: ..." */
    const char *needle; /* in a line of the kernel log; NULL: an XID */
};

/* NULL: not in the table. */
/* The driver's own list of XIDs that xid.def was held against, and the last code that it has. */
#define XID_CATALOG "of driver 595.45, March 2026"
enum { XID_CATALOG_LAST = 176 };
const struct fault_info *xid_find(int64_t code);
const struct fault_info *driver_fault_find(int64_t code);
const struct fault_info *xid_at(size_t position); /* NULL behind the last; for lists and docs */

const char *fault_action(enum fault_class class); /* "Reset the card ...": a sentence */
/* The GPU can't go on without a reset, a reboot or a person. */
bool fault_stops_gpu(enum fault_class class);

struct fault_line {
    char pci_address[16]; /* "0000:05:00.0", lower case */
    int64_t code;
    int64_t pid;   /* 0 unknown */
    char name[64]; /* of the process; "" unknown */
};

/* One line of the kernel log: "NVRM: Xid (PCI:0000:05:00): 79, pid=..., name=..., ...", of a MIG instance with " GPU-I:02" behind
 * the address, or "... GPU has fallen off the bus" (which is 79). False on any other. */
bool xid_parse(struct str line, struct fault_line *ret);
/* An error of a switch between GPUs, "...: SXid (PCI:ADDRESS): NUMBER, Fatal|Non-fatal, ...": its code, or 0. It is no matter of
 * one GPU; errors that were corrected are none. */
int64_t switch_fault_parse(struct str line);
/* A hang, a reset or worse that a kernel driver tells of; false: the line tells of none, or not of which card. */
bool driver_fault_parse(struct str line, struct fault_line *ret);
