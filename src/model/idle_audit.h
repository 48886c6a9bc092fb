/* SPDX-License-Identifier: Apache-2.0
 * What around a GPU may keep it from resting: displays, who has its device files open, power saving that is switched off. Plain
 * data, read on request only; a sleeping GPU is not woken for it.
 */
#pragma once

#include "model/gpu.h"

enum { IDLE_DISPLAYS_MAX = 8, IDLE_HOLDERS_MAX = 24, IDLE_CONNECTOR_SIZE = 24 };

struct idle_display {
    char connector[IDLE_CONNECTOR_SIZE]; /* "DP-1" */
    bool on;                             /* shows a picture; else only plugged in */
    bool in_use;                         /* the mode below is the one in use; else the one that the display prefers */
    int width, height;                   /* 0 unknown */
    int refresh_hz, refresh_most_hz;     /* of that mode, and the fastest that the display takes; 0 unknown */
};

/* Has a device file of the GPU open, working or not. */
struct idle_holder {
    int32_t pid;
    char name[PROCESS_NAME_SIZE], title[PROCESS_TITLE_SIZE], user[PROCESS_USER_SIZE], command[PROCESS_COMMAND_SIZE];
};

enum power_switch { SWITCH_UNKNOWN, SWITCH_ON, SWITCH_OFF };

struct idle_facts {
    bool looked;        /* false: nothing is known */
    bool displays_seen; /* all that are on would be below; false: the driver has no connectors, or does not say which are on */
    size_t display_count;
    struct idle_display displays[IDLE_DISPLAYS_MAX];
    size_t holder_count, holders_left_out;
    struct idle_holder holders[IDLE_HOLDERS_MAX];
    size_t hidden;                  /* processes of this host whose open files may not be seen */
    enum power_switch aspm;         /* power saving of the PCIe link */
    bool aspm_by_policy;            /* off because of the kernel's policy */
    enum power_switch runtime_pm;   /* it may be suspended while it is unused */
    char pci_address[GPU_PCI_SIZE]; /* for commands; "" unknown */
};
