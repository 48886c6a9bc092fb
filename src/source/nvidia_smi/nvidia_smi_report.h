/* SPDX-License-Identifier: Apache-2.0
 * Parsed outputs of nvidia-smi: cards with their readings, processes and instances. No I/O.
 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "model/gpu.h"
#include "model/metric.h"
#include "model/reading.h"
#include "model/snapshot.h"

/* A value printed by nvidia-smi: a number with or without unit, a word, or one of many ways to say that there is none. */

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

/* ---- Names in nvidia-smi's output: columns of --query-gpu, and elements of -q -x below <gpu> ---- */

enum field_target {
    FIELD_METRIC,
    FIELD_PROPERTY,
    FIELD_INDEX,
    FIELD_NAME,
    FIELD_UUID,
    FIELD_PCI,
    FIELD_MARGIN, /* a temperature, given as the margin at which it is reached: newer cards */
};

struct smi_field {
    const char *name, *old_name; /* column, or path below <gpu>; the name in older drivers */
    enum field_target target;
    int id; /* enum metric or enum property */
    enum cell_kind kind;
    bool adds;   /* several fields sum up to the value */
    int64_t bit; /* in throttle_bits, for an element that is Active or not; 0 otherwise */
};

enum { COLUMN_COUNT_MAX = 80, COLUMNS_ALWAYS = 8 };

extern const struct smi_field smi_columns[]; /* first, the columns always queried */
extern const size_t smi_column_count;
extern const struct smi_field smi_elements[];
extern const size_t smi_element_count;

/* The groups that require a column. Identifying columns are always queried. */
unsigned smi_field_groups(const struct smi_field *field);

const struct smi_field *smi_column_find(struct str name); /* NULL: unknown. Also finds "memory.used [MiB]" */
/* An element may yield several metrics: the first (after: NULL) or the next. */
const struct smi_field *smi_element_find(struct str path, const struct smi_field *after);

enum { SMI_MARGINS = 3 };

struct smi_card {
    struct gpu gpu; /* id, state, readings, processes, instances; the rest is READING_UNREAD */
    int index;      /* nvidia-smi's index; -1 unknown */
    struct {
        int metric;
        struct reading at; /* the margin at which it is reached */
    } margins[SMI_MARGINS];
    size_t margin_count;
    /* IDs of a MIG instance, by its position in gpu.instances. */
    struct {
        int gpu_instance, compute_instance; /* -1 unknown */
    } slices[GPU_INSTANCES_MAX];
};

struct smi_report {
    struct smi_card *cards;
    size_t count;
    size_t nameless; /* rows that don't identify their card */
    bool no_memory;  /* out of memory for one of the cards */
    struct driver_info driver;
};

void smi_report_done(struct smi_report *r);
#define AUTO_REPORT __attribute__((cleanup(smi_report_done)))

/* The card with this UUID or PCI address (either may be ""), added if new. NULL: too many, or out of memory. */
struct smi_card *smi_report_card(struct smi_report *r, const char *uuid, const char *pci_address);
/* "00000000:43:00.0", "0000:05:00.0" -> "0000:43:00.0"; false: not an address. */
bool smi_pci_address(struct str text, char to[GPU_PCI_SIZE]);

/* Stores one value. */
void smi_apply(struct smi_card *card, const struct smi_field *field, struct str cell);
/* Completes a card after all values: margins become temperatures, trouble becomes a state. */
void smi_finish(struct smi_card *card, enum cell_trouble trouble, struct str words);

/* --query-gpu with these columns (NULL: unknown ones). Skips a header line. Returns the number of rows, including those of no
 * card; smi_lost_cards() handles other lines. */
size_t smi_read_csv(struct smi_report *r, struct str text, const struct smi_field *const *columns, size_t count);
/* Columns of a header line; returns their number. */
size_t smi_read_header(struct str line, const struct smi_field **columns, size_t max);

/* --query-compute-apps=pid,name,used_memory,gpu_uuid: adds processes to known cards. Returns the number of rows. */
size_t smi_read_apps(struct smi_report *r, struct str text);

enum { XML_DEPTH_MAX = 32 }; /* elements inside each other */
/* -q -x. -EBADMSG if the text is incomplete; complete cards are kept. */
int smi_read_xml(struct smi_report *r, struct str text, struct error *err);

/* -L: UUIDs and profiles of MIG instances, for known cards. */
void smi_read_list(struct smi_report *r, struct str text);

/* --version: versions of driver, NVML and CUDA. */
void smi_read_version(struct driver_info *to, struct str text);

/* Lines like "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.": marks those cards as lost, adding
 * unknown ones. Returns their number. */
size_t smi_lost_cards(struct smi_report *r, struct str text);

/* From nvidia-smi's process name ("/usr/lib/xorg/Xorg") to the plain one. */
void smi_process_name(struct str cell, char *to, size_t size);

/* Resolves &lt; &amp; &#65; and the like into `to`. Unknown ones stay as they are. */
void xml_decode(struct str text, char *to, size_t size);

/* ---- Failures of nvidia-smi: what is wrong and what to do ---- */

/* `status` is the exit status. Returns -ENODEV if this host has no usable GPU, -EACCES, or -EIO; always fills err. */
int smi_explain(struct str output, int status, struct error *err);

/* The column that nvidia-smi complains about; false if it complains about something else. */
bool smi_unknown_column(struct str output, struct str *column);
/* It doesn't know --query-gpu at all. */
bool smi_unknown_option(struct str output);
