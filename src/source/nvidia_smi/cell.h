/* SPDX-License-Identifier: Apache-2.0
 * A value printed by nvidia-smi: a number with or without unit, a word, or one of many ways to say that there is none.
 */
#pragma once

#include "base/str.h"
#include "model/reading.h"

enum cell_kind {
    CELL_PERCENT, /* -> permille */
    CELL_FAN,     /* the same; may exceed 100 % */
    CELL_MIB,     /* -> bytes */
    CELL_CELSIUS, /* -> millidegrees */
    CELL_WATT,    /* -> milliwatts */
    CELL_MHZ,     /* -> kHz */
    CELL_MILLIVOLT,
    CELL_COUNT,
    CELL_MICROSECONDS,
    CELL_KB_PER_S, /* -> bytes per second */
    CELL_LANES,    /* "16x" */
    CELL_THROTTLE, /* the driver's mask -> enum throttle */
    CELL_BOOL,
    CELL_PSTATE,
    CELL_COMPUTE_MODE,
    CELL_RECOVERY,
    CELL_TEXT,   /* for cell_text() */
    CELL_WORD,   /* the same, in lower case */
    CELL_PCI_ID, /* "0x233510DE" -> "10de:2335"; the same */
};

/* A value outside the possible range is READING_FAILED. */
struct reading cell_read(struct str cell, enum cell_kind kind);

/* A word or name; false, with "" in `to` and the reason in *why, if the cell has none. */
bool cell_text(struct str cell, enum cell_kind kind, char *to, size_t size, enum reading_state *why);

/* What a cell reveals about the whole card. */
enum cell_trouble { TROUBLE_NONE, TROUBLE_RESET, TROUBLE_LOST };
enum cell_trouble cell_trouble(struct str cell);
