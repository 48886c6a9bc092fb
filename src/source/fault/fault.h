/* SPDX-License-Identifier: Apache-2.0
 * Driver faults: NVIDIA's by number (XID), other drivers' as kernel log lines. Knows their meaning and remedy, so that nothing
 * above the sources handles a number or a line.
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
    const char *needle; /* text of a kernel log line; NULL: an XID */
};

/* The driver's lists of XIDs against which xid.def was checked, and the last code without gaps. 177 and 178 are from the source of
 * a driver of 2026 after 595, 185 is from what R620 says of its events; what lies between was found nowhere. */
#define XID_CATALOG "of driver 595.45, March 2026, with 177, 178 and 185 of later ones"
enum { XID_CATALOG_LAST = 178 };
/* NULL: not in the table. */
const struct fault_info *xid_find(int64_t code);
const struct fault_info *driver_fault_find(int64_t code);
const struct fault_info *xid_at(size_t position); /* NULL at the end; for lists and docs */

const char *fault_action(enum fault_class class); /* "Reset the card ...": a sentence */
/* The GPU can't continue without a reset, a reboot or a person. */
bool fault_stops_gpu(enum fault_class class);

struct fault_line {
    char pci_address[16]; /* "0000:05:00.0", lower case */
    int64_t code;
    int64_t pid;   /* 0 unknown */
    char name[64]; /* of the process; "" unknown */
};

/* A kernel log line "NVRM: Xid (PCI:0000:05:00): 79, pid=..., name=..., ...", with " GPU-I:02" after the address for a MIG
 * instance, or "... GPU has fallen off the bus" (XID 79). False: none of these. */
bool xid_parse(struct str line, struct fault_line *ret);
/* An error of a switch between GPUs, "...: SXid (PCI:ADDRESS): NUMBER, Fatal|Non-fatal, ...": its code, or 0. It concerns no
 * single GPU; corrected errors don't count. */
int64_t switch_fault_parse(struct str line);
/* A hang, reset or worse reported by a kernel driver; false: no fault, or the card is unknown. */
bool driver_fault_parse(struct str line, struct fault_line *ret);
