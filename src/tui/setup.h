/* SPDX-License-Identifier: Apache-2.0
 * What can be customized: lists of items to show or hide, and a few settings with values.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "tui/top.h"

enum setup_part { SETUP_PROCESSES, SETUP_GPUS, SETUP_PLOTS, SETUP_HOST, SETUP_LOOK, SETUP_SHOWN, SETUP_PARTS };

/* Optional fields of the line about the host. */
enum host_field {
    FIELD_POWER,
    FIELD_CPU,
    FIELD_RAM,
    FIELD_DRIVERS,
    FIELD_IOWAIT,
    FIELD_SWAP,
    FIELD_DISK,
    FIELD_NETWORK,
    FIELD_COUNT
};

/* Parts of a GPU's row, in order. */
enum row_part {
    ROW_NAME,
    ROW_BAR,
    ROW_UTIL,
    ROW_WORK,
    ROW_BANDWIDTH,
    ROW_VRAM,
    ROW_TEMP,
    ROW_HOTSPOT,
    ROW_MEMORY_TEMP,
    ROW_POWER,
    ROW_FAN,
    ROW_CLOCK,
    ROW_MEMORY_CLOCK,
    ROW_ENCODER,
    ROW_DECODER,
    ROW_RX,
    ROW_TX,
    ROW_PLOT,
    ROW_WHY,
    ROW_COUNT
};

/* Items of SETUP_LOOK. */
enum view_setting { LOOK_THEME, LOOK_PLOTS, LOOK_METRIC, LOOK_WINDOW, LOOK_GROUPS, LOOK_COMPUTE, LOOK_IDLE, LOOK_ACT, LOOK_COUNT };

struct setup_item {
    const char *name;  /* in top.toml; NULL: no item has this number */
    const char *title; /* on the screen */
    int key;           /* for SETUP_LOOK: the key that changes it; 0: none */
};

struct setup_list {
    const char *title, *key; /* key: in top.toml; NULL: each item has its own, or it is no list of names */
    const struct setup_item *items;
    int count;
    const char *note; /* a hint */
};
extern const struct setup_list setup_lists[SETUP_PARTS];

/* How many items the list has; those of SETUP_SHOWN are the GPUs of this host. */
int setup_count(const struct top *t, enum setup_part part);
/* Whether the item is shown; not for SETUP_LOOK and SETUP_SHOWN. */
bool setup_shows(const struct top_settings *settings, enum setup_part part, int item);
void setup_toggle(struct top_settings *settings, enum setup_part part, int item);
/* The next item in that direction; the same if there is none. */
int setup_next(const struct top *t, enum setup_part part, int item, int by);
/* Which item is at this place of the list. Only process columns have an order of their own; PROCESS stays last. */
int setup_item_at(const struct top_settings *settings, enum setup_part part, int place);
void setup_move(struct top_settings *settings, int column, int by);
/* The value of an item of SETUP_LOOK. */
const char *setup_value(const struct top_settings *settings, int item, char *text, size_t size);

/* ---- top.toml, in which the settings are kept between runs ---- */

/* Applies the text to the settings; ignores unknown keys and values. */
void prefs_read(struct str text, struct top_settings *settings);
void prefs_write(const struct top_settings *settings, struct buf *out);

/* A missing file is fine. */
void prefs_load(const char *path, struct top_settings *settings);
/* Replaces the file atomically; creates its directory. */
int prefs_save(const char *path, const struct top_settings *settings, struct error *err);
