/* SPDX-License-Identifier: Apache-2.0
 * Hangs, resets and worse that the kernel's graphics drivers tell of in the kernel log, for cards that know no XIDs.
 */
#pragma once

#include "base/str.h"
#include "source/fault/xid.h"

struct driver_fault_info {
    int code;
    enum xid_class class;
    const char *needle, *what;
};

/* NULL: no such code. */
const struct driver_fault_info *driver_fault_find(int64_t code);

struct driver_fault_line {
    char pci_address[16]; /* "0000:03:00.0", lower case */
    int64_t code;
};

/* An error of a switch between GPUs, "...: SXid (PCI:ADDRESS): NUMBER, Fatal|Non-fatal, ...": its code, or 0. It is no matter of
 * one GPU; errors that were corrected are none. */
int64_t switch_fault_parse(struct str line);

/* One line of the kernel log; false: it tells of no fault, or not of which card. */
bool driver_fault_parse(struct str line, struct driver_fault_line *ret);
