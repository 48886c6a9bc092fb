/* SPDX-License-Identifier: Apache-2.0
 * What may keep a GPU from idling: displays, processes with its device files open, disabled power saving. Plain data, read only on
 * request; reading doesn't wake a sleeping GPU.
 */
#pragma once

#include "model/gpu.h"

enum { IDLE_DISPLAYS_MAX = 8, IDLE_HOLDERS_MAX = 24, IDLE_CONNECTOR_SIZE = 24 };

struct idle_display {
    char connector[IDLE_CONNECTOR_SIZE]; /* "DP-1" */
    bool on;                             /* active, not just connected */
    bool in_use;                         /* the mode below is the current one, not the preferred one */
    int width, height;                   /* 0 unknown */
    int refresh_hz, refresh_most_hz;     /* of that mode, and the display's maximum; 0 unknown */
};

/* A process with a device file of the GPU open, working or not. */
struct idle_holder {
    int32_t pid;
    char name[PROCESS_NAME_SIZE], title[PROCESS_TITLE_SIZE], user[PROCESS_USER_SIZE], command[PROCESS_COMMAND_SIZE];
};

enum power_switch { SWITCH_UNKNOWN, SWITCH_ON, SWITCH_OFF };

struct idle_facts {
    bool looked;        /* false: unknown */
    bool displays_seen; /* the list has all active displays; false: no connectors, or the driver doesn't say which are active */
    size_t display_count;
    struct idle_display displays[IDLE_DISPLAYS_MAX];
    size_t holder_count, holders_left_out;
    struct idle_holder holders[IDLE_HOLDERS_MAX];
    size_t hidden;                  /* processes whose open files we can't see */
    enum power_switch aspm;         /* power saving of the PCIe link */
    bool aspm_by_policy;            /* disabled by the kernel's policy */
    enum power_switch runtime_pm;   /* may suspend while unused */
    char pci_address[GPU_PCI_SIZE]; /* for commands; "" unknown */
};
