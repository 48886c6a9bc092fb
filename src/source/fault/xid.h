/* SPDX-License-Identifier: Apache-2.0
 * XIDs: numbers of critical driver errors, what they mean, and how they stand in the kernel log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum xid_class { XID_UNKNOWN, XID_INFORM, XID_APPLICATION, XID_LOOK, XID_RESET, XID_REBOOT, XID_CABLE };

struct xid_info {
    int code;
    enum xid_class class;
    const char *what; /* "the card fell off the bus: ..." */
};

/* NULL: not in the table. */
const struct xid_info *xid_find(int64_t code);
const struct xid_info *xid_at(size_t position);   /* NULL behind the last; for lists and docs */
const char *xid_class_name(enum xid_class class); /* "reset" */
const char *xid_action(enum xid_class class);     /* "Reset the card ...": a sentence */

struct xid_line {
    char pci_address[16]; /* "0000:05:00.0", lower case */
    int64_t code;
    int64_t pid;   /* 0 unknown */
    char name[64]; /* of the process; "" unknown */
};

/* One line of the kernel log: "NVRM: Xid (PCI:0000:05:00): 79, pid=..., name=..., ...", of a MIG instance with " GPU-I:02" behind
 * the address, or "... GPU has fallen off the bus" (which is 79). False on any other. */
bool xid_parse(struct str line, struct xid_line *ret);
